"""Linear forms and facts; multipliers show that facts contradict each other. [Farkas]"""

import math
import re
from fractions import Fraction
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""What a certificate holds; whatever is not as expected is refused."""

Form: TypeAlias = dict[str, Fraction]
"""From symbols to coefficients; "" for the constant."""

Fact: TypeAlias = tuple[Form, bool]
"""The form is ≥ 0, or > 0 if True."""

ZERO, ONE = Fraction(0), Fraction(1)
RATIONAL = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")


class Invalid(Exception):  # it is no error of the program
    """Raised if a certificate does not show what it states."""


def need(condition: object, why: str) -> None:
    if not condition:
        raise Invalid(why)


def rational(read: Json) -> Fraction:
    """A whole number or a text such as "-3/4"; floats, exponents and very long numbers raise."""
    need(type(read) in {int, str} and RATIONAL.fullmatch(str(read)), f"no rational: {read!r:.40}")
    return Fraction(read)


def count(read: Json, most: int, why: str) -> int:
    """A whole number from 0 to `most`, for counts, lengths and exponents."""
    need(type(read) is int and 0 <= read <= most, why)
    return int(read)


def form(read: dict[str, str]) -> Form:
    return {name: rational(c) for name, c in read.items() if rational(c)}


def plus(a: Form, b: Form, times: Fraction = ONE) -> Form:
    total = {n: a.get(n, ZERO) + times * b.get(n, ZERO) for n in {*a, *b}}
    return {n: c for n, c in total.items() if c}


def put(a: Form, values: dict[str, Form]) -> Form:
    """The form with its symbols replaced by other forms."""
    total: Form = {}
    for name, c in a.items():
        total = plus(total, values.get(name, {name: ONE}), c)
    return total


def tight(fact: Fact, whole: set[str]) -> Fact:
    """A fact about whole symbols, made as sharp as possible: 2x > 3 becomes x ≥ 2."""
    symbols = {n: c for n, c in fact[0].items() if n}
    if not symbols or not set(symbols) <= whole:
        return fact
    scale = Fraction(math.lcm(*(c.denominator for c in symbols.values())))
    scale /= math.gcd(*(int(c * scale) for c in symbols.values()))
    constant = scale * fact[0].get("", ZERO)
    constant = Fraction(math.ceil(constant) - 1 if fact[1] else math.floor(constant))
    return plus({"": constant}, symbols, scale), False


def negated(a: Form, whole: set[str], *, strict: bool = False) -> Fact:
    """The negation of a ≥ 0 (of a > 0 if strict); for whole numbers a < 0 becomes a ≤ −1."""
    return tight((plus({}, a, -ONE), not strict), whole)


def impossible(facts: list[Fact], multipliers: dict[str, str]) -> None:
    """Check that facts contradict each other: some combination says 0 < 0 or worse. [Farkas]"""
    total: Form = {}
    strictly = False
    for index, read in multipliers.items():
        fact, strict = facts[int(index)]
        need(rational(read) >= 0 and int(index) >= 0, "a multiplier is negative")
        total = plus(total, fact, rational(read))
        strictly |= strict and rational(read) > 0
    need(not set(total) - {""}, "multipliers leave a symbol")
    left = total.get("", ZERO)
    need(left < 0 or (strictly and left == 0), "no contradiction")
