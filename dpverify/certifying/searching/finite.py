"""Exact output distributions, and whether they keep the claim, output by output."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any, TypeAlias

from dpverify.certifying.searching.masses import Masses
from dpverify.certifying.symbolic.exact import ONE, ZERO, EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.outputs import filled, merged, values
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Draw, Inequality, Leaf, Test, Tree
from dpverify.certifying.symbolic.symbols import Symbolic

Distribution: TypeAlias = dict[Any, ExactNumber]
_MOST_OUTPUTS = 4000


@dataclass(frozen=True, slots=True)
class TreePath:
    """One path of a tree: the probability of its draws, and the facts the noise must satisfy."""

    weight: ExactNumber
    tests: tuple[Inequality, ...]
    output: Any


def paths(
    tree: Tree, weight: ExactNumber = ONE, tests: tuple[Inequality, ...] = ()
) -> Iterator[TreePath]:
    """All paths of a tree."""
    if isinstance(tree, Leaf):
        yield TreePath(weight, tests, tree.output)
    elif isinstance(tree, Draw):
        for share, child in zip(tree.weights, tree.children, strict=True):
            yield from paths(child, weight * share, tests)
    elif isinstance(tree, Test):
        yield from paths(tree.yes, weight, (*tests, tree.yes_if))
        yield from paths(tree.no, weight, (*tests, tree.no_if))
    else:  # pragma: no cover  # made by another kind of run
        raise NotUnderstood("the distribution of noised answers is not computed here")


def distribution(tree: Tree, masses: Masses, whole: set[str]) -> Distribution:
    """The probability of every output, of which there must be finitely many."""
    total: Distribution = {}
    for path in paths(tree):
        for output, tests in _cases(path, whole):
            mass = path.weight * masses(tests)
            if mass:
                total[output] = total.get(output, ZERO) + mass
        if len(total) > _MOST_OUTPUTS:
            raise NotUnderstood(f"there are more than {_MOST_OUTPUTS} outputs")
    return total


def _cases(path: TreePath, whole: set[str]) -> Iterator[tuple[Any, tuple[Inequality, ...]]]:
    """The outputs of a path: one, or one for each whole value of its expressions."""
    expressions = list(values(path.output))
    if not expressions:
        yield path.output, path.tests
        return
    ranges = [_range(e, path.tests, whole) for e in expressions]
    for numbers in product(*ranges):
        equal = [
            t for e, n in zip(expressions, numbers, strict=True) for t in equalities(e, Fraction(n))
        ]
        yield filled(path.output, iter(numbers)), (*path.tests, *equal)


def equalities(expression: Symbolic, value: Fraction) -> list[Inequality]:
    gap = expression.constant - value
    down = tuple((n, -c) for n, c in expression.coefficients)
    return [
        Inequality(expression.coefficients, gap, strict=False),
        Inequality(down, -gap, strict=False),
    ]


def _range(e: Symbolic, tests: tuple[Inequality, ...], whole: set[str]) -> range:
    """The whole values that an expression can take on a path, if they are bounded."""
    constant = e.constant.fraction()
    if constant is None or not all(n in whole and c.denominator == 1 for n, c in e.coefficients):
        raise NotUnderstood("an output is a real number: there are infinitely many")
    if constant.denominator != 1:
        raise NotUnderstood("an output is integer noise plus a fraction")
    low = high = None
    for test in (*tests, *_support(e)):
        ratio = _parallel(test.coefficients, e.coefficients)
        offset = test.constant.fraction()
        if ratio is None or offset is None:
            continue
        end = constant - offset / ratio
        if ratio > 0:
            low = ceil(end) if low is None else max(low, ceil(end))
        else:
            high = floor(end) if high is None else min(high, floor(end))
    if low is None or high is None:
        raise NotUnderstood("there are infinitely many outputs")
    return range(low, high + 1)


def _support(e: Symbolic) -> list[Inequality]:
    """The fact that a geometric noise is at least 1."""
    names = [name for name, _ in e.coefficients]
    one = ((names[0], Fraction(1)),)
    return [Inequality(one, ExactNumber.of(-1), strict=False)] if len(names) == 1 else []


def _parallel(a: Any, b: Any) -> Fraction | None:  # noqa: ANN401
    """The r with a = r·b."""
    if [n for n, _ in a] != [n for n, _ in b]:
        return None
    ratios = {x / y for (_, x), (_, y) in zip(a, b, strict=True)}
    return ratios.pop() if len(ratios) == 1 else None


@dataclass(frozen=True, slots=True)
class Surplus:
    """An event that is too likely: its outputs, and its probability on both sides."""

    outputs: tuple[Any, ...]
    left: ExactNumber
    right: ExactNumber


def excesses(  # noqa: PLR0917, PLR0913
    left: Distribution,
    right: Distribution,
    epsilon: Fraction,
    delta: ExactNumber,
    unit: EpsilonUnit,
    slack: Fraction = Fraction(0),
) -> Iterator[Surplus]:
    """Events with P > e^ε·Q + delta: the outputs above e^ε·Q, together or (delta = 0) alone.

    There is one if and only if Σ max(0, P − e^ε·Q) > delta. With a `slack`, only what exceeds the
    claim by this share counts.
    """
    event, total_left, total_right = [], ZERO, ZERO
    lowered = ExactNumber.of(1 - slack)
    for output in left:
        p, q = left[output] * lowered, right.get(output, ZERO)
        if unit.gap_sign(p, q, epsilon, ZERO) > 0:
            if not delta:
                yield Surplus((output,), left[output], q)
            event.append(output)
            total_left, total_right = total_left + left[output], total_right + q
    if event and unit.gap_sign(total_left * lowered, total_right, epsilon, delta) > 0:
        yield Surplus(tuple(event), total_left, total_right)


def as_one(law: Distribution) -> Distribution:
    """The distribution if 1, 1.0 and True count as the same output."""
    total: Distribution = {}
    for output, mass in law.items():
        key = merged(output)
        total[key] = total.get(key, ZERO) + mass
    return total
