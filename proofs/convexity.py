"""Supporting lines, tangents and Jensen's inequality: the part of Lemma 3.3 that is true and that convergence proofs use.

*Support ⇒ convex*: let g be affine, g ≤ f, with equality at z = t·x + (1−t)·y; then f(z) = t·g(x) + (1−t)·g(y) ≤ t·f(x) +
(1−t)·f(y). *Convex ⇒ tangents*, for f differentiable at x: f(x + t·(y−x)) ≤ f(x) + t·(f(y) − f(x)), so the difference quotient
at t is at most f(y) − f(x), and so is its limit as t → 0, ⟨∇f(x), y − x⟩. *Jensen*: with support g at E X, E f(X) ≥ E g(X) =
g(E X) = f(E X). At a point on the boundary there may be no support: see notes-supporting-lines.

*Midpoints*: if f is at most its chord halfway between any two points, it is so at every share k/2^m: the point at (2k+1)/2^(m+1) is halfway between those at
k/2^m and (k+1)/2^m, where the chord's values average to the chord's. A continuous f is then at most its chord everywhere. Without continuity
it need not be: see notes-midpoint-convexity.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import Expression, nonnegative, positive, same

CONVEXITY = Theorem(
    name="convexity",
    statement=(
        "A function with an affine lower bound that touches it at every point is convex; a convex function lies above its "
        "tangent wherever it is differentiable; E f(X) ≥ f(E X) if f has such a bound at E X; and a continuous function that is at "
        "most its chord halfway between any two points is convex."
    ),
    source="Smith, Ullman, notes on private ERM, Lemma 3.3 and Exercise 3.4",
    proof="proofs/convexity.py",
)


def support_makes_convex(total: int = 1) -> Step:
    """t·f(x) + (1−t)·f(y) − f(z) = t·(f−g)(x) + (1−t)·(f−g)(y) ≥ 0, as f(z) = g(z) and g is affine."""
    x, y, slope, level = sp.symbols("x y slope level", real=True)
    above_x, above_y, u, v = sp.symbols("above_x above_y u v", nonnegative=True)
    t = u / (u + v)
    z = t * x + (total - t) * y

    def line(at: Expression) -> Expression:
        return slope * at + level

    gap = t * (line(x) + above_x) + (1 - t) * (line(y) + above_y) - line(z)
    holds = same(gap, t * above_x + (1 - t) * above_y)
    holds &= nonnegative(t * above_x + (1 - t) * above_y, (above_x, above_y, u, v))
    return Step("support ⇒ convex", holds, "all x, y, all t in [0, 1]")


def convex_lies_above_tangents(power: int = 1) -> Step:
    """(f(x + t(y−x)) − f(x))/t = f(y) − f(x) − slack/t ≤ f(y) − f(x), for every t in (0, 1]."""
    here, there = sp.symbols("f_x f_y", real=True)
    t, slack = sp.symbols("t slack", positive=True)
    between = (1 - t) * here + t**power * there - slack  # convexity, with its slack
    quotient = (between - here) / t
    holds = same(there - here - quotient, slack / t) & positive(slack / t)
    return Step("convex ⇒ tangents", holds, "all t in (0, 1]")


def jensen_for_finite_laws(power: int = 2) -> Step:
    """Σ pᵢ·xᵢ² ≥ (Σ pᵢ·xᵢ)², by the support 2m·x − m² at m = E X: (x − m)² ≥ 0; in rationals."""
    points = (Fraction(-2), Fraction(1, 3), Fraction(5))
    holds, count = VACUOUS, 0
    x, m = sp.symbols("x m", real=True)
    holds &= same(x**2 - (2 * m * x - m**2), (x - m) ** 2)
    for law in rational_laws(3, 8):
        mean = sum((p * at for p, at in zip(law, points, strict=True)), Fraction(0))
        moment = sum((p * at**power for p, at in zip(law, points, strict=True)), Fraction(0))
        holds &= at_most(mean**power, moment)
        count += 1
    return Step("Jensen", holds, f"f(x) = x², {count} laws on three points")


def averages_of_iterates(sign: int = 1) -> Step:
    """f(mean of w) ≤ mean of f(w) for f = |·| and f = x², on all of three weights in {−2, …, 2}: what averaging relies on."""
    holds, count = VACUOUS, 0
    for weights in product(range(-2, 3), repeat=3):
        mean = Fraction(sum(weights), 3)
        holds &= at_most(sign * abs(mean), sign * Fraction(sum(map(abs, weights)), 3))
        holds &= at_most(sign * mean**2, sign * Fraction(sum(w * w for w in weights), 3))
        count += 1
    return Step("averages", holds, f"{count} triples")


def halves_of_halves(share: int = 2) -> Step:
    """At t = (2k+1)/2^(m+1): f(z) ≤ (f(z₁) + f(z₂))/2, z = (z₁ + z₂)/2, and the bounds at z₁, z₂ average to the chord at z."""
    k, scale = sp.symbols("k scale", positive=True)  # scale = 2^m
    x, y, f_x, f_y = sp.symbols("x y f_x f_y", real=True)
    shares = (k / scale, (k + 1) / scale)

    def chord(t: Expression, one: Expression, other: Expression) -> Expression:
        return (1 - t) * one + t * other

    t = (2 * k + 1) / (share * scale)
    holds = same(sum(chord(each, x, y) for each in shares) / 2, chord(t, x, y))
    holds &= same(sum(chord(each, f_x, f_y) for each in shares) / 2, chord(t, f_x, f_y))
    return Step("halves of halves", holds, "all k, all m")


def every_share_is_reached(*, skip: bool = False) -> Step:
    """Every k/2^m with m ≤ 10 is 0, 1, or halfway between two with a smaller m: the induction reaches each of them."""
    reached = {Fraction(0), Fraction(1)}
    for m in range(1, 11):
        if not (skip and m == 5):
            new = {Fraction(2 * k + 1, 2**m) for k in range(2 ** (m - 1))}
            between = {(t - Fraction(1, 2**m), t + Fraction(1, 2**m)) for t in new}
            reached |= {(a + b) / 2 for a, b in between if a in reached and b in reached}
    holds = equal(reached, {Fraction(k, 2**10) for k in range(2**10 + 1)})
    return Step("all shares", holds, f"{len(reached)} shares k/2^10")


PROOF = Proof(
    theorem=CONVEXITY,
    clauses=(
        Clause(
            "A function with an affine lower bound that touches it at every point is convex;",
            by=(support_makes_convex,),
            argued="the same for functions on any vector space, along the segment",
        ),
        Clause(
            "a convex function lies above its tangent wherever it is differentiable;",
            by=(convex_lies_above_tangents,),
            argued="the limit t → 0 of the difference quotient",
        ),
        Clause(
            "E f(X) ≥ f(E X) if f has such a bound at E X;",
            by=(jensen_for_finite_laws, averages_of_iterates),
            argued="that expectations keep g ≤ f and commute with the affine g",
        ),
        Clause(
            "and a continuous function that is at most its chord halfway between any two points is convex.",
            by=(halves_of_halves, every_share_is_reached),
            argued="induction on m over all shares k/2^m, and that these are dense, so that continuity gives the others",
        ),
    ),
    mutations={
        "weights that do not sum to 1": lambda: support_makes_convex(total=2),
        "t² in the chord": lambda: convex_lies_above_tangents(power=2),
        "cubes are convex": lambda: jensen_for_finite_laws(power=3),
        "averages are worse": lambda: averages_of_iterates(sign=-1),
        "another midpoint": lambda: halves_of_halves(share=3),
        "a level left out": lambda: every_share_is_reached(skip=True),
    },
)
