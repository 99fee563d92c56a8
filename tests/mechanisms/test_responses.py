"""Randomized response, plain and leaky: exact laws, draws, limits."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import LeakyRandomizedResponse, RandomizedResponse
from dpverify.neighbors import Relation

Agree = Callable[[ArrayLike, ArrayLike, int], None]
LOG3 = math.log(3.0)
arithmetics = pytest.mark.parametrize("arithmetic", ["grid", "real"])


def excess(left: np.ndarray, right: np.ndarray, epsilon: float) -> float:
    """Σ (P − e^ε·Q)₊ from log probabilities."""
    return float(np.maximum(np.exp(left) - np.exp(epsilon + right), 0.0).sum())


@pytest.mark.parametrize(
    ("epsilon", "categories", "honest", "other"),
    [
        (LOG3, 2, 3 / 4, 1 / 4),
        (LOG3, 4, 1 / 2, 1 / 6),
        (0.0, 5, 1 / 5, 1 / 5),
        (math.inf, 3, 1.0, 0.0),
    ],
)
def test_probabilities_by_hand(
    epsilon: float, categories: int, honest: float, other: float
) -> None:
    ask = RandomizedResponse(epsilon=epsilon, categories=categories)
    law = np.exp(ask.log_density(np.arange(categories), 1))
    assert law[1] == pytest.approx(honest, rel=1e-15)
    assert np.delete(law, 1) == pytest.approx(np.full(categories - 1, other), rel=1e-14)
    assert ask.log_density([categories, -1], 1).tolist() == [-math.inf, -math.inf]


@pytest.mark.parametrize(
    ("epsilon", "delta", "law_of_zero"),
    [
        (LOG3, 0.5, [3 / 8, 1 / 8, 1 / 2, 0.0]),
        (LOG3, 0.0, [3 / 4, 1 / 4, 0.0, 0.0]),
        (0.0, 0.5, [1 / 4, 1 / 4, 1 / 2, 0.0]),
        (1.0, 1.0, [0.0, 0.0, 1.0, 0.0]),
        (math.inf, 0.25, [3 / 4, 0.0, 1 / 4, 0.0]),
    ],
)
def test_leaky_probabilities_by_hand(
    epsilon: float, delta: float, law_of_zero: list[float]
) -> None:
    ask = LeakyRandomizedResponse(epsilon=epsilon, delta=delta)
    assert np.exp(ask.log_density(np.arange(4), 0)) == pytest.approx(law_of_zero, rel=1e-15)
    mirrored = np.exp(ask.log_density([1, 0, 3, 2], 1))
    assert mirrored == pytest.approx(law_of_zero, rel=1e-15)


def test_claims() -> None:
    plain = RandomizedResponse(epsilon=1.0, categories=7)
    leaky = LeakyRandomizedResponse(epsilon=1.0, delta=1e-6)
    assert plain.claim.guarantee == PureDP(epsilon=1.0)
    assert plain.claim.theorem.name == "randomized-response"
    assert leaky.claim.guarantee == ApproxDP(epsilon=1.0, delta=1e-6)
    assert leaky.claim.theorem.name == "leaky-response"
    for mechanism in (plain, leaky):
        assert mechanism.claim.relation is None
        assert len(mechanism.claim.assumes) == 1
    real = RandomizedResponse(epsilon=1.0, arithmetic="real")
    assert real.claim.assumes == ("real arithmetic",)


@given(st.floats(0.0, 20.0), st.floats(0.0, 1.0), st.floats(0.0, 25.0))
def test_the_pair_is_exactly_the_two_laws(epsilon: float, delta: float, at: float) -> None:
    ask = LeakyRandomizedResponse(epsilon=epsilon, delta=delta)
    outputs = np.arange(4)
    exact = excess(ask.log_density(outputs, 0), ask.log_density(outputs, 1), at)
    assert ask.pair(Relation.ADD_REMOVE).delta(at) == pytest.approx(exact, rel=1e-9, abs=1e-15)


@given(st.floats(0.0, 20.0), st.integers(2, 6), st.floats(0.0, 25.0))
def test_the_pair_dominates_any_number_of_categories(
    epsilon: float, categories: int, at: float
) -> None:
    ask = RandomizedResponse(epsilon=epsilon, categories=categories)
    outputs = np.arange(categories)
    exact = excess(ask.log_density(outputs, 0), ask.log_density(outputs, categories - 1), at)
    bound = ask.pair(Relation.REPLACE_ONE).delta(at)
    assert exact <= bound + 1e-14
    if categories == 2:
        assert exact == pytest.approx(bound, rel=1e-9, abs=1e-14)


@pytest.mark.false_alarm(1e-9)
@arithmetics
@pytest.mark.parametrize("categories", [2, 5])
def test_responses_have_their_law(
    arithmetic: str, categories: int, rng: np.random.Generator, agree: Agree
) -> None:
    total = 400_000
    ask = RandomizedResponse(epsilon=1.0, categories=categories, arithmetic=arithmetic)  # type: ignore[arg-type]
    draws = ask.sample(1, total, rng=rng)
    outputs = np.arange(categories)
    agree(np.bincount(draws, minlength=categories), np.exp(ask.log_density(outputs, 1)), total)


@pytest.mark.false_alarm(1e-9)
@arithmetics
@pytest.mark.parametrize("data", [0, 1])
def test_leaky_responses_have_their_law(
    arithmetic: str, data: int, rng: np.random.Generator, agree: Agree
) -> None:
    total = 400_000
    ask = LeakyRandomizedResponse(epsilon=1.0, delta=0.01, arithmetic=arithmetic)  # type: ignore[arg-type]
    draws = ask.sample(data, total, rng=rng)
    expected = np.exp(ask.log_density(np.arange(4), data))
    agree(np.bincount(draws, minlength=4), expected, total)


def test_the_exact_lie_of_a_tiny_probability() -> None:
    """At ε = 100 a lie has probability e^-100/(1 + e^-100): seen by digits beyond the 64th only."""
    ask = RandomizedResponse(epsilon=100.0)
    assert -101.0 < math.log(float(ask._lie())) < -99.99


@pytest.mark.parametrize(
    ("mechanism", "outputs"),
    [
        (RandomizedResponse(epsilon=math.inf, categories=3), {2}),
        (LeakyRandomizedResponse(epsilon=math.inf, delta=0.0), {1}),
        (LeakyRandomizedResponse(epsilon=0.0, delta=1.0), {3}),
    ],
)
@arithmetics
def test_limits_are_deterministic(
    mechanism: RandomizedResponse | LeakyRandomizedResponse, outputs: set[int], arithmetic: str
) -> None:
    largest = 2 if isinstance(mechanism, RandomizedResponse) else 1
    if arithmetic == "real":
        fields = {name: getattr(mechanism, name) for name in mechanism.__dataclass_fields__}
        mechanism = type(mechanism)(**fields | {"arithmetic": "real"})
    draws = mechanism.sample(largest, 1000, rng=np.random.default_rng(0))
    assert set(draws.tolist()) == outputs


def test_arrays_are_answered_entry_by_entry() -> None:
    ask = RandomizedResponse(epsilon=2.0, categories=3)
    data = np.array([[0, 1, 2], [2, 1, 0]])
    draws = ask.sample(data, 50, rng=np.random.default_rng(1))
    assert draws.shape == (50, 2, 3)
    assert set(draws.ravel().tolist()) <= {0, 1, 2}
    again = ask.sample(data, 50, rng=np.random.default_rng(1))
    assert (draws == again).all()
    single = sum(ask.log_density(draws[:, i, j], data[i, j]) for i in range(2) for j in range(3))
    assert ask.log_density(draws, data) == pytest.approx(single, rel=1e-14)
    bits = LeakyRandomizedResponse(epsilon=1.0, delta=0.5)
    both = bits.sample(np.array([True, False]), 500, rng=np.random.default_rng(1))
    assert set(both[:, 0].tolist()) == {0, 1, 3}
    assert set(both[:, 1].tolist()) == {0, 1, 2}
