"""The Poisson loss with a cap on the mean: convex, Lipschitz and smooth on the whole line.

f(s) = ∫ min(eˢ, c) ds − y·s has f′ = min(eˢ, c) − y, which rises, and lies between −y and c − y; for 0 ≤ y ≤ Y its size is at
most max(c, Y). Two scores s ≤ t have min(eᵗ, c) − min(eˢ, c) ≤ c·(t − s): both at most c, as e^x has the slope e^x ≤ c
below the cap and min has none above it. The loss of the record, f(⟨θ, x⟩), has the gradient f′·x and a Hessian of rank
one, f″·x·xᵀ, where there is one.
"""

from fractions import Fraction
from itertools import pairwise

import sympy as sp

from dpverify.balls import ball
from dpverify.theorems import Step, Theorem
from proofs.support.checks import at_most, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.bounds import Bounds
from solvers.losses import Poisson

CAPPED_MEANS = Theorem(
    name="capped-means",
    statement=(
        "The loss f(s) = ∫ min(e^s, c) ds − y·s, for 0 ≤ y ≤ Y, is minus the log-likelihood of a Poisson variable of mean "
        "e^s where e^s ≤ c, but for a constant; it is convex, with |f′| ≤ max(c, Y), and f′ is Lipschitz with the "
        "constant c."
    ),
    source="derived here",
    proof="proofs/capped_means.py",
)


def it_is_the_likelihood(sign: int = -1) -> Step:
    """−ln(e^(−m)·m^y/y!) at m = e^s is e^s − y·s + ln y!, with the slope e^s − y."""
    s, y = sp.symbols("s y", real=True)
    loss = sp.exp(s) + sign * y * s
    return Step("likelihood", same(sp.diff(loss, s), sp.exp(s) - y), "all s, y")


def slopes_are_bounded(share: int = 1) -> Step:
    """max(c, Y) − (m − y) ≥ 0 and max(c, Y) − (y − m) ≥ 0 for 0 ≤ m ≤ c, 0 ≤ y ≤ Y: c = m + a, Y = y + b."""
    m, y, a, b = sp.symbols("m y a b", nonnegative=True)
    # max(c, Y) is at least c, and at least Y.
    holds = nonnegative(share * (m + a) - (m - y), (m, y, a))
    holds &= nonnegative(share * (y + b) - (y - m), (m, y, b))
    return Step("slopes", holds, "all means and counts")


def slopes_rise_no_faster(power: int = 1) -> Step:
    """c·(t − s) ≥ c − e^s = c·(1 − e^(s − t)) at e^t = c, since e^x ≥ 1 + x: (e^x − 1 − x)′ = e^x − 1 has the sign of x."""
    x = sp.symbols("x", real=True)
    gap = sp.exp(x) - 1 - x
    holds = same(sp.diff(gap, x), sp.exp(x) - power) & same(gap.subs(x, 0), sp.Integer(0))
    return Step("slopes are Lipschitz", holds, "below the cap; above it f′ is constant")


def the_library_keeps_to_it(shrink: Fraction = Fraction(1)) -> Step:
    """`Poisson` in ball arithmetic at scores in [−8, 8] and counts in {0, 1, …, 4}: slopes and quotients within the bounds."""
    checks, scores = [], [Fraction(k, 4) for k in range(-32, 33)]
    for cap, counts in ((0.5, 4), (3.0, 2), (10.0, 4)):
        loss = Poisson(cap)
        bound = Fraction(loss.slope_bound(Bounds(norm=1.0, label_bound=float(counts)))) * shrink
        for y in range(counts + 1):
            slopes = [loss.precise([ball(s)], float(y))[1][0] for s in scores]
            rises = [later - before for before, later in pairwise(slopes)]
            checks += [at_most(abs(slope), ball(bound)) for slope in slopes]
            checks += [at_most(4 * rise, ball(Fraction(loss.sharpness))) for rise in rises]
            checks += [at_most(ball(0), rise) for rise in rises]
    return Step("`Poisson`", every(checks), f"{len(checks)} comparisons")


PROOF = Proof(
    theorem=CAPPED_MEANS,
    clauses=(
        Clause(
            (
                "The loss f(s) = ∫ min(e^s, c) ds − y·s, for 0 ≤ y ≤ Y, is minus the log-likelihood of a Poisson variable of "
                "mean e^s where e^s ≤ c, but for a constant;"
            ),
            by=(it_is_the_likelihood,),
            argued="that losses with the same slope differ by a constant",
        ),
        Clause(
            "it is convex, with |f′| ≤ max(c, Y), and f′ is Lipschitz with the constant c.",
            by=(slopes_are_bounded, slopes_rise_no_faster),
            argued="that min(e^s, c) rises with s, and that a function with bounded slopes on two pieces is Lipschitz",
        ),
    ),
    library=(the_library_keeps_to_it,),
    mutations={
        "the other sign": lambda: it_is_the_likelihood(sign=1),
        "no bound": lambda: slopes_are_bounded(share=0),
        "e^x ≥ 2 + x": lambda: slopes_rise_no_faster(power=2),
        "half of it": lambda: the_library_keeps_to_it(Fraction(1, 2)),
    },
)
