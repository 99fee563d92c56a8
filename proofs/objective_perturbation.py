"""Objective perturbation with noise of density ∝ e^(−ε‖b‖/(2L)): (ε + ln(1 + β/λ))-DP.

θ minimizes Σℓ + (λ/2)‖θ‖² + ⟨b, θ⟩ if and only if b = F(θ) = −Σ∇ℓ(θ) − λθ. F is injective, as −F is strongly
monotone, and onto, as a strongly convex objective has a minimum for every b. So θ has the density
noise(F(θ))·|det F′(θ)|. Replacing a record moves F(θ) by at most 2L, which the noise turns into a factor of at
most e^ε (norm mechanism); the determinants Σ∇²ℓ + λI differ by a factor of at most 1 + β/λ.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import NORM_MECHANISM, Step
from proofs.determinant_ratio import DETERMINANT_RATIO
from proofs.support.checks import VACUOUS, at_most, provided
from proofs.support.form import Clause, Proof
from proofs.support.logistic import noise_at
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import OBJECTIVE_PERTURBATION

__all__ = ["OBJECTIVE_PERTURBATION", "PROOF"]


def the_map_is_injective(sign: int = 1) -> Step:
    """⟨F(θ′) − F(θ), v⟩ = vᵀ(A·Aᵀ + λI)v = ‖Aᵀv‖² + λ‖v‖² > 0 for v = θ − θ′ ≠ 0, A·Aᵀ the mean Hessian.

    F(θ′) − F(θ) is the integral of Σ∇²ℓ + λI along the segment, applied to v; a mean of matrices ≥ 0 is one.
    """
    a, b, c, d, v, w = sp.symbols("a b c d v w", real=True)
    lam = sp.Symbol("lambda", positive=True)
    root, move = sp.Matrix([[a, b], [c, d]]), sp.Matrix([v, w])
    gained = (move.T * (root * root.T + sign * lam * sp.eye(2)) * move)[0]
    turned = root.T * move
    holds = same(gained, turned.dot(turned) + lam * move.dot(move))
    return Step("F is injective", holds, "all Hessians ≥ 0 in the plane of two coordinates, λ > 0")


def the_noise_pays(two: int = 2) -> Step:
    """(ε/(2L))·(‖b′‖ − ‖b‖) ≤ (ε/(2L))·2L = ε, as ‖b′ − b‖ = ‖∇ℓ − ∇ℓ′‖ ≤ 2L."""
    epsilon, length, room = sp.symbols("epsilon L room", positive=True)
    moved = two * length - room  # ‖b′‖ − ‖b‖ ≤ ‖b′ − b‖ ≤ 2L
    holds = nonnegative(epsilon - epsilon / (2 * length) * moved, (epsilon, length, room))
    return Step("noise ≤ ε", holds, "all L, ε")


def loss_at(theta: arb, epsilon: arb, lam: arb) -> arb:
    """ln p(θ)/p′(θ) for logistic losses in one dimension, L = 1: the record 1 replaced by the record 0."""
    near, up = noise_at(theta, (-0.5, 0.25, 1.0), lam)
    far, down = noise_at(theta, (-0.5, 0.25, 0.0), lam)
    return epsilon / 2 * (abs(far) - abs(near)) + (up / down).log()


def the_exact_density_obeys(share: str = "1") -> Step:
    """The exact loss stays below ε/2 + ln(1 + β/λ), β = 1/4, and exceeds ε/2 alone somewhere.

    The record 0 has no gradient, so b moves by at most L here, and the noise pays ε/2.
    """
    holds, exceeded = VACUOUS, False
    with ctx.workprec(128):
        epsilon, lam = ball(0.5), ball(0.125)
        bound = arb(share) * (epsilon / 2 + (1 + ball(0.25) / lam).log())
        for step in range(-160, 161):
            loss = loss_at(ball(step / 8), epsilon, lam)
            holds &= at_most(abs(loss), bound)
            exceeded |= bool(abs(loss) > epsilon / 2)
    return Step("exact density", holds & provided(exceeded), "321 points θ, one record")


def a_budget_split_in_half(power: int = 1) -> Step:
    """λ = β/(e^(ε/2) − 1) makes ln(1 + β/λ) = ε/2."""
    beta, epsilon = sp.symbols("beta epsilon", positive=True)
    lam = beta / (sp.exp(epsilon / 2) - 1)
    holds = same(sp.exp(sp.log(1 + power * beta / lam)), sp.exp(epsilon / 2))
    return Step("λ for half a budget", holds, "all β, ε")


PROOF = Proof(
    theorem=OBJECTIVE_PERTURBATION,
    clauses=(
        Clause(
            (
                "Objective perturbation, the minimum over all θ of Σℓ(θ) + (λ/2)‖θ‖² + ⟨b, θ⟩, with noise b "
                "of density ∝ e^(−ε‖b‖/(2L)) and losses that are L-Lipschitz, β-smooth, twice differentiable, "
                "convex and have Hessians of rank at most one, is (ε + ln(1 + β/λ))-DP when one record is "
                "replaced."
            ),
            by=(
                the_map_is_injective,
                the_noise_pays,
                the_exact_density_obeys,
                a_budget_split_in_half,
            ),
            argued=(
                "that a strongly convex objective has a minimum for every b, so that θ ↔ b is a bijection; "
                "the inverse function theorem; the triangle inequality"
            ),
        ),
    ),
    uses=(NORM_MECHANISM, DETERMINANT_RATIO),
    cites=("the change of variables of an integral along a differentiable bijection",),
    mutations={
        "λ taken away": lambda: the_map_is_injective(sign=-1),
        "gradients differ by 3L": lambda: the_noise_pays(two=3),
        "half of the bound": lambda: the_exact_density_obeys("0.5"),
        "λ with 2β": lambda: a_budget_split_in_half(power=2),
    },
)
