"""Losses with corners on the whole space: rounded off ever less, and certified by a duality gap.

For slopes a that f can have, and r = λθ + Xᵀa + b, the gap of θ and a is Σ[f(s) + f*(a) − a·s] +
‖r‖²/(2λ), a sum of terms that are not negative. For f(s) = max(low·(s − c), high·(s − c)) one is
(high − a)(s − c)₊ + (a − low)(c − s)₊: it is 0, whatever is rounded, for each record that is on
one side of its corner for certain. So little is lost in floats: only records at their corner count.
"""

import math
from dataclasses import replace

import numpy as np

from dpverify.arrays import Floats
from solvers.losses.base import UNIT, Loss
from solvers.losses.rounded import Rounded
from solvers.minimize import newton
from solvers.minimize.certificate import BLOCK_ERROR, block_sums, gamma, row_lengths
from solvers.minimize.objective import Objective

_NARROWER = 0.125
_NARROWEST = 2.0**-48
_SCORES = 1 << 22  # scores held at once


def minimize_corners(
    loss: Loss, data: tuple[Floats, Floats], ridge: float, linear: Floats, *, aim: float
) -> tuple[Floats, Floats]:
    """For each row b of `linear` (B, d) a point, and a bound on its distance from the minimum.

    It stops at the first width at which all are within `aim`, or where floats tell no more.
    """
    objective = Objective(Rounded(loss, 1.0), *data, ridge)
    points, distances = np.zeros_like(linear), np.full(len(linear), np.inf)
    at, width = points, 1.0
    while width >= _NARROWEST and not (distances <= aim).all():
        objective = replace(objective, loss=Rounded(loss, width))
        at = newton.minimize(objective, linear, start=at, tolerance=ridge * aim / 8.0)
        found = gap_distances(objective, at, linear)
        better = found < distances
        points, distances = np.where(better[:, None], at, points), np.fmin(found, distances)
        width *= _NARROWER
    return points, distances


def gap_distances(objective: Objective, points: Floats, linear: Floats) -> Floats:
    """√(2·gap/λ) for points (B, d) and the rounded loss's slopes there, rounding included."""
    rounded = objective.loss
    if not isinstance(rounded, Rounded):
        raise TypeError(f"loss={rounded!r} must be rounded")
    lengths, d = row_lengths(objective.features), objective.dimension
    corner, low, high = rounded.loss.corners(objective.labels)
    totals = np.empty(len(points))
    rows = max(1, _SCORES // max(1, len(lengths)))
    for first in range(0, len(points), rows):
        part = points[first : first + rows]
        scores = objective.scores(part)
        slopes = rounded.slopes(scores, objective.labels)
        off = gamma(d + 4) * np.linalg.norm(part, axis=1)[:, None] * lengths
        off += 4.0 * UNIT * (np.abs(scores) + np.abs(corner)) + 2.0**-500
        above = np.maximum(scores - corner + off, 0.0)
        below = np.maximum(corner - scores + off, 0.0)
        terms = ((high - slopes) * above + (slopes - low) * below).sum(axis=1)
        residuals = _residuals(objective, slopes, part, linear[first : first + rows])
        totals[first : first + rows] = terms * (1.0 + 2.0 * gamma(len(lengths) + 16))
        totals[first : first + rows] += residuals * (residuals / (2.0 * objective.ridge))
    distances: Floats = np.sqrt(2.0 * totals / objective.ridge) * (1.0 + 2.0**-30)
    return np.where(np.isfinite(distances), distances, np.inf)


def _residuals(objective: Objective, slopes: Floats, points: Floats, linear: Floats) -> Floats:
    """A bound on ‖λθ + Xᵀa + b‖ for each row of slopes a: blocks of records, added up exactly."""
    lengths = row_lengths(objective.features)
    found = np.empty(len(points))
    for row, (a, point, b) in enumerate(zip(slopes, points, linear, strict=True)):
        sums = block_sums(a, objective.features)
        columns = np.concatenate([sums, (objective.ridge * point)[None], b[None]]).T
        total = np.array([math.fsum(column.tolist()) for column in columns])
        size = float(np.abs(a) @ lengths)
        rest = float(objective.ridge * np.linalg.norm(point) + np.linalg.norm(b))
        error = BLOCK_ERROR * size * (1.0 + gamma(len(a) + 2)) + 8.0 * UNIT * (size + rest)
        found[row] = float(np.linalg.norm(total)) + error
    return found * (1.0 + 2.0**-30)
