"""The slides have ρ² ≈ dT·log(1/δ)/(ε²n²) right after ρ ≈ ε²/(T·log(1/δ)). What has that size is σ², the variance.

With their ρ the quotient of both sides is ε⁶n²/(d·T³·log³(1/δ)), which is as large or as small as one likes, while
σ² = 4(d+1)/(n²ρ) is between 4 and 8 times the right side, for every d ≥ 1.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.form import Counterexample, Proof
from proofs.support.symbolic import nonnegative, same, tends_to

SQUARED_RHO = Theorem(
    name="notes-squared-rho",
    statement="ρ² ≈ dT·log(1/δ)/(ε²n²) for ρ ≈ ε²/(T·log(1/δ)), up to a constant factor.",
    source="Nikolov, CSC2412, private gradient descent, slide on Z_t",
    proof="proofs/refuted/squared_rho.py",
)


def _sides() -> tuple[object, object, tuple[object, ...]]:
    epsilon, steps, log_inverse, d, n = sp.symbols("epsilon T log_inverse d n", positive=True)
    rho = epsilon**2 / (steps * log_inverse)
    printed = d * steps * log_inverse / (epsilon**2 * n**2)
    return rho, printed, (epsilon, steps, log_inverse, d, n)


def the_quotient_is_unbounded(power: int = 2) -> Step:
    """ρ²/printed = ε⁶n²/(d·T³·log³(1/δ)): ∞ as n → ∞, 0 as T → ∞."""
    rho, printed, (epsilon, steps, log_inverse, d, n) = _sides()
    quotient = sp.simplify(rho**power / printed)  # type: ignore[operator]  # sympy
    holds = same(quotient, epsilon**6 * n**2 / (d * steps**3 * log_inverse**3))  # type: ignore[operator]
    holds &= tends_to(quotient, n, sp.oo, sp.oo) & tends_to(quotient, steps, sp.oo, 0)
    return Step("no constant", holds, "all ε, δ, d, n, T")


def the_variance_has_this_size(least: int = 4) -> Step:
    """σ²/printed = 4(d+1)/d, between 4 and 8 for d ≥ 1, with σ² = 4(d+1)/(n²ρ)."""
    rho, printed, (_, _, _, d, n) = _sides()
    quotient = sp.simplify(4 * (d + 1) / (n**2 * rho) / printed)  # type: ignore[operator]
    more = sp.Symbol("more", nonnegative=True)
    at = quotient.subs(d, 1 + more)
    holds = same(quotient, 4 * (d + 1) / d)  # type: ignore[operator]
    holds &= nonnegative(at - least, (more,)) & nonnegative(8 - at, (more,))
    return Step("σ²", holds, "all d ≥ 1")


PROOF = Proof(
    theorem=SQUARED_RHO,
    mutations={
        "ρ instead of ρ²": lambda: the_quotient_is_unbounded(power=1),
        "at least 5": lambda: the_variance_has_this_size(least=5),
    },
    counterexample=Counterexample(
        argued=(
            "that a quotient which is not bounded is no constant: a limit, which no instance decides"
        ),
        claimed="ρ² is a constant times dT·log(1/δ)/(ε²n²)",
        instance=("ρ = ε²/(T·log(1/δ)), any ε, δ, d, T; n → ∞",),
        truth="the quotient is ε⁶n²/(d·T³·log³(1/δ)) → ∞",
        correction="σ² ≈ dT·log(1/δ)/(ε²n²)",
        by=(the_quotient_is_unbounded, the_variance_has_this_size),
    ),
)
