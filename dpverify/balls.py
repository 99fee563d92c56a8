"""Ball arithmetic: formulas at growing precision, returned as floats that are bounds.

A formula is written once, as the paper has it, on `flint.arb` balls. It is then evaluated at
growing precision until both ends of its ball round to neighboring floats. Cancellation, overflow
and underflow cost precision, never correctness: Arb's exponents are unbounded and its radius
accounts for every rounding. So a result is exact to the last bit or two wherever the formula is
right, from ε = 1e-300 to ε = 1e300.
"""

import math
import struct
from collections.abc import Callable
from contextvars import ContextVar
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from enum import Enum
from fractions import Fraction

from flint import arb, ctx, fmpq

Formula = Callable[[], arb]

patience: ContextVar[Callable[[], None] | None] = ContextVar("patience", default=None)
"""Called before every evaluation of a formula; it may raise to give up on long work."""

_FIRST_BITS = 128
_MOST_BITS = 1 << 14
_LONG, _KEPT = 640, 256  # bits of a denominator; of a fraction that is rounded


class Order(Enum):
    """How an exact real compares with a float; UNDECIDED where no precision could tell."""

    BELOW = "below"
    ABOVE = "above"
    EQUAL = "equal"
    UNDECIDED = "undecided"


def ball(value: float | Fraction) -> arb:
    """The number as a ball: exact for ints and floats, else rounded at the working precision."""
    if type(value) is float:  # nearly always; asking whether it is a Fraction takes longer
        return arb(value)
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value if isinstance(value, int) else float(value))


def round_up(exact: Fraction) -> float:
    """A float that is not below `exact`, so that an upper bound stays one."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def shortened(value: Fraction) -> Fraction:
    """A fraction that is not below `value`, of at most 640 bits below the line.

    Equal to it where it is short, else within a part in 2^255 of it.
    """
    bits = value.denominator.bit_length()
    if bits <= _LONG:
        return value
    shift = _KEPT + bits - abs(value.numerator).bit_length()
    if shift <= 0:
        return Fraction(math.ceil(value))
    return Fraction(-((-value.numerator << shift) // value.denominator), 1 << shift)


def probability_above(value: arb) -> float:
    """A float in [0, 1] that is not below a probability; 1 where nothing is known of it."""
    above = float_above(value)
    return 1.0 if math.isnan(above) else min(1.0, max(0.0, above))


def float_above(value: arb) -> float:
    """The smallest float that is certainly not below the ball, or one next to it."""
    nearest = float(value.upper())
    if nearest == math.inf or arb(nearest) >= value:
        return nearest
    return math.nextafter(nearest, math.inf)


def float_below(value: arb) -> float:
    """The largest float that is certainly not above the ball, or one next to it."""
    return 0.0 - float_above(-value)  # 0.0 - 0.0 is 0.0; -0.0 would print a sign


def enclose(formula: Formula, *, ulps: int = 1) -> tuple[float, float]:
    """Floats lower ≤ value ≤ upper that are neighbors, or at most `ulps` apart.

    A value next to a float takes any number of bits to tell from it: where formulas are slow at
    high precision and that can happen, ask for two.

    >>> lower, upper = enclose(lambda: arb(2).sqrt())
    >>> lower**2 < 2 < upper**2, math.nextafter(lower, 2) == upper
    (True, True)
    """
    bits = _FIRST_BITS
    while True:
        wait()
        with ctx.workprec(bits):
            value = formula()
            lower, upper = float_below(value), float_above(value)
        if _later(lower, ulps) >= upper or bits >= _MOST_BITS:
            if math.isnan(lower) or math.isnan(upper):
                raise ArithmeticError("the formula has no value here, at any precision")
            return lower, upper
        bits *= 2


def wait() -> None:
    """Raise if the time that the caller allowed is over."""
    lost = patience.get()
    if lost is not None:
        lost()


def _later(value: float, steps: int) -> float:
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return value


def compare(formula: Formula, target: arb | float) -> Order:
    """How the formula's exact value compares with `target`, decided at growing precision."""
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        wait()
        with ctx.workprec(bits):
            value = formula()
            if value < target:
                return Order.BELOW
            if value > target:
                return Order.ABOVE
            if value.is_exact() and value == target:
                return Order.EQUAL
        bits *= 2
    return Order.UNDECIDED


def at_most(formula: Formula, target: arb | float) -> bool:
    """Whether the formula's exact value is certainly not above `target`."""
    return compare(formula, target) in {Order.BELOW, Order.EQUAL}


def at_least(formula: Formula, target: arb | float) -> bool:
    """Whether the formula's exact value is certainly not below `target`."""
    return compare(formula, target) in {Order.ABOVE, Order.EQUAL}


def first_float(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The smallest float x in [low, high] with `holds(x)`, for 0 ≤ low and `holds` monotone.

    Non-negative floats are ordered like the integers that store them, so bisection over those
    integers ends after at most 64 steps whatever the scale. `high` is returned unasked: the
    caller knows that it holds.

    >>> first_float(lambda x: x * x >= 2, 0.0, math.inf)
    1.4142135623730951
    """
    if holds(low):
        return low
    below, above = _code(low), _code(high)
    while above - below > 1:
        middle = (below + above) // 2
        if holds(_decode(middle)):
            above = middle
        else:
            below = middle
    return _decode(above)


def _code(value: float) -> int:
    code: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return code


def _decode(code: int) -> float:
    value: float = struct.unpack("<d", struct.pack("<q", code))[0]
    return value


def rounded_up(value: float, *, digits: int = 4) -> str:
    """The number with few digits, not below it.

    >>> rounded_up(3.53516), rounded_down(3.53455), rounded_up(1.0)
    ('3.536', '3.534', '1')
    """
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, *, digits: int = 4) -> str:
    """The number with few digits, not above it."""
    return _rounded(value, digits, ROUND_FLOOR)


def as_given(value: float) -> str:
    """The shortest text that is read as this number: for numbers that were given, not bounded.

    >>> as_given(1e-10), as_given(1.0049e-6), as_given(2.0)
    ('1e-10', '1.0049e-06', '2')
    """
    return "∞" if math.isinf(value) else repr(float(value)).removesuffix(".0")


def _rounded(value: float, digits: int, direction: str) -> str:
    if math.isinf(value):
        return "∞"
    return f"{float(Context(prec=digits, rounding=direction).create_decimal(Decimal(value))):.12g}"
