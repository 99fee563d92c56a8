"""Plots, one style: legible in gray, for the color-blind, and in print."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.comparison import Comparison
from dpverify.accounting.curves import Curve, growth, profile, trade_off
from dpverify.auditing.attacks.draws import Draws
from dpverify.auditing.attacks.events import Between
from dpverify.auditing.procedure.rounds import Progress
from dpverify.auditing.sampling.drawing import Target
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.statistics.points import implied_points
from dpverify.auditing.verdict import Verdict, Witness
from dpverify.balls import as_given, rounded_down, rounded_up
from dpverify.errors import InvalidParameter
from dpverify.pairs import LeakyLoss, LeakyResponsePair, leaky_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by hue, and line styles, told apart without it.
_COLORS = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#0072B2", "#999999")
_STYLES = {
    "basic": (_COLORS[7], ":"),
    "advanced": (_COLORS[1], "--"),
    "optimal": (_COLORS[3], "-"),
    "zcdp": (_COLORS[2], "-."),
    "rdp": (_COLORS[4], "--"),
    "gdp": (_COLORS[0], "-."),
    "numerical": (_COLORS[6], "-"),
}
_COARSE = 0.05  # the width of a bracket that no eye can see on these axes
_MOST_BARS = 3000  # of a histogram
_FORMATS = (".png", ".svg", ".pdf")


def check_plot(path: Path) -> None:
    """Refuse a file that no plot can be saved to before the work is done, not after."""
    if path.suffix.lower() not in _FORMATS:
        raise InvalidParameter(f"plot={str(path)!r} must end in one of: {', '.join(_FORMATS)}")


def composition_figure(accountant: Accountant, table: Comparison) -> "Figure":
    """Profile, trade-off curve and growth of ε under every rule, side by side.

    Where the parts are equal (ε, δ) guarantees, a fourth picture shows the privacy loss of as many
    leaky responses, with the two bad events of advanced composition.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    if table.unknown == "epsilon":
        delta, epsilon = table.at, accountant.epsilon(table.at).upper
    else:
        epsilon, delta = table.at, max(accountant.delta(table.at).upper, 1e-300)
    walk = _walk(accountant, delta)
    if walk is None:
        figure = Figure(figsize=(13, 4.2), layout="constrained")
        axes = figure.subplots(1, 3)
    else:
        figure = Figure(figsize=(10.5, 8.0), layout="constrained")
        axes = figure.subplots(2, 2).ravel()
        _loss(axes[3], *walk)
    _profile(axes[0], accountant, epsilon, delta)
    _trade_off(axes[1], accountant)
    _growth(axes[2], accountant, delta)
    return figure


def _walk(accountant: Accountant, delta: float) -> tuple[LeakyLoss, float] | None:
    """The loss of equal (ε, δ) parts, and what of δ is left for its tail; None where none is."""
    if len(accountant.parts) != 1 or not isinstance(accountant.parts[0].seen, LeakyResponsePair):
        return None
    worst, times = accountant.parts[0].seen.worst, accountant.parts[0].times
    slack = delta - times * worst.delta
    if not (0.0 < slack < 1.0 and 0.0 < worst.epsilon < np.inf and 1 < times <= _MOST_BARS):
        return None
    return leaky_loss(worst, times), slack


def profile_on(accountant: Accountant, delta: float, axes: "Axes | None") -> "Axes":
    """The profile, with ε at δ marked; on axes of a new figure if there are none."""
    axes = _axes() if axes is None else axes
    _profile(axes, accountant, accountant.epsilon(delta).upper, delta)
    return axes


def verdict_on(verdict: Verdict, axes: "Axes | None") -> "Axes":
    """The ε that is claimed, the one that was shown, and the most that this many draws can show."""
    axes = _axes() if axes is None else axes
    points = implied_points(verdict.claim)
    claimed = next((p for p in points if p.delta == verdict.delta), points[0]).epsilon
    lower, most = verdict.epsilon_lower, verdict.most_shown
    bars = (
        ("could be shown", most, rounded_down(most), _COLORS[7]),
        ("shown", lower, rounded_down(lower), _COLORS[4] if verdict.refuted else _COLORS[6]),
        ("claimed", claimed, as_given(claimed), _COLORS[0]),
    )
    for name, epsilon, words, color in bars:
        axes.barh([name], [epsilon], color=color, height=0.6)
        axes.annotate(f" {words}", (epsilon, name), va="center", fontsize=9)
    axes.set(xlabel=f"ε at δ = {verdict.delta:g}", title="What is claimed, and what was shown")
    axes.margins(x=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def verdict_figure(verdict: Verdict) -> "Figure":
    """`verdict_on` as a figure of its own."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    figure = Figure(figsize=(6.5, 3.0), layout="constrained")
    verdict_on(verdict, figure.subplots())
    return figure


def outputs_figure(mechanism: Target, witness: Witness, draws: int = 2000) -> "Figure | None":
    """Fresh outputs on the two sides of a witness, its event shaded.

    None where the event is not about one number that both sides have.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    event = witness.event
    if not isinstance(event, Between):
        return None
    sampler = Sampler(
        mechanism=mechanism, left=witness.left, right=witness.right, seed=witness.seed + 1
    )
    seen = Draws.of(sampler, 0, draws)
    sides = [outputs.column(event.feature) for outputs in (seen.left, seen.right)]
    both = np.concatenate(sides)
    both = both[np.isfinite(both)]
    if len(both) < draws or np.ptp(both) == 0:
        return None
    low, high = np.quantile(both, [0.002, 0.998])
    figure = Figure(figsize=(6.5, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.axvspan(max(event.low, low), min(event.high, high), color=_COLORS[1], alpha=0.25)
    for name, values, style, color in zip(
        ("left", "right"), sides, ("-", "--"), (_COLORS[6], _COLORS[4]), strict=True
    ):
        heights, edges = np.histogram(values, bins=np.linspace(low, high, 41))
        axes.stairs(heights / draws, edges, label=name, color=color, linestyle=style)
    axes.set(
        xlabel=event.feature, ylabel="share of draws", title="Outputs on both sides, and the event"
    )
    _finish(axes)
    return figure


def _axes() -> "Axes":
    """Axes of a new figure, as notebooks show them."""
    from matplotlib import pyplot as plt  # noqa: PLC0415  # slow to import

    return plt.subplots(layout="constrained")[1]


def wealth_figure(history: Sequence[Progress], level: float) -> "Figure":
    """The wealth of the bets against a claim over the draws; at 1/level the claim is refuted."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    if not history:
        raise InvalidParameter("history=() must hold the progress reports of an audit")
    figure = Figure(figsize=(6.5, 4.0), layout="constrained")
    axes = figure.subplots()
    draws = [each.samples for each in history]
    wealth = [each.log_wealth / np.log(10.0) for each in history]
    axes.plot(
        draws,
        wealth,
        color=_COLORS[6],
        drawstyle="steps-post",
        marker="o",
        markersize=3,
        label="powers of ten won",
    )
    axes.axhline(
        -np.log10(level),
        color=_COLORS[4],
        linestyle="--",
        label=f"refuted: {1 / level:g} times the stake",
    )
    axes.set(
        xlabel="draws on each side",
        ylabel="wealth of the bets, in powers of ten",
        title="Betting against the claim",
    )
    _finish(axes)
    return figure


def _loss(axes: "Axes", loss: LeakyLoss, slack: float) -> None:
    """The privacy loss of k leaky responses, and the two bad events of advanced composition.

    `slack` is δ′: the second bad event, a loss beyond the advanced bound, has at most this
    probability.
    """
    worst = loss.worst
    edge = loss.threshold(float(np.sqrt(-2.0 * np.log(slack))))
    likely = loss.masses > 1e-12
    losses, masses = loss.losses[likely], loss.masses[likely]
    beyond = losses > edge
    width = 1.6 * worst.epsilon
    tail = max(loss.tail(edge) - loss.infinite_mass, 0.0)
    axes.bar(losses[~beyond], masses[~beyond], width, color=_COLORS[2], label="loss of the walk")
    if beyond.any():
        axes.bar(losses[beyond], masses[beyond], width, color=_COLORS[4], hatch="///")
    axes.axvline(
        edge,
        color=_COLORS[4],
        linestyle="--",
        label=f"beyond: bad event 2, probability ≤ {rounded_up(tail, digits=2)}",
    )
    if loss.infinite_mass > 0.0:
        axes.plot(
            [],
            [],
            "^",
            color=_COLORS[0],
            label=f"∞: bad event 1, probability ≤ {rounded_up(loss.infinite_mass, digits=2)}",
        )
        axes.annotate("∞ ▸", (1.0, 0.02), xycoords="axes fraction", ha="right", fontsize=11)
    axes.axvline(loss.times * loss.round_mean, color=_COLORS[0], linestyle=":", label="mean")
    axes.set_ylim(0.0, 1.4 * float(masses.max()))  # room for the legend
    axes.set(
        xlabel="privacy loss",
        ylabel="probability",
        title=f"Loss of {loss.times:,} leaky responses, ε = {worst.epsilon:g}, δ = {worst.delta:g}",
    )
    _finish(axes)


def risk_figure(measured: Mapping[str, Sequence[tuple[float, float, float]]]) -> "Figure":
    """Excess risk against its bound: for each label, triples (ε, measured, bound)."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # slow to import

    if not measured:
        raise InvalidParameter("measured={} must hold at least one series of (ε, risk, bound)")
    figure = Figure(figsize=(6.5, 4.0), layout="constrained")
    axes = figure.subplots()
    for index, (name, triples) in enumerate(measured.items()):
        color = _COLORS[(6, 4, 3, 1, 5, 2)[index % 6]]
        epsilon, risk, bound = zip(*sorted(triples), strict=True)
        axes.loglog(epsilon, risk, "o-", color=color, label=f"{name}: measured")
        axes.loglog(epsilon, bound, linestyle="--", color=color, label=f"{name}: bound")
    axes.set(xlabel="ε", ylabel="excess empirical risk", title="Excess risk against its bound")
    _finish(axes)
    return figure


def _profile(axes: "Axes", accountant: Accountant, epsilon: float, delta: float) -> None:
    highest = 1.5 * epsilon if np.isfinite(epsilon) and epsilon > 0 else 1.0
    curve = profile(accountant, np.linspace(0.0, highest, 25), tolerance=_COARSE)
    shown = curve.upper > 0
    axes.semilogy(curve.x[shown], curve.upper[shown], color=_COLORS[6], label="certified upper end")
    _band(axes, curve, _COLORS[6])
    if np.isfinite(epsilon) and delta > 0:
        axes.plot(
            [epsilon],
            [delta],
            "o",
            color=_COLORS[4],
            label=f"ε ≤ {rounded_up(epsilon)} at δ = {as_given(delta)}",
        )
    axes.set(xlabel="ε", ylabel="δ(ε)", title="Privacy profile")
    _finish(axes)


def _trade_off(axes: "Axes", accountant: Accountant) -> None:
    curve = trade_off(accountant, np.linspace(0.0, 1.0, 201), points=40, tolerance=_COARSE)
    axes.plot(curve.x, curve.lower, color=_COLORS[6], label="best attack, certified")
    _band(axes, curve, _COLORS[6])
    _finish_trade_off(axes)


def _finish_trade_off(axes: "Axes") -> None:
    axes.plot([0, 1], [1, 0], color=_COLORS[7], linestyle=":", label="nothing learned")
    axes.set(
        xlabel="false-alarm rate",
        ylabel="miss rate",
        title="Trade-off curve",
        xlim=(0, 1),
        ylim=(0, 1),
    )
    axes.set_aspect("equal")
    _finish(axes)


def _growth(axes: "Axes", accountant: Accountant, delta: float) -> None:
    curves = growth(accountant, delta, points=9, tolerance=_COARSE)
    others = (name for name in curves if name not in _STYLES)
    styles = _STYLES | {name: _other_style(place) for place, name in enumerate(others)}
    for name, curve in curves.items():
        color, style = styles[name]
        finite = np.isfinite(curve.upper) & (curve.upper > 0)
        if finite.any():
            axes.loglog(
                curve.x[finite],
                curve.upper[finite],
                color=color,
                linestyle=style,
                linewidth=2.4 if name in {"numerical", "optimal"} else 1.5,
                label=name,
            )
    axes.set(
        xlabel="runs", ylabel=f"ε at δ = {as_given(delta)}", title="Growth of ε under every rule"
    )
    _finish(axes)


def _other_style(place: int) -> tuple[str, str]:
    """The look of a rule that is not the library's own: any color, and dashes that no other has."""
    return _COLORS[(5, 1, 3, 4, 2, 6)[place % 6]], ("--", "-.", ":", "-")[place // 6 % 4]


def _band(axes: "Axes", curve: Curve, color: str) -> None:
    axes.fill_between(curve.x, curve.lower, curve.upper, color=color, alpha=0.25, linewidth=0)


def _finish(axes: "Axes") -> None:
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
