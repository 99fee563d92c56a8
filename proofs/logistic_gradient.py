"""The gradient of the logistic loss, its length, its sensitivity and its smoothness.

With v = y·x, ∇ℓ = −v/(1 + e^⟨v, θ⟩): a factor in (0, 1) times v, and ‖v‖² is a sum of d + 1 squares of at most 1.
Replacing one of n records moves the mean gradient by at most the two lengths over n. The second derivative
along v is s·(1−s)·‖v‖² with s in (0, 1), at most ‖v‖²/4.
"""

from fractions import Fraction

import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.theorems import Step, Theorem
from proofs.refuted.gradient_noise_variance import squared_shift
from proofs.support.checks import below
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

LOGISTIC_GRADIENT = Theorem(
    name="logistic-gradient",
    statement=(
        "On [−1, 1]^(d+1) the logistic loss has gradients of length at most √(d+1), the mean gradient of n "
        "records has ℓ2 sensitivity at most 2√(d+1)/n when one is replaced, and the loss is (d+1)/4-smooth."
    ),
    source="Nikolov, CSC2412, private gradient descent, sensitivity of gradients",
    proof="proofs/logistic_gradient.py",
)


def the_factor_is_below_one(most: Fraction = Fraction(1)) -> Step:
    """d/dm ln(1 + e^(−m)) = −1/(1 + e^m), and 1/(1 + e^m) lies in (0, 1)."""
    m, growth = sp.Symbol("m", real=True), sp.Symbol("growth", positive=True)  # growth = e^m
    holds = same(sp.diff(sp.log(1 + sp.exp(-m)), m), -1 / (1 + sp.exp(m)))
    holds &= nonnegative(sp.Rational(most) - 1 / (1 + growth), (growth,))
    return Step("factor in (0, 1)", holds, "all margins")


def the_sensitivity(two: int = 2) -> Step:
    """‖g − g′‖ ≤ ‖g‖ + ‖g′‖ ≤ 2√(d+1), over n; ‖v‖² ≤ d + 1."""
    d, a, b, n = sp.symbols("d a b n", nonnegative=True)
    length = sp.sqrt(d + 1)
    # lengths √(d+1) − a and √(d+1) − b
    gap = two * length / (n + 1) - ((length - a) + (length - b)) / (n + 1)
    holds = nonnegative(sp.simplify(gap), (a, b, n))
    return Step("sensitivity", holds, "all d, n")


def the_smoothness(quarter: int = 4) -> Step:
    """f″ = s·(1−s) and 1/4 − s(1−s) = (s − 1/2)² ≥ 0, with s = 1/(1 + e^m)."""
    m, s = sp.symbols("m s", real=True)
    logistic = 1 / (1 + sp.exp(m))
    holds = same(sp.diff(sp.log(1 + sp.exp(-m)), m, 2), logistic * (1 - logistic))
    holds &= same(sp.Rational(1, quarter) - s * (1 - s), (s - sp.Rational(1, 2)) ** 2)
    return Step("smoothness", holds, "all margins")


def the_sensitivity_is_approached(two: int = 2) -> Step:
    """For d = 1 two records differ by √7.96, below 2√2 = √8 and above 99 % of it: the 2 is needed."""
    with ctx.workprec(128):
        square = squared_shift()
        holds = below(square, two**2 * (1 + 1)) & below(ball(Fraction(99**2, 100**2) * 8), square)
    return Step("approached", holds, "d = 1, θ = (3980, −4000)")


PROOF = Proof(
    theorem=LOGISTIC_GRADIENT,
    clauses=(
        Clause(
            "On [−1, 1]^(d+1) the logistic loss has gradients of length at most √(d+1),",
            by=(the_factor_is_below_one,),
            argued="that ‖v‖² is a sum of d + 1 squares of at most 1",
        ),
        Clause(
            "the mean gradient of n records has ℓ2 sensitivity at most 2√(d+1)/n when one is replaced,",
            by=(the_sensitivity, the_sensitivity_is_approached),
            argued="the triangle inequality",
        ),
        Clause(
            "and the loss is (d+1)/4-smooth.",
            by=(the_smoothness,),
            argued="that the Hessian is f″·v·vᵀ",
        ),
    ),
    mutations={
        "factor below 1/2": lambda: the_factor_is_below_one(Fraction(1, 2)),
        "√(d+1)/n": lambda: the_sensitivity(two=1),
        "1/8-smooth": lambda: the_smoothness(quarter=8),
        "√(d+1) is never passed": lambda: the_sensitivity_is_approached(two=1),
    },
)
