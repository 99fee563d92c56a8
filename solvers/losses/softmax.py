"""The multiclass logistic loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, check_count, settle_fields
from solvers.bounds import Bounds
from solvers.losses.base import UNIT, Loss, check_unweighted


@dataclass(frozen=True, slots=True)
class Softmax(Loss):
    """The softmax loss: logistic regression with several classes.

    −ln of the y-th of the probabilities p ∝ e^s, for labels 0 … classes − 1.

    Scores are a matrix (…, n, classes), one column a class, and θ is a matrix (d, classes). The
    gradient in s is p − e_y, of length at most √2: (1 − p_y)² + Σ of other p² ≤ 2·(1 − p_y)².
    The Hessian diag(p) − p·pᵀ has norm at most 1/2, as row sums of its sizes are 2·p(1 − p), and
    rank up to classes − 1, so theorems for rank one do not apply.

    >>> Softmax(2).values([[0.0, 0.0]], [1]).round(6).tolist()
    [0.693147]
    """

    name = "softmax"
    labels = "classes"
    monotone = False
    steepest = enclose(lambda: ball(2).sqrt())[1]
    sharpness = 0.5

    classes: int

    def __post_init__(self) -> None:
        settle_fields(self)
        check_count("classes", self.classes)
        if self.classes < 2:
            raise InvalidParameter(f"classes={self.classes!r} must be at least 2")

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        logs = log_softmax(np.asarray(scores, np.float64), axis=-1)
        values: Floats = -(logs * self._indicators(labels)).sum(axis=-1)
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """The gradient with respect to the scores, in their shape."""
        slopes: Floats = softmax(np.asarray(scores, np.float64), axis=-1) - self._indicators(labels)
        return slopes

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:  # noqa: ARG002
        """The Hessian with respect to the scores: an array (…, n, classes, classes)."""
        p = softmax(np.asarray(scores, np.float64), axis=-1)
        curvatures: Floats = p[..., :, None] * (np.eye(self.classes) - p[..., None, :])
        return curvatures

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:
        largest = max(s.mid() for s in scores)
        shares = [(s - largest).exp() for s in scores]
        total = sum(shares, arb(0))
        p = [share / total for share in shares]
        own = int(label)
        slopes = [q - 1 if k == own else q for k, q in enumerate(p)]
        bends = [
            [q * (1 - r) if j == k else -q * r for k, r in enumerate(p)] for j, q in enumerate(p)
        ]
        return total.log() + largest - scores[own], slopes, bends

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:  # noqa: ARG002
        """Error bounds; each entry of p is an exponential divided by a sum of exponentials."""
        p = softmax(np.asarray(scores, np.float64), axis=-1)
        spread = np.ptp(np.asarray(scores, np.float64), axis=-1, keepdims=True)
        errors: Floats = (32.0 + 2.0 * self.classes + 2.0 * spread) * UNIT * p + UNIT
        return errors

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        chosen = cp.sum(cp.multiply(self._indicators(labels), scores), axis=1)
        return cp.log_sum_exp(scores, axis=1) - chosen

    def check_bounds(self, bounds: Bounds) -> None:
        check_unweighted(bounds)
        wanted = set(range(self.classes))
        if bounds.labels is None or {float(label) for label in bounds.labels} != wanted:
            raise InvalidParameter(
                f"labels={bounds.labels!r} must be 0 to {self.classes - 1} for the softmax loss"
            )

    def _indicators(self, labels: ArrayLike) -> Floats:
        indicators: Floats = np.eye(self.classes)[np.asarray(labels).astype(np.int64)]
        return indicators


def classes_of(loss: Loss) -> int:
    """How many scores each record has: one per class for the softmax loss, else one."""
    return int(loss.core.classes) if isinstance(loss.core, Softmax) else 1
