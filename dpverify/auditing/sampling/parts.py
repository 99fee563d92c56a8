"""The parts of an output after reading: numbers, texts, fields, elements, and failed calls.

A part is a number that a float holds, a text, an array of numbers, a list or dict of parts, or one
of the classes here. `atom` reads single values: numbers of all kinds, texts, dates and times.
"""

import datetime as dt
import hashlib
import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

EXACT = 1 << 53  # integers up to this are floats
MOST_NUMBERS = 1 << 16  # of one array that are kept one by one
LONGEST_TEXT = 4_096  # characters of a text that are looked at one by one
MOST_BITS = 13_000  # of an integer that are looked at, and written out
_LOWEST_BITS = (1 << MOST_BITS) - 1
MODULI = (
    1 << 16,
    math.lcm(*range(2, 41)),
    math.prod((41, 43, 47, 49, 53, 59, 61, 64, 125)),
)
"""Integers beyond all floats are known by their remainders of these, hence of all up to 64."""
_NUMBERS = (bool, np.bool_, int, np.integer, float, np.floating)
PLAIN = frozenset({bool, int, float, np.bool_, np.float64, np.float32, np.int64, np.int32})


@dataclass(frozen=True, slots=True)
class Raised:
    """The mechanism raised an exception of this type."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The mechanism did not return in time."""


@dataclass(frozen=True, slots=True)
class Died:
    """The mechanism ended its process, by an exit code or a signal."""

    how: str


@dataclass(frozen=True, slots=True)
class SetAside:
    """A failure that the caller does not count; it is in no event."""


FAILURES = (Raised, TimedOut, Died, SetAside)
"""What stands for the output of a call that returned none."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The named parts of an object of this kind."""

    kind: str
    items: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of a set."""

    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Exact:
    """A number that no float holds, its text, and the nearest float.

    Of an integer also the remainders of `MODULI`, and its bits, the lowest first.
    """

    text: str
    value: float
    remainders: tuple[int, ...] = ()
    bits: bytes = b""


@dataclass(frozen=True, slots=True)
class LongText:
    """The beginning of a text or of bytes too long to keep, and a text that stands for it all."""

    head: str | bytes
    length: int
    text: str


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value without parts, by its text; `unread` says what of it was not examined."""

    text: str
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """An output after reading: its parts, and their types."""

    parts: Any
    kind: str


def atom(value: Any) -> Any:  # noqa: ANN401  # None where it is none
    """The value itself if it is a number or text; a float if it is a number of another type."""
    kind = type(value)
    if kind in PLAIN:
        return integer(value) if kind is int else value
    if value is None:
        return Opaque("None")
    if isinstance(value, (str, bytes)):
        return value if len(value) <= MOST_NUMBERS else _long_text(value)
    if isinstance(value, (*FAILURES, Opaque)):
        return value
    if isinstance(value, _NUMBERS) and not isinstance(value, (np.longdouble, Enum)):
        return integer(value) if isinstance(value, (int, np.integer)) else value
    if isinstance(value, (Decimal, Fraction)):
        return _rational(value)
    if isinstance(value, (dt.datetime, dt.date, dt.time, dt.timedelta)):
        return _date(value)
    return None


def integer(value: Any) -> Any:  # noqa: ANN401
    if abs(int(value)) <= EXACT:
        return value
    whole = int(value)
    spelled = str(whole) if whole.bit_length() <= MOST_BITS else digested(hex(whole))
    bits = (whole & _LOWEST_BITS).to_bytes(MOST_BITS // 8, "little")
    length = min(whole.bit_length() // 8 + 1, len(bits))
    remainders = tuple(whole % modulus for modulus in MODULI)
    return Exact(spelled, nearest(value), remainders, bits[:length])


def _long_text(value: str | bytes) -> LongText:
    whole = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(whole, digest_size=12).hexdigest()
    head = value[:LONGEST_TEXT]
    return LongText(head, len(value), f"{head[:100]!r}… (digest {digest})")


def digested(text: str, most: int = 100) -> str:
    """The beginning of a text, and a digest of the whole."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return f"{text[:most]}… (digest {digest})"


def nearest(value: Any) -> float:  # noqa: ANN401
    """The nearest float; infinite if the number is beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _rational(value: Decimal | Fraction) -> Any:  # noqa: ANN401
    if isinstance(value, Decimal) and not value.is_finite():
        return math.nan if value.is_nan() else nearest(value)
    if isinstance(value, Decimal) and abs(value.adjusted()) > 400:  # beyond all floats
        return Exact(str(value.normalize()), nearest(value))
    exact = Fraction(value)
    if exact.denominator == 1:
        return integer(exact.numerator)
    rounded = nearest(exact)
    is_float = math.isfinite(rounded) and Fraction(rounded) == exact
    return rounded if is_float else Exact(str(exact)[:2_000], rounded)


def _date(value: Any) -> Fields:  # noqa: ANN401
    """Dates, times and durations as whole seconds and microseconds, which floats hold exactly."""
    kind = type(value).__name__
    if isinstance(value, dt.timedelta):
        seconds, rest = value.days * 86_400 + value.seconds, value.microseconds * 1_000
        rest += int(getattr(value, "nanoseconds", 0))  # of pandas
        return Fields(kind, (("seconds", seconds), ("rest", rest)))
    if isinstance(value, dt.time):
        seconds = value.hour * 3_600 + value.minute * 60 + value.second
        rest = value.microsecond * 1_000
        return Fields(kind, (("seconds", seconds), ("rest", rest), *_zone(value)))
    if not isinstance(value, dt.datetime):
        return Fields(kind, (("days", value.toordinal()),))
    seconds = value.toordinal() * 86_400 + value.hour * 3_600 + value.minute * 60 + value.second
    rest = value.microsecond * 1_000 + int(getattr(value, "nanosecond", 0))
    return Fields(kind, (("seconds", seconds), ("rest", rest), *_zone(value)))


def _zone(value: dt.datetime | dt.time) -> tuple[tuple[str, Any], ...]:
    """The time zone, and which of the two hours is meant when clocks are set back."""
    zone = Opaque("None" if value.tzinfo is None else f"{value.utcoffset()} {value.tzinfo}")
    return (("zone", zone), ("fold", 1)) if value.fold else (("zone", zone),)
