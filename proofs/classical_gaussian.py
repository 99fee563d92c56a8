"""The textbook Gaussian mechanism, σ² = 2·ln(1.25/δ)·(Δ/ε)², is (ε, δ)-DP for ε ≤ 1, all δ in (0, 1).

With c² = 2·ln(1.25/δ) it has μ = ε/c, and δ = 1.25·e^(−c²/2). Let H be the exact profile.

- c ≥ 1.02: H ≤ 1 − Φ(c − ε/(2c)) ≤ 1 − Φ(t), t = c − 1/(2c). By Mills' inequality that is at most φ(t)/t
  = e^(−c²/2)·e^(1/2 − 1/(8c²))/(t·√(2π)), and e^(1/2)/(t·√(2π)) ≤ 1.25 from t(1.02) on.
- c < 1.02, where c² ≥ 2·ln 1.25: H falls with ε and rises with μ, so H(ε, ε/c) ≤ H(0, 1/c) =
  2Φ(1/(2c)) − 1 < 0.55, while δ > 0.74.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import ANALYTIC_GAUSSIAN, Step, Theorem
from proofs.analytic_gaussian import normal_cdf, normal_density, profile
from proofs.support.checks import below
from proofs.support.digits import gaussian_profile
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import positive, same, tends_to

CLASSICAL_GAUSSIAN = Theorem(
    name="classical-gaussian",
    statement=(
        "Gaussian noise of variance 2·ln(1.25/δ)·(Δ/ε)² on a query of ℓ2 sensitivity Δ is "
        "(ε, δ)-DP for every ε in (0, 1] and every δ in (0, 1)."
    ),
    source="Dwork, Roth, 2014, Thm A.1 (for ε < 1); lecture on machine learning with DP, Claim 5.5",
    proof="proofs/classical_gaussian.py",
)


def mills_inequality(sign: int = 1) -> Step:
    """φ(t)/t − (1 − Φ(t)) falls, with derivative −φ(t)/t², to 0 at ∞: so it is positive."""
    t = sp.Symbol("t", positive=True)
    gap = normal_density(t) / t - sign * (1 - normal_cdf(t))
    holds = same(sp.diff(gap, t), -normal_density(t) / t**2) & tends_to(gap, t, sp.oo, 0)
    return Step("Mills' inequality", holds, "all t > 0")


def exponents_for_large_c(eighth: int = 8) -> Step:
    """t² = c² − 1 + 1/(4c²), so φ(t) = e^(−c²/2)·e^(1/2 − 1/(8c²))/√(2π); and t rises with c."""
    c = sp.Symbol("c", positive=True)
    t = c - 1 / (2 * c)
    holds = same(-(t**2) / 2, -(c**2) / 2 + sp.Rational(1, 2) - 1 / (eighth * c**2))
    holds &= positive(sp.diff(t, c))
    # H drops its second term, and 1 − Φ(c − ε/(2c)) rises with ε: ε = 1 is the worst.
    epsilon = sp.Symbol("epsilon", positive=True)
    mu = epsilon / c
    holds &= same(epsilon / mu - mu / 2, c - epsilon / (2 * c))
    return Step("c ≥ 1.02, exponents", holds, "all c > 0, all ε")


def constants_for_large_c(factor: str = "1.25") -> Step:
    """e^(1/2)/(t·√(2π)) < 1.25 at c = 1.02, where t is least."""
    with ctx.workprec(128):
        c = ball(51) / 50
        t = c - 1 / (2 * c)
        holds = below(ball(0.5).exp() / (t * (2 * arb.pi()).sqrt()), arb(factor))
    return Step("c ≥ 1.02, constant", holds, "c = 1.02; monotone beyond")


def the_profile_falls_with_epsilon(sign: int = -1) -> Step:
    """∂H/∂ε = −e^ε·Φ(−μ/2 − ε/μ) < 0."""
    epsilon = sp.Symbol("epsilon", real=True)
    mu = sp.Symbol("mu", positive=True)
    slope = sp.diff(profile(epsilon, mu), epsilon)
    holds = same(slope, sign * sp.exp(epsilon) * normal_cdf(-mu / 2 - epsilon / mu))
    return Step("H falls with ε", holds, "all ε, all μ > 0")


def constants_for_small_c(least: str = "1.25") -> Step:
    """H(0, 1/c) at c² = 2·ln 1.25, where it is largest, is below 1.25·e^(−c²/2) at c = 1.02, where that is least."""
    with ctx.workprec(128):
        largest = gaussian_profile(1 / (2 * arb(least).log()), arb(0))
        smallest = arb("1.25") * (-((ball(51) / 50) ** 2) / 2).exp()
        holds = below(largest, smallest)
    return Step("c < 1.02", holds, "all c from √(2·ln 1.25) to 1.02")


PROOF = Proof(
    theorem=CLASSICAL_GAUSSIAN,
    clauses=(
        Clause(
            (
                "Gaussian noise of variance 2·ln(1.25/δ)·(Δ/ε)² on a query of ℓ2 sensitivity Δ is (ε, δ)-DP "
                "for every ε in (0, 1] and every δ in (0, 1)."
            ),
            by=(
                mills_inequality,
                exponents_for_large_c,
                constants_for_large_c,
                the_profile_falls_with_epsilon,
                constants_for_small_c,
            ),
            argued=(
                "that e^(1/2)/(t·√(2π)) falls as t rises with c; that H falls in ε and rises in μ, so that "
                "the corner of each case is its worst point; that 1 − Φ is dropped from H"
            ),
        ),
    ),
    uses=(ANALYTIC_GAUSSIAN,),
    mutations={
        "H rises with ε": lambda: the_profile_falls_with_epsilon(sign=1),
        "Mills with the wrong sign": lambda: mills_inequality(sign=-1),
        "1/(4c²) in the exponent": lambda: exponents_for_large_c(eighth=4),
        "ln(1.2/δ)": lambda: constants_for_large_c("1.2"),
        "c from √(2·ln 1.01) on": lambda: constants_for_small_c("1.01"),
    },
)
