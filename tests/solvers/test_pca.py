"""Private principal components: how far a record moves the matrix, claims under audit, sense."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from solvers import Bounds, Chunks, PrivateLogisticRegression, PrivatePCA, PrivatePipeline
from solvers.second_moments import SecondMoments
from tests.solvers.adversaries import HalfTheNoise, farthest, spent
from tests.solvers.scikit_learn import NO_WEIGHT, ROUNDED

PURE, APPROX = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)
KINDS = [(PURE, "norm"), (PURE, "laplace"), (APPROX, "norm")]


def ellipse(n: int = 4000) -> Floats:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 3)) * [0.3, 0.1, 0.02] @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    moved: Floats = rows + np.array([0.2, 0.0, -0.1])
    return moved


def model(**changes: object) -> PrivatePCA:
    given: dict[str, Any] = {
        "budget": PURE, "norm_bound": 1.0, "clip": True, "relation": "add-remove",
        "random_state": 0,
    }  # fmt: skip
    return PrivatePCA(**given | changes)


def moments(budget: Any, relation: Relation, noise: Any = "norm", **more: Any) -> SecondMoments:  # noqa: ANN401
    return SecondMoments(
        bounds=Bounds(norm=1.0),
        budget=budget,
        relation=relation,
        pure_noise=noise,
        clip_records=True,
        **more,
    )


# the release


@pytest.mark.sampled(5)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("budget", "noise"), KINDS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_an_adversary_comes_close_to_the_budget_and_never_beyond(
    budget: Any,  # noqa: ANN401
    noise: Any,  # noqa: ANN401
    relation: Relation,
    d: int,
) -> None:
    """The ℓ1 bound for replacements is one for all d; for d = 3 the adversary stays below it."""
    mechanism = moments(budget, relation, noise)
    rest = np.random.default_rng(1).normal(size=(3, d))
    replaced = relation is Relation.REPLACE_ONE

    def moved(numbers: Floats) -> tuple[Any, int]:
        one, other = numbers[:d], numbers[d:].reshape(-1, d)
        left, exponent = mechanism.sums(np.vstack([rest, one]))
        return left - mechanism.sums(np.vstack([rest, other]))[0], exponent

    reached = farthest(moved, mechanism.noise(d), 2 * d if replaced else d)
    part = spent(mechanism.noise(d), reached, budget)
    assert part <= 1.0
    assert part >= (0.9 if (mechanism.kind, replaced, d) == ("laplace", True, 3) else 0.99)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize(("budget", "noise"), KINDS)
def test_an_honest_release_is_not_refuted(budget: Any, noise: Any, relation: Relation) -> None:  # noqa: ANN401
    mechanism = moments(budget, relation, noise)
    left, right = np.array([[0.6, 0.8], [1.0, 0.0]]), np.array([[0.6, 0.8], [0.0, 1.0]])
    right = right if relation is Relation.REPLACE_ONE else right[:1]
    verdict = dpv.audit(mechanism, left=left, right=right, level=1e-9, samples=8_000, seed=0)
    assert not verdict.refuted
    assert 0.1 < verdict.epsilon_lower <= 1.0


def test_half_the_noise_is_refuted() -> None:
    left, right = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    half = HalfTheNoise(moments(PURE, Relation.REPLACE_ONE))
    assert dpv.audit(half, left=left, right=right, level=1e-9, samples=30_000, seed=0).refuted


@pytest.mark.parametrize("arithmetic", ["grid", "real"])
@pytest.mark.parametrize("budget", [PURE, APPROX, ZeroConcentratedDP(rho=0.5)])
def test_the_density_is_that_of_the_draws(budget: Any, arithmetic: Any) -> None:  # noqa: ANN401
    """E[p(T | right)/p(T | left)] over draws T on left is 1; 6 standard errors."""
    mechanism = moments(budget, Relation.REPLACE_ONE, arithmetic=arithmetic)
    left, right = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    draws = mechanism.sample(left, 10_000, rng=np.random.default_rng(4))
    losses = mechanism.log_density(draws, left) - mechanism.log_density(draws, right)
    ratios = np.exp(-losses)
    assert abs(ratios.mean() - 1.0) < 6.0 * ratios.std() / 100.0
    if budget == PURE:
        assert np.abs(losses).max() <= 1.0 + 1e-4  # the density at the middle of a cell
    with pytest.raises(InvalidParameter, match=r"outputs of shape \(1, 2\)"):
        mechanism.log_density([[0.0, 0.0]], left)


def test_the_sums_are_the_matrix_in_any_order_and_cut() -> None:
    rows = ellipse(5000)
    mechanism = moments(GaussianDP(mu=1e6), Relation.ADD_REMOVE)
    sums, exponent = mechanism.sums(rows)
    shown = mechanism.matrices(np.ldexp(sums.astype(float), exponent)[None])[0]
    inside = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    assert shown == pytest.approx(inside.T @ inside, abs=5000 * 2.0**-18)
    assert (mechanism.sums(rows[::-1])[0] == sums).all()
    cut = Chunks.arrays(rows, np.zeros(len(rows)), rows=700)
    assert (mechanism.sums(cut)[0] == sums).all()


# the estimator


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PureDP(epsilon=20.0), ApproxDP(epsilon=4.0, delta=1e-6)])
def test_with_many_records_it_is_scikit_learns(budget: Any, relation: Relation) -> None:  # noqa: ANN401
    rows = ellipse()
    private, plain = model(budget=budget, relation=relation).fit(rows), PCA().fit(rows)
    assert private.mean_ == pytest.approx(plain.mean_, abs=0.02)
    assert private.explained_variance_ == pytest.approx(plain.explained_variance_, abs=0.01)
    assert np.abs(private.components_[0] @ plain.components_[0]) > 0.99
    assert private.components_ @ private.components_.T == pytest.approx(np.eye(3))
    assert private.inverse_transform(private.transform(rows)) == pytest.approx(rows)
    assert (private.claim_.guarantee, private.claim_.relation) == (budget, relation)


def test_it_has_the_conventions_of_a_transformer() -> None:
    fitted = clone(model(n_components=2)).set_output(transform="pandas").fit(ellipse())
    shown = fitted.transform(ellipse(5))
    assert list(shown.columns) == ["privatepca0", "privatepca1"]
    assert fitted.explained_variance_ratio_.shape == (2,)
    assert fitted.transform(np.zeros((0, 3))).shape == (0, 2)


def test_a_row_is_transformed_by_itself_to_the_last_bit() -> None:
    rows = np.asfortranarray(np.random.default_rng(0).normal(size=(60, 37)))
    fitted = model(norm_bound=8.0).fit(rows)
    assert (fitted.transform(rows[:7]) == fitted.transform(rows)[:7]).all()


def test_chunks_give_the_same_components() -> None:
    rows = ellipse(900)
    cut = Chunks.arrays(rows, np.zeros(900), rows=200)
    assert (model().fit(cut).components_ == model().fit(rows).components_).all()


def test_weights_are_repetitions_and_cost_no_more() -> None:
    """√w is rounded to 20 bits, so the matrix is the same to about that."""
    rows, weights = ellipse(300), np.random.default_rng(0).integers(0, 4, 300)
    weighted = model(weight_bound=4.0).fit(rows, sample_weight=weights)
    repeated = model(weight_bound=4.0).fit(np.repeat(rows, weights, axis=0))
    assert weighted.explained_variance_ == pytest.approx(repeated.explained_variance_, abs=1e-4)
    assert weighted.claim_ == repeated.claim_
    replaced = model(weight_bound=1.0, relation="replace-one").fit(rows)
    assert np.isfinite(replaced.components_).all()


@pytest.mark.parametrize("relation", list(Relation))
def test_no_weight_lets_a_record_move_the_matrix_further(relation: Relation) -> None:
    """Weighted rows are rows: shorter ones."""
    mechanism = moments(PURE, relation)
    replaced = relation is Relation.REPLACE_ONE

    def moved(numbers: Floats) -> tuple[Any, int]:
        halves = numbers.reshape(-1, 3)
        rows = [half[:2] * np.sqrt(np.clip(np.abs(half[2]), 0.0, 1.0)) for half in halves]
        left, exponent = mechanism.sums(np.vstack([[0.3, 0.4], rows[0]]))
        return left - mechanism.sums(np.vstack([[0.3, 0.4], *rows[1:]]))[0], exponent

    reached = farthest(moved, mechanism.noise(2), 6 if replaced else 3)
    assert 0.98 <= spent(mechanism.noise(2), reached, PURE) <= 1.0


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-100, 1e-12, 1.0, 1e12, 1e100])
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_any_records_within_the_bounds_will_do(n: int, size: float, budget: Any) -> None:  # noqa: ANN401
    fitted = model(budget=budget, norm_bound=size, clip=False).fit(np.full((n, 2), 0.7 * size))
    assert np.isfinite(fitted.transform(np.full((2, 2), -size))).all()
    assert (fitted.explained_variance_ >= 0.0).all()


def test_it_is_a_step_of_a_pipeline() -> None:
    rows = ellipse()
    whole = PrivatePipeline(
        [
            ("reduce", model(n_components=1)),
            (
                "fit",
                PrivateLogisticRegression(
                    budget=PURE, norm_bound=2.0, clip=True, classes=(False, True),
                    relation="add-remove", random_state=1,
                ),
            ),
        ]
    )  # fmt: skip
    y = PCA(1).fit_transform(rows)[:, 0] > 0.0
    assert whole.fit(rows, y).score(rows, y) > 0.8
    assert whole.claim_.guarantee == PureDP(epsilon=2.0)


@pytest.mark.parametrize(
    ("change", "weights", "message"),
    [
        ({"norm_bound": None}, None, "norm_bound=None must be declared"),
        ({"norm_bound": 0.1, "clip": False}, None, "the norm of every row of X must be at most"),
        ({"n_components": 4}, None, "n_components=4 must be at most the 3 columns"),
        ({"n_components": 0}, None, "n_components=0 must be"),
        ({"budget": None}, None, "budget=None must be declared"),
        ({}, np.ones(50), "weight_bound=None must be declared beside sample_weight"),
        ({"weight_bound": 1.0}, np.ones(49), "sample_weight has 49 entries and X 50 rows"),
        ({"weight_bound": 1.0}, np.full(50, np.nan), "sample_weight must be finite"),
        (
            {"weight_bound": 0.5, "clip": False},
            None,
            "weight_bound=0.5 must be at least 1 without sample_weight",
        ),
        ({"weight_bound": 1.0, "clip": False}, -np.ones(50), "every weight must lie between 0"),
    ],
)
def test_misuse_is_refused_before_any_noise(change: Any, weights: Any, message: str) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter) as refusal:
        model(**change, random_state=rng).fit(ellipse(50) / 3.0, sample_weight=weights)
    assert message in str(refusal.value)
    assert rng.bit_generator.state == before


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [model(budget=PureDP(epsilon=1e5), norm_bound=30.0, relation="replace-one", weight_bound=10.0)],
    expected_failed_checks=lambda _: NO_WEIGHT | ROUNDED,
)
def test_laws_of_scikit_learn(estimator: Any, check: Any) -> None:  # noqa: ANN401
    check(estimator)
