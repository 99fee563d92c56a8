"""What draws show of a mechanism against what is claimed: profile and trade-off, with bands."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.bands.curves import ProfileBand, TradeOffBand, claimed_trade_off
from dpverify.auditing.statistics.points import claimed_delta
from dpverify.claims import AuditClaim, Claimable, read_claim
from dpverify.reporting.plots import _COLORS, _finish, _finish_trade_off, check_plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_CLAIM: dict[str, Any] = {"color": _COLORS[4], "linestyle": "--", "linewidth": 2.0}
_SHOWN: dict[str, Any] = {"color": _COLORS[6], "linewidth": 2.0}
_BAND: dict[str, Any] = {"color": _COLORS[2], "alpha": 0.3, "linewidth": 0}


def draw_band(band: ProfileBand, claim: Claimable, path: Path) -> None:
    """`band_figure` to a file: .png, .svg or .pdf."""
    check_plot(path)
    band_figure(band, claim).savefig(path, dpi=150)


def band_figure(band: ProfileBand, claim: Claimable) -> "Figure":
    """Profile and trade-off curve side by side: the claim, and the band of what was drawn.

    The claim is refuted where its curve lies below the certified line of the profile, and above
    that of the trade-off.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    promised = read_claim(claim)
    figure = Figure(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _profile(left, band, promised)
    _trade_off(right, band.trade_off(), promised)
    figure.suptitle(
        f"{band.draws:,} draws a side, score: {band.score}; the bands hold everywhere at once, "
        f"level {band.level:g}",
        fontsize=10,
    )
    return figure


def _profile(axes: "Axes", band: ProfileBand, claim: AuditClaim) -> None:
    x = band.epsilons
    claimed = np.array([claimed_delta(claim, float(e)) for e in x])
    floor = 0.5 / band.draws
    axes.fill_between(
        x,
        np.maximum(band.lower, floor),
        np.maximum(band.upper, floor),
        label="band of this score's thresholds",
        **_BAND,
    )
    for height, label, style in (
        (band.lower, "shown: δ is at least this", _SHOWN),
        (claimed, "claimed: δ is at most this", _CLAIM),
    ):
        # Down to the floor and no further: below it the logarithm says nothing.
        end = int(np.count_nonzero(height > floor)) + 1
        axes.semilogy(x[:end], np.maximum(height[:end], floor), label=label, **style)
    excess = band.refutes(claim)
    if excess is not None:
        axes.plot(
            [excess.epsilon] * 2,
            [max(excess.claimed, floor), excess.shown],
            color=_COLORS[0],
            marker="o",
            markersize=4,
            clip_on=False,
            label=f"refuted {excess}",
        )
    axes.set(xlabel="ε", ylabel="δ(ε)", title="Privacy profile", ylim=(floor, 1.0))
    axes.set_xlim(0.0, _last(x, np.maximum(band.upper, claimed), floor))
    _finish(axes)


def _trade_off(axes: "Axes", band: TradeOffBand, claim: AuditClaim) -> None:
    x = band.false_alarm
    axes.fill_between(x, band.lower, band.upper, label="band of this score's thresholds", **_BAND)
    axes.plot(x, band.upper, label="shown: a test is at least as good", **_SHOWN)
    axes.plot(x, claimed_trade_off(claim, x), label="claimed: no test is better", **_CLAIM)
    _finish_trade_off(axes)


def _last(x: Floats, height: Floats, floor: float) -> float:
    """Where the last curve leaves the picture."""
    seen = np.flatnonzero(height > floor)
    return float(x[min(seen[-1] + 1, len(x) - 1)]) if seen.size else float(x[-1])
