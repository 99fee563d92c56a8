r"""The privacy loss of a pair that is known only by its profile.

As a function of x = e^ε the profile f is convex and falls from 1. Its values at nodes x₀ < … < xₙ
bound the pair from both sides:

*Upper.* The chords of f, with the line from (0, 1) to the first node and a constant beyond the
last, lie above it. They are the profile of a finite pair that dominates: at node i the slope rises
by qᵢ, the mass under Q, and pᵢ = xᵢ·qᵢ under P.

*Lower.* Tangents lie below it. A chord between two points that are 2^-100 apart is one but for
what it rises above f between them, which is bounded and taken off. `accounting.numerical` makes a
law out of the tangents at the middle of every cell, and at its ends where these fall below 0.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats
from dpverify.balls import ball, float_above, float_below, wait
from dpverify.errors import InvalidParameter

if TYPE_CHECKING:
    from dpverify.pairs.base import Pair

REACH = 700.0
"""The largest ε at which a profile is asked that states no limit: e^ε is still a float."""

MOST_CELLS = 1 << 12  # of one grid: about a second of ball arithmetic
_NEAR_BITS = 100  # two points this close are one for all purposes but their slope
_FIRST_BITS = 128 + 2 * _NEAR_BITS
_LN_TWO = math.log(2.0)
_NARROWEST = 1e-9  # range of losses that is told apart from none
_POINTS = 120  # of a rough picture, on either side of 0
_FINE_POINTS = 600  # of a finite pair that stands in for Rényi divergences


@dataclass(frozen=True, slots=True, eq=False)
class ProfileLaw:
    """The loss of `pair`, before its range is cut and a grid is chosen."""

    pair: "Pair"

    @property
    def is_discrete(self) -> bool:
        return False

    @property
    def losses(self) -> Floats:
        """Where atoms may be, and grids have nodes: at the ends of a bounded range."""
        ends = (self.pair.max_loss, -self.pair.reversed.max_loss)
        return np.array([end for end in ends if abs(end) < REACH])

    def cut(self, log_above: float, log_below: float) -> "CutProfile":
        """The range beyond which P has at most about e^log_above above and e^log_below below."""
        pair = self.pair
        with ctx.workprec(_FIRST_BITS):
            rest = arb(pair.singular_mass)
            above, below = ball(log_above).exp(), ball(log_below).exp()
            high = _edge(lambda e: pair.delta_ball(ball(e)) - rest, above, pair.max_loss)
            low = -_edge(lambda e: _mass_under(pair, -e), below, pair.reversed.max_loss)
            if high - low < _NARROWEST:  # no loss but 0 and ∞, for all that floats can tell
                low, high = -_NARROWEST, _NARROWEST
            beyond = float_above(pair.delta_ball(ball(high)) - rest)
        return CutProfile(
            pair=pair,
            low=low,
            high=high,
            log_above=math.nextafter(math.log(beyond), math.inf) if beyond > 0.0 else -math.inf,
            log_least=min(log_above, log_below) - 30.0,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CutProfile:
    """A bounded range of losses of a profile; at most e^log_above of P lies above it, finite.

    Masses below e^log_least are too small to matter, and need not be known well.
    """

    pair: "Pair"
    low: float
    high: float
    log_above: float
    log_least: float
    _known: dict[bytes, "NodeMasses"] = field(default_factory=dict, init=False, repr=False)

    def loss_range(self) -> tuple[float, float]:
        """The least and the greatest loss."""
        return self.low, self.high

    @property
    def anchor(self) -> float:
        """A loss that should be a node: an end of the range where an atom may be, else 0."""
        ends = (self.pair.max_loss, -self.pair.reversed.max_loss)
        return next((end for end in ends if end in {self.low, self.high}), 0.0)

    def points(self) -> tuple[Floats, Floats]:
        """Losses and logarithms of masses for a rough picture, densest around 0."""
        found = self.masses(_spread(self.low, self.high, _POINTS))
        seen = found.log_upper > -math.inf
        return found.losses[seen], found.log_upper[seen]

    def masses(self, nodes: Floats) -> "NodeMasses":
        """The masses of the dominating pair at these losses, which rise and enclose the range."""
        key = nodes.tobytes()
        if key not in self._known:
            self._known.clear()  # one grid is asked for several times in a row
            self._known[key] = self._masses(nodes)
        return self._known[key]

    def _masses(self, nodes: Floats) -> "NodeMasses":
        """At a precision at which the smallest masses that matter would be seen."""
        finest = max(float(np.diff(nodes).min()), 1e-300)
        bits = _FIRST_BITS + int((-self.log_least - 2.0 * math.log(min(finest, 1.0))) / _LN_TWO)
        with ctx.workprec(bits):
            return NodeMasses.of(self.pair, nodes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeMasses:
    """Logarithms of what a grid needs to know of a profile; see `Cells` for the last four.

    `log_upper` and `log_lower` bound the dominating pair's masses under P, `log_under` x₀ times
    the mass that Q has at ratio 0. `singular` is the mass stated to have loss ∞, rounded up, and
    `rest` what else certainly lies beyond the last node. The others bound how far the tangents at
    the middle of each cell run below f at its two ends, that at its upper end below f at the lower
    one (`lift`), and that at its lower end below f at the upper one (`drop`).
    """

    losses: Floats
    log_upper: Floats
    log_lower: Floats
    log_under: float
    singular: float
    rest: float
    log_above: Floats
    log_below: Floats
    log_lift: Floats
    log_drop: Floats

    @classmethod
    def of(cls, pair: "Pair", nodes: Floats) -> "NodeMasses":
        points = [_Point.at(pair, float(loss)) for loss in nodes]
        middles = [_Point.at(pair, float(loss)) for loss in (nodes[1:] + nodes[:-1]) / 2.0]
        masses = _chords([point.x for point in points], [point.value for point in points])
        for loss, mass in zip(nodes, masses, strict=True):
            if mass < 0:
                raise InvalidParameter(
                    f"profile_ball of {type(pair).__name__} must be convex in e^ε: around "
                    f"ε = {loss:g} it is not"
                )
        stated = pair.singular_mass_ball() if pair.is_limit_known else arb(0)
        cells = list(zip(points, middles, points[1:], strict=False))
        return cls(
            losses=nodes,
            log_upper=_logs(masses),
            log_lower=np.array([_log_below(mass) for mass in masses]),
            log_under=_log_above(points[0].x - (1 - points[0].value)),
            singular=float_above(stated),
            rest=max(float_below(points[-1].value - stated), 0.0),
            log_above=_logs(low.value - middle.after(low.x) for low, middle, _ in cells),
            log_below=_logs(high.value - middle.after(high.x) for _, middle, high in cells),
            log_lift=_logs(low.value - high.before(low.x) for low, _, high in cells),
            log_drop=_logs(high.value - low.after(high.x) for low, _, high in cells),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """The profile at x and right beside it, on both sides."""

    x: arb
    value: arb
    left: arb
    right: arb

    @classmethod
    def at(cls, pair: "Pair", loss: float) -> "_Point":
        wait()
        here, near = ball(loss), _near()
        value, left, right = (
            pair.delta_ball(at).max(arb(0)) for at in (here, here - near, here + near)
        )
        return cls(here.exp(), value, left, right)

    def after(self, x: arb) -> arb:
        """The chord to the point on the right, prolonged to x; nowhere above f."""
        slope = (self.right - self.value) / (self.x * _near().expm1())
        return self.value + slope * (x - self.x) - (self.value - self.right)

    def before(self, x: arb) -> arb:
        """The chord from the point on the left, prolonged to x; nowhere above f."""
        slope = (self.left - self.value) / (self.x * (-_near()).expm1())
        return self.value + slope * (x - self.x) - (self.left - self.value)


def _near() -> arb:
    return arb(2) ** -_NEAR_BITS


@lru_cache(maxsize=64)
def dominating_law(pair: "Pair") -> tuple[tuple[float, arb], ...] | None:
    """Losses and masses under P of a finite pair that dominates `pair`; None if losses may be ∞."""
    if pair.max_loss == math.inf or pair.singular_mass > 0.0:
        return None
    low = -min(pair.reversed.max_loss, REACH)
    nodes = _spread(low, pair.max_loss, _FINE_POINTS)
    with ctx.workprec(_FIRST_BITS):
        ratios = [ball(float(loss)).exp() for loss in nodes]
        masses = _chords(ratios, [pair.delta_ball(ball(float(loss))) for loss in nodes])
        return tuple((float(loss), p.max(arb(0))) for loss, p in zip(nodes, masses, strict=True))


def _chords(ratios: list[arb], values: list[arb]) -> list[arb]:
    """Masses under P of the chords, the first from (0, 1) and the last one level, at the nodes."""
    slopes = [(values[0] - 1) / ratios[0]]
    slopes += [
        (b - a) / (y - x) for (x, y), (a, b) in zip(pairwise(ratios), pairwise(values), strict=True)
    ]
    slopes.append(arb(0))
    return [
        x * (after - before) for x, (before, after) in zip(ratios, pairwise(slopes), strict=True)
    ]


def _edge(falling: Callable[[float], arb], target: arb, most: float) -> float:
    """An ε > 0 where a falling function is at most `target`, within a hundredth; `most` at most.

    Next to the greatest loss, that loss itself, so that nothing is left beyond.
    """
    low, high = 0.0, min(most, REACH)
    while high - low > 0.01 * high:
        wait()
        middle = (low + high) / 2.0
        if falling(middle) <= target:
            high = middle
        else:
            low = middle
    return most if most < REACH and high > 0.9 * most else max(high, 1e-300)


def _mass_under(pair: "Pair", loss: float) -> arb:
    """A bound on P(loss ≤ l) for l < 0: 1 − f(x) − x·Q(loss > l), and a chord's slope bounds Q."""
    x, y = ball(loss).exp(), ball(0.98 * loss).exp()
    at, later = pair.delta_ball(ball(loss)), pair.delta_ball(ball(0.98 * loss))
    return 1 - at - x * (at - later) / (y - x)


def _spread(low: float, high: float, count: int) -> Floats:
    """Losses from low ≤ 0 to high ≥ 0 in two geometric progressions that meet at 0."""
    near = np.geomspace(1e-6, 1.0, count)
    steps = np.concatenate([near[:-1], [1.0]])
    parts = [-steps[::-1] * -low] if low < 0.0 else []
    parts.append(np.zeros(1))
    if high > 0.0:
        parts.append(steps * high)
    return np.concatenate(parts)


def _logs(values: Iterable[arb]) -> Floats:
    return np.array([_log_above(value) for value in values])


def _log_above(mass: arb) -> float:
    """The logarithm, rounded up; −∞ where nothing is left."""
    end = mass.upper()
    return float_above(end.log()) if end > 0 else -math.inf


def _log_below(mass: arb) -> float:
    """The logarithm, rounded down; −∞ for what is not certainly positive."""
    end = mass.lower()
    return float_below(end.log()) if end > 0 else -math.inf
