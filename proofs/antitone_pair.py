"""Two laws that are each known against a third.

Let Y = V/A and Z = W/A. For every number a, (Y − x·Z)₊ ≤ (Y − a)₊ + (a − x·Z)₊, and both terms are convex in one
ratio, so that their means under A only grow when Y and Z are replaced by the ratio R of a pair that dominates (V, A)
and (W, A). Let R(U) rise with a uniform U and R′ = R(1−U) fall. If R − x·R′ changes sign at t, then at a = R(t) both
terms are positive on the same side of t and add up to (R − x·R′)₊. If it never does, the extreme value of R for a
makes both terms vanish, or both their arguments.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.mechanisms.amplification.subsampled import replaced_pair
from dpverify.pairs import Dominates, FinitePair, GaussianPair, LaplacePair, dominates
from dpverify.pairs.subsampling.allocation import AllocationPair
from dpverify.theorems import BLACKWELL, EXACT_PROFILE, Step, Theorem
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, dominated
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import nonnegative, same

ANTITONE_PAIR = Theorem(
    name="antitone-pair",
    statement=(
        "If (V, A) and (W, A) are both dominated by one pair with the ratio R, then (V, W) is "
        "dominated by the pair of densities R(U) and R(1−U), U uniform and R rising."
    ),
    source="Dhaene et al., Insurance Math. Econ. 31, 2002, Thm 7, for comonotonic sums",
    proof="proofs/antitone_pair.py",
)


def the_split_is_exact_at_the_threshold(share: int = 1) -> Step:
    """R = r ± u, R′ = r′ ∓ w around t, where r = x·r′: the parts are ±u and ±x·w, and add up."""
    other, u, w, x = sp.symbols("r_other u w x", nonnegative=True)
    r = x * other
    a = share * r
    holds = VACUOUS
    for side in (1, -1):
        up, down = r + side * u, other - side * w
        first, second = up - a, a - x * down
        holds &= nonnegative(side * first, (other, u, w, x))
        holds &= nonnegative(side * second, (other, u, w, x))
        holds &= same(first + second, up - x * down)
    return Step("threshold", holds, "all x, all ratios")


def all_small_laws(rate: float = 1.0) -> Step:
    """All A, V, W on two outcomes, in tenths, that one pair dominates: so does `replaced_pair` for (V, W)."""
    laws = rational_laws(2, 10)
    strong = FinitePair(
        left=[Fraction(1, 2), Fraction(1, 2), 0],
        right=[Fraction(1, 10), Fraction(8, 10), Fraction(1, 10)],
    )
    bound, holds, count = replaced_pair(strong, rate), VACUOUS, 0
    for a, v, w in product(laws, repeat=3):
        pairs = [FinitePair(left=side, right=a) for side in (v, w)]
        if not all(isinstance(dominates(strong, pair), Dominates) for pair in pairs):
            continue
        holds &= dominated(bound, FinitePair(left=v, right=w))
        count += 1
    return Step("small laws", holds & below(50, count), f"{count} triples")


def noise_that_moves_either_way(factor: int = 4) -> Step:
    """N(μ) and N(−μ) against N(0): at worst N(2μ) against N(0), and likewise for Laplace noise; by `antitone`."""
    holds, count = VACUOUS, 0
    cases: tuple[tuple[GaussianPair | LaplacePair, GaussianPair | LaplacePair], ...] = (
        (GaussianPair(Fraction(1, 4)), GaussianPair(Fraction(factor, 4))),
        (LaplacePair(scale=1.0, sensitivity=0.5), LaplacePair(scale=1.0, sensitivity=factor / 4)),
    )
    with ctx.workprec(128):
        for (base, truth), epsilon in product(cases, (0.0, 0.5)):
            upper = AllocationPair(base, 1, both=True).upper.profile_ball(ball(epsilon))
            exact = truth.profile_ball(ball(epsilon))
            holds &= at_most(exact, upper.upper()) & at_most(upper.upper(), exact * 1.001)
            count += 1
    return Step("`antitone`", holds, f"{count} points, within 0.1 %")


PROOF = Proof(
    theorem=ANTITONE_PAIR,
    clauses=(
        Clause(
            (
                "If (V, A) and (W, A) are both dominated by one pair with the ratio R, then (V, W) is "
                "dominated by the pair of densities R(U) and R(1−U), U uniform and R rising."
            ),
            by=(the_split_is_exact_at_the_threshold, all_small_laws),
            argued=(
                "that (Y − xZ)₊ ≤ (Y − a)₊ + (a − xZ)₊ and each term grows in the convex order; the cases in "
                "which R − x·R′ never changes sign"
            ),
        ),
    ),
    library=(noise_that_moves_either_way,),
    uses=(BLACKWELL, EXACT_PROFILE, POST_PROCESSING),
    mutations={
        "a = 2r": lambda: the_split_is_exact_at_the_threshold(share=2),
        "half of the records": lambda: all_small_laws(0.5),
        "N(μ) again": lambda: noise_that_moves_either_way(factor=2),
    },
)
