"""The page of `dpverify noise`: the noise that a budget needs, what it means, and what if."""

from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.guarantees import Bracket
from dpverify.reporting.page import Page, Section, TextTable, theorem_section
from dpverify.reporting.pages.meaning import meaning_section, what_if_section


def noise_page(  # noqa: PLR0913  # all that a page shows
    accountant: Accountant,
    spent: Bracket,
    *,
    verdict: str,
    lead: str,
    grid: dict[str, Any],
    proof: dict[str, Any] | None,
    command: str,
    data: dict[str, Any],
) -> Page:
    """The page; `accountant` is what runs with the noise, `data` what `--json` prints."""
    sections = [
        Section(
            title="What is run",
            facts=(("neighboring relation", accountant.relation.value),),
            tables=(
                TextTable(
                    caption="Parts",
                    header=("times", "part"),
                    rows=tuple((f"{part.times:,}", part.label) for part in accountant.parts),
                ),
            ),
        ),
        what_if_section(grid),
        meaning_section(accountant),
    ]
    if spent.assumes:
        sections.append(Section(title="What is assumed", items=spent.assumes))
    if spent.theorem is not None:
        sections.append(theorem_section(spent.theorem, proof))
    return Page(
        title="The noise that a budget needs",
        verdict=verdict,
        tone="plain",
        lead=lead,
        sections=tuple(sections),
        command=command,
        data=data,
    )
