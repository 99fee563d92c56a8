"""The notes on machine learning say that a convex function has only one local minimum.

max(|x| − 1, 0) is convex and has a minimum at every point of [−1, 1]. Every local minimum of a convex
function is a global one; that it is unique needs strict convexity.
"""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import VACUOUS, at_most, equal, every
from proofs.support.form import Claim, Counterexample, Proof
from proofs.support.symbolic import nonnegative, same

CONVEX_HAS_ONE_MINIMUM = Theorem(
    name="notes-convex-one-minimum",
    statement="A convex function has only one local minimum.",
    source="lecture on machine learning with DP, after Def. 5.1",
    proof="proofs/refuted/convex_has_one_minimum.py",
)
_POINTS = tuple(Fraction(n, 4) for n in range(-12, 13))


def basin(x: Fraction) -> Fraction:
    """max(|x| − 1, 0)."""
    return max(abs(x) - 1, Fraction(0))


def it_is_convex(total: int = 1) -> Step:
    """f is the largest of x−1, −x−1 and 0: the piece that is largest at z = t·x + (1−t)·y is affine and ≤ f at x and y."""
    x, y = sp.symbols("x y", real=True)
    above_x, above_y, u, v = sp.symbols("above_x above_y u v", nonnegative=True)
    t = u / (u + v)
    holds = VACUOUS
    for slope, level in ((1, -1), (-1, -1), (0, 0)):
        at_x, at_y, at_z = (slope * w + level for w in (x, y, t * x + (total - t) * y))
        gap = t * (at_x + above_x) + (1 - t) * (at_y + above_y) - at_z
        holds &= same(gap, t * above_x + (1 - t) * above_y)
    holds &= nonnegative(t * above_x + (1 - t) * above_y, (above_x, above_y, u, v))
    return Step("convex", holds, "all x, y, all t in [0, 1]")


def two_minima(second: int = 1) -> Step:
    """f(−1) = f(1) = 0 ≤ f."""
    least = min(basin(x) for x in _POINTS)
    holds = (
        equal(least, basin(Fraction(-1)))
        & equal(basin(Fraction(-1)), basin(Fraction(second)))
        & equal(basin(Fraction(second)), 0)
    )
    return Step("two minima", holds, "x = −1 and x = 1")


def _flat(x: Fraction, width: Fraction) -> Fraction:
    """max(|x| − width, 0)."""
    return max(abs(x) - width, Fraction(0))


def _is_convex(width: Fraction) -> Check:
    """At most its chord halfway between any two of 25 points, and linear between them if the width is whole."""
    return every(
        at_most(2 * _flat((x + y) / 2, width), _flat(x, width) + _flat(y, width))
        for x in _POINTS
        for y in _POINTS
    ) & equal(Fraction(width).denominator, 1)


def _has_one_minimum(width: Fraction) -> Check:
    """The least value is taken at one point, of 25."""
    least = min(_flat(x, width) for x in _POINTS)
    return at_most(sum(_flat(x, width) == least for x in _POINTS), 1)


PROOF = Proof(
    theorem=CONVEX_HAS_ONE_MINIMUM,
    mutations={
        "weights that do not sum to 1": lambda: it_is_convex(total=2),
        "x = 2": lambda: two_minima(second=2),
    },
    counterexample=Counterexample(
        claim=Claim(_is_convex, _has_one_minimum),
        at=Fraction(1),
        control=Fraction(0),
        argued=(
            "that max(|x| − 1, 0) is convex for all points as for those, and each of two least points is a local minimum"
        ),
        claimed="one minimum",
        instance=("f(x) = max(|x| − 1, 0)",),
        truth="f(−1) = f(1) = 0 = min f",
        correction="one minimal value; one minimizer if strictly convex",
        by=(it_is_convex, two_minima),
    ),
)
