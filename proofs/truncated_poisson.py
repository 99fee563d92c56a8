"""A Poisson sample that is cut down to B records.

Draw the others first: N of them, in random order. Without the record the sample is all of them, or the first B. With the
record, which is drawn with probability q: if N < B it joins; if N ≥ B, a uniformly random choice of B out of N + 1 holds it
with probability B/(N+1), and then B − 1 of the others, which are uniformly random among them as well: the first B − 1. So
given the others in order, the two laws are A and (1−r)·A + r·V, with V one record more than A and r = q, or with one
record of A displaced and r = q·B/(N+1) ≤ q. Records that move noise by s each displace by at most 2s. A larger rate and a
larger shift only raise the profile, and whether N ≥ B has the same probability with and without the record.
"""

from fractions import Fraction
from itertools import combinations, product

from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair
from dpverify.pairs.subsampling.poisson import SubsampledPair
from dpverify.pairs.subsampling.truncated import TruncatedPair
from dpverify.theorems import POISSON_SUBSAMPLING, TRUNCATED_POISSON, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws

Law = dict[frozenset[int], Fraction]


def the_record_displaces_one(shift: int = 0) -> Step:
    """B of N + 1, all sets equally likely: the same as r = B/(N+1) for the record with B − 1 random others."""
    holds, count = VACUOUS, 0
    for others, kept in product(range(1, 7), range(1, 7)):
        if others < kept:
            continue
        record = others
        direct = _uniform(list(combinations(range(others + 1), kept)))
        rate = Fraction(kept + shift, others + 1)
        split: Law = {}
        for sample, weight in _uniform(list(combinations(range(others), kept))).items():
            split[sample] = split.get(sample, Fraction(0)) + (1 - rate) * weight
        for sample, weight in _uniform(list(combinations(range(others), kept - 1))).items():
            held = sample | {record}
            split[held] = split.get(held, Fraction(0)) + rate * weight
        holds &= equal(direct, split)
        count += 1
    return Step("displacing", holds, f"{count} sizes")


def _uniform(samples: list[tuple[int, ...]]) -> Law:
    return {frozenset(sample): Fraction(1, len(samples)) for sample in samples}


def more_rate_raises_the_profile(sign: int = 1) -> Step:
    """(1−r)·Q + r·P against Q at every x ≥ 0 grows with r: all small pairs, in rationals."""
    holds, count = VACUOUS, 0
    for left, right in product(rational_laws(3, 4), repeat=2):
        if not holds.holds:
            break
        for low, x in product(
            (Fraction(1, 4), Fraction(1, 2)), (Fraction(k, 4) for k in range(1, 9))
        ):
            small, large = (
                sum(
                    (
                        max((1 - r) * q + r * p - x * q, Fraction(0))
                        for p, q in zip(left, right, strict=True)
                    ),
                    Fraction(0),
                )
                for r in (low, 2 * low)
            )
            holds &= at_most(0, sign * (large - small))
            count += 1
    return Step("larger rates", holds, f"{count} profiles")


def the_library_has_these_weights(factor: int = 1) -> Step:
    """`TruncatedPair.cut` is at least P(Bin(n−1, q) ≥ B), in rationals, and hardly more; the profile is the mean."""
    holds, count = VACUOUS, 0
    for rate, most, population in ((0.25, 3, 10), (0.5, 8, 12), (0.125, 1, 5)):
        pair = TruncatedPair(GaussianPair(Fraction(1)), rate, most, population)
        q, n = Fraction(rate), population - 1
        tail = sum(
            (_binomial(n, k) * q**k * (1 - q) ** (n - k) for k in range(most, n + 1)), Fraction(0)
        )
        holds &= at_most(factor * tail, pair.cut) & at_most(
            pair.cut, factor * tail * (1 + Fraction(1, 10**8))
        )
        with ctx.workprec(128):
            one = SubsampledPair(GaussianPair(Fraction(1)), rate).profile_ball(ball(0.5))
            two = SubsampledPair(GaussianPair(Fraction(4)), rate).profile_ball(ball(0.5))
            cut = ball(pair.cut)
            holds &= overlaps(pair.profile_ball(ball(0.5)), (1 - cut) * one + cut * two)
        count += 1
    return Step("`TruncatedPair`", holds, f"{count} settings")


def _binomial(n: int, k: int) -> int:
    return sum(1 for _ in combinations(range(n), k))


PROOF = Proof(
    theorem=TRUNCATED_POISSON,
    clauses=(
        Clause(
            (
                "Let τ be the probability that at least B of the other records are drawn. A Poisson sample of "
                "rate q that is cut down to B records is dominated by the Poisson pair with probability 1−τ, "
                "and by that of twice the shift with probability τ, where it is told which."
            ),
            by=(the_record_displaces_one, more_rate_raises_the_profile),
            argued=(
                "that a uniformly random choice given the order of the others is the same on both sides; that the profile of the mixture "
                "is convex in the rate and least, (1 − x)₊, at rate 0, so that it rises; poisson-subsampling for the larger shift"
            ),
        ),
    ),
    library=(the_library_has_these_weights,),
    uses=(POISSON_SUBSAMPLING, POST_PROCESSING),
    mutations={
        "kept with (B−1)/(N+1)": lambda: the_record_displaces_one(shift=-1),
        "more rate lowers it": lambda: more_rate_raises_the_profile(sign=-1),
        "twice the tail": lambda: the_library_has_these_weights(factor=2),
    },
)
