"""Lagrange's identity in the plane, which is where Cauchy and Schwarz's inequality comes from.

Two vectors lie in a plane. With w = (a, b) and x = (c, d) in it, ‖w‖²·‖x‖² − ⟨w, x⟩² is a square; and squares are not negative.
"""

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import never_negative, same

LAGRANGE_IDENTITY = Theorem(
    name="lagrange-identity",
    statement=(
        "(a**2 + b**2)*(c**2 + d**2) - (a*c + b*d)**2 = (a*d - b*c)**2 for all a, b, c, d; "
        "x**2 ≥ 0 for all x"
    ),
    source="Lagrange, 1773",
    proof="proofs/lagrange_identity.py",
)


def the_gap_is_a_square(sign: int = 1) -> Step:
    """(a² + b²)(c² + d²) − (ac + bd)² = (ad − bc)²."""
    a, b, c, d = sp.symbols("a b c d", real=True)
    gap = (a**2 + b**2) * (c**2 + d**2) - (a * c + b * d) ** 2
    return Step("the gap", same(gap, (a * d - sign * b * c) ** 2), "all a, b, c, d")


def squares_are_not_negative(power: int = 2) -> Step:
    """x² ≥ 0."""
    x = sp.Symbol("x", real=True)
    return Step("squares", never_negative(x**power), "all x")


PROOF = Proof(
    theorem=LAGRANGE_IDENTITY,
    clauses=tuple(
        Clause(formula, by=(step,))
        for formula, step in zip(
            LAGRANGE_IDENTITY.statement.split("; "),
            (the_gap_is_a_square, squares_are_not_negative),
            strict=True,
        )
    ),
    mutations={
        "(ad + bc)²": lambda: the_gap_is_a_square(sign=-1),
        "cubes": lambda: squares_are_not_negative(power=3),
    },
)
