"""The norm mechanism with the ℓ1 norm is Laplace noise on every coordinate.

e^(−‖z‖₁/b) is the product of the e^(−|zᵢ|/b), and each integrates to 2b: so the coordinates are independent Laplace variables of scale b.
"""

import sympy as sp

from dpverify.theorems import LAPLACE, NORM_MECHANISM, Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same

LAPLACE_IS_A_NORM_MECHANISM = Theorem(
    name="laplace-is-a-norm-mechanism",
    statement="Noise of density ∝ e^(−‖z‖₁/b) is independent Laplace noise of scale b on every coordinate.",
    source="lecture on machine learning with DP, norm mechanism",
    proof="proofs/laplace_is_a_norm_mechanism.py",
)


def the_density_factors(share: int = 1) -> Step:
    """e^(−(s + |z|)/b)/(C·2b) = (e^(−s/b)/C)·(e^(−|z|/b)/(2b)): one coordinate more, whatever the others are."""
    rest, z, b, constant = sp.symbols("s z b C", positive=True)  # s = Σ of the others, z = |zᵢ|
    whole = sp.exp(-(rest + share * z) / b) / (constant * 2 * b)
    holds = same(whole, sp.exp(-rest / b) / constant * sp.exp(-z / b) / (2 * b))
    return Step("the density factors", holds, "any number of coordinates, by induction")


def one_coordinate(two: int = 2) -> Step:
    """2·∫₀^∞ e^(−z/b) dz = 2b."""
    z, b = sp.symbols("z b", positive=True)
    holds = same(2 * sp.integrate(sp.exp(-z / b), (z, 0, sp.oo)), two * b)
    return Step("one coordinate", holds, "all b > 0")


PROOF = Proof(
    theorem=LAPLACE_IS_A_NORM_MECHANISM,
    clauses=(
        Clause(
            LAPLACE_IS_A_NORM_MECHANISM.statement,
            by=(the_density_factors, one_coordinate),
            argued="that a density that factors belongs to independent variables; induction over the coordinates",
        ),
    ),
    uses=(LAPLACE, NORM_MECHANISM),
    mutations={
        "twice the last": lambda: the_density_factors(share=2),
        "3b": lambda: one_coordinate(two=3),
    },
)
