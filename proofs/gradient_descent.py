"""Projected gradient descent with unbiased noisy gradients: excess risk at most R·B/√T.

Let g_t be the noisy gradient, E[g_t | θ_t] = ∇L(θ_t) and E‖g_t‖² ≤ B². Projection onto a convex set brings a
point closer to every point of it, so with D_t = ‖θ_t − θ*‖²

    D_(t+1) ≤ ‖θ_t − η·g_t − θ*‖² = D_t − 2η·⟨g_t, θ_t − θ*⟩ + η²·‖g_t‖².

In expectation ⟨∇L(θ_t), θ_t − θ*⟩ ≥ L(θ_t) − L(θ*) by convexity. Adding up over t = 0 … T−1 from θ₀ = 0,
D₀ ≤ R², the mean excess is at most R²/(2ηT) + ηB²/2; the averaged iterate's is not larger, by convexity.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.convexity import CONVEXITY
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, positive, same

GRADIENT_DESCENT = Theorem(
    name="gradient-descent",
    statement=(
        "Projected gradient descent over the ball of radius R with unbiased gradients of second moment at "
        "most B², step R/(B√T), start 0 and averaged iterates has expected excess risk at most R·B/√T."
    ),
    source="Nikolov, CSC2412, private gradient descent, accuracy analysis; Zinkevich, ICML 2003",
    proof="proofs/gradient_descent.py",
)


def projection_brings_closer(side: int = 1) -> Step:
    """(ρ−a)² + b² − (R−a)² − b² = (ρ−R)·(ρ+R−2a) ≥ 0 for ρ ≥ R ≥ a, in the plane of point and target."""
    size, beyond, below = sp.symbols("R beyond below", nonnegative=True)
    b = sp.Symbol("b", real=True)
    rho, a = size + beyond, size - side * below
    gap = (rho - a) ** 2 + b**2 - (size - a) ** 2 - b**2
    holds = nonnegative(sp.expand(gap), (size, beyond, below))
    return Step("projection", holds, "all points, all targets in the ball")


def one_step(two: int = 2) -> Step:
    """‖u − η·g‖² = ‖u‖² − 2η·⟨g, u⟩ + η²·‖g‖², coordinate by coordinate."""
    u, g, eta = sp.symbols("u g eta", real=True)
    holds = same((u - eta * g) ** 2, u**2 - two * eta * g * u + eta**2 * g**2)
    return Step("one step", holds, "all η, g, u")


def the_sum_telescopes(two: int = 2) -> Step:
    """T steps: 2η·Σ excess ≤ D₀ − D_T + T·η²·B² ≤ R² + T·η²·B², so the mean is ≤ R²/(2ηT) + ηB²/2."""
    eta, t, b, size, last = sp.symbols("eta T B R last", positive=True)
    total = size**2 - last + t * eta**2 * b**2
    mean = total / (2 * eta * t)
    bound = size**2 / (two * eta * t) + eta * b**2 / 2
    holds = same(bound - mean, last / (2 * eta * t))
    return Step("telescoping", holds, "all η, T, B, R")


def the_best_step(power: int = 1) -> Step:
    """R²/(2ηT) + ηB²/2 = R·B/√T at η = R/(B√T), where it is least."""
    eta, t, b, size = sp.symbols("eta T B R", positive=True)
    bound = size**2 / (2 * eta * t) + eta * b**2 / 2
    best = size / (b**power * sp.sqrt(t))
    holds = same(bound.subs(eta, best), size * b / sp.sqrt(t))
    holds &= same(sp.diff(bound, eta).subs(eta, best), 0)
    holds &= positive(sp.diff(bound, eta, 2))
    return Step("best step", holds, "all T, B, R")


PROOF = Proof(
    theorem=GRADIENT_DESCENT,
    clauses=(
        Clause(
            (
                "Projected gradient descent over the ball of radius R with unbiased gradients of second "
                "moment at most B², step R/(B√T), start 0 and averaged iterates has expected excess risk at "
                "most R·B/√T."
            ),
            by=(projection_brings_closer, one_step, the_sum_telescopes, the_best_step),
            argued=(
                "expectations given θ_t, convexity of L, and that the averaged iterate is not worse than the "
                "mean excess (convexity)"
            ),
        ),
    ),
    uses=(CONVEXITY,),
    mutations={
        "η·⟨g, u⟩ without the 2": lambda: one_step(two=1),
        "targets outside": lambda: projection_brings_closer(side=-1),
        "R²/(3ηT)": lambda: the_sum_telescopes(two=3),
        "step R/(B²√T)": lambda: the_best_step(power=2),
    },
)
