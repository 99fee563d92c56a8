"""The page of `dpverify noise`: the noise that a budget needs, what it means, and what if."""

from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.guarantees import Bracket
from dpverify.reporting.page import Page, Section, theorem_section
from dpverify.reporting.pages.meaning import meaning_section, parts_section, what_if_section


def noise_page(  # noqa: PLR0913  # all that a page shows
    accountant: Accountant,
    spent: Bracket,
    *,
    verdict: str,
    lead: str,
    grid: dict[str, Any],
    seconds: float | None,
    proof: dict[str, Any] | None,
    command: str,
    data: dict[str, Any],
) -> Page:
    """The page; `accountant` is what runs with the noise, `data` what `--json` prints.

    What it means may take `seconds` for each answer.
    """
    sections = [
        parts_section("What is run", accountant),
        what_if_section(grid),
        meaning_section(accountant, seconds),
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
