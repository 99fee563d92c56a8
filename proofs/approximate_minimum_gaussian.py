"""Approximate minima: one bound on δ for the noise in the objective and the last noise together.

As in approximate-minimum, what is released is part of θ* followed by θ + z, z ~ N(0, σ₂²I), and given θ* the two
datasets' θ are within 2η of each other. The loss of the pair is L₁(θ*) + L₂, and given θ* the second is at most that of
Gaussian noise with μ₂ = 2η/σ₂: E((1 − e^(ε − L₁ − L₂))₊ | θ*) ≤ H(ε − L₁(θ*), μ₂), the profile at a moved ε. H falls in
ε, so a bound X on L₁ at every output gives δ(ε) ≤ E H(ε − X, μ₂).

For X = D + max(0, G₁, …, G_K), each G the loss of N(μ₁, 1) against N(0, 1), normal with mean μ₁²/2 and variance μ₁²: a
maximum is at most a sum, E H(ε̃ − G, μ₂) is the profile of both Gaussian losses together, which is that of
√(μ₁² + μ₂²), and the 0 gives H(ε̃, μ₂). For X = D + PL(u), PL rising in u, upper sums over u bound the expectation.
"""

from fractions import Fraction

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair
from dpverify.pairs.gaussian import upper_tail
from dpverify.theorems import ANALYTIC_GAUSSIAN, GAUSSIAN_COMPOSITION, Step
from proofs.analytic_gaussian import normal_cdf, profile
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.objective_deltas import Constants, LogisticProfile, one_sided_delta
from solvers.privacy.theorems import (
    APPROXIMATE_MINIMUM,
    APPROXIMATE_MINIMUM_GAUSSIAN,
    OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN,
)


def profiles_fall(sign: int = -1) -> Step:
    """∂H(ε, μ)/∂ε = −e^ε·Φ(−μ/2 − ε/μ) < 0."""
    epsilon, mu = sp.Symbol("epsilon", real=True), sp.Symbol("mu", positive=True)
    slope = sp.diff(profile(epsilon, mu), epsilon)
    expected = sign * sp.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)
    holds = same(slope, expected)
    return Step("H falls in ε", holds, "all ε, μ")


def losses_add_up(half: int = 2) -> Step:
    """Means μ₁²/2 + μ₂²/2 and variances μ₁² + μ₂² of independent normal losses are those of √(μ₁² + μ₂²)."""
    first, second = sp.symbols("mu1 mu2", positive=True)
    both = sp.sqrt(first**2 + second**2)
    holds = same(first**2 / 2 + second**2 / 2, both**2 / half)
    holds &= same(first**2 + second**2, both**2)
    return Step("losses add up", holds, "all μ₁, μ₂")


def a_maximum_is_at_most_a_sum(weight: Fraction = Fraction(1)) -> Step:
    """H(ε̃ − max Gᵢ, μ₂) = max H(ε̃ − Gᵢ, μ₂) ≤ Σ H(ε̃ − Gᵢ, μ₂), as H falls in ε and is ≥ 0."""
    least, more, most = sp.symbols("least more most", nonnegative=True)
    values = (least, least + more, least + more + most)  # in rising order
    holds = nonnegative(sp.Rational(weight) * sum(values) - values[-1], (least, more, most))
    return Step("maximum and sum", holds, "any three values ≥ 0")


def the_library_adds_up(one: int = 1) -> Step:
    """`one_sided_delta` is H(ε̃, √(μ₁² + μ₂²)) + H(ε̃, μ₂), rounded up."""
    holds = VACUOUS
    constants = Constants(lipschitz=1.0, smoothness=0.25, ridge=2.0)
    with ctx.workprec(192):
        for sigma, last, epsilon in ((4.0, 0.125, 1.0), (1.0, 1.0, 0.5)):
            left = ball(epsilon) - constants.determinant()
            squared = (1 / ball(sigma)) ** 2 + ball(last) ** 2
            both = GaussianPair.of(sigma=1.0, sensitivity=float(squared.sqrt().mid()))
            sum_ = both.profile_ball(left) + one * GaussianPair.of(
                sigma=1.0, sensitivity=last
            ).profile_ball(left)
            delta = ball(one_sided_delta(constants, sigma, epsilon, last=last))
            holds &= at_most(abs(delta - sum_), sum_ * arb("1e-9"))
    return Step("library, one side", holds, "two settings")


def the_library_bounds_the_logistic_integral(scale: float = 1.0) -> Step:
    """`LogisticProfile.delta` with a last noise lies between lower sums of E H(ε − PL(u), μ₂) and 1.1 times them."""
    holds = VACUOUS
    with ctx.workprec(128):
        for shift, bend, epsilon, last in ((0.5, 1.0, 1.0, 0.125), (1.0, 2.0, 1.0, 0.5)):
            delta = ball(scale * LogisticProfile(shift=shift, bend=bend).delta(epsilon, last=last))
            pair = GaussianPair.of(sigma=1.0, sensitivity=last)
            total = arb(0)
            for i in range(-256, 384):
                u = ball(i / 64)
                loss = arb(0)
                for j in range(65):
                    p = ball(j / 64)
                    line = (p * ball(shift)) ** 2 / 2 + p * ball(shift) * u
                    loss = loss.max(line + (1 + ball(bend) * p * (1 - p)).log())
                mass = upper_tail(u) - upper_tail(ball((i + 1) / 64))
                total += mass * pair.profile_ball(ball(epsilon) - loss)
            holds &= at_most(total, delta) & at_most(delta, total * arb("1.1"))
    return Step("library, logistic", holds, "two settings")


PROOF = Proof(
    theorem=APPROXIMATE_MINIMUM_GAUSSIAN,
    clauses=(
        Clause(
            (
                "If the loss of an exact minimum is at most a variable X, in the sense that δ₁(ε) ≤ E(1 − "
                "e^(ε − X))₊ is shown by bounding the loss at every output, then with Gaussian noise of σ₂ = "
                "2η/μ₂ on a solver's answer within η of it δ(ε) ≤ E H(ε − X, μ₂)."
            ),
            by=(profiles_fall,),
            argued=(
                "that the loss of (θ*, θ + z) is a sum whose second part, given θ*, is at most that of "
                "Gaussian noise moved by 2η, and profiles are jointly convex"
            ),
        ),
        Clause(
            (
                "For X the largest of 0 and K Gaussian losses of μ₁ plus D, and ε̃ = ε − D, that is at most "
                "K·H(ε̃, √(μ₁² + μ₂²)) + H(ε̃, μ₂)."
            ),
            by=(losses_add_up, a_maximum_is_at_most_a_sum),
            argued="that a sum of independent normal losses is the normal loss of √(μ₁² + μ₂²)",
        ),
    ),
    library=(the_library_adds_up, the_library_bounds_the_logistic_integral),
    uses=(
        ANALYTIC_GAUSSIAN,
        GAUSSIAN_COMPOSITION,
        APPROXIMATE_MINIMUM,
        OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN,
    ),
    mutations={
        "H rises": lambda: profiles_fall(sign=1),
        "means of a third": lambda: losses_add_up(half=3),
        "half of the sum": lambda: a_maximum_is_at_most_a_sum(Fraction(1, 2)),
        "without the corner 0": lambda: the_library_adds_up(one=0),
        "nine tenths of δ": lambda: the_library_bounds_the_logistic_integral(scale=0.9),
    },
)
