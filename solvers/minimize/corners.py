"""Minima of losses with corners: smoothed ever less, and certified by a duality gap.

For slopes a that f can have, and r = λθ + Xᵀa + b, the gap of θ and a is Σ[f(s) + f*(a) − a·s] +
‖r‖²/(2λ), a sum of terms that are not negative. For f(s) = max(low·(s − c), high·(s − c)) one is
(high − a)(s − c)₊ + (a − low)(c − s)₊: it is 0, whatever is rounded, for each record that is on
one side of its corner for certain. So little is lost in floats: only records at their corner count.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, lengths
from dpverify.balls import ball, enclose
from solvers.losses.base import UNIT, Labels, Loss
from solvers.minimize import newton
from solvers.minimize.certificate import BLOCK_ERROR, block_sums, gamma, row_lengths
from solvers.minimize.objective import Objective


@dataclass(frozen=True, slots=True)
class Rounded(Loss):
    """A loss of two lines with its corner smoothed.

    min over u of f(u) + (s − u)²/(2·width), for f(s) = max(low·(s − c), high·(s − c)).

    Its slope is (s − c)/width, cut to [low, high]: one that f has as well, at a score within
    width·|slope| of s. So a minimum of rounded losses carries a small duality gap of f itself.

    >>> from solvers.losses import Absolute
    >>> Rounded(Absolute(), 0.5).slopes([0.0, 0.25, 3.0], [0.0, 0.0, 0.0]).tolist()
    [0.0, 0.5, 1.0]
    """

    twice_differentiable = False

    loss: Loss
    width: float

    @property
    def labels(self) -> Labels:
        return self.loss.labels

    @property
    def steepest(self) -> float:
        return self.loss.steepest

    @property
    def name(self) -> str:
        return f"rounded {self.loss.name}"

    @property
    def monotone(self) -> bool:
        return self.loss.monotone

    def _raw(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        raw: Floats = (np.asarray(scores, np.float64) - self.loss.corners(labels)[0]) / self.width
        return raw

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """The smoothed loss: a·(s − c) − width·a²/2, where a is the slope."""
        a = self.slopes(scores, labels)
        values: Floats = a * self.width * (self._raw(scores, labels) - 0.5 * a)
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        _, low, high = self.loss.corners(labels)
        return np.clip(self._raw(scores, labels), low, high)

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        _, low, high = self.loss.corners(labels)
        raw = self._raw(scores, labels)
        return np.where((raw > low) & (raw < high), 1.0 / self.width, 0.0)

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:
        corner, low, high = (arb(float(x)) for x in self.loss.corners(label))
        width = ball(self.width)
        raw = (scores[0] - corner) / width
        a = raw.max(low).min(high)
        bend = 1 / width if low < raw < high else arb(0)
        return a * width * (raw - a / 2), [a], [[bend]]

    @property
    def sharpness(self) -> float:
        return enclose(lambda: 1 / ball(self.width))[1]

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """Errors of the slopes: two roundings of s − c, whose terms may cancel."""
        corner, low, high = self.loss.corners(labels)
        raw = self._raw(scores, labels)
        size = (np.abs(np.asarray(scores, np.float64)) + np.abs(corner)) / self.width
        # Far from the corner the slope is cut, and exact.
        cut = (raw < low - 8.0 * UNIT * size) | (raw > high + 8.0 * UNIT * size)
        return np.where(cut, 0.0, 4.0 * UNIT * size)


_NARROWER = 0.125
_NARROWEST = 2.0**-48
_ITERATIONS = 100  # a few suffice from a good start; more are a sign of rounding
_PATIENCE = 3  # widths without any gain before floats give up
_SCORES = 1 << 22  # scores held at once


def minimize_corners(
    loss: Loss, data: tuple[Floats, Floats], ridge: float, linear: Floats, *, aim: float
) -> tuple[Floats, Floats]:
    """For each row b of `linear` (B, d) a point, and a bound on its distance from the minimum.

    While the same records are at their corner, the minimum θ(w) is nearly linear in the width w. So
    two widths tell where the next begins, and where θ(0) is: there, with the slopes of θ(w), the
    gap is of order w² instead of w. It stops at the first width at which all are within `aim`, or
    where floats tell no more.
    """
    objective = Objective(Rounded(loss, 1.0), *data, ridge)
    points, distances = np.zeros_like(linear), np.full(len(linear), np.inf)
    last, at, width, worse = points, points, 1.0, 0
    while width >= _NARROWEST and worse < _PATIENCE and not (distances <= aim).all():
        objective = replace(objective, loss=Rounded(loss, width))
        ahead = at + _NARROWER * (at - last)
        last, at = (
            at,
            newton.minimize(
                objective, linear, start=ahead, tolerance=ridge * aim / 8.0, iterations=_ITERATIONS
            ),
        )
        before = distances
        for tried in (at, at + _NARROWER / (1.0 - _NARROWER) * (at - last)):
            found = gap_distances(objective, tried, linear, slopes_at=at)
            better = found < distances
            points, distances = np.where(better[:, None], tried, points), np.fmin(found, distances)
        worse = 0 if (distances < before).any() else worse + 1
        width *= _NARROWER
    return points, distances


def gap_distances(
    objective: Objective, points: Floats, linear: Floats, *, slopes_at: Floats
) -> Floats:
    """√(2·gap/λ) for points (B, d) and slopes from the smoothed loss; rounding is included."""
    rounded = objective.loss
    if not isinstance(rounded, Rounded):
        raise TypeError(f"loss={rounded!r} must be a loss whose corners are smoothed")
    norms, d = row_lengths(objective.features), objective.dimension
    corner, low, high = rounded.loss.corners(objective.labels)
    totals = np.empty(len(points))
    rows = max(1, _SCORES // max(1, len(norms)))
    for first in range(0, len(points), rows):
        few = slice(first, first + rows)
        part, scores = points[few], objective.scores(points[few])
        slopes = rounded.slopes(objective.scores(slopes_at[few]), objective.labels)
        off = gamma(d + 4) * lengths(part)[:, None] * norms
        off += 4.0 * UNIT * (np.abs(scores) + np.abs(corner)) + 2.0**-500
        above = np.maximum(scores - corner + off, 0.0)
        below = np.maximum(corner - scores + off, 0.0)
        terms = ((high - slopes) * above + (slopes - low) * below).sum(axis=1)
        residuals = _residuals(objective, slopes, part, linear[few])
        totals[few] = terms * (1.0 + 2.0 * gamma(len(norms) + 16))
        totals[few] += residuals * (residuals / (2.0 * objective.ridge))
    distances: Floats = np.sqrt(2.0 * totals / objective.ridge) * (1.0 + 2.0**-30)
    return np.where(np.isfinite(distances), distances, np.inf)


def _residuals(objective: Objective, slopes: Floats, points: Floats, linear: Floats) -> Floats:
    """A bound on ‖λθ + Xᵀa + b‖ for each row of slopes a; blocks of records are added exactly."""
    norms = row_lengths(objective.features)
    found = np.empty(len(points))
    for row, (a, point, b) in enumerate(zip(slopes, points, linear, strict=True)):
        sums = block_sums(a, objective.features)
        columns = np.concatenate([sums, (objective.ridge * point)[None], b[None]]).T
        total = np.array([math.fsum(column.tolist()) for column in columns])
        size = float(np.abs(a) @ norms)
        rest = float(objective.ridge * lengths(point) + lengths(b))
        error = BLOCK_ERROR * size * (1.0 + gamma(len(a) + 2)) + 8.0 * UNIT * (size + rest)
        found[row] = float(lengths(total)) + error
    return found * (1.0 + 2.0**-30)
