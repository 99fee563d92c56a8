"""The error of private gradient descent: R·√(d+1)/√T + a constant times R·d·√ln(1/δ)/(εn).

With gradients of length at most √(d+1) and noise of variance σ² in each of d + 1 coordinates, B² = (d+1)·(1 + σ²) bounds the second moment, so
gradient-descent gives R·B/√T ≤ R·√(d+1)/√T + R·√(d+1)·σ/√T. With σ² = 4(d+1)/(n²ρ) and T·ρ = ε²/(c·ln(1/δ)) the second term is
2·√c·R·(d+1)·√ln(1/δ)/(εn): it does not depend on T, so that more steps only help.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.gradient_descent import GRADIENT_DESCENT
from proofs.logistic_gradient import LOGISTIC_GRADIENT
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

DESCENT_ERROR = Theorem(
    name="descent-error",
    statement=(
        "Private gradient descent with gradients of length at most √(d+1), noise of variance σ² = 4(d+1)/(n²ρ) in each of d + 1 "
        "coordinates and T·ρ = ε²/(c·ln(1/δ)) has an expected excess of at most R·√(d+1)/√T + 2·√c·R·(d+1)·√ln(1/δ)/(εn)."
    ),
    source="Nikolov, CSC2412, private gradient descent, final error, with the constants",
    proof="proofs/descent_error.py",
)


def the_second_moment(extra: int = 1) -> Step:
    """E‖g + Z‖² = ‖g‖² + (d+1)·σ² ≤ (d+1)·(1 + σ²) for ‖g‖² ≤ d + 1."""
    d, room, square, sigma = sp.symbols("d room square sigma2", nonnegative=True)
    share = (d + 1) * square / (square + room + 1)  # every ‖g‖² in [0, d + 1)
    gap = (d + 1) * (extra + sigma) - (share + (d + 1) * sigma)
    holds = nonnegative(gap, (d, room, square, sigma))
    return Step("second moment", holds, "all d, σ")


def the_root_splits(two: int = 1) -> Step:
    """(1 + σ)² − (1 + σ²) = 2σ ≥ 0, so √(1 + σ²) ≤ 1 + σ."""
    sigma = sp.Symbol("sigma", nonnegative=True)
    holds = nonnegative((1 + sigma) ** 2 - (two + two * sigma**2), (sigma,))
    return Step("the root", holds, "all σ ≥ 0")


def the_second_term(two: int = 2) -> Step:
    """R·√(d+1)·σ/√T = 2·√c·R·(d+1)·√l/(ε·n) at σ² = 4(d+1)/(n²ρ), T·ρ = ε²/(c·l), l = ln(1/δ)."""
    size, d, n, steps, c, log, epsilon = sp.symbols("R d n T c l epsilon", positive=True)
    rho = epsilon**2 / (c * log * steps)
    sigma = sp.sqrt(4 * (d + 1) / (n**2 * rho))
    claimed = two * sp.sqrt(c) * size * (d + 1) * sp.sqrt(log) / (epsilon * n)
    found = size * sp.sqrt(d + 1) * sigma / sp.sqrt(steps)
    holds = same(found**2, claimed**2)  # both are positive
    return Step("second term", holds, "all R, d, n, T, ε, δ")


PROOF = Proof(
    theorem=DESCENT_ERROR,
    clauses=(
        Clause(
            DESCENT_ERROR.statement,
            by=(the_second_moment, the_root_splits, the_second_term),
            argued="that the noise is independent of the gradient and has mean 0; gradient-descent with B² = (d+1)·(1 + σ²)",
        ),
    ),
    uses=(GRADIENT_DESCENT, LOGISTIC_GRADIENT),
    mutations={
        "without the gradient": lambda: the_second_moment(extra=0),
        "√2·(1 + σ)": lambda: the_root_splits(two=2),
        "√c": lambda: the_second_term(two=1),
    },
)
