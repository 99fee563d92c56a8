"""Private naive Bayes: its sums, its claim under audit, and its sense."""

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpverify as dpv
from dpverify.errors import InvalidParameter
from solvers import PrivateLogisticRegression, PrivateNaiveBayes
from solvers.privacy.moments import BoundedMoments
from tests.solvers.adversaries import farthest, spent
from tests.solvers.scikit_learn import DECLARED_LABELS, NO_WEIGHT

PURE = dpv.PureDP(epsilon=1.0)
APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-3)


def blobs(n: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    rows = rng.normal(np.stack([y, -y], axis=1), [0.5, 0.9])
    return np.clip(rows, -4.0, 4.0), y


def model(**changes: object) -> PrivateNaiveBayes:
    given: dict[str, Any] = {
        "budget": PURE, "low": -4.0, "high": 4.0, "classes": (0, 1, 2), "relation": "add-remove",
        "random_state": 0,
    }  # fmt: skip
    return PrivateNaiveBayes(**given | changes)


@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [dpv.PureDP(epsilon=4.0), dpv.ApproxDP(epsilon=4.0, delta=1e-6)])
def test_with_many_records_it_is_scikit_learns(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    rows, y = blobs(20_000)
    private, plain = model(budget=budget, relation=relation).fit(rows, y), GaussianNB().fit(rows, y)
    assert private.theta_ == pytest.approx(plain.theta_, abs=0.1)
    assert private.var_ == pytest.approx(plain.var_, rel=0.25)
    assert private.class_prior_ == pytest.approx(plain.class_prior_, abs=0.02)
    assert private.score(rows, y) > plain.score(rows, y) - 0.01
    shares = private.predict_proba(rows)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (private.classes_[shares.argmax(axis=1)] == private.predict(rows)).all()
    assert (private.claim_.guarantee, private.claim_.relation) == (budget, relation)


@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_no_record_moves_the_sums_further_than_declared(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    """All records with one feature on a grid and either class, against one another or none."""
    moments = BoundedMoments(budget=budget, relation=relation, groups=2)
    norm = 1 if moments.kind == "laplace" else 2
    records = list(product(np.linspace(-1.0, 1.0, 17), (0, 1)))
    sums = [moments.grouped_sums(np.array([[z]]), np.array([group])) for z, group in records]
    none = moments.grouped_sums(np.zeros((0, 1)), np.zeros(0, np.int64))
    others = sums if relation is dpv.Relation.REPLACE_ONE else [none]
    moves = [(one - other) / 2.0**40 for one, other in product(sums, others)]
    worst = max(float(np.linalg.norm(move, norm)) for move in moves)
    assert worst <= moments.sensitivity(1)
    assert worst == pytest.approx(moments.sensitivity(1), rel=1e-9)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_no_weight_lets_a_record_move_the_sums_further(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    """An adversary climbs over two records of two features, in either class, and their weights."""
    moments = BoundedMoments(budget=budget, relation=relation, groups=2)
    replaced = relation is dpv.Relation.REPLACE_ONE
    noise = moments.noise(2)

    def part(numbers: Any) -> Any:  # noqa: ANN401
        rows = np.clip(3.0 * numbers.reshape(-1, 4), -1.0, 1.0)
        return moments.grouped_sums(rows[:, 2:], (rows[:, 0] > 0.0) * 1, np.abs(rows[:, 1]))

    def moved(numbers: Any) -> Any:  # noqa: ANN401
        return part(numbers[:4]) - part(numbers[4:]), -60

    reached = farthest(moved, noise, 8 if replaced else 4, starts=8)
    assert 0.99 <= spent(noise, reached, budget) <= 1.0


def test_weights_are_repetitions_exactly() -> None:
    rows, y = blobs(300)
    weights = np.random.default_rng(0).integers(0, 5, 300)
    weighted = model(weight_bound=4.0).fit(rows, y, sample_weight=weights)
    repeated = model(weight_bound=4.0).fit(np.repeat(rows, weights, axis=0), np.repeat(y, weights))
    assert (weighted.theta_ == repeated.theta_).all()
    assert (weighted.var_ == repeated.var_).all()
    moments = BoundedMoments(budget=PURE, relation=dpv.Relation.ADD_REMOVE, groups=3)
    ones = moments.grouped_sums(rows / 4.0, y, np.ones(300))
    assert (ones == moments.grouped_sums(rows / 4.0, y).astype(object) << 20).all()
    with pytest.raises(InvalidParameter, match="weight_bound=None must be declared"):
        model().fit(rows, y, sample_weight=weights)
    with pytest.raises(InvalidParameter, match="groups=1 must be at least 2 for weights"):
        BoundedMoments(budget=PURE, relation=dpv.Relation.ADD_REMOVE).sample_groups(
            (rows, y, weights / 4.0), 1, rng=np.random.default_rng(0)
        )


@pytest.mark.slow
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_honest_moments_of_classes_are_not_refuted(
    budget: dpv.PureDP | dpv.ApproxDP, relation: dpv.Relation
) -> None:
    moments = BoundedMoments(budget=budget, relation=relation, groups=2)

    def mechanism(data: list[tuple[float, int]], rng: np.random.Generator) -> np.ndarray:
        rows = np.array([[z] for z, _ in data]).reshape(-1, 1)
        groups = np.array([group for _, group in data], np.int64)
        return moments.sample_groups((rows, groups), 1, rng=rng).ravel()

    left = [(1.0, 0), (1.0, 0)]
    right = [(1.0, 0), (1.0, 1)] if relation is dpv.Relation.REPLACE_ONE else [(1.0, 0)]
    verdict = dpv.audit(
        mechanism, left=left, right=right, claim=moments.claim, level=1e-9, samples=4_000, seed=0
    )
    assert not verdict.refuted


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1.0, 1e12, 1e150])
def test_any_records_within_the_bounds_will_do(n: int, size: float) -> None:
    fitted = model(low=-size, high=size).fit(np.full((n, 2), size), np.zeros(n, np.int64))
    assert np.isfinite(fitted.predict_joint_log_proba(np.full((2, 2), -size))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": None}, "classes=None must be declared"),
        ({"classes": (0, 1)}, "every label in y must be one of: 0, 1"),
        ({"low": None}, "low=None and high=4.0 must be declared"),
        ({"low": 5.0}, "low=5.0 must be below high=4.0"),
        ({"high": 1.0}, "every value of X must lie between low and high"),
        ({"budget": None}, "budget=None must be declared"),
    ],
)
def test_misuse(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        model(**change).fit(*blobs(100))
    assert message in str(refusal.value)


@pytest.mark.parametrize("n", [1, 2, 17])
def test_a_prediction_does_not_depend_on_other_records(n: int) -> None:
    """To the last bit, in whatever order the rows are held: scores of selections rest on it."""
    rng = np.random.default_rng(0)
    rows, y = np.asfortranarray(rng.uniform(-4.0, 4.0, (60, 37))), rng.integers(0, 3, 60)
    fitted = model().fit(rows, y)
    whole = fitted.predict_joint_log_proba(rows)
    assert (fitted.predict_joint_log_proba(rows[:n]) == whole[:n]).all()
    assert (fitted.predict_joint_log_proba(np.ascontiguousarray(rows[:n])) == whole[:n]).all()


@pytest.mark.parametrize("kind", [PrivateNaiveBayes, PrivateLogisticRegression])
@pytest.mark.parametrize("y", [[0.0, 0.5], [0.0, 0.0], np.arange(30) / 2])
def test_no_declared_label_is_refused_or_warned_about(kind: type[Any], y: Any) -> None:  # noqa: ANN401
    bounds = {"low": -1.0, "high": 1.0} if kind is PrivateNaiveBayes else {"norm_bound": 1.0}
    fitted = kind(budget=PURE, relation="add-remove", classes=np.arange(30) / 2, **bounds)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(fitted.fit(np.zeros((len(y), 1)), y).classes_) == 30


@pytest.mark.parametrize("bound", [None, 1.0, 8.0])
def test_a_class_without_records_counts_as_one_record(bound: float | None) -> None:
    fitted = model(budget=dpv.PureDP(epsilon=1e6), weight_bound=bound)
    fitted.fit(np.zeros((10, 1)), np.ones(10))
    assert fitted.class_prior_ == pytest.approx([1 / 12, 10 / 12, 1 / 12], abs=1e-3)


@pytest.mark.sampled(2)
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [
        PrivateNaiveBayes(
            budget=dpv.PureDP(epsilon=1e4), low=-4.0, high=4.0, clip=True, classes=(0, 1, 2),
            relation="replace-one", weight_bound=8.0, random_state=0,
        )
    ],
    expected_failed_checks=lambda _: DECLARED_LABELS | NO_WEIGHT,
)  # fmt: skip
def test_laws_of_scikit_learn(estimator: Any, check: Any) -> None:  # noqa: ANN401
    check(estimator)
