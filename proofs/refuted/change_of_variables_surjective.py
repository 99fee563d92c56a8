"""Lemma 14.4 changes variables along a map that is only surjective. It needs a bijection.

y = x² maps the uniform law on [−1, 1] onto [0, 1], surjectively. One branch of H⁻¹, √y, gives
f(√y)·|d√y/dy| = 1/(4√y), whose integral is 1/2: half of the mass is gone.
"""

import sympy as sp

from dpverify.theorems import Check, Step, Theorem
from proofs.support.checks import equal, every, some
from proofs.support.form import Claim, Counterexample, Proof
from proofs.support.symbolic import same

CHANGE_OF_VARIABLES_SURJECTIVE = Theorem(
    name="notes-change-of-variables",
    statement="For surjective H and y = H(x), g(y) = f(H⁻¹(y))·|det dH⁻¹/dy| is the density of y.",
    source="Wang, CS 325, lecture 14, Lemma 14.4",
    proof="proofs/refuted/change_of_variables_surjective.py",
)


def the_formula_loses_mass(branches: int = 1) -> Step:
    """∫₀¹ 1/2·|d√y/dy| dy = 1/2, not 1."""
    y = sp.Symbol("y", positive=True)
    density = branches * sp.Rational(1, 2) * sp.diff(sp.sqrt(y), y)
    mass = sp.integrate(density, (y, 0, 1))
    return Step("mass 1/2", same(mass, sp.Rational(1, 2)), "H(x) = x²")


def a_bijection_keeps_it(power: int = 3) -> Step:
    """For y = x³, a bijection of [−1, 1] with differentiable inverse off 0, the mass is 1."""
    y = sp.Symbol("y", positive=True)
    half = sp.integrate(sp.Rational(1, 2) * sp.diff(y ** sp.Rational(1, power), y), (y, 0, 1))
    holds = same((2 if power % 2 else 1) * half, 1)
    return Step("a bijection", holds, "H(x) = x³")


def _is_surjective(power: int) -> Check:
    """x^power maps [−1, 1] onto [0, 1] or [−1, 1]: it is continuous, and takes both ends."""
    low = 0 if power % 2 == 0 else -1
    return every(some(equal(x**power, end) for x in (-1, 0, 1)) for end in (low, 1))


def _is_a_density(power: int) -> Check:
    """f(H⁻¹(y))·|dH⁻¹/dy|, f = 1/2, adds up to 1 over the image; odd powers have two mirrored halves."""
    y = sp.Symbol("y", positive=True)
    half = sp.integrate(sp.diff(y ** sp.Rational(1, power), y) / 2, (y, 0, 1))
    return equal(half * (1 + power % 2), sp.Integer(1))


PROOF = Proof(
    theorem=CHANGE_OF_VARIABLES_SURJECTIVE,
    mutations={
        "both branches": lambda: the_formula_loses_mass(branches=2),
        "x² as a bijection": lambda: a_bijection_keeps_it(power=2),
    },
    counterexample=Counterexample(
        claim=Claim(_is_surjective, _is_a_density),
        at=2,
        control=3,
        argued=("that a density has mass 1, and that H⁻¹ is the root"),
        claimed="g is a density",
        instance=("x uniform on [−1, 1], H(x) = x², surjective onto [0, 1]",),
        truth="g(y) = 1/(4√y) has mass 1/2",
        correction="H a bijection, differentiable with differentiable inverse; θ ↔ b is one, as λ > 0",
        by=(the_formula_loses_mass, a_bijection_keeps_it),
    ),
)
