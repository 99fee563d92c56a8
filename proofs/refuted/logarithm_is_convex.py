"""The notes on ERM list ln(x) among the convex functions. It is concave: ln 2.5 > (ln 1 + ln 4)/2."""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.checks import below
from proofs.support.form import Counterexample, Proof
from proofs.support.symbolic import claimed

LOGARITHM_IS_CONVEX = Theorem(
    name="notes-logarithm-convex",
    statement="log(x)/2 + log(y)/2 ≥ log(x/2 + y/2) for all x > 0, y > 0",
    source="Smith, Ullman, notes on private ERM, after Def. 3.2: “ln(x) is convex”, as that definition has it",
    proof="proofs/refuted/logarithm_is_convex.py",
)
_X, _Y = sp.symbols("x y", positive=True)


def the_midpoint(left: int = 1, right: int = 4) -> Step:
    """f((1+4)/2) > (f(1) + f(4))/2, that is (5/2)² > 1·4, as ln rises."""
    middle = Fraction(left + right, 2)
    return Step("midpoint", below(left * right, middle**2), "x = 1, y = 4")


PROOF = Proof(
    theorem=LOGARITHM_IS_CONVEX,
    mutations={"equal points": lambda: the_midpoint(4, 4)},
    counterexample=Counterexample(
        claim=claimed((sp.log(_X) + sp.log(_Y)) / 2, "≥", sp.log((_X + _Y) / 2)),
        at={"x": Fraction(1), "y": Fraction(4)},
        control={"x": Fraction(1), "y": Fraction(1)},
        claimed="f((x+y)/2) ≤ (f(x) + f(y))/2",
        instance=("f = ln, x = 1, y = 4",),
        truth="ln 2.5 > ln 2, as 6.25 > 4",
        correction="ln is concave, −ln is convex",
        by=(the_midpoint,),
    ),
)
