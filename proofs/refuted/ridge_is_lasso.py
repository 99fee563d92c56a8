"""The notes call least squares with λ‖θ‖₂² "LASSO". That is ridge regression; LASSO has λ‖θ‖₁, and sets weights to 0.

One record x = y = 1, λ = 2: (1 − θ)² + 2θ² is least at 1/3, (1 − θ)² + 2|θ| at 0.
"""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import at_most, equal
from proofs.support.form import Claim, Counterexample, Proof
from proofs.support.symbolic import positive, same

RIDGE_IS_LASSO = Theorem(
    name="notes-ridge-is-lasso",
    statement="Minimizing (1/n)·‖Y − Xθ‖² + λ‖θ‖₂² is LASSO, that is minimizing (1/n)·‖Y − Xθ‖² + λ‖θ‖₁.",
    source="lecture on machine learning with DP, solution of Exercise 3.1",
    proof="proofs/refuted/ridge_is_lasso.py",
)


def the_minimum_of_ridge(expected: Fraction = Fraction(1, 3)) -> Step:
    """d/dθ ((1−θ)² + 2θ²) = 6θ − 2 = 0 at 1/3, and the function is strictly convex."""
    theta = sp.Symbol("theta", real=True)
    risk = (1 - theta) ** 2 + 2 * theta**2
    [best] = sp.solve(sp.diff(risk, theta), theta)
    holds = same(best, sp.Rational(expected)) & positive(sp.diff(risk, theta, 2))
    return Step("ridge", holds, "x = y = 1, λ = 2")


def the_minimum_of_lasso(weight: int = 2) -> Step:
    """(1−θ)² + 2|θ| − 1 = θ² for θ ≥ 0 and θ² − 4θ for θ ≤ 0: ≥ 0, and 0 at θ = 0 only."""
    theta = sp.Symbol("theta", positive=True)
    right = (1 - theta) ** 2 + weight * theta - 1
    left = (1 + theta) ** 2 + weight * theta - 1  # at −θ
    holds = same(right, theta**2) & positive(sp.expand(left))
    return Step("LASSO", holds, "x = y = 1, λ = 2")


def _is_a_weight(weight: Fraction) -> Check:
    """λ ≥ 0."""
    return at_most(0, weight)


def _has_one_minimum(weight: Fraction) -> Check:
    """(1 − θ)² + λθ² is least at 1/(1 + λ), (1 − θ)² + λ|θ| at max(1 − λ/2, 0): these are equal."""
    return equal(1 / (1 + weight), max(1 - weight / 2, Fraction(0)))


PROOF = Proof(
    theorem=RIDGE_IS_LASSO,
    mutations={
        "ridge sets weights to 0": lambda: the_minimum_of_ridge(Fraction(0)),
        "λ = 1": lambda: the_minimum_of_lasso(weight=1),
    },
    counterexample=Counterexample(
        claim=Claim(_is_a_weight, _has_one_minimum),
        at=Fraction(2),
        control=Fraction(0),
        argued=(
            "that one problem has one set of minima, and where the derivatives vanish; without a penalty both are least squares"
        ),
        claimed="one and the same minimum",
        instance=("one record x = y = 1, λ = 2",),
        truth="1/3 with 2θ², 0 with 2|θ|",
        correction="ridge regression",
        by=(the_minimum_of_ridge, the_minimum_of_lasso),
    ),
)
