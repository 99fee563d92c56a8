"""Objective perturbation of logistic losses with Gaussian noise, one record added or removed.

Let b be the noise on the side where the record x is present. b does not depend on x, so u = −y⟨b, x⟩/(σ‖x‖) is exactly
standard normal, although p = |f′(⟨x, θ⟩)| depends on b through θ. At θ, with k = p·‖x‖, the noise part of the loss is
(k² + 2kσu)/(2σ²), and f′ has the sign of −y, so no other sign occurs. The determinants give ln(1 + p(1−p)·xᵀM⁻¹x). So

    loss ≤ PL(u), the largest over p in [0, 1] of (pm)²/2 + pmu + ln(1 + p(1−p)κ),   m = R/σ, κ = R²/λ,

for records of length R, and no more for shorter ones, by p̃ = p‖x‖/R as in objective-perturbation-logistic. As
(1 − e^(ε − loss))₊ rises with the loss, δ(ε) ≤ E(1 − e^(ε − PL(u)))₊. On the other side the noise part is the same with
its own normal u, and the determinant only helps, so the bound holds there as well.

PL is a maximum of lines in u with slopes pm ≥ 0, so it is increasing and convex, and lies below its chords; below the
first node it is at most its value there, and above the last (1 − e^(ε − PL))₊ is at most 1. That is what the library
adds up, in balls. Its values of PL at the nodes are maxima over cells of p: the quadratic part is convex in p, so at most
its chord, and the logarithm exceeds its chord by at most h²/8 times the largest −(ln g)″.
"""

import numpy as np
import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.pairs.gaussian import upper_tail
from dpverify.theorems import ANALYTIC_GAUSSIAN, Step
from proofs.analytic_gaussian import normal_density
from proofs.determinant_ratio import DETERMINANT_RATIO
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.support.checks import VACUOUS, at_most, provided
from proofs.support.form import Clause, Proof
from proofs.support.logistic import noise_at
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.objective_deltas import LogisticProfile
from solvers.privacy.theorems import (
    OBJECTIVE_PERTURBATION_LOGISTIC,
    OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN,
)

_SETTINGS = ((0.25, 2.0, 1.0), (1.0, 2.0, 1.0), (0.5, 1.0, 0.125), (2.0, 0.125, 3.0))


def the_noise_part(two: int = 2) -> Step:
    """((v + k)² − v²)/(2σ²) = (pm)²/2 + pmu along x, for v = σu, k = pR, m = R/σ."""
    u, p = sp.symbols("u p", real=True)
    sigma, norm = sp.symbols("sigma R", positive=True)
    v, k, m = sigma * u, p * norm, norm / sigma
    loss = ((v + k) ** 2 - v**2) / (2 * sigma**2)
    holds = same(loss, (p * m) ** 2 / two + p * m * u)
    return Step("noise part", holds, "all σ, R, p, u")


def chords_lie_above(sign: int = 1) -> Step:
    """t·A + (1−t)·B ≥ the line there, if A and B are not below it at the ends: so for the maximum of lines."""
    slope, at, first, second = sp.symbols("slope at first second", nonnegative=True)
    a, b, width = sp.symbols("a b width", nonnegative=True)
    t = a / (a + b + 1)
    line_low, line_high = at, at + slope * width
    chord = (1 - t) * (line_low + sign * first) + t * (line_high + sign * second)
    holds = nonnegative(chord - (at + slope * width * t), (slope, at, first, second, a, b, width))
    return Step("chords", holds, "all lines with slope ≥ 0, all t in [0, 1)")


def the_integral_of_a_chord(half: int = 2) -> Step:
    """e^(−su)·φ(u) = e^(s²/2)·φ(u + s)."""
    u, s = sp.symbols("u s", real=True)
    holds = same(sp.exp(-s * u) * normal_density(u), sp.exp(s**2 / half) * normal_density(u + s))
    return Step("integral of a chord", holds, "all slopes")


def the_curvature_falls(sign: int = 1) -> Step:
    """(2κ + κ² − 2κ²t)/(1 + κt)² falls in t on [0, 1/4], so its largest value in a cell is at the smaller t."""
    kappa, a, b = sp.symbols("kappa a b", nonnegative=True)
    t = sp.Symbol("t", nonnegative=True)
    bend = (2 * kappa + kappa**2 - 2 * kappa**2 * t) / (1 + kappa * t) ** 2
    falls = -sp.diff(bend, t) * (1 + kappa * t) ** 3
    expected = 2 * kappa**2 * (1 + kappa * t) + 2 * kappa * (
        2 * kappa + kappa**2 - 2 * kappa**2 * t
    )
    holds = same(falls, sign * expected)
    quarter = a / (a + b + 1) / 4
    holds &= nonnegative(expected.subs(t, quarter), (kappa, a, b))
    return Step("curvature falls", holds, "all κ ≥ 0, t in [0, 1/4)")


def _loss(u: arb, shift: arb, bend: arb, points: int) -> arb:
    """The largest of the lines over a grid of p: a lower bound on PL."""
    best = arb(0)
    for i in range(points + 1):
        p = ball(i / points)
        best = best.max((p * shift) ** 2 / 2 + p * shift * u + (1 + bend * p * (1 - p)).log())
    return best


def the_library_bounds_the_loss(points: int = 1024) -> Step:
    """`losses` on 1024 cells of p is not below PL, and at most 1e-3 above it, at 33 points u in four settings."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for shift, bend, _ in _SETTINGS:
            profile = LogisticProfile(shift=shift, bend=bend)
            for step in range(-16, 17):
                u = step / 4
                bound = ball(float(profile.losses(np.array([u]), points)[0]))
                least = _loss(ball(u), ball(shift), ball(bend), 512)
                holds &= at_most(least, bound) & at_most(bound, least + arb("1e-3"))
                count += 1
    return Step("PL in the library", holds, f"{count} points")


def the_library_bounds_delta(scale: float = 1.0) -> Step:
    """`delta` lies between lower Riemann sums of the integral and 1.09 times them."""
    holds = VACUOUS
    with ctx.workprec(128):
        for shift, bend, epsilon in _SETTINGS:
            delta = ball(scale * LogisticProfile(shift=shift, bend=bend).delta(epsilon))
            total, nodes = arb(0), [ball(i / 64) for i in range(-256, 513)]
            tails = [upper_tail(u) for u in nodes]
            for i, u in enumerate(nodes[:-1]):
                loss = _loss(u, ball(shift), ball(bend), 64)
                if loss > ball(epsilon):
                    total += (tails[i] - tails[i + 1]) * (1 - (ball(epsilon) - loss).exp())
            holds &= at_most(total, delta) & at_most(delta, total * arb("1.09"))
    return Step("δ in the library", holds, f"{len(_SETTINGS)} settings")


def exact_losses_obey(bend: float = 1.0) -> Step:
    """ln p(θ)/p′(θ) ≤ PL(u) for the record 1 added, u = −b/σ, and the exchanged loss likewise; nearly attained."""
    holds, tight = VACUOUS, False
    with ctx.workprec(128):
        sigma, lam = 0.75, 0.125
        profile = LogisticProfile(shift=1 / sigma * (1 + 2.0**-50), bend=bend / lam)
        for common in ((), (-0.5, 0.25)):
            for step in range(-200, 201):
                theta = ball(step / 8)
                without, flat = noise_at(theta, common, ball(lam))
                present, bent = noise_at(theta, (*common, 1.0), ball(lam))
                loss = (without**2 - present**2) / (2 * ball(sigma) ** 2) + (bent / flat).log()
                for value, b in ((loss, -present), (-loss, without)):
                    # The float of u is off by a rounding, which PL, of slope ≤ m, turns into less than 1e-12.
                    u = float((b / ball(sigma)).mid())
                    bound = ball(float(profile.losses(np.array([u]), 1024)[0])) + ball(1e-12)
                    holds &= at_most(value, bound)
                    tight |= bool(value > ball(0.99) * bound) and bool(value > arb("0.1"))
    return Step("exact losses", holds & provided(tight), "802 points θ, both directions")


PROOF = Proof(
    theorem=OBJECTIVE_PERTURBATION_LOGISTIC_GAUSSIAN,
    clauses=(
        Clause(
            (
                "Objective perturbation of logistic losses with ‖x‖ ≤ R and b ~ N(0, σ²I) has δ(ε) ≤ E(1 − "
                "e^(ε − PL(u)))₊, PL(u) the largest of (pm)²/2 + pmu + ln(1 + p(1−p)R²/λ) over p in [0, 1], m "
                "= R/σ and u standard normal, for one record added or removed."
            ),
            by=(
                the_noise_part,
                chords_lie_above,
                the_integral_of_a_chord,
                the_curvature_falls,
                exact_losses_obey,
            ),
            argued=(
                "that u is exactly standard normal whatever θ does, that shorter records are no worse, and (1 "
                "− e^(ε − ·))₊ rises"
            ),
        ),
    ),
    library=(the_library_bounds_the_loss, the_library_bounds_delta),
    uses=(
        ANALYTIC_GAUSSIAN,
        DETERMINANT_RATIO,
        OBJECTIVE_PERTURBATION,
        OBJECTIVE_PERTURBATION_LOGISTIC,
    ),
    mutations={
        "(pm)²/3": lambda: the_noise_part(two=3),
        "chords below": lambda: chords_lie_above(sign=-1),
        "e^(s²/3)": lambda: the_integral_of_a_chord(half=3),
        "curvature rises": lambda: the_curvature_falls(sign=-1),
        "four cells of p": lambda: the_library_bounds_the_loss(points=4),
        "nine tenths of δ": lambda: the_library_bounds_delta(scale=0.9),
        "half of the curvature": lambda: exact_losses_obey(bend=0.5),
    },
)
