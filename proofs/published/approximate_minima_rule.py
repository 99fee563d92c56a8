"""The privacy theorem of approximate minima perturbation sets no limit on ε, and its first noise is too small beyond one.

Algorithm 1 and Theorem 1 of the paper ask for 0 < ε₁ − ε₃ < 1 and for no more. For linear losses the exact minimum is Gaussian noise with
μ = ε₃/c, c = 1 + √(2·ln(1/δ₁)), whose mean loss μ²/2 grows as ε₃²; so the bound on its tail cannot hold for all ε₃. Up to ε₃ = 2c it
does, for generalized linear losses and with 2nγ/Λ for the second noise (approximate-minima); that covers the budgets in use.
"""

from dpverify.theorems import ANALYTIC_GAUSSIAN, Theorem
from proofs.approximate_minima import APPROXIMATE_MINIMA
from proofs.refuted.approximate_minima_any_epsilon import PROOF as OF_THE_NOTES
from proofs.support.form import Proof

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
    mutations=OF_THE_NOTES.mutations,
    counterexample=OF_THE_NOTES.counterexample,
)
