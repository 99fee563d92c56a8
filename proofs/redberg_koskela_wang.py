"""The published profile of objective perturbation with Gaussian noise: the one proved here, with a larger determinant term.

For λ > β and x = β/λ < 1, |ln(1 − x)| = ln(1/(1−x)) ≥ ln(1 + x), as (1+x)(1−x) ≤ 1. So the published ε̃ is not larger, and a
smaller ε̃ gives a larger δ: both branches are one expectation, E(1 − e^(ε̃ − g(|v|)))₊, and each falls with ε̃.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.theorems import Step
from proofs.classical_gaussian import CLASSICAL_GAUSSIAN, the_profile_falls_with_epsilon
from proofs.objective_perturbation_gaussian import OBJECTIVE_PERTURBATION_GAUSSIAN
from proofs.support.checks import below
from proofs.support.digits import gaussian_profile
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import positive, same
from solvers.privacy.theorems import REDBERG


def the_determinant_term_is_larger(sign: int = -1) -> Step:
    """1 − (1+x)(1−x) = x² ≥ 0, so ln(1+x) ≤ −ln(1−x) for 0 ≤ x < 1."""
    x = sp.Symbol("x", real=True)
    holds = same(1 - (1 + x) * (1 + sign * x), x**2)
    return Step("|ln(1−x)| ≥ ln(1+x)", holds, "all 0 ≤ x < 1")


def far_out_the_profile_falls(sign: int = -1) -> Step:
    """∂H/∂ε = −e^ε·Φ(−μ/2 − ε/μ) < 0; the step of the classical Gaussian mechanism."""
    return the_profile_falls_with_epsilon(sign)


def close_in_the_profile_falls(two: int = 2) -> Step:
    """1 − e^ε̂ + 2e^ε̂·H(m²/2, m) = 1 − 2·e^ε̂·e^(m²/2)·Φ(−m), which falls with ε̂; as H(m²/2, m) = 1/2 − e^(m²/2)·Φ(−m)."""
    shrunk, tail = sp.symbols("e_hat tail", positive=True)  # tail = e^(m²/2)·Φ(−m)
    value = 1 - shrunk + two * shrunk * (sp.Rational(1, 2) - tail)
    holds = same(value, 1 - 2 * shrunk * tail) & positive(-sp.diff(value, shrunk))
    with ctx.workprec(128):  # H(m²/2, m) has this form
        for m in ("0.25", "1", "3"):
            square = arb(m) ** 2
            exact = gaussian_profile(square, square / 2)
            upper = (arb(m) / arb(2).sqrt()).erfc() / 2  # Φ(−m)
            holds &= below(abs(exact - (arb(1) / 2 - (square / 2).exp() * upper)), arb("1e-30"))
    return Step("ε̂ < 0", holds, "all ε̂; m = 1/4, 1, 3")


PROOF = Proof(
    theorem=REDBERG,
    clauses=(
        Clause(
            (
                "Objective perturbation with b ~ N(0, σ²I), generalized linear losses and λ > β has, for one "
                "record added or removed, the δ of objective-perturbation-gaussian for any f, with |ln(1 − "
                "β/λ)| in place of ln(1 + β/λ)."
            ),
            by=(
                the_determinant_term_is_larger,
                far_out_the_profile_falls,
                close_in_the_profile_falls,
            ),
            argued="that logarithms keep the order, and both branches fall with ε̃",
        ),
    ),
    uses=(OBJECTIVE_PERTURBATION_GAUSSIAN, CLASSICAL_GAUSSIAN),
    mutations={
        "(1+x)²": lambda: the_determinant_term_is_larger(sign=1),
        "H rises with ε": lambda: far_out_the_profile_falls(sign=1),
        "one side only": lambda: close_in_the_profile_falls(two=1),
    },
)
