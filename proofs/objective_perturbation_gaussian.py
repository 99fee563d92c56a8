"""Objective perturbation with Gaussian noise, generalized linear losses f(⟨x, θ⟩), one record added or removed.

With the record, b = F(θ) − p·x, p = f′(⟨x, θ⟩), where F(θ) is what b is without it. Let v = ⟨b, x⟩/‖x‖, which is
N(0, σ²) on the side that b is the noise of. The loss is (2p‖x‖v + p²‖x‖²)/(2σ²) plus the log determinant ratio, in
[0, ln(1 + β/λ)]; on the other side p changes sign and the determinant only helps. Write k = |p|·‖x‖ ≤ L.

- In k it is convex, so at most the larger of its values at 0 and L: max(0, g(±v)) with g(v) = L·v/σ² + L²/(2σ²).
- *f monotone* (p never changes sign, as for the logistic loss): one sign of v counts. With ε̃ = ε − ln(1 + β/λ) ≥ 0,
  δ ≤ E(1 − e^(ε̃ − max(0, g(v))))₊ = E(1 − e^(ε̃ − g(v)))₊ = H(ε̃, L/σ), the profile of Gaussian noise itself.
- *any f*: both signs, g(|v|). If ε̂ = ε̃ − L²/(2σ²) ≥ 0 only one sign at a time exceeds ε̃, and δ ≤ 2·H(ε̃, L/σ);
  otherwise the expectation is 1 − e^ε̂ + 2·e^ε̂·H(L²/(2σ²), L/σ).
- *logistic*: f″ = |p|(1−|p|) is known with p, so δ ≤ E(1 − e^(ε − PL(v)))₊ with PL(v) the largest of
  (p²R² − 2pRv)/(2σ²) + ln(1 + p(1−p)R²/λ) over p in [0, 1].
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import ANALYTIC_GAUSSIAN, Step
from proofs.analytic_gaussian import normal_cdf, normal_density, profile
from proofs.determinant_ratio import DETERMINANT_RATIO
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.support.checks import VACUOUS, at_most, provided
from proofs.support.form import Clause, Proof
from proofs.support.logistic import noise_at
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import OBJECTIVE_PERTURBATION_GAUSSIAN

__all__ = ["OBJECTIVE_PERTURBATION_GAUSSIAN", "PROOF"]


def the_noise_part_of_the_loss(two: int = 2) -> Step:
    """(‖b + p·x‖² − ‖b‖²)/(2σ²) = (2k·v + k²)/(2σ²), along x, for k = p·‖x‖."""
    v, k, rest = sp.symbols("v k rest", real=True)
    sigma = sp.Symbol("sigma", positive=True)
    loss = ((v + k) ** 2 + rest - v**2 - rest) / (2 * sigma**2)
    holds = same(loss, (two * k * v + k**2) / (2 * sigma**2))
    return Step("noise part", holds, "all dimensions")


def the_ends_are_the_worst(sign: int = 1) -> Step:
    """At k = share·L the chord share·(2Lv + L²) exceeds 2kv + k² by share·(1−share)·L² ≥ 0."""
    v = sp.Symbol("v", real=True)
    size, a, b = sp.symbols("L a b", nonnegative=True)
    share = a / (a + b)
    gap = share * (2 * size * v + size**2) - (2 * share * size * v + share**2 * size**2)
    holds = same(gap, sign * share * (1 - share) * size**2)
    holds &= nonnegative(share * (1 - share) * size**2, (size, a, b))
    return Step("k = 0 or k = L", holds, "all v, all k in [0, L]")


def monotone_losses(half: int = 2) -> Step:
    """g(v) is normal with mean m²/2 and variance m², m = L/σ: the loss of N(m, 1) against N(0, 1)."""
    z = sp.Symbol("z", real=True)  # v/σ, standard normal
    size, sigma = sp.symbols("L sigma", positive=True)
    m = size / sigma
    g = (2 * size * sigma * z + size**2) / (2 * sigma**2)
    holds = same(g, m * z + m**2 / half)
    # Under N(m, 1) the loss m·x − m²/2 at x = z + m is the same variable.
    x = z + m
    holds &= same(m * x - m**2 / 2, g)
    return Step("f monotone", holds, "all L, σ")


def any_loss_far_out(sign: int = -1) -> Step:
    """g(v) > ε̃ needs v > 0 if ε̃ ≥ L²/(2σ²), so the events v > 0 and v < 0 add up to 2·H(ε̃, L/σ)."""
    size, sigma, room, depth = sp.symbols("L sigma room depth", positive=True)
    epsilon = size**2 / (2 * sigma**2) + room
    at_nonpositive = sign * size * depth / sigma**2 + size**2 / (2 * sigma**2)  # g(−depth)
    holds = nonnegative(epsilon - at_nonpositive, (size, sigma, room, depth))
    return Step("any f, ε̂ ≥ 0", holds, "all ε̃ ≥ L²/(2σ²)")


def any_loss_close_in(two: int = 2) -> Step:
    """2·∫₀^∞ (1 − e^(ε̂ − m·z))·φ(z) dz = 1 − e^ε̂ + 2·e^ε̂·H(m²/2, m)."""
    m, z = sp.symbols("m z", positive=True)
    shrunk = sp.Symbol("e_hat", positive=True)  # e^ε̂
    # ∫₀^∞ e^(−m·z)·φ(z) dz = e^(m²/2)·Φ(−m), as −mz − z²/2 = m²/2 − (z+m)²/2.
    holds = same(sp.exp(-m * z) * normal_density(z), sp.exp(m**2 / 2) * normal_density(z + m))
    mean = 1 - two * shrunk * sp.exp(m**2 / 2) * normal_cdf(-m)
    claimed = 1 - shrunk + 2 * shrunk * profile(m**2 / 2, m)
    holds &= same(mean, claimed)
    return Step("any f, ε̂ < 0", holds, "all m, all ε̂")


def logistic_losses(quarter: int = 4) -> Step:
    """ln(1 + p(1−p)R²/λ) ≤ ln(1 + β/λ) with β = R²/4, as 1/4 − p(1−p) = (p − 1/2)²."""
    p = sp.Symbol("p", real=True)
    holds = same(sp.Rational(1, quarter) - p * (1 - p), (p - sp.Rational(1, 2)) ** 2)
    return Step("logistic", holds, "all p in [0, 1]")


def exact_losses_obey(length: str = "1") -> Step:
    """ln p(θ)/p′(θ) ≤ max(0, g(∓v)) + ln(1 + β/λ) for the record 1 added, and the exchanged loss likewise."""
    common, holds, tight = (-0.5, 0.25), VACUOUS, False
    with ctx.workprec(128):
        sigma, lam, size = ball(0.75), ball(0.125), arb(length)
        determinant = (1 + ball(0.25) / lam).log()
        for step in range(-200, 201):
            theta = ball(step / 8)
            without, flat = noise_at(theta, common, lam)
            present, bent = noise_at(theta, (*common, 1.0), lam)
            # b on either side is −F, so the record 1 moves it by p in (0, 1).
            loss = (without**2 - present**2) / (2 * sigma**2) + (bent / flat).log()
            for value, v, extra in ((loss, -present, determinant), (-loss, without, arb(0))):
                g = size * v / sigma**2 + size**2 / (2 * sigma**2)
                holds &= at_most(value, g.max(arb(0)) + extra)
                tight |= bool(g > 1 and value > ball(0.9) * g)
    return Step("exact losses", holds & provided(tight), "401 points θ, both directions")


PROOF = Proof(
    theorem=OBJECTIVE_PERTURBATION_GAUSSIAN,
    clauses=(
        Clause(
            (
                "Objective perturbation with b ~ N(0, σ²I) and generalized linear losses has, for one record "
                "added or removed and ε̃ = ε − ln(1 + β/λ) ≥ 0, δ ≤ H(ε̃, L/σ) if f is monotone;"
            ),
            by=(
                the_noise_part_of_the_loss,
                the_ends_are_the_worst,
                monotone_losses,
                exact_losses_obey,
            ),
            argued=(
                "that v = ⟨b, x⟩/‖x‖ is N(0, σ²) whatever θ does, that p keeps its sign, and (1 − e^(ε̃ − "
                "·))₊ rises"
            ),
        ),
        Clause(
            (
                "for any convex f, δ ≤ 2·H(ε̃, L/σ) if ε̃ ≥ L²/(2σ²), else 1 − e^ε̂ + 2·e^ε̂·H(L²/(2σ²), L/σ) "
                "with ε̂ = ε̃ − L²/(2σ²)."
            ),
            by=(
                the_ends_are_the_worst,
                any_loss_far_out,
                any_loss_close_in,
                logistic_losses,
                exact_losses_obey,
            ),
            argued="the same with both signs of v, and integration of an exponential against φ",
        ),
    ),
    uses=(ANALYTIC_GAUSSIAN, DETERMINANT_RATIO, OBJECTIVE_PERTURBATION),
    mutations={
        "v > 0 as well": lambda: any_loss_far_out(sign=1),
        "k·v without the 2": lambda: the_noise_part_of_the_loss(two=1),
        "concave in k": lambda: the_ends_are_the_worst(sign=-1),
        "mean m²/3": lambda: monotone_losses(half=3),
        "one side only": lambda: any_loss_close_in(two=1),
        "β = R²/8": lambda: logistic_losses(quarter=8),
        "L a tenth smaller": lambda: exact_losses_obey("0.9"),
    },
)
