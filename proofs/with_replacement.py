"""Sampling with replacement, when one record is replaced.

The number J of copies of the record does not depend on the data. With A the output's law given J = 0 and Vⱼ given J = j,

    w₀·A + Σ wⱼ·Vⱼ = Σ (wⱼ + aⱼ·w₀)·[(1−ρⱼ)·A + ρⱼ·Vⱼ],   ρⱼ = wⱼ/(wⱼ + aⱼ·w₀), Σ aⱼ = 1,

and the same with Wⱼ for the new record: a mixture with weights that both sides share, so that the profile is at most the
mean of the profiles. In each, Vⱼ against Wⱼ are samples that differ in j draws, and so are Vⱼ against A, as drawing the j
copies anew from the other records makes A out of Vⱼ. So advanced joint convexity applies, as for batches without
replacement, with the profile of j replaced records.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import Dominates, FinitePair, GaussianPair, dominates
from dpverify.pairs.subsampling.poisson import SubsampledPair
from dpverify.pairs.subsampling.with_replacement import WithReplacementPair
from dpverify.theorems import WITH_REPLACEMENT, WITHOUT_REPLACEMENT, Evidence, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.form import Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import same


def labels_split_the_mixture(more: int = 0) -> Step:
    """The identity above, for two numbers of copies."""
    a, v, u, w0, w1, w2, share = sp.symbols("A V1 V2 w0 w1 w2 a", positive=True)
    shares = (share, 1 - share + more)
    mixed = 0
    for law, weight, part in zip((v, u), (w1, w2), shares, strict=True):
        label = weight + part * w0
        rate = weight / label
        mixed += label * ((1 - rate) * a + rate * law)
    holds = same(mixed, w0 * a + w1 * v + w2 * u)
    return Step("labels", Evidence.SYMBOLIC, holds, "all shares, all weights")


def small_datasets(slack: Fraction = Fraction(1)) -> Step:
    """Two draws from two records, one replaced; the mechanism depends on the sum: both labels, in equal shares."""
    laws = rational_laws(2, 6)[1:-1]
    once, twice = (FinitePair.leaky_response(Fraction(2) ** j, 0) for j in (1, 2))
    weights = {1: Fraction(1, 2), 2: Fraction(1, 4)}
    holds, count = True, 0
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
                at = {
                    Fraction(1),
                    Fraction(5, 4),
                    Fraction(3, 2),
                    *(c for c in side.corners if c > 1),
                }
                for x in at:
                    bound = Fraction(0)
                    for j, base in ((1, once), (2, twice)):
                        label = weights[j] + Fraction(1, 8)
                        rate = slack * weights[j] / label
                        left = [(1 - rate) * q + rate * p for p, q in base.masses()]
                        bound += label * FinitePair(left=left, right=base.right).delta_at_ratio(x)
                    holds &= side.delta_at_ratio(x) <= bound
        count += 1
    return Step("two records", Evidence.EXACT, holds and count > 20, f"{count} mechanisms")


def _output(by_sum: tuple[tuple[Fraction, ...], ...], other: int, record: int) -> list[Fraction]:
    drawn = [by_sum[a + b] for a, b in product((other, record), repeat=2)]
    return [sum((law[i] for law in drawn), Fraction(0)) / 4 for i in (0, 1)]


def the_library_stays_above(factor: float = 1.0) -> Step:
    """`WithReplacementPair.upper` at one draw is the pair without replacement, and above its instance at four."""
    holds, count = True, 0
    with ctx.workprec(128):
        for epsilon in (0.0, 0.25, 1.0):
            base = GaussianPair(Fraction(1))
            once = SubsampledPair(base, 0.25).profile_ball(ball(epsilon)) * factor
            upper = WithReplacementPair(base, 1, 4).upper.profile_ball(ball(epsilon)).upper()
            holds &= bool(upper >= once and upper <= once * 1.001)
            many = WithReplacementPair(base, 4, 64)
            holds &= bool(
                many.removed.lower.profile_ball(ball(epsilon)).lower()
                <= many.upper.profile_ball(ball(epsilon)).upper()
            )
            count += 2
    return Step("`WithReplacementPair`", Evidence.CERTIFIED, holds, f"{count} points")


PROOF = Proof(
    theorem=WITH_REPLACEMENT,
    steps=(labels_split_the_mixture, small_datasets, the_library_stays_above),
    uses=(WITHOUT_REPLACEMENT, POST_PROCESSING),
    mutations={
        "shares that add up to 2": lambda: labels_split_the_mixture(more=1),
        "half the rates": lambda: small_datasets(Fraction(1, 2)),
        "a tenth more": lambda: the_library_stays_above(factor=1.1),
    },
)
