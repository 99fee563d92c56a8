"""Sampling with replacement, when one record is replaced.

Draw m records among the others, and an order of the m places; then put the record into the first J places, J ~ Bin(m, 1/n).
Given the draws and the order, A is one law, and Vⱼ and Wⱼ, with j places taken by the old or by the new record, differ from
A and from each other in j records. The law of J does not depend on the data. With V = Σ wⱼ·Vⱼ/η over j ≥ 1 and W likewise,
advanced joint convexity at x = 1 + η·(y−1) and c = x/y gives

    D_x((1−η)·A + η·V, (1−η)·A + η·W) ≤ η·(1−c)·D_y(V, A) + η·c·D_y(V, W).

Let Yⱼ be the ratio of Vⱼ to A, dominated by Yⱼ* of B(j·s) to B. As for several records of a user, Σ wⱼ·Yⱼ is largest in
the convex order when all rise together, so η·D_y(V, A) = E(Σ_{j≥1} wⱼ·Yⱼ − η·y)₊ ≤ E(Σ_{j≥0} wⱼ·Yⱼ* − x)₊, as Y₀ = 1 and
w₀ + η·y = x. And D_y(V, W) is at most the mean of the D_y(Vⱼ, Wⱼ), by joint convexity.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import Dominates, FinitePair, GaussianPair, dominates
from dpverify.pairs.subsampling.poisson import SubsampledPair
from dpverify.pairs.subsampling.with_replacement import WithReplacementPair
from dpverify.theorems import (
    EXACT_PROFILE,
    SEVERAL_RECORDS,
    WITH_REPLACEMENT,
    WITHOUT_REPLACEMENT,
    Step,
)
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, every
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import nonnegative, same


def thresholds_agree(extra: int = 0) -> Step:
    """w₀ + η·y = x at y = 1 + (x−1)/η, and 0 ≤ c = x/y ≤ 1."""
    more, u, v = sp.symbols("more u v", positive=True)
    chance, x = u / (u + v), 1 + more
    y = 1 + (x - 1 + extra) / chance
    holds = same(1 - chance + chance * y, x)
    holds &= nonnegative(x / y, (more, u, v)) & nonnegative(1 - x / y, (more, u, v))
    return Step("thresholds", holds, "all η in (0, 1), all ε > 0")


def small_datasets(slack: Fraction = Fraction(1)) -> Step:
    """Two draws from two records, one replaced; the mechanism depends on the sum, by factors of 2 and 4."""
    laws = rational_laws(2, 6)[1:-1]
    once, twice = (FinitePair.leaky_response(Fraction(2) ** j, 0) for j in (1, 2))
    holds, count = VACUOUS, 0
    for by_sum in product(laws, repeat=3):  # the law for a sample with sum 0, 1, 2
        near = [
            FinitePair(left=by_sum[i], right=by_sum[j]) for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))
        ]
        far = [FinitePair(left=by_sum[i], right=by_sum[j]) for i, j in ((0, 2), (2, 0))]
        if not all(isinstance(dominates(once, pair), Dominates) for pair in near):
            continue
        if not all(isinstance(dominates(twice, pair), Dominates) for pair in far):
            continue
        for other in (0, 1):
            made = FinitePair(left=_output(by_sum, other, 0), right=_output(by_sum, other, 1))
            for side in (made, made.reversed):
                at = {Fraction(k, 8) for k in range(8, 17)} | {c for c in side.corners if c > 1}
                holds &= every(
                    at_most(side.delta_at_ratio(x), slack * _bound(once, twice, x)) for x in at
                )
        count += 1
    return Step("two records", holds & below(20, count), f"{count} mechanisms")


def _output(by_sum: tuple[tuple[Fraction, ...], ...], other: int, record: int) -> list[Fraction]:
    drawn = [by_sum[a + b] for a, b in product((other, record), repeat=2)]
    return [sum((law[i] for law in drawn), Fraction(0)) / 4 for i in (0, 1)]


def _bound(once: FinitePair, twice: FinitePair, x: Fraction) -> Fraction:
    """One copy with probability 1/2, two with 1/4: η = 3/4. The ratios 1/4, 1/2, 2, 4 rise together."""
    y = 1 + (x - 1) * Fraction(4, 3)
    low, high = Fraction(2, 3), Fraction(4, 5)  # where the ratios of one and of two copies jump
    pieces = (
        (low, Fraction(1, 2), Fraction(1, 4)),
        (high - low, Fraction(2), Fraction(1, 4)),
        (1 - high, Fraction(2), Fraction(4)),
    )
    apart = sum(
        (m * max(Fraction(1, 4) + a / 2 + b / 4 - x, Fraction(0)) for m, a, b in pieces),
        Fraction(0),
    )
    told = once.delta_at_ratio(y) / 2 + twice.delta_at_ratio(y) / 4
    return (1 - x / y) * apart + x / y * told


def the_library_stays_above(factor: float = 1.0) -> Step:
    """`WithReplacementPair.upper` at one draw is the pair without replacement, and above its instance at four."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for epsilon in (0.0, 0.25, 1.0):
            base = GaussianPair(Fraction(1))
            once = SubsampledPair(base, 0.25).profile_ball(ball(epsilon)) * factor
            upper = WithReplacementPair(base, 1, 4).upper.profile_ball(ball(epsilon)).upper()
            holds &= at_most(once, upper) & at_most(upper, once * 1.001)
            many = WithReplacementPair(base, 4, 64)
            holds &= at_most(
                many.removed.lower.profile_ball(ball(epsilon)).lower(),
                many.upper.profile_ball(ball(epsilon)).upper(),
            )
            count += 2
    return Step("`WithReplacementPair`", holds, f"{count} points")


PROOF = Proof(
    theorem=WITH_REPLACEMENT,
    clauses=(
        Clause(
            (
                "Let a sample hold j copies of a record with probability wⱼ, and j replaced records move "
                "Gaussian or Laplace noise B by at most j·s. With η = 1 − w₀, f the profile of Σ wⱼ·B(j·s) "
                "against B and fⱼ that of B(j·s) against B, at every x = e^ε ≥ 1 the profile is at most "
                "(1−c)·f(x) + c·Σ wⱼ·fⱼ(y) over j ≥ 1, y = 1 + (x−1)/η and c = x/y;"
            ),
            by=(thresholds_agree, small_datasets),
            argued=(
                "advanced joint convexity (without-replacement) given the draws and their order; that Σ wⱼ·Yⱼ "
                "is largest when all rise together (several-records)"
            ),
        ),
        Clause(
            "and at most the convex envelope of this bound.",
            argued="that a profile is a supremum of lines in e^ε (exact-profile), so convex in it",
        ),
    ),
    library=(the_library_stays_above,),
    uses=(WITHOUT_REPLACEMENT, SEVERAL_RECORDS, EXACT_PROFILE, POST_PROCESSING),
    mutations={
        "y = 1 + x/η": lambda: thresholds_agree(extra=1),
        "half of the bound": lambda: small_datasets(Fraction(1, 2)),
        "a tenth more": lambda: the_library_stays_above(factor=1.1),
    },
)
