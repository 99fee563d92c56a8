"""Optimal composition of equal parts against enumeration, mpmath and the laws it must obey."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.rules.advanced import AdvancedComposition
from dpverify.accounting.rules.basic import basic
from dpverify.accounting.rules.optimal import OptimalComposition
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair
from tests.accounting.truth import equal_leaky_delta
from tests.conftest import examples

LN3 = math.log(3)


@pytest.mark.parametrize(
    ("delta", "times", "at", "expected"),
    [
        (0.0, 1, 0.0, 1 / 2),  # (3 − 1)/4
        (0.0, 1, math.log(2), 1 / 4),  # (3 − 2)/4
        (0.0, 2, 0.0, 1 / 2),  # two answers: (9 − 1)/16; the mixed ones cancel
        (0.0, 2, LN3, 3 / 8),  # (9 − 3)/16
        (0.0, 3, 0.0, 11 / 16),  # (27 − 1)/64 + 3·(9 − 3)/64
        (1 / 4, 1, 0.0, 5 / 8),  # 1/4 + 3/4 · 1/2
        (1 / 4, 2, 5.0, 7 / 16),  # beyond 2·ln 3 only the leak remains: 1 − (3/4)²
    ],
)
def test_by_hand(delta: float, times: int, at: float, expected: float) -> None:
    found = OptimalComposition(ApproxDP(epsilon=LN3, delta=delta), times).delta(at)
    assert found.upper == pytest.approx(expected, rel=1e-14)
    assert found.upper - found.lower <= 2 * math.ulp(expected)


@pytest.mark.parametrize("times", [1, 2, 5, 12])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)])
def test_equals_exact_enumeration(times: int, delta: Fraction) -> None:
    """e^ε = 2 is rational, so the product of finite pairs is exact; ln 2 is off by half an ulp."""
    truth = FinitePair.leaky_response(Fraction(2), delta).power(times)
    ours = OptimalComposition(ApproxDP(epsilon=math.log(2), delta=float(delta)), times)
    for ratio in (Fraction(1), Fraction(3, 2), Fraction(7, 3), Fraction(9)):
        expected = float(truth.delta_at_ratio(ratio))
        assert ours.delta(math.log(ratio)).upper == pytest.approx(expected, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize(
    ("own", "leak", "times", "at"),
    [
        (0.1, 0.0, 100, 4.774567588107986),
        (0.1, 1e-8, 1000, 16.14),
        (0.3, 0.0, 50, 14.9),
        (2.0, 1e-12, 200, 30.0),
        (700.0, 0.0, 3, 2099.5),
        (1e-9, 0.0, 100, 1e-9),
        (0.01, 0.0, 2000, 0.0),
    ],
)
def test_brackets_mpmath(own: float, leak: float, times: int, at: float) -> None:
    truth = equal_leaky_delta(own, leak, times, at)
    found = OptimalComposition(ApproxDP(epsilon=own, delta=leak), times).delta(at)
    assert found.lower <= truth <= found.upper
    assert found.upper <= found.lower * (1 + 1e-15) + 5e-324


@given(
    st.floats(1e-6, 5.0),
    st.sampled_from([0.0, 1e-12, 1e-4, 0.3]),
    st.integers(1, 3000),
    st.floats(1e-200, 0.99),
)
@settings(max_examples=examples(quick=10))
def test_epsilon_inverts_delta(own: float, leak: float, times: int, delta: float) -> None:
    composition = OptimalComposition(ApproxDP(epsilon=own, delta=leak), times)
    found = composition.epsilon(delta)
    if math.isinf(found.upper):
        assert composition.delta(math.inf).upper > delta
        return
    assert composition.delta(found.upper).lower <= delta
    if found.lower > 0:
        assert composition.delta(found.lower).upper >= delta
    assert found.width <= 1e-13 * max(found.upper, 1e-280)


@given(st.floats(1e-3, 1.0), st.integers(1, 400), st.sampled_from([1e-3, 1e-9, 1e-60]))
@settings(max_examples=examples(quick=10, fresh=40), deadline=None)
def test_never_above_the_looser_rules(own: float, times: int, delta: float) -> None:
    part = ApproxDP(epsilon=own)
    best = OptimalComposition(part, times).epsilon(delta).lower
    assert best <= basic([(part, times)]).epsilon
    assert best <= AdvancedComposition(((part, times),)).epsilon(delta)


@given(st.floats(1e-3, 2.0), st.integers(1, 300), st.floats(0.0, 10.0))
@settings(max_examples=examples(quick=10, fresh=40), deadline=None)
def test_monotone_in_every_parameter(own: float, times: int, at: float) -> None:
    here = OptimalComposition(ApproxDP(epsilon=own, delta=1e-9), times).delta(at)
    more = [
        OptimalComposition(ApproxDP(epsilon=own * 1.01, delta=1e-9), times).delta(at),
        OptimalComposition(ApproxDP(epsilon=own, delta=2e-9), times).delta(at),
        OptimalComposition(ApproxDP(epsilon=own, delta=1e-9), times + 1).delta(at),
    ]
    assert all(here.lower <= other.upper for other in more)
    assert (
        OptimalComposition(ApproxDP(epsilon=own, delta=1e-9), times).delta(at + 0.1).lower
        <= here.upper
    )


@pytest.mark.parametrize(
    ("own", "leak", "times", "delta", "expected"),
    [
        (0.0, 0.0, 5, 0.0, 0.0),
        (1.0, 0.0, 5, 0.0, 5.0),
        (1.0, 0.0, 5, 1.0, 0.0),
        (math.inf, 0.0, 2, 0.5, math.inf),
        (1.0, 1.0, 2, 0.5, math.inf),
        (1.0, 0.5, 2, 0.5, math.inf),  # leaks with probability 3/4
        (1.0, 0.5, 1, 0.5, 1.0),
        (0.0, 0.5, 1, 0.5, 0.0),
    ],
)
def test_limits(own: float, leak: float, times: int, delta: float, expected: float) -> None:
    found = OptimalComposition(ApproxDP(epsilon=own, delta=leak), times).epsilon(delta)
    assert found.upper == pytest.approx(expected, rel=1e-15)
    assert found.lower == pytest.approx(expected, rel=1e-15)


def test_a_billion_parts() -> None:
    """By the central limit theorem, k parts of ε = 1/√k approach Gaussian DP with μ = 1."""
    found = OptimalComposition(ApproxDP(epsilon=10**-4.5), 10**9).epsilon(1e-6)
    assert found.upper == pytest.approx(4.886554, abs=1e-4)
    assert found.width < 1e-14


@pytest.mark.parametrize("times", [0, -1, 1.5, True, "3", math.nan])
def test_refuses_what_is_no_count(times: object) -> None:
    with pytest.raises(InvalidParameter, match=r"times=.* must be a whole number, at least 1"):
        OptimalComposition(ApproxDP(epsilon=1.0), times)  # type: ignore[arg-type]  # the point
