"""Comparisons that know what they are worth, so that no proof labels its own evidence.

What was compared says how strong the comparison is: balls are CERTIFIED, rationals and integers
EXACT, and anything with a float in it NUMERIC, unless it is held against a ball. Identities and
signs over all values of their symbols are in `symbolic`. Checks are joined with `&`, which keeps the
weakest evidence; `VACUOUS` is where a loop starts, and fails if nothing is ever compared.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from typing import Any

from flint import arb, fmpq, fmpz

from dpverify.pairs import Dominates, FinitePair, dominates
from dpverify.theorems import Check, Evidence

VACUOUS = Check(holds=True, evidence=Evidence.SYMBOLIC, count=0)

_EXACT = (int, Fraction, fmpq, fmpz, str, type(None))


def at_most(small: Any, large: Any) -> Check:  # noqa: ANN401  # numbers of any kind
    """small ≤ large; for balls, certainly."""
    _refuse_words(small, large)
    return _compared(small <= large, small > large, small, large)


def below(small: Any, large: Any) -> Check:  # noqa: ANN401
    """small < large; for balls, certainly."""
    _refuse_words(small, large)
    return _compared(small < large, small >= large, small, large)


def equal(one: Any, other: Any) -> Check:  # noqa: ANN401
    """one = other, as numbers, or as containers of numbers."""
    return _compared(one == other, one != other, one, other)


def near(found: Any, exact: Any, tolerance: Any) -> Check:  # noqa: ANN401
    """|found − exact| ≤ tolerance: never more than numeric, whatever the numbers are."""
    close = abs(Fraction(found) - Fraction(exact)) <= Fraction(tolerance)
    return Check(close, Evidence.NUMERIC, denied=not close)


def dominated(strong: FinitePair, weak: FinitePair) -> Check:
    """The profile of `weak` lies nowhere above that of `strong`: `dominates`, in rationals."""
    holds = isinstance(dominates(strong, weak), Dominates)
    return Check(holds, Evidence.EXACT, denied=not holds)


def answered(yes: object) -> Check:
    """A yes or no that is not a comparison made here, as of the library: no better than a float."""
    return Check(bool(yes), Evidence.NUMERIC)


def provided(condition: object) -> Check:
    """A condition on the enumeration itself, as that it is not empty: it can fail, and shows nothing."""
    return Check(bool(condition), Evidence.SYMBOLIC, count=0)


def every(checks: Iterable[Check]) -> Check:
    """All of them, joined."""
    return reduce(Check.__and__, checks, VACUOUS)


def some(checks: Iterable[Check]) -> Check:
    """At least one of them; as strong as the weakest of all, and no goal of its own."""
    listed = list(checks)
    joined = every(listed)
    denied = bool(listed) and all(each.denied for each in listed)
    return Check(any(each.holds for each in listed), joined.evidence, joined.count, denied=denied)


def fails(check: Check) -> Check:
    """That a comparison of numbers is certainly false; what was not shown, of balls or symbols, is not."""
    return Check(check.denied, check.evidence, check.count, denied=check.holds)


def _refuse_words(*operands: object) -> None:
    """Python orders digits by the alphabet and vectors by their first entries: no order of numbers."""
    if any(isinstance(each, str | tuple | list | dict) for each in operands):
        raise TypeError(f"{operands} must be numbers to have an order")


def _compared(yes: object, no: object, *operands: object) -> Check:
    """What came of a comparison: for balls neither yes nor no may be certain."""
    return Check(bool(yes), _worth(*operands), denied=bool(no))


def _worth(*operands: object) -> Evidence:
    """What a comparison of these is worth: that of the least exact, but balls settle floats."""
    if any(isinstance(each, arb) for each in operands):
        return Evidence.CERTIFIED
    return Evidence.EXACT if all(map(_is_exact, operands)) else Evidence.NUMERIC


def _is_exact(operand: object) -> bool:
    if isinstance(operand, dict):
        return all(map(_is_exact, operand)) and all(map(_is_exact, operand.values()))
    if isinstance(operand, tuple | list | set | frozenset):
        return all(map(_is_exact, operand))
    if isinstance(operand, bool):  # of who knows what
        return False
    return isinstance(operand, _EXACT) or bool(getattr(operand, "is_Rational", False))
