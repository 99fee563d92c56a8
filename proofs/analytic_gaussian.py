"""The exact profile of Gaussian noise, in any dimension.

Noise N(0, σ²I) on answers that differ by v: the loss does not depend on what lies across v, so it
is that of N(m, 1) against N(0, 1) with m = ‖v‖/σ. It rises with x, so the best event at ε is
x > ε/m + m/2, and its two probabilities give the profile H(ε, m). As H rises with m, all m ≤ μ are
dominated by μ.
"""

import sympy as sp
from flint import acb, arb, ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair
from dpverify.theorems import ANALYTIC_GAUSSIAN, EXACT_PROFILE, Step
from proofs.support.checks import VACUOUS
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import Expression, positive, same

_POINTS = ((0.125, (-0.5, 0.0, 0.25)), (1.0, (-1.0, 0.5, 3.0)), (4.0, (-2.0, 1.0, 12.0)))


def normal_cdf(x: Expression) -> Expression:
    """Φ."""
    return (1 + sp.erf(x / sp.sqrt(2))) / 2


def normal_density(x: Expression) -> Expression:
    """φ."""
    return sp.exp(-(x**2) / 2) / sp.sqrt(2 * sp.pi)


def profile(epsilon: Expression, mu: Expression) -> Expression:
    """H(ε, μ) = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    return normal_cdf(mu / 2 - epsilon / mu) - sp.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu)


def only_the_direction_of_the_shift_matters(across: int = 1) -> Step:
    """(|x|² + |y|²)/2 − (|x − m|² + |y|²)/2 = m·x − m²/2, for x along v and y across it."""
    x, rest, m = sp.symbols("x rest m", real=True)
    loss = (x**2 + rest) / 2 - ((x - m) ** 2 + across * rest) / 2
    holds = same(loss, m * x - m**2 / 2)
    return Step("loss is m·x − m²/2", holds, "all dimensions, all shifts")


def the_best_event(half: int = 2) -> Step:
    """m·x − m²/2 = ε at x = ε/m + m/2; N(m, 1) is above it with Φ(m/2 − ε/m), N(0, 1) with Φ(−m/2 − ε/m)."""
    x, epsilon = sp.symbols("x epsilon", real=True)
    m = sp.Symbol("m", positive=True)
    threshold = sp.solve(m * x - m**2 / 2 - epsilon, x)[0]
    rises = positive(sp.diff(m * x - m**2 / 2, x))
    left = normal_cdf(m - threshold)  # 1 − Φ(t − m) = Φ(m − t)
    right = normal_cdf(-threshold)
    value = normal_cdf(m / half - epsilon / m) - sp.exp(epsilon) * normal_cdf(
        -m / half - epsilon / m
    )
    holds = rises & same(left - sp.exp(epsilon) * right, value)
    holds &= same(normal_cdf(x) + normal_cdf(-x), 1)
    return Step("best event", holds, "all ε, all m > 0")


def the_profile_rises_with_the_shift(sign: int = 1) -> Step:
    """∂H/∂μ = φ(μ/2 − ε/μ) > 0."""
    epsilon = sp.Symbol("epsilon", real=True)
    mu = sp.Symbol("mu", positive=True)
    slope = sp.diff(profile(epsilon, mu), mu)
    holds = same(slope, sign * normal_density(mu / 2 - epsilon / mu))
    return Step("H rises with μ", holds, "all ε, all μ > 0")


def the_library_has_this_profile(scale: int = 1) -> Step:
    """`GaussianPair.profile_ball` against ∫ (φ(x−μ) − e^ε·φ(x)) dx above the threshold."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for mu, epsilons in _POINTS:
            pair = GaussianPair.of(sigma=1.0, sensitivity=mu * scale)
            for epsilon in epsilons:
                m, e = ball(mu), ball(epsilon)
                start = e / m + m / 2

                def excess(x: acb, m: arb = m, e: arb = e) -> acb:
                    gap = (-((x - m) ** 2) / 2).exp() - e.exp() * (-(x**2) / 2).exp()
                    return gap / (2 * arb.pi()).sqrt()

                # Beyond start + m + 40 lies less than 2·e^(−800) of either law.
                area = integral(excess, start, abs(start) + m + 40)
                area += arb(0, 1) * 4 * (1 + e.exp()) * arb(-800).exp()
                holds &= overlaps(pair.profile_ball(e), area)
                count += 1
    return Step("`GaussianPair`", holds, f"{count} points, 20 digits")


PROOF = Proof(
    theorem=ANALYTIC_GAUSSIAN,
    clauses=(
        Clause(
            "N(μ, 1) against N(0, 1) has the profile Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ),",
            by=(the_best_event,),
            argued="that the event where the loss exceeds ε is the best one (exact-profile)",
        ),
        Clause(
            "and dominates Gaussian noise of standard deviation σ on a query of ℓ2 sensitivity μσ.",
            by=(only_the_direction_of_the_shift_matters, the_profile_rises_with_the_shift),
            argued=(
                "that coordinates across the shift carry no loss and may be dropped; that a profile above at "
                "every ε is domination"
            ),
        ),
    ),
    library=(the_library_has_this_profile,),
    uses=(EXACT_PROFILE,),
    mutations={
        "variance across changed": lambda: only_the_direction_of_the_shift_matters(across=2),
        "threshold with μ/3": lambda: the_best_event(half=3),
        "H falls with μ": lambda: the_profile_rises_with_the_shift(sign=-1),
        "the library at 2μ": lambda: the_library_has_this_profile(scale=2),
    },
)
