"""Losses of weighted records: w·f(⟨θ, x⟩; y) for a weight w in [0, 1].

A weighted label is a pair (y, w), as `solvers.chunks.weighted_labels` makes them. The constants of
f bound those of w·f, so whatever is proved of losses with these constants holds with weights. The
logistic theorems use more: that the curvature is at most q(1 − q) where the slope is q. With
q = w·p it is: w·p·(1 − p) ≤ q·(1 − q). [proofs/weighted_losses.py]
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from solvers.bounds import Bounds
from solvers.domains import Domain
from solvers.losses.base import TINY, UNIT, Labels, Loss, TwoLines
from solvers.losses.softmax import classes_of


def weighted(loss: Loss) -> Loss:
    """The loss in a form that takes weighted records.

    >>> from solvers.chunks import weighted_labels
    >>> from solvers.losses import Logistic
    >>> weighted(Logistic()).slopes([0.0, 0.0], weighted_labels([1.0, -1.0], [0.5, 1.0])).tolist()
    [-0.25, 0.5]
    """
    return Weighted(loss) if loss.smooth else WeightedLines(loss)


class _OfAnother(Loss):
    """What a weighted loss inherits from the loss without weights."""

    loss: Loss

    @property
    def core(self) -> Loss:
        return self.loss

    @property
    def name(self) -> str:
        return self.loss.name

    @property
    def labels(self) -> Labels:
        return self.loss.labels

    @property
    def monotone(self) -> bool:
        return self.loss.monotone

    @property
    def steepest(self) -> float:
        return self.loss.steepest

    @property
    def twice_differentiable(self) -> bool:
        return self.loss.twice_differentiable

    def check_bounds(self, bounds: Bounds) -> None:
        """Check the bounds as the loss does, for weighted labels."""
        self.loss.check_bounds(_own(bounds))

    def slope_bound(
        self, bounds: Bounds, domain: Domain | None = None, dimension: int | None = None
    ) -> float:
        return self.loss.slope_bound(_own(bounds), domain, dimension)

    def curvature_bound(self, bounds: Bounds) -> float:
        return self.loss.curvature_bound(_own(bounds))

    def lipschitz(
        self, bounds: Bounds, domain: Domain | None = None, dimension: int | None = None
    ) -> float:
        return self.loss.lipschitz(_own(bounds), domain, dimension)

    def smoothness(self, bounds: Bounds) -> float:
        return self.loss.smoothness(_own(bounds))

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        own, weights = _parts(labels)
        return cp.multiply(weights, self.loss.expression(scores, own))


@dataclass(frozen=True, slots=True)
class Weighted(_OfAnother):
    """A smooth loss with a weight for each record."""

    loss: Loss

    @property
    def sharpness(self) -> float:
        return self.loss.sharpness

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        own, weights = _parts(labels)
        return self.loss.values(scores, own) * weights

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        own, weights = _parts(labels)
        return self.loss.slopes(scores, own) * self._spread(weights, 1)

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        own, weights = _parts(labels)
        return self.loss.curvatures(scores, own) * self._spread(weights, 2)

    def derivatives(self, scores: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
        own, weights = _parts(labels)
        slopes, curvatures = self.loss.derivatives(scores, own)
        return slopes * self._spread(weights, 1), curvatures * self._spread(weights, 2)

    def precise(self, scores: list[arb], label: Any) -> tuple[arb, list[arb], list[list[arb]]]:  # noqa: ANN401
        own, weight = label
        value, slopes, bends = self.loss.precise(scores, own)
        w = arb(weight)
        return w * value, [w * s for s in slopes], [[w * bend for bend in row] for row in bends]

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """The errors of the loss, and one more rounding."""
        own, weights = _parts(labels)
        inner = self.loss.slope_errors(scores, own) * self._spread(weights, 1)
        errors: Floats = (1.0 + 8.0 * UNIT) * inner
        errors += 2.0 * UNIT * np.abs(self.slopes(scores, labels)) + TINY
        return errors

    def _spread(self, weights: Floats, derivative: int) -> Floats:
        """Weights in a shape that multiplies derivatives, of which softmax has several."""
        several = derivative if classes_of(self.loss) > 1 else 0
        return np.reshape(weights, (*np.shape(weights), *(1,) * several))


@dataclass(frozen=True, slots=True)
class WeightedLines(_OfAnother, TwoLines):
    """A weighted loss of two straight lines, each made less steep by the weight."""

    loss: Loss

    def corners(self, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:
        own, weights = _parts(labels)
        corner, low, high = self.loss.corners(own)
        return corner, low * weights, high * weights


def _own(bounds: Bounds) -> Bounds:
    """The bounds for the loss without weights; raise if no weights are declared."""
    if not bounds.weighted:
        raise InvalidParameter("weighted=False must be True for a weighted loss")
    return bounds.unweighted()


def _parts(labels: ArrayLike) -> tuple[Floats, Floats]:
    """Labels and weights, of one record or of many."""
    if isinstance(labels, tuple):
        return np.float64(labels[0]), np.float64(labels[1])  # type: ignore[return-value]  # of no axes
    pairs = cast("NDArray[Any]", labels)
    return pairs["label"], pairs["weight"]
