"""Bounds on how far a computed minimum is from the exact one; all rounding is included.

The gradient that floats compute differs from the exact one by what is lost in the scores, in the
slopes and in the sums. Each loss is bounded as in running error analysis: a sum of k products in
any order errs by at most γ_k = ku/(1 − ku) times the sum of their sizes, u = 2^-53. [Higham,
Accuracy and Stability of Numerical Algorithms, 2002, Sec. 3.1 and 4.2]
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dpverify.arrays import Floats, lengths
from dpverify.errors import DPVerifyError, check_between, check_count, settle_fields
from dpverify.theorems import Theorem
from solvers.losses.base import UNIT
from solvers.minimize.objective import Objective

EXPONENTIAL_ACCURACY = "NumPy's exp is within 4 units in the last place"

_BLOCK = 256  # records summed by the linear algebra library; blocks are summed exactly
_LARGE = 4096  # records beyond which blocks pay
_SCORES = 1 << 20  # scores held at once
_UNDERFLOW = 2.0**-1020  # a product loses 2^-1075 at most
ROOM = 1.0 + 2.0**-30  # covers the rounding of the bounds themselves: a few dozen operations


class NotSolved(DPVerifyError):
    """Raised if a solver is not accurate enough for a claim; nothing is released then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinimumCertificate:
    """‖θ − θ*‖ ≤ `distance` for the computed θ, and ‖∇J(θ)‖ ≤ `gradient` if J is smooth.

    `theorem` turns the one into the other. For many solves, the largest over all of them.
    """

    distance: float
    theorem: Theorem
    gradient: float | None = None
    solves: int = 1

    def __post_init__(self) -> None:
        settle_fields(self)
        check_between("distance", self.distance, 0.0, math.inf)
        check_count("solves", self.solves)


def gradient_bounds(objective: Objective, points: Floats, linear: Floats) -> Floats:
    """A bound on the exact ‖∇J‖ at each of the points (B, d), rounding included.

    >>> from solvers.losses import Squared
    >>> J = Objective(Squared(), np.ones((3, 1)), np.array([0.0, 1.0, 5.0]), ridge=2.0)
    >>> bounds = gradient_bounds(J, np.array([[1.5], [2.5]]), np.zeros((2, 1)))
    >>> bool(bounds[0] < 1e-13), round(float(bounds[1]), 6)  # ∇J = 8θ − 12
    (True, 8.0)
    """
    gradients, errors = certified_gradients(objective, points, linear)
    bounds: Floats = (lengths(gradients) + errors) * ROOM
    return bounds


def certified_gradients(
    objective: Objective, points: Floats, linear: Floats
) -> tuple[Floats, Floats]:
    """∇J in floats at each of the points (B, d), and a bound on the error of each: (B)."""
    n = len(objective.features)
    if n > _LARGE:
        pairs = [_blockwise(objective, *pair) for pair in zip(points, linear, strict=True)]
    else:
        rows = max(1, _SCORES // max(1, n))
        starts = range(0, len(points), rows)
        pairs = [_together(objective, points[i : i + rows], linear[i : i + rows]) for i in starts]
    gradients, errors = zip(*pairs, strict=True)
    return np.concatenate(gradients), np.concatenate(errors)


def _together(objective: Objective, points: Floats, linear: Floats) -> tuple[Floats, Floats]:
    """Gradients at many points, each sum over the records by one library call."""
    rows = row_lengths(objective.features)
    scores = objective.scores(points)
    slopes = objective.loss.slopes(scores, objective.labels)
    losses = _slope_errors(objective, scores, points, rows)
    size: Floats = slope_sizes(slopes) @ rows
    rest = lengths(linear) + objective.ridge * lengths(points)
    total = losses @ rows + gamma(len(rows) + 2) * size + 8 * UNIT * (size + rest)
    errors: Floats = total * (ROOM + gamma(len(rows) + objective.dimension))
    return objective.total(slopes, points, linear), errors + underflow(*objective.features.shape)


def _blockwise(objective: Objective, point: Floats, linear: Floats) -> tuple[Floats, Floats]:
    """The gradient at one point over many records: short sums in blocks, then added exactly."""
    sums, error, size = block_gradient(objective, point)
    columns = np.concatenate([sums, (objective.ridge * point)[None], linear[None]]).T
    gradient = np.array([math.fsum(column.tolist()) for column in columns])
    rest = float(lengths(linear) + objective.ridge * lengths(point))
    rounding = error + BLOCK_ERROR * size + 8 * UNIT * (size + rest)
    error = rounding * (ROOM + gamma(len(objective.features))) + underflow(
        *objective.features.shape
    )
    return gradient[None], np.array([error])


def block_gradient(objective: Objective, point: Floats) -> tuple[Floats, float, float]:
    """Σ f′·x over blocks (blocks, d·K), the error of the slopes, and Σ|f′|·‖x‖.

    The blocks themselves err by BLOCK_ERROR times the last.
    """
    n, d = objective.features.shape
    parts: list[Floats] = []
    errors: list[float] = []
    sizes: list[float] = []
    group = _BLOCK * max(1, _SCORES // (_BLOCK * d))
    for first in range(0, max(n, 1), group):
        rows = objective.features[first : first + group]
        labels = objective.labels[first : first + group]
        norms = row_lengths(rows)
        part = replace(objective, features=rows, labels=labels)
        scores = part.scores(point[None])
        slopes = objective.loss.slopes(scores, labels)
        losses = _slope_errors(part, scores, point[None], norms)[0]
        width = 1 if slopes.ndim == 2 else slopes.shape[2]
        classes = slopes.reshape(len(rows), width).T
        sums = [block_sums(column, rows) for column in classes]
        parts.append(np.stack(sums, axis=-1).reshape(len(sums[0]), -1))
        errors.append(float(losses @ norms))
        sizes.append(float(slope_sizes(slopes)[0] @ norms))
    return np.concatenate(parts), math.fsum(errors), math.fsum(sizes)


def block_sums(weights: Floats, rows: Floats) -> Floats:
    """Σ wᵢ·xᵢ over blocks of records, (blocks, d); errors are at most BLOCK_ERROR·Σ|wᵢ|·‖xᵢ‖."""
    whole = len(rows) // _BLOCK * _BLOCK
    shaped = rows[:whole].reshape(-1, _BLOCK, rows.shape[1])
    sums = np.matmul(weights[:whole].reshape(-1, 1, _BLOCK), shaped)[:, 0]
    return np.concatenate([sums, (weights[whole:] @ rows[whole:])[None]])


def _slope_errors(objective: Objective, scores: Floats, points: Floats, rows: Floats) -> Floats:
    """A bound on how far each computed slope is from f′ at the exact score: (B, n).

    A score errs by γ_d·‖θ‖·‖x‖, which f″ turns into an error of the slope.
    """
    loss, d = objective.loss, objective.features.shape[1]
    reach = lengths(points)[:, None] * rows
    errors = slope_sizes(loss.slope_errors(scores, objective.labels))
    errors += loss.sharpness * gamma(d + 2) * reach
    return errors


def slope_sizes(slopes: Floats) -> Floats:
    """|f′| for each point and record (B, n); the norm over the classes if there are several."""
    sizes: Floats = np.abs(slopes) if slopes.ndim == 2 else np.linalg.norm(slopes, axis=2)
    return sizes


def row_lengths(rows: Floats) -> Floats:
    """‖row‖₂ for each row."""
    # What underflows in the squares is covered by what is added.
    found: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows)) + 2.0**-500
    return found


def underflow(records: int, columns: int) -> float:
    """A bound on what underflows in a gradient, for losses of any curvature up to 2^40."""
    return (records + 1) * (columns + 1) * _UNDERFLOW


def gamma(count: int) -> float:
    """The rounding constant γ_k = ku/(1 − ku)."""
    return count * UNIT / (1.0 - count * UNIT)


BLOCK_ERROR = gamma(_BLOCK + 2)
