"""Lemma 3.3 gives a convex function an affine lower bound at *every* point of its domain. On the boundary it may have none.

f(x) = −√x on [0, 1] is convex. A line through (0, 0) of slope c lies below it only if c·y ≤ −√y for all y in (0, 1], that
is c ≤ −1/√y, and no number is below all of these. In the interior, and wherever f is differentiable, the lemma holds.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.convexity import CONVEXITY
from proofs.support.form import Counterexample, Proof
from proofs.support.symbolic import positive, same

SUPPORTING_LINES = Theorem(
    name="notes-supporting-lines",
    statement=(
        "A convex function f on a convex set C has, for every x in C, an affine g with g(x) = f(x) and g ≤ f on C."
    ),
    source="Smith, Ullman, notes on private ERM, Lemma 3.3",
    proof="proofs/refuted/supporting_lines.py",
)


def it_is_convex(half: int = 2) -> Step:
    """√((a²+b²)/2) ≥ (a+b)/2, as (a²+b²)/2 − ((a+b)/2)² = ((a−b)/2)²: −√x is convex at x = a², y = b²."""
    a, b = sp.symbols("a b", nonnegative=True)
    holds = same((a**2 + b**2) / half - ((a + b) / 2) ** 2, ((a - b) / 2) ** 2)
    return Step("−√x is convex", holds, "all x, y ≥ 0")


def no_line_supports_it_at_zero(quarter: int = 4) -> Step:
    """Slope −m, m > 1/2, at y = 1/(4m²) in (0, 1): −m·y − f(y) = 1/(4m) > 0, the line is above; m ≤ 1/2 fails at y = 1/4."""
    m = sp.Symbol("m", positive=True)
    y = 1 / (quarter * m**2)
    gap = -m * y + sp.sqrt(y)  # the line minus f
    holds = same(gap, 1 / (4 * m)) & positive(1 / (4 * m))
    # Slopes from −1/2 upwards, at y = 1/4: slope/4 + 1/2 ≥ 3/8.
    flat = sp.Symbol("flat", nonnegative=True)
    holds &= positive((flat - sp.Rational(1, 2)) / 4 + sp.Rational(1, 2))
    return Step("no slope", holds, "all slopes, x = 0")


PROOF = Proof(
    theorem=SUPPORTING_LINES,
    uses=(CONVEXITY,),
    mutations={
        "(a²+b²)/3": lambda: it_is_convex(half=3),
        "at y = 1/m²": lambda: no_line_supports_it_at_zero(quarter=1),
    },
    counterexample=Counterexample(
        argued=(
            "that no slope is below all slopes −1/√y: for every affine g, so that no instance decides; that −√x is convex, from its midpoints and continuity (convexity)"
        ),
        claimed="an affine g ≤ f with g(0) = f(0)",
        instance=("C = [0, 1], f(x) = −√x, x = 0",),
        truth="a line of slope −m is above f at y = 1/(4m²), by 1/(4m)",
        correction="for x in the interior of C, or where f is differentiable",
        by=(it_is_convex, no_line_supports_it_at_zero),
    ),
)
