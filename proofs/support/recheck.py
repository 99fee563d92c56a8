"""A second look at the goals of a proof, without sympy: `python proofs/support/recheck.py FILE` reads what `--export` writes.

A goal is left = right, left ≥ right or left > right, where both sides are trees of sums, products and whole powers of rational
numbers and of variables, each > 0, ≥ 0 or any. What is neither, as an exponential, is a variable of any value: what holds for all
values of it holds for its own. Everything is turned into one fraction of polynomials with rational coefficients. An identity holds
if the numerator of the difference is 0; an inequality if all coefficients of numerator and denominator are ≥ 0, where powers of a
variable of any value are even.

This file uses nothing but the standard library, and shares no code with what it checks.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, Fraction]
Quotient = tuple[Polynomial, Polynomial]

ONE: Polynomial = {(): Fraction(1)}
LIMIT = 20_000  # terms; what grows beyond is not decided here


class Undecided(Exception):
    """The goal is beyond sums of monomials."""


def plus(one: Polynomial, other: Polynomial) -> Polynomial:
    total = dict(one)
    for monomial, coefficient in other.items():
        total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return {monomial: c for monomial, c in total.items() if c}


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    if len(one) * len(other) > LIMIT:
        raise Undecided("too many terms")
    total: Polynomial = {}
    for first, a in one.items():
        for second, b in other.items():
            powers = dict(first)
            for name, power in second:
                powers[name] = powers.get(name, 0) + power
            monomial = tuple(sorted(powers.items()))
            total[monomial] = total.get(monomial, Fraction(0)) + a * b
    return {monomial: c for monomial, c in total.items() if c}


def scaled(polynomial: Polynomial, factor: Fraction) -> Polynomial:
    return {monomial: factor * c for monomial, c in polynomial.items()}


def power(polynomial: Polynomial, exponent: int) -> Polynomial:
    result = ONE
    for _ in range(exponent):
        result = times(result, polynomial)
    return result


def add(one: Quotient, other: Quotient) -> Quotient:
    if one[1] == other[1]:
        return plus(one[0], other[0]), one[1]
    crossed = plus(times(one[0], other[1]), times(other[0], one[1]))
    return crossed, times(one[1], other[1])


def quotient(tree: Any) -> Quotient:  # noqa: ANN401  # a tree, from JSON
    """A tree as one fraction."""
    if isinstance(tree, str):
        return {((tree, 1),): Fraction(1)}, ONE
    kind, *parts = tree
    if kind == "number":
        value = Fraction(parts[0])
        return ({(): value} if value else {}), ONE
    if kind == "+":
        total: Quotient = ({}, ONE)
        for part in parts:
            total = add(total, quotient(part))
        return total
    if kind == "*":
        product: Quotient = (ONE, ONE)
        for part in parts:
            top, bottom = quotient(part)
            product = times(product[0], top), times(product[1], bottom)
        return product
    if kind == "^":
        top, bottom = quotient(parts[0])
        exponent = int(parts[1])
        if exponent < 0:
            top, bottom, exponent = bottom, top, -exponent
        return power(top, exponent), power(bottom, exponent)
    raise ValueError(f"kind={kind!r} must be number, +, * or ^")


def difference(goal: dict[str, Any]) -> Quotient:
    top, bottom = quotient(goal["right"])
    return add(quotient(goal["left"]), (scaled(top, Fraction(-1)), bottom))


def plain(polynomial: Polynomial, signs: dict[str, str]) -> bool:
    """Whether every term is ≥ 0, as seen from its sign and its powers."""
    return all(
        c > 0 and all(signs.get(name, "") or n % 2 == 0 for name, n in monomial)
        for monomial, c in polynomial.items()
    )


def reduced(top: Polynomial, bottom: Polynomial) -> Quotient:
    """Common monomials cancelled: enough where terms were multiplied up by them."""
    every = [dict(monomial) for monomial in (*top, *bottom)]
    names = set.intersection(*(set(powers) for powers in every)) if every else set()
    least = {name: min(powers[name] for powers in every) for name in names}

    def lowered(polynomial: Polynomial) -> Polynomial:
        return {
            tuple((n, p - least.get(n, 0)) for n, p in m if p - least.get(n, 0)): c
            for m, c in polynomial.items()
        }

    return lowered(top), lowered(bottom)


def holds(goal: dict[str, Any]) -> bool:
    """Whether the goal is shown; raises Undecided where sums of monomials do not tell."""
    top, bottom = difference(goal)
    if goal["relation"] == "=":
        if top and goal["atoms"]:
            raise Undecided("needs more than arithmetic")
        return not top
    top, bottom = reduced(top, bottom)
    signs = goal["signs"]
    for sign in (1, -1):
        above, below = scaled(top, Fraction(sign)), scaled(bottom, Fraction(sign))
        if plain(above, signs) and plain(below, signs):
            strict = goal["relation"] == ">"
            return not strict or any(all(signs.get(n) == ">" for n, _ in m) for m in above)
    raise Undecided("a sign that single terms do not show")


def has_no_poles(goal: dict[str, Any]) -> bool:
    """Whether every denominator is a sum of terms ≥ 0 of which one is > 0."""

    def checked(tree: Any) -> bool:  # noqa: ANN401  # JSON
        if isinstance(tree, str) or tree[0] == "number":
            return True
        kind, *parts = tree
        if kind == "^" and int(parts[1]) < 0:
            top, _ = quotient(parts[0])
            terms = [scaled(top, Fraction(sign)) for sign in (1, -1)]
            signs = goal["signs"]
            plus = [any(all(signs.get(n) == ">" for n, _ in m) for m in each) for each in terms]
            if not any(ok and plain(each, signs) for ok, each in zip(plus, terms, strict=True)):
                return False
        return all(checked(part) for part in parts if not isinstance(part, int))

    return checked(goal["left"]) and checked(goal["right"])


def tally(goals: list[dict[str, Any]]) -> tuple[int, list[str], list[str]]:
    """How many goals are shown, which are not decided, and which are false."""
    shown, undecided, false = 0, [], []
    for goal in goals:
        try:
            right = holds(goal)
        except Undecided as reason:
            undecided.append(f"{goal['text']} ({reason})")
            continue
        if right:
            shown += 1
        else:
            false.append(goal["text"])
    return shown, undecided, false


def main(path: str) -> int:
    theorem = json.loads(Path(path).read_text(encoding="utf-8"))
    shown, undecided, false = tally(theorem["goals"])
    print(
        f"{theorem['name']}: {shown} goals shown, {len(undecided)} not decided, {len(false)} false"
    )
    for text in false:
        print(f"false: {text}")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
