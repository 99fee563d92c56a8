"""Rényi divergences are integrals of the profile, so a larger profile has larger divergences.

With t = p/q, t^α is an integral of (t − x)₊ over x with positive weights. Multiplied by q and
added up over outcomes, Σ p^α·q^(1−α) is the integral of the profile with the same weights. A
larger profile, at all ratios x > 0, has larger divergences of every order α > 1. Where q = 0 < p
both sides are ∞.
"""

from fractions import Fraction
from itertools import pairwise

import sympy as sp

from dpverify.pairs import FinitePair
from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most, below, equal
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import positive, same, tends_to

RENYI_FROM_PROFILE = Theorem(
    name="renyi-from-profile",
    statement=(
        "The moment of order α > 1 of p/q under Q is α(α−1)·∫ x^(α−2)·δ(x) dx, with δ(x) the "
        "profile at the ratio x; so a pair that dominates has the larger Rényi divergences."
    ),
    source="Liese, Vajda, IEEE Trans. Inf. Theory 52, 2006, Thm 11",
    proof="proofs/renyi_from_profile.py",
)


def a_power_is_a_mixture_of_ramps(shift: int = 2) -> Step:
    """t^α = α(α−1)·∫₀^t x^(α−2)·(t − x) dx, with weights that are positive for α > 1."""
    t, above = sp.symbols("t alpha_minus_1", positive=True)
    order, x = 1 + above, sp.Symbol("x", positive=True)
    weight = order * above * x ** (order - shift)
    primitive = order * above * (t * x ** (order - 1) / (order - 1) - x**order / order)
    is_primitive = same(sp.diff(primitive, x), weight * (t - x))
    at_top = same(primitive.subs(x, t), t**order)
    at_bottom = tends_to(x**above, x, 0, 0)  # both powers in the primitive are positive
    holds = is_primitive & at_top & at_bottom & positive(weight)
    return Step("t^α is a mixture of (t − x)₊", holds, "all t > 0, all α > 1")


def the_library_agrees(factor: int = 2) -> Step:
    """`renyi_moment(2)` = 2·∫ `delta_at_ratio` dx, by the trapezoid rule, which is exact here."""
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 4):
        if pair.likelihood.singular:
            continue
        nodes = sorted({Fraction(0), *pair.corners})
        area = sum(
            (b - a) * (pair.delta_at_ratio(a) + pair.delta_at_ratio(b)) / 2
            for a, b in pairwise(nodes)
        )
        holds &= equal(pair.renyi_moment(2), factor * area)
        count += 1
    return Step("moment of order 2", holds & below(0, count), f"{count} rational pairs")


def moments_grow_with_the_profile(order: int = 3) -> Step:
    """`renyi_moment` of a merged pair is at most that of the pair, at orders 2 and 3."""
    holds, count = VACUOUS, 0
    for pair in rational_pairs(3, 4):
        if pair.likelihood.singular:
            continue
        left, right = pair.left, pair.right
        merged = FinitePair(
            left=[left[0] + left[1], left[2]], right=[right[0] + right[1], right[2]]
        )
        for each in (2, order):
            holds &= at_most(
                merged.renyi_moment(each), pair.renyi_moment(3 if each == order else each)
            )
            count += 1
    return Step("moments of merged pairs", holds, f"{count} pairs and orders")


PROOF = Proof(
    theorem=RENYI_FROM_PROFILE,
    clauses=(
        Clause(
            (
                "The moment of order α > 1 of p/q under Q is α(α−1)·∫ x^(α−2)·δ(x) dx, with δ(x) the profile "
                "at the ratio x;"
            ),
            by=(a_power_is_a_mixture_of_ramps, the_library_agrees),
            argued="that sums and integrals may be exchanged, as all terms are ≥ 0",
        ),
        Clause(
            "so a pair that dominates has the larger Rényi divergences.",
            by=(moments_grow_with_the_profile,),
            argued="that an integral with positive weights grows with the profile",
        ),
    ),
    mutations={
        "weight x^(α−1)": lambda: a_power_is_a_mixture_of_ramps(shift=1),
        "weight 1 at order 2": lambda: the_library_agrees(factor=1),
        "order 5 against 3": lambda: moments_grow_with_the_profile(order=5),
    },
)
