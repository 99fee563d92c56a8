"""Amplification by Poisson subsampling when a record is replaced.

Given which other records are drawn, the two laws are (1−q)·A + q·V and (1−q)·A + q·W: A without the record, V with the
old one, W with the new one. Let Y = V/A and Z = W/A be likelihood ratios, Y* and Z* those of B(s) and B(−s) to B. As
(V, A) is dominated by (B(s), B), E h(Y) ≤ E h(Y*) for every convex h, and likewise for Z. With c = (1−q)·(1−x), the
profile at e^ε = x is, for every number a,

    E(c + q·Y − x·q·Z)₊ ≤ E(q·Y − a)₊ + E(a + c − x·q·Z)₊ ≤ E(q·Y* − a)₊ + E(a + c − x·q·Z*)₊.

Y* rises with the outcome and Z* falls. If c + q·Y* − x·q·Z* changes sign at t, then at a = q·Y*(t) both terms on the
right are positive exactly above t and add up to E(c + q·Y* − x·q·Z*)₊. If it is nowhere positive, the supremum of q·Y*
for a makes both terms 0; if it is nowhere negative, its expectation is 1 − x, which no profile at x ≤ 1 falls below,
and at the infimum of q·Y* for a both terms are their arguments. Which other records are drawn is common to both sides.

Where V and W have ratios in [e^(−ε), e^ε] to A, as under any noise that makes presence cost ε, the ratio of the two
laws is (1−q+q·Y)/(1−q+q·Z) with Y ≤ e^ε and Z ≥ e^(−ε).
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import acb, arb, ctx

from dpverify.balls import ball
from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LaplacePair
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from dpverify.theorems import BLACKWELL, EXACT_PROFILE, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, equal, every, provided, some
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import never_negative, nonnegative, same
from solvers.privacy.theorems import POISSON_REPLACED
from solvers.sgd import PoissonBatches, batch_noise_ratio


def the_positive_part_splits(weight: Fraction = Fraction(1)) -> Step:
    """u₊ + v₊ − (u + v)₊ ≥ 0: for u = a, v = b it is 0; for u = b + c, v = −b it is b; for u = b, v = −b − c it is b."""
    a, b, c = sp.symbols("a b c", nonnegative=True)
    share = sp.Rational(weight)
    holds = nonnegative(share * a + b - (a + b), (a, b))
    holds &= nonnegative(share * (b + c) + 0 - c, (b, c))  # (u + v)₊ = c
    holds &= nonnegative(share * b + 0 - 0, (b, c))  # u + v = −c
    return Step("(u + v)₊ ≤ u₊ + v₊", holds, "all signs")


def one_ratio_rises_and_the_other_falls(sign: int = -1) -> Step:
    """Gaussian noise: Y* = e^(sz − s²/2) and Z* = e^(−sz − s²/2) have d ln/dz = s and −s; Laplace: |z| − |z ∓ s|."""
    z, s, shift = (
        sp.Symbol("z", real=True),
        sp.Symbol("s", positive=True),
        sp.Symbol("w", positive=True),
    )
    rising, falling = sp.exp(s * z - s**2 / 2), sp.exp(sign * s * z - s**2 / 2)
    density = sp.exp(-(z**2) / 2)
    holds = same(rising * density, sp.exp(-((z - s) ** 2) / 2))
    holds &= same(falling * density, sp.exp(-((z + s) ** 2) / 2))
    # |z| − |z − s| is −s below 0, 2z − s up to s, s beyond: steps of 0, 2w and 0 for z + w on each piece.
    pieces = (-z + (z - s), z + (z - s), z - (z - s))
    moves = [sp.expand(piece.subs(z, z + shift) - piece) for piece in pieces]
    holds &= every(never_negative(move) for move in moves)
    return Step("monotone ratios", holds, "all s > 0, all z")


def the_split_is_exact_at_the_threshold(share: int = 1) -> Step:
    """Y* = y ± u, Z* = z ∓ w around t, where c = x·q·z − q·y: the parts are ±q·u and ±x·q·w, and add up."""
    y, z, u, w, x, q = sp.symbols("y z u w x q", nonnegative=True)
    c, a = x * q * z - q * y, share * q * y
    holds = VACUOUS
    for side in (1, -1):
        up, down = y + side * u, z - side * w
        first, second = q * up - a, a + c - x * q * down
        holds &= nonnegative(side * first, (y, z, u, w, x, q))
        holds &= nonnegative(side * second, (y, z, u, w, x, q))
        holds &= same(first + second, c + q * up - x * q * down)
    return Step("threshold", holds, "all x, q, all ratios")


def the_pure_case(power: int = 1) -> Step:
    """(1−q+qρ)·(1−q+qZ) − (1−q+q/ρ)·(1−q+qY) ≥ 0 for Y ≤ ρ and Z ≥ 1/ρ."""
    more, u, v, a, b, d = sp.symbols("more u v a b d", nonnegative=True)
    rho, q = 1 + more, u / (u + v)
    y, z = rho * a / (a + b), (2 - power) / rho + d  # Z ≥ 1/ρ
    gap = (1 - q + q * rho) * (1 - q + q * z) - (1 - q + q / rho) * (1 - q + q * y)
    holds = nonnegative(gap, (more, u, v, a, b, d))
    return Step("pure noise", holds, "all rates, all ε ≥ 0")


def all_small_laws(slack: Fraction = Fraction(1)) -> Step:
    """All A, V, W on two outcomes, in twelfths, with ratios within ρ = 2, 3: no ratio beyond, and it is attained."""
    laws = [law for law in rational_laws(2, 12) if min(law) > 0]
    holds, count, attained = VACUOUS, 0, set()
    for rho, q in product(
        (Fraction(2), Fraction(3)), (Fraction(1, 4), Fraction(2, 3), Fraction(1))
    ):
        bound = slack * (1 - q + q * rho) / (1 - q + q / rho)
        for a, v, w in product(laws, repeat=3):
            ratios = [law[i] / a[i] for law in (v, w) for i in (0, 1)]
            if max(ratios) > rho or min(ratios) < 1 / rho:
                continue
            for i in (0, 1):
                ratio = ((1 - q) * a[i] + q * v[i]) / ((1 - q) * a[i] + q * w[i])
                holds &= at_most(ratio, bound)
                attained |= {(rho, q)} if ratio == bound else set()
            count += 1
    return Step("small laws", holds & equal(len(attained), 6), f"{count} triples")


def the_library_has_this_profile(factor: float = 1.0) -> Step:
    """`SubsampledPair` mixed on both sides against ∫(p − x·q) above the threshold, for Gaussian noise."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for rate, mu, epsilon in ((0.25, 1, 0.5), (0.5, 2, 1.0), (0.125, 1, 0.05)):
            pair = SubsampledPair(GaussianPair(Fraction(mu) ** 2), rate * factor, Mixed.BOTH)
            q, x, s = ball(rate), ball(epsilon).exp(), arb(mu)
            c, scale = (1 - q) * (1 - x), q * (-s * s / 2).exp()
            start = ((-c + (c * c + 4 * x * scale * scale).sqrt()) / (2 * scale)).log() / s

            def excess(z: acb, q: arb = q, x: arb = x, c: arb = c, s: arb = s) -> acb:
                half = s * s / 2
                ratio = c + q * (z * s - half).exp() - x * q * (-z * s - half).exp()
                return ratio * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()

            area = integral(excess, start, arb(45)) + arb(0, 1) * arb(-900).exp()
            holds &= overlaps(pair.profile_ball(ball(epsilon)), area)
            count += 1
    return Step("`SubsampledPair`", holds, f"{count} points, 20 digits")


def the_library_has_this_noise(more: int = 1) -> Step:
    """`batch_noise_ratio`: (1−q+q·e^a)/(1−q+q·e^(−a)) ≤ e^(ε/T) at a = 1/ratio, nearly equal."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for rate, epsilon, steps in ((0.25, 1.0, 2), (0.5, 3.0, 10), (0.01, 0.5, 100)):
            found = batch_noise_ratio(
                PoissonBatches(rate), PureDP(epsilon=epsilon), steps, Relation.REPLACE_ONE, 100
            )
            q, a = ball(PoissonBatches(rate).drawn_rate), more / ball(found)
            loss = ((1 - q + q * a.exp()) / (1 - q + q * (-a).exp())).log()
            holds &= at_most(loss * steps, ball(epsilon)) & below(
                ball(epsilon) * (1 - arb(10) ** -9), loss * steps
            )
            laplace = SubsampledPair(
                LaplacePair(scale=found, sensitivity=1.0),
                PoissonBatches(rate).drawn_rate,
                Mixed.BOTH,
            )
            holds &= some((provided(more != 1), overlaps(laplace.max_loss_ball(), loss)))
            count += 1
    return Step("`batch_noise_ratio`", holds, f"{count} settings")


PROOF = Proof(
    theorem=POISSON_REPLACED,
    clauses=(
        Clause(
            (
                "If noise B in one dimension dominates what one record's presence does to a mechanism, by "
                "likelihood ratios of B(s) and B(−s) to B of which one rises and the other falls, then "
                "(1−q)·B + q·B(s) against (1−q)·B + q·B(−s) dominates its Poisson-subsampled version when a "
                "record is replaced;"
            ),
            by=(
                the_positive_part_splits,
                one_ratio_rises_and_the_other_falls,
                the_split_is_exact_at_the_threshold,
            ),
            argued=(
                "that domination is the convex order of ratios; the cases in which the sum never changes "
                "sign; that which other records are drawn is common to both sides"
            ),
        ),
        Clause(
            "where presence costs ε, the largest loss is at most ln((1−q+q·e^ε)/(1−q+q·e^(−ε))).",
            by=(the_pure_case, all_small_laws),
            argued="that a ratio bounded at every outcome bounds the loss",
        ),
    ),
    library=(the_library_has_this_profile, the_library_has_this_noise),
    uses=(EXACT_PROFILE, BLACKWELL, POST_PROCESSING),
    mutations={
        "half of u₊": lambda: the_positive_part_splits(Fraction(1, 2)),
        "both ratios rise": lambda: one_ratio_rises_and_the_other_falls(sign=1),
        "a = 2q·y": lambda: the_split_is_exact_at_the_threshold(share=2),
        "Z without a floor": lambda: the_pure_case(power=2),
        "nine tenths of it": lambda: all_small_laws(Fraction(9, 10)),
        "the library at q/2": lambda: the_library_has_this_profile(factor=0.5),
        "half the noise": lambda: the_library_has_this_noise(more=2),
    },
)
