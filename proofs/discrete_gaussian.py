"""Discrete Gaussian noise: s²/(2σ²)-zCDP, and the largest shift is the worst.

The Rényi moment of order α is e^(α(α−1)s²/(2σ²))·θ(αs)/θ(0) with θ(x) = Σ e^(−(k−x)²/(2σ²)). By Poisson's
summation θ(x) is a sum of cosines cos(2πnx) with positive coefficients, so none exceeds θ(0).

The loss is (2sz + s²)/(2σ²) at the outcome s + z, with z of the same distribution for every shift s. From s
to s + 1 it rises by (2z + 2s + 1)/(2σ²), which is positive where the loss is. The profile at ε ≥ 0 is an
expectation of a function that rises with the loss and vanishes below ε: it rises with s. Reflection about
s/2 exchanges the sides.

Several coordinates: the best tests of a shift s reject from a threshold on, with a coin at the threshold.
Of level P(Z ≥ m) they have the power P(Z ≥ m − s), and linearly between: so the power of s, put into that
of t, is the power of s + t, at every level. A vector shift of ℓ1 norm s + t is a shift s followed by one of
t in other coordinates, a chain of two; by the group bound no test has more power than the one put into
the other.
"""

import math
from fractions import Fraction
from itertools import product

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.pairs import FinitePair
from dpverify.pairs.discrete.gaussian import DiscreteGaussianPair, total, upper_tail
from dpverify.theorems import DISCRETE_GAUSSIAN, EXACT_PROFILE, GROUP_PRIVACY, Step
from proofs.support.checks import VACUOUS, dominated
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

_REACH = 25  # in σ: what lies beyond is below e^(−300)


def the_square_is_completed(factor: int = 1) -> Step:
    """α·(k−s)² + (1−α)·k² = (k−αs)² − α(α−1)·s²."""
    k, s, order = sp.symbols("k s alpha", real=True)
    left = order * (k - s) ** 2 + (1 - order) * k**2
    holds = same(left, (k - order * s) ** 2 - factor * order * (order - 1) * s**2)
    return Step("Rényi moment", holds, "all orders, all k and s")


def no_other_center_has_more_mass(quarter: float = 0.0) -> Step:
    """Σ e^(−(k−x)²/(2σ²)) = σ√(2π)·(1 + 2·Σ e^(−2π²σ²n²)·cos 2πnx), on a grid of σ and x."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for sigma, eighths in product((0.4, 0.7, 1.0, 2.5), range(9)):
            x, scale = ball(eighths / 8 + quarter), ball(sigma)
            reach = int(_REACH * sigma) + 3
            direct = sum(
                ((-((k - x) ** 2) / (2 * scale * scale)).exp() for k in range(-reach, reach + 1)),
                arb(0, 1e-60),
            )
            waves = arb(1, 1e-60)
            for n in range(1, 12):
                decay = (-2 * (arb.pi() * scale * n) ** 2).exp()
                waves += 2 * decay * (2 * arb.pi() * n * eighths / 8).cos()
            series = scale * (2 * arb.pi()).sqrt() * waves
            holds &= overlaps(direct, series, digits=15)
            count += 1
    return Step("θ(x) ≤ θ(0)", holds, f"{count} points")


def the_loss_rises_with_the_shift(at_least: int = 1) -> Step:
    """(2(s+1)z + (s+1)²) − (2sz + s²) = 2z + 2s + 1 ≥ s + 1 at z = y − s/2: positive losses rise."""
    s, y = sp.symbols("s y", nonnegative=True)
    z = y - s / 2
    rise = 2 * (s + 1) * z + (s + 1) ** 2 - 2 * s * z - s**2
    holds = nonnegative(sp.expand(rise - (s + at_least)), (s, y))
    return Step("loss rises", holds, "all s ≥ 0 and z ≥ −s/2")


def one_coordinate_is_the_worst(less: int = 0) -> Step:
    """`dominates` for s + t against s and t, with binomial noise: another log-concave one, rational."""
    weights = [math.comb(8, k) for k in range(9)]
    holds, count = VACUOUS, 0
    for s, t in product(range(1, 4), repeat=2):
        one, two = _moved(weights, s + t - less), _moved(weights, s).product(_moved(weights, t))
        holds &= dominated(one, two)
        count += 1
    return Step("one coordinate", holds, f"{count} pairs of shifts")


def _moved(weights: list[int], shift: int) -> FinitePair:
    law = [Fraction(weight, sum(weights)) for weight in weights]
    none = [Fraction(0)] * shift
    return FinitePair(left=none + law, right=law + none)


def the_sampler_keeps_the_right_share(power: int = 2) -> Step:
    """e^(−y/t)·e^(−(y − σ²/t)²/(2σ²)) = e^(−y²/(2σ²))·e^(−σ²/(2t²)): a constant times the target."""
    y, t, sigma = sp.symbols("y t sigma", positive=True)
    exponent = y / t + (y - sigma**2 / t) ** power / (2 * sigma**2)
    holds = same(exponent, y**2 / (2 * sigma**2) + sigma**2 / (2 * t**2))
    return Step("sampler", holds, "all σ, t > 0 and y ≥ 0")


def the_library_has_this_profile(off: int = 0) -> Step:
    """`DiscreteGaussianPair.profile_ball` and `upper_tail` against plain sums over k."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for sigma, shift, epsilon in product((0.5, 1.5, 6.0), (1, 3), (0.0, 0.4, 2.0)):
            scale, x = ball(sigma), ball(epsilon).exp()
            reach = int(_REACH * sigma) + 3
            weights = {k: (-((k / scale) ** 2) / 2).exp() for k in range(-reach, reach + shift + 1)}
            mass = sum(weights.values(), arb(0, 1e-60))
            truth = sum(
                (
                    (weights[k - shift] - x * weights[k]).max(arb(0))
                    for k in range(shift - reach, reach + 1)
                ),
                arb(0, 1e-60),
            )
            pair = DiscreteGaussianPair(sigma=sigma, shift=shift + off)
            holds &= overlaps(pair.profile_ball(ball(epsilon)), truth / mass, digits=12)
            above = sum((weights[k] for k in range(3, reach + 1)), arb(0, 1e-60))
            holds &= overlaps(upper_tail(sigma, 3), above / mass, digits=12)
            holds &= overlaps(total(sigma), mass)
            count += 1
    return Step("`DiscreteGaussianPair`", holds, f"{count} points")


PROOF = Proof(
    theorem=DISCRETE_GAUSSIAN,
    clauses=(
        Clause(
            "Integer noise with P(k) ∝ e^(−k²/(2σ²)) on whole answers of ℓ1 sensitivity Δ is Δ²/(2σ²)-zCDP;",
            by=(the_square_is_completed, no_other_center_has_more_mass),
            argued=(
                "Poisson’s summation formula, by which θ(x) is a sum of cosines with positive coefficients, "
                "so that θ(x) ≤ θ(0)"
            ),
        ),
        Clause(
            "one coordinate that moves by Δ is the worst case.",
            by=(the_loss_rises_with_the_shift, one_coordinate_is_the_worst),
            argued=(
                "that positive losses rise with the shift; that the power of a shift s, put into that of t, "
                "is the power of s + t, and the group bound"
            ),
        ),
    ),
    library=(the_sampler_keeps_the_right_share, the_library_has_this_profile),
    uses=(EXACT_PROFILE, GROUP_PRIVACY),
    cites=("Poisson's summation formula",),
    mutations={
        "twice the divergence": lambda: the_square_is_completed(factor=2),
        "another center": lambda: no_other_center_has_more_mass(quarter=0.25),
        "a steeper rise": lambda: the_loss_rises_with_the_shift(at_least=2),
        "a shift less": lambda: one_coordinate_is_the_worst(less=1),
        "a linear exponent": lambda: the_sampler_keeps_the_right_share(power=1),
        "another shift": lambda: the_library_has_this_profile(off=1),
    },
)
