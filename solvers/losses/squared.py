"""The squared loss: means and least squares."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball
from solvers.bounds import Bounds
from solvers.domains import Domain
from solvers.losses.base import TINY, UNIT, Loss, rounded_up


@dataclass(frozen=True, slots=True)
class Squared(Loss):
    """The squared loss; needs a bounded domain where slopes must be bounded.

    (s − y)²: f″ = 2, and Lipschitz only on a bounded domain, with f′ ≤ 2(rR + |y|).

    With the one feature x = 1 its minimizer is the mean of the labels.

    >>> Squared().values([1.0, 3.0], [0.0, 1.0]).tolist()
    [1.0, 4.0]
    """

    name = "squared"
    labels = "bounded"
    monotone = False
    steepest = math.inf
    sharpness = 2.0

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        values: Floats = _residuals(scores, labels) ** 2
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return 2.0 * _residuals(scores, labels)

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return np.full(np.broadcast(scores, labels).shape, 2.0)

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:
        residual = scores[0] - arb(label)
        return residual * residual, [2 * residual], [[arb(2)]]

    def slope_bound(
        self, bounds: Bounds, domain: Domain | None = None, dimension: int | None = None
    ) -> float:
        self.check_bounds(bounds)
        radius = math.inf if domain is None else domain.largest_norm(dimension)
        label = bounds.largest_label
        return rounded_up(lambda: 2 * (ball(bounds.norm) * ball(radius) + ball(label)), radius)

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return 2.0 * UNIT * np.abs(self.slopes(scores, labels)) + TINY

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        return cp.square(scores - np.asarray(labels, np.float64))


def _residuals(scores: ArrayLike, labels: ArrayLike) -> Floats:
    residuals: Floats = np.asarray(scores, np.float64) - np.asarray(labels, np.float64)
    return residuals
