"""Private k-means: how far a record moves sums and counts, claims under audit, and sense."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from solvers import Lloyd, PrivateKMeans
from tests.solvers.adversaries import farthest, spent
from tests.solvers.scikit_learn import NO_WEIGHT

PURE, APPROX = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)


def blobs(n: int = 3000) -> Floats:
    rng = np.random.default_rng(0)
    centers = np.array([[10.0, 0.2], [80.0, 0.8], [90.0, 0.1]])
    rows = rng.normal(centers[rng.integers(3, size=n)], [3.0, 0.03])
    return np.clip(rows, [0.0, 0.0], [100.0, 1.0])


def model(**changes: object) -> PrivateKMeans:
    given: dict[str, Any] = {
        "budget": PURE, "low": [0.0, 0.0], "high": [100.0, 1.0], "n_clusters": 3,
        "relation": "add-remove", "random_state": 0,
    }  # fmt: skip
    return PrivateKMeans(**given | changes)


def lloyd(budget: Any, relation: Relation, d: int, steps: int = 1) -> Lloyd:  # noqa: ANN401
    start = [[-0.6] * d, [0.6] * d]
    return Lloyd(start=start, budget=budget, relation=relation, steps=steps)


# the release


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_adversary_comes_close_to_the_budget_and_never_beyond(
    budget: Any,  # noqa: ANN401
    relation: Relation,
    d: int,
) -> None:
    """It chooses records, weights, and the centers before a step, as if noise had led there."""
    mechanism = lloyd(budget, relation, d)
    rest = np.random.default_rng(1).uniform(-1.0, 1.0, (3, d))
    replaced = relation is Relation.REPLACE_ONE

    def moved(numbers: Floats) -> tuple[Any, int]:
        centers = np.clip(numbers[: 2 * d], -1.0, 1.0).reshape(1, 2, d)
        records = np.clip(3.0 * numbers[2 * d :], -1.0, 1.0).reshape(-1, d + 1)
        weights = [*np.ones(3), *np.abs(records[:, -1])]
        rows = np.vstack([rest, records[:, :-1]])
        left = mechanism.sums((rows[:4], weights[:4]), centers)
        kept = [0, 1, 2, 4] if replaced else [0, 1, 2]
        return (left - mechanism.sums((rows[kept], np.take(weights, kept)), centers))[0], -40

    count = 2 * d + (2 if replaced else 1) * (d + 1)
    one_cluster = np.repeat([0.0, 0.3, -0.3], [2 * d, d + 1, d + 1])[:count]  # with both records
    one_cluster[d : 2 * d] = np.resize([-1.0, 1.0], d)  # and the other one aside
    reached = farthest(moved, mechanism.noise, count, starts=8, first=[one_cluster])
    assert 0.97 <= spent(mechanism.noise, reached, budget) <= 1.0


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PURE, ApproxDP(epsilon=1.0, delta=1e-2)])
def test_two_steps_together_keep_to_the_budget(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    """The loss of whole runs at draws: at most ε for pure noise, and E(1 − e^(ε − loss))₊ ≤ δ."""
    mechanism = lloyd(budget, relation, 1, steps=2)
    left = np.array([[1.0], [0.5], [-0.5]])
    right = np.array([[-1.0], [0.5], [-0.5]]) if relation is Relation.REPLACE_ONE else left[1:]
    draws = mechanism.sample(left, 20_000, rng=np.random.default_rng(3))
    losses = mechanism.log_density(draws, left) - mechanism.log_density(draws, right)
    assert abs(np.exp(-losses).mean() - 1.0) < 6.0 * np.exp(-losses).std() / math.sqrt(20_000)
    if budget == PURE:
        assert 0.99 < np.abs(losses).max() <= 1.0 + 1e-9
    else:
        excess = np.maximum(0.0, -np.expm1(1.0 - losses))
        assert 0.5 * budget.delta < excess.mean() < budget.delta + 6.0 * excess.std() / 141.0


@pytest.mark.sampled(3)
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_an_honest_release_is_not_refuted(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    mechanism = lloyd(budget, relation, 1, steps=1)
    left, right = np.array([[1.0], [0.5]]), np.array([[-1.0], [0.5]])
    right = right if relation is Relation.REPLACE_ONE else right[1:]
    verdict = dpv.audit(mechanism, left=left, right=right, level=1e-9, samples=8_000, seed=0)
    assert not verdict.refuted
    assert 0.1 < verdict.epsilon_lower <= 1.0


def test_a_step_too_many_is_refuted() -> None:
    """Three steps, charged as one."""
    honest = lloyd(PURE, Relation.ADD_REMOVE, 1, steps=3)
    spoiled = lloyd(PureDP(epsilon=3.0), Relation.ADD_REMOVE, 1, steps=3)
    left = np.array([[1.0], [0.5]])
    verdict = dpv.audit(
        spoiled, left=left, right=left[1:], claim=honest.claim, level=1e-9, samples=20_000, seed=0
    )
    assert verdict.refuted


def test_sums_are_those_of_the_nearest_centers_in_any_order() -> None:
    rng = np.random.default_rng(0)
    rows, centers = rng.uniform(-1.0, 1.0, (9000, 3)), rng.uniform(-1.0, 1.0, (2, 5, 3))
    weights = rng.uniform(size=9000)
    mechanism = Lloyd(start=centers[0], budget=PURE, relation=Relation.ADD_REMOVE, steps=1)
    found = mechanism.sums((rows, weights), centers)
    for run in (0, 1):
        away = ((rows[:, None] - centers[run]) ** 2).sum(axis=2).argmin(axis=1)
        longer = np.column_stack([rows, np.ones(9000)]) * weights[:, None]
        wanted = np.stack([longer[away == cluster].sum(axis=0) for cluster in range(5)])
        assert np.ldexp(found[run].astype(float), -40).reshape(5, 4) == pytest.approx(
            wanted, abs=0.1
        )
    order = rng.permutation(9000)
    assert (mechanism.sums((rows[order], weights[order]), centers) == found).all()
    assert mechanism.sums(np.zeros((0, 3)), centers).tolist() == [[0] * 20] * 2


@pytest.mark.parametrize(
    ("budget", "theorem"),
    [
        (PURE, "basic-composition"),
        (APPROX, "gaussian-composition"),
        (GaussianDP(mu=1.0), "gaussian-composition"),
        (ZeroConcentratedDP(rho=1.0), "zcdp-composition"),
    ],
)
def test_what_is_claimed(budget: Any, theorem: str) -> None:  # noqa: ANN401
    mechanism = lloyd(budget, Relation.REPLACE_ONE, 2, steps=4)
    assert mechanism.claim.theorem.name == theorem
    assert mechanism.claim.guarantee == budget
    assert mechanism.sensitivity == pytest.approx(6.0 if budget == PURE else math.sqrt(8.0))


# the estimator


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PureDP(epsilon=4.0), ApproxDP(epsilon=2.0, delta=1e-6)])
def test_with_many_records_it_finds_the_clusters(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    rows = blobs()
    private = model(budget=budget, relation=relation).fit(rows)
    plain = KMeans(3, n_init=5, random_state=0).fit(rows / [50.0, 0.5])
    assert private.score(rows) > -1.5 * plain.inertia_
    assert (private.claim_.guarantee, private.claim_.relation) == (budget, relation)
    assert (private.predict(rows) == private.transform(rows).argmin(axis=1)).all()
    assert not hasattr(private, "labels_")


def test_it_has_the_conventions_of_a_transformer() -> None:
    fitted = clone(model()).set_output(transform="pandas").fit(blobs())
    assert list(fitted.transform(blobs(5)).columns) == [f"privatekmeans{k}" for k in range(3)]
    assert (fitted.fit_predict(blobs()) == fitted.predict(blobs())).all()


def test_declared_first_centers_are_used() -> None:
    first = [[10.0, 0.2], [80.0, 0.8], [90.0, 0.1]]
    found = model(init=first, budget=PureDP(epsilon=4.0)).fit(blobs()).cluster_centers_
    assert found == pytest.approx(np.array(first), rel=0.1, abs=0.05)


def test_a_row_is_judged_by_itself_to_the_last_bit() -> None:
    rows = np.asfortranarray(np.random.default_rng(0).uniform(size=(60, 37)))
    fitted = model(low=0.0, high=1.0).fit(rows)
    assert (fitted.transform(rows[:7]) == fitted.transform(rows)[:7]).all()


def test_weights_are_repetitions() -> None:
    rows, weights = blobs(300), np.random.default_rng(0).integers(0, 5, 300)
    weighted = model(weight_bound=4.0).fit(rows, sample_weight=weights)
    repeated = model(weight_bound=4.0).fit(np.repeat(rows, weights, axis=0))
    assert (weighted.cluster_centers_ == repeated.cluster_centers_).all()  # quarters are exact


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-300, 1e-12, 1.0, 1e12, 1e150])
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_any_records_within_the_bounds_will_do(n: int, size: float, budget: Any) -> None:  # noqa: ANN401
    fitted = model(budget=budget, low=-size, high=size).fit(np.full((n, 2), size))
    assert np.isfinite(fitted.transform(np.full((2, 2), -size))).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": None}, "low=None and high=[100.0, 1.0] must be declared"),
        ({"high": [50.0, 1.0]}, "every value of X must lie between low and high"),
        ({"n_clusters": 0}, "n_clusters=0 must be"),
        ({"max_iter": 0}, "max_iter=0 must be"),
        ({"init": [[1.0, 0.5]]}, "init of shape (1, 2) must be of shape (3, 2)"),
        ({"init": [[1.0, 1.5]] * 3}, "all of it between low and high"),
        ({"init": [[1.0, math.nan]] * 3}, "init must be finite"),
        ({"budget": None}, "budget=None must be declared"),
        ({"relation": None}, "relation=None must be declared"),
        ({"weight_bound": 0.5}, "weight_bound=0.5 must be at least 1 without sample_weight"),
    ],
)
def test_misuse_is_refused_before_any_noise(change: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter) as refusal:
        model(**change).fit(blobs(100))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([[2.0]], "rows of 1 numbers"),
        ([[0.5, 0.5]], "rows of 1 numbers"),
        (([[0.5]], [2.0]), "data must have weights in"),
        (([[0.5]], [0.5, 0.5]), "data must have weights in"),
        ([[math.nan]], "finite"),
    ],
)
def test_bad_data_is_refused_before_any_noise(data: Any, words: str) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=words):
        lloyd(PURE, Relation.ADD_REMOVE, 1).sample(data, 1, rng=rng)
    assert rng.bit_generator.state == before


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [
        PrivateKMeans(
            budget=PureDP(epsilon=1e4), low=-30.0, high=30.0, clip=True, n_clusters=2,
            relation="replace-one", weight_bound=8.0, random_state=0,
        )
    ],
    expected_failed_checks=lambda _: NO_WEIGHT,
)  # fmt: skip
def test_laws_of_scikit_learn(estimator: Any, check: Any) -> None:  # noqa: ANN401
    check(estimator)
