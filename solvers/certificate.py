"""How far a computed minimum can be from the exact one: bounds that count every rounding.

The gradient that floats compute differs from the exact one by what is lost in the scores, in the
slopes and in the sums. Each loss is bounded as in running error analysis: a sum of k products in
any order errs by at most γ_k = ku/(1 − ku) times the sum of their sizes, u = 2^-53. [Higham,
Accuracy and Stability of Numerical Algorithms, 2002, Sec. 3.1 and 4.2]
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.errors import DPVerifyError, check_between, check_count
from dpverify.theorems import Theorem
from solvers.bounds import Floats
from solvers.losses.base import UNIT
from solvers.objective import Objective

EXPONENTIAL_ACCURACY = "NumPy's exp is within 4 units in the last place"

_BLOCK = 256  # records summed by the linear algebra library; blocks are summed exactly
_LARGE = 4096  # records beyond which blocks pay
_SCORES = 1 << 20  # scores held at once
_ROOM = 1.0 + 2.0**-30  # covers the rounding of the bounds themselves: a few dozen operations


class NotSolved(DPVerifyError):
    """A solver stopped before it reached what a claim needs; nothing was released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """‖θ − θ*‖ ≤ `distance` for the θ that was computed, and ‖∇J(θ)‖ ≤ `gradient` if J is smooth.

    `theorem` turns the one into the other. For many solves, the largest over all of them.
    """

    distance: float
    theorem: Theorem
    gradient: float | None = None
    solves: int = 1

    def __post_init__(self) -> None:
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
    n = len(objective.features)
    if n > _LARGE:
        pairs = zip(points, linear, strict=True)
        return np.array([_blockwise(objective, point, b) for point, b in pairs])
    rows = max(1, _SCORES // n)
    bounds = [
        _together(objective, points[i : i + rows], linear[i : i + rows])
        for i in range(0, len(points), rows)
    ]
    return np.concatenate(bounds)


def gradient_errors(objective: Objective, points: Floats, linear: Floats) -> Floats:
    """A bound on what rounding does to `objective.gradients` at each point (B, d)."""
    scores = objective.scores(points)
    return _errors(
        objective, scores, objective.loss.slopes(scores, objective.labels), points, linear
    )


def _together(objective: Objective, points: Floats, linear: Floats) -> Floats:
    """Bounds for many points, each sum over all records being one of the library's."""
    scores = objective.scores(points)
    slopes = objective.loss.slopes(scores, objective.labels)
    gradients = objective.total(slopes, points, linear)
    errors = _errors(objective, scores, slopes, points, linear)
    bounds: Floats = (np.linalg.norm(gradients, axis=1) + errors) * _ROOM
    return bounds


def _errors(
    objective: Objective, scores: Floats, slopes: Floats, points: Floats, linear: Floats
) -> Floats:
    lengths = row_lengths(objective.features)
    losses = _slope_errors(objective, scores, points, lengths)
    sums = gamma(len(lengths) + 2) * (np.abs(slopes) @ lengths)
    rest = np.linalg.norm(linear, axis=1) + objective.ridge * np.linalg.norm(points, axis=1)
    carried = np.abs(slopes) @ lengths + rest
    total = losses @ lengths + sums + 8 * UNIT * carried
    errors: Floats = total * (_ROOM + gamma(len(lengths) + objective.dimension))
    return errors


def _blockwise(objective: Objective, point: Floats, linear: Floats) -> float:
    """The bound for one point and many records: short sums in blocks, the blocks exactly."""
    n, d = objective.features.shape
    partial: list[Floats] = []
    errors: list[float] = []
    sizes: list[float] = []
    group = _BLOCK * max(1, _SCORES // (_BLOCK * d))
    for first in range(0, n, group):
        rows = objective.features[first : first + group]
        labels = objective.labels[first : first + group]
        lengths = row_lengths(rows)
        scores = rows @ point
        slopes = objective.loss.slopes(scores, labels)
        part = Objective(objective.loss, rows, labels, objective.ridge)
        losses = _slope_errors(part, scores[None], point[None], lengths)[0]
        whole = len(rows) // _BLOCK * _BLOCK
        shaped = rows[:whole].reshape(-1, _BLOCK, d)
        partial.append(np.matmul(slopes[:whole].reshape(-1, 1, _BLOCK), shaped)[:, 0])
        partial.append((slopes[whole:] @ rows[whole:])[None])
        errors.append(float(losses @ lengths))
        sizes.append(float(np.abs(slopes) @ lengths))
    columns = np.concatenate(partial).T
    ends = zip(objective.ridge * point, linear, strict=True)
    gradient = [
        math.fsum([*column.tolist(), *end]) for column, end in zip(columns, ends, strict=True)
    ]
    size = math.fsum(sizes)
    rest = float(np.linalg.norm(linear) + objective.ridge * np.linalg.norm(point))
    rounding = math.fsum(errors) + gamma(_BLOCK + 2) * size + 8 * UNIT * (size + rest)
    return float((np.linalg.norm(gradient) + rounding) * (_ROOM + gamma(n)))


def _slope_errors(objective: Objective, scores: Floats, points: Floats, lengths: Floats) -> Floats:
    """How far each computed slope is from f′ at the exact score: (B, n).

    A score errs by γ_d·‖θ‖·‖x‖, which f″ turns into an error of the slope.
    """
    loss, d = objective.loss, objective.dimension
    reach = np.linalg.norm(points, axis=1)[:, None] * lengths
    errors: Floats = loss.slope_errors(scores, objective.labels)
    errors += loss.sharpness * gamma(d + 2) * reach
    return errors


def row_lengths(rows: Floats) -> Floats:
    """‖row‖₂ for each row."""
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return lengths


def gamma(count: int) -> float:
    """γ_k = ku/(1 − ku)."""
    return count * UNIT / (1.0 - count * UNIT)
