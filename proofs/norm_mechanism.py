"""Noise with density ∝ exp(−‖z‖/b) is (Δ/b)-DP, for any norm, and costs what Laplace noise does.

The normalizing constant does not depend on where the noise is centered. With N = ‖z − f‖ and
N′ = ‖z − f′‖ the loss is (N′ − N)/b, and N′ ≤ N + ‖f − f′‖ is the triangle inequality, one of the
axioms of a norm. At z = f it is an equality.

For a shift v of length s ≤ Δ and t ≤ s/b, let a = (s − tb)/(2s). Then ‖z‖ and ‖z − v‖ − tb are both at
most ‖z − av‖ + (s − tb)/2, again by the triangle inequality. So the part of the two densities that a
test at e^t cannot tell apart, ∫ min(p(z), e^t·p(z − v)) dz, is at least e^(−(s − tb)/(2b))·∫ p, and
δ(t) ≤ 1 − e^((t − s/b)/2). Laplace noise in one dimension, a norm mechanism, has this profile.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.guarantees import PureDP
from dpverify.mechanisms import NormMechanism
from dpverify.theorems import NORM_MECHANISM, Step
from proofs.support.checks import VACUOUS, answered, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same


def the_loss_is_bounded(share: Fraction = Fraction(1)) -> Step:
    """ln(e^(−N/b)/e^(−N′/b)) = (N′ − N)/b ≤ Δ/b, for N′ = N + ‖f−f′‖ − slack and ‖f−f′‖ ≤ Δ."""
    near, distance, room, scale = sp.symbols("N distance room b", positive=True)
    slack = sp.Symbol("slack", nonnegative=True)
    far = near + distance - slack
    loss = sp.expand_log(sp.log(sp.exp(-near / scale) / sp.exp(-far / scale)))
    holds = same(loss, (far - near) / scale)
    bound = sp.Rational(share) * (distance + room) / scale  # Δ = distance + room
    holds &= nonnegative(bound - (far - near) / scale, (distance, room, slack, scale))
    return Step("loss ≤ Δ/b", holds, "all norms, all dimensions")


def the_normalizing_constant(power: int = 0) -> Step:
    """∫ e^(−‖z‖/b) dz = vol·∫ d·t^(d−1)·e^(−t/b) dt = vol·d!·b^d, by shells of volume vol·t^d."""
    t, b, d = sp.symbols("t b d", positive=True)
    shells = sp.integrate(d * t ** (d - 1) * sp.exp(-t / b), (t, 0, sp.oo))
    holds = same(sp.gammasimp(shells), sp.gammasimp(sp.gamma(d + 1) * b ** (d + power)))
    return Step("normalizing constant", holds, "all b > 0, all dimensions d")


def what_is_not_told_apart(share: Fraction = Fraction(1, 2)) -> Step:
    """With a = (s − tb)/(2s), both exponents are at most (s − tb)/2 above that of the middle."""
    b, slack = sp.symbols("b slack", positive=True)
    middle = sp.Symbol("middle", nonnegative=True)  # ‖z − av‖
    t = sp.Symbol("t", real=True)
    s = t * b + slack  # t ≤ s/b
    a = sp.Rational(share) * (s - t * b) / s
    near, far = (
        middle + a * s,
        middle + (1 - a) * s - t * b,
    )  # the most that ‖z‖, ‖z − v‖ − tb can be
    most = middle + (s - t * b) / 2
    return Step("both are at most the middle and a half", same(near, most) & same(far, most), "all")


def laplace_noise_attains_it(half: Fraction = Fraction(1, 2)) -> Step:
    """∫ max(p(z) − e^t·p(z − s), 0) dz of Laplace noise is 1 − e^((t − s/b)/2), by its antiderivative."""
    z = sp.Symbol("z", real=True)
    t, over = sp.symbols("t over", positive=True)
    s = t + over  # scale b = 1, and t < s
    cut = (s - t) / 2  # to the left of it p(z) is more than e^t·p(z − s), as 0 < cut < s
    left = sp.integrate(sp.exp(z) / 2, (z, -sp.oo, 0)) + sp.integrate(sp.exp(-z) / 2, (z, 0, cut))
    right = sp.integrate(sp.exp(z - s) / 2, (z, -sp.oo, cut))
    holds = same(left - sp.exp(t) * right, 1 - sp.exp(sp.Rational(half) * (t - s)))
    return Step("Laplace noise has this profile", holds, "all 0 < t < s, in units of the scale")


def the_library_claims_this(share: Fraction = Fraction(1)) -> Step:
    """`NormMechanism.claim` is Δ/b; on a grid of z the loss of p = 1 and p = ∞ stays within and attains it."""
    holds, count = VACUOUS, 0
    for norm, length in ((1.0, _sum), (float("inf"), _largest)):
        for shift in ((1, 0), (2, -1), (3, 3)):
            size = length(shift)
            mechanism = NormMechanism(scale=4.0, sensitivity=float(size), norm=norm)
            holds &= answered(
                mechanism.claim.guarantee == PureDP(epsilon=float(share * Fraction(size, 4)))
            )
            losses = [
                Fraction(length((x - shift[0], y - shift[1])) - length((x, y)), 4)
                for x, y in product(range(-5, 6), repeat=2)
            ]
            holds &= equal(max(losses), share * Fraction(size, 4))
            count += 1
    return Step("`NormMechanism`", holds, f"{count} shifts, 121 outcomes each")


def _sum(z: tuple[int, int]) -> int:
    return abs(z[0]) + abs(z[1])


def _largest(z: tuple[int, int]) -> int:
    return max(abs(z[0]), abs(z[1]))


PROOF = Proof(
    theorem=NORM_MECHANISM,
    clauses=(
        Clause(
            "Noise with density ∝ exp(−‖z‖/b) on a query of ‖·‖ sensitivity Δ is (Δ/b)-DP.",
            by=(the_loss_is_bounded, the_normalizing_constant),
            argued="the triangle inequality; that a loss of at most ε at every outcome is ε-DP",
        ),
        Clause(
            "Its profile is at most that of Laplace noise, 1 − e^((t − Δ/b)/2), which one dimension "
            "attains.",
            by=(what_is_not_told_apart, laplace_noise_attains_it),
            argued="the triangle inequality; that δ(t) is 1 − ∫ min(p, e^t·q), and grows with the "
            "length of the shift; that the bound is 0 for t ≥ Δ/b",
        ),
    ),
    library=(the_library_claims_this,),
    mutations={
        "loss ≤ Δ/(2b)": lambda: the_loss_is_bounded(Fraction(1, 2)),
        "constant b^(d+1)": lambda: the_normalizing_constant(power=1),
        "a third of the way": lambda: what_is_not_told_apart(Fraction(1, 3)),
        "profile 1 − e^(t − s/b)": lambda: laplace_noise_attains_it(Fraction(1)),
        "the library claims half": lambda: the_library_claims_this(Fraction(1, 2)),
    },
)
