"""μ-GDP implies (μ²/2)-zCDP.

μ-GDP is a profile nowhere above that of N(μ, 1) against N(0, 1) (a step of Gaussian composition), so
the Rényi divergences are at most the Gaussian ones; and those are α·μ²/2 exactly, as
φ(x−μ)^α·φ(x)^(1−α) = e^(α(α−1)μ²/2)·φ(x − αμ), whose integral is the factor.
"""

from fractions import Fraction

import sympy as sp
from flint import acb, arb, ctx

from dpverify.accounting.conversion import to_zcdp
from dpverify.balls import ball
from dpverify.guarantees import GaussianDP, ZeroConcentratedDP
from dpverify.pairs import GaussianPair
from dpverify.theorems import GAUSSIAN_COMPOSITION, GDP_TO_ZCDP, Step
from proofs.renyi_from_profile import RENYI_FROM_PROFILE
from proofs.support.checks import VACUOUS, answered
from proofs.support.enclosures import integral, overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def completing_the_square(half: int = 2) -> Step:
    """α·(x−μ)² + (1−α)·x² = (x − αμ)² − α(α−1)·μ²."""
    x, mu, order = sp.symbols("x mu alpha", real=True)
    holds = same(
        -order * (x - mu) ** 2 / 2 - (1 - order) * x**2 / 2,
        -((x - order * mu) ** 2) / 2 + order * (order - 1) * mu**2 / half,
    )
    return Step("completing the square", holds, "all real x, μ, α")


def the_library_agrees(factor: Fraction = Fraction(1)) -> Step:
    """`to_zcdp(GaussianDP)` is μ²/2, and `renyi_ball` is the logarithm of the integral over α−1."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for mu in (0.5, 1.0, 2.0):
            guarantee = to_zcdp(GaussianDP(mu=mu)).guarantee
            holds &= answered(guarantee == ZeroConcentratedDP(rho=float(factor) * mu * mu / 2))
            for order in (1.5, 3.0):
                m, a = ball(mu), ball(order)

                def moment(x: acb, m: arb = m, a: arb = a) -> acb:
                    exponent = -a * (x - m) ** 2 / 2 - (1 - a) * x**2 / 2
                    return exponent.exp() / (2 * arb.pi()).sqrt()

                area = integral(moment, arb(-40), arb(50)) + arb(0, 1) * arb(-500).exp()
                found = GaussianPair(Fraction(mu) ** 2).renyi_ball(a)
                holds &= overlaps(((a - 1) * found).exp(), area)
                count += 1
    return Step("`GaussianPair.renyi_ball`", holds, f"{count} points, 20 digits")


PROOF = Proof(
    theorem=GDP_TO_ZCDP,
    clauses=(
        Clause(
            "μ-GDP implies (μ²/2)-zCDP.",
            by=(completing_the_square,),
            argued=(
                "that μ-GDP is a profile nowhere above the Gaussian one (gaussian-composition), that "
                "divergences grow with profiles (renyi-from-profile), and that a normal density integrates to "
                "1"
            ),
        ),
    ),
    library=(the_library_agrees,),
    uses=(GAUSSIAN_COMPOSITION, RENYI_FROM_PROFILE),
    mutations={
        "ρ = μ²/4": lambda: completing_the_square(half=4),
        "the library doubles": lambda: the_library_agrees(Fraction(2)),
    },
)
