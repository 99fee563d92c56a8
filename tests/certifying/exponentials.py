"""Exact integrals of products of Laplace laws: sums of c·e^k with rational c and k.

P(noise falls here and those noises fall below it) is an integral over one variable z of a product
of densities and distribution functions of Laplace laws. Between their centers each factor is a sum
of terms c·e^(az + k), so the integral is a finite sum of c·e^k, exactly.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias, TypeVar

from flint import arb, fmpq

Terms: TypeAlias = dict[tuple[Fraction, Fraction], Fraction]  # (a, k) ↦ c of c·e^(az + k)
Rational: TypeAlias = Fraction | float  # a float is the rational that it is
K = TypeVar("K")
Sum: TypeAlias = dict[Fraction, Fraction]  # k ↦ c of c·e^k


@dataclass(frozen=True, slots=True)
class Factor:
    """A function of z with one kink, at `center`: its terms to the left and to the right."""

    center: Fraction
    left: Terms
    right: Terms


def density(center: Rational, scale: Rational) -> Factor:
    """The density of center + Laplace(scale) noise at z."""
    m, b = Fraction(center), Fraction(scale)
    half = 1 / (2 * b)
    return Factor(m, {(1 / b, -m / b): half}, {(-1 / b, m / b): half})


def below(center: Rational, scale: Rational) -> Factor:
    """P(center + Laplace(scale) noise < z)."""
    m, b, half = Fraction(center), Fraction(scale), Fraction(1, 2)
    one = (Fraction(0), Fraction(0))
    return Factor(m, {(1 / b, -m / b): half}, {one: Fraction(1), (-1 / b, m / b): -half})


def reaches(center: Rational, scale: Rational) -> Factor:
    """P(center + Laplace(scale) noise ≥ z)."""
    m, b, half = Fraction(center), Fraction(scale), Fraction(1, 2)
    one = (Fraction(0), Fraction(0))
    return Factor(m, {one: Fraction(1), (1 / b, -m / b): -half}, {(-1 / b, m / b): half})


def integral(factors: Iterable[Factor], upto: Rational | None = None) -> Sum:
    """∫ of the product over z, from −∞ to `upto` or to ∞."""
    kept = list(factors)
    cuts = sorted({f.center for f in kept})
    if upto is not None:
        cuts = [c for c in cuts if c < upto] + [Fraction(upto)]
    ends: list[Fraction | None] = [None, *cuts] + ([None] if upto is None else [])
    total: Sum = {}
    for low, high in pairwise(ends):
        for (a, k), c in _product(kept, low, high).items():
            for edge, sign in ((high, 1), (low, -1)):
                if edge is None:  # the term vanishes there
                    continue
                if a == 0:
                    _add(total, k, sign * c * edge)
                else:
                    _add(total, a * edge + k, sign * c / a)
    return {k: c for k, c in total.items() if c}


def value(exact: Sum) -> arb:
    """The sum as a ball."""
    return sum((arb(fmpq(c.numerator, c.denominator)) * _exp(k) for k, c in exact.items()), arb(0))


def _exp(k: Fraction) -> arb:
    return arb(fmpq(k.numerator, k.denominator)).exp()


def _product(factors: list[Factor], low: Fraction | None, high: Fraction | None) -> Terms:
    """The terms of the product between two neighboring cuts."""
    inside = high - 1 if low is None and high is not None else low
    if inside is None:
        raise ValueError("factors must not be empty")
    pick: Callable[[Factor], Terms] = lambda f: f.right if f.center <= inside else f.left  # noqa: E731
    if low is None:
        pick = lambda f: f.left  # noqa: E731
    product: Terms = {(Fraction(0), Fraction(0)): Fraction(1)}
    for factor in factors:
        grown: Terms = {}
        for (a, k), c in product.items():
            for (a2, k2), c2 in pick(factor).items():
                _add(grown, (a + a2, k + k2), c * c2)
        product = grown
    return product


def _add(sums: dict[K, Fraction], key: K, amount: Fraction) -> None:
    sums[key] = sums.get(key, Fraction(0)) + amount
