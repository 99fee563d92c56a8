"""Finite pairs: exact on Fractions, rigorous on floats."""

import math
from fractions import Fraction
from itertools import product as cartesian

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.balls import ball, enclose
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, LeakyResponsePair
from tests.pairs.reference import encloses
from tests.pairs.strategies import float_pairs, rational_pairs

F = Fraction
ratios = st.one_of(st.fractions(0, 20, max_denominator=30), st.just(F(1)))
fractions_of_one = st.fractions(0, 1, max_denominator=40)


def events(pair: FinitePair) -> list[tuple[Fraction, Fraction]]:
    """P and Q of every event, one by one."""
    masses = list(pair.masses())
    return [
        (sum((p for (p, _), take in zip(masses, chosen, strict=True) if take), F(0)),
         sum((q for (_, q), take in zip(masses, chosen, strict=True) if take), F(0)))
        for chosen in cartesian([False, True], repeat=len(masses))
    ]  # fmt: skip


def least_miss(pair: FinitePair, false_alarm: Fraction) -> Fraction:
    """The least miss rate over mixtures of any two tests whose false alarms straddle the rate."""
    points = events(pair)
    below = [(q, 1 - p) for p, q in points if q <= false_alarm]
    above = [(q, 1 - p) for p, q in points if q > false_alarm]
    mixed = [
        a[1] + (b[1] - a[1]) * (false_alarm - a[0]) / (b[0] - a[0]) for a in below for b in above
    ]
    return min([miss for _, miss in below] + mixed)


def test_values_by_hand() -> None:
    pair = FinitePair(left=[F(1, 2), F(1, 3), F(1, 6)], right=[F(1, 4), F(1, 4), F(1, 2)])
    assert pair.delta_at_ratio(F(1)) == F(1, 3)  # 1/4 + 1/12
    assert pair.delta_at_ratio(F(5, 3)) == F(1, 12)  # 1/2 − 5/12
    assert pair.delta_at_ratio(F(0)) == 1
    assert pair.ratio_at_delta(F(0)) == 2
    assert pair.ratio_at_delta(F(1, 12)) == F(5, 3)
    assert pair.ratio_at_delta(F(1, 2)) == 1
    assert pair.corners == (F(1, 3), F(4, 3), F(2))
    # Reject the first outcome surely and the second half the time: miss 1/6 + 1/6.
    assert pair.exact_trade_off(F(3, 8)) == F(1, 3)
    assert pair.renyi_moment(2) == F(1, 4) * 4 + F(1, 9) * 4 + F(1, 36) * 2
    assert pair.renyi_moment(1) == 1
    assert pair.max_loss == pytest.approx(math.log(2), rel=1e-15)
    assert pair.singular_mass == 0.0
    assert len(pair) == 3


def test_outcomes_that_are_impossible_on_one_side() -> None:
    pair = FinitePair(left=[F(1, 3), F(2, 3), 0], right=[0, F(1, 3), F(2, 3)], outcomes="abc")
    assert pair.likelihood.singular == F(1, 3)
    assert math.nextafter(pair.singular_mass, 0.0) < F(1, 3) < pair.singular_mass
    assert pair.ratio_at_delta(F(1, 3)) == 2
    assert pair.ratio_at_delta(F(1, 4)) == math.inf
    assert pair.epsilon(0.3) == math.inf
    assert pair.renyi_moment(2) == math.inf
    assert pair.renyi(1.0) == math.inf
    assert pair.exact_trade_off(F(0)) == F(2, 3)
    assert pair.exact_trade_off(F(1, 3)) == 0
    assert pair.delta_bracket(5.0).lower < F(1, 3) < pair.delta_bracket(math.inf).upper
    assert pair.reversed.likelihood.singular == F(2, 3)
    assert pair.outcomes == ("a", "b", "c")


def test_disjoint_and_equal_laws() -> None:
    disjoint = FinitePair(left=[1, 0], right=[0, 1])
    assert (disjoint.delta(3.0), disjoint.epsilon(1.0), disjoint.max_loss) == (1.0, 0.0, 0.0)
    assert disjoint.epsilon(0.5) == math.inf
    assert disjoint.trade_off(0.0) == 0.0
    assert disjoint.profile_ball(ball(-2.0)) == 1
    equal = FinitePair(left=[0.1] * 10, right=[0.1] * 10)
    assert (equal.delta(0.0), equal.epsilon(0.0), equal.max_loss) == (0.0, 0.0, 0.0)
    assert (equal.renyi(1.0), equal.renyi(2.5), equal.renyi(math.inf)) == (0.0, 0.0, 0.0)
    assert equal.trade_off(0.25) == 0.75


def test_the_largest_ratio_may_be_below_one() -> None:
    pair = FinitePair(left=[F(1, 2), F(1, 2)], right=[0, 1])
    assert pair.max_loss == 0.0
    assert pair.ratio_at_delta(F(1, 2)) == 1
    assert pair.delta(0.0) == 0.5


def test_leaky_response_is_the_pair_of_that_name() -> None:
    table = FinitePair.leaky_response(3, 0.1)
    assert table == FinitePair.leaky_response(F(3), F(1, 10))
    assert table.left == (F(27, 40), F(9, 40), F(1, 10), 0)
    assert table.outcomes == (0, 1, "U", "V")
    closed = LeakyResponsePair(ApproxDP(epsilon=math.log(3), delta=0.1))
    for epsilon in (0.0, 0.3, 1.0, 2.0):
        assert table.delta(epsilon) == pytest.approx(closed.delta(epsilon), rel=1e-14)
        assert table.trade_off(epsilon / 3) == pytest.approx(
            closed.trade_off(epsilon / 3), abs=1e-14
        )
    revealing = FinitePair.leaky_response(math.inf, F(1, 4))
    assert revealing.left == (F(3, 4), 0, F(1, 4), 0)
    assert revealing.right == (0, F(3, 4), 0, F(1, 4))


@given(rational_pairs(), ratios)
def test_profile_is_the_best_event(pair: FinitePair, ratio: Fraction) -> None:
    assert pair.delta_at_ratio(ratio) == max(p - ratio * q for p, q in events(pair))


@given(rational_pairs(), fractions_of_one)
def test_inverse_is_exact(pair: FinitePair, delta: Fraction) -> None:
    ratio = pair.ratio_at_delta(delta)
    steepest = [(p - delta) / q for p, q in events(pair) if q]
    if any(p > delta and not q for p, q in events(pair)):
        assert ratio == math.inf
    else:
        assert ratio == max(F(1), *steepest)


@given(rational_pairs(most=4), fractions_of_one)
def test_trade_off_is_the_best_mixture_of_tests(pair: FinitePair, false_alarm: Fraction) -> None:
    assert pair.exact_trade_off(false_alarm) == least_miss(pair, false_alarm)


@given(rational_pairs(), fractions_of_one)
def test_trade_off_and_profile_are_exactly_dual(pair: FinitePair, false_alarm: Fraction) -> None:
    lines = [1 - pair.delta_at_ratio(t) - t * false_alarm for t in (F(0), *pair.corners)]
    assert pair.exact_trade_off(false_alarm) == max(lines)


@given(float_pairs(), ratios, fractions_of_one)
def test_floats_are_as_exact_as_fractions(
    pair: FinitePair, ratio: Fraction, share: Fraction
) -> None:
    exact = pair.exact
    assert pair.delta_at_ratio(ratio) == exact.delta_at_ratio(ratio)
    for corner in exact.corners[:3]:
        assert pair.likelihood.cut(corner) == exact.likelihood.cut(corner)
    assert pair.ratio_at_delta(share) == exact.ratio_at_delta(share)
    assert pair.exact_trade_off(share) == exact.exact_trade_off(share)
    assert pair.likelihood.singular == exact.likelihood.singular
    assert pair.likelihood.top == exact.likelihood.top
    assert pair.max_loss == exact.max_loss


@given(float_pairs(), st.one_of(st.floats(0.0, 3.0), st.floats(-800.0, 800.0)))
def test_float_profile_against_mpmath(pair: FinitePair, epsilon: float) -> None:
    with mp.workdps(1200):
        growth = mp.exp(mp.mpf(epsilon))
        value = mp.fsum(max(_real(p) - growth * _real(q), mp.mpf(0)) for p, q in pair.masses())
        lower, upper = enclose(lambda: pair.profile_ball(ball(epsilon)))
        assert encloses(lower, value, upper)


@given(float_pairs(), st.sampled_from([1.0, 1.5, 2.0, 20.0]))
def test_renyi_against_mpmath(pair: FinitePair, order: float) -> None:
    found = pair.renyi(order)
    masses = list(pair.masses())
    if any(p and not q for p, q in masses):
        assert found == math.inf
        return
    with mp.workdps(1200):
        table = [(_real(p), _real(q)) for p, q in masses if p]
        if order == 1.0:
            value = mp.fsum(p * mp.log(p / q) for p, q in table)
        else:
            moment = mp.fsum(p * (p / q) ** (mp.mpf(order) - 1) for p, q in table)
            value = mp.log(moment) / (mp.mpf(order) - 1)
        if abs(value) < mp.mpf(10) ** -1000:
            assert found in {0.0, 5e-324}
        else:
            assert encloses(math.nextafter(found, 0.0), value, found)


def _real(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


@given(rational_pairs(most=3), rational_pairs(most=3), ratios)
def test_products_by_enumeration(first: FinitePair, second: FinitePair, ratio: Fraction) -> None:
    listed = [(a * c, b * d) for a, b in first.masses() for c, d in second.masses()]
    brute = sum((max(p - ratio * q, F(0)) for p, q in listed), F(0))
    assert first.product(second).delta_at_ratio(ratio) == brute


@given(rational_pairs(most=3), st.integers(1, 3), st.integers(1, 3))
def test_powers_add_up(pair: FinitePair, first: int, second: int) -> None:
    assert pair.power(first).product(pair.power(second)) == pair.power(first + second).product(
        FinitePair(left=[1], right=[1])
    )


def test_powers_of_leaky_response_stay_small() -> None:
    power = FinitePair.leaky_response(F(3), F(1, 10)).power(60)
    assert len(power) == 61 + 2  # the walk's ends in steps of two, and the two leaks
    assert power.likelihood.singular == 1 - F(9, 10) ** 60


@given(rational_pairs(), st.integers(2, 5))
def test_moments_agree_with_divergences(pair: FinitePair, order: int) -> None:
    moment = pair.renyi_moment(order)
    expected = math.inf if moment == math.inf else math.log(moment) / (order - 1)
    assert pair.renyi(float(order)) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_very_many_outcomes() -> None:
    rng = np.random.default_rng(5)
    left = rng.exponential(size=10**5)
    right = left * np.exp(rng.uniform(-1.0, 1.0, size=10**5))
    pair = FinitePair(left=left / left.sum(), right=right / right.sum())
    p, q = np.asarray(pair.left), np.asarray(pair.right)
    for epsilon in (0.0, 0.5, 1.0):
        naive = math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0))
        found = pair.delta_bracket(epsilon)
        assert found.upper == pytest.approx(naive, rel=1e-9)
        back = pair.epsilon_bracket(found.upper)
        assert back.lower <= epsilon
        assert back.upper == pytest.approx(epsilon, abs=1e-14)
    rejected = np.argsort(-p / q)[: 10**4]
    level = math.fsum(q[rejected])
    assert pair.trade_off(level) == pytest.approx(1.0 - math.fsum(p[rejected]), rel=1e-9)


def test_many_outcomes_of_one_ratio() -> None:
    """Two-sided geometric noise: nearly all ratios are e^±ε up to their last bits."""
    steps = np.arange(-300_000, 300_001)
    weights = np.exp(-1e-4 * np.abs(steps))
    shifted = np.exp(-1e-4 * np.abs(steps - 1))
    pair = FinitePair(left=shifted / math.fsum(shifted), right=weights / math.fsum(weights))
    assert pair.max_loss == pytest.approx(1e-4, rel=1e-9)
    assert pair.epsilon(0.0) == pair.max_loss
    assert pair.delta(0.0) == pytest.approx(math.tanh(0.5e-4), rel=1e-9)
    assert pair.trade_off(0.25) == pytest.approx(1.0 - math.exp(1e-4) * 0.25, rel=1e-9)


def test_equal_pairs_are_equal() -> None:
    one = FinitePair(left=[0.5, 0.5], right=[0.25, 0.75])
    same = FinitePair(left=np.array([0.5, 0.5]), right=[0.25, 0.75])
    assert one == same
    assert hash(one) == hash(same)
    assert one != one.reversed
    assert one != one.exact
    assert one.exact == one.exact.exact
    assert one != "one"


def test_numpy_scalars_are_answered_like_floats() -> None:
    pair = FinitePair(left=[0.5, 0.5], right=[0.25, 0.75])
    assert pair.delta(np.float32(0.25)) == pair.delta(0.25)  # type: ignore[arg-type]
    assert pair.epsilon(np.float32(0.125)) == pair.epsilon(0.125)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "argument", "message"),
    [
        ("delta_at_ratio", 0.5, "ratio=0.5 must be an int or a Fraction, to be exact"),
        ("delta_at_ratio", F(-1), "ratio=Fraction(-1, 1) must be at least 0"),
        ("ratio_at_delta", 0.5, "delta=0.5 must be an int or a Fraction, to be exact"),
        ("ratio_at_delta", F(2), "delta=Fraction(2, 1) must lie in [0, 1]"),
        ("exact_trade_off", 0.5, "false_alarm=0.5 must be an int or a Fraction, to be exact"),
        ("renyi_moment", 1.5, "order=1.5 must be a whole number, at least 1"),
        ("power", 0, "times=0 must be a whole number, at least 1"),
    ],
)
def test_bad_questions_are_named(method: str, argument: object, message: str) -> None:
    pair = FinitePair(left=[F(1, 2), F(1, 2)], right=[F(1, 4), F(3, 4)])
    with pytest.raises(InvalidParameter) as error:
        getattr(pair, method)(argument)
    assert str(error.value) == message


def test_bad_tables_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="outcomes has length 1 and must have length 2"):
        FinitePair(left=[1, 0], right=[0, 1], outcomes=["only"])
    with pytest.raises(InvalidParameter, match=r"ratio=0\.5 must be at least 1"):
        FinitePair.leaky_response(0.5, 0)
    with pytest.raises(InvalidParameter, match=r"delta=2 must lie in \[0, 1\]"):
        FinitePair.leaky_response(2, 2)
    with pytest.raises(NotSupported, match="needs Fractions"):
        FinitePair(left=[0.5, 0.5], right=[0.5, 0.5]).renyi_moment(2)
    many = [F(2 * i + 1, 1_210_000) for i in range(1100)]
    wide = FinitePair(left=many, right=[F(1, 1100)] * 1100)
    with pytest.raises(NotSupported, match="1100 by 1100 classes of outcomes must have at most"):
        wide.product(wide)
