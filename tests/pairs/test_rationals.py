"""The simplest rational behind a float."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.balls import ball
from dpverify.errors import InvalidParameter
from dpverify.pairs.rationals import (
    endpoints,
    simplest_between,
    simplest_exponential,
    simplest_rational,
)

F = Fraction


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.3, F(3, 10)),
        (-0.75, F(-3, 4)),
        (1 / 3, F(1, 3)),
        (1e-9, F(1, 10**9)),
        (0.0, F(0)),
        (2.0, F(2)),
        (1e300, F(1e300)),
        (7, F(7)),
        (F(5, 17), F(5, 17)),
        (math.pi, F(245850922, 78256779)),  # the first convergent of π that rounds to math.pi
    ],
)
def test_rationals_by_hand(value: float, expected: Fraction) -> None:
    assert simplest_rational(value) == expected


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (0.0, F(1)),
        (math.log(2), F(2)),
        (math.log(3), F(3)),
        (math.log(1.5), F(3, 2)),
        (math.log(1000), F(1000)),
    ],
)
def test_exponentials_by_hand(epsilon: float, expected: Fraction) -> None:
    assert simplest_exponential(epsilon) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_rational_rounds_to_the_float(value: float) -> None:
    assert float(simplest_rational(value)) == value


@given(st.integers(-2000, 2000), st.integers(1, 2000))
def test_small_fractions_are_recovered(numerator: int, denominator: int) -> None:
    assert simplest_rational(numerator / denominator) == F(numerator, denominator)


@given(st.one_of(st.floats(5e-324, 1.0), st.floats(1.0, 700.0)))
def test_the_logarithm_rounds_to_epsilon(epsilon: float) -> None:
    ratio = simplest_exponential(epsilon)
    with mp.workdps(400):
        logarithm = mp.log(mp.mpf(ratio.numerator) / ratio.denominator)
        below = (mp.mpf(epsilon) + mp.mpf(math.nextafter(epsilon, 0.0))) / 2
        above = (mp.mpf(epsilon) + mp.mpf(math.nextafter(epsilon, math.inf))) / 2
        assert below < logarithm < above


@given(st.fractions(0, 50, max_denominator=60), st.fractions(0, 50, max_denominator=60))
def test_no_simpler_fraction_lies_between(first: Fraction, second: Fraction) -> None:
    if first == second:
        return
    low, high = sorted((first, second))
    found = simplest_between(low, high)
    assert low < found < high
    for denominator in range(1, found.denominator):
        assert math.floor(low * denominator) + 1 >= high * denominator  # no numerator fits
    assert not low < found - F(1, found.denominator) < high


@given(st.floats(1e-300, 1e300))
def test_endpoints_enclose(value: float) -> None:
    low, high = endpoints(ball(F(value) / 3))
    assert low <= F(value) / 3 <= high
    assert endpoints(ball(value)) == (F(value), F(value))


def test_numpy_scalars() -> None:
    assert simplest_rational(np.float64(0.3)) == F(3, 10)
    assert simplest_rational(np.int64(3)) == F(3)  # type: ignore[arg-type]  # a Real


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.inf, "x=inf must be finite"),
        (math.nan, "x=nan must be a real number"),
        ("1", "x='1' must be a real number"),
    ],
)
def test_bad_floats_are_named(value: float, message: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        simplest_rational(value)
    assert str(error.value) == message


@pytest.mark.parametrize("epsilon", [-1.0, 1e6, math.inf, math.nan])
def test_bad_exponents_are_named(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon="):
        simplest_exponential(epsilon)
