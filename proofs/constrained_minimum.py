"""Minima on a domain, with any convex regularizer: their sensitivity, and how a computed point is certified.

Let J = Σℓ + (λ/2)‖θ‖² + r(θ) on a closed convex C, r convex. θ* is its minimum if and only if −s*∈ ∂(Σℓ + r + C)(θ*) for
s* = λθ*: J is λ-strongly convex, so for a subgradient ξ of J at θ, ⟨ξ − 0, θ − θ*⟩ ≥ λ‖θ − θ*‖², and ‖θ − θ*‖ ≤ ‖ξ‖/λ.

- *sensitivity*: at the other dataset's minimum θ′ some subgradient of J is a difference of one record's subgradients,
  of length at most L (added or removed) or 2L (replaced), so ‖θ − θ′‖ ≤ L/λ or 2L/λ, wherever L bounds them on C.
- *proximal step*: θ⁺ = argmin of ‖u − (θ − t∇S(θ))‖²/(2t) + r(u) on C means (θ − θ⁺)/t − ∇S(θ) ∈ ∂(r + C)(θ⁺), so
  ξ = ∇S(θ⁺) − ∇S(θ) + (θ − θ⁺)/t is a subgradient of J at θ⁺.
- *duality gap*: J(θ) − J(θ*) ≥ (λ/2)‖θ − θ*‖², and J(θ*) is at least any dual value, so a gap g gives √(2g/λ).
"""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import Step
from proofs.perturbed_minimum import PERTURBED_MINIMUM
from proofs.support.checks import VACUOUS, at_most, every, provided
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import CONSTRAINED_MINIMUM


def subgradients_bound_the_distance(two: int = 1) -> Step:
    """λD² ≤ ‖ξ‖·D implies D ≤ ‖ξ‖/λ."""
    lam, d, slack = sp.symbols("lambda D slack", positive=True)
    xi = (lam * d**2 + slack) / d
    holds = nonnegative(xi / lam / two - d, (lam, d, slack))
    return Step("distance", holds, "all λ, ξ")


def the_proximal_subgradient(sign: int = 1) -> Step:
    """∇S(θ⁺) + [(θ − θ⁺)/t − ∇S(θ)] = ξ, the bracket being the optimality condition of the step."""
    here, there, before, after = sp.symbols("here there before after", real=True)
    t = sp.Symbol("t", positive=True)
    u, penalty = sp.symbols("u penalty", real=True)
    stationary = sp.diff((u - (here - t * before)) ** 2 / (2 * t), u).subs(u, there) + penalty
    found = sp.solve(stationary, penalty)[0]
    holds = same(after + found, after - sign * before + (here - there) / t)
    return Step("proximal step", holds, "each coordinate")


def the_gap_bounds_the_distance(two: int = 2) -> Step:
    """(λ/2)·D² ≤ g implies D² ≤ 2g/λ."""
    lam, d, slack = sp.symbols("lambda D slack", positive=True)
    gap = lam / 2 * d**2 + slack
    holds = nonnegative(two * gap / lam - d**2, (lam, d, slack))
    return Step("gap", holds, "all λ, g")


def clipped_means_obey(bound: Fraction = Fraction(1)) -> Step:
    """For ℓ = θ·x on [−1, 1] the minimum is −Σx/λ, cut to the interval: one x moves it by at most |x − x′|/λ."""
    holds, attained, count = VACUOUS, False, 0
    lam = Fraction(3)
    values = [Fraction(i, 2) for i in range(-2, 3)]
    for first in values:
        for second in values:
            for common in values:
                ends = [
                    max(Fraction(-1), min(Fraction(1), -(common + x) / lam))
                    for x in (first, second)
                ]
                allowed = bound * abs(first - second) / lam
                holds &= at_most(abs(ends[0] - ends[1]), allowed)
                attained |= first != second and abs(ends[0] - ends[1]) == allowed
                count += 1
    return Step("linear losses on an interval", holds & provided(attained), f"{count} cases")


def soft_thresholds_then_projections(order: int = 1) -> Step:
    """On a ball, (1 + μ)θ = soft(x): the projection rescales the thresholded point, and signs stay."""
    x, mu, lasso = sp.symbols("x mu lasso", positive=True)
    # A positive coordinate: θ + lasso + μθ = x, μ ≥ 0 the multiplier of the ball.
    theta = sp.Symbol("theta", positive=True)
    solved = sp.solve(theta * (1 + mu) + order * lasso - x, theta)
    holds = every(same(value, (x - lasso) / (1 + mu)) for value in solved) & provided(
        len(solved) == 1
    )
    return Step("ℓ1 norm on a ball", holds, "each coordinate above the threshold")


PROOF = Proof(
    theorem=CONSTRAINED_MINIMUM,
    clauses=(
        Clause(
            (
                "On a closed convex domain and with any convex regularizer, the minimum of Σℓ + (λ/2)‖θ‖² "
                "moves by at most L/λ when a record is added or removed and by 2L/λ when one is replaced;"
            ),
            by=(subgradients_bound_the_distance, clipped_means_obey),
            argued=(
                "that subdifferentials of J − (λ/2)‖θ‖² are monotone, and that some subgradient at the other "
                "minimum is a difference of one record’s"
            ),
        ),
        Clause(
            (
                "a point with a subgradient ξ has ‖θ − θ*‖ ≤ ‖ξ‖/λ, and one with a duality gap has ‖θ − θ*‖² "
                "≤ 2·gap/λ."
            ),
            by=(
                subgradients_bound_the_distance,
                the_proximal_subgradient,
                soft_thresholds_then_projections,
                the_gap_bounds_the_distance,
            ),
            argued="strong monotonicity and strong convexity of J; that a dual value is at most J(θ*)",
        ),
    ),
    uses=(PERTURBED_MINIMUM,),
    mutations={
        "half the distance": lambda: subgradients_bound_the_distance(two=2),
        "plus ∇S(θ)": lambda: the_proximal_subgradient(sign=-1),
        "g/λ": lambda: the_gap_bounds_the_distance(two=1),
        "half of the sensitivity": lambda: clipped_means_obey(Fraction(1, 2)),
        "thresholds that add": lambda: soft_thresholds_then_projections(order=-1),
    },
)
