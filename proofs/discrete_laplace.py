"""Discrete Laplace noise: (Δ/b)-DP, and one coordinate is the worst.

With a = e^(−1/b) and shift s the loss at k is (|k| − |k−s|)/b ≤ s/b. Under P it is (s − 2W)/b with
W = min(N, s), where P(N ≥ j) = a^j/(1+a) for j ≥ 1. The profile at ε ≥ 0 is an expectation that falls in W
and vanishes from s/2 on. For shifts s and t the loss is (s + t − 2W)/b with W = min(N, s) + min(N′, t);
since one of them, say t, is at least (s + t)/2, W ≥ j whenever N′ ≥ j, for all j that matter: so W is
stochastically larger than min(N, s + t), and the expectation smaller. Reflection gives ε < 0. Adaptive
domination adds further coordinates one by one, and the profile rises with s and falls with b.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.pairs import FinitePair
from dpverify.pairs.discrete.laplace import DiscreteLaplacePair
from dpverify.theorems import DISCRETE_LAPLACE, EXACT_PROFILE, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.support.checks import VACUOUS, dominated, equal, every, some
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same


def the_loss_is_at_most_the_shift(slope: int = 1) -> Step:
    """|k| − |k−s| at k = −y, at k = s/(1+y) and at k = s + y: never above s."""
    s, y = sp.symbols("s y", nonnegative=True)
    inside = s / (1 + y)
    losses = (y - (s + y), inside - (s - inside), (s + y) - y)
    holds = every(nonnegative(slope * s - loss, (s, y)) for loss in losses)
    return Step("loss ≤ s/b", holds, "all k, all s ≥ 0")


def the_tail_is_geometric(power: int = 0) -> Step:
    """Σ_{k ≥ j} (1−a)/(1+a)·a^k = a^j/(1+a), and the mass at 0 is what is left."""
    a, j = sp.symbols("a j", positive=True)
    tail = (1 - a) / (1 + a) * a**j / (1 - a)  # the sum of a geometric series
    holds = same(tail, a ** (j + power) / (1 + a))
    holds &= same((1 - a) / (1 + a), 1 - 2 * tail.subs(j, 1))
    return Step("tail", holds, "all 0 < a < 1")


def _pair(base: Fraction, shift: int) -> FinitePair:
    """The masses of k ≤ 0, k = 1 … s−1 and k ≥ s, for rational a."""
    inside = [(1 - base) / (1 + base) * base**k for k in range(1, shift)]
    right = [1 / (1 + base), *inside, base**shift / (1 + base)]
    return FinitePair(left=right[::-1], right=right)


def one_coordinate_is_the_worst(less: int = 0) -> Step:
    """`dominates` for shifts s, t ≤ 4 against s + t, and for s − 1 against s; a = 1/2, 1/3, 4/5."""
    holds, count = VACUOUS, 0
    for base, s, t in product(
        (Fraction(1, 2), Fraction(1, 3), Fraction(4, 5)), range(1, 5), range(1, 5)
    ):
        one, two = _pair(base, s + t - less), _pair(base, s).product(_pair(base, t))
        holds &= dominated(one, two)
        holds &= dominated(one, _pair(base, max(s, t) + 1 - less))
        count += 1
    return Step("one coordinate", holds, f"{count} pairs of shifts")


def more_noise_is_more_private(*, exchanged: bool = False) -> Step:
    """`dominates` for a < a′ at equal shifts 1 … 4."""
    bases = [Fraction(1, 4), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10)]
    holds, count = VACUOUS, 0
    for less, more, shift in product(bases, bases, range(1, 5)):
        if less < more:
            strong, weak = _pair(less, shift), _pair(more, shift)
            strong, weak = (weak, strong) if exchanged else (strong, weak)
            holds &= dominated(strong, weak)
            count += 1
    return Step("more noise", holds, f"{count} pairs of scales")


def the_library_has_this_profile(off: int = 0) -> Step:
    """`DiscreteLaplacePair.profile_ball` against the sum over k of (P(k) − e^ε·Q(k))₊."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for scale, shift, epsilon in product((0.5, 1.0, 3.0), (1, 2, 5), (0.0, 0.3, 0.9)):
            base, x = (-1 / ball(scale)).exp(), ball(epsilon).exp()
            weight = (1 - base) / (1 + base)
            inside = sum(
                (
                    (base ** abs(k - shift) - x * base**k).max(arb(0)) * weight
                    for k in range(1, shift)
                ),
                arb(0),
            )
            top = ((1 - x * base**shift) / (1 + base)).max(arb(0))
            found = DiscreteLaplacePair(scale=scale, shift=shift + off).profile_ball(ball(epsilon))
            truth = inside + top
            holds &= some((overlaps(found, truth), equal(found, truth)))
            count += 1
    return Step("`DiscreteLaplacePair`", holds, f"{count} points")


PROOF = Proof(
    theorem=DISCRETE_LAPLACE,
    clauses=(
        Clause(
            "Integer noise with P(k) ∝ e^(−|k|/b) on whole answers of ℓ1 sensitivity Δ is (Δ/b)-DP;",
            by=(the_loss_is_at_most_the_shift, the_tail_is_geometric),
            argued="that a loss of at most ε at every outcome is ε-DP",
        ),
        Clause(
            "one coordinate that moves by Δ is the worst case.",
            by=(the_tail_is_geometric, one_coordinate_is_the_worst, more_noise_is_more_private),
            argued=(
                "that W is stochastically larger for two shifts than for their sum, where it matters; "
                "reflection for ε < 0; adaptive-domination for further coordinates"
            ),
        ),
    ),
    library=(the_library_has_this_profile,),
    uses=(EXACT_PROFILE, ADAPTIVE_DOMINATION),
    mutations={
        "no loss": lambda: the_loss_is_at_most_the_shift(slope=0),
        "one further": lambda: the_tail_is_geometric(power=1),
        "a shift less": lambda: one_coordinate_is_the_worst(less=1),
        "less noise is more private": lambda: more_noise_is_more_private(exchanged=True),
        "another shift": lambda: the_library_has_this_profile(off=1),
    },
)
