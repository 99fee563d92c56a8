"""The Poisson loss: counts whose mean grows exponentially with the score, up to a cap."""

import math
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.errors import check_positive, settle_fields
from solvers.bounds import Bounds
from solvers.domains import Domain
from solvers.losses.base import TINY, UNIT, Loss


@dataclass(frozen=True, slots=True)
class Poisson(Loss):
    """The Poisson loss of a log-linear model, with a cap on its mean.

    ∫ min(e^s, c) ds − y·s for counts y ≥ 0 and the cap c = `largest_mean`: minus the
    log-likelihood of a Poisson variable of mean e^s, e^s − y·s, where e^s ≤ c, and a straight line
    beyond. So f′ = min(e^s, c) − y lies between −y and c, and f″ ≤ c: Lipschitz and smooth on the
    whole line, with |f′| ≤ max(c, label bound). [proofs/capped_means.py] Labels below 0, which
    are no counts, are taken for 0.

    >>> Poisson(10.0).slopes([0.0, 50.0], [3.0, 3.0]).tolist()
    [-2.0, 7.0]
    """

    name = "poisson"
    labels = "bounded"
    monotone = False
    steepest = math.inf  # labels may be as large as declared
    twice_differentiable = False  # f″ jumps at the cap

    largest_mean: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("largest_mean", self.largest_mean)

    @property
    def sharpness(self) -> float:
        return float(self.largest_mean)

    @property
    def cap(self) -> float:
        """The score at which the mean is capped: ln c."""
        return math.log(self.largest_mean)

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        s = np.asarray(scores, np.float64)
        beyond = np.maximum(s - self.cap, 0.0)
        values: Floats = self._means(s) + float(self.largest_mean) * beyond - _counts(labels) * s
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        slopes: Floats = self._means(scores) - _counts(labels)
        return slopes

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        s = np.broadcast_arrays(np.asarray(scores, np.float64), labels)[0]
        curvatures: Floats = np.where(s < self.cap, self._means(s), 0.0)
        return curvatures

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:
        s, c, y = scores[0], arb(float(self.largest_mean)), arb(max(float(label), 0.0))
        cap = c.log()
        mean = c if s > cap else s.min(cap).exp()
        value = mean + c * (s - cap).max(arb(0)) - y * s
        return value, [mean - y], [[mean if s < cap else arb(0)]]

    def slope_bound(
        self,
        bounds: Bounds,
        domain: Domain | None = None,  # noqa: ARG002
        dimension: int | None = None,  # noqa: ARG002
    ) -> float:
        self.check_bounds(bounds)
        return max(float(self.largest_mean), bounds.largest_label)

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """Errors of the exponential, of the logarithm of the cap, and of the difference."""
        mean = self._means(scores)
        away = 16.0 + 4.0 * abs(self.cap)
        errors: Floats = away * UNIT * (mean + np.abs(self.slopes(scores, labels))) + TINY
        return errors

    def _means(self, scores: ArrayLike) -> Floats:
        """min(e^s, c), without overflow and never above c."""
        s = np.minimum(np.asarray(scores, np.float64), self.cap)
        means: Floats = np.minimum(np.exp(s), float(self.largest_mean))
        return means


def _counts(labels: ArrayLike) -> Floats:
    return np.maximum(np.asarray(labels, np.float64), 0.0)
