"""Gaussian guarantees compose by adding up μ².

μ-GDP says that the trade-off curve lies above that of N(μ, 1) against N(0, 1); that is the same as a
profile nowhere above H(·, μ) (step 1: at each false-alarm rate the Gaussian curve has a tangent, and
the profile is its intercept). Adaptive domination then gives the product of the Gaussian pairs, and
its loss depends on the direction of (μ₁, …, μ_k) only: it is the pair with μ² = Σμᵢ².
"""

from fractions import Fraction

import sympy as sp

from dpverify.accounting.parts import Part
from dpverify.accounting.rules.gdp import gdp
from dpverify.pairs import GaussianPair
from dpverify.theorems import ANALYTIC_GAUSSIAN, GAUSSIAN_COMPOSITION, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.analytic_gaussian import normal_cdf, normal_density, profile
from proofs.support.checks import VACUOUS, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def trade_off_and_profile_are_dual(sign: int = 1) -> Step:
    """At alarm α = Φ(−z), the curve G = Φ(z−μ) has slope −x, x = e^(μz−μ²/2), and 1 − G − x·α = H(ln x, μ).

    So a test with miss β below G(α) has 1 − β − x·α above H: profile above H. And if β ≥ G(α) for
    all tests, 1 − β − x·α ≤ 1 − G(α) − x·α ≤ H(ln x, μ).
    """
    z = sp.Symbol("z", real=True)
    mu = sp.Symbol("mu", positive=True)
    alarm, miss = normal_cdf(-z), normal_cdf(z - mu)
    log_ratio = sign * (mu * z - mu**2 / 2)
    slope = sp.diff(miss, z) / sp.diff(alarm, z)
    holds = same(slope, -sp.exp(log_ratio))
    holds &= same(1 - miss - sp.exp(log_ratio) * alarm, profile(log_ratio, mu))
    holds &= same(sp.diff(alarm, z), -normal_density(z))
    return Step("trade-off and profile", holds, "all z, all μ > 0")


def losses_of_a_product(cross: int = 0) -> Step:
    """m₁x₁ − m₁²/2 + m₂x₂ − m₂²/2 = M·x − M²/2 with M² = m₁² + m₂² and x = (m₁x₁ + m₂x₂)/M."""
    x1, x2 = sp.symbols("x1 x2", real=True)
    m1, m2 = sp.symbols("m1 m2", positive=True)
    both = sp.sqrt(m1**2 + m2**2 + cross * 2 * m1 * m2)
    x = (m1 * x1 + m2 * x2) / both
    loss = m1 * x1 - m1**2 / 2 + m2 * x2 - m2**2 / 2
    holds = same(loss, both * x - both**2 / 2)
    # The combination x is standard normal under Q and N(M, 1) under P.
    holds &= same((m1**2 + m2**2) / both**2, 1) & same((m1 * m1 + m2 * m2) / both, both)
    return Step("loss of a product", holds, "all μ₁, μ₂ > 0")


def the_library_adds_squares(power: int = 2) -> Step:
    """`gdp`: μ² of the whole is Σ kᵢμᵢ², in exact rationals."""
    holds, count = VACUOUS, 0
    for first, second, k in ((3, 4, 1), (1, 2, 5), (5, 12, 1), (7, 1, 1000)):
        parts = tuple(
            Part(GaussianPair(Fraction(mu) ** 2), times, "gaussian")
            for mu, times in ((first, k), (second, 1))
        )
        found = gdp(parts)
        holds &= equal(
            None if found is None else found.squared_mu, k * first**power + second**power
        )
        count += 1
    return Step("`gdp`", holds, f"{count} compositions")


PROOF = Proof(
    theorem=GAUSSIAN_COMPOSITION,
    clauses=(
        Clause(
            "Parts that are μᵢ-GDP compose, adaptively, to √(Σμᵢ²)-GDP;",
            by=(trade_off_and_profile_are_dual, losses_of_a_product),
            argued=(
                "that μ-GDP is a profile nowhere above H(·, μ), by convex duality; adaptive-domination; induction over the parts"
            ),
        ),
        Clause(
            "so to (ε, δ)-DP with δ the profile at ε of N(√(Σμᵢ²), 1) against N(0, 1).",
            by=(trade_off_and_profile_are_dual,),
            argued="that a profile nowhere above another promises its δ at every ε (analytic-gaussian)",
        ),
    ),
    library=(the_library_adds_squares,),
    uses=(ANALYTIC_GAUSSIAN, ADAPTIVE_DOMINATION),
    mutations={
        "slope inverted": lambda: trade_off_and_profile_are_dual(sign=-1),
        "μ = μ₁ + μ₂": lambda: losses_of_a_product(cross=1),
        "the library adds μ": lambda: the_library_adds_squares(power=1),
    },
)
