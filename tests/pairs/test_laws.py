"""What is true of every pair, whatever its kind."""

import math
from fractions import Fraction

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.balls import ball
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair, LeakyResponsePair, Pair
from tests.pairs.strategies import any_pairs

epsilons = st.one_of(st.just(0.0), st.floats(0.0, 50.0), st.floats(1e-12, 1e-3))
deltas = st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-15, 1.0))
false_alarms = st.one_of(st.just(0.0), st.just(1.0), st.floats(0.0, 1.0))
steps = st.integers(0, 20_000).map(lambda thousandths: thousandths / 1000)
orders = st.one_of(st.just(1.0), st.floats(1.0 + 1e-6, 100.0), st.just(math.inf))

PAIRS = [
    GaussianPair(Fraction(1)),
    LaplacePair(scale=1.0, sensitivity=1.0),
    LeakyResponsePair(ApproxDP(epsilon=1.0, delta=0.1)),
    FinitePair.leaky_response(Fraction(3), Fraction(1, 10)),
    FinitePair(left=[0.25, 0.75], right=[0.5, 0.5]),
]


@given(any_pairs, epsilons, epsilons)
def test_profile_falls(pair: Pair, first: float, second: float) -> None:
    small, large = sorted((first, second))
    assert pair.delta_bracket(large).lower <= pair.delta_bracket(small).upper


@given(any_pairs, st.lists(steps, min_size=3, max_size=3, unique=True))
def test_profile_is_convex_in_the_ratio(pair: Pair, points: list[float]) -> None:
    low, middle, high = sorted(points)
    with mp.workdps(60):
        start, inside, end = (mp.exp(mp.mpf(e)) for e in (low, middle, high))
        weight = (end - inside) / (end - start)
        chord = weight * pair.delta(low) + (1 - weight) * pair.delta(high)
        assert pair.delta_bracket(middle).lower <= chord + mp.mpf(10) ** -50


@given(any_pairs, deltas)
def test_inverse_inverts(pair: Pair, delta: float) -> None:
    found = pair.epsilon_bracket(delta)
    if found.upper == math.inf:
        assert delta < pair.singular_mass or (delta == 0.0 and pair.max_loss == math.inf)
        return
    assert pair.delta_bracket(found.upper).lower <= delta
    if found.lower > 0.0:
        assert pair.delta_bracket(math.nextafter(found.lower, 0.0)).upper >= delta


@given(any_pairs, epsilons)
def test_brackets_are_one_ulp_wide(pair: Pair, epsilon: float) -> None:
    found = pair.delta_bracket(epsilon)
    assert 0.0 <= found.lower <= found.upper <= 1.0
    assert math.nextafter(found.lower, math.inf) >= found.upper


@given(any_pairs, false_alarms, false_alarms, st.floats(0.0, 1.0))
def test_trade_off_is_a_trade_off_curve(pair: Pair, a: float, b: float, weight: float) -> None:
    low, high = sorted((a, b))
    at_low, at_high = pair.trade_off(low), pair.trade_off(high)
    assert at_high <= at_low <= 1.0 - low
    middle = weight * low + (1.0 - weight) * high
    assert pair.trade_off(middle) <= weight * at_low + (1.0 - weight) * at_high + 4e-16
    assert pair.trade_off(1.0) == 0.0


@given(any_pairs, false_alarms, epsilons)
def test_trade_off_lies_above_the_lines_of_the_profile(
    pair: Pair, false_alarm: float, epsilon: float
) -> None:
    """No test misses less than 1 − δ(ε) − e^ε·α."""
    with mp.workdps(60):
        line = 1 - mp.mpf(pair.delta(epsilon)) - mp.exp(mp.mpf(epsilon)) * false_alarm
        assert line <= math.nextafter(pair.trade_off(false_alarm), 2.0)


@given(any_pairs, orders, orders)
def test_renyi_grows_with_the_order(pair: Pair, first: float, second: float) -> None:
    small, large = sorted((first, second))
    assert 0.0 <= math.nextafter(pair.renyi(small), 0.0) <= pair.renyi(large)
    assert pair.renyi(large) == math.inf or pair.renyi(large) <= math.nextafter(
        pair.max_loss, math.inf
    )


@given(any_pairs, st.floats(0.0, 20.0))
def test_reversal_reads_the_profile_at_the_reciprocal_ratio(pair: Pair, epsilon: float) -> None:
    """Σ(q − t·p)₊ = 1 − t + t·Σ(p − q/t)₊."""
    reversed_ = pair.reversed.profile_ball(ball(epsilon))
    growth = ball(epsilon).exp()
    assert reversed_.overlaps(1 - growth + growth * pair.profile_ball(-ball(epsilon)))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: type(pair).__name__)
@pytest.mark.parametrize(
    ("question", "argument", "message"),
    [
        ("delta", -1.0, "epsilon=-1.0 must be at least 0"),
        ("delta", math.nan, "epsilon=nan must be a real number"),
        ("delta", "1", "epsilon='1' must be a real number"),
        ("epsilon", 1.5, r"delta=1.5 must lie in [0, 1]"),
        ("epsilon", -0.5, r"delta=-0.5 must lie in [0, 1]"),
        ("epsilon", None, "delta=None must be a real number"),
        ("trade_off", 2.0, r"false_alarm=2.0 must lie in [0, 1]"),
        ("trade_off", True, "false_alarm=True must be a real number"),
        ("renyi", 0.5, "order=0.5 must be at least 1"),
        ("renyi", math.nan, "order=nan must be a real number"),
    ],
)
def test_bad_questions_are_named(pair: Pair, question: str, argument: object, message: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        getattr(pair, question)(argument)
    assert str(error.value) == message
