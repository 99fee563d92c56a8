"""The privacy theorem of approximate minima perturbation sets no limit on ε, and its first noise is too small beyond one.

Algorithm 1 and Theorem 1 of the paper ask for 0 < ε₁ − ε₃ < 1 and for no more. For linear losses the exact minimum is Gaussian noise with
μ = ε₃/c, c = 1 + √(2·ln(1/δ₁)), whose mean loss μ²/2 grows as ε₃²; so the bound on its tail cannot hold for all ε₃. Up to ε₃ = 2c it
does, for generalized linear losses and with 2nγ/Λ for the second noise (approximate-minima); that covers the budgets in use.
"""

from dpverify.theorems import ANALYTIC_GAUSSIAN, Theorem
from proofs.approximate_minima import APPROXIMATE_MINIMA
from proofs.refuted.approximate_minima_any_epsilon import (
    delta_exceeds_the_claim,
    the_minimum_is_gaussian,
    where_it_starts_to_fail,
)
from proofs.support.form import Counterexample, Proof

PUBLISHED_APPROXIMATE_MINIMA = Theorem(
    name="published-approximate-minima",
    statement=(
        "Approximate minima perturbation with σ₁ = (2L/n)·(1 + √(2·ln(1/δ₁)))/ε₃ is (ε, δ)-DP for all ε > 0, where ε = ε₁ + ε₂ and "
        "0 < ε₁ − ε₃ < 1."
    ),
    source="Iyengar, Near, Song, Thakkar, Thakurta, Wang, IEEE S&P 2019, Algorithm 1 and Theorem 1",
    proof="proofs/published/approximate_minima_rule.py",
)

PROOF = Proof(
    theorem=PUBLISHED_APPROXIMATE_MINIMA,
    uses=(ANALYTIC_GAUSSIAN, APPROXIMATE_MINIMA),
    mutations={
        "shift L": lambda: the_minimum_is_gaussian(two=1),
        "ε₃ = 12 is no counterexample": lambda: delta_exceeds_the_claim(epsilon=12),
        "it starts 1/100 later": lambda: where_it_starts_to_fail("0.01"),
    },
    counterexample=Counterexample(
        claimed="(30 + 1e-6, 1e-6 + 1e-12)-DP at ε₃ = 30, δ₁ = 1e-6, ε₁ − ε₃ + ε₂ = 1e-6",
        instance=(
            "ℓ(θ; x) = ⟨θ, x⟩, ‖x‖ ≤ L, any n and Λ > 0; exact solutions, γ → 0",
            "left: Σx = L·u, right: Σx = −L·u for a unit vector u, one record replaced",
            "event: beyond the point where the loss is 30 + 1e-6",
        ),
        truth="δ = 3.03557e-5; the rule fails from ε₃ = 13.0402 on at δ₁ = 0.1, from 21.1134 on at 1e-6",
        correction="true for ε₃ ≤ 2(1 + √(2·ln(1/δ₁))): approximate-minima",
        by=(the_minimum_is_gaussian, delta_exceeds_the_claim, where_it_starts_to_fail),
    ),
)
