"""The exception family, and every check of an argument.

A message has one shape everywhere: `name=value must …`, so that a user reads which argument was
wrong, what it was, and what is allowed.

`check_…` raises or does nothing. `as_…` also returns the number as Python's own int, float or
Fraction of exactly the same value, whatever numeric type it came in: arithmetic in a caller's
np.int16 would wrap around, and np.float32 is no argument that a Fraction takes.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from numbers import Integral, Real
from typing import SupportsFloat, SupportsIndex, TypeAlias

Number: TypeAlias = int | float | Fraction
"""What a real number is after conversion."""


MOST = 10**15
"""The largest count: all up to it are floats, and sums of as many losses keep some digits."""


class DPVerifyError(Exception):
    """Root of everything that dpverify raises on purpose."""


class InvalidParameter(DPVerifyError, ValueError):
    """An argument lies outside what its function is defined for."""


class NotSupported(DPVerifyError, NotImplementedError):
    """The question is meaningful, but no theorem in the library answers it."""


class BudgetExceeded(DPVerifyError):
    """A request does not fit what is left of a budget; nothing was charged."""


class LedgerDamaged(DPVerifyError):
    """A ledger's file is not as it was written, or not one that this version can read."""


def check_real(name: str, value: object) -> None:
    """Raise unless `value` is a real number other than NaN; a bool is not a number here."""
    if isinstance(value, bool) or not isinstance(value, Real) or value != value:  # noqa: PLR0124
        raise InvalidParameter(f"{name}={shown(value)} must be a real number")


def check_between(name: str, value: object, low: float, high: float) -> None:
    """Raise unless `value` is a real number with low ≤ value ≤ high."""
    check_real(name, value)
    if not low <= value <= high:  # type: ignore[operator]  # check_real narrowed it to a Real
        allowed = f"be at least {low:g}" if high == math.inf else f"lie in [{low:g}, {high:g}]"
        raise InvalidParameter(f"{name}={shown(value)} must {allowed}")


def check_positive(name: str, value: object) -> None:
    """Raise unless 0 < value < ∞."""
    check_real(name, value)
    if not 0 < value < math.inf:  # type: ignore[operator]  # check_real narrowed it to a Real
        raise InvalidParameter(f"{name}={shown(value)} must be positive and finite")


def check_count(name: str, value: object) -> None:
    """Raise unless `value` is a whole number, at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidParameter(f"{name}={shown(value)} must be a whole number, at least 1")


def as_real(name: str, value: object) -> float:
    """`value` as an int, float or Fraction of the same value; a bool or NaN is refused.

    So is a number beyond what floats can hold, since no formula could go on with it. The result is
    typed as a float, which ints and Fractions stand in for.

    >>> as_real("sigma", 3), as_real("sigma", Fraction(1, 3))
    (3, Fraction(1, 3))
    """
    number = _number(value)
    check_real(name, number)
    plain = _plain(number)
    if plain is None:
        raise InvalidParameter(f"{name}={shown(value)} must be a number that a float can hold")
    return plain  # type: ignore[return-value]  # ints and Fractions stand in for floats


def as_between(name: str, value: object, low: float, high: float) -> float:
    """`as_real`, refused unless low ≤ value ≤ high."""
    number = as_real(name, value)
    check_between(name, number, low, high)
    return number


def as_positive(name: str, value: object) -> float:
    """`as_real`, refused unless 0 < value < ∞."""
    number = as_real(name, value)
    check_positive(name, number)
    return number


def as_count(name: str, value: object, *, most: int = MOST) -> int:
    """`value` as an int, refused unless it is a whole number from 1 to `most`.

    >>> as_count("times", 500)
    500
    """
    number = _number(value)
    check_count(name, number)
    count: int = int(number)  # type: ignore[call-overload]  # check_count found it Integral
    if count > most:
        raise InvalidParameter(f"{name}={shown(value)} must be at most {most}")
    return count


def settle(instance: object, **numbers: object) -> None:
    """Store converted numbers in a frozen value that is just being made."""
    for name, number in numbers.items():
        object.__setattr__(instance, name, number)


def check_instance(name: str, value: object) -> None:
    """Raise if `value` is a class where an instance of it is meant."""
    if isinstance(value, type):
        raise InvalidParameter(
            f"{name}={value.__name__} must be an instance, as in {value.__name__}(…), not the class"
        )


def _number(value: object) -> object:
    """What an array without axes holds; anything else as it is."""
    item: Callable[[], object] | None = getattr(value, "item", None)
    return item() if item is not None and getattr(value, "shape", None) == () else value


def _plain(value: object) -> Number | None:
    """The same number as Python's own, or None where floats have nothing of its size."""
    if isinstance(value, Integral):
        plain: Number = int(value)
    elif isinstance(value, (float, Fraction)):
        plain = value if isinstance(value, Fraction) else float(value)
    else:
        plain = float(value)  # type: ignore[arg-type]  # a Real of another kind
        return plain if plain == value else None
    try:
        lost = plain != 0 and float(plain) == 0.0
    except OverflowError:
        return None
    return None if lost else plain


def shown(value: object, *, most: int = 60) -> str:
    """The value as a message shows it; very long ones by their ends, or by their size."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return f"an integer of {int(value).bit_length()} bits"  # type: ignore[call-overload]
    return text if len(text) <= most else f"{text[: most // 5]}…{text[-most // 10 :]}"


def check_member(name: str, value: object, allowed: Iterable[object]) -> None:
    """Raise unless `value` is one of `allowed`."""
    options = list(allowed)
    try:
        known = bool(value in options)
    except (TypeError, ValueError):  # an array is neither equal nor unequal
        known = False
    if not known:
        listed = ", ".join(str(option) for option in options)
        raise InvalidParameter(f"{name}={shown(value)} must be one of: {listed}")


def check_nonempty(name: str, value: Iterable[object]) -> None:
    """Raise if `value` is empty."""
    if not list(value):
        raise InvalidParameter(f"{name}={value!r} must not be empty")


def as_float(value: SupportsFloat | SupportsIndex) -> float:
    """The float that a checked real number stands for; exact unless it is a fine Fraction."""
    return float(value)


def is_rational(value: object) -> bool:
    """Whether arithmetic with `value` is exact: an int or a Fraction, not a float."""
    return isinstance(value, (int, Fraction)) and not isinstance(value, bool)


def check_level(level: object, *, least: float = 1e-12) -> None:
    """Raise unless `level` is a probability of error that a test can have: from `least` to 1/2."""
    check_between("level", level, least, 0.5)


def check_seed(seed: object) -> None:
    """Raise unless `seed` is a whole number, at least 0."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise InvalidParameter(f"seed={shown(seed)} must be a whole number, at least 0")
