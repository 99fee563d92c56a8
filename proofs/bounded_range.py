"""The exponential mechanism has losses in a range of length ε.

The loss of candidate y is c·(score − score′) + ln(Z′/Z), c = ε/(2Δ): up to a constant, c times a number between −Δ and Δ; so
it lies in some [t − ε, t], and 0 ≤ t ≤ ε as both laws have mass 1. (With monotone scores c = ε/Δ and the number lies
between 0 and Δ, or between −Δ and 0.) Given t, the profile P(E) − x·Q(E) is largest when each loss is t or t − ε: splitting
an outcome into two with the same masses and losses at the ends raises it. That pair has p = (1 − e^(t−ε))/(1 − e^(−ε))
and q = e^(−t)·p, and p − x·q is largest over t at t = (ε + ln x)/2. The supremum over t of profiles is convex in x, and
so the profile of a pair, which then dominates step by step, also when t is chosen after earlier outputs.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import BoundedRangePair, FinitePair
from dpverify.pairs.bounded_range import two_outcomes
from dpverify.theorems import BOUNDED_RANGE, EXACT_PROFILE, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def two_outcomes_have_these_masses(power: int = 1) -> Step:
    """p = (1 − b/e)/(1 − 1/e), q = p/b: p + (1 − p) = q + (1 − q) and (1 − p)/(1 − q) = b/e."""
    b, e = sp.symbols("b e", positive=True)  # e^t and e^ε
    p = (1 - b / e) / (1 - 1 / e)
    q = p / b
    holds = same(sp.simplify((1 - p) / (1 - q)), b / e**power)
    return Step("masses", holds, "all t and ε")


def the_best_place_is_in_the_middle(square: int = 2) -> Step:
    """(1 − b/e)(1 − x/b) is largest at b = √(e·x), where it is (1 − √(x/e))²."""
    b, r, s = sp.symbols("b r s", positive=True)  # e = r², x = s²
    value = (1 - b / r**2) * (1 - s**2 / b)
    best = (1 - s / r) ** square
    gap = sp.simplify(best - value)  # (b − r·s)²/(b·r²)
    holds = same(gap, (b - r * s) ** 2 / (b * r**2))
    return Step("best t", holds, "all t, ε and ε′")


def small_mechanisms_lie_below(share: Fraction = Fraction(1)) -> Step:
    """Exponential mechanisms on three candidates with e^(ε/2) = 2: weights ×1/2, ×1, ×2; exact."""
    holds, count = VACUOUS, 0
    root = Fraction(2)  # e^(ε/2); e^ε = 4
    weights = [Fraction(1), Fraction(2), Fraction(5)]
    for ws in product(weights, repeat=3):
        for ts in product((1 / root, Fraction(1), root), repeat=3):
            total, moved = sum(ws), sum(w * t for w, t in zip(ws, ts, strict=True))
            left = [w / total for w in ws]
            right = [w * t / moved for w, t in zip(ws, ts, strict=True)]
            pair = FinitePair(left=left, right=right)
            for x in (Fraction(1), Fraction(9, 4)):  # √(x/4) = 1/2 and 3/4
                side = {Fraction(1): Fraction(1, 2), Fraction(9, 4): Fraction(3, 4)}[x]
                bound = (1 - side) ** 2 / (1 - Fraction(1, 4))
                holds &= at_most(pair.delta_at_ratio(x), share * bound)
            count += 1
    return Step("three candidates", holds, f"{count} mechanisms")


def the_library_is_the_supremum(factor: float = 1.0) -> Step:
    """`BoundedRangePair` against two outcomes at t = (ε + ε′)/2: equal to 12 digits, and not below any t."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for width, place in product((0.5, 2.0, 6.0), (0.0, 0.25, 0.5)):
            at = width * place
            pair, best = BoundedRangePair(width), two_outcomes(width, (1.0 + place) / 2.0)
            known = pair.profile_ball(ball(at))
            found = best.profile_ball(ball(at)) * factor
            holds &= below(abs(found - known), 1e-12)
            for share in (0.1, 0.3, 0.6, 0.9):
                other = two_outcomes(width, share).profile_ball(ball(at))
                holds &= at_most(other.lower(), known.upper())
            count += 1
    return Step("`BoundedRangePair`", holds, f"{count} points")


PROOF = Proof(
    theorem=BOUNDED_RANGE,
    clauses=(
        Clause(
            (
                "The losses of the exponential mechanism lie in a range of length ε, and such pairs are "
                "dominated by one with δ(ε′) = (1 − e^((ε′−ε)/2))²/(1 − e^(−ε));"
            ),
            by=(
                two_outcomes_have_these_masses,
                the_best_place_is_in_the_middle,
                small_mechanisms_lie_below,
            ),
            argued=(
                "that the loss is, up to a constant, c times a number in a range of length ε/c; that "
                "splitting an outcome to the ends of the range raises the profile; that a supremum of "
                "profiles that is convex in x is the profile of a pair"
            ),
        ),
        Clause(
            "one such pair attains it at one ε′ only.",
            by=(the_best_place_is_in_the_middle,),
            argued="that a pair has one range [t − ε, t], and the gap (b − r·s)²/(b·r²) vanishes at one x for each t",
        ),
    ),
    library=(the_library_is_the_supremum,),
    uses=(EXACT_PROFILE, ADAPTIVE_DOMINATION),
    mutations={
        "a longer range": lambda: two_outcomes_have_these_masses(power=2),
        "not squared": lambda: the_best_place_is_in_the_middle(square=1),
        "a tenth less": lambda: small_mechanisms_lie_below(share=Fraction(9, 10)),
        "a tenth more": lambda: the_library_is_the_supremum(factor=1.1),
    },
)
