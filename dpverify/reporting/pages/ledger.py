"""The page of a ledger: what is left of every budget, and how it went over time."""

import datetime as dt
from typing import Any

from dpverify.balls import rounded_up
from dpverify.ledger.entries import Entry, Status
from dpverify.ledger.words import amounts_in_words, at_most, budget_in_words, percent
from dpverify.reporting.budget_plots import budget_figure
from dpverify.reporting.page import Page, Section, TextTable, theorem_section
from dpverify.reporting.picture import picture

_MOST = 1000  # entries on a page; `export` to JSON or CSV has them all


def ledger_page(
    statuses: tuple[Status, ...],
    entries: tuple[Entry, ...],
    *,
    command: str,
    data: dict[str, Any],
) -> Page:
    """The page; `data` is what `dpverify ledger status --json` prints."""
    theorems = dict.fromkeys(s.theorem for s in statuses if s.theorem is not None)
    worst = max(statuses, key=lambda status: status.share)
    return Page(
        title="What is left of a privacy budget",
        verdict=(
            f"{worst.dataset}: {percent(worst.share)} of {budget_in_words(worst.budget)} spent"
        ),
        tone="plain",
        lead=(
            f"Datasets: {len(statuses)}. Every hash and sum of the file was checked when this "
            f"page was written; the hash of its last entry is {data['head']}."
        ),
        sections=(
            Section(title="Budgets", tables=(_budgets(statuses),)),
            *(_spending(entries) if any(entry.kind == "spend" for entry in entries) else ()),
            Section(title="Entries", tables=(_entries(entries),)),
            *(theorem_section(theorem, None) for theorem in theorems),
        ),
        command=command,
        data=data,
    )


def _spending(entries: tuple[Entry, ...]) -> tuple[Section, ...]:
    """When the budgets were spent, and by whom."""
    drawing = picture(
        budget_figure(entries),
        "The share of each dataset's budget that is spent, against time; the line at 1 is the "
        "budget.",
    )
    return (
        Section(title="Over time", pictures=(drawing,)),
        Section(title="Who spent it", tables=(_by_user(entries),)),
    )


def _budgets(statuses: tuple[Status, ...]) -> TextTable:
    return TextTable(
        caption="By dataset; “needed” is the smallest budget that grants the same requests",
        header=(
            "dataset",
            "budget",
            "relation",
            "requests",
            "spent",
            "charged",
            "needed",
            "least σ",
        ),
        rows=tuple(
            (
                status.dataset,
                budget_in_words(status.budget),
                status.relation.value,
                f"{status.requests:,}",
                percent(status.share),
                amounts_in_words(status.spent),
                "–" if status.needed is None else budget_in_words(status.needed, at_most),
                "–" if status.least_sigma is None else rounded_up(status.least_sigma, digits=6),
            )
            for status in statuses
        ),
    )


def _by_user(entries: tuple[Entry, ...]) -> TextTable:
    """What each user's requests took of each budget."""
    before: dict[str, float] = {}
    taken: dict[tuple[str, str], tuple[int, float]] = {}
    for entry in entries:
        if entry.kind == "spend":
            count, share = taken.get((entry.dataset, entry.user), (0, 0.0))
            added = entry.share - before.get(entry.dataset, 0.0)
            taken[entry.dataset, entry.user] = (count + 1, share + added)
        before[entry.dataset] = entry.share
    return TextTable(
        caption="Requests granted, and the share of the budget that they took",
        header=("dataset", "user", "requests", "share"),
        rows=tuple(
            (dataset, user, f"{count:,}", f"{100 * share:.4g}%")
            for (dataset, user), (count, share) in taken.items()
        ),
    )


def _entries(entries: tuple[Entry, ...]) -> TextTable:
    shown = entries[-_MOST:]
    left_out = len(entries) - len(shown)
    caption = "Newest first" + (f"; the first {left_out:,} are left out" if left_out else "")
    return TextTable(
        caption=caption,
        header=("entry", "time", "dataset", "user", "label", "request", "spent", "hash"),
        rows=tuple(
            (
                str(entry.seq),
                _clock(entry.time),
                entry.dataset,
                entry.user,
                entry.label,
                _asked(entry),
                percent(entry.share),
                entry.hash[:12],
            )
            for entry in reversed(shown)
        ),
    )


def _asked(entry: Entry) -> str:
    asked = entry.mechanism or "budget opened"
    return asked if entry.times <= 1 else f"{entry.times:,} × {asked}"


def _clock(time: str) -> str:
    return dt.datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M:%S")
