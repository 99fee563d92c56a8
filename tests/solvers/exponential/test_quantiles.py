"""Private quantiles: their exact law, their sensitivity by brute force, their draws."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import dpverify as dpv
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from solvers.exponential.quantiles import ExponentialQuantile


def whole(**options: Any) -> ExponentialQuantile:  # noqa: ANN401
    """Over the whole numbers from 0 to 4, with e^(ε/2) = 2 up to rounding."""
    chosen: dict[str, Any] = {
        "epsilon": 2.0 * math.log(2.0),
        "low": 0.0,
        "high": 4.0,
        "relation": Relation.REPLACE_ONE,
        "grid_exponent": 0,
    }
    return ExponentialQuantile(**(chosen | options))


def law(values: tuple[int, ...], quantile: Fraction) -> list[Fraction]:
    """From the definition, in rationals: ∝ 4^(−miss), where misses are multiples of 1/2."""
    n = len(values)
    weights = []
    for t in range(5):
        below = sum(v < t for v in values) - quantile * n
        lack = quantile * n - sum(v <= t for v in values)
        miss = max(Fraction(0), below, lack)
        assert (miss * 2).denominator == 1
        weights.append(Fraction(1, 2 ** int(2 * miss)))
    return [w / sum(weights) for w in weights]


@pytest.mark.parametrize("values", list(combinations_with_replacement(range(5), 3)))
def test_the_law_is_the_definition(values: tuple[int, ...]) -> None:
    """ε/(2Δ)·miss = 2·ln 2·miss for the median under REPLACE_ONE with ε = 4·ln 2."""
    median = whole(epsilon=4.0 * math.log(2.0))
    logs = median.log_density(np.arange(5.0), list(values))
    wanted = [float(p) for p in law(values, Fraction(1, 2))]
    assert np.exp(logs) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("quantile", [0.5, 0.25, 0.75, 0.9])
@pytest.mark.parametrize("relation", Relation)
def test_no_neighbors_differ_by_more_than_epsilon(quantile: float, relation: Relation) -> None:
    """All multisets of up to 4 values from 0 … 4; Δ is not much too large."""
    mechanism = whole(quantile=quantile, relation=relation, epsilon=1.0)
    outputs, worst = np.arange(5.0), 0.0

    @cache
    def logs_of(values: tuple[int, ...]) -> Any:  # noqa: ANN401
        return mechanism.log_density(outputs, list(values))

    size = 4 if relation is Relation.REPLACE_ONE else 3
    for values in combinations_with_replacement(range(5), size):
        for new in range(5):
            if relation is Relation.ADD_REMOVE:
                neighbors = [(*values, new)]
            else:
                neighbors = [(*values[:i], *values[i + 1 :], new) for i in range(size)]
            for other in neighbors:
                moved = logs_of(tuple(sorted(other))) - logs_of(values)
                worst = max(worst, float(np.abs(moved).max()))
    assert 0.4 < worst <= 1.0 + 1e-12


@pytest.mark.parametrize("relation", Relation)
def test_epsilon_is_nearly_attained(relation: Relation) -> None:
    median, points = whole(epsilon=1.0, high=40.0, relation=relation), np.arange(41.0)
    left, right = _tight_pair(relation)
    moved = median.log_density(points, left) - median.log_density(points, right)
    assert 0.85 < np.abs(moved).max() <= 1.0 + 1e-12


def _tight_pair(relation: Relation) -> tuple[list[float], list[float]]:
    """Most points, those between 4 and 40, gain; those between 0 and 4 lose as much."""
    if relation is Relation.REPLACE_ONE:
        return [0.0, 0.0, 4.0, 40.0], [0.0, 4.0, 40.0, 40.0]
    return [0.0, 4.0, 40.0], [0.0, 4.0, 40.0, 40.0]


@pytest.mark.parametrize("quantile", [0.5, 0.1])
def test_the_density_against_mpmath(quantile: float) -> None:
    """exp(−ε·miss/(2Δ)), integrated numerically over the pieces, for the real arithmetic."""
    values = [1.0, 2.5, 2.5, 7.0, 9.0]
    mechanism = ExponentialQuantile(
        epsilon=1.3,
        low=0.0,
        high=10.0,
        quantile=quantile,
        relation=Relation.ADD_REMOVE,
        arithmetic="real",
    )
    span = max(mpmath.mpf(quantile), 1 - mpmath.mpf(quantile))

    def weight(t: Any) -> Any:  # noqa: ANN401
        count = sum(v < t for v in values)
        return mpmath.exp(-mpmath.mpf("1.3") / (2 * span) * abs(count - mpmath.mpf(quantile) * 5))

    with mpmath.workdps(30):
        total = mpmath.quad(weight, [0, 1, 2.5, 7, 9, 10])
        for t in (0.5, 2.0, 3.0, 8.0, 9.5):
            wanted = float(mpmath.log(weight(t) / total))
            assert mechanism.log_density([t], values)[0] == pytest.approx(wanted, rel=1e-12)
    assert mechanism.log_density([-0.1, 10.1], values).tolist() == [-math.inf, -math.inf]


@given(
    st.lists(st.floats(-5.0, 5.0), min_size=1, max_size=30),
    st.floats(0.01, 0.99),
    st.sampled_from(list(Relation)),
)
def test_probabilities_add_up(values: list[float], quantile: float, relation: Relation) -> None:
    mechanism = ExponentialQuantile(
        epsilon=1.0, low=-5.0, high=5.0, quantile=quantile, relation=relation, grid_exponent=-4
    )
    logs = mechanism.log_density(np.arange(-80, 81) / 16.0, values)
    assert np.exp(logs).sum() == pytest.approx(1.0, rel=1e-12)
    assert mechanism.log_density([1.0 / 32.0], values)[0] == -math.inf


@pytest.mark.false_alarm(1e-9)
def test_draws_have_their_law() -> None:
    values, total = [0.0, 1.0, 1.0, 3.0, 4.0, 4.0], 200_000
    mechanism = whole(epsilon=1.0, relation=Relation.ADD_REMOVE)
    draws = mechanism.sample(values, total, rng=np.random.default_rng(3))
    counts = np.bincount(draws.astype(int), minlength=5)
    expected = np.exp(mechanism.log_density(np.arange(5.0), values))
    share = 1e-9 / 10
    low, high = binom.ppf(share, total, expected), binom.ppf(1 - share, total, expected)
    assert (low <= counts).all()
    assert (counts <= high).all()


def test_float_cuts_are_64_times_better_than_assumed() -> None:
    """Of 40,000 values, with a q·n that floats cannot hold."""
    rng = np.random.default_rng(0)
    mechanism = ExponentialQuantile(
        epsilon=0.3, low=0.0, high=1.0, quantile=0.1, relation=Relation.REPLACE_ONE
    )
    stretches = mechanism._stretches(mechanism._values(rng.random(2_000)))
    cumulated = np.cumsum(mechanism._weights(stretches))
    floats = cumulated[:-1] / cumulated[-1]
    exact = mechanism._cut_balls(stretches)
    errors = [float(abs(e - f)) for e, f in zip(exact, floats.tolist(), strict=True)]
    assert max(errors) < 2.0**-50 * len(errors)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", Relation)
def test_honest_quantiles_are_not_refuted(relation: Relation) -> None:
    left, right = _tight_pair(relation)
    mechanism = whole(epsilon=1.0, high=40.0, relation=relation)
    verdict = dpv.audit(mechanism, left=left, right=right, level=1e-9, seed=5, samples=50_000)
    assert not verdict.refuted
    assert verdict.epsilon_lower > 0.3


@pytest.mark.parametrize("relation", Relation)
def test_twice_the_weights_are_refuted(relation: Relation) -> None:
    """exp(−ε·miss/Δ): the 2 forgotten."""
    left, right = _tight_pair(relation)
    wrong = whole(epsilon=3.0, high=40.0, relation=relation)
    verdict = dpv.audit(
        wrong, left=left, right=right, claim=PureDP(epsilon=1.5), seed=5, samples=50_000
    )
    assert verdict.refuted


def test_the_default_grid() -> None:
    mechanism = ExponentialQuantile(epsilon=1.0, low=-3.0, high=5.0, relation=Relation.ADD_REMOVE)
    draws = mechanism.sample([0.0, 1.0, 2.0], 1_000, rng=np.random.default_rng(1))
    assert (draws >= -3.0).all()
    assert (draws <= 5.0).all()
    steps = np.ldexp(draws, -mechanism.grid.exponent)
    assert (steps == np.floor(steps)).all()
    far = ExponentialQuantile(epsilon=1.0, low=1e15, high=1e15 + 1.0, relation=Relation.ADD_REMOVE)
    assert far.sample([1e15], 5, rng=np.random.default_rng(1)).min() >= 1e15


def test_the_median_of_much_data_is_close() -> None:
    values = np.random.default_rng(0).normal(50.0, 10.0, 5_001)
    mechanism = ExponentialQuantile(
        epsilon=1.0, low=0.0, high=100.0, relation=Relation.ADD_REMOVE, clip=True
    )
    draws = mechanism.sample(values, 1_000, rng=np.random.default_rng(1))
    assert np.abs(draws - np.median(values)).max() < 0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": 0.0}, "epsilon=0"),
        ({"epsilon": math.nan}, "epsilon=nan"),
        ({"low": 4.0}, "low=4"),
        ({"high": math.inf}, "high=inf"),
        ({"quantile": 1.0}, "quantile=1"),
        ({"relation": "near"}, "relation"),
        ({"low": 0.25, "high": 0.75}, "grid_exponent=0"),
        ({"grid_exponent": -60}, "larger"),
    ],
)
def test_bad_parameters(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        whole(**change)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([math.nan], "finite"),
        ([5.0], "clip=True"),
        ([[1.0]], "list"),
        (["a"], "real"),
    ],
)
def test_bad_data_is_refused_before_any_noise(data: Any, words: str) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    with pytest.raises(InvalidParameter, match=words):
        whole().sample(data, 1, rng=rng)
    assert rng.bit_generator.state == before


def test_the_claim() -> None:
    claim = whole(epsilon=1.0).claim
    assert claim.guarantee == PureDP(epsilon=1.0)
    assert claim.relation is Relation.REPLACE_ONE
    assert claim.theorem.name == "exponential-mechanism"
    assert whole(arithmetic="real").claim.assumes == ("real arithmetic",)
    assert whole(epsilon=1.0).pair(Relation.REPLACE_ONE).max_loss == 1.0
