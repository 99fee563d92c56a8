"""The published rule for Gaussian noise, σ ≥ L·√(8·ln(2/δ) + 4ε)/ε and λ ≥ 2β/ε, from the exact loss.

ln(1 + β/λ) ≤ β/λ ≤ ε/2, which leaves ε/2 for the noise. Its part of the loss is at most m·|z| + m²/2 with m = L/σ and z standard
normal (objective-perturbation-gaussian), and |z| ≤ t = √(2·ln(2/δ)) but for probability 2·e^(−t²/2) = δ. With w² = t² + ε and
y = t/w the largest m is ε/(2w), and m·t + m²/2 ≤ ε/2 is y + (1−y²)/4 ≤ 1.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.theorems import Step
from proofs.objective_perturbation_gaussian import OBJECTIVE_PERTURBATION_GAUSSIAN
from proofs.support.checks import VACUOUS, below
from proofs.support.digits import gaussian_profile
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import PUBLISHED_GAUSSIAN


def the_determinant_takes_half(two: int = 2) -> Step:
    """x − ln(1+x) is 0 at 0 with slope x/(1+x) ≥ 0, and x = β/λ ≤ ε/2 at λ ≥ 2β/ε."""
    x, beta, epsilon, more = sp.symbols("x beta epsilon more", positive=True)
    slack = x - sp.log(1 + x)
    holds = same(slack.subs(x, 0), 0) & same(sp.diff(slack, x), x / (1 + x))
    lam = two * beta / epsilon + more
    holds &= nonnegative(epsilon / 2 - beta / lam, (beta, epsilon, more))
    return Step("ln(1 + β/λ) ≤ ε/2", holds, "all β, ε")


def the_tail_of_the_noise(factor: int = 2) -> Step:
    """P(|z| > t) ≤ 2·e^(−t²/2) = δ at t = √(2·ln(2/δ)), by E e^(s·z) = e^(s²/2) at s = t."""
    t, s, delta = sp.symbols("t s delta", positive=True)
    exponent = s**2 / 2 - s * t
    best = sp.solve(sp.diff(exponent, s), s)[0]
    holds = same(exponent.subs(s, best), -(t**2) / 2)
    holds &= same(factor * sp.exp(-(t**2) / 2).subs(t, sp.sqrt(2 * sp.log(2 / delta))), delta)
    return Step("P(|z| > t) ≤ δ", holds, "all δ in (0, 1)")


def the_noise_takes_half(four: int = 4) -> Step:
    """m = ε/√(4t² + 4ε) = ε/(2w); m·t + m²/2 = (ε/2)·(y + (1−y²)/4), and 1 − y − (1−y²)/4 = (1−y)(3−y)/4 ≥ 0 for y ≤ 1."""
    w, y = sp.symbols("w y", positive=True)
    t = w * y
    epsilon = w**2 - t**2
    m = epsilon / sp.sqrt(sp.expand(four * t**2 + 4 * epsilon))
    holds = same(m * t + m**2 / 2, epsilon / 2 * (y + (1 - y**2) / 4))
    u, v = sp.symbols("u v", nonnegative=True)
    share = u / (u + v)
    holds &= nonnegative(1 - share - (1 - share**2) / 4, (u, v))
    # A smaller m, a larger σ, only lowers m·t + m²/2.
    return Step("m·t + m²/2 ≤ ε/2", holds, "all ε, δ")


def linear_losses_obey(eight: int = 8) -> Step:
    """2·H(ε/2, ε/√(8·ln(2/δ) + 4ε)) < δ, at ε from 1/10 to 30 and δ from 1/2 to 1e-12."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for delta in ("0.5", "1e-3", "1e-6", "1e-12"):
            for epsilon in ("0.1", "1", "4", "30"):
                square = arb(epsilon) ** 2 / (eight * (2 / arb(delta)).log() + 4 * arb(epsilon))
                holds &= below(2 * gaussian_profile(square, arb(epsilon) / 2), arb(delta))
                count += 1
    return Step("exact values", holds, f"{count} values of ε and δ")


PROOF = Proof(
    theorem=PUBLISHED_GAUSSIAN,
    clauses=(
        Clause(
            (
                "Objective perturbation of generalized linear losses with σ ≥ L·√(8·ln(2/δ) + 4ε)/ε and λ ≥ "
                "2β/ε is (ε, δ)-DP when one record is added or removed."
            ),
            by=(
                the_determinant_takes_half,
                the_tail_of_the_noise,
                the_noise_takes_half,
                linear_losses_obey,
            ),
            argued=(
                "that a loss above ε has probability at most δ implies (ε, δ)-DP, and the loss of "
                "objective-perturbation-gaussian"
            ),
        ),
    ),
    uses=(OBJECTIVE_PERTURBATION_GAUSSIAN,),
    mutations={
        "λ ≥ β/ε": lambda: the_determinant_takes_half(two=1),
        "one side of the tail": lambda: the_tail_of_the_noise(factor=1),
        "√(4·ln(2/δ) + 4ε)": lambda: the_noise_takes_half(four=2),
        "2·ln(2/δ)": lambda: linear_losses_obey(eight=2),
    },
)
