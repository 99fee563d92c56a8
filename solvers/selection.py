"""Private choice of hyper-parameters, within one budget.

Two ways are known. *Splitting* fits every candidate on an equal part of the budget and chooses by
noisy max. *Repetition* fits candidates drawn at random, a random number of times, and releases
nothing but the one run whose private score is best: that costs three times what one run costs,
however many candidates there are. [Theorem private-selection]
"""

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d, has_fit_parameter

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, NotSupported, check_count, check_member, check_real
from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.ledger.guards import is_guarded
from dpverify.mechanisms import BestOf, DiscreteLaplace, NoisyMax
from dpverify.mechanisms.inputs import RANDOM_BITS
from dpverify.neighbors import Relation
from dpverify.pairs import LeakyResponsePair
from dpverify.theorems import PRIVATE_SELECTION
from dpverify.waiting import telling
from solvers.estimators.declarations import (
    Budget,
    Declaration,
    RandomState,
    all_or_nothing,
    check_in_memory,
    fraction,
    generator,
    spent,
    together,
)
from solvers.estimators.surroundings import watched

Way: TypeAlias = Literal["auto", "repetition", "splitting"]

PREDICTED_ALONE = (
    "a record's prediction depends on that record and the model alone, to the last bit"
)
ALL_RUNS = "what the fit of each candidate assumes, not only of the one that is kept"
UNSEEN = "how many runs there were is not seen, neither in memory nor by the clock"

_UNITS = float(1 << 20)
_FEW = 3  # up to so many candidates a part of the budget is more than a third of it
_RUNS = 3  # runs a candidate, on average


def _kept_has(name: str) -> Callable[[Any], bool]:
    """Whether the kept candidate (before a fit, the model itself) has a method."""

    def has(selection: Any) -> bool:  # noqa: ANN401
        return hasattr(getattr(selection, "best_estimator_", selection.estimator), name)

    return has


class _Search(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What both selections share: candidates, one kept model, one claim."""

    estimator: Any
    method: Way
    share: float
    runs: int | None
    random_state: RandomState

    @abstractmethod
    def _settings(self) -> list[dict[str, Any]]:
        """The candidates, as parameters to set."""

    @property
    def budget(self) -> Guarantee | None:
        """The budget of the whole selection: the model's, or None if the model charges a ledger."""
        found: Guarantee | None = self.estimator.budget
        return None if is_guarded(self.estimator) else found

    @property
    def relation(self) -> Relation | str | None:
        """The neighboring relation that the model declares."""
        found: Relation | str | None = self.estimator.relation
        return found

    @watched
    @all_or_nothing
    @telling("selecting")  # and no run for itself, or they could be counted
    def fit(
        self,
        X: ArrayLike,  # noqa: N803
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the candidates and keep one.

        Weights are for the fits of models that take them; scores count every record as one.
        """
        check_in_memory(self, X)
        if y is None:
            raise InvalidParameter("y=None must be given: candidates are compared by their scores")
        if sample_weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise InvalidParameter(
                f"sample_weight={type(sample_weight).__name__} must not be given: "
                f"{type(self.estimator).__name__} takes no weights"
            )
        if is_guarded(self.estimator):
            raise InvalidParameter(
                f"estimator={type(self.estimator).__name__}(…) must not be guarded: guard the "
                f"{type(self).__name__}, which costs more than its fits"
            )
        declared = Declaration.of(self.budget, self.relation)
        settings = self._checked()
        check_member("method", self.method, ("auto", "repetition", "splitting"))
        few = "splitting" if len(settings) <= _FEW else "repetition"
        self.method_: str = few if self.method == "auto" else self.method
        check_real("share", self.share)
        if not 0.0 < self.share < 1.0:
            raise InvalidParameter(f"share={self.share!r} must lie strictly between 0 and 1")
        largest = _range(self.estimator)
        rng = generator(self.random_state)
        labels = column_or_1d(y, warn=True)  # one label a record, or a score would mix records
        kept = (self._split if self.method_ == "splitting" else self._repeat)(
            settings, declared, largest, (X, labels, sample_weight, rng)
        )
        self.best_index_, self.best_estimator_, self.claim_, self.best_score_ = kept
        self.best_estimator_.claim_ = self.claim_  # that it was kept is paid for, too
        self.best_params_ = dict(settings[self.best_index_])
        return self

    def _checked(self) -> list[dict[str, Any]]:
        settings = self._settings()
        if len(settings) < 2:
            raise InvalidParameter(f"candidates={tuple(settings)!r} must be at least two")
        for changes in settings:
            if {"budget", "relation", "random_state"} & set(changes):
                raise InvalidParameter(
                    f"candidate={changes!r} must not change the budget, relation or random_state"
                )
            clone(self.estimator).set_params(**changes)  # a name that it does not have is refused
        return settings

    def _split(
        self,
        settings: list[dict[str, Any]],
        declared: Declaration,
        largest: float | None,
        given: "_Given",
    ) -> "_Kept":
        """Fit every candidate on its part of the budget, and choose one by noisy max."""
        X, labels, _, rng = given  # noqa: N806
        share = float(self.share)
        part = fraction(declared.budget, (1.0 - share) / len(settings))
        pick = NoisyMax(
            epsilon=fraction(declared.budget, share).epsilon,
            score_sensitivity=1.0 if largest is None else _UNITS,
            monotone=declared.relation is Relation.ADD_REMOVE,
        )
        models = [self._fitted(changes, part, given) for changes in settings]
        scores = [_score(model, X, labels, largest) for model in models]
        best = int(pick.sample(scores, 1, rng=rng)[0])
        whole = together([*(model.claim_ for model in models), pick.claim], declared)
        assumes = (*whole.assumes, PREDICTED_ALONE)
        claim = Claim(whole.guarantee, whole.relation, whole.theorem, assumes)
        return best, models[best], claim, None

    def _repeat(
        self,
        settings: list[dict[str, Any]],
        declared: Declaration,
        largest: float | None,
        given: "_Given",
    ) -> "_Kept":
        """Fit random candidates until a coin says stop, and keep the run with the best score.

        After each run it ends with probability 1/`runs`, so their number is geometric, exactly, and
        has nothing to do with the data. Of runs with equal scores the first is kept, which has the
        same distribution as one of them at random.
        """
        X, labels, _, rng = given  # noqa: N806
        mean = _RUNS * len(settings) if self.runs is None else self.runs
        check_count("runs", mean, least=2)
        one = run_budget(declared.budget, int(mean))
        scoring = _scoring(one, float(self.share), largest)
        part = _less(one, scoring)
        best: _Kept | None = None
        highest = -math.inf
        while True:
            index = int(rng.integers(len(settings)))
            model = self._fitted(settings[index], part, given)
            exact = int(_score(model, X, labels, largest))
            seen = int(scoring.sample(exact, 1, rng=rng)[0])
            whole = together([model.claim_, scoring.claim], Declaration.of(one, self.relation))
            if best is None or seen > highest:
                highest = seen
                best = index, model, _selected(whole, declared), seen
            if rng.integers(int(mean)) == 0:
                return best

    def _fitted(self, changes: dict[str, Any], part: Budget, given: "_Given") -> Any:  # noqa: ANN401
        """A fitted candidate, without its random generator."""
        X, labels, weights, rng = given  # noqa: N806
        named = {} if weights is None else {"sample_weight": weights}
        model = clone(self.estimator).set_params(**changes, budget=part)
        try:
            model.set_params(random_state=rng)  # itself: a copy would repeat noise
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one a run would tell how many runs there were
                model.fit(X, labels, **named)
        finally:
            # Whoever holds a generator can run it backwards, and take the noise away.
            model.set_params(random_state=None)
        return model

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The prediction of the kept candidate."""
        check_is_fitted(self)
        predicted: NDArray[Any] = self.best_estimator_.predict(X)
        return predicted

    @available_if(_kept_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The class probabilities of the kept candidate."""
        check_is_fitted(self)
        found: Floats = self.best_estimator_.predict_proba(X)
        return found

    @available_if(_kept_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The scores of the kept candidate."""
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
        """The tags of the model: the selection is a classifier or a regressor like it."""
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = get_tags(self.estimator)
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags = deepcopy(inner.classifier_tags)
            tags.regressor_tags = deepcopy(inner.regressor_tags)
        return tags

    def score(self, X: ArrayLike, y: ArrayLike) -> float:  # noqa: N803
        """The score of the kept candidate."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))


class PrivateSelection(_Search):
    """The best of several settings of a private model, within the model's own budget.

    *Splitting*, for up to three candidates: every candidate is fitted on an equal part of the
    budget; which one is kept is decided by noisy max on `share` of ε. All releases together are
    within the budget by basic composition, adaptively: the selection is about models that were
    already released.

    *Repetition*, for more: a candidate is drawn at random, fitted, and scored with noise; that is
    one run. After each run it ends with probability 1/`runs`, and only the run with the best noisy
    score is released. If one run is ε-DP, all is 3ε-DP, with any number of candidates and runs; for
    (ε, δ) a run's δ is also divided by `runs`. [Theorem private-selection]

    The score counts the records that a candidate gets right: one record moves it by at most one. A
    regression is scored by minus the sum of its absolute errors, each cut at twice the label bound.

    Parameters
    ----------
    estimator : private classifier or regressor
        Its `budget` is the budget of everything.
    candidates : sequence of dict
        Parameters to set, one dict a candidate; fixed before the data is seen.
    method : {"auto", "repetition", "splitting"}
        "auto" splits the budget among up to three candidates.
    share : float
        The part of ε that scores get: of the whole, or of each run.
    runs : int or None
        How many runs there are on average; three a candidate by default. More cost no ε, but time.
    random_state : int, Generator, RandomState or None
        Where all noise comes from; that of the estimator is not used.

    Attributes
    ----------
    best_estimator_, best_index_, best_params_
        The candidate that was kept, with the claim of everything, its number, and its parameters.
    best_score_ : int or None
        Its noisy score, which is part of what repetition releases.
    claim_ : Claim
        What all fits and the selection cost together.
    method_ : str
        "repetition" or "splitting".

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

    def __init__(  # noqa: PLR0913  # as many as it has parameters
        self,
        estimator: Any = None,  # noqa: ANN401  # any private model
        *,
        candidates: Sequence[dict[str, Any]] = (),
        method: Way = "auto",
        share: float = 0.1,
        runs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.method = method
        self.share = share
        self.runs = runs
        self.random_state = random_state

    def _settings(self) -> list[dict[str, Any]]:
        return [dict(changes) for changes in self.candidates]


class PrivateGridSearch(_Search):
    """Grid search for a private model, within the model's own budget.

    The interface is that of scikit-learn's `GridSearchCV`, but all combinations of `param_grid` are
    compared by private scores, as `PrivateSelection` does it, and only the best is released. There
    are no folds and no `cv_results_`: what is not released costs nothing.

    >>> from dpverify import PureDP
    >>> from solvers import PrivateLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-0.5, 0.5, (2000, 2))
    >>> model = PrivateLogisticRegression(budget=PureDP(epsilon=9.0), norm_bound=1.0,
    ...                                   relation=Relation.ADD_REMOVE, classes=(False, True))
    >>> grid = {"ridge": [1.0, 10.0, 1e9], "fit_intercept": [True, False]}
    >>> search = PrivateGridSearch(model, grid, random_state=1).fit(X, X[:, 0] > 0)
    >>> search.best_params_["ridge"] < 1e9, search.claim_.guarantee
    (True, PureDP(epsilon=9.0))
    """

    def __init__(  # noqa: PLR0913  # as many as it has parameters
        self,
        estimator: Any = None,  # noqa: ANN401  # any private model
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] = (),
        *,
        method: Way = "auto",
        share: float = 0.1,
        runs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.method = method
        self.share = share
        self.runs = runs
        self.random_state = random_state

    def _settings(self) -> list[dict[str, Any]]:
        try:
            return list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError) as refusal:
            raise InvalidParameter(
                f"param_grid={self.param_grid!r} must be lists of values by parameter: {refusal}"
            ) from None


_Given: TypeAlias = tuple[ArrayLike, NDArray[Any], ArrayLike | None, np.random.Generator]
"""Rows, labels, weights if there are any, and the source of noise."""

_Kept: TypeAlias = tuple[int, Any, Claim, int | None]


@lru_cache(maxsize=256)
def run_budget(budget: Budget, runs: int) -> Budget:
    """The budget of one run, so that the best of a geometric number of runs keeps the whole budget.

    A third of ε. For (ε, δ) the bound of the theorem is computed, and ε lowered until it holds.

    >>> run_budget(PureDP(epsilon=3.0), 60).epsilon > 0.999999999
    True
    """
    if isinstance(budget, PureDP):
        return fraction(budget, 1.0 / 3.0)
    delta = 0.99 * budget.delta / runs
    for tries in range(1, 1000):
        one = ApproxDP(epsilon=budget.epsilon / 3.0 * 0.999**tries, delta=delta)
        best = BestOf(LeakyResponsePair(one), runs="geometric", mean=float(runs))
        if best.pair(Relation.ADD_REMOVE).delta(budget.epsilon) <= budget.delta:
            return one
    raise NotSupported(
        f"budget={budget!r} must allow runs={runs!r}: no budget of one run is known to keep it"
    )


def _scoring(one: Budget, share: float, largest: float | None) -> DiscreteLaplace:
    """The noise on scores, for that share of a run's ε; rounded up."""
    moved = 1 if largest is None else int(_UNITS)
    scale = math.nextafter(moved / (one.epsilon * share), math.inf)
    return DiscreteLaplace(scale, sensitivity=moved)


def _less(one: Budget, scoring: DiscreteLaplace) -> Budget:
    """The budget that scoring leaves for the fit of a run, rounded down."""
    left = (one.epsilon - spent(scoring.claim.guarantee)[0]) * (1.0 - 2.0**-50)
    return PureDP(epsilon=left) if isinstance(one, PureDP) else ApproxDP(left, one.delta)


def _selected(run: Claim, declared: Declaration) -> Claim:
    """The claim of the best of all runs, from the claim of the kept one."""
    assumes = (
        f"each run costs at most {run.guarantee}, by {run.theorem}",
        *run.assumes,
        ALL_RUNS,
        UNSEEN,
        PREDICTED_ALONE,
        RANDOM_BITS,
    )
    return Claim(
        declared.budget, declared.relation, PRIVATE_SELECTION, tuple(dict.fromkeys(assumes))
    )


def _range(estimator: Any) -> float | None:  # noqa: ANN401
    """The largest absolute error that counts for a regression; None for a classifier."""
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
    """The number of right labels, or minus the sum of absolute errors in units of largest/2^20.

    Either is a sum of whole numbers, so that floats hold it exactly.
    """
    if len(y) == 0:  # no record, no score; scikit-learn predicts for one at least
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as for fits
        predicted = model.predict(X)
    if predicted.shape != y.shape:
        raise InvalidParameter(f"y of shape {y.shape} must have the predictions' {predicted.shape}")
    if largest is None:
        return float((predicted == y).sum())
    with np.errstate(over="ignore"):
        errors: Floats = np.minimum(np.abs(predicted - y) / largest, 1.0)
    return -float(np.floor(errors * _UNITS).sum())
