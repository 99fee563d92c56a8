"""The page of `dpverify compose`: what the parts cost together, and by which theorem."""

from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.comparison import Comparison
from dpverify.balls import as_given, rounded_down, rounded_up
from dpverify.guarantees import Bracket
from dpverify.reporting.page import Page, Section, TextTable, theorem_section
from dpverify.reporting.pages.meaning import meaning_section, parts_section, what_if_section
from dpverify.reporting.picture import Picture


def composition_page(  # noqa: PLR0913  # all that a page shows
    accountant: Accountant,
    exact: Bracket,
    table: Comparison,
    *,
    pictures: tuple[Picture, ...],
    grid: dict[str, Any],
    seconds: float | None,
    proof: dict[str, Any] | None,
    command: str,
    data: dict[str, Any],
) -> Page:
    """The page of a composition; `proof` is the run of its theorem, `data` what `--json` prints.

    What it means may take `seconds` for each answer.
    """
    symbol, given = ("ε", "δ") if table.unknown == "epsilon" else ("δ", "ε")
    upper = rounded_up(exact.upper, digits=8)
    sections = [
        parts_section("What was composed", accountant),
        meaning_section(accountant, seconds),
        what_if_section(grid),
        Section(title="In pictures", pictures=pictures),
        Section(title="Under every rule that applies", tables=(_rules(table, symbol),)),
    ]
    if exact.assumes:
        sections.append(Section(title="What is assumed", items=exact.assumes))
    if exact.theorem is not None:
        sections.append(theorem_section(exact.theorem, proof))
    return Page(
        title="What a composition costs",
        verdict=f"{symbol} ≤ {upper} at {given} = {as_given(table.at)}",
        tone="plain",
        lead=(
            f"The exact {symbol} lies between {rounded_down(exact.lower, digits=8)} and {upper}, "
            "rounding included."
        ),
        sections=tuple(sections),
        command=command,
        data=data,
    )


def _rules(table: Comparison, symbol: str) -> TextTable:
    return TextTable(
        caption=f"Upper bounds on {symbol}; the smallest is marked",
        header=("rule", f"{symbol} at most", "theorem", "source"),
        rows=tuple(
            (row.rule, rounded_up(row.upper, digits=8), row.theorem.name, row.theorem.source)
            for row in table.rows
        ),
        marked=None if table.tightest is None else table.rows.index(table.tightest),
    )
