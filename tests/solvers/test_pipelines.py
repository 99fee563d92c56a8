"""Standardizing and pipelines: what they release, what they cost, and what is not charged."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import dpverify as dpv
from dpverify.errors import InvalidParameter
from solvers import (
    PrivateGridSearch,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateStandardizer,
)
from solvers.estimators.surroundings import NotCharged
from solvers.privacy.moments import BoundedMoments

PURE = dpv.PureDP(epsilon=1.0)
APPROX = dpv.ApproxDP(epsilon=0.5, delta=1e-6)


def people(n: int = 3000) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(40.0, 8.0, n), rng.normal(3e4, 5e3, n)])
    rows = np.clip(rows, [0.0, 0.0], [120.0, 1e5])
    return rows, (rows[:, 0] > 40.0).astype(int)


def scaler(**changes: object) -> PrivateStandardizer:
    declared: dict[str, Any] = {
        "budget": APPROX, "low": [0.0, 0.0], "high": [120.0, 1e5], "relation": "add-remove",
        "random_state": 0,
    }  # fmt: skip
    return PrivateStandardizer(**declared | changes)


def model(**changes: object) -> PrivateLogisticRegression:
    declared: dict[str, Any] = {
        "budget": PURE, "norm_bound": 2.0, "clip": True, "relation": "add-remove",
        "classes": (0, 1), "random_state": 1,
    }  # fmt: skip
    return PrivateLogisticRegression(**declared | changes)


# the standardizer


@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [dpv.PureDP(epsilon=5.0), dpv.ApproxDP(epsilon=5.0, delta=1e-6)])
def test_with_a_large_budget_it_is_scikit_learns(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    rows, _ = people(20_000)
    private = scaler(budget=budget, relation=relation).fit(rows)
    plain = StandardScaler().fit(rows)
    assert private.mean_ == pytest.approx(plain.mean_, rel=0.02)
    assert private.scale_ == pytest.approx(plain.scale_, rel=0.1)
    assert private.transform(rows) == pytest.approx((rows - private.mean_) / private.scale_)
    assert private.claim_.guarantee == budget
    assert private.claim_.relation is relation
    assert private.get_feature_names_out().tolist() == ["x0", "x1"]
    frame = clone(private).set_output(transform="pandas").fit_transform(rows)
    assert list(frame.columns) == ["x0", "x1"]


@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_no_record_moves_the_sums_further_than_declared(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    moments = BoundedMoments(budget=budget, relation=relation)
    norm = 1 if moments.kind == "laplace" else 2
    grid = np.linspace(-1.0, 1.0, 41)
    worst = 0.0
    for z in grid:
        for w in grid if relation is dpv.Relation.REPLACE_ONE else [None]:
            one = moments.sums(np.array([[z, z]]))
            other = moments.sums(np.zeros((0, 2)) if w is None else np.array([[w, w]]))
            worst = max(worst, float(np.linalg.norm((one - other) / 2.0**40, norm)))
    assert worst <= moments.sensitivity(2)
    assert worst == pytest.approx(moments.sensitivity(2), rel=1e-9)


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, dpv.ApproxDP(epsilon=1.0, delta=1e-3)])
def test_honest_moments_are_not_refuted(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    moments = BoundedMoments(budget=budget, relation=relation)
    left, right = np.array([[1.0], [1.0]]), np.array([[1.0]])
    if relation is dpv.Relation.REPLACE_ONE:
        right = np.array([[1.0], [-0.5]])
    verdict = dpv.audit(
        moments, left=left, right=right, claim=moments.claim, level=1e-9, samples=8_000, seed=0
    )
    assert not verdict.refuted
    assert verdict.epsilon_lower > 0.1


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_any_records_within_the_bounds_will_do(n: int, size: float) -> None:
    rows = np.full((n, 3), size)
    private = PrivateStandardizer(
        budget=PURE, low=-size, high=size, relation="add-remove", random_state=0
    ).fit(rows)
    assert np.isfinite(private.mean_).all()
    assert (private.scale_ > 0.0).all()
    assert np.isfinite(private.transform(np.full((2, 3), -size))).all()


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 1.0 + 2.0**-52), (1e16, 1e16 + 2.0), (-1e-323, 1e-323), (-8e307, 8e307)]
)
def test_no_record_at_a_bound_is_refused(low: float, high: float) -> None:
    """The middle of close bounds is rounded to one of them; a record at the other is inside."""
    for rows in ([[low]], [[high]], [[low], [high]]):
        private = scaler(low=low, high=high).fit(np.array(rows))
        assert low <= private.mean_[0] <= high
    with pytest.raises(InvalidParameter, match="every value of X must lie between"):
        scaler(low=low, high=high).fit(
            [[max(math.nextafter(high, math.inf), high + (high - low) / 4)]]
        )


def test_moments_hold_for_any_numbers() -> None:
    moments = BoundedMoments(budget=PURE, relation=dpv.Relation.ADD_REMOVE)
    assert (
        moments.sums(np.array([[7.0], [-math.inf]])) == moments.sums(np.array([[1.0], [-1.0]]))
    ).all()
    with pytest.raises(InvalidParameter, match="NaN"):
        moments.sums(np.array([[math.nan]]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": [0.0, 0.0], "high": [5e-324, 1.0]}, "must be below high"),
        ({"low": None}, "low=None and high=[120.0, 100000.0] must be declared"),
        ({"low": [200.0, 0.0]}, "must be below high"),
        ({"high": [1.0, 2.0, 3.0]}, "one for all features or one for each"),
        ({"high": "tall"}, "must be below high='tall'"),
        ({"high": [50.0, 1e5]}, "every value of X must lie between low and high"),
        ({"budget": None}, "budget=None must be declared"),
        ({"with_std": 2}, "with_std=2"),
    ],
)
def test_misuse(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        scaler(**change).fit(people(100)[0])
    assert message in str(refusal.value)


# pipelines


def test_a_private_pipeline_adds_up_claims() -> None:
    rows, y = people()
    steps = [("scale", scaler()), ("unit", Normalizer()), ("model", model())]
    whole = PrivatePipeline(steps).fit(rows, y)
    assert whole.claim_.guarantee == dpv.ApproxDP(epsilon=1.5, delta=1e-6) == whole.budget
    assert whole.claim_.theorem.name == "basic-composition"
    assert "the steps unit change each record by itself" in whole.claim_.assumes
    assert not any("charged for themselves" in text for text in whole.claim_.assumes)
    assert assumed(
        whole[-1].claim_, "the steps scale are charged for themselves, beside this claim"
    )
    assert whole.score(rows, y) > 0.85
    assert whole.predict_proba(rows).shape == (3000, 2)
    assert (
        PrivatePipeline(
            [("a", scaler()), ("b", scaler(low=-30.0, high=30.0, clip=True, random_state=1))]
        )
        .fit_transform(rows)
        .shape
        == rows.shape
    )


def test_budgets_are_added_up_and_rounded_up() -> None:
    tenth = dpv.PureDP(epsilon=0.1)
    whole = PrivatePipeline([(str(k), scaler(budget=tenth)) for k in range(3)])
    assert whole.budget.epsilon >= 3 * 0.1 > 0.3


def test_steps_must_share_a_relation_before_anything_is_released() -> None:
    first = scaler()
    whole = PrivatePipeline([("scale", first), ("model", model(relation="replace-one"))])
    with pytest.raises(InvalidParameter, match="one and the same: add-remove, replace-one"):
        whole.fit(*people(50))
    assert not hasattr(first, "mean_")
    with pytest.raises(InvalidParameter, match=r"steps=.* must have a private one"):
        PrivatePipeline([("unit", Normalizer())]).fit(*people(50))


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([scaler(), LogisticRegression()], "must be private, or learn nothing"),
        ([scaler(), model(clip=False)], "clip=False of the step 1 must be True"),
        ([scaler(), PrivateGridSearch(model(clip=False), {})], "clip=False of the step 1"),
        ([scaler(), model(random_state=0)], r"random_state=[0, 0] must differ"),
        (
            [PrivatePipeline([("in", scaler(random_state=1))]), model()],
            "random_state=[1, 1] must differ",
        ),
    ],
)
def test_steps_that_would_make_the_sum_false_are_refused(steps: list[Any], message: str) -> None:
    """By their parameters alone, before the first of them sees data."""
    whole = PrivatePipeline([(str(place), step) for place, step in enumerate(steps)])
    with pytest.raises(InvalidParameter) as refusal:
        whole.fit(*people(50))
    assert message in str(refusal.value)
    assert not hasattr(steps[0], "mean_")


def test_a_memory_that_copies_generators_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    steps = [("a", scaler(random_state=rng)), ("b", model(random_state=rng))]
    with pytest.raises(InvalidParameter, match="copies repeat their noise"):
        PrivatePipeline(steps, memory=str(tmp_path)).fit(*people(50))
    assert PrivatePipeline(steps).fit(*people(50)).claim_.guarantee.epsilon == 1.5


# what is not charged


def assumed(claim: dpv.Claim, words: str) -> bool:
    return any(words in text for text in claim.assumes)


@pytest.mark.parametrize("kind", [Pipeline, PrivatePipeline])
def test_a_scaler_that_is_not_private_is_seen(kind: type[Pipeline]) -> None:
    rows, y = people(200)
    whole = kind([("scale", StandardScaler()), ("model", model())])
    with pytest.warns(NotCharged, match="what the steps scale of a pipeline learned"):
        whole.fit(rows, y)
    assert assumed(whole[-1].claim_, "what the steps scale of a pipeline learned")
    if kind is PrivatePipeline:
        assert assumed(whole.claim_, "what the steps scale of a pipeline learned")


def test_a_search_that_is_not_private_is_seen() -> None:
    rows, y = people(200)
    search = GridSearchCV(make_pipeline(FunctionTransformer(), model()), {
        "privatelogisticregression__ridge": [5.0, 50.0]
    }, cv=2)  # fmt: skip
    with pytest.warns(NotCharged, match="which settings GridSearchCV keeps is public"):
        search.fit(rows / 1e6, y)
    assert assumed(search.best_estimator_[-1].claim_, "which settings GridSearchCV keeps")


def test_a_private_search_inside_one_that_is_not_is_seen() -> None:
    rows, y = people(100)
    inner = PrivateGridSearch(model(), {"ridge": [5.0, 50.0]}, random_state=0)
    with pytest.warns(NotCharged):
        found = GridSearchCV(inner, {"share": [0.1, 0.2]}, cv=2).fit(rows, y)
    assert assumed(found.best_estimator_.claim_, "which settings GridSearchCV keeps")


def test_what_learns_nothing_or_pays_for_itself_gives_no_warning() -> None:
    rows, y = people(200)
    alone = model().fit(rows, y)
    plain = make_pipeline(Normalizer(), model()).fit(rows, y)
    assert plain[-1].claim_ == alone.claim_
    charged = make_pipeline(scaler(), model()).fit(rows, y)
    assert assumed(charged[-1].claim_, "privatestandardizer are charged for themselves")
