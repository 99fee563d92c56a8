"""A private StandardScaler: mean and scale of each feature, from noisy sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from dpverify.arrays import Floats
from dpverify.errors import check_flag
from solvers.chunks import Chunks
from solvers.estimators.blocks import BoxBlock, check_chunked, read_chunks
from solvers.estimators.boxes import center_and_half, feature_bounds, within_one
from solvers.estimators.declarations import Declaration, PrivateTransformer, generator, validated
from solvers.privacy.moments import BoundedMoments


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateStandardizer(OneToOneFeatureMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn has no types
    """Subtracts a private mean of each feature and divides by a private scale.

    One release of noisy sums and sums of squares of all features, within declared bounds. The
    budget is this step's own; `solvers.PrivatePipeline` adds up the budgets of its steps.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    low, high : float, or one a feature
        Every value lies between them. Must be declared.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    with_mean, with_std : bool
        Whether to subtract the mean, and to divide by the scale.
    clip : bool
        Move values into [low, high] instead of refusing them; `transform` does so, too.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    mean_, scale_ : array
        Private means and standard deviations. No scale is below what noise alone would make of it.
    claim_ : Claim
        What was spent, and why that holds.

    >>> from dpverify import PureDP
    >>> ages = np.random.default_rng(0).normal(40.0, 10.0, (5000, 1))
    >>> scaler = PrivateStandardizer(budget=PureDP(epsilon=1.0), low=0.0, high=120.0, clip=True,
    ...                              relation="add-remove", random_state=0).fit(ages)
    >>> round(float(scaler.mean_[0])), round(float(scaler.scale_[0]))
    (40, 10)
    """

    low: float | Sequence[float] | None = None
    high: float | Sequence[float] | None = None
    with_mean: bool = True
    with_std: bool = True

    def fit(self, X: ArrayLike | Chunks, y: object = None) -> Self:  # noqa: N803
        """Spend the budget on means and scales; values beyond their bounds are refused first.

        `X` may be `solvers.Chunks`, whose labels play no part.
        """
        declared = Declaration.of(self.budget, self.relation)
        for name in ("clip", "with_mean", "with_std"):
            check_flag(name, getattr(self, name))
        self._bounds(None)
        rng = generator(self.random_state)
        scaled: Floats | Chunks
        if isinstance(X, Chunks):
            check_chunked(y)
            X.check_unweighted("PrivateStandardizer")
            block = BoxBlock(*self._bounds(X.source.columns), clip=self.clip)
            scaled = read_chunks(self, X.unlabeled().map(block), None, declared)
        else:
            least = declared.least_records
            rows = validated(self, X, dtype=np.float64, ensure_min_samples=least)
            scaled = within_one(rows, *self._bounds(rows.shape[1]), clip=self.clip)
        middle, half = center_and_half(*self._bounds(self.n_features_in_))
        moments = BoundedMoments(budget=declared.budget, relation=declared.relation)
        released = moments.sample(scaled, 1, rng=rng)[0]
        mean, deviation = mean_and_deviation(released, moments.noise(len(half)).deviation)
        self.mean_: Floats = middle + half * mean
        self.scale_: Floats = half * deviation
        self.claim_ = moments.claim
        return self

    def transform(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Standardize each row by itself (post-processing)."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False, dtype=np.float64, ensure_min_samples=0)
        if self.clip:
            rows = np.clip(rows, *self._bounds(rows.shape[1]))
        if self.with_mean:
            rows = rows - self.mean_
        scaled: Floats = rows / self.scale_ if self.with_std else rows
        return scaled

    def _bounds(self, features: int | None) -> tuple[Floats, Floats]:
        return feature_bounds(self.low, self.high, features)


def mean_and_deviation(released: Floats, noise: float) -> tuple[Floats, Floats]:
    """Means and deviations of features in [−1, 1]; no deviation below what noise alone shows."""
    d = (len(released) - 1) // 2
    count = max(float(released[-1]), 1.0)
    error = noise / count
    mean = np.clip(released[:d] / count, -1.0, 1.0)
    variance = released[d : 2 * d] / count - mean**2
    least = min(error, 1.0) + 2.0**-20  # what noise alone would show: constants are not blown up
    return mean, np.sqrt(np.clip(variance, least, 1.0))
