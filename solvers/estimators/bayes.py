"""Gaussian naive Bayes: mean and variance of each feature in each class, from one noisy release."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from dpverify.arrays import Floats
from solvers.estimators.batches import Batch, BatchClassifier
from solvers.estimators.blocks import declared_classes
from solvers.estimators.boxes import center_and_half, feature_bounds
from solvers.estimators.declarations import Declaration, validated
from solvers.estimators.standardizer import mean_and_deviation
from solvers.privacy.moments import BoundedMoments


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateNaiveBayes(BatchClassifier[BoundedMoments]):
    """Gaussian naive Bayes under differential privacy.

    Sums, sums of squares and the number of records of every class are released once, with noise. A
    record is in one class only, so classes cost nothing; where records are replaced, two classes
    may change.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    low, high : float, or one a feature
        Every value lies between them. Must be declared.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    classes : sequence
        The labels that can occur. Must be declared.
    weight_bound : float or None
        Every weight in `sample_weight` lies between 0 and this.
    clip : bool
        Move values into [low, high], and weights into their bound, instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    classes_, class_prior_, theta_, var_
        As in scikit-learn's `GaussianNB`: priors, means and variances.
    claim_ : Claim
        What was spent, and why that holds.

    >>> from dpverify import PureDP
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 3000)
    >>> X = rng.normal(y[:, None], 0.3, (3000, 2))
    >>> model = PrivateNaiveBayes(budget=PureDP(epsilon=1.0), low=-1.0, high=3.0, clip=True,
    ...                           classes=range(3), relation="add-remove", random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.95)
    True
    """

    def _release(
        self,
        declared: Declaration,
        features: int,  # noqa: ARG002
        rng: np.random.Generator,  # noqa: ARG002
        *,
        first: bool,  # noqa: ARG002
    ) -> BoundedMoments:
        return BoundedMoments(
            budget=declared.budget,
            relation=declared.relation,
            groups=len(declared_classes(self.classes)),
        )

    def _learn(
        self, release: BoundedMoments, data: Batch, rng: np.random.Generator, *, first: bool
    ) -> None:
        """Priors, means and deviations from the noisy moments of all batches (post-processing)."""
        features = self.n_features_in_
        released = release.sample_groups(data, 1, rng=rng)[0]
        self._moments: Floats = released if first else self._moments + released
        middle, half = center_and_half(*feature_bounds(self.low, self.high, features))
        spread = release.noise(features).deviation * math.sqrt(self._batches)
        found = [mean_and_deviation(part, spread) for part in self._moments]
        one_record = 1.0 / (self.weight_bound or 1.0)  # counts are shares of the largest weight
        counts = np.maximum(self._moments[:, -1], one_record)
        self.class_prior_: Floats = counts / counts.sum()
        self.theta_: Floats = middle + half * np.stack([mean for mean, _ in found])
        self._deviations: Floats = half * np.stack([deviation for _, deviation in found])
        self._half = half

    @property
    def var_(self) -> Floats:
        """The variance of each feature in each class."""
        found: Floats = self._deviations**2
        return found

    def predict_joint_log_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """ln P(class)·p(x | class) for each row and class, up to a constant."""
        check_is_fitted(self)
        # In rows' own order, so that each sum depends on its row alone, to the last bit.
        rows = validated(self, X, reset=False, dtype=np.float64, order="C")
        standard = (rows[:, None] - self.theta_) / self._deviations
        logs = -0.5 * standard**2 - np.log(self._deviations / self._half)
        found: Floats = np.log(self.class_prior_) + logs.sum(axis=2)
        return found

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        likeliest = self.predict_joint_log_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The model's probability of each class (post-processing)."""
        shares: Floats = softmax(self.predict_joint_log_proba(X), axis=1)
        return shares
