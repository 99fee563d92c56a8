"""Least squares from noisy statistics: sensitivities by brute force, exact sums, audits, fits."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP
from dpverify.neighbors import Relation
from solvers import Ball, Bounds
from solvers.privacy.noise import Kind
from solvers.sufficient_statistics import SufficientStatistics, dimension_of, sensitivity
from tests.solvers.spoiled_iterates import statistics_pair

UNIT = Bounds(norm=1.0, label_bound=1.0)
PURE, APPROX = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)


def share(x: Floats, y: float, kind: Kind) -> Floats:
    """One record's statistics; off the diagonal they count twice in ℓ2."""
    matrix = np.outer(x, x)
    upper = matrix[np.triu_indices(len(x), 1)]
    stretch = 1.0 if kind == "laplace" else math.sqrt(2.0)
    return np.concatenate([np.diag(matrix), stretch * upper, y * x])


def length(vector: Floats, kind: Kind) -> float:
    return float(np.linalg.norm(vector, 1 if kind == "laplace" else 2))


kinds = st.sampled_from(["laplace", "norm"])
vectors = st.integers(1, 4).flatmap(
    lambda d: st.tuples(*[st.lists(st.floats(-1, 1), min_size=d, max_size=d)] * 2)
)


labels = st.tuples(st.floats(-1, 1), st.floats(-1, 1))
scales = st.tuples(st.floats(0.1, 5.0), st.floats(0.1, 5.0))


@given(vectors, labels, kinds, scales)
def test_no_records_move_more_than_the_bound(
    rows: tuple[list[float], list[float]],
    signs: tuple[float, float],
    kind: Kind,
    scale: tuple[float, float],
) -> None:
    (y, w), (r, s) = signs, scale
    x, z = (np.array(row) for row in rows)
    x, z = (r * v / max(1.0, float(np.linalg.norm(v))) for v in (x, z))
    d = len(x)
    one = sensitivity(r, s, d, kind=kind, relation=Relation.ADD_REMOVE)
    two = sensitivity(r, s, d, kind=kind, relation=Relation.REPLACE_ONE)
    slack = 1 + 1e-12
    assert length(share(x, s * y, kind), kind) <= one * slack
    assert length(share(x, s * y, kind) - share(z, s * w, kind), kind) <= two * slack
    assert one <= two <= 2 * one


@pytest.mark.parametrize(("r", "s"), [(1.0, 0.3), (1.0, 1.0), (2.0, 1.0), (1.0, 1.4), (1.0, 3.0)])
def test_the_euclidean_bounds_are_attained(r: float, s: float) -> None:
    """At ⟨x, z⟩ = −min(s²/2, r²) with equal labels; and by one record alone."""
    cosine = -min(s * s / 2, r * r) / (r * r)
    x = r * np.array([1.0, 0.0])
    z = r * np.array([cosine, math.sqrt(1 - cosine**2)])
    moved = length(share(x, s, "norm") - share(z, s, "norm"), "norm")
    two = sensitivity(r, s, 2, kind="norm", relation=Relation.REPLACE_ONE)
    assert moved == pytest.approx(two, rel=1e-12)
    one = sensitivity(r, s, 2, kind="norm", relation=Relation.ADD_REMOVE)
    assert length(share(x, s, "norm"), "norm") == pytest.approx(one, rel=1e-12)


def test_the_absolute_bound_is_attained() -> None:
    x = np.full(4, 0.5)
    one = sensitivity(1.0, 2.0, 4, kind="laplace", relation=Relation.ADD_REMOVE)
    assert length(share(x, 2.0, "laplace"), "laplace") == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("budget", [PURE, APPROX], ids=str)
@pytest.mark.parametrize("label_bound", [0.01, 1.0, 300.0])
def test_sums_are_the_statistics(budget: Any, label_bound: float) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(10_000, 3))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True)) * 1.0001
    labels = rng.uniform(-label_bound, label_bound, 10_000)
    fit = SufficientStatistics(
        bounds=Bounds(norm=1.0, label_bound=label_bound),
        budget=budget,
        relation=Relation.ADD_REMOVE,
    )
    sums, exponent = fit.sums((rows, labels))
    floats = np.ldexp(sums.astype(float), exponent)
    gram, right = rows.T @ rows, rows.T @ labels
    stretch = 1.0 if budget == PURE else 181 / 128
    wanted = np.concatenate(
        [
            np.diag(gram),
            stretch * gram[np.triu_indices(3, 1)],
            np.ldexp(right, fit.label_exponent),
        ]
    )
    assert floats == pytest.approx(wanted, abs=10_000 * 2.0**-18)
    order = rng.permutation(10_000)
    assert (fit.sums((rows[order], labels[order]))[0] == sums).all()


def test_with_hardly_any_noise_it_is_least_squares() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(500, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * 1.001
    labels = rows @ np.array([0.5, -0.3, 0.1]) + 0.05 * rng.normal(size=500)
    for budget in (PureDP(epsilon=1e6), GaussianDP(mu=1e6)):
        fit = SufficientStatistics(
            bounds=UNIT, budget=budget, relation=Relation.REPLACE_ONE, ridge=0.0
        )
        shown = fit.sample((rows, labels), 5, rng=np.random.default_rng(2))
        wanted = np.linalg.lstsq(rows, labels, rcond=None)[0]
        assert shown == pytest.approx(np.tile(wanted, (5, 1)), abs=2e-3)
    ridge = SufficientStatistics(
        bounds=UNIT, budget=GaussianDP(mu=1e6), relation=Relation.REPLACE_ONE, ridge=50.0
    )
    wanted = np.linalg.solve(rows.T @ rows + 50.0 * np.eye(3), rows.T @ labels)
    shown = ridge.sample((rows, labels), 2, rng=np.random.default_rng(2))
    assert shown == pytest.approx(np.tile(wanted, (2, 1)), abs=2e-3)


def test_fits_stay_in_the_domain_and_are_finite() -> None:
    data = np.eye(2), [1.0, -1.0]
    fit = SufficientStatistics(
        bounds=UNIT, budget=APPROX, relation=Relation.REPLACE_ONE, domain=Ball(0.5)
    )
    shown = fit.sample(data, 1_000, rng=np.random.default_rng(3))
    assert (np.linalg.norm(shown, axis=1) <= 0.5 * (1 + 1e-12)).all()
    singular = SufficientStatistics(
        bounds=UNIT, budget=APPROX, relation=Relation.REPLACE_ONE, ridge=0.0
    )
    assert np.isfinite(singular.sample(data, 1_000, rng=np.random.default_rng(3))).all()


@pytest.mark.false_alarm(1e-9)
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("budget", "pure_noise"), [(PURE, "laplace"), (PURE, "norm"), (APPROX, "laplace")]
)
@pytest.mark.parametrize("relation", Relation)
def test_honest_statistics_are_not_refuted(
    budget: Any,  # noqa: ANN401
    relation: Relation,
    pure_noise: Any,  # noqa: ANN401
) -> None:
    fit = SufficientStatistics(bounds=UNIT, budget=budget, relation=relation, pure_noise=pure_noise)
    left, right = statistics_pair(relation)
    verdict = dpv.audit(fit.statistics, left=left, right=right, level=1e-9, seed=5, samples=10_000)
    assert not verdict.refuted
    assert 0.05 < verdict.epsilon_lower <= 1.0


@pytest.mark.false_alarm(1e-9)
def test_honest_fits_are_not_refuted() -> None:
    fit = SufficientStatistics(bounds=UNIT, budget=APPROX, relation=Relation.REPLACE_ONE)
    left, right = statistics_pair(Relation.REPLACE_ONE)
    assert not dpv.audit(fit, left=left, right=right, level=1e-9, seed=5, samples=1_500).refuted


@pytest.mark.parametrize("arithmetic", ["grid", "real"])
@pytest.mark.parametrize("budget", [PURE, APPROX, GaussianDP(mu=0.5)], ids=str)
def test_the_density_is_that_of_the_draws(budget: Any, arithmetic: Any) -> None:  # noqa: ANN401
    """E[exp(ln p(T | right) − ln p(T | left))] over draws T on left is 1; 6 standard errors."""
    fit = SufficientStatistics(
        bounds=UNIT, budget=budget, relation=Relation.REPLACE_ONE, arithmetic=arithmetic
    )
    left, right = statistics_pair(Relation.REPLACE_ONE)
    draws = fit.statistics.sample(left, 20_000, rng=np.random.default_rng(4))
    losses = fit.statistics.log_density(draws, left) - fit.statistics.log_density(draws, right)
    ratios = np.exp(-losses)
    assert abs(ratios.mean() - 1.0) < 6.0 * ratios.std() / math.sqrt(len(ratios))
    if budget == PURE:
        assert np.abs(losses).max() <= 1.0 + 1e-9
    if isinstance(budget, GaussianDP):
        assert 0.47 < losses.std() < 0.51  # a worst pair: the loss is N(μ²/2, μ²)


def test_small_facts() -> None:
    assert [dimension_of(d * (d + 3) // 2) for d in range(1, 20)] == list(range(1, 20))
    fit = SufficientStatistics(bounds=UNIT, budget=PURE, relation=Relation.ADD_REMOVE)
    assert fit.claim.theorem.name == "laplace"
    assert fit.noise(2).scale == pytest.approx(1.5 + math.sqrt(2.0))
    gauss = SufficientStatistics(bounds=UNIT, budget=APPROX, relation=Relation.ADD_REMOVE)
    assert gauss.claim.theorem.name == "analytic-gaussian"
    assert gauss.noise(2).sensitivity == pytest.approx(math.sqrt(2.0))
    norm = SufficientStatistics(
        bounds=UNIT, budget=PURE, relation=Relation.ADD_REMOVE, pure_noise="norm"
    )
    assert norm.claim.theorem.name == "norm-mechanism"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bounds": Bounds(norm=1.0)}, "label_bound=None"),
        ({"budget": PureDP(epsilon=0.0)}, "epsilon=0"),
        ({"budget": ApproxDP(epsilon=1.0)}, "delta > 0"),
        ({"ridge": -1.0}, "ridge=-1"),
        ({"ridge": math.nan}, "ridge=nan"),
        ({"pure_noise": "cauchy"}, "pure_noise"),
        ({"relation": "near"}, "relation"),
    ],
)
def test_bad_parameters(change: dict[str, Any], words: str) -> None:
    options: dict[str, Any] = {
        "bounds": UNIT,
        "budget": PURE,
        "relation": Relation.ADD_REMOVE,
    } | change
    with pytest.raises(InvalidParameter, match=words):
        SufficientStatistics(**options)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (([[2.0]], [1.0]), "norm"),
        (([[1.0]], [2.0]), "clip=True"),
        (([[math.nan]], [1.0]), "finite"),
        ((np.zeros((2, 0)), [0.0, 0.0]), "column"),
    ],
)
def test_bad_data_is_refused_before_any_noise(data: Any, words: str) -> None:  # noqa: ANN401
    fit = SufficientStatistics(bounds=UNIT, budget=PURE, relation=Relation.ADD_REMOVE)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=words):
        fit.sample(data, 1, rng=rng)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_more_records_than_words_hold_are_added_up_exactly(
    budget: PureDP | ApproxDP, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = SufficientStatistics(bounds=UNIT, budget=budget, relation=Relation.ADD_REMOVE)
    rng = np.random.default_rng(0)
    data = rng.uniform(-0.5, 0.5, (200, 3)), rng.uniform(-1.0, 1.0, 200)
    words, _ = fit.sums(data)
    drawn = fit.sample(data, 2, rng=np.random.default_rng(1))
    monkeypatch.setattr("solvers.privacy.clipped_sums._WORDS", 100)
    numbers, _ = fit.sums(data)
    assert numbers.dtype == object
    assert (words == numbers).all()
    assert (fit.sample(data, 2, rng=np.random.default_rng(1)) == drawn).all()
