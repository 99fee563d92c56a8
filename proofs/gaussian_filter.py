"""Gaussian guarantees compose by Σμ² even if each μ is chosen from the outputs before.

Let x = e^ε, and let y be the likelihood ratio of the outputs so far. With a budget r of squared μ
left, V(r, y) = E[(y·e^(√r·Z − r/2) − x)₊] is what Gaussian noise of squared μ equal to r would add
to the profile. A release that is m-GDP given the past turns (r, y) into (r − m², y·L); V is convex in
y, so the Gaussian L of μ = m is the worst (adaptive domination), and for it variances add up: the mean
of V(r − m², y·L) is V(r, y) again. Stopping leaves (y − x)₊ = V(0, y) ≤ V(r, y), as V grows with r. So
by induction from the last release, whatever is chosen, the profile is at most V(μ², 1): that of μ-GDP.
"""

import sympy as sp

from dpverify.theorems import ANALYTIC_GAUSSIAN, GAUSSIAN_FILTER, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.analytic_gaussian import normal_cdf, normal_density, profile
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

_R, _X, _Y = sp.symbols("r x y", positive=True)


def _value(sign: int = 1) -> sp.Expr:
    """V in closed form: y·Φ(d + √r/2) − x·Φ(d − √r/2) with d = ln(y/x)/√r."""
    d, half = sp.log(_Y / _X) / sp.sqrt(_R), sp.sqrt(_R) / 2
    return _Y * normal_cdf(d + half) - sign * _X * normal_cdf(d - half)


def it_is_the_profile(sign: int = 1) -> Step:
    """V(μ², 1) at x = e^ε is Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)."""
    mu, epsilon = sp.symbols("mu epsilon", positive=True)
    found = _value(sign).subs({_Y: 1, _X: sp.exp(epsilon), _R: mu**2})
    holds = same(sp.simplify(found), profile(epsilon, mu))
    return Step("the profile", holds, "all μ, ε > 0")


def variances_add_up(factor: int = 1) -> Step:
    """m·z − m²/2 + √(r − m²)·Z − (r − m²)/2 has the mean and the variance of √r·Z − r/2."""
    m = sp.symbols("m", positive=True)
    rest = _R - factor * m**2
    holds = same(-(m**2) / 2 - rest / 2, -_R / 2) & same(m**2 + rest, _R)
    return Step("variances add up", holds, "all m² ≤ r; sums of normal are normal")


def budget_never_hurts(sign: int = 1) -> Step:
    """∂V/∂r = y·φ(d + √r/2)/(2√r) > 0: stopping early gives nothing away."""
    d = sp.log(_Y / _X) / sp.sqrt(_R) + sp.sqrt(_R) / 2
    slope = _Y * normal_density(d) / (2 * sp.sqrt(_R))
    holds = same(sp.diff(_value(), _R), sign * slope)
    return Step("more budget, larger value", holds, "all r, x, y > 0")


def it_is_convex(sign: int = 1) -> Step:
    """∂²V/∂y² = φ(d + √r/2)/(y√r) > 0: so the Gaussian pair is the worst that is m-GDP."""
    d = sp.log(_Y / _X) / sp.sqrt(_R) + sp.sqrt(_R) / 2
    bend = normal_density(d) / (_Y * sp.sqrt(_R))
    holds = same(sp.diff(_value(), _Y, 2), sign * bend)
    return Step("convex in the ratio", holds, "all r, x, y > 0")


PROOF = Proof(
    theorem=GAUSSIAN_FILTER,
    clauses=(
        Clause(
            (
                "Releases that are μₖ-GDP given those before, where μₖ may depend on these but Σμₖ² ≤ μ² "
                "always, are together μ-GDP;"
            ),
            by=(it_is_the_profile, variances_add_up, budget_never_hurts, it_is_convex),
            argued=(
                "backward induction over the releases: the worst m-GDP release for a convex value is Gaussian "
                "(adaptive-domination), and sums of normal variables are normal"
            ),
        ),
        Clause(
            "so (ε, δ)-DP with δ the profile at ε of N(μ, 1) against N(0, 1).",
            by=(it_is_the_profile,),
            argued="the definition of μ-GDP, and that a profile is the smallest δ",
        ),
    ),
    uses=(ANALYTIC_GAUSSIAN, ADAPTIVE_DOMINATION),
    mutations={
        "a sum for a difference": lambda: it_is_the_profile(sign=-1),
        "a release costs twice": lambda: variances_add_up(factor=2),
        "budget hurts": lambda: budget_never_hurts(sign=-1),
        "a concave value": lambda: it_is_convex(sign=-1),
    },
)
