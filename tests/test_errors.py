"""One message shape for every bad argument: name=value must …"""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpverify.errors import (
    DPVerifyError,
    InvalidParameter,
    NotSupported,
    as_float,
    check_between,
    check_count,
    check_member,
    check_nonempty,
    check_positive,
    check_real,
    is_rational,
)


def test_the_family() -> None:
    assert issubclass(InvalidParameter, DPVerifyError)
    assert issubclass(InvalidParameter, ValueError)
    assert issubclass(NotSupported, DPVerifyError)
    assert issubclass(NotSupported, NotImplementedError)


@pytest.mark.parametrize("value", [0, 1.5, -math.inf, Fraction(1, 3), np.float32(2), np.int64(3)])
def test_real_numbers_pass(value: object) -> None:
    check_real("x", value)


def test_values_inside_pass() -> None:
    check_between("x", 0.0, 0.0, 1.0)
    check_between("x", Fraction(1), 0.0, 1.0)
    check_between("x", math.inf, 0.0, math.inf)
    check_positive("x", 5e-324)
    check_count("x", 1)
    check_count("x", np.int64(7))
    check_member("x", "a", ["a", "b"])
    check_nonempty("x", [0])


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_real("x", math.nan), "x=nan must be a real number"),
        (lambda: check_real("x", "1"), "x='1' must be a real number"),
        (lambda: check_real("x", None), "x=None must be a real number"),
        (lambda: check_real("x", value=True), "x=True must be a real number"),
        (lambda: check_real("x", 1j), "x=1j must be a real number"),
        (lambda: check_real("x", Decimal(1)), "x=Decimal('1') must be a real number"),
        (lambda: check_between("x", 2.0, 0.0, 1.0), "x=2.0 must lie in [0, 1]"),
        (lambda: check_between("x", -1, 0.0, math.inf), "x=-1 must be at least 0"),
        (lambda: check_between("x", math.nan, 0.0, 1.0), "x=nan must be a real number"),
        (lambda: check_positive("x", 0), "x=0 must be positive and finite"),
        (lambda: check_positive("x", math.inf), "x=inf must be positive and finite"),
        (lambda: check_count("x", 0), "x=0 must be a whole number, at least 1"),
        (lambda: check_count("x", 2.0), "x=2.0 must be a whole number, at least 1"),
        (lambda: check_count("x", value=True), "x=True must be a whole number, at least 1"),
        (lambda: check_count("x", "3"), "x='3' must be a whole number, at least 1"),
        (lambda: check_member("x", "c", ["a", "b"]), "x='c' must be one of: a, b"),
        (lambda: check_nonempty("x", []), "x=[] must not be empty"),
    ],
)
def test_bad_values_are_named(check: Callable[[], None], message: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        check()
    assert str(error.value) == message


def test_exactness() -> None:
    assert is_rational(3)
    assert is_rational(Fraction(1, 3))
    assert not is_rational(0.5)
    assert not is_rational(value=True)
    assert as_float(Fraction(1, 4)) == 0.25
    assert as_float(np.int64(3)) == 3.0
