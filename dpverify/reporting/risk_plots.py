"""What an attacker can do, as pictures that need no formula.

One shows the best test as a curve, with some tests marked on it; one shows a hundred people, and
for how many of them a guess is right. Numbers are rounded towards safety.
"""

from typing import TYPE_CHECKING

import numpy as np

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.curves import Curve, trade_off
from dpverify.balls import rounded_up
from dpverify.neighbors import Relation
from dpverify.reporting.plots import _COARSE, _COLORS, _band, _finish
from dpverify.reporting.words import PEOPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path

MARKED = (0.01, 0.05, 0.2)  # rates of false alarms whose tests are marked on the curve
_ROW = 10
_TOLD = {
    Relation.ADD_REMOVE: (
        "who are not in the data",
        "who are",
        "The best test for being in the data",
    ),
    Relation.REPLACE_ONE: (
        "with one of two records",
        "with the other",
        "The best test for which of two records is there",
    ),
}
_WITHOUT, _WITH, _WRONG = _COLORS[6], _COLORS[4], "#d0d4d8"


def detection_figure(spent: Accountant) -> "Figure":
    """The best test for a record: false alarms against misses, three tests marked."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    figure = Figure(figsize=(5.6, 4.8), layout="constrained")
    axes = figure.subplots()
    curve = trade_off(spent, np.linspace(0.0, 1.0, 101), points=30, tolerance=_COARSE)
    percent = Curve(*(100 * values for values in (curve.x, curve.lower, curve.upper)))
    axes.plot(percent.x, percent.lower, color=_COLORS[6], linewidth=2.2, label="the best test")
    _band(axes, percent, _COLORS[6])
    axes.plot([0, 100], [100, 0], color=_COLORS[7], linestyle=":", label="guessing")
    for alarm, marker in zip(MARKED, "o^s", strict=True):
        found = 100 * spent.true_positive_rate(alarm).upper
        alarms = "1 false alarm" if alarm == 0.01 else f"{100 * alarm:g} false alarms"
        told = f"{alarms}: finds at most {rounded_up(found, digits=3)}"
        axes.plot([100 * alarm], [100 - found], marker, color=_COLORS[4], markersize=9, label=told)
    outside, inside, title = _TOLD[spent.relation]
    axes.set(
        xlabel=f"false alarms, of 100 {outside}",
        ylabel=f"missed, of 100 {inside}",
        title=title,
        xlim=(0, 100),
        ylim=(0, 100),
    )
    _finish(axes)
    return figure


def people_figure(blind: int, told: int) -> "Figure":
    """A hundred people twice: for how many a guess is right without the release, and with it."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    figure = Figure(figsize=(6.4, 3.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    _people(left, blind, blind, f"Without the release:\n{blind} guesses of 100 are right")
    _people(right, blind, told, f"With it:\nat most {told} of 100 are right")
    return figure


def _people(axes: "Axes", blind: int, told: int, title: str) -> None:
    places = np.arange(PEOPLE)
    colors = np.where(places < blind, _WITHOUT, np.where(places < told, _WITH, _WRONG))
    edges = np.where((blind <= places) & (places < told), 1.0, 0.0)  # told apart in gray, too
    axes.scatter(
        places % _ROW,
        -(places // _ROW),
        s=230,
        c=colors.tolist(),
        marker=_person(),
        linewidths=edges.tolist(),
        edgecolors="#000000",
    )
    axes.set(xlim=(-0.7, _ROW - 0.3), ylim=(0.7 - _ROW, 0.7))
    axes.set_title(title, fontsize=11)
    axes.set_aspect("equal")
    axes.axis("off")


def _person() -> "Path":
    """A head and shoulders."""
    from matplotlib.path import Path  # noqa: PLC0415  # slow to import

    circle = Path.unit_circle()
    head = Path(np.asarray(circle.vertices, dtype=float) * 0.42 + (0.0, 0.58), circle.codes)
    corners = [(-0.75, -1.0), (-0.75, -0.35), (-0.75, 0.05), (-0.45, 0.1), (0.0, 0.1)]
    mirrored = [(-x, y) for x, y in corners[-2::-1]]
    codes = [Path.MOVETO, Path.LINETO, *6 * [Path.CURVE4], Path.LINETO, Path.CLOSEPOLY]
    body = Path([*corners, *mirrored, corners[0]], codes)
    return Path.make_compound_path(head, body)
