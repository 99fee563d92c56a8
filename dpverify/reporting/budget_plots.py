"""How budgets were spent over time."""

import datetime as dt
from typing import TYPE_CHECKING

from dpverify.ledger.entries import Entry
from dpverify.reporting.plots import _COLORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_UNITS = {  # the longest that fits at least twice
    "days": dt.timedelta(days=1),
    "hours": dt.timedelta(hours=1),
    "minutes": dt.timedelta(minutes=1),
    "seconds": dt.timedelta(seconds=1),
}


def budget_figure(entries: tuple[Entry, ...]) -> "Figure":
    """Steps from 0 towards 1, one line a dataset, and a point at every entry."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    figure = Figure(figsize=(6.5, 4.0), layout="constrained")
    axes = figure.subplots()
    start, end = _moment(entries[0]), _moment(entries[-1])
    unit = next((name for name, one in _UNITS.items() if end - start >= 2 * one), "seconds")
    for place, name in enumerate(dict.fromkeys(entry.dataset for entry in entries)):
        own = [entry for entry in entries if entry.dataset == name]
        times = [(moment - start) / _UNITS[unit] for moment in (*map(_moment, own), end)]
        shares = [*(entry.share for entry in own), own[-1].share]
        color = _COLORS[place % len(_COLORS)]
        axes.step(times, shares, where="post", label=_plain(name), color=color, marker=".")
    axes.axhline(1.0, color="black", linestyle="--", linewidth=1.0)
    axes.set_ylim(0.0, 1.05)
    axes.set_xlabel(f"{unit} since {start:%Y-%m-%d %H:%M} UTC")
    axes.set_ylabel("share of the budget that is spent")
    axes.set_title("Budgets over time")
    axes.legend()
    return figure


def _moment(entry: Entry) -> dt.datetime:
    return dt.datetime.fromisoformat(entry.time)


def _plain(name: str) -> str:
    """A name as it is: no formula, and not hidden from the legend."""
    shown = name.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
