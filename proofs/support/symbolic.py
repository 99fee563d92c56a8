"""Checks with sympy: whether two expressions are equal, whether one is never negative.

Each covers all values of its symbols, within what they were declared to be, and says what it
showed as a `Goal`, which another checker can show again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import Check, Evidence
from proofs.support.checks import VACUOUS, at_most, below, equal
from proofs.support.spelling import read

Expression: TypeAlias = Any  # sympy has no types


@dataclass(frozen=True, slots=True)
class Goal:
    """left = right, left ≥ right or left > right, for all values of the variables.

    Those in `cone` are ≥ 0 whatever they were declared to be.
    """

    left: Expression
    relation: str
    right: Expression
    variables: tuple[Expression, ...]
    cone: frozenset[Expression] = frozenset()
    is_trusted: bool = False  # whether a simplification of the author's own had a part in it

    @property
    def is_plain(self) -> bool:
        """Whether the text says all: plain names of reals, and arithmetic that anyone can check."""
        sides = (sp.sympify(self.left), sp.sympify(self.right))
        rational = all(side.is_rational_function(*self.variables) for side in sides)
        known = all(type(part).__module__.startswith("sympy.") for part in _parts(sides))
        return self.is_named and rational and known and not self.is_trusted

    @property
    def is_named(self) -> bool:
        """Whether the variables are plain names of reals, each of one only."""
        names = [str(name) for name in self.variables]
        return all(map(_is_plain_name, self.variables)) and len(set(names)) == len(names)

    def __str__(self) -> str:
        formula = f"{self.left} {self.relation} {self.right}"
        ranges = [f"{name} {self.sign(name)} 0".removesuffix("  0") for name in self.variables]
        return f"{formula} for all {', '.join(ranges)}" if ranges else formula

    def sign(self, name: Expression) -> str:
        """What is known of a variable: >, ≥ or nothing."""
        if name.is_positive:
            return ">"
        return "≥" if name.is_nonnegative or name in self.cone else ""


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that is said to hold for all values of its variables, and may be false: a claim to refute.

    An instance gives every variable a rational value. It must have the sign that the formula's text says;
    both sides are computed in balls, from the formula itself.
    """

    goal: Goal

    @property
    def text(self) -> str:
        """The formula, if its names are plain and it reads as what it is; else nothing."""
        text = str(self.goal)
        is_formula = type(self.goal) is Goal and read(text, functions=("exp", "log", "sqrt"))
        if not is_formula or not self.goal.is_named:
            return ""
        names = {str(name): name for name in self.goal.variables}
        given = [sp.sympify(side) for side in (self.goal.left, self.goal.right)]
        return text if [sp.parse_expr(str(side), names) for side in given] == given else ""

    @property
    def words(self) -> tuple[str, str]:
        """What is asked of an instance, and the formula."""
        return "Values of the declared signs.", f"{self.goal}."

    def asks(self, instance: Mapping[str, Fraction]) -> Check:
        """Every variable has a value, of the sign that was declared."""
        holds = equal(sorted(instance), sorted(map(str, self.goal.variables)))
        for name in self.goal.variables:
            value, sign = Fraction(instance[str(name)]), self.goal.sign(name)
            holds &= below(0, value) if sign == ">" else at_most(0, value) if sign else VACUOUS
        return holds

    def says(self, instance: Mapping[str, Fraction]) -> Check:
        """The relation between both sides at the instance."""
        with ctx.workprec(256):
            left, right = (
                _value(sp.sympify(side), instance) for side in (self.goal.left, self.goal.right)
            )
            by_relation = {"=": equal, "≥": at_most, ">": below}
            return by_relation[self.goal.relation](right, left)


def claimed(left: Expression, relation: str, right: Expression) -> Formula:
    """The claim that left = right, left ≥ right or left > right for all values of their symbols."""
    names = tuple(sorted(sp.sympify(left).free_symbols | sp.sympify(right).free_symbols, key=str))
    return Formula(Goal(left, relation, right, names))


def _value(expression: Expression, instance: Mapping[str, Fraction]) -> arb:
    """An expression of sums, products, powers, exp and log at an instance, as a ball."""
    if expression.is_Symbol:
        return ball(Fraction(instance[str(expression)]))
    if expression.is_Rational:
        return ball(Fraction(int(expression.p), int(expression.q)))
    parts = [_value(part, instance) for part in expression.args]
    if expression.is_Add:
        return sum(parts, arb(0))
    if expression.is_Mul:
        product = arb(1)
        for part in parts:
            product *= part
        return product
    if expression.is_Pow:
        whole = expression.exp.is_Integer
        return parts[0] ** int(expression.exp) if whole else parts[0] ** parts[1]
    if isinstance(expression, sp.exp | sp.log):
        return parts[0].exp() if isinstance(expression, sp.exp) else parts[0].log()
    raise TypeError(f"expression={expression} must be made of sums, products, powers, exp and log")


def _parts(sides: Sequence[Expression]) -> list[Expression]:
    return [part for side in sides for part in sp.preorder_traversal(side)]


def same(
    left: Expression,
    right: Expression,
    *,
    by: Callable[[Expression], Expression] | None = None,
) -> Check:
    """Whether left − right simplifies to 0, wherever both are defined; `by` simplifies first.

    Where the two clearly differ at one point, nothing is left to simplify.
    """
    holds = not _differ_at_a_point(left, right)
    if holds and by is not None:
        holds = by(left - right) == 0 or _vanishes(by(left) - by(right))
    elif holds:
        holds = _vanishes(left - right)
    return _shown(holds, left, "=", right, is_trusted=by is not None)


def _is_plain_name(name: Expression) -> bool:
    """An identifier that stands for a real number, a non-negative or a positive one."""
    kinds: tuple[dict[str, bool], ...] = (
        {},
        {"real": True},
        {"nonnegative": True},
        {"positive": True},
    )
    known = [sp.Symbol(name.name, **kind).assumptions0 for kind in kinds]
    return str(name).isidentifier() and name.assumptions0 in known


def _vanishes(difference: Expression) -> bool:
    gap = sp.simplify(sp.expand(difference))
    if gap != 0:
        gap = sp.simplify(sp.expand(sp.powsimp(sp.expand_log(gap.rewrite(sp.exp)))))
    return bool(gap == 0)


def _differ_at_a_point(left: Expression, right: Expression) -> bool:
    """Whether the values at one point are numbers that differ by more than any rounding."""
    names = sorted(sp.sympify(left - right).free_symbols, key=str)
    point = {
        name: sp.Integer(i + 2) if name.is_integer else sp.Rational(3 * i + 2, 3 * i + 7)
        for i, name in enumerate(names)
    }
    values = [side.subs(point).evalf(30) for side in (sp.sympify(left), sp.sympify(right))]
    if not all(value.is_Float or value.is_Rational for value in values):
        return False
    return bool(abs(values[0] - values[1]) > sum(map(abs, values), 1) / 10**10)


def nonnegative(expression: Expression, variables: Sequence[Expression]) -> Check:
    """Whether a rational expression is ≥ 0 for all variables ≥ 0, as seen from its signs.

    Written as one fraction, every coefficient of its expanded numerator and denominator is
    non-negative. That is enough, and fails without harm where it is not necessary. A symbol that is
    not among the variables must be declared such that sympy knows the signs of the coefficients.
    """
    if not variables and not sp.sympify(expression).free_symbols:
        return _shown(bool(expression >= 0), expression, "≥", 0)
    numerator, denominator = sp.fraction(sp.cancel(sp.together(expression)))
    top, bottom = (sp.Poly(part, *variables) for part in (numerator, denominator))
    if bottom.LC() < 0:
        top, bottom = -top, -bottom
    holds = all(c.is_nonnegative for c in top.coeffs()) and all(
        c.is_positive for c in bottom.coeffs()
    )
    return _shown(holds, expression, "≥", 0, variables)


def positive(expression: Expression) -> Check:
    """Whether sympy sees, from what its symbols were declared to be, that an expression is > 0."""
    return _shown(bool(expression.is_positive), expression, ">", 0)


def never_negative(expression: Expression) -> Check:
    """Whether sympy sees, from what its symbols were declared to be, that an expression is ≥ 0."""
    return _shown(bool(expression.is_nonnegative), expression, "≥", 0)


def tends_to(expression: Expression, variable: Expression, point: object, value: object) -> Check:
    """Whether the limit of an expression, from above at finite points, is the value."""
    found = sp.limit(expression, variable, point, "+")
    return _shown(bool(found == value), expression, f"→ (as {variable} → {point})", value)


def positive_part(expression: Expression) -> Expression:
    """(x)₊ = max(x, 0)."""
    return sp.Max(expression, 0)


def _shown(  # noqa: PLR0913  # what a goal is made of
    holds: bool,  # noqa: FBT001  # what the functions above found
    left: Expression,
    relation: str,
    right: Expression,
    variables: Sequence[Expression] = (),
    *,
    is_trusted: bool = False,
) -> Check:
    free = sp.sympify(left).free_symbols | sp.sympify(right).free_symbols | set(variables)
    names = tuple(sorted(free, key=str))
    goal = Goal(left, relation, right, names, frozenset(variables), is_trusted)
    goals = (goal,) if names else ()
    return Check(holds, Evidence.SYMBOLIC, goals=goals)
