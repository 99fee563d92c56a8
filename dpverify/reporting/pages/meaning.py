"""Sections that several pages share: what runs, what it means, and what if it were another."""

from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.deadline import time_limit
from dpverify.reporting.page import Section, TextTable
from dpverify.reporting.picture import picture
from dpverify.reporting.words import meaning

_WHAT_IF = (
    "Move a slider, or type a number. Every answer was computed when this page was written. Less "
    "noise, more runs, a larger rate and a smaller δ never cost less: between computed points the "
    "worse neighbor's upper end is shown, and beyond them nothing."
)


def parts_section(title: str, accountant: Accountant) -> Section:
    """Relation and parts."""
    rows = tuple((f"{part.times:,}", part.label) for part in accountant.parts)
    return Section(
        title=title,
        facts=(("neighboring relation", accountant.relation.value),),
        tables=(TextTable(caption="Parts", header=("times", "part"), rows=rows),),
    )


def meaning_section(accountant: Accountant, seconds: float | None) -> Section:
    """Sentences, a hundred people, and the best test; each may take that many seconds."""
    with time_limit(seconds):
        told = meaning(accountant)
    with time_limit(seconds):
        blind, right = told.right
    with time_limit(seconds):
        tests = told.plot_test()
    people = f"Of a hundred guesses {blind} are right without the release, at most {right} with it."
    test = (
        "The best test for a record: of a hundred without it, how many false alarms; of a hundred "
        "with it, how many are missed. On the straight line nothing is learned."
    )
    pictures = (
        picture(told.plot(), people, followed=False),
        picture(tests, test, followed=False),
    )
    return Section(title="What it means", items=tuple(told.splitlines()), pictures=pictures)


def what_if_section(grid: dict[str, Any]) -> Section:
    """Sliders over a grid of answers."""
    return Section(title="What if", text=(_WHAT_IF,), what_if=grid)
