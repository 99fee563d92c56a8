"""zCDP composes by adding up ρ, as the divergences α·ρᵢ add up at every order α."""

from fractions import Fraction

import sympy as sp

from dpverify.accounting.parts import Part
from dpverify.accounting.rules.zcdp import zcdp
from dpverify.guarantees import ApproxDP, ZeroConcentratedDP
from dpverify.pairs import GaussianPair, LeakyResponsePair
from dpverify.theorems import RENYI_COMPOSITION, RENYI_TO_APPROX, ZCDP_COMPOSITION, Step
from proofs.support.checks import equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def linear_in_the_order(power: int = 1) -> Step:
    """α·ρ₁ + α·ρ₂ = α·(ρ₁ + ρ₂)."""
    order, one, two = sp.symbols("alpha rho1 rho2", positive=True)
    holds = same(order * one + order * two, order * (one**power + two**power))
    return Step("α·ρ is linear in ρ", holds, "all orders, all ρ")


def the_library_adds(factor: Fraction = Fraction(1)) -> Step:
    """`zcdp`: given ρ, Gaussian μ²/2 and pure ε²/2, added exactly."""
    parts = (
        Part(ZeroConcentratedDP(rho=0.25), 3, "given"),
        Part(GaussianPair(Fraction(1, 4)), 8, "gaussian"),
        Part(LeakyResponsePair(ApproxDP(epsilon=0.5)), 2, "pure"),
    )
    found = zcdp(parts)
    expected = factor * (Fraction(3, 4) + 8 * Fraction(1, 8) + 2 * Fraction(1, 8))
    holds = equal(None if found is None else found.rho, float(expected))
    return Step("`zcdp`", holds, "one composition")


PROOF = Proof(
    theorem=ZCDP_COMPOSITION,
    clauses=(
        Clause(
            "Parts that are ρᵢ-zCDP compose, adaptively, to (Σρᵢ)-zCDP;",
            by=(linear_in_the_order,),
            argued="renyi-composition at every order",
        ),
        Clause(
            "so to (ε, δ)-DP wherever a Rényi divergence of α·Σρᵢ at one order α implies it.",
            argued="renyi-to-approx, at every order",
        ),
    ),
    library=(the_library_adds,),
    uses=(RENYI_COMPOSITION, RENYI_TO_APPROX),
    mutations={
        "ρ² add up": lambda: linear_in_the_order(power=2),
        "the library halves": lambda: the_library_adds(Fraction(1, 2)),
    },
)
