"""Amplification by sampling a batch without replacement, when one record is replaced.

The batch holds the record with probability q. Let A be the output's law given that it does not, B and
B′ given that it does, with the old and the new record. With x = 1 + q·(y−1) and c = x/y, pointwise

    (1−q)·a + q·b − x·((1−q)·a + q·b′) = q·(b − y·((1−c)·a + c·b′)),

and (b − y·((1−c)·a + c·b′))₊ ≤ (1−c)·(b − y·a)₊ + c·(b − y·b′)₊ by convexity. B against B′ is a batch with
one record replaced; B against A as well, as putting a random one of the records outside the batch in
the place of the record makes A out of B. Both have a profile of at most f, that of (P, Q), so the
whole is at most q·f(y), which is the profile of ((1−q)·Q + q·P, Q) at x ≥ 1.
"""

from fractions import Fraction
from itertools import combinations, product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import Dominates, FinitePair, GaussianPair, dominates
from dpverify.pairs.subsampling.poisson import SubsampledPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair
from dpverify.theorems import (
    EXACT_PROFILE,
    POISSON_SUBSAMPLING,
    WITHOUT_REPLACEMENT,
    Step,
)
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, every
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import nonnegative, same


def advanced_joint_convexity(extra: int = 0) -> Step:
    """The identity above, with 0 ≤ c ≤ 1 for y ≥ 1."""
    a, b, new = sp.symbols("a b b_new", positive=True)
    more, u, v = sp.symbols("more u v", nonnegative=True)
    q, y = u / (u + v), 1 + more
    x = 1 + (q + extra) * (y - 1)
    c = x / y
    mixed = (1 - q) * a + q * b - x * ((1 - q) * a + q * new)
    holds = same(mixed, q * (b - y * ((1 - c) * a + c * new)))
    holds &= nonnegative(c, (more, u, v)) & nonnegative(1 - c, (more, u, v))
    return Step("advanced joint convexity", holds, "all q in (0, 1], all ε ≥ 0")


def positive_parts_are_convex(total: int = 1) -> Step:
    """(c·s + (1−c)·t)₊ ≤ c·(s)₊ + (1−c)·(t)₊, in the four cases of signs."""
    s, t, u, v = sp.symbols("s t u v", nonnegative=True)
    c = u / (u + v)
    rest = total - c
    holds = VACUOUS
    for sign_s, sign_t in product((1, -1), repeat=2):
        bound = c * (s if sign_s > 0 else 0) + rest * (t if sign_t > 0 else 0)
        inner = c * sign_s * s + (1 - c) * sign_t * t
        holds &= nonnegative(bound - inner, (s, t, u, v)) & nonnegative(bound, (s, t, u, v))
    return Step("(·)₊ is convex", holds, "all c in [0, 1]")


def small_datasets(slack: Fraction = Fraction(1)) -> Step:
    """Batches of 2 out of 3 records, the third replaced; the mechanism depends on the sum of the batch.

    At every e^ε ≥ 1 the profile is at most that of ((1−q)·Q + q·P, Q), q = 2/3, in both directions.
    """
    laws, rate = rational_laws(2, 6)[1:-1], Fraction(2, 3)
    holds, count = VACUOUS, 0
    for ratio in (Fraction(2), Fraction(5)):
        base = FinitePair.leaky_response(ratio, 0)
        left = [(1 - rate * slack) * q + rate * slack * p for p, q in base.masses()]
        bound = FinitePair(left=left, right=base.right)
        for by_sum in product(laws, repeat=3):  # the law for a batch with sum 0, 1, 2
            # One record replaced moves the sum by at most 1.
            steps = [
                FinitePair(left=by_sum[i], right=by_sum[j])
                for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))
            ]
            if not all(isinstance(dominates(base, pair), Dominates) for pair in steps):
                continue
            for others in product((0, 1), repeat=2):
                made = FinitePair(
                    left=_output(by_sum, (*others, 0)), right=_output(by_sum, (*others, 1))
                )
                for side in (made, made.reversed):
                    at = {Fraction(1), *(c for c in (*bound.corners, *side.corners) if c > 1)}
                    holds &= every(
                        at_most(side.delta_at_ratio(x), bound.delta_at_ratio(x)) for x in at
                    )
                count += 1
    return Step("three records", holds & below(100, count), f"{count} mechanisms")


def _output(by_sum: tuple[tuple[Fraction, ...], ...], records: tuple[int, ...]) -> list[Fraction]:
    batches = [by_sum[sum(batch)] for batch in combinations(records, 2)]
    return [sum((law[i] for law in batches), Fraction(0)) / len(batches) for i in (0, 1)]


def the_library_has_this_profile(factor: float = 1.0) -> Step:
    """`WithoutReplacementPair.profile_ball` is that of the removed pair for ε ≥ 0, mirrored below."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for rate, epsilon in ((0.25, 0.0), (0.5, 1.0), (0.125, 0.25)):
            pair = WithoutReplacementPair(GaussianPair(Fraction(1)), rate)
            removed = SubsampledPair(GaussianPair(Fraction(1)), rate * factor)
            e = ball(epsilon)
            holds &= overlaps(pair.profile_ball(e), removed.profile_ball(e))
            below = 1 - (-e).exp() + (-e).exp() * removed.profile_ball(e)
            holds &= overlaps(pair.profile_ball(-e), below)
            count += 2
    return Step("`WithoutReplacementPair`", holds, f"{count} points, 20 digits")


PROOF = Proof(
    theorem=WITHOUT_REPLACEMENT,
    clauses=(
        Clause(
            (
                "If (P, Q) dominates a mechanism when one record is replaced, then at every ε ≥ 0 the "
                "mechanism on a uniformly random batch of fixed size, which holds each record with "
                "probability q, has a profile of at most that of ((1−q)·Q + q·P, Q)."
            ),
            by=(advanced_joint_convexity, positive_parts_are_convex, small_datasets),
            argued=(
                "that putting a random one of the others in the place of the record makes A out of B, so that "
                "both differ in one record"
            ),
        ),
    ),
    library=(the_library_has_this_profile,),
    uses=(EXACT_PROFILE, POST_PROCESSING, POISSON_SUBSAMPLING),
    mutations={
        "x = 1 + (q+1)·(y−1)": lambda: advanced_joint_convexity(extra=1),
        "weights sum to less": lambda: positive_parts_are_convex(total=0),
        "rate q/2": lambda: small_datasets(Fraction(1, 2)),
        "the library at q/2": lambda: the_library_has_this_profile(factor=0.5),
    },
)
