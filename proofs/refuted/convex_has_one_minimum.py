"""The notes on machine learning say that a convex function has only one local minimum.

max(|x| − 1, 0) is convex and has a minimum at every point of [−1, 1]. Every local minimum of a convex
function is a global one; that it is unique needs strict convexity.
"""

from fractions import Fraction
from itertools import product

from dpverify.theorems import Evidence, Step, Theorem
from proofs.support.form import Counterexample, Proof

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


def it_is_convex(sign: int = 1) -> Step:
    """t·f(x) + (1−t)·f(y) − f(t·x + (1−t)·y) ≥ 0: a maximum of the affine x−1, −x−1 and 0."""
    holds, count = True, 0
    for x, y, t in product(_POINTS, _POINTS, (Fraction(1, 3), Fraction(1, 2))):
        gap = t * basin(x) + (1 - t) * basin(y) - basin(t * x + (1 - t) * y)
        holds &= sign * gap >= 0
        count += 1
    return Step("convex", Evidence.EXACT, holds, f"{count} chords; a maximum of affine functions")


def two_minima(second: int = 1) -> Step:
    """f(−1) = f(1) = 0 ≤ f."""
    least = min(basin(x) for x in _POINTS)
    holds = least == basin(Fraction(-1)) == basin(Fraction(second)) == 0
    return Step("two minima", Evidence.EXACT, holds, "x = −1 and x = 1")


PROOF = Proof(
    theorem=CONVEX_HAS_ONE_MINIMUM,
    steps=(it_is_convex, two_minima),
    mutations={
        "concave": lambda: it_is_convex(sign=-1),
        "x = 2": lambda: two_minima(second=2),
    },
    counterexample=Counterexample(
        claimed="one minimum",
        instance=("f(x) = max(|x| − 1, 0)",),
        truth="f(−1) = f(1) = 0 = min f",
        correction="one minimal value; one minimizer if strictly convex",
    ),
)
