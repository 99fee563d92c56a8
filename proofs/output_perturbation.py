"""Output perturbation: noise on a minimum that a solver has found to within η.

The point t(D) that the solver returns is a query like any other. Between neighbors it moves by at most ‖t − m‖ + ‖m − m′‖ + ‖m′ − t′‖ ≤ Δ + 2η, where m and m′ are
the exact minima, which are at most Δ apart. So noise that hides a move of that length hides it. What the solver returns may depend on anything, as
long as it is certified to lie within η on every dataset.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.guarantees import PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import ANALYTIC_GAUSSIAN, GDP_TO_ZCDP, NORM_MECHANISM, Step
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative
from solvers.bounds import Bounds
from solvers.losses import Logistic
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge
from solvers.output_perturbation import OutputPerturbation
from solvers.privacy.theorems import CONSTRAINED_MINIMUM, MINIMIZER_SENSITIVITY, OUTPUT_PERTURBATION

__all__ = ["OUTPUT_PERTURBATION", "PROOF"]


def two_errors(twice: int = 2) -> Step:
    """(Δ + 2η) − (e + d + e′) ≥ 0 for e, e′ ≤ η and d ≤ Δ: the triangle inequality from t over m and m′ to t′."""
    first, second, apart, spare, room, other = sp.symbols(
        "e1 e2 d spare room other", nonnegative=True
    )
    # η = e1 + spare = e2 + other, so that both errors range over all of [0, η].
    size, holds = apart + room, VACUOUS
    for small, large in ((first, spare), (second, other)):
        eta = small + large
        gap = size + twice * eta - (small + apart + eta)  # the other error at its largest
        holds &= nonnegative(sp.expand(gap), (first, second, apart, spare, room, other))
    return Step("Δ + 2η", holds, "all minima and errors")


def it_is_attained(twice: int = 2) -> Step:
    """On a line: minima 0 and Δ, points −η and Δ + η, which are Δ + 2η apart."""
    holds, count = VACUOUS, 0
    for size, eta in product(
        (Fraction(1), Fraction(7, 3)), (Fraction(0), Fraction(1, 10), Fraction(2))
    ):
        points = (-eta, size + eta)
        holds &= equal(points[1] - points[0], size + twice * eta)
        holds &= at_most(abs(points[0]), eta) & at_most(abs(points[1] - size), eta)
        count += 1
    return Step("attained", holds, f"{count} minima and errors")


def the_library_charges_it(share: Fraction = Fraction(1)) -> Step:
    """`OutputPerturbation.l2_sensitivity` is at least L/λ + 2η, 2L/λ + 2η if replaced, and at most 10^-12 of it more."""
    holds, count = VACUOUS, 0
    for ridge, eta, relation in product((0.5, 3.0), (1e-3, 0.25), Relation):
        private = OutputPerturbation(
            problem=Problem(
                loss=Logistic(), bounds=Bounds(norm=2.0, labels=(-1, 1)), regularizer=Ridge(ridge)
            ),
            budget=PureDP(epsilon=1.0),
            relation=relation,
            solver_error=eta,
        )
        times = 2 if relation is Relation.REPLACE_ONE else 1
        exact = share * (Fraction(2.0) * times / Fraction(ridge) + 2 * Fraction(eta))
        found = Fraction(private.l2_sensitivity(2))
        holds &= at_most(exact, found) & at_most(found, exact * (1 + Fraction(1, 10**12)))
        count += 1
    return Step("`OutputPerturbation`", holds, f"{count} problems, L = 2")


PROOF = Proof(
    theorem=OUTPUT_PERTURBATION,
    clauses=(
        Clause(
            "If the minimum of Σℓ + (λ/2)‖θ‖², on a closed convex domain and with any convex regularizer, is known to within η, then noise on it that makes a query of ℓ2 sensitivity Δ + 2η ε-DP, (ε, δ)-DP, μ-GDP or ρ-zCDP makes the release so;",
            by=(two_errors, it_is_attained),
            argued="that the point which is computed is a query of that sensitivity; the triangle inequality",
        ),
        Clause(
            "Δ = L/λ when a record is added or removed, 2L/λ when one is replaced, for L-Lipschitz convex losses.",
            argued="constrained-minimum; minimizer-sensitivity, with nλ for λ, where there are no corners",
        ),
    ),
    library=(the_library_charges_it,),
    uses=(
        CONSTRAINED_MINIMUM,
        MINIMIZER_SENSITIVITY,
        ANALYTIC_GAUSSIAN,
        NORM_MECHANISM,
        GDP_TO_ZCDP,
    ),
    mutations={
        "one error": lambda: two_errors(twice=1),
        "3η is attained": lambda: it_is_attained(twice=3),
        "a tenth more": lambda: the_library_charges_it(Fraction(11, 10)),
    },
)
