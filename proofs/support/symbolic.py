"""Checks with sympy: whether two expressions are equal, whether one is never negative."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import sympy as sp

Expression: TypeAlias = Any  # sympy has no types


def same(left: Expression, right: Expression) -> bool:
    """Whether left − right simplifies to 0, wherever both are defined.

    Where the two clearly differ at one point, nothing is left to simplify.
    """
    if _differ_at_a_point(left, right):
        return False
    gap = sp.simplify(sp.expand(left - right))
    if gap != 0:
        gap = sp.simplify(sp.expand(sp.powsimp(sp.expand_log(gap.rewrite(sp.exp)))))
    return bool(gap == 0)


def _differ_at_a_point(left: Expression, right: Expression) -> bool:
    """Whether the values at one point are numbers that differ by more than any rounding."""
    names = sorted((left - right).free_symbols, key=str)
    point = {
        name: sp.Integer(i + 2) if name.is_integer else sp.Rational(3 * i + 2, 3 * i + 7)
        for i, name in enumerate(names)
    }
    values = [side.subs(point).evalf(30) for side in (sp.sympify(left), sp.sympify(right))]
    if not all(value.is_Float or value.is_Rational for value in values):
        return False
    return bool(abs(values[0] - values[1]) > sum(map(abs, values), 1) / 10**10)


def nonnegative(expression: Expression, variables: Sequence[Expression]) -> bool:
    """Whether a rational expression is ≥ 0 for all variables ≥ 0, as seen from its signs.

    Written as one fraction, every coefficient of its expanded numerator and denominator is
    non-negative. That is enough, and fails without harm where it is not necessary.
    """
    numerator, denominator = sp.fraction(sp.cancel(sp.together(expression)))
    top, bottom = (sp.Poly(part, *variables) for part in (numerator, denominator))
    if bottom.LC() < 0:
        top, bottom = -top, -bottom
    return all(c.is_nonnegative for c in top.coeffs()) and all(
        c.is_positive for c in bottom.coeffs()
    )


def positive_part(expression: Expression) -> Expression:
    """(x)₊ = max(x, 0)."""
    return sp.Max(expression, 0)
