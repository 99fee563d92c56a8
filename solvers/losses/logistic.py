"""The logistic loss."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from solvers.losses.base import Loss, margins


@dataclass(frozen=True, slots=True)
class Logistic(Loss):
    """The logistic loss.

    ln(1 + e^(−y·s)) for y = ±1: |f′| = p < 1 and f″ = p(1 − p) ≤ 1/4, p = 1/(1 + e^(ys)).

    >>> Logistic().slopes([0.0, 800.0], [1, -1]).tolist()
    [-0.5, 1.0]
    """

    name = "logistic"
    labels = "signs"
    monotone = True
    steepest = 1.0
    sharpness = 0.25

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        values: Floats = np.logaddexp(0.0, -margins(scores, labels))
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return self.derivatives(scores, labels)[0]

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return self.derivatives(scores, labels)[1]

    def derivatives(self, scores: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
        """f′ and f″ from one exponential, e^(−|ys|), which cannot overflow."""
        z = margins(scores, labels)
        small = np.exp(-np.abs(z))
        large = 1.0 / (1.0 + small)
        small *= large
        slopes: Floats = np.where(z > 0.0, small, large)
        slopes *= -np.asarray(labels, np.float64)
        small *= large
        return slopes, small

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:
        """f, f′ and f″ in ball arithmetic, which does not overflow."""
        z = scores[0] * int(label)
        small = (-abs(z)).exp()
        p = small / (1 + small) if z > 0 else 1 / (1 + z.exp())
        return small.log1p() + (-z).max(arb(0)), [-int(label) * p], [[small / (1 + small) ** 2]]

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        return cp.logistic(-cp.multiply(np.asarray(labels, np.float64), scores))
