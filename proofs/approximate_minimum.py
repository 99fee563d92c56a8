"""A solver that stops near the minimum of a perturbed objective: how much noise hides its error.

Let θ* be the exact minimum for the ideal noise b, and θ what the solver returns, ‖θ − θ*‖ ≤ η. b is a function of θ* and
the data (objective-perturbation), so θ is a function of θ*, the data and the solver's own coins. Releasing θ + z is
part of releasing θ* and then, knowing θ*, θ + z. The first is (ε₁, δ₁)-DP by assumption. For the second, whatever θ* was,
the two datasets' θ both lie within η of the same θ*, so within 2η of each other: noise that is (ε₂, δ₂)-DP for an ℓ2
sensitivity of 2η makes it (ε₂, δ₂)-DP. Basic composition adds the two, and dropping θ* is post-processing.

η counts all that is not ideal: a gradient of length γ at θ, and noise b̂ that is rounded, ‖b̂ − b‖ ≤ ρ, together leave a
gradient of at most γ + ρ of the ideal objective, so η = (γ + ρ)/λ (perturbed-minimum).
"""

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair
from dpverify.theorems import ANALYTIC_GAUSSIAN, BASIC_COMPOSITION, NORM_MECHANISM, Evidence, Step
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.perturbed_minimum import PERTURBED_MINIMUM
from proofs.support.form import Proof
from proofs.support.symbolic import nonnegative
from solvers.privacy.theorems import APPROXIMATE_MINIMUM


def both_are_near_one_point(two: int = 2) -> Step:
    """‖θ − θ′‖ ≤ ‖θ − θ*‖ + ‖θ′ − θ*‖ ≤ 2η, for distances η − a and η − b."""
    eta, a, b = sp.symbols("eta a b", nonnegative=True)
    holds = nonnegative(two * eta - ((eta - a) + (eta - b)), (eta, a, b))
    return Step("2η apart", Evidence.SYMBOLIC, holds, "all η")


def what_eta_counts(share: int = 1) -> Step:
    """‖∇J + (b − b̂)‖ ≤ γ + ρ, and D ≤ (γ + ρ)/λ from λD² ≤ (γ + ρ)·D."""
    gamma, rho, lam, d, slack = sp.symbols("gamma rho lambda D slack", positive=True)
    # (γ + ρ)·D = λD² + slack
    total = (lam * d**2 + slack) / d
    holds = nonnegative(share * total / lam - d, (lam, d, slack))
    holds &= nonnegative(gamma + rho - (gamma + share * rho), (gamma, rho))
    return Step("η = (γ + ρ)/λ", Evidence.SYMBOLIC, holds, "all γ, ρ, λ")


def it_is_attained(apart: int = 2) -> Step:
    """Losses that are 0: θ = θ* ± η on the two sides, and the profile of N(±η, σ²) is that of sensitivity 2η exactly."""
    holds = True
    with ctx.workprec(128):
        for eta, sigma, epsilon in ((0.25, 1.0, 0.5), (1.0, 2.0, 1.0)):
            exact = GaussianPair.of(sigma=sigma, sensitivity=2 * eta).profile_ball(ball(epsilon))
            claimed = GaussianPair.of(sigma=sigma, sensitivity=apart * eta).profile_ball(
                ball(epsilon)
            )
            holds &= bool(exact.overlaps(claimed))
    return Step("attained", Evidence.CERTIFIED, holds, "two settings")


PROOF = Proof(
    theorem=APPROXIMATE_MINIMUM,
    steps=(both_are_near_one_point, what_eta_counts, it_is_attained),
    uses=(
        BASIC_COMPOSITION,
        ANALYTIC_GAUSSIAN,
        NORM_MECHANISM,
        OBJECTIVE_PERTURBATION,
        PERTURBED_MINIMUM,
    ),
    mutations={
        "η apart": lambda: both_are_near_one_point(two=1),
        "γ + 2ρ": lambda: what_eta_counts(share=2),
        "sensitivity η": lambda: it_is_attained(apart=1),
    },
)
