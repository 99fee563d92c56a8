"""Approximate minima perturbation is (ε, δ)-DP with σ₂ for the distance 2nγ/Λ, in a stated range of ε.

The objective (1/n)·Σℓ + (Λ/2n)‖θ‖² + ⟨b₁, θ⟩, with b₁ ~ N(0, σ₁²I), is solved until ‖∇‖ ≤ γ, and N(0, σ₂²I) is added.

- *The exact minimum* is a release of objective perturbation. A replaced record moves b₁ by g/n, ‖g‖ ≤ 2L; for generalized
  linear losses g = f′x − f′′x′ lies in the span of x and x′, though where in it depends on b₁. So ⟨b₁, g⟩ ≤ 2L·ρσ₁, where
  ρσ₁ is the length of b₁ in that plane (or line): P(ρ > t) ≤ e^(−t²/2) = δ₁ at t = √(2·ln(1/δ₁)). With s = 2L/(nσ₁) =
  ε₃/(1+t) the loss of the noise is at most s·t + s²/2 ≤ ε₃ but for probability δ₁, if s ≤ 2.
- *The determinants* differ by at most 1 + β/Λ, and ln(1 + β/Λ) ≤ β/Λ ≤ ε₁ − ε₃.
- *Given the exact minimum*, each dataset has its law of where the solver stops; all its stops are within nγ/Λ of
  the same point, so 2nγ/Λ apart at most. Gaussian noise for that, with σ₂ by the same rule, is (ε₂, δ₂)-DP.
- The pair (exact minimum, noisy stop) composes to (ε₁ + ε₂, δ₁ + δ₂); what is released is a part of it.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.theorems import ANALYTIC_GAUSSIAN, BASIC_COMPOSITION, Step, Theorem
from proofs.approximate_minimum import both_are_near_one_point
from proofs.determinant_ratio import DETERMINANT_RATIO
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.perturbed_minimum import PERTURBED_MINIMUM
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, below
from proofs.support.digits import gaussian_profile
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

APPROXIMATE_MINIMA = Theorem(
    name="approximate-minima",
    statement=(
        "Approximate minima perturbation of generalized linear losses with Λ ≥ rβ/(ε₁ − ε₃), r = min(p, 2), σ₁ = "
        "(2L/n)·(1 + √(2·ln(1/δ₁)))/ε₃ and σ₂ = (2nγ/Λ)·(1 + √(2·ln(1/δ₂)))/ε₂ is (ε₁ + ε₂, δ₁ + δ₂)-DP when one record "
        "is replaced, if ε₃ ≤ 2(1 + √(2·ln(1/δ₁))) and ε₂ ≤ 2(1 + √(2·ln(1/δ₂)))."
    ),
    source="Iyengar et al., IEEE S&P 2019, Algorithm 1; Wang, CS 325, lecture 14, with nγ/Λ and any ε",
    proof="proofs/approximate_minima.py",
)


def the_tail_in_a_plane(half: int = 2) -> Step:
    """P(ρ > t) = ∫_t^∞ r·e^(−r²/2) dr = e^(−t²/2), which is δ at t = √(2·ln(1/δ)); on a line it is smaller."""
    t, r, delta = sp.symbols("t r delta", positive=True)
    tail = sp.integrate(r * sp.exp(-(r**2) / 2), (r, t, sp.oo))
    holds = same(tail, sp.exp(-(t**2) / half))
    holds &= same(tail.subs(t, sp.sqrt(2 * sp.log(1 / delta))), delta)
    return Step("Rayleigh tail", holds, "all t > 0, all δ in (0, 1)")


def the_noise_pays(extra: int = 0) -> Step:
    """(s² + 2·s·ρ)/2 ≤ s·t + s²/2 ≤ ε₃ = s·(1+t): the gap is s·(1 − s/2), for s in [0, 2]."""
    t, short, u, v = sp.symbols("t short u v", nonnegative=True)
    s = (2 + extra) * u / (u + v)
    loss = (s**2 + 2 * s * t) / 2
    holds = nonnegative(s * (1 + t) - loss, (t, u, v))
    shorter = (s**2 + 2 * s * t / (1 + short)) / 2  # ρ < t
    holds &= nonnegative(loss - shorter, (t, short, u, v))
    return Step("noise ≤ ε₃", holds, "all t ≥ 0, all ε₃ ≤ 2(1 + t)")


def the_determinant_pays(factor: int = 1) -> Step:
    """x − ln(1+x) is 0 at 0 and has the slope x/(1+x) ≥ 0; β/Λ = (ε₁−ε₃)/r ≤ ε₁ − ε₃."""
    x, gap, more = sp.symbols("x gap more", nonnegative=True)
    slack = factor * x - sp.log(1 + x)
    holds = same(slack.subs(x, 0), 0) & same(sp.diff(slack, x), x / (1 + x))
    holds &= nonnegative(gap - gap / (1 + more), (gap, more))  # r = 1 + more
    return Step("ln(1 + β/Λ) ≤ ε₁ − ε₃", holds, "all β, Λ, r ≥ 1")


def two_stops(two: int = 2) -> Step:
    """Two points within nγ/Λ of one are 2nγ/Λ apart at most; then σ₂ has s = ε₂/(1+t)."""
    close, epsilon, t = sp.symbols("near epsilon t", positive=True)
    sigma = 2 * close * (1 + t) / epsilon
    holds = both_are_near_one_point(two).check & same(two * close / sigma, epsilon / (1 + t))
    return Step("2nγ/Λ", holds, "all n, γ, Λ, all dimensions")


def linear_losses_obey(stretch: int = 1) -> Step:
    """H(ε, ε/(1 + √(2·ln(1/δ)))) < δ for linear losses, at shares of 2(1 + √(2·ln(1/δ))) up to 1."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for delta in ("0.5", "0.1", "1e-3", "1e-6", "1e-12"):
            one = 1 + (2 * (1 / arb(delta)).log()).sqrt()
            for share in range(1, 9):
                epsilon = stretch * 2 * one * share / 8
                holds &= below(gaussian_profile((epsilon / one) ** 2, epsilon), arb(delta))
                count += 1
    return Step("linear losses", holds, f"{count} values of ε and δ")


PROOF = Proof(
    theorem=APPROXIMATE_MINIMA,
    clauses=(
        Clause(
            (
                "Approximate minima perturbation of generalized linear losses with Λ ≥ rβ/(ε₁ − ε₃), r = "
                "min(p, 2), σ₁ = (2L/n)·(1 + √(2·ln(1/δ₁)))/ε₃ and σ₂ = (2nγ/Λ)·(1 + √(2·ln(1/δ₂)))/ε₂ is (ε₁ "
                "+ ε₂, δ₁ + δ₂)-DP when one record is replaced, if ε₃ ≤ 2(1 + √(2·ln(1/δ₁))) and ε₂ ≤ 2(1 + "
                "√(2·ln(1/δ₂)))."
            ),
            by=(
                the_tail_in_a_plane,
                the_noise_pays,
                the_determinant_pays,
                two_stops,
                linear_losses_obey,
            ),
            argued=(
                "that the gradients’ difference lies in the plane of both records, so that its product with "
                "b₁ is at most the length of b₁ in that plane; that θ + z is part of (θ*, θ + z), whose parts "
                "compose"
            ),
        ),
    ),
    uses=(
        ANALYTIC_GAUSSIAN,
        BASIC_COMPOSITION,
        POST_PROCESSING,
        DETERMINANT_RATIO,
        OBJECTIVE_PERTURBATION,
        PERTURBED_MINIMUM,
    ),
    mutations={
        "tail e^(−t²)": lambda: the_tail_in_a_plane(half=1),
        "ε₃ ≤ 3(1 + t)": lambda: the_noise_pays(extra=1),
        "ln(1+x) ≤ 0": lambda: the_determinant_pays(factor=0),
        "nγ/Λ": lambda: two_stops(two=1),
        "twice the range": lambda: linear_losses_obey(stretch=2),
    },
)
