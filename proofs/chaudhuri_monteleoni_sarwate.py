"""The published rule for pure DP charges the determinant twice: true, since charging it once is enough.

`objective-perturbation` at e^(−‖b‖/τ), that is ε = 2L/τ, has 2L/τ + ln(1 + β/λ); the published rule adds ln(1 + β/λ) ≥ 0.
The notes' Theorem 14.3, ln(1 + 2β/λ) + ε, lies between: (1 + x)² ≥ 1 + 2x ≥ 1 + x.
"""

import sympy as sp

from dpverify.theorems import Step
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import PUBLISHED_PURE


def the_noise_has_this_scale(two: int = 2) -> Step:
    """ε/(2L) = 1/τ at ε = 2L/τ."""
    size, tau = sp.symbols("L tau", positive=True)
    holds = same((two * size / tau) / (2 * size), 1 / tau)
    return Step("ε = 2L/τ", holds, "all L, τ")


def twice_is_more_than_once(power: int = 2) -> Step:
    """(1+x)² − (1+2x) = x² ≥ 0 and (1+2x) − (1+x) = x ≥ 0, for x = β/λ: the logarithms are in that order."""
    x = sp.Symbol("x", nonnegative=True)
    holds = nonnegative((1 + x) ** power - (1 + 2 * x), (x,))
    holds &= nonnegative((1 + 2 * x) - (1 + x), (x,))
    return Step("2·ln(1+x) ≥ ln(1+2x) ≥ ln(1+x)", holds, "all β, λ")


PROOF = Proof(
    theorem=PUBLISHED_PURE,
    clauses=(
        Clause(
            (
                "Objective perturbation with noise ∝ e^(−‖b‖/τ) and Hessians of rank at most one is (2L/τ + "
                "2·ln(1 + β/λ))-DP when one record is replaced."
            ),
            by=(the_noise_has_this_scale, twice_is_more_than_once),
            argued="that logarithms keep the order, and objective-perturbation at ε = 2L/τ",
        ),
    ),
    uses=(OBJECTIVE_PERTURBATION,),
    mutations={
        "ε = L/τ": lambda: the_noise_has_this_scale(two=1),
        "ln(1+x) ≥ ln(1+2x)": lambda: twice_is_more_than_once(power=1),
    },
)
