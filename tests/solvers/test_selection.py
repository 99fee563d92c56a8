"""Private selection: charged within the budget, and right where the choice is plain."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import dpverify as dpv
from dpverify.errors import InvalidParameter
from solvers import (
    PrivateGridSearch,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateSelection,
)
from solvers.estimators.declarations import Declaration, fraction, scores, together
from solvers.estimators.surroundings import NotCharged
from solvers.selection import run_budget

RIDGES = ({"ridge": 5.0}, {"ridge": 5e6})  # the second shrinks every weight to nothing but noise
PURE = dpv.PureDP(epsilon=20.0)


def halves(n: int = 2000) -> tuple[NDArray[Any], NDArray[Any]]:
    rows = np.random.default_rng(0).uniform(-0.7, 0.7, (n, 2))
    return rows, np.where(rows[:, 0] > 0, 1, -1)


def model(**changes: object) -> PrivateLogisticRegression:
    declared: dict[str, Any] = {
        "budget": PURE,
        "norm_bound": 1.0,
        "relation": dpv.Relation.ADD_REMOVE,
        "classes": (-1, 1),
    }
    return PrivateLogisticRegression(**declared | changes)


# hand-checked: what each part spends


@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, dpv.ApproxDP(epsilon=20.0, delta=1e-6)])
def test_parts_add_up_to_the_budget(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    rows, y = halves(200)
    search = PrivateSelection(
        model(budget=budget, relation=relation), candidates=RIDGES, share=0.2, random_state=0
    ).fit(rows, y)
    assert search.claim_.guarantee == budget
    assert search.claim_.theorem.name == "basic-composition"
    assert search.claim_.relation is relation
    assert search.best_estimator_.claim_ == search.claim_  # it would not be kept without the others
    each = search.best_estimator_.budget
    assert each.epsilon == pytest.approx(0.4 * 20.0, rel=1e-12)
    assert 2 * each.epsilon < 0.8 * 20.0
    assert any("noisy-max" in text for text in search.claim_.assumes)


def test_a_claim_beyond_the_budget_is_never_made() -> None:
    rows, y = halves(50)
    claim = model().fit(rows, y).claim_
    declared = Declaration.of(PURE, "add-remove")
    with pytest.raises(InvalidParameter, match="must not exceed"):
        together([claim, claim], declared)


@pytest.mark.parametrize("parts", [2, 3, 7, 10, 49])
def test_shares_never_exceed_the_whole(parts: int) -> None:
    whole = dpv.ApproxDP(epsilon=0.7, delta=1e-5)
    part = fraction(whole, 1.0 / parts)
    assert isinstance(part, dpv.ApproxDP)
    assert sum([part.epsilon] * parts) <= whole.epsilon
    assert sum([part.delta] * parts) <= whole.delta
    assert part.epsilon * parts == pytest.approx(whole.epsilon, rel=1e-14)


# sense


@pytest.mark.false_alarm(1e-9)
def test_the_better_candidate_is_kept() -> None:
    """About 1000 records more are right, and the selection has ε = 2."""
    rows, y = halves()
    search = PrivateSelection(model(), candidates=RIDGES).fit(rows, y)
    assert search.best_params_ == {"ridge": 5.0}
    assert (search.best_index_, search.score(rows, y) > 0.9) == (0, True)
    assert (search.predict(rows) == search.best_estimator_.predict(rows)).all()


def test_candidates_have_noise_of_their_own() -> None:
    rows, y = halves(100)
    same = ({"ridge": 5.0}, {"ridge": 5.0})
    kept = {
        PrivateSelection(model(), candidates=same, random_state=seed).fit(rows, y).best_index_:
        PrivateSelection(model(), candidates=same, random_state=seed).fit(rows, y)
        .best_estimator_.coef_.tobytes()
        for seed in range(20)
    }  # fmt: skip
    assert len(set(kept.values())) == 2


def test_regressions_are_scored_by_absolute_error() -> None:
    rows, _ = halves()
    estimator = PrivateLinearRegression(
        budget=dpv.PureDP(epsilon=50.0), norm_bound=1.0, label_bound=1.0, relation="add-remove"
    )
    search = PrivateSelection(estimator, candidates=({"ridge": 1e9}, {}), random_state=0)
    assert search.fit(rows, rows[:, 0]).best_params_ == {}


def test_a_model_without_declared_range_has_no_score() -> None:
    estimator = PrivateMedian(budget=PURE, relation="add-remove")
    search = PrivateSelection(estimator, candidates=({"quantile": 0.4}, {}))
    rows, _ = halves(50)
    with pytest.raises(dpv.NotSupported, match="must declare label_bound, or low and high"):
        search.fit(rows, rows[:, 0])


@pytest.mark.parametrize("n", [1, 2, 3, 17, 500])
def test_a_prediction_does_not_depend_on_other_records(n: int) -> None:
    """To the last bit: else one record could move the scores of all."""
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(1000, 37)), rng.normal(size=(3, 37))
    whole = scores(rows, weights)
    assert (scores(rows[:n], weights) == whole[:n]).all()
    assert (scores(rows[1 : n + 1], weights) == whole[1 : n + 1]).all()
    assert whole == pytest.approx(rows @ weights.T)


def test_a_selection_is_a_classifier_like_any_other() -> None:
    rows, y = halves()
    search = PrivateSelection(model(), candidates=RIDGES, random_state=0)
    assert is_classifier(search)
    pipeline = make_pipeline(FunctionTransformer(), search).fit(rows, y)
    shares = pipeline.predict_proba(rows)
    assert pipeline.classes_.tolist() == [-1, 1]
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert ((shares[:, 1] > 0.5) == (pipeline.predict(rows) == 1)).all()
    assert (pipeline.decision_function(rows) > 0.0).tolist() == (shares[:, 1] > 0.5).tolist()
    assert search.n_features_in_ == 2
    assert clone(search).candidates == RIDGES


def test_a_selection_of_regressions_has_no_probabilities() -> None:
    median = PrivateMedian(budget=PURE, low=0.0, high=1.0, relation="add-remove")
    search = PrivateSelection(median, candidates=({"quantile": 0.4}, {}))
    assert is_regressor(search)
    assert not hasattr(search, "predict_proba")


def test_warnings_do_not_tell_how_many_runs_there_were() -> None:
    """A step that learned warns every fit behind it; of a search, once for all its runs."""
    rows, y = halves(60)
    many = [{"ridge": float(ridge)} for ridge in range(1, 9)]
    for seed in range(3):
        search = PrivateSelection(model(clip=True), candidates=many, random_state=seed)
        with pytest.warns(NotCharged) as seen:
            make_pipeline(StandardScaler(), search).fit(rows, y)
        assert len(seen) == 1


def test_no_run_may_cost_more_than_its_part() -> None:
    """Of those that are not kept, too."""

    class Dear(PrivateLogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
        def fit(self, X: Any, y: Any = None) -> Any:  # noqa: ANN401, N803
            fitted: Any = super().fit(X, y)
            if self.ridge == 5e6:
                fitted.claim_ = replace(fitted.claim_, guarantee=PURE)
            return fitted

    rows, y = halves(60)
    estimator = Dear(budget=PURE, norm_bound=1.0, relation="add-remove", classes=(-1, 1))
    search = PrivateSelection(estimator, candidates=RIDGES, method="repetition", runs=50)
    for seed in range(5):
        with pytest.raises(InvalidParameter, match="must not exceed"):
            search.set_params(random_state=seed).fit(rows, y)


# refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": ()}, "candidates=() must be at least two"),
        ({"candidates": ({"ridge": 1.0},)}, "must be at least two"),
        ({"share": 0.0}, "share=0.0 must lie strictly between 0 and 1"),
        ({"share": 1.0}, "share=1.0 must lie strictly"),
        ({"candidates": ({"budget": PURE}, {})}, "must not change the budget"),
        ({"candidates": ({"relation": "replace-one"}, {})}, "must not change the budget"),
        ({"estimator": model(budget=None)}, "budget=None must be declared"),
    ],
)
def test_misuse(change: dict[str, Any], message: str) -> None:
    rows, y = halves(50)
    search = PrivateSelection(model(), candidates=RIDGES, random_state=0).set_params(**change)
    with pytest.raises(InvalidParameter) as refusal:
        search.fit(rows, y)
    assert message in str(refusal.value)


# random repetition

TWENTY = tuple({"ridge": float(ridge)} for ridge in np.geomspace(5.0, 5e6, 20))
APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, dpv.ApproxDP(epsilon=20.0, delta=1e-6)])
def test_twenty_candidates_cost_three_runs(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    rows, y = halves(100)
    estimator = model(budget=budget, relation=relation)
    search = PrivateSelection(estimator, candidates=TWENTY, runs=5, random_state=0).fit(rows, y)
    assert (search.method_, search.claim_.theorem.name) == ("repetition", "private-selection")
    assert (search.claim_.guarantee, search.claim_.relation) == (budget, relation)
    one = run_budget(budget, 5)
    assert 3.0 * one.epsilon == pytest.approx(budget.epsilon, rel=2e-3)
    assert search.best_estimator_.claim_ == search.claim_
    fitted = search.best_estimator_.budget
    assert fitted.epsilon == pytest.approx(0.9 * one.epsilon, rel=1e-9)
    assert isinstance(search.best_score_, int)
    assert search.best_params_ == TWENTY[search.best_index_]


def best_of_all(weights: list[Fraction], order: tuple[int, ...], stop: Fraction) -> list[Fraction]:
    """P(the best of a geometric number of runs is each outcome); `order` from worst to best."""
    found, below = [Fraction(0)] * len(weights), Fraction(0)

    def won(share: Fraction) -> Fraction:  # E share^K
        return stop * share / (1 - (1 - stop) * share)

    for outcome in order:
        found[outcome] = won(below + weights[outcome]) - won(below)
        below += weights[outcome]
    return found


@pytest.mark.parametrize("runs", [2, 6, 60])
@pytest.mark.parametrize("budget", [dpv.PureDP(epsilon=3.0), dpv.ApproxDP(epsilon=1.0, delta=0.01)])
def test_no_order_of_outcomes_breaks_the_budget(
    budget: dpv.PureDP | dpv.ApproxDP, runs: int
) -> None:
    """Leaky response, the worst that a run can be, by every score, in rationals."""
    one = run_budget(budget, runs)
    delta = Fraction(getattr(one, "delta", 0.0))
    odds = Fraction(math.exp(one.epsilon))
    yes, no = (1 - delta) * odds / (1 + odds), (1 - delta) / (1 + odds)
    left, right = [delta, yes, no, Fraction(0)], [Fraction(0), no, yes, delta]
    most = Fraction(math.exp(budget.epsilon)) * (1 + Fraction(1, 10**12))
    worst = Fraction(0)
    for order in itertools.permutations(range(4)):
        p, q = (best_of_all(side, order, Fraction(1, runs)) for side in (left, right))
        excess = [max(a - most * b, Fraction(0)) for a, b in zip(p, q, strict=True)]
        worst = max(worst, sum(excess, Fraction(0)))
    assert worst <= Fraction(getattr(budget, "delta", 0.0))


def test_the_number_of_runs_is_geometric_and_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, y = halves(20)
    runs: list[int] = []
    real = PrivateSelection._fitted

    def counted(*given: Any) -> Any:  # noqa: ANN401
        runs.append(1)
        return real(*given)

    monkeypatch.setattr(PrivateSelection, "_fitted", counted)
    median = PrivateMedian(budget=PURE, low=-1.0, high=1.0, relation="add-remove")
    counts, seen = [], set()
    for seed in range(100):
        runs.clear()
        search = PrivateSelection(
            median, candidates=({"quantile": 0.3}, {}), method="repetition", runs=4,
            random_state=seed,
        ).fit(rows, y)  # fmt: skip
        counts.append(len(runs))
        seen.add(str((sorted(vars(search)), search.claim_)))
    assert np.mean(counts) == pytest.approx(4.0, abs=1.5)
    assert np.mean(np.array(counts) == 1) == pytest.approx(0.25, abs=0.12)
    assert len(seen) == 1


@pytest.mark.slow
def test_repetition_finds_what_splitting_cannot_afford() -> None:
    """Twenty ridges at ε = 1: a twentieth of the budget each, or a third for every run."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((500, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    y = np.where(rows[:, 0] > 0.0, 1, -1)
    estimator = model(budget=dpv.PureDP(epsilon=1.0))
    found = [
        np.mean([
            PrivateSelection(estimator, candidates=TWENTY[4:], method=method, random_state=seed)
            .fit(rows, y).score(rows, y)
            for seed in range(4)
        ])
        for method in ("repetition", "splitting")
    ]  # fmt: skip
    assert found[0] > found[1] + 0.03


def test_a_grid_search_is_a_classifier_with_scikit_learns_interface() -> None:
    rows, y = halves(500)
    grid = {"ridge": [5.0, 5e6], "fit_intercept": [True, False]}
    search = PrivateGridSearch(model(), grid, random_state=0)
    assert is_classifier(search)
    pipeline = make_pipeline(FunctionTransformer(), search).fit(rows, y)
    assert search.best_params_["ridge"] == 5.0
    assert search.best_estimator_.ridge == 5.0
    assert pipeline.classes_.tolist() == [-1, 1]
    assert pipeline.predict_proba(rows).shape == (500, 2)
    assert pipeline.score(rows, y) > 0.8
    assert not hasattr(search, "cv_results_")
    assert clone(search).get_params()["param_grid"] == grid


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
def test_repetition_is_not_refuted() -> None:
    """One record decides which of two quantiles is right; choice and score are looked at."""
    median = PrivateMedian(budget=dpv.PureDP(epsilon=1.0), low=0.0, high=1.0, relation="add-remove")

    def mechanism(data: list[float], rng: np.random.Generator) -> list[float]:
        search = PrivateSelection(
            median, candidates=({"quantile": 0.1}, {"quantile": 0.9}), method="repetition", runs=4,
            random_state=rng, share=0.5,
        )  # fmt: skip
        search.fit(np.zeros((len(data), 1)), data)
        return [search.best_estimator_.median_, float(search.best_score_), search.best_index_]

    verdict = dpv.audit(
        mechanism, left=[1.0, 1.0], right=[1.0], claim=dpv.PureDP(epsilon=1.0), level=1e-9,
        samples=1_000, seed=0,
    )  # fmt: skip
    assert not verdict.refuted


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (PrivateSelection(model(), candidates=TWENTY, runs=1), "runs=1 must be a whole number, at"),
        (PrivateSelection(model(), candidates=TWENTY, runs=0), "number, at least 2"),
        (PrivateSelection(model(), candidates=TWENTY, method="best"), "method='best' must be one"),
        (PrivateGridSearch(model(), {"ridge": 3.0}), "param_grid={'ridge': 3.0} must be lists"),
        (PrivateGridSearch(model(), {"ridge": [3.0]}), "must be at least two"),
        (PrivateGridSearch(model(), {"budget": [PURE, PURE]}), "must not change the budget"),
    ],
)  # fmt: skip
def test_misuse_of_repetition(search: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter) as refusal:
        search.fit(*halves(50))
    assert message in str(refusal.value)
