"""From formulas to floats that are bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverify.balls import (
    Order,
    at_least,
    at_most,
    ball,
    compare,
    enclose,
    first_float,
    float_above,
    float_below,
    probability_above,
)

F = Fraction
rationals = st.fractions().filter(lambda x: abs(x) < 10**300)


@given(rationals)
def test_ends_of_a_rational_enclose_it_tightly(value: Fraction) -> None:
    lower, upper = enclose(lambda: ball(value))
    assert F(lower) <= value <= F(upper)
    assert math.nextafter(lower, math.inf) >= upper


@given(st.floats(allow_nan=False))
def test_floats_are_their_own_ends(value: float) -> None:
    assert float_above(ball(value)) == float_below(ball(value)) == value
    assert enclose(lambda: ball(value)) == (value, value)


@given(st.integers())
def test_integers_are_exact_however_long(value: int) -> None:
    assert ball(value).is_exact()
    assert int(ball(value).fmpz()) == value


def test_numpy_scalars_are_numbers() -> None:
    assert ball(np.float32(0.5)) == ball(np.float64(0.5)) == ball(0.5)  # type: ignore[arg-type]
    assert ball(np.int64(3)) == 3  # type: ignore[arg-type]


def test_beyond_the_range_of_floats() -> None:
    huge, tiny = arb(10) ** 400, arb(10) ** -400
    assert (float_below(huge), float_above(huge)) == (math.nextafter(math.inf, 0.0), math.inf)
    assert (float_below(tiny), float_above(tiny)) == (0.0, 5e-324)
    assert (float_below(-tiny), float_above(-tiny)) == (-5e-324, 0.0)
    assert math.copysign(1.0, float_below(arb(0))) == 1.0


def test_cancellation_costs_precision_not_correctness() -> None:
    """1 − cos(x) at x = 1e-150 is x²/2 up to a relative error of 1e-300."""
    lower, upper = enclose(lambda: 1 - ball(1e-150).cos())
    half_square = F(1e-150) ** 2 / 2
    assert F(lower) <= half_square * (1 + F(1, 10**290))
    assert F(upper) >= half_square * (1 - F(1, 10**290))
    assert math.nextafter(lower, math.inf) >= upper


def test_a_formula_without_a_value_is_an_error() -> None:
    with pytest.raises(ArithmeticError, match="no value"):
        enclose(lambda: arb(-1).log())


@given(rationals, st.floats(allow_nan=False, allow_infinity=False))
def test_comparison(value: Fraction, target: float) -> None:
    order = compare(lambda: ball(value), target)
    if value < F(target):
        assert order is Order.BELOW
    elif value > F(target):
        assert order is Order.ABOVE
    else:
        assert order is Order.EQUAL
    assert at_most(lambda: ball(value), target) == (value <= F(target))
    assert at_least(lambda: ball(value), target) == (value >= F(target))


def test_an_equality_that_no_precision_shows() -> None:
    """√2·√2 = 2, but no ball is a point."""
    assert compare(lambda: arb(2).sqrt() * arb(2).sqrt(), 2.0) is Order.UNDECIDED
    assert not at_most(lambda: arb(2).sqrt() * arb(2).sqrt(), 2.0)
    assert not at_least(lambda: arb(2).sqrt() * arb(2).sqrt(), 2.0)


@given(st.floats(0.0, 1e300))
def test_first_float_finds_the_threshold(threshold: float) -> None:
    assert first_float(lambda x: x >= threshold, 0.0, math.inf) == threshold


def test_first_float_asks_at_most_65_times() -> None:
    asked: list[float] = []

    def holds(x: float) -> bool:
        asked.append(x)
        return x * x >= 2.0

    assert first_float(holds, 0.0, math.inf) == math.sqrt(2.0)
    assert len(asked) <= 65
    assert first_float(lambda _: False, 0.0, 7.0) == 7.0
    assert first_float(lambda _: True, 3.0, 7.0) == 3.0


def test_a_probability_is_rounded_up_and_one_where_nothing_is_known() -> None:
    assert Fraction(probability_above(arb(1) / 3)) >= Fraction(1, 3)
    assert probability_above(arb("nan")) == 1.0
    assert probability_above(arb(2)) == 1.0
    assert probability_above(arb(-1)) == 0.0
