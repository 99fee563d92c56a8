"""From floats to rationals: a float parameter stands for the simplest rational that rounds to it.

A float is a rounded number, and what it was before is not known. Exact computation needs one
definite rational, so dpverify reads 0.3 as 3/10 and ε = math.log(3) as e^ε = 3: of all numbers
that round to the float, the one with the least denominator. Whoever means another number passes
a `Fraction`.
"""

import math
from fractions import Fraction

from flint import arb, ctx

from dpverify.balls import ball
from dpverify.errors import InvalidParameter, as_between, as_float, as_real, is_rational

_FIRST_BITS = 256
_LARGEST_EXPONENT = 1e5  # e^ε then has 43 430 digits; beyond, exact arithmetic is of no use


def simplest_rational(x: float | Fraction) -> Fraction:
    """The fraction with the least denominator among the reals that round to the float `x`.

    Reals halfway between two floats are left out, whichever way ties are broken. An integer
    stands for itself, and so does a `Fraction`.

    >>> simplest_rational(0.3), simplest_rational(1e-9), simplest_rational(1 / 3)
    (Fraction(3, 10), Fraction(1, 1000000000), Fraction(1, 3))
    """
    if is_rational(x):
        return Fraction(x)
    x = as_real("x", x)
    if isinstance(x, int):
        return Fraction(x)
    value = as_float(x)
    if math.isinf(value):
        raise InvalidParameter(f"x={x!r} must be finite")
    if value.is_integer():
        # Beyond 2^53 many integers round to one float; the float itself is the natural choice.
        return Fraction(value)
    lower, upper = _rounding_interval(abs(value))
    return simplest_between(lower, upper) * (1 if value > 0.0 else -1)


def simplest_exponential(epsilon: float) -> Fraction:
    """The simplest rational r whose logarithm rounds to the float `epsilon`.

    "Simplest" is the least denominator, and the least numerator among integers. Proven, not
    guessed: intervals just inside and just outside the true one give the same answer.

    >>> simplest_exponential(math.log(3)), simplest_exponential(0.0)
    (Fraction(3, 1), Fraction(1, 1))
    """
    epsilon = as_between("epsilon", epsilon, 0.0, _LARGEST_EXPONENT)
    value = as_float(epsilon)
    if value == 0.0:
        return Fraction(1)
    low, high = _rounding_interval(value)
    # The interval around e^ε is about ε·2^-53 wide, so a tiny ε needs as many bits more.
    bits = _FIRST_BITS - math.frexp(value)[1] if value < 1.0 else _FIRST_BITS + int(2 * value)
    while True:
        with ctx.workprec(bits):
            outer_low, inner_low = endpoints(ball(low).exp())
            inner_high, outer_high = endpoints(ball(high).exp())
        simplest = simplest_between(inner_low, inner_high)
        if simplest == simplest_between(outer_low, outer_high):
            return simplest
        bits *= 2


def simplest_between(low: Fraction, high: Fraction) -> Fraction:
    """The fraction of least denominator, then numerator, strictly between 0 ≤ low < high.

    The answer shares its continued fraction with both ends as far as they agree.

    >>> simplest_between(Fraction(3, 10), Fraction(1, 3))
    Fraction(4, 13)
    """
    shared: list[int] = []
    bottom, top = low, high
    while True:
        whole = math.floor(bottom)
        if whole + 1 < top:
            shared.append(whole + 1)
            break
        shared.append(whole)
        if bottom == whole:
            # Nothing bounds 1/(x − whole) from above, so the next integer it may be is the last.
            shared.append(math.floor(1 / (top - whole)) + 1)
            break
        bottom, top = 1 / (top - whole), 1 / (bottom - whole)
    value = Fraction(shared.pop())
    while shared:
        value = shared.pop() + 1 / value
    return value


def endpoints(value: arb) -> tuple[Fraction, Fraction]:
    """Rationals lower ≤ value ≤ upper: the ends of a finite ball."""
    return _exact(value.lower()), _exact(value.upper())


def _exact(point: arb) -> Fraction:
    mantissa, exponent = (int(part) for part in point.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def _rounding_interval(value: float) -> tuple[Fraction, Fraction]:
    """The open interval of reals that certainly round to a positive float."""
    exact = Fraction(value)
    below = Fraction(math.nextafter(value, 0.0))
    after = math.nextafter(value, math.inf)
    # The largest float has no neighbor above, but rounds as if the spacing went on.
    above = Fraction(after) if after < math.inf else 2 * exact - below
    return (below + exact) / 2, (exact + above) / 2
