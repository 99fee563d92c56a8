"""Read the floats of a program as the exact numbers that they stand for.

A float is read as the simplest rational within four units in its last place; else as a number
m + l·e^(r·u) or 1/(m + l·e^(r·u)) with small whole m, l and a simple r, or as r·u or r/u; else as
the float itself. So each reading is within 2^-50 of the float: certificates assume real arithmetic
and list the readings that are not plain decimals.
"""

import math
from fractions import Fraction
from itertools import product

from flint import arb, ctx

from dpverify.certifying.symbolic.exact import EpsilonUnit, ExactNumber
from dpverify.pairs.rationals import endpoints, simplest_between

_NEAR = Fraction(1, 2**50)
_SIMPLE = 10_000
_SMALL = sorted({s * k for k in range(13) for s in (1, -1)}, key=abs)
_FORMS = [(m, k) for m, k in product(_SMALL, _SMALL) if k]


def unit_of(epsilon: float | Fraction) -> tuple[EpsilonUnit, ExactNumber]:
    """The unit for computing at one ε, and ε as an exact number in that unit.

    >>> unit_of(0.5)[1], unit_of(math.log(3))[0].ratio
    (1/2, Fraction(3, 1))
    >>> unit_of(math.log(9))[0].ratio
    Fraction(3, 1)
    """
    plain = simple_rational(epsilon)
    if plain is not None or isinstance(epsilon, Fraction):
        return EpsilonUnit(), ExactNumber.of(plain if plain is not None else Fraction(epsilon))
    ratio = _simple_ratio(epsilon)
    if ratio is None:
        return EpsilonUnit(), ExactNumber.of(Fraction(epsilon))
    root, power = _primitive_root(ratio)
    return EpsilonUnit(root), ExactNumber.unit() * power


def _simple_ratio(epsilon: float) -> Fraction | None:
    """The simplest rational near e^ε, if a simple one above 1 is near."""
    if not 0 < epsilon < 50:
        return None
    with ctx.workprec(200):
        low, high = endpoints(arb(epsilon).exp())
    reach = _NEAR * Fraction(min(epsilon, 1.0))  # near in ε, not only in e^ε
    found = simplest_between(low * (1 - reach), high * (1 + reach))
    return found if found > 1 and found.numerator * found.denominator <= _SIMPLE**2 else None


def _primitive_root(ratio: Fraction) -> tuple[Fraction, int]:
    """(ρ, k) with ratio = ρ^k and the largest k."""
    for k in range(ratio.numerator.bit_length(), 1, -1):
        root = Fraction(round(ratio.numerator ** (1 / k)), round(ratio.denominator ** (1 / k)))
        if root**k == ratio:
            return root, k
    return ratio, 1


def simple_rational(value: float | Fraction) -> Fraction | None:
    """The simplest rational near a number, if a simple one is near."""
    exact = Fraction(value)
    if exact.denominator == 1:
        return exact
    size = abs(exact)
    found = simplest_between(size * (1 - _NEAR), size * (1 + _NEAR))
    small = found.denominator <= _SIMPLE or _is_decimal(found)
    return (found if exact > 0 else -found) if small else None


def read_float(value: float, unit: EpsilonUnit) -> ExactNumber:
    """The exact number that a finite float stands for."""
    plain = simple_rational(value)
    if plain is not None:
        return ExactNumber.of(plain)
    if unit.every:
        return ExactNumber.of(Fraction(value))
    return (
        _with_unit(value, unit) or _with_exponential(value, unit) or ExactNumber.of(Fraction(value))
    )


def _with_unit(value: float, unit: EpsilonUnit) -> ExactNumber | None:
    """The float as r·u or r/u."""
    if unit.ratio is None:
        return None
    for power in (1, -1):
        factor = _few(value / unit.value**power)
        again = math.nan if factor is None else float(factor) * unit.value**power
        if factor is not None and abs(again - value) <= 2.0**-49 * abs(value):
            return ExactNumber.unit() ** power * factor
    return None


def _with_exponential(value: float, unit: EpsilonUnit) -> ExactNumber | None:
    for inverted in (False, True):
        x = 1.0 / value if inverted else value
        for m, k in _FORMS:
            inner = (x - m) / k
            if not 1e-12 < inner < 1e12:
                continue
            exponent = _few(math.log(inner) / unit.value)
            if exponent is None or exponent == 0:
                continue
            again = m + k * math.exp(float(exponent) * unit.value)
            if again and abs((1.0 / again if inverted else again) - value) <= 2.0**-49 * abs(value):
                found = ExactNumber.exponential(exponent) * k + m
                return found.inverse() if inverted else found
    return None


def _few(value: float) -> Fraction | None:
    """A very near rational with a denominator of at most 64."""
    found = Fraction(value).limit_denominator(64)
    return found if abs(found) <= 64 and abs(float(found) - value) <= 1e-11 * abs(value) else None


def _is_decimal(value: Fraction) -> bool:
    """Whether the float is a decimal of at most nine digits."""
    return (value * 10**12).denominator == 1 and abs(value) * 10**12 <= 10**15
