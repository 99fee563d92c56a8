"""The median, or another quantile, of the targets, as an estimator that predicts one number."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from solvers.estimators.declarations import Declaration, PrivateEstimator, generator, validated
from solvers.exponential.quantiles import ExponentialQuantile
from solvers.quality.excess_bounds import Utility, of_quantile


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateMedian(RegressorMixin, PrivateEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Predicts a private quantile of the targets, whatever the features.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost; the exponential mechanism needs no δ. Must be declared.
    low, high : float
        Every target lies between them. Must be declared.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    quantile : float
        One half is the median.
    clip : bool
        Move targets into [low, high] instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    median_ : float
        The private quantile.
    claim_ : Claim
        What was spent, and why that holds.
    utility_ : Utility
        By how many records the quantile may be missed.

    >>> from dpverify import PureDP, Relation
    >>> ages = np.repeat([20.0, 30.0, 40.0], [100, 150, 100])
    >>> median = PrivateMedian(budget=PureDP(epsilon=1.0), low=0.0, high=120.0,
    ...                        relation=Relation.ADD_REMOVE, random_state=0)
    >>> round(median.fit(ages.reshape(-1, 1), ages).median_)
    30
    """

    low: float | None = None
    high: float | None = None
    quantile: float = 0.5

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> "PrivateMedian":  # noqa: N803
        """Draw the quantile of `y`; `X` is checked and not used."""
        mechanism = self._mechanism()
        least = Declaration.of(self.budget, self.relation).least_records
        _, targets = validated(self, X, y, y_numeric=True, ensure_min_samples=least)
        rng = generator(self.random_state)
        values = np.asarray(targets, np.float64)
        self.median_: float = float(mechanism.sample(values, 1, rng=rng)[0])
        self.claim_: Claim = mechanism.claim
        self.utility_: Utility = of_quantile(mechanism)
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The private quantile, once for each row."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False)
        return np.full(len(rows), self.median_)

    def _mechanism(self) -> ExponentialQuantile:
        declared = Declaration.of(self.budget, self.relation)
        if self.low is None or self.high is None:
            raise InvalidParameter(
                f"low={self.low!r} and high={self.high!r} must be declared: bounds on every target"
            )
        return ExponentialQuantile(
            epsilon=declared.budget.epsilon,
            low=self.low,
            high=self.high,
            relation=declared.relation,
            quantile=self.quantile,
            clip=self.clip,
        )

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own name and type
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a constant explains no variance
        return tags
