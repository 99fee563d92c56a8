"""Inequalities over whole boxes of parameters, by balls that are halved until they tell."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from flint import acb, arb, ctx

from dpverify.balls import ball

Interval: TypeAlias = tuple[Fraction, Fraction]

_MOST_DEPTH = 40
_BITS = 106


def positive_on(function: Callable[..., arb], *box: Interval) -> bool:
    """Whether function > 0 on the whole closed box, certainly.

    The widest side is halved wherever the ball of a box is not clear of 0. A sub-box whose middle
    is certainly not positive settles it the other way.
    """
    pending: list[tuple[tuple[Interval, ...], int]] = [(box, 0)]
    with ctx.workprec(_BITS):
        while pending:
            sides, depth = pending.pop()
            value = function(*(_cover(side) for side in sides))
            if value > 0:
                continue
            middle = function(*(ball((low + high) / 2) for low, high in sides))
            if middle <= 0 or depth >= _MOST_DEPTH:
                return False
            pending.extend((half, depth + 1) for half in _halves(sides))
    return True


def _cover(side: Interval) -> arb:
    low, high = side
    return ball(low).union(ball(high))


def _halves(sides: tuple[Interval, ...]) -> Iterator[tuple[Interval, ...]]:
    widest = max(range(len(sides)), key=lambda i: sides[i][1] - sides[i][0])
    low, high = sides[widest]
    middle = (low + high) / 2
    for part in ((low, middle), (middle, high)):
        yield (*sides[:widest], part, *sides[widest + 1 :])


def grid(*values: tuple[Fraction, ...]) -> Iterator[tuple[Fraction, ...]]:
    """Every combination of the listed values."""
    return product(*values)


def integral(function: Callable[[acb], acb], low: arb, high: arb) -> arb:
    """The integral of an entire function over [low, high], as a ball that holds it."""
    return acb.integral(lambda z, _: function(z), acb(low), acb(high)).real


def overlaps(first: arb, second: arb, *, digits: int = 20) -> bool:
    """Whether both balls are narrow, relatively to 10^−digits, and share a point.

    Two computations of one number by different routes must pass; two numbers that differ by more
    than 10^−digits of themselves cannot.
    """
    narrow = all(value.rad() <= abs(value.mid()) * arb(10) ** -digits for value in (first, second))
    return bool(narrow and first.overlaps(second))
