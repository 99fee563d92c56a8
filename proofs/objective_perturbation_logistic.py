"""Objective perturbation of logistic losses with noise ∝ e^(−‖b‖/τ): the slope determines the curvature.

For ℓ = ln(1 + e^(−y⟨x,θ⟩)) the slope is −y·p and the curvature p(1−p) at the same p = 1/(1 + e^(y⟨x,θ⟩)), so a record
whose slope is long has little curvature, and the two worst cases do not meet. At the output θ, with r = ‖x‖:

- the noise part of the loss is (‖b′‖ − ‖b‖)/τ ≤ ‖b′ − b‖/τ, which is p·r/τ for a record added or removed, and at most
  (p·r + p′·r′)/τ ≤ (p·r + R)/τ for one replaced;
- the determinants differ by the factor 1 + p(1−p)·xᵀM⁻¹x ≤ 1 + p(1−p)r²/λ where the record is present in the
  numerator, and by at most 1 where it is present in the denominator (determinant-ratio);
- a shorter record is no worse: with p̃ = p·r/R in [0, 1], p̃·R = p·r and p̃(1−p̃)R² ≥ p(1−p)r².

So the loss is at most the largest of qR/τ + ln(1 + p(1−p)R²/λ) over p in [0, 1], with q = p or 1 + p, in the direction
in which the determinant grows, and at most qR/τ in the other. The function is concave in p, so its tangent at any p
bounds it, which is how the library computes it.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import NORM_MECHANISM, Step
from proofs.determinant_ratio import DETERMINANT_RATIO
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.support.checks import VACUOUS, at_most, provided
from proofs.support.form import Clause, Proof
from proofs.support.logistic import noise_at
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.objective_deltas import logistic_epsilon
from solvers.privacy.theorems import OBJECTIVE_PERTURBATION_LOGISTIC


def slope_and_curvature(sign: int = 1) -> Step:
    """f′ = −p and f″ = p(1−p) for f(s) = ln(1 + e^(−s)) and p = 1/(1 + e^s)."""
    s = sp.Symbol("s", real=True)
    f, p = sp.log(1 + sp.exp(-s)), 1 / (1 + sp.exp(s))
    holds = same(sp.diff(f, s), -p) & same(sp.diff(f, s, 2), sign * p * (1 - p))
    return Step("slope and curvature", holds, "all scores")


def shorter_records_are_no_worse(power: int = 1) -> Step:
    """p̃(1−p̃)R² − p(1−p)r² = p·r·(R − r) ≥ 0 for p̃ = p·r/R and r ≤ R."""
    p, r, room = sp.symbols("p r room", nonnegative=True)
    norm = r + room
    share = p * r / norm
    gap = share * (1 - share) * norm**2 - p * (1 - p) * r**2
    holds = same(gap, p * r * room**power) & nonnegative(p * r * room, (p, r, room))
    return Step("shorter records", holds, "all p in [0, 1], all r ≤ R")


def how_far_the_noise_moves(one: int = 1) -> Step:
    """p·r + p′·r′ ≤ p·r + R, as p′ ≤ 1 and r′ ≤ R: q = 1 + p̃ when a record is replaced."""
    first, a, b, r = sp.symbols("first a b r", nonnegative=True)
    other = a / (a + b + 1)  # every p′ in [0, 1)
    room = sp.Symbol("room", nonnegative=True)
    gap = first + one * (r + room) - (first + other * r)
    holds = nonnegative(gap, (first, a, b, r, room))
    return Step("noise moves by qR", holds, "all records")


def concave_in_p(sign: int = 1) -> Step:
    """−(ln g)″ = (2κ + κ² − 2κ²t)/g² for g = 1 + κt, t = p(1−p) ≤ 1/4: positive, as 2κ²t ≤ κ²/2."""
    p = sp.Symbol("p", real=True)
    kappa, a, b = sp.symbols("kappa a b", nonnegative=True)
    t = p * (1 - p)
    bend = -sp.diff(sp.log(1 + kappa * t), p, 2)
    holds = same(bend, (2 * kappa + kappa**2 - sign * 2 * kappa**2 * t) / (1 + kappa * t) ** 2)
    quarter = a / (a + b + 1) / 4  # every t in [0, 1/4)
    holds &= nonnegative(2 * kappa + kappa**2 - 2 * kappa**2 * quarter, (kappa, a, b))
    return Step("concave in p", holds, "all κ ≥ 0, all p in [0, 1]")


def the_library_finds_the_maximum(scale: float = 1.0) -> Step:
    """The library's ε is not below the function at 1025 points p, nor above what it can reach between them."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for norm, lam, tau, replaced in (
            (1.0, 0.5, 2.0, False),
            (1.0, 0.5, 2.0, True),
            (3.0, 0.25, 0.125, False),
            (0.5, 40.0, 8.0, True),
        ):
            epsilon = ball(
                scale * logistic_epsilon(norm=norm, ridge=lam, scale=tau, replaced=replaced)
            )
            best = arb(-1)
            for i in range(1025):
                p = ball(i / 1024)
                q = 1 + p if replaced else p
                value = q * ball(norm / tau) + (1 + p * (1 - p) * ball(norm**2 / lam)).log()
                holds &= at_most(value, epsilon)
                best = best.max(value)
            # Between points a concave function exceeds them by at most h²/8 times its curvature.
            steps = ball(1024) ** -2 / 8 * (2 + ball(norm**2 / lam)) * ball(norm**2 / lam)
            holds &= at_most(epsilon, best + steps)
            count += 1
    return Step("library", holds, f"{count} settings, 1025 points p each")


def exact_losses_obey(share: str = "1", *, replaced: bool = False) -> Step:
    """|ln p(θ)/p′(θ)| ≤ ε at every point, and more than 0.9·ε at some, for the record 1 added.

    In one dimension a record and its replacement cannot both have their worst slope, so there the bound is not met.
    """
    holds, tight = VACUOUS, replaced
    with ctx.workprec(128):
        for lam, tau in ((0.5, 1.0), (0.125, 2.0)):
            epsilon = arb(share) * ball(
                logistic_epsilon(norm=1.0, ridge=lam, scale=tau, replaced=replaced)
            )
            for common in ((), (-0.5, 0.25)):
                other = (*common, -1.0) if replaced else common
                for step in range(-200, 201):
                    theta = ball(step / 8)
                    present, bent = noise_at(theta, (*common, 1.0), ball(lam))
                    without, flat = noise_at(theta, other, ball(lam))
                    loss = (abs(without) - abs(present)) / ball(tau) + (bent / flat).log()
                    holds &= at_most(abs(loss), epsilon)
                    tight |= bool(abs(loss) > ball(0.9) * epsilon)
    return Step("exact losses", holds & provided(tight), "401 points θ, four settings")


def exact_losses_obey_when_replaced(share: str = "1") -> Step:
    """The same for the record 1 replaced by −1, with q = 1 + p."""
    return exact_losses_obey(share, replaced=True)


PROOF = Proof(
    theorem=OBJECTIVE_PERTURBATION_LOGISTIC,
    clauses=(
        Clause(
            (
                "Objective perturbation of logistic losses with ‖x‖ ≤ R and noise ∝ e^(−‖b‖/τ) is ε-DP with ε "
                "= max over p in [0, 1] of q·R/τ + ln(1 + p(1−p)R²/λ);"
            ),
            by=(slope_and_curvature, shorter_records_are_no_worse, concave_in_p, exact_losses_obey),
            argued=(
                "the triangle inequality for the noise and determinant-ratio for the curvature, at one and "
                "the same p"
            ),
        ),
        Clause(
            "q = p for a record added or removed, q = 1 + p for one replaced.",
            by=(how_far_the_noise_moves, exact_losses_obey, exact_losses_obey_when_replaced),
            argued="the triangle inequality",
        ),
    ),
    library=(the_library_finds_the_maximum,),
    uses=(NORM_MECHANISM, DETERMINANT_RATIO, OBJECTIVE_PERTURBATION),
    mutations={
        "curvature −p(1−p)": lambda: slope_and_curvature(sign=-1),
        "gap quadratic in R − r": lambda: shorter_records_are_no_worse(power=2),
        "the other record does not move b": lambda: how_far_the_noise_moves(one=0),
        "−(ln g)″ with a plus": lambda: concave_in_p(sign=-1),
        "the library 1 % larger": lambda: the_library_finds_the_maximum(scale=1.01),
        "nine tenths of ε": lambda: exact_losses_obey("0.9"),
        "a fifth of ε when replaced": lambda: exact_losses_obey_when_replaced("0.2"),
    },
)
