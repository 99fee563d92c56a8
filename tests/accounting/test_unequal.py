"""Unequal parts: both ends against enumeration, the equal rule and each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.rules import unequal
from dpverify.accounting.rules.optimal import OptimalComposition
from dpverify.accounting.rules.unequal import UnequalComposition
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, End
from tests.accounting.truth import leaky_delta

epsilons = st.floats(1e-4, 3.0)
leaks = st.sampled_from([0.0, 1e-10, 1e-3, 0.2])


def composed(parts: list[tuple[float, float]]) -> UnequalComposition:
    return UnequalComposition(tuple((ApproxDP(epsilon=e, delta=d), 1) for e, d in parts))


@given(st.lists(st.tuples(epsilons, leaks), min_size=1, max_size=6), st.floats(0.0, 8.0))
def test_small_compositions_are_exact(parts: list[tuple[float, float]], at: float) -> None:
    truth = leaky_delta(parts, at)
    found = composed(parts).delta(at)
    assert found.lower <= truth <= found.upper
    assert found.width <= 1e-12 * found.upper + 1e-300


@given(st.lists(epsilons, min_size=2, max_size=8), st.floats(0.01, 0.9), st.floats(1e-9, 0.5))
def test_compressed_laws_bracket_the_truth(own: list[float], coarse: float, delta: float) -> None:
    """Small compositions on a deliberately coarse grid: wide brackets, never wrong ones."""
    parts = tuple((ApproxDP(epsilon=e), 1) for e in own)
    at = sum(own) * 0.4
    truth = leaky_delta([(e, 0.0) for e in own], at)
    ends = []
    for end in (End.LOWER, End.UPPER):
        law = unequal.ListedLaw(np.zeros(1), np.ones(1))
        for part, times in parts:
            law = law.times(unequal._binomial(part.epsilon, times)).compressed(coarse, end)
            law = law.trimmed(delta * 1e-6)
        ends.append(law.sorted().excess(at, end))
    assert ends[0] <= truth <= ends[1]


def test_compression_error_is_second_order() -> None:
    parts = tuple((ApproxDP(epsilon=0.1 + i / 997), 1) for i in range(40))
    widths = []
    for step in (0.04, 0.02, 0.01):
        ends = [
            unequal._law(parts, step, end, 1e-30).excess(1.0, end) for end in (End.LOWER, End.UPPER)
        ]
        widths.append(ends[1] - ends[0])
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.5)
    assert widths[1] / widths[2] == pytest.approx(4, rel=0.5)


@pytest.mark.parametrize(
    ("own", "times", "delta"), [(0.1, 100, 1e-6), (0.02, 3000, 1e-9), (1.0, 40, 0.1)]
)
def test_equal_parts_agree_with_the_exact_rule(own: float, times: int, delta: float) -> None:
    exact = OptimalComposition(ApproxDP(epsilon=own), times).epsilon(delta)
    listed = composed([(own, 0.0)] * min(times, 100) + [(own * (1 + 1e-15), 0.0)] * 0)
    grouped = UnequalComposition(
        ((ApproxDP(epsilon=own), times // 2), (ApproxDP(epsilon=own), times - times // 2))
    )
    found = grouped.epsilon(delta)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    if times <= 100:
        one_by_one = listed.epsilon(delta)
        assert one_by_one.lower <= exact.upper
        assert exact.lower <= one_by_one.upper


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1e-6, 1e-12, 1e-40]))
@settings(max_examples=3, deadline=None)
def test_many_parts_within_tolerance(seed: int, delta: float) -> None:
    rng = np.random.default_rng(seed)
    parts = [(float(e), 0.0) for e in rng.uniform(0.01, 0.3, 100)]
    found = composed(parts).epsilon(delta, tolerance=1e-3)
    assert 0 <= found.width <= 1e-3
    own = [e for e, _ in parts]
    # Between 100 of the root-mean-square kind (close) and the crude ends.
    assert max(own) <= found.upper <= sum(own)


def test_order_does_not_matter() -> None:
    parts = [(0.1 + i / 50, 1e-9) for i in range(30)]
    forward, backward = composed(parts).epsilon(1e-5), composed(parts[::-1]).epsilon(1e-5)
    assert forward == backward


@pytest.mark.parametrize(
    ("parts", "delta", "expected"),
    [
        ([(0.0, 0.0), (0.0, 0.0)], 0.0, 0.0),
        ([(1.0, 0.0), (2.0, 0.0)], 0.0, 3.0),
        ([(1.0, 0.0), (math.inf, 0.0)], 0.5, math.inf),
        ([(1.0, 0.0), (2.0, 1.0)], 0.5, math.inf),
        ([(1.0, 0.1), (2.0, 0.2)], 0.25, math.inf),  # leaks with probability 0.28
        ([(1.0, 0.1), (2.0, 0.2)], 1.0, 0.0),
        ([(0.0, 0.1), (0.0, 0.2)], 0.3, 0.0),
    ],
)
def test_limits(parts: list[tuple[float, float]], delta: float, expected: float) -> None:
    found = composed(parts).epsilon(delta)
    assert found.upper == pytest.approx(expected, rel=1e-14)
    assert found.lower == pytest.approx(expected, rel=1e-14)


def test_says_which_tolerance_cannot_be_met() -> None:
    parts = [(0.1 + i / 1000, 0.0) for i in range(24)]
    with pytest.raises(InvalidParameter, match="tolerance=1e-15 must be larger"):
        composed(parts).epsilon(1e-6, tolerance=1e-15)


@pytest.mark.parametrize("bad", [-1e-3, 1.5, math.nan, "x"])
def test_refuses_bad_delta(bad: object) -> None:
    with pytest.raises(InvalidParameter, match="delta="):
        composed([(0.1, 0.0)]).epsilon(bad)  # type: ignore[arg-type]  # the point
