"""Noise with density ∝ exp(−‖z‖/b) is (Δ/b)-DP, for any norm, and for no smaller ε.

The normalizing constant does not depend on where the noise is centered. With N = ‖z − f‖ and
N′ = ‖z − f′‖ the loss is (N′ − N)/b, and N′ ≤ N + ‖f − f′‖ is the triangle inequality, one of the
axioms of a norm. At z = f it is an equality.
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
    ),
    library=(the_library_claims_this,),
    mutations={
        "loss ≤ Δ/(2b)": lambda: the_loss_is_bounded(Fraction(1, 2)),
        "constant b^(d+1)": lambda: the_normalizing_constant(power=1),
        "the library claims half": lambda: the_library_claims_this(Fraction(1, 2)),
    },
)
