"""The exception family, and every check of an argument.

A message has one shape everywhere: `name=value must …`, so that a user reads which argument was
wrong, what it was, and what is allowed.

`check_…` raises or does nothing. `as_…` also returns the number as Python's own int, float or
Fraction of exactly the same value, whatever numeric type it came in: arithmetic in a caller's
np.int16 would wrap around, and np.float32 is no argument that a Fraction takes.
"""

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import fields
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, SupportsFloat, SupportsIndex, TypeAlias, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

Arithmetic: TypeAlias = Literal["grid", "real"]
"""How noise is added: on a grid, safe in floats; or as plain floats, for simulation only."""

Number: TypeAlias = int | float | Fraction
"""What a real number is after conversion."""


MOST = 10**15
"""The largest count: all up to it are floats, and sums of as many losses keep some digits."""
LEAST_EXPONENT, GREATEST_EXPONENT = -1000, 900  # of a grid's step


class DPVerifyError(Exception):
    """Root of everything that dpverify raises on purpose.

    >>> import dpverify as dpv
    >>> try:
    ...     dpv.Gaussian(sigma=-1)
    ... except dpv.DPVerifyError as error:
    ...     print(error)
    sigma=-1 must be positive and finite
    """


class InvalidParameter(DPVerifyError, ValueError):
    """An argument lies outside what its function is defined for.

    >>> import dpverify as dpv
    >>> try:
    ...     dpv.PureDP(epsilon=-1)
    ... except dpv.InvalidParameter as error:
    ...     print(error)
    epsilon=-1 must be at least 0
    """


class NotSupported(DPVerifyError, NotImplementedError):
    """The question is meaningful, but no theorem in the library answers it.

    >>> import dpverify as dpv
    >>> try:
    ...     dpv.from_dp_event("an event of another library", relation=dpv.Relation.ADD_REMOVE)
    ... except dpv.NotSupported as error:
    ...     print(str(error).split(" must")[0])
    event='an event of another library'
    """


class BudgetExceeded(DPVerifyError):
    """A request does not fit what is left of a budget; nothing was charged.

    >>> import dpverify as dpv
    >>> from tempfile import mkdtemp
    >>> path = mkdtemp() + "/b.ledger"
    >>> ledger = dpv.Ledger.open(path, budget=dpv.PureDP(1.0), relation=dpv.Relation.ADD_REMOVE)
    >>> try:
    ...     ledger.spend(dpv.Laplace(scale=0.5))
    ... except dpv.BudgetExceeded as error:
    ...     print(str(error).split(" must")[0])
    mechanism=Laplace(scale=0.5)
    """


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


def check_count(name: str, value: object, *, least: int = 1) -> None:
    """Raise unless `value` is a whole number, at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidParameter(f"{name}={shown(value)} must be a whole number, at least {least}")


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


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidParameter(f"{name}={shown(value)} must be True or False")


def check_draw(size: object, rng: object) -> None:
    """Raise unless `size` draws can be made from `rng`."""
    as_count("size", size)
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter(
            f"rng={rng!r} must be a numpy.random.Generator, such as numpy.random.default_rng(7)"
        )


def check_arithmetic(arithmetic: object) -> None:
    check_member("arithmetic", arithmetic, ("grid", "real"))


def checked_grid(arithmetic: Arithmetic, exponent: object) -> int | None:
    """The exponent of the grid as an int, or None; refuse an unknown arithmetic."""
    check_arithmetic(arithmetic)
    return as_exponent("grid_exponent", exponent, LEAST_EXPONENT, GREATEST_EXPONENT)


def as_exponent(name: str, value: object, low: int, high: int) -> int | None:
    """None, or `value` as an int; refused unless it is a whole number with low ≤ value ≤ high."""
    if value is None:
        return None
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= int(value) <= high:  # type: ignore[call-overload]  # it is Integral
        raise InvalidParameter(
            f"{name}={shown(value)} must be None or a whole number from {low} to {high}"
        )
    return int(value)  # type: ignore[call-overload, no-any-return]  # it is Integral


def plain_number(value: Any) -> Any:  # noqa: ANN401  # whatever a caller gives
    """A NumPy number as the Python number of the same value; anything else as it is.

    >>> plain_number(np.int8(100)) * 2, plain_number((np.float32(0.5), 1))
    (200, (0.5, 1))
    """
    if isinstance(value, np.longdouble):  # has no Python number of its own
        return float(value)
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(plain_number(entry) for entry in value)
    return value


def settle_fields(instance: Any) -> None:  # noqa: ANN401  # any dataclass
    """Make NumPy numbers among the fields of a value that is just being made Python's own."""
    for field in fields(instance):
        given = getattr(instance, field.name)
        if isinstance(given, (np.generic, tuple)):
            settle(instance, **{field.name: plain_number(given)})


def plain_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with Python's own numbers for the NumPy numbers among its arguments."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(
            *(plain_number(value) for value in args),
            **{name: plain_number(value) for name, value in kwargs.items()},
        )

    return called
