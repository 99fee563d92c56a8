"""Zeros and minima of one variable, against scipy's."""

import math
from collections.abc import Callable

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from dpverify.accounting.one_variable import least, zero


@given(
    st.floats(-3, 3),
    st.sampled_from([math.atan, math.sinh, lambda x: x**3, lambda x: math.expm1(20 * x)]),
)
def test_zeros_are_found_as_scipy_finds_them(where: float, shape: Callable[[float], float]) -> None:
    def function(x: float) -> float:
        return shape(x - where)

    found = zero(function, -4.0, 5.0, 1e-12)
    known = scipy.optimize.brentq(function, -4.0, 5.0, xtol=1e-12, rtol=1e-14, maxiter=1000)
    # A zero of third order is known no better than the cube root of the least float.
    assert abs(found - where) <= max(1e-11, 2 * abs(known - where))


def test_an_end_may_be_the_zero() -> None:
    assert zero(lambda x: x, 0.0, 1.0, 1e-12) == 0.0
    assert zero(lambda x: x - 1, 0.0, 1.0, 1e-12) == 1.0
    with pytest.raises(ValueError, match="change sign"):
        zero(lambda x: x + 1, 0.0, 1.0, 1e-12)


@given(
    st.floats(-5, 6),
    st.sampled_from([abs, math.cosh, lambda x: x**4, lambda x: math.expm1(x) - x]),
)
def test_minima_are_found_as_scipy_finds_them(
    where: float, shape: Callable[[float], float]
) -> None:
    """At an end, too, where it lies beyond; in about as many steps."""
    asked = []

    def function(x: float) -> float:
        asked.append(x)
        return shape(x - where)

    found = least(function, -4.0, 5.0, 1e-5)
    steps = len(asked)
    known = scipy.optimize.minimize_scalar(
        function, bounds=(-4.0, 5.0), method="bounded", options={"xatol": 1e-5}
    )
    assert function(found) <= known.fun + 1e-9
    assert steps <= known.nfev + 5
