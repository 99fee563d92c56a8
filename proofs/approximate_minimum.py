"""A solver that stops near the minimum of a perturbed objective: how much noise hides its error.

Let θ* be the exact minimum for the ideal noise b, and θ what the solver returns, ‖θ − θ*‖ ≤ η. Releasing θ + z is
part of releasing θ* and then, knowing θ*, θ + z. The first is (ε₁, δ₁)-DP by assumption. For the second, θ need not be a
function of θ* and the data: on the boundary of a domain many b have the same θ*, and a solver has coins of its own. But
given θ*, whatever it was, θ has some law on each side, and every value of it lies within η of that θ*: values on the two
sides are within 2η of each other. The profile is jointly convex, so that of the two mixtures of z moved by θ is at most
the largest of two single values: noise that is (ε₂, δ₂)-DP for an ℓ2 sensitivity of 2η makes it (ε₂, δ₂)-DP. Basic
composition adds the two, and dropping θ* is post-processing.


η counts all that is not ideal: a gradient of length γ at θ, and noise b̂ that is rounded, ‖b̂ − b‖ ≤ ρ, together leave a
gradient of at most γ + ρ of the ideal objective, so η = (γ + ρ)/λ (perturbed-minimum).
"""

import sympy as sp
from flint import acb, arb, ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair
from dpverify.theorems import ANALYTIC_GAUSSIAN, BASIC_COMPOSITION, NORM_MECHANISM, Step
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.perturbed_minimum import PERTURBED_MINIMUM
from proofs.support.checks import VACUOUS
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import APPROXIMATE_MINIMUM


def both_are_near_one_point(two: int = 2) -> Step:
    """‖u − w‖² = 2‖u‖² + 2‖w‖² − ‖u + w‖² ≤ (2η)² for ‖u‖, ‖w‖ ≤ η, coordinate by coordinate."""
    u, w = sp.symbols("u w", real=True)
    holds = same((u - w) ** 2, 2 * u**2 + 2 * w**2 - (u + w) ** 2)
    square, a, b, c, d = sp.symbols("eta2 a b c d", nonnegative=True)
    first, second = square * a / (a + b), square * c / (c + d)  # every ‖u‖² and ‖w‖² in [0, η²]
    holds &= nonnegative(two**2 * square - 2 * first - 2 * second, (square, a, b, c, d))
    return Step("2η apart", holds, "all η, all dimensions")


def what_eta_counts(share: int = 1) -> Step:
    """(γ + ρ)² − ‖p + q‖² = 2γρ·(1 − cos) ≥ 0 for gradients p, q of lengths γ and ρ, at any angle."""
    gamma, rho, room = sp.symbols("gamma rho room", nonnegative=True)
    total = gamma**2 + rho**2 + 2 * gamma * rho * (1 - room)  # ‖p + q‖², cos = 1 − room
    gap = (gamma + share * rho) ** 2 - total
    holds = same(gap, 2 * gamma * rho * room) & nonnegative(gap, (gamma, rho, room))
    return Step("η = (γ + ρ)/λ", holds, "all γ, ρ, all angles")


def it_is_attained(apart: int = 2) -> Step:
    """A solver that stops η above θ* on one side and η below on the other: ∫(p − e^ε·q) of N(±η, σ²) is the profile at 2η.

    So the profile of sensitivity 2η, by `GaussianPair`, is reached and not only a bound.
    """
    holds = VACUOUS
    with ctx.workprec(128):
        for eta, sigma, epsilon in ((0.25, 1.0, 0.5), (1.0, 2.0, 1.0)):
            e, s, x = ball(eta), ball(sigma), ball(epsilon).exp()
            start = ball(epsilon) * s * s / (2 * e)  # where the loss 2ηz/σ² is ε

            def excess(z: acb, e: arb = e, s: arb = s, x: arb = x) -> acb:
                densities = [(-(((z - at) / s) ** 2) / 2).exp() for at in (e, -e)]
                return (densities[0] - x * densities[1]) / (s * (2 * arb.pi()).sqrt())

            area = integral(excess, start, start + 40 * s) + arb(0, 1) * arb(-700).exp()
            claimed = GaussianPair.of(sigma=sigma, sensitivity=apart * eta)
            holds &= overlaps(claimed.profile_ball(ball(epsilon)), area)
    return Step("attained", holds, "two settings, 20 digits")


PROOF = Proof(
    theorem=APPROXIMATE_MINIMUM,
    clauses=(
        Clause(
            (
                "If the exact minimum of a perturbed objective is (ε₁, δ₁)-DP and a solver stops within η of "
                "it, then adding noise that makes a query of ℓ2 sensitivity 2η (ε₂, δ₂)-DP to what the solver "
                "returns is (ε₁ + ε₂, δ₁ + δ₂)-DP."
            ),
            by=(both_are_near_one_point, what_eta_counts, it_is_attained),
            argued=(
                "that θ + z is part of (θ*, θ + z); that given θ* both sides are mixtures of noise moved by "
                "points within η of it, and profiles are jointly convex"
            ),
        ),
    ),
    uses=(
        BASIC_COMPOSITION,
        ANALYTIC_GAUSSIAN,
        NORM_MECHANISM,
        OBJECTIVE_PERTURBATION,
        PERTURBED_MINIMUM,
    ),
    mutations={
        "η apart": lambda: both_are_near_one_point(two=1),
        "γ alone": lambda: what_eta_counts(share=0),
        "sensitivity η": lambda: it_is_attained(apart=1),
    },
)
