"""A random number of a user's records in a sample.

Given what else is drawn, the output with j of the user's records has the ratio Yⱼ to that with none, dominated by Yⱼ*,
that of B(j·s) to B. For every split of x into Σ wⱼ·xⱼ, (Σ wⱼ·Yⱼ − x)₊ ≤ Σ wⱼ·(Yⱼ − xⱼ)₊, and the means of the terms grow
when Yⱼ is replaced by Yⱼ*. In one dimension all Yⱼ* rise with the outcome: at xⱼ = Yⱼ*(t), with t where Σ wⱼ·Yⱼ* = x,
all terms are positive exactly above t, and add up. The terms −x·wⱼ·Zⱼ of a user in the place of the first one rise too.
"""

from fractions import Fraction
from itertools import permutations, product

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair, LaplacePair
from dpverify.pairs.subsampling.copies import CopiesPair
from dpverify.pairs.subsampling.poisson import falling_root
from dpverify.pairs.subsampling.shifts import shift_of
from dpverify.theorems import BLACKWELL, EXACT_PROFILE, SEVERAL_RECORDS, Step
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, below, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import never_negative, nonnegative, same


def ratios_rise_together(sign: int = 1) -> Step:
    """d ln Yⱼ*/dz = j·s ≥ 0 for Gaussian noise, and |z| − |z − j·s| never falls, for Laplace noise."""
    z = sp.Symbol("z", real=True)
    s, j, w = sp.symbols("s j w", positive=True)
    rising = sp.exp(sign * j * s * z - (j * s) ** 2 / 2)
    holds = same(rising * sp.exp(-(z**2) / 2), sp.exp(-((z - j * s) ** 2) / 2))
    holds &= nonnegative(sp.diff(sp.log(rising), z), (s, j))
    pieces = (-z + (z - j * s), z + (z - j * s), z - (z - j * s))
    holds &= every(never_negative(sp.expand(piece.subs(z, z + w) - piece)) for piece in pieces)
    return Step("monotone ratios", holds, "all j, s > 0, all z")


def sums_are_largest_when_all_rise_together(*, exchanged: bool = False) -> Step:
    """Two ratios on three equally likely outcomes, in all orders: Σ (Y + Z − x)₊ is largest when both rise."""
    values = [
        tuple(Fraction(k, 2) for k in ks) for ks in product(range(5), repeat=3) if sum(ks) == 6
    ]
    holds, count = VACUOUS, 0
    for first, second in product(values, repeat=2):
        if not holds.holds:
            break
        y = sorted(first)
        best, orders = sorted(second, reverse=exchanged), set(permutations(second))
        for order, k in product(orders, range(9)):
            x = Fraction(k, 2)
            holds &= at_most(_over(y, order, x), _over(y, best, x))
            count += 1
    return Step("comonotone sums", holds & below(1000, count), f"{count} orders")


def _over(
    first: list[Fraction], second: tuple[Fraction, ...] | list[Fraction], x: Fraction
) -> Fraction:
    return sum(
        (max(a + b - x, Fraction(0)) for a, b in zip(first, second, strict=True)), Fraction(0)
    )


def the_library_brackets_it(factor: float = 1.0) -> Step:
    """`CopiesPair` against P(z > t) − x·Q(z > t) in balls, t where the ratio is x: removed and replaced users."""
    holds, count = VACUOUS, 0
    bases: tuple[GaussianPair | LaplacePair, ...] = (
        GaussianPair(Fraction(1)),
        LaplacePair(scale=1.0, sensitivity=1.0),
    )
    with ctx.workprec(128):
        for base, both, epsilon in product(bases, (False, True), (0.5,)):
            pair = CopiesPair(base, 3, 0.25, both=both)
            truth = _profile(base, ball(epsilon), both=both) * factor
            found = [side.profile_ball(ball(epsilon)) for side in (pair.lower, pair.upper)]
            holds &= at_most(found[0].lower(), truth) & at_most(truth, found[1].upper())
            holds &= below(found[1].upper() - found[0].lower(), 1e-4)
            count += 1
    return Step("`CopiesPair`", holds, f"{count} points")


def _profile(base: GaussianPair | LaplacePair, epsilon: arb, *, both: bool) -> arb:
    """Three records of rate 1/4, each as the binomial formula has it."""
    shift, x = shift_of(base), epsilon.exp()
    weights = [ball(Fraction(n, 64)) for n in (27, 27, 9, 1)]

    def mixed(value: object, sign: int, z: arb) -> arb:
        return sum((w * value(sign * z, j) for j, w in enumerate(weights)), arb(0))  # type: ignore[operator]

    def falling(z: arb) -> arb:
        down = mixed(shift.ratio, -1, z) if both else arb(1)
        return -(mixed(shift.ratio, 1, z) / down).log()

    cut = falling_root(falling, -epsilon, arb(-20), arb(20))
    p = sum((w * shift.tail(cut - j * shift.size) for j, w in enumerate(weights)), arb(0))
    q = sum((w * shift.tail(cut + j * shift.size) for j, w in enumerate(weights)), arb(0))
    return p - x * (q if both else shift.tail(cut))


PROOF = Proof(
    theorem=SEVERAL_RECORDS,
    clauses=(
        Clause(
            (
                "If j of a user's records are drawn with probability wⱼ and j of them move noise by at most "
                "j·s, then Σ wⱼ·B(j·s) against B dominates when the user is removed,"
            ),
            by=(ratios_rise_together, sums_are_largest_when_all_rise_together),
            argued=(
                "that (Σ wⱼ·Yⱼ − x)₊ ≤ Σ wⱼ·(Yⱼ − xⱼ)₊ for every split of x, with equality on a line at xⱼ = "
                "Yⱼ*(t)"
            ),
        ),
        Clause(
            "and against Σ wⱼ·B(−j·s) when the user is replaced, for Gaussian and Laplace noise B.",
            by=(ratios_rise_together,),
            argued="the same for the terms −x·wⱼ·Zⱼ, which rise too",
        ),
    ),
    library=(the_library_brackets_it,),
    uses=(BLACKWELL, EXACT_PROFILE, POST_PROCESSING),
    mutations={
        "moved the other way": lambda: ratios_rise_together(sign=-1),
        "one rises, one falls": lambda: sums_are_largest_when_all_rise_together(exchanged=True),
        "a tenth more": lambda: the_library_brackets_it(factor=1.1),
    },
)
