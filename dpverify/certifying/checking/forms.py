"""Linear forms and facts about them: what is impossible, by multipliers. [Farkas]"""

from fractions import Fraction
from typing import Any, TypeAlias

Json: TypeAlias = Any
"""What a certificate holds; whatever is not as expected is refused."""

Form: TypeAlias = dict[str, Fraction]
"""From symbols to coefficients; "" for the constant."""

Fact: TypeAlias = tuple[Form, bool]
"""The form is ≥ 0, or > 0 if True."""

ONE = Fraction(1)


class Invalid(Exception):  # it is no error of the program
    """The certificate does not show what it says."""


def need(condition: object, why: str) -> None:
    if not condition:
        raise Invalid(why)


def form(read: dict[str, str]) -> Form:
    return {name: Fraction(c) for name, c in read.items() if Fraction(c)}


def plus(a: Form, b: Form, times: Fraction = ONE) -> Form:
    total = {n: a.get(n, Fraction(0)) + times * b.get(n, Fraction(0)) for n in {*a, *b}}
    return {n: c for n, c in total.items() if c}


def put(a: Form, values: dict[str, Form]) -> Form:
    """The form with symbols replaced by forms."""
    total: Form = {}
    for name, c in a.items():
        total = plus(total, values.get(name, {name: ONE}), c)
    return total


def negated(a: Form, whole: set[str], *, strict: bool = False) -> Fact:
    """When `a` is not ≥ 0 (> 0 if strict); of whole numbers, a ≤ −1 is as good as a < 0."""
    down = plus({}, a, -ONE)
    if not strict and set(a) <= whole | {""} and all(c.denominator == 1 for c in a.values()):
        return plus(down, {"": -ONE}), False
    return down, not strict


def impossible(facts: list[Fact], multipliers: dict[str, str]) -> None:
    """Check that the facts contradict each other: a combination says 0 < 0 or worse. [Farkas]"""
    total: Form = {}
    strictly = False
    for index, read in multipliers.items():
        fact, strict = facts[int(index)]
        need(Fraction(read) >= 0 and int(index) >= 0, "a multiplier is negative")
        total = plus(total, fact, Fraction(read))
        strictly |= strict and Fraction(read) > 0
    need(not set(total) - {""}, "multipliers leave a symbol")
    left = total.get("", Fraction(0))
    need(left < 0 or (strictly and left == 0), "no contradiction")
