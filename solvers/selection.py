"""Private selection among hyper-parameter settings, within the model's budget."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, NotSupported, check_real
from dpverify.guarantees import Guarantee
from dpverify.ledger.guards import is_guarded
from dpverify.mechanisms import NoisyMax
from dpverify.neighbors import Relation
from solvers.estimators.declarations import Declaration, RandomState, fraction, generator, together

PREDICTED_ALONE = (
    "a record's prediction depends on that record and the model alone, to the last bit"
)

_UNITS = float(1 << 20)


def _kept_has(name: str) -> Callable[[Any], bool]:
    """Whether the kept candidate, or before a fit the model itself, has a method."""

    def has(selection: Any) -> bool:  # noqa: ANN401
        return hasattr(getattr(selection, "best_estimator_", selection.estimator), name)

    return has


class PrivateSelection(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The best of several settings of a private model, within the model's own budget.

    Every candidate is fitted on an equal part of the budget; which one is kept is decided by noisy
    max on `share` of ε, and the rest is thrown away. The score counts the records that a candidate
    gets right: one record moves it by at most one, and none falls where one is added. A regression
    is scored by minus the sum of its absolute errors, each cut at twice the label bound. All
    releases together are within the budget by basic composition, adaptively: the selection is
    about models that were already released.

    Parameters
    ----------
    estimator : private classifier or regressor
        Its `budget` is the budget of everything.
    candidates : sequence of dict
        Parameters to set, one dict a candidate; fixed before the data is seen.
    share : float
        The part of ε that the selection gets.
    random_state : int, Generator, RandomState or None
        Where all noise comes from; that of the estimator is not used.

    Attributes
    ----------
    best_estimator_, best_index_
        The candidate that was kept, and its number.
    claim_ : Claim
        What all fits and the selection cost together.

    >>> from dpverify import PureDP
    >>> from solvers import PrivateMedian
    >>> ages = np.repeat([20.0, 30.0, 90.0], [30, 10, 10])
    >>> median = PrivateMedian(budget=PureDP(epsilon=4.0), low=0.0, high=100.0,
    ...                        relation=Relation.ADD_REMOVE)
    >>> search = PrivateSelection(median, candidates=[{"quantile": 0.5}, {"quantile": 0.9}],
    ...                           random_state=0)
    >>> search.fit(ages.reshape(-1, 1), ages).best_params_
    {'quantile': 0.5}
    >>> search.claim_.guarantee
    PureDP(epsilon=4.0)
    """

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401  # any private model
        *,
        candidates: Sequence[dict[str, Any]] = (),
        share: float = 0.1,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.share = share
        self.random_state = random_state

    @property
    def budget(self) -> Guarantee | None:
        """The budget of everything: the model's; None where the model charges a ledger itself."""
        found: Guarantee | None = self.estimator.budget
        return None if is_guarded(self.estimator) else found

    @property
    def relation(self) -> Relation | str | None:
        """The neighboring relation that the model declares."""
        found: Relation | str | None = self.estimator.relation
        return found

    def fit(self, X: ArrayLike, y: ArrayLike) -> "PrivateSelection":  # noqa: N803
        """Fit every candidate, keep one."""
        if is_guarded(self.estimator):
            raise InvalidParameter(
                f"estimator={type(self.estimator).__name__}(…) must not be guarded: guard the "
                "PrivateSelection, which costs more than its fits"
            )
        declared = Declaration.of(self.budget, self.relation)
        models = self._models(declared)
        largest = _range(self.estimator)
        pick = NoisyMax(
            epsilon=fraction(declared.budget, float(self.share)).epsilon,
            score_sensitivity=1.0 if largest is None else _UNITS,
            monotone=declared.relation is Relation.ADD_REMOVE,
        )
        rng = generator(self.random_state)
        labels = column_or_1d(y, warn=True)  # one label a record, or a score would mix records
        try:
            for model in models:
                model.set_params(random_state=rng)  # itself: a copy would repeat noise
                model.fit(X, labels)
        finally:
            # Whoever holds a generator can run it backwards, and take the noise away.
            for model in models:
                model.set_params(random_state=None)
        scores = [_score(model, X, labels, largest) for model in models]
        self.best_index_ = int(pick.sample(scores, 1, rng=rng)[0])
        self.best_estimator_ = models[self.best_index_]
        self.best_params_ = dict(self.candidates[self.best_index_])
        claims = [*(model.claim_ for model in models), pick.claim]
        whole = together(claims, declared)
        assumes = (*whole.assumes, PREDICTED_ALONE)
        self.claim_ = Claim(whole.guarantee, whole.relation, whole.theorem, assumes)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The same method of the kept candidate."""
        check_is_fitted(self)
        predicted: NDArray[Any] = self.best_estimator_.predict(X)
        return predicted

    @available_if(_kept_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The same method of the kept candidate."""
        check_is_fitted(self)
        found: Floats = self.best_estimator_.predict_proba(X)
        return found

    @available_if(_kept_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The same method of the kept candidate."""
        check_is_fitted(self)
        found: Floats = self.best_estimator_.decision_function(X)
        return found

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels of the kept classifier."""
        found: NDArray[Any] = self.best_estimator_.classes_
        return found

    @property
    def n_features_in_(self) -> int:
        """How many columns the kept candidate was fitted on."""
        return int(self.best_estimator_.n_features_in_)

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own name and type
        """The tags of the model: the selection is a classifier or a regressor as it is."""
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = deepcopy(inner.classifier_tags)
            tags.regressor_tags = deepcopy(inner.regressor_tags)
        return tags

    def score(self, X: ArrayLike, y: ArrayLike) -> float:  # noqa: N803
        """The same method of the kept candidate."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def _models(self, declared: Declaration) -> list[Any]:
        """The candidates, each on its part of what the selection leaves."""
        check_real("share", self.share)
        if not 0.0 < self.share < 1.0:
            raise InvalidParameter(f"share={self.share!r} must lie strictly between 0 and 1")
        if len(self.candidates) < 2:
            raise InvalidParameter(f"candidates={self.candidates!r} must be at least two")
        part = fraction(declared.budget, (1.0 - float(self.share)) / len(self.candidates))
        models = []
        for changes in self.candidates:
            if {"budget", "relation", "random_state"} & set(changes):
                raise InvalidParameter(
                    f"candidate={changes!r} must not change the budget, relation or random_state"
                )
            models.append(clone(self.estimator).set_params(**changes, budget=part))
        return models


def _range(estimator: Any) -> float | None:  # noqa: ANN401
    """The largest absolute error of a regression that is counted; None for a classifier."""
    if is_classifier(estimator):
        return None
    low, high = (getattr(estimator, name, None) for name in ("low", "high"))
    bound = getattr(estimator, "label_bound", None)
    if bound is not None:
        return 2.0 * float(bound)
    if low is not None and high is not None:
        return float(high) - float(low)
    raise NotSupported(f"estimator={estimator!r} must declare label_bound, or low and high")


def _score(model: Any, X: ArrayLike, y: NDArray[Any], largest: float | None) -> float:  # noqa: ANN401, N803
    """How many labels are right; or minus the sum of absolute errors, in units of largest/2^20.

    Either is a sum of whole numbers, so that floats hold it exactly.
    """
    if len(y) == 0:  # no record, no score; scikit-learn predicts for one at least
        return 0.0
    predicted = model.predict(X)
    if predicted.shape != y.shape:
        raise InvalidParameter(f"y of shape {y.shape} must have the predictions' {predicted.shape}")
    if largest is None:
        return float((predicted == y).sum())
    errors: Floats = np.minimum(np.abs(predicted - y) / largest, 1.0)
    return -float(np.floor(errors * _UNITS).sum())
