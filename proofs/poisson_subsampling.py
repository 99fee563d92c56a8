"""Amplification by Poisson subsampling.

Let A be the law of the mechanism on a sample without the record and B on the same sample with it,
given which other records are drawn. When the record is removed, the laws are (1−q)·A + q·B against A;
pointwise (1−q)·a + q·b − x·a = q·(b − y·a) with y = (x−1+q)/q. So the profile is q·f(y) for x ≥ 1−q and
1 − x below, where f is the profile of (B, A): it grows with f, and f lies nowhere above that of (P, Q).
Which other records are drawn is common to both sides: seeing it can only help, and each case obeys the
same bound. When the record is added the sides are exchanged, and so are those of the dominating pair.
"""

from fractions import Fraction
from itertools import chain, combinations, product

import sympy as sp
from flint import acb, arb, ctx

from dpverify.balls import ball
from dpverify.pairs import Dominates, FinitePair, GaussianPair, dominates
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from dpverify.theorems import EXACT_PROFILE, POISSON_SUBSAMPLING, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, below, dominated
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import nonnegative, same

_RATES = (Fraction(1, 4), Fraction(2, 3), Fraction(1))


def the_mixture_rescales_the_profile(shift: int = 1) -> Step:
    """(1−q)·a + q·b − x·a = q·(b − y·a) at y = (x − 1 + q)/q; for x ≤ 1−q it is ≥ 0 and sums to 1 − x."""
    a, b, x, u, v, w = sp.symbols("a b x u v w", nonnegative=True)
    q = u / (u + v)
    y = (x - shift + q) / q
    holds = same((1 - q) * a + q * b - x * a, q * (b - y * a))
    small = (1 - q) * u / (u + w)  # every x in [0, 1−q]
    holds &= nonnegative((1 - q) * a + q * b - small * a, (a, b, u, v, w))
    return Step("removed", holds, "all rates q, all x ≥ 0")


def the_exchanged_pair(sign: int = 1) -> Step:
    """a − x·((1−q)·a + q·b) = s·(a − (q·x/s)·b) with s = 1 − (1−q)·x: the formula for a record added."""
    a, b, x, q = sp.symbols("a b x q", positive=True)
    s = 1 - (1 - q) * x
    holds = same(a - x * ((1 - q) * a + q * b), s * (a - sign * q * x / s * b))
    return Step("added", holds, "all rates q, x < 1/(1−q)")


def small_datasets(slack: Fraction = Fraction(1)) -> Step:
    """Mechanisms on all samples of three records, against ((1−q)·Q + q·P, Q) by `dominates`."""
    laws = rational_laws(2, 4)[1:-1]  # both outcomes possible
    subsets = list(chain.from_iterable(combinations((1, 2), k) for k in range(3)))
    holds, count = VACUOUS, 0
    for ratio, rate in product((Fraction(2), Fraction(3)), _RATES):
        base = FinitePair.leaky_response(ratio, 0)
        bound = _mixed(base, rate * slack)
        for index in range(0, 3**8, 67):
            digits = [laws[index // 3**k % 3] for k in range(8)]
            without, present = digits[:4], digits[4:]
            pairs = [FinitePair(left=p, right=a) for p, a in zip(present, without, strict=True)]
            if not all(isinstance(dominates(base, pair), Dominates) for pair in pairs):
                continue
            weights = [rate ** len(s) * (1 - rate) ** (2 - len(s)) for s in subsets]
            absent_law = _average(weights, without)
            present_law = _average(weights, present)
            left = [(1 - rate) * a + rate * b for a, b in zip(absent_law, present_law, strict=True)]
            made = FinitePair(left=left, right=absent_law)
            holds &= dominated(bound, made)
            holds &= dominated(bound.reversed, made.reversed)
            count += 1
            if not holds.holds:
                break
    return Step("three records", holds & below(100, count), f"{count} mechanisms")


def _mixed(base: FinitePair, rate: Fraction) -> FinitePair:
    left = [(1 - rate) * q + rate * p for p, q in base.masses()]
    return FinitePair(left=left, right=base.right)


def _average(weights: list[Fraction], laws: list[tuple[Fraction, ...]]) -> list[Fraction]:
    return [
        sum((w * law[i] for w, law in zip(weights, laws, strict=True)), Fraction(0)) for i in (0, 1)
    ]


def the_library_has_this_profile(factor: float = 1.0) -> Step:
    """`SubsampledPair.profile_ball` against ∫(p − e^ε·q) over the outcomes where it is positive."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for rate, epsilon in ((0.25, 0.5), (0.5, 1.0), (0.125, -0.05)):
            pair = SubsampledPair(GaussianPair(Fraction(1)), rate * factor, Mixed.LEFT)
            q, x = ball(rate), ball(epsilon).exp()
            start = ((x - 1 + q) / q).log() + ball(0.5)  # where 1−q+q·e^(z−1/2) = x

            def excess(z: acb, q: arb = q, x: arb = x) -> acb:
                ratio = 1 - q + q * (z - arb(0.5)).exp()
                return (ratio - x) * (-z * z / 2).exp() / (2 * arb.pi()).sqrt()

            area = integral(excess, start, arb(45)) + arb(0, 1) * arb(-900).exp()
            holds &= overlaps(pair.profile_ball(ball(epsilon)), area)
            # 1 − x + x·δ(1/x) of one pair is the profile of the exchanged one.
            mirrored = 1 - 1 / x + pair.profile_ball(ball(epsilon)) / x
            holds &= overlaps(pair.reversed.profile_ball(-ball(epsilon)), mirrored)
            count += 2
    return Step("`SubsampledPair`", holds, f"{count} points, 20 digits")


PROOF = Proof(
    theorem=POISSON_SUBSAMPLING,
    clauses=(
        Clause(
            (
                "If (P, Q) dominates a mechanism when a record is removed, then ((1−q)·Q + q·P, Q) dominates "
                "its Poisson-subsampled version when one is removed,"
            ),
            by=(the_mixture_rescales_the_profile, small_datasets),
            argued=(
                "that which other records are drawn is common to both sides, and seeing it only helps; that "
                "q·f(y) grows with f"
            ),
        ),
        Clause(
            "and the exchanged pair when one is added.",
            by=(the_exchanged_pair, small_datasets),
            argued="the same with the sides exchanged",
        ),
    ),
    library=(the_library_has_this_profile,),
    uses=(EXACT_PROFILE, POST_PROCESSING),
    mutations={
        "y = (x − 2 + q)/q": lambda: the_mixture_rescales_the_profile(shift=2),
        "added with the wrong sign": lambda: the_exchanged_pair(sign=-1),
        "rate q/2": lambda: small_datasets(Fraction(1, 2)),
        "the library at q/2": lambda: the_library_has_this_profile(factor=0.5),
    },
)
