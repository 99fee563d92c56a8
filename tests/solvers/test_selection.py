"""Private selection: charged within the budget, and right where the choice is plain."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpverify as dpv
from dpverify.errors import InvalidParameter
from solvers import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateSelection,
)
from solvers.estimators.declarations import Declaration, fraction, scores, together

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
    each = search.best_estimator_.claim_.guarantee
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
