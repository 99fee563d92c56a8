"""Mixtures of Gaussians: noise on an answer that moves by a random vector.

Let the shift be the vector vᵢ with probability wᵢ. Against N(0, σ²I) the likelihood ratio is R = Σ wᵢ·Yᵢ, Yᵢ
log-normal with a law that depends on |vᵢ| alone. Both profiles, E(R − x)₊ and E(1 − x·R)₊, are expectations of convex
functions of R. Of all variables with given laws those that rise together have the largest sum in the convex order:
(y + z − x)₊ is supermodular. Shifts along one line rise together, and each Yᵢ grows in that order with |vᵢ|, as do sums
of variables that stay comonotone. So Σ wᵢ·N(cᵢ, σ²) against N(0, σ²) on a line dominates.
"""

from fractions import Fraction
from itertools import permutations, product

from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair, Mixed, SubsampledPair
from dpverify.pairs.subsampling.mixtures import GaussianMixturePair
from dpverify.theorems import EXACT_PROFILE, GAUSSIAN_MIXTURE, SEVERAL_RECORDS, Step
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof


def rising_together_is_the_worst(sign: int = 1) -> Step:
    """Σ (yᵢ + z_π(i) − x)₊ over all pairings of four values, against the sorted one."""
    values = [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(5, 2)]
    others = [Fraction(2), Fraction(1, 2), Fraction(0), Fraction(3)]
    rising = list(zip(sorted(values), sorted(others), strict=True))
    holds, count = VACUOUS, 0
    for order, tenths in product(permutations(others), range(0, 60, 3)):
        x = Fraction(tenths, 10)
        some = sum(max(y + z - x, Fraction(0)) for y, z in zip(values, order, strict=True))
        most = sum(max(y + z - x, Fraction(0)) for y, z in rising)
        holds &= at_most(0, sign * (most - some))
        count += 1
    return Step("comonotone", holds, f"{count} pairings and levels")


def longer_shifts_are_worse(*, exchanged: bool = False) -> Step:
    """E(Y − x)₊ of N(μ, 1) to N(0, 1) rises with μ: nine shifts, six levels."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for tenths, epsilon in product(range(1, 10), (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)):
            here, there = (
                GaussianPair(Fraction(k, 10) ** 2).profile_ball(ball(epsilon))
                for k in (tenths, tenths + 1)
            )
            holds &= below(there, here) if exchanged else below(here, there)
            count += 1
    return Step("longer shifts", holds, f"{count} points")


def two_shifts_are_a_poisson_sample(rate: float = 0.25) -> Step:
    """`GaussianMixturePair` at shifts 0 and c against `SubsampledPair`, in both directions."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for shift, epsilon in product((0.5, 1.0, 2.0), (0.0, 0.125, 0.25)):
            mixture = GaussianMixturePair((0.0, shift), (0.75, 0.25))
            sampled = SubsampledPair(GaussianPair(Fraction(shift) ** 2), rate, Mixed.LEFT)
            for one, two in ((mixture, sampled), (mixture.reversed, sampled.reversed)):
                found, known = (pair.profile_ball(ball(epsilon)) for pair in (one, two))
                holds &= overlaps(found, known, digits=12)
                count += 1
    return Step("Poisson samples", holds, f"{count} points")


def the_cells_bound_it(factor: float = 1.0) -> Step:
    """`lower` ≤ profile ≤ `upper` for three shifts, in both directions."""
    pair = GaussianMixturePair((0.0, 1.0, 2.0), (0.25, 0.5, 0.25))
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for side, epsilon in product((pair, pair.reversed), (0.0, 0.3, 0.9)):
            truth = side.profile_ball(ball(epsilon)) * factor
            holds &= at_most(side.lower.profile_ball(ball(epsilon)).lower(), truth)
            holds &= at_most(truth, side.upper.profile_ball(ball(epsilon)).upper())
            count += 1
    return Step("cells", holds, f"{count} points")


PROOF = Proof(
    theorem=GAUSSIAN_MIXTURE,
    clauses=(
        Clause(
            (
                "Gaussian noise on an answer that moves by a random vector of length at most cᵢ, with "
                "probability wᵢ, is dominated in both directions by Σ wᵢ·N(cᵢ, σ²) against N(0, σ²)."
            ),
            by=(rising_together_is_the_worst, longer_shifts_are_worse),
            argued=(
                "that (y + z − x)₊ is supermodular, so that of all variables with given laws comonotone ones "
                "have the largest sum in the convex order (proved for this form in several-records); that "
                "lognormal ratios grow in that order with the length"
            ),
        ),
    ),
    library=(two_shifts_are_a_poisson_sample, the_cells_bound_it),
    uses=(EXACT_PROFILE, SEVERAL_RECORDS),
    mutations={
        "the least": lambda: rising_together_is_the_worst(sign=-1),
        "shorter shifts": lambda: longer_shifts_are_worse(exchanged=True),
        "another rate": lambda: two_shifts_are_a_poisson_sample(rate=0.3),
        "a tenth more": lambda: the_cells_bound_it(factor=1.1),
    },
)
