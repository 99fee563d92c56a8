"""ε-DP implies μ-GDP with μ = 2Φ⁻¹(r/(1+r)), r = e^ε.

By the simulation lemma the trade-off curve of ε-DP lies above that of randomized response, which
consists of two segments: from (0, 1) to (a, a) and on to (1, 0), a = 1/(1+r). All three points lie
on or above the Gaussian curve G of this μ, and a convex curve lies below its chords.
"""

from fractions import Fraction

import sympy as sp
from flint import ctx

from dpverify.accounting.rules.gdp import pure_mu
from dpverify.guarantees import ApproxDP
from dpverify.pairs import GaussianPair, LeakyResponsePair
from dpverify.theorems import ANALYTIC_GAUSSIAN, PURE_TO_GDP, SIMULATION_LEMMA, Step
from proofs.analytic_gaussian import normal_cdf
from proofs.support.checks import VACUOUS, at_most, below, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import positive, same


def the_middle_point_is_on_the_curve(double: int = 2) -> Step:
    """With c = Φ⁻¹(r/(1+r)) and μ = 2c: a = Φ(−c), and G(a) = Φ(c − μ) = Φ(−c) = a."""
    c = sp.Symbol("c", positive=True)
    alarm = normal_cdf(-c)
    holds = same(1 - alarm, normal_cdf(c)) & same(normal_cdf(c - double * c), alarm)
    return Step("(a, a) is on G", holds, "all ε > 0")


def segments_of_randomized_response(power: int = 1) -> Step:
    """1 − r·α joins (0, 1) to (a, a), and (1 − α)/r joins (a, a) to (1, 0)."""
    r = sp.Symbol("r", positive=True)
    a = 1 / (1 + r)
    steep = [1 - r**power * alarm for alarm in (sp.Integer(0), a)]
    flat = [(1 - alarm) / r for alarm in (a, sp.Integer(1))]
    holds = every(same(*both) for both in zip(steep + flat, (1, a, a, 0), strict=True))
    return Step("two segments", holds, "all r > 0")


def the_gaussian_curve_is_convex(sign: int = 1) -> Step:
    """G as a function of α = Φ(−z) has slope −e^(μz−μ²/2), which rises as α rises (z falls)."""
    z = sp.Symbol("z", real=True)
    mu = sp.Symbol("mu", positive=True)
    alarm, miss = normal_cdf(-z), normal_cdf(sign * (z - mu))
    slope = sp.simplify(sp.diff(miss, z) / sp.diff(alarm, z))
    bend = sp.simplify(sp.diff(slope, z) / sp.diff(alarm, z))
    holds = same(slope, -sp.exp(mu * z - mu**2 / 2)) & positive(bend)
    return Step("G is convex", holds, "all μ > 0")


def the_library_touches_the_curve(factor: float = 1.0) -> Step:
    """`pure_mu`: G(a) ≤ a, and the next smaller μ in the ninth digit has G(a) > a."""
    holds, count = VACUOUS, 0
    with ctx.workprec(160):
        for epsilon in (1e-6, 0.1, 1.0, 5.0, 30.0):
            corner = LeakyResponsePair(ApproxDP(epsilon=epsilon)).lying
            mu = Fraction(factor * pure_mu(epsilon))
            enough, short = (
                GaussianPair(m**2).trade_off_ball(corner)
                for m in (mu, mu * (1 - Fraction(1, 10**9)))
            )
            holds &= at_most(enough, corner) & below(corner, short)
            count += 1
    return Step("`pure_mu`", holds, f"{count} values of ε, 9 digits")


PROOF = Proof(
    theorem=PURE_TO_GDP,
    clauses=(
        Clause(
            "ε-DP implies 2Φ⁻¹(e^ε/(1 + e^ε))-GDP.",
            by=(
                the_middle_point_is_on_the_curve,
                segments_of_randomized_response,
                the_gaussian_curve_is_convex,
            ),
            argued="that a convex curve lies below its chords, and ε-DP above randomized response (simulation-lemma)",
        ),
    ),
    library=(the_library_touches_the_curve,),
    uses=(SIMULATION_LEMMA, ANALYTIC_GAUSSIAN),
    mutations={
        "slope r²": lambda: segments_of_randomized_response(power=2),
        "μ = Φ⁻¹ without the 2": lambda: the_middle_point_is_on_the_curve(double=1),
        "curve reflected": lambda: the_gaussian_curve_is_convex(sign=-1),
        "the library 1 % smaller": lambda: the_library_touches_the_curve(factor=0.99),
    },
)
