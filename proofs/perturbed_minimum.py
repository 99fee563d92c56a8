"""How far a perturbed or approximate minimum is from the minimum of a strongly convex objective.

Let J be m-strongly convex with minimum θ*. Strong monotonicity, m·‖θ−θ*‖² ≤ ⟨∇J(θ) − 0, θ−θ*⟩ ≤ ‖∇J(θ)‖·‖θ−θ*‖,
bounds the distance by ‖∇J(θ)‖/m. And J(θ*) ≥ J(θ) + ⟨∇J(θ), v⟩ + (m/2)·‖v‖² at v = θ* − θ is at least its
minimum over all v, J(θ) − ‖∇J(θ)‖²/(2m). A minimum of J + ⟨b, ·⟩/n has ∇J = −b/n, and m = λ/n; an approximate
minimum has ‖∇J‖ ≤ γ and m = Λ/n. Quadratic objectives attain both.
"""

import sympy as sp

from dpverify.theorems import Step
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, positive, same
from solvers.privacy.theorems import PERTURBED_MINIMUM

__all__ = ["PERTURBED_MINIMUM", "PROOF"]


def the_distance(two: int = 1) -> Step:
    """m·D² ≤ g·D implies D ≤ g/m; g = ‖b‖/n and m = λ/n give ‖b‖/λ, g = γ and m = Λ/n give nγ/Λ."""
    m, d, slack = sp.symbols("m D slack", positive=True)
    # g·D = m·D² + slack
    bound = ((m * d**2 + slack) / d) / m
    holds = nonnegative(bound / two - d, (m, d, slack))
    b, lam, n, gamma = sp.symbols("b lambda n gamma", positive=True)
    holds &= same((b / n) / (lam / n), b / lam) & same(gamma / (lam / n), n * gamma / lam)
    return Step("distance", holds, "all m, g")


def the_gap(two: int = 2) -> Step:
    """min over t of −g·t + m·t²/2 is −g²/(2m), and (‖b‖/n)²/(2λ/n) = ‖b‖²/(2nλ)."""
    g, m, t = sp.symbols("g m t", positive=True)
    value = -g * t + m * t**2 / 2
    best = sp.solve(sp.diff(value, t), t)[0]
    holds = same(value.subs(t, best), -(g**2) / (two * m)) & positive(sp.diff(value, t, 2))
    b, lam, n = sp.symbols("b lambda n", positive=True)
    holds &= same((b / n) ** 2 / (two * lam / n), b**2 / (2 * n * lam))
    return Step("gap", holds, "all m, g")


def both_are_attained(factor: int = 1) -> Step:
    """J(θ) = (λ/2n)·θ² plus b·θ/n has its minimum at −b/λ, where J is b²/(2nλ) above its own minimum 0."""
    theta, b = sp.symbols("theta b", real=True)
    lam, n = sp.symbols("lambda n", positive=True)
    objective = lam / (2 * n) * theta**2
    at = sp.solve(sp.diff(objective + b * theta / n, theta), theta)[0]
    holds = same(at**2, (factor * b / lam) ** 2)
    holds &= same(objective.subs(theta, at), b**2 / (2 * n * lam))
    return Step("attained", holds, "quadratic objectives")


PROOF = Proof(
    theorem=PERTURBED_MINIMUM,
    clauses=(
        Clause(
            (
                "For an m-strongly convex objective, ‖∇J(θ)‖ = g implies ‖θ − θ*‖ ≤ g/m and J(θ) − J(θ*) ≤ "
                "g²/(2m): ‖b‖/λ and ‖b‖²/(2nλ) for objective perturbation, nγ/Λ for an approximate minimum;"
            ),
            by=(the_distance, the_gap),
            argued="strong monotonicity and strong convexity of J, Cauchy and Schwarz",
        ),
        Clause(
            "both are attained.",
            by=(both_are_attained,),
            argued="that quadratic objectives are allowed",
        ),
    ),
    mutations={
        "distance g/(2m)": lambda: the_distance(two=2),
        "gap g²/(3m)": lambda: the_gap(two=3),
        "2‖b‖/λ is attained": lambda: both_are_attained(factor=2),
    },
)
