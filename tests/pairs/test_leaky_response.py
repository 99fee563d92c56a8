"""Leaky randomized response."""

import math
from fractions import Fraction
from itertools import product

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, LeakyResponsePair
from tests.pairs.reference import encloses, leaky_table, table_profile

LN3 = math.log(3.0)


def leaky(epsilon: float, delta: float = 0.0) -> LeakyResponsePair:
    return LeakyResponsePair(ApproxDP(epsilon=epsilon, delta=delta))


@pytest.mark.parametrize(
    ("delta", "at", "expected"),
    [
        (0.0, 0.0, 1 / 2),  # (3 − 1)/(1 + 3)
        (0.0, math.log(2), 1 / 4),  # (3 − 2)/(1 + 3)
        (1 / 4, 0.0, 5 / 8),  # 1/4 + 3/4 · 1/2
        (1 / 4, LN3, 1 / 4),  # from ε on only the leak remains
        (1 / 4, math.inf, 1 / 4),
        (1.0, 0.0, 1.0),
    ],
)
def test_profile_by_hand(delta: float, at: float, expected: float) -> None:
    assert leaky(LN3, delta).delta(at) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("false_alarm", "expected"),
    [(0.0, 3 / 4), (1 / 16, 9 / 16), (3 / 16, 3 / 16), (1 / 2, 1 / 12), (3 / 4, 0.0), (1.0, 0.0)],
)
def test_trade_off_by_hand(false_alarm: float, expected: float) -> None:
    # max(0, 3/4 − 3α, (3/4 − α)/3)
    assert leaky(LN3, 1 / 4).trade_off(false_alarm) == pytest.approx(expected, abs=1e-15)


def test_other_values_by_hand() -> None:
    pair = leaky(LN3)
    assert pair.renyi(2.0) == pytest.approx(math.log(7 / 3), rel=1e-15)  # 3/4 · 3 + 1/4 · 1/3
    assert pair.renyi(1.0) == pytest.approx(LN3 / 2, rel=1e-15)
    assert pair.renyi(math.inf) == LN3
    assert pair.epsilon(0.25) == pytest.approx(math.log(2), rel=1e-15)  # δ = (3 − 2)/4
    assert leaky(LN3, 1 / 4).epsilon(1 / 4) == LN3
    assert leaky(LN3, 1 / 4).epsilon(0.2) == math.inf
    assert leaky(LN3, 1 / 4).renyi(2.0) == math.inf
    assert pair.reversed is pair


@pytest.mark.parametrize("pair", [leaky(math.inf), leaky(math.inf, 0.5), leaky(2.0, 1.0)])
def test_a_pair_that_reveals_everything(pair: LeakyResponsePair) -> None:
    assert pair.delta(5.0) == 1.0
    assert pair.delta(math.inf) == 1.0
    assert pair.epsilon(0.999) == math.inf
    assert pair.epsilon(1.0) == 0.0
    assert pair.trade_off(0.0) == 0.0
    assert pair.renyi(1.0) == math.inf
    assert pair.profile_ball(pair.max_loss_ball()) == 1


def test_no_difference_at_zero() -> None:
    pair = leaky(0.0)
    assert (pair.delta(0.0), pair.epsilon(0.0), pair.renyi(3.0)) == (0.0, 0.0, 0.0)
    assert pair.trade_off(0.25) == 0.75


@pytest.mark.parametrize("own", [0.0, 1e-300, 1e-9, 0.5, 30.0, 700.0, 1e4])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 1e-9, 0.5])
@pytest.mark.parametrize("at", [0.0, 1e-300, 0.25, 29.0, 700.0])
def test_profile_against_mpmath(own: float, delta: float, at: float) -> None:
    found = leaky(own, delta).delta_bracket(at)
    with mp.workdps(700):
        table = leaky_table(mp.mpf(own), mp.mpf(delta))
        assert encloses(found.lower, table_profile(table, mp.mpf(at)), found.upper)


@pytest.mark.parametrize("own", [1e-300, 1e-9, 0.5, 30.0, 700.0])
@pytest.mark.parametrize("order", [1.0, 1.0 + 1e-9, 2.0, 100.0, 1e6])
def test_renyi_against_mpmath(own: float, order: float) -> None:
    found = leaky(own).renyi(order)
    with mp.workdps(1500):
        table = leaky_table(mp.mpf(own), mp.mpf(0))[:2]
        if order == 1.0:
            value = mp.fsum(p * mp.log(p / q) for p, q in table)
        else:
            power = mp.mpf(order) - 1
            value = mp.log(mp.fsum(p * (p / q) ** power for p, q in table)) / power
        assert encloses(math.nextafter(found, 0.0), value, found)


def test_rational_parameters_keep_their_exact_values() -> None:
    third = Fraction(1, 3)
    pair = leaky(third, third)  # type: ignore[arg-type]  # any real number is legal at run time
    assert pair.epsilon_bracket(third).lower < third < pair.epsilon_bracket(third).upper  # type: ignore[arg-type]
    found = pair.delta_bracket(1.0)
    assert found.lower < third < found.upper


@given(st.integers(1, 12), st.integers(0, 8), st.integers(1, 4))
def test_composed_tables_by_enumeration(numerator: int, leak: int, times: int) -> None:
    """Powers with merged outcomes have the profile of all 4^k outcomes listed one by one."""
    ratio, delta = 1 + Fraction(numerator, 4), Fraction(leak, 8)
    single = FinitePair.leaky_response(ratio, delta)
    rows = list(zip(single.left, single.right, strict=True))
    listed = [
        (math.prod(p for p, _ in rows_), math.prod(q for _, q in rows_))
        for rows_ in product(rows, repeat=times)
    ]
    power = single.power(times)
    for at in (Fraction(0), Fraction(1, 2), Fraction(1), ratio, ratio**times, ratio**2 + 1):
        brute = sum(max(p - at * q, Fraction(0)) for p, q in listed)
        assert power.delta_at_ratio(at) == brute
