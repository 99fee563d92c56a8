"""The exception family, and every check of an argument.

A message has one shape everywhere: `name=value must …`, so that a user reads which argument was
wrong, what it was, and what is allowed.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Real
from typing import SupportsFloat, SupportsIndex


class DPVerifyError(Exception):
    """Root of everything that dpverify raises on purpose."""


class InvalidParameter(DPVerifyError, ValueError):
    """An argument lies outside what its function is defined for."""


class NotSupported(DPVerifyError, NotImplementedError):
    """The question is meaningful, but no theorem in the library answers it."""


def check_real(name: str, value: object) -> None:
    """Raise unless `value` is a real number other than NaN; a bool is not a number here."""
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:  # noqa: PLR0124
        raise InvalidParameter(f"{name}={value!r} must be a real number")


def check_between(name: str, value: object, low: float, high: float) -> None:
    """Raise unless `value` is a real number with low ≤ value ≤ high."""
    check_real(name, value)
    if not low <= value <= high:  # type: ignore[operator]  # check_real narrowed it to a Real
        allowed = f"be at least {low:g}" if high == math.inf else f"lie in [{low:g}, {high:g}]"
        raise InvalidParameter(f"{name}={value!r} must {allowed}")


def check_positive(name: str, value: object) -> None:
    """Raise unless 0 < value < ∞."""
    check_real(name, value)
    if not 0 < value < math.inf:  # type: ignore[operator]  # check_real narrowed it to a Real
        raise InvalidParameter(f"{name}={value!r} must be positive and finite")


def check_count(name: str, value: object) -> None:
    """Raise unless `value` is a whole number, at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidParameter(f"{name}={value!r} must be a whole number, at least 1")


def check_member(name: str, value: object, allowed: Iterable[object]) -> None:
    """Raise unless `value` is one of `allowed`."""
    options = list(allowed)
    if value not in options:
        listed = ", ".join(str(option) for option in options)
        raise InvalidParameter(f"{name}={value!r} must be one of: {listed}")


def check_nonempty(name: str, value: Iterable[object]) -> None:
    """Raise if there is nothing in `value`."""
    if not list(value):
        raise InvalidParameter(f"{name}={value!r} must not be empty")


def as_float(value: SupportsFloat | SupportsIndex) -> float:
    """The float that a checked real number stands for; exact unless it is a fine Fraction."""
    return float(value)


def is_rational(value: object) -> bool:
    """Whether arithmetic with `value` is exact: an int or a Fraction, not a float."""
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)
