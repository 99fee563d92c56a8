"""One Rényi divergence to (ε, δ): valid for every pair on two outcomes, and attained by one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.renyi_conversion import (
    largest_divergence,
    renyi_delta,
    renyi_epsilon,
    simple_epsilon,
)
from dpverify.arrays import Floats
from dpverify.pairs import GaussianPair, LaplacePair
from tests.conftest import examples

orders = st.floats(1.01, 200.0)
divergences = st.floats(1e-4, 20.0)
deltas = st.floats(1e-12, 0.9)


def log_moment(order: float, p: Floats, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        first = order * np.log(p) + (1 - order) * np.log(q)
        second = order * np.log1p(-p) + (1 - order) * np.log1p(-q)
    total: Floats = np.logaddexp(first, np.where(p < 1, second, -np.inf))
    return total


def largest_excess(order: float, divergence: float, epsilon: float) -> float:
    """max p − e^ε·q over pairs on two outcomes with that divergence: for each p the least q."""
    p = np.concatenate([np.logspace(-14, -1, 1500), np.linspace(0.1, 1.0, 1500)])
    low, high = np.full_like(p, -700.0), np.log(p)  # ln q; the divergence falls in q on (0, p]
    for _ in range(60):
        middle = (low + high) / 2
        fits = log_moment(order, p, np.exp(middle)) <= (order - 1) * divergence
        low, high = np.where(fits, low, middle), np.where(fits, middle, high)
    return float(np.max(p - np.exp(np.minimum(epsilon + high, 700.0))))


@given(st.floats(1.3, 200.0), divergences, deltas)  # below, q underflows in the brute force
def test_valid_and_attained(order: float, divergence: float, delta: float) -> None:
    epsilon = renyi_epsilon(order, divergence, delta)
    worst = largest_excess(order, divergence, epsilon)
    assert worst <= delta * (1 + 1e-6) + 1e-14
    if epsilon > 0:
        slightly_less = epsilon - 0.02 * max(epsilon, 0.05)
        if slightly_less > 0:
            assert largest_excess(order, divergence, slightly_less) >= delta * (1 - 1e-3)


@given(orders, divergences, deltas)
def test_never_above_the_closed_form(order: float, divergence: float, delta: float) -> None:
    assert renyi_epsilon(order, divergence, delta) <= simple_epsilon(order, divergence, delta)


@given(orders, st.floats(0.01, 20.0), st.floats(1e-12, 0.5))
@settings(max_examples=examples(quick=8, fresh=30), deadline=None)
def test_the_largest_divergence_inverts_epsilon(order: float, epsilon: float, delta: float) -> None:
    largest = largest_divergence(order, epsilon, delta)
    assert renyi_epsilon(order, largest, delta) <= epsilon
    assert renyi_epsilon(order, largest * (1 + 1e-6) + 1e-12, delta) >= epsilon * (1 - 1e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [(math.inf, 0.1, math.inf), (1.0, 1.0, math.inf), (1.0, 0.0, 0.0)],
)
def test_limits_of_the_largest_divergence(epsilon: float, delta: float, expected: float) -> None:
    assert largest_divergence(8.0, epsilon, delta) == expected


@given(orders, divergences, st.floats(1e-9, 0.5))
@settings(max_examples=examples(quick=15, fresh=40), deadline=None)
def test_delta_inverts_epsilon(order: float, divergence: float, delta: float) -> None:
    epsilon = renyi_epsilon(order, divergence, delta)
    back = renyi_delta(order, divergence, epsilon)
    assert back <= delta * (1 + 1e-9)
    if epsilon > 0:
        assert back >= delta * (1 - 1e-6)


@given(st.floats(1.5, 100.0), st.floats(0.05, 3.0), st.sampled_from([1e-3, 1e-6, 1e-12]))
@settings(max_examples=examples(quick=10, fresh=40), deadline=None)
def test_never_below_a_true_epsilon(order: float, mu: float, delta: float) -> None:
    """Whatever mechanism has the divergence, its exact ε must not exceed what is implied."""
    for pair in (
        GaussianPair.of(sigma=1.0, sensitivity=mu),
        LaplacePair(scale=1.0, sensitivity=mu),
    ):
        assert pair.epsilon(delta) <= renyi_epsilon(order, pair.renyi(order), delta)


@pytest.mark.parametrize(
    ("order", "divergence", "delta", "expected"),
    [
        (2.0, 0.0, 1e-6, 0.0),
        (2.0, 0.5, 1.0, 0.0),
        (2.0, 0.5, 0.0, math.inf),
        (2.0, math.inf, 0.5, math.inf),
        (math.inf, 1.5, 0.0, 1.5),
        (2.0, 0.5, 0.6, 0.0),
    ],
)
def test_limits(order: float, divergence: float, delta: float, expected: float) -> None:
    assert renyi_epsilon(order, divergence, delta) == expected


@pytest.mark.parametrize(
    ("order", "divergence", "delta"),
    [(1e5, 1e-6, 1e-300), (30.0, 700.0, 1e-6), (1.0001, 0.5, 0.01), (1e7, 1e-9, 1e-12)],
)
def test_extremes_are_finite_and_consistent(order: float, divergence: float, delta: float) -> None:
    epsilon = renyi_epsilon(order, divergence, delta)
    assert 0 < epsilon <= simple_epsilon(order, divergence, delta)
    assert renyi_delta(order, divergence, epsilon) == pytest.approx(delta, rel=1e-6)
