"""Objective perturbation with Gaussian noise, generalized linear losses, one record replaced.

Let b be the noise on the left. At the output θ the noise on the right is b + g, g = k·a + k′·a′, where a and a′ are unit
vectors along the old and the new record, with the signs of their slopes, and k = |f′|·‖x‖, k′ likewise, are at most L.
The loss is (‖g‖² + 2⟨b, g⟩)/(2σ²) plus a log determinant ratio of at most ln(1 + β/λ) (determinant-ratio).

- *f monotone*: a and a′ do not depend on b. The noise part is convex in (k, k′), so at most the largest of its values at
  the corners (0, 0), (L, 0), (0, L), (L, L) of a square. At a corner g is fixed, so E(1 − e^(ε̃ − loss))₊ is the profile
  H(ε̃, ‖g‖/σ) of Gaussian noise, and ‖g‖ is at most L, L and 2L. A maximum is at most a sum:
  δ ≤ H(ε̃, 2L/σ) + 2·H(ε̃, L/σ), as the corner (0, 0) has no loss and ε̃ ≥ 0.
- *logistic*: the old record's slope p says what its curvature is. Cut [0, 1] at 0 = p₀ < … < 1: in a cell the log
  determinant ratio is at most the largest ln(1 + p(1−p)κ) there, and the noise part at most that at a corner, with q = pⱼ
  or 1 + pⱼ. So δ is at most the sum over cuts and both q of H(ε − lⱼ, qR/σ), lⱼ the larger of the two cells that touch pⱼ.
  Shorter records are no worse (objective-perturbation-logistic).
- *any f*: ⟨b, g⟩ ≤ ‖g‖·ρσ, ρσ the length of b's projection on the plane of x and x′, which does not depend on θ. ρ is
  Rayleigh, P(ρ > t) = e^(−t²/2), and ‖g‖ ≤ 2L. So the loss is at most aρ + a²/2 + ln(1 + β/λ), a = 2L/σ.
"""

from fractions import Fraction

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.pairs import GaussianPair
from dpverify.pairs.gaussian import upper_tail
from dpverify.theorems import ANALYTIC_GAUSSIAN, Step
from proofs.analytic_gaussian import normal_cdf, profile
from proofs.determinant_ratio import DETERMINANT_RATIO
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.support.checks import VACUOUS, answered, at_most, provided
from proofs.support.form import Clause, Proof
from proofs.support.logistic import noise_at
from proofs.support.symbolic import nonnegative, positive, same
from solvers.privacy.objective_deltas import Constants, rayleigh_delta, united_delta
from solvers.privacy.theorems import (
    OBJECTIVE_PERTURBATION_LOGISTIC,
    OBJECTIVE_PERTURBATION_REPLACED,
)


def corners_are_the_worst(sign: int = 1) -> Step:
    """t·x² + (1−t)·y² − (t·x + (1−t)·y)² = t(1−t)(x − y)² ≥ 0: ‖g‖² is convex along every segment."""
    x, y = sp.symbols("x y", real=True)
    a, b = sp.symbols("a b", nonnegative=True)
    t = a / (a + b + 1)
    gap = t * x**2 + (1 - t) * y**2 - (t * x + (1 - t) * y) ** 2
    holds = same(gap, sign * t * (1 - t) * (x - y) ** 2) & nonnegative(t * (1 - t), (a, b))
    return Step("corners", holds, "each coordinate of g, all segments")


def how_long_g_is(two: int = 2) -> Step:
    """(k + k′)² − ‖k·a + k′·a′‖² = 2kk′(1 − cos) ≥ 0."""
    k, other, room = sp.symbols("k other room", nonnegative=True)
    cosine = 1 - room
    gap = (k + other) ** 2 - (k**2 + other**2 + 2 * k * other * cosine)
    holds = same(gap, two * k * other * room) & nonnegative(gap, (k, other, room))
    return Step("length of g", holds, "all angles")


def profiles_rise(sign: int = 1) -> Step:
    """∂H(ε, μ)/∂μ = φ(ε/μ − μ/2) > 0: shorter g cost less."""
    epsilon, mu = sp.symbols("epsilon mu", positive=True)
    slope = sp.diff(profile(epsilon, mu), mu)
    density = sp.exp(-((epsilon / mu - mu / 2) ** 2) / 2) / sp.sqrt(2 * sp.pi)
    holds = same(slope, sign * density)
    return Step("H rises with μ", holds, "all ε, μ")


def a_maximum_is_at_most_a_sum(weight: Fraction = Fraction(1)) -> Step:
    """h(max xᵢ) = max h(xᵢ) ≤ Σ h(xᵢ) for h(x) = (1 − e^(ε − x))₊, which rises and is ≥ 0."""
    least, more, most = sp.symbols("least more most", nonnegative=True)
    values = (least, least + more, least + more + most)  # in rising order
    holds = nonnegative(sp.Rational(weight) * sum(values) - values[-1], (least, more, most))
    x, at = sp.symbols("x at", real=True)
    holds &= positive(sp.diff(1 - sp.exp(at - x), x))
    return Step("maximum and sum", holds, "any three values ≥ 0")


def the_rayleigh_integral(root: int = 1) -> Step:
    """∫ r·e^(−r²/2)·(1 − e^(c − ar)) dr = −e^(−r²/2)·(1 − e^(c − ar)) + a·e^(c + a²/2)·√(2π)·Φ(r + a)."""
    r, c = sp.symbols("r c", real=True)
    a = sp.Symbol("a", positive=True)
    body = sp.exp(-(r**2) / 2) * (1 - sp.exp(c - a * r))
    tail = a * sp.exp(c + a**2 / 2) * sp.sqrt(2 * sp.pi) * normal_cdf(r + a)
    holds = same(sp.diff(-body + root * tail, r), r * body)
    return Step("Rayleigh integral", holds, "all a, c, r")


def the_library_adds_up(two: int = 2) -> Step:
    """`united_delta` is H(ε̃, 2L/σ) + 2·H(ε̃, L/σ), rounded up; for logistic losses it is less."""
    holds, count = VACUOUS, 0
    with ctx.workprec(192):
        for sigma, ridge, epsilon in ((8.0, 0.5, 1.0), (2.0, 1.0, 0.5), (0.5, 4.0, 8.0)):
            constants = Constants(lipschitz=1.0, smoothness=0.25, ridge=ridge)
            left = ball(epsilon) - constants.determinant()
            wide = GaussianPair.of(sigma=sigma, sensitivity=2.0).profile_ball(left)
            narrow = GaussianPair.of(sigma=sigma, sensitivity=1.0).profile_ball(left)
            sum_ = wide + two * narrow
            delta = united_delta(constants, sigma, epsilon)
            holds &= at_most(sum_, ball(delta)) & at_most(ball(delta), sum_ * arb("1.000000001"))
            holds &= answered(united_delta(constants, sigma, epsilon, norm=1.0) <= delta)
            # The Rayleigh rule, by the integral above between r₀ = max(c/a, 0) and infinity.
            a = 2 / ball(sigma)
            c = left - a * a / 2
            start = (c / a).max(arb(0))
            exact = (1 - c.exp()).max(arb(0)) + a * left.exp() * (2 * arb.pi()).sqrt() * upper_tail(
                start + a
            )
            claimed = rayleigh_delta(constants, sigma, epsilon)
            holds &= at_most(exact.min(arb(1)), ball(claimed) * arb("1.000000001"))
            count += 1
    return Step("library", holds, f"{count} settings")


def exact_losses_obey(length: str = "1") -> Step:
    """ln p(θ)/p′(θ) ≤ ln(1 + β/λ) plus the worst corner, for the record 1 replaced by −1 and by 1/2, both ways."""
    holds, tight = VACUOUS, False
    with ctx.workprec(128):
        sigma, lam, size = ball(0.75), ball(0.125), arb(length)
        extra = (1 + ball(0.25) / lam).log()
        for old, new in ((1.0, -1.0), (-1.0, 1.0), (1.0, 0.5), (0.5, 1.0)):
            # b moves by p − p′·(…): the corners are the slopes 0 and 1 of either record.
            corners = (size * ball(old), -size * ball(new), size * (ball(old) - ball(new)))
            for step in range(-200, 201):
                theta = ball(step / 8)
                here, bent = noise_at(theta, (-0.5, 0.25, old), lam)
                there, flat = noise_at(theta, (-0.5, 0.25, new), lam)
                loss = (there**2 - here**2) / (2 * sigma**2) + (bent / flat).log()
                worst = arb(0)
                for g in corners:
                    worst = worst.max((g * g - 2 * g * here) / (2 * sigma**2))
                holds &= at_most(loss, worst + extra)
                tight |= bool(loss > worst) and bool(loss > arb("0.1"))
    return Step("exact losses", holds & provided(tight), "401 points θ, four replacements")


PROOF = Proof(
    theorem=OBJECTIVE_PERTURBATION_REPLACED,
    clauses=(
        Clause(
            (
                "Objective perturbation with b ~ N(0, σ²I) and generalized linear losses has, for one record "
                "replaced and ε̃ = ε − ln(1 + β/λ) ≥ 0, δ ≤ H(ε̃, 2L/σ) + 2·H(ε̃, L/σ) if f is monotone;"
            ),
            by=(
                corners_are_the_worst,
                how_long_g_is,
                profiles_rise,
                a_maximum_is_at_most_a_sum,
                exact_losses_obey,
            ),
            argued="that a convex function on a square is largest at a corner, where g does not depend on b",
        ),
        Clause(
            (
                "for logistic losses, δ ≤ the sum over cuts p of [0, 1] and q = p, 1 + p of H(ε − l, qR/σ), l "
                "the largest ln(1 + p(1−p)R²/λ) over the cells that touch p;"
            ),
            by=(corners_are_the_worst, a_maximum_is_at_most_a_sum),
            argued="the same in each cell of [0, 1], with the largest log determinant ratio of the cell",
        ),
        Clause(
            (
                "for any convex f, δ ≤ (1 − e^c)₊ + a·e^ε̃·√(2π)·Φ(−a − max(c/a, 0)) with a = 2L/σ, c = ε̃ − "
                "a²/2."
            ),
            by=(the_rayleigh_integral,),
            argued="that ⟨b, g⟩ is at most ‖g‖ times the length of b in the plane of both records, which is Rayleigh",
        ),
    ),
    library=(the_library_adds_up,),
    uses=(
        ANALYTIC_GAUSSIAN,
        DETERMINANT_RATIO,
        OBJECTIVE_PERTURBATION,
        OBJECTIVE_PERTURBATION_LOGISTIC,
    ),
    mutations={
        "‖g‖² concave": lambda: corners_are_the_worst(sign=-1),
        "kk′(1 − cos)": lambda: how_long_g_is(two=1),
        "H falls with μ": lambda: profiles_rise(sign=-1),
        "half of the sum": lambda: a_maximum_is_at_most_a_sum(Fraction(1, 2)),
        "twice the tail": lambda: the_rayleigh_integral(root=2),
        "three corners of length L": lambda: the_library_adds_up(two=3),
        "slopes up to 1/4": lambda: exact_losses_obey("0.25"),
    },
)
