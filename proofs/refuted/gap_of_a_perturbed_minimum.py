"""A line before (14.7) halves a bound that has no half: the excess of a perturbed minimum can be almost ‖b‖·‖θ_priv − θ̄‖/n.

By optimality of θ_priv the excess is at most ⟨b, θ̄ − θ_priv⟩/n minus (λ/2n)‖θ̄ − θ_priv‖², so at most ‖b‖·‖θ_priv − θ̄‖/n. A loss that is almost
|θ| has almost that: its slope jumps at its minimum. (14.7) itself is right, and loose (perturbed-minimum).
"""

from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import at_most, below
from proofs.support.digits import agrees
from proofs.support.form import Claim, Counterexample, Proof
from solvers.privacy.theorems import PERTURBED_MINIMUM

GAP_OF_A_PERTURBED_MINIMUM = Theorem(
    name="notes-perturbed-gap",
    statement="L̄(θ_priv) − L̄(θ̄) ≤ ‖b‖·‖θ_priv − θ̄‖/(2n), θ_priv the minimum of L̄ + ⟨b, ·⟩/n and θ̄ that of L̄.",
    source="Wang, CS 325, lecture 14, the line before (14.7)",
    proof="proofs/refuted/gap_of_a_perturbed_minimum.py",
)
_ROUND, _RIDGE = Fraction(1, 10**6), Fraction(1, 1000)


def excess_and_noise() -> tuple[arb, arb]:
    """ℓ = √(θ² + 10^-6), λ = 10^-3, n = 1, θ̄ = 0 and θ_priv = 1: L̄(1) − L̄(0), and the |b| that puts the minimum at 1."""
    root = (1 + ball(_ROUND)).sqrt()
    return root + ball(_RIDGE) / 2 - ball(_ROUND).sqrt(), 1 / root + ball(_RIDGE)


def the_excess_is_larger(half: int = 2) -> Step:
    """0.99950… > |b|·1/2 = 0.50049…"""
    with ctx.workprec(128):
        excess, noise = excess_and_noise()
        holds = (
            below(noise / half, excess) & agrees(excess, "0.99950") & agrees(noise / 2, "0.50050")
        )
    return Step("the excess", holds, "one dimension, n = 1")


def without_the_half(share: int = 1) -> Step:
    """0.99950… ≤ |b|·1 = 1.00099…, and ≤ b²/(2nλ), as perturbed-minimum has it."""
    with ctx.workprec(128):
        excess, noise = excess_and_noise()
        holds = at_most(excess, noise / share) & at_most(excess, noise**2 / (2 * ball(_RIDGE)))
    return Step("without the half", holds, "the same instance")


def _of_a_fourth_power() -> tuple[arb, arb]:
    """ℓ = θ⁴/4 in place of the root: L̄(1) − L̄(0), and |b|."""
    return ball(Fraction(1, 4)) + ball(_RIDGE) / 2, 1 + ball(_RIDGE)


def _is_convex(problem: Callable[[], tuple[arb, arb]]) -> Check:
    """The excess is at most what a convex function that has slope |b| at 1 can have: |b|."""
    with ctx.workprec(128):
        excess, noise = problem()
        return at_most(excess, noise) & below(0, noise)


def _is_close(problem: Callable[[], tuple[arb, arb]]) -> Check:
    """L̄(θ_priv) − L̄(θ̄) ≤ |b|·|1 − 0|/2, n = 1."""
    with ctx.workprec(128):
        excess, noise = problem()
        return at_most(excess, noise / 2)


PROOF = Proof(
    theorem=GAP_OF_A_PERTURBED_MINIMUM,
    uses=(PERTURBED_MINIMUM,),
    mutations={
        "‖b‖·‖·‖/n is no counterexample": lambda: the_excess_is_larger(half=1),
        "half is enough": lambda: without_the_half(share=2),
    },
    counterexample=Counterexample(
        claim=Claim(_is_convex, _is_close),
        at=excess_and_noise,
        control=_of_a_fourth_power,
        argued=(
            "that √(θ² + 10⁻⁶) is convex with its minimum at 0, and that b is minus the slope of L̄ at θ_priv = 1"
        ),
        claimed="an excess of at most ‖b‖·‖θ_priv − θ̄‖/(2n) = 0.5005",
        instance=("ℓ(θ) = √(θ² + 10^-6), λ = 10^-3, n = 1, b such that θ_priv = 1, θ̄ = 0",),
        truth="0.9995",
        correction="‖b‖·‖θ_priv − θ̄‖/n; and ‖b‖²/(2nλ) (perturbed-minimum)",
        by=(the_excess_is_larger, without_the_half),
    ),
)
