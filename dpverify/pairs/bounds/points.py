"""The worst pair that satisfies several points (ε, δ), in both directions.

A profile f is convex in x = e^ε, falls from f(0) = 1, and lies below (xᵢ, δᵢ) at every point; so it
lies below the lower convex hull of these points, which is itself the profile of a pair: at a corner
x the slope rises by q, the mass under Q, and p = x·q. Points of the reversed pair are points at
ratios below 1: f(1/x) = 1 − 1/x + δ′(x)/x.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from dpverify.balls import ball, float_above
from dpverify.errors import InvalidParameter, as_between, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT

_BITS = 256  # beside those that e^(−ε) at the last point takes


@dataclass(frozen=True, slots=True)
class PointsPair(Pair):
    """(ε, δ)-DP at all these points: δ `forward` in one direction, `backward` in the other.

    `epsilons` rise from 0.

    >>> pair = PointsPair((0.0, 1.0), (0.4, 0.0), (0.4, 0.0))
    >>> pair.delta(1.0), round(pair.delta(0.0), 9)
    (0.0, 0.4)
    """

    epsilons: tuple[float, ...]
    forward: tuple[float, ...]
    backward: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.epsilons))
        if not self.epsilons or self.epsilons[0] != 0 or not rising:
            raise InvalidParameter(f"epsilons={self.epsilons[:3]!r} must rise from 0")
        for name in ("forward", "backward"):
            deltas = getattr(self, name)
            if len(deltas) != len(self.epsilons):
                raise InvalidParameter(f"{name} must have {len(self.epsilons)} entries")
            settle(self, **{name: tuple(as_between(name, delta, 0.0, 1.0) for delta in deltas)})

    @property
    def reversed(self) -> "PointsPair":
        return PointsPair(self.epsilons, self.backward, self.forward)

    @property
    def singular_mass(self) -> float:
        return self._hull.singular

    @property
    def max_loss(self) -> float:
        return max(self._hull.losses[-1], 0.0) if self._hull.losses else 0.0

    @property
    def _hull(self) -> "_Hull":
        return _hull(self)

    def profile_ball(self, epsilon: arb) -> arb:
        """The largest of the lines around ε: all lines lie below a convex function."""
        hull, x = self._hull, epsilon.exp()
        first = bisect_right(hull.losses, float(epsilon.lower()) - 1e-9) - 1
        last = bisect_right(hull.losses, float(epsilon.upper()) + 1e-9) + 1
        found = arb(0)
        for anchor, height, slope in hull.lines[max(first, 0) : last + 1]:
            found = found.max(height + slope * (x - anchor))
        return found

    def loss_law(self) -> LossLaw:
        hull = self._hull
        if not hull.losses:
            return LossLaw()
        losses, logs = np.array(hull.losses), np.array(hull.log_masses)
        size = float(np.abs(losses).max() + np.abs(logs).max())
        return LossLaw(losses=losses, log_masses=logs, mass_error=8.0 * UNIT * (1.0 + size))


@dataclass(frozen=True, slots=True, eq=False)
class _Hull:
    """Corners with their masses under P, and lines (x, f(x), slope) before, between and after."""

    losses: list[float]
    log_masses: list[float]
    lines: list[tuple[arb, arb, arb]]
    singular: float


@lru_cache(maxsize=64)
def _hull(pair: PointsPair) -> _Hull:
    with ctx.workprec(_BITS + int(3.0 * pair.epsilons[-1] / math.log(2.0))):
        points: list[tuple[float, arb, arb]] = [(-math.inf, arb(0), arb(1))]
        for epsilon, delta in zip(pair.epsilons[:0:-1], pair.backward[:0:-1], strict=True):
            x = (-ball(epsilon)).exp()
            points.append((-float(epsilon), x, 1 - x + x * ball(delta)))
        least = ball(min(pair.forward[0], pair.backward[0]))
        for epsilon, delta in zip(pair.epsilons, pair.forward, strict=True):
            least = least.min(ball(delta))
            points.append((float(epsilon), ball(epsilon).exp(), least))
        corners = _lower_hull(points)
        slopes = [(b[2] - a[2]) / (b[1] - a[1]) for a, b in pairwise(corners)] + [arb(0)]
        lines = [(a[1], a[2], slope) for a, slope in zip(corners, slopes, strict=True)]
        losses, logs = [], []
        for (loss, x, _), before, after in zip(corners[1:], slopes[:-1], slopes[1:], strict=True):
            mass = x * (after - before)
            if mass > 0:
                losses.append(loss)
                logs.append(float(mass.log().mid()))
        return _Hull(losses, logs, lines, float_above(corners[-1][2]))


def _lower_hull(points: list[tuple[float, arb, arb]]) -> list[tuple[float, arb, arb]]:
    """The corners of the lower convex hull, from left to right; the last part is not rising."""
    hull: list[tuple[float, arb, arb]] = []
    for point in points:
        while len(hull) > 1 and not _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    while len(hull) > 1 and not hull[-2][2] > hull[-1][2]:
        hull.pop()
    return hull


def _turns_up(
    a: tuple[float, arb, arb], b: tuple[float, arb, arb], c: tuple[float, arb, arb]
) -> bool:
    return bool((b[2] - a[2]) * (c[1] - b[1]) < (c[2] - b[2]) * (b[1] - a[1]))
