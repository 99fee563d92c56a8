"""diffprivlib's logistic regression charges the curvature R/4 for rows of norm up to R, where it is R²/4.

Its `Vector` mechanism takes a `function_sensitivity` c and a `data_sensitivity` R, and sets ε_p = ε − 2·ln(1 + c·R/λ), as Chaudhuri,
Monteleoni and Sarwate do for R = 1. Noise of density ∝ e^(−ε_p‖b‖/(2R)) is added to Σℓ + (λ/2)‖θ‖² + ⟨b, θ⟩, λ = 1/C, with c = 1/4. The
second derivative of a logistic loss is at most R²/4, not R/4. As ε_p + ln(1 + R²/(4λ)) bounds the loss, the rule is right wherever
1 + R²/(4λ) ≤ (1 + R/(4λ))², that is R·(1 − 1/(4λ)) ≤ 2: for R ≤ 2, or λ ≤ 1/4. Beyond, it may fail:

In one dimension, N records of size r with label −1, and a record R with label +1 against the record 0. At θ = 0 every slope is half of
its record, so b = (R − N·r)/2 on the left and −N·r/2 on the right, and for N·r ≥ R the noise loses (R/2)·ε_p/(2R) = ε_p/4, while the
second derivatives have the ratio (λ + R²/4 + N·r²/4)/(λ + N·r²/4). Small r leaves nearly all of 1 + R²/(4λ).
"""

from fractions import Fraction

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.digits import agrees
from proofs.support.form import Claim, Counterexample, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.theorems import OBJECTIVE_PERTURBATION_LOGISTIC

PUBLISHED_LOGISTIC = Theorem(
    name="published-logistic-constant",
    statement=(
        "Objective perturbation of logistic losses with rows of norm up to R, a ridge λ and noise ∝ e^(−ε_p‖b‖/(2R)), "
        "ε_p = ε − 2·ln(1 + R/(4λ)) > 0, is ε-DP, whatever R is."
    ),
    source="diffprivlib 0.6.6, mechanisms/vector.py and models/logistic_regression.py (function_sensitivity=0.25)",
    proof="proofs/published/logistic_constant.py",
)

_EPSILON, _NORM, _RIDGE = 3, 12, 1
_MANY, _SMALL = 12_000, Fraction(1, 1000)


def loss_near(width: str, epsilon: int = _EPSILON, norm: int = _NORM) -> arb:
    """ln p(θ)/p′(θ) as a ball that holds it for all |θ| ≤ width."""
    theta = arb(0, arb(width))
    budget = arb(epsilon) - 2 * (1 + arb(norm) / (4 * _RIDGE)).log()
    own = 1 / (1 + (norm * theta).exp())  # the slope of the record R with label +1
    other = 1 / (1 + (-ball(_SMALL) * theta).exp())  # and of the small ones, with label −1
    common = -_MANY * ball(_SMALL) * other - _RIDGE * theta
    bend = _MANY * ball(_SMALL) ** 2 * other * (1 - other) + _RIDGE
    left, right = common + own * norm, common
    noise = (abs(right) - abs(left)) * budget / (2 * arb(norm))
    return noise + ((bend + own * (1 - own) * norm**2) / bend).log()


def the_loss_exceeds(epsilon: int = _EPSILON, printed: str = "3.6649") -> Step:
    """At θ = 0 the loss is 3.6649… and for all |θ| ≤ 10^-3 it is above ε = 3."""
    with ctx.workprec(128):
        holds = agrees(loss_near("0", epsilon), printed) & below(
            epsilon, loss_near("1e-3", epsilon)
        )
    return Step("the loss", holds, "ε = 3, R = 12, C = 1, 12,001 records")


def where_it_holds(extra: int = 0) -> Step:
    """(1 + R/(4λ))² − (1 + R²/(4λ)) = (R/(4λ))·(2 + R/(4λ) − R) ≥ 0 for R ≤ 2."""
    short, over, lam = sp.symbols("short over lambda", positive=True)
    norm = sp.Symbol("R", positive=True)
    gap = (1 + norm / (4 * lam)) ** 2 - (1 + norm**2 / (4 * lam))
    holds = same(gap, norm / (4 * lam) * (2 + norm / (4 * lam) - norm))
    small = (2 + extra) * short / (short + over)  # every R in (0, 2)
    holds &= nonnegative(gap.subs(norm, small), (short, over, lam))
    return Step("R ≤ 2", holds, "all λ > 0")


def the_square_repairs_it(power: int = 2) -> Step:
    """With ε_p = ε − ln(1 + R²/(4λ)) the same loss stays below ε, at ε = 4: 3.6 + 0.1 < 4."""
    holds = VACUOUS
    with ctx.workprec(128):
        budget = 4 - (1 + arb(_NORM) ** power / (4 * _RIDGE)).log()
        bend = _MANY * ball(_SMALL) ** 2 / 4 + _RIDGE
        ratio = ((bend + arb(_NORM) ** 2 / 4) / bend).log()
        holds &= below(budget / 4 + ratio, budget + (1 + arb(_NORM) ** power / (4 * _RIDGE)).log())
    return Step("R²/4", holds, "ε = 4, the same records")


def _is_allowed(case: tuple[int, int]) -> Check:
    """ε_p = ε − 2·ln(1 + R/(4λ)) > 0, and all records are of norm at most R."""
    epsilon, norm = case
    with ctx.workprec(128):
        budget = arb(epsilon) - 2 * (1 + arb(norm) / (4 * _RIDGE)).log()
        return below(0, budget) & at_most(_SMALL, norm)


def _is_private(case: tuple[int, int]) -> Check:
    """The loss is at most ε for all |θ| ≤ 10^-3."""
    epsilon, norm = case
    with ctx.workprec(128):
        return at_most(loss_near("1e-3", epsilon, norm), epsilon)


PROOF = Proof(
    theorem=PUBLISHED_LOGISTIC,
    uses=(OBJECTIVE_PERTURBATION_LOGISTIC,),
    mutations={
        "ε = 4 is no counterexample": lambda: the_loss_exceeds(epsilon=4),
        "digits 3.70": lambda: the_loss_exceeds(printed="3.7000"),
        "R ≤ 4": lambda: where_it_holds(extra=2),
        "no curvature": lambda: the_square_repairs_it(power=-3),
    },
    counterexample=Counterexample(
        claim=Claim(_is_allowed, _is_private),
        at=(_EPSILON, _NORM),
        control=(_EPSILON, 2),
        argued=(
            "that densities whose ratio exceeds e^ε on an interval contradict ε-DP, and the densities of the output (objective-perturbation-logistic)"
        ),
        claimed="3-DP at data_norm = 12, C = 1",
        instance=(
            "one feature, no intercept; 12,000 records x = 1/1000 with label −1 on both sides",
            "left: a record x = 12 with label +1; right: x = 0 in its place",
            "event: |θ| ≤ 1/1000",
        ),
        truth="the loss is 3.6649… at θ = 0 and above 3 on all of the event",
        correction="R²/4 in place of R/4 for rows of norm up to R; right as it is, where ε_p > 0, for R ≤ 2 (an intercept counted) or C ≥ 4",
        by=(the_loss_exceeds, where_it_holds, the_square_repairs_it),
    ),
)
