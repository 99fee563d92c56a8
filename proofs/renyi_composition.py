"""Rényi divergences of one order add up.

Given the history h with masses p, q, let the next part have moment m_h = Σ a^α·b^(1−α) ≤ e^((α−1)ε₂).
Then the moment of both is Σ_h p^α·q^(1−α)·m_h ≤ e^((α−1)ε₁)·e^((α−1)ε₂), as every weight is ≥ 0.
"""

import math
from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.accounting.parts import Part
from dpverify.accounting.rules.rdp import RenyiComposition
from dpverify.guarantees import ApproxDP, RenyiDP
from dpverify.pairs import LeakyResponsePair
from dpverify.theorems import RENYI_COMPOSITION, RENYI_TO_APPROX, Step
from proofs.support.checks import VACUOUS, at_most, below, provided
from proofs.support.form import Clause, Proof
from proofs.support.laws import joint, rational_pairs
from proofs.support.symbolic import same


def moments_multiply(slip: int = 0) -> Step:
    """(p·a)^α·(q·b)^(1−α) = p^α·q^(1−α) · a^α·b^(1−α), and ln turns products into sums."""
    p, q, a, b, order = sp.symbols("p q a b alpha", positive=True)
    together = sp.expand_power_base((p * a) ** order * (q * b) ** (1 - order + slip))
    parts = p**order * q ** (1 - order) * a**order * b ** (1 - order)
    one, two = sp.symbols("one two", positive=True)
    logs = sp.expand_log(sp.log(sp.exp((order - 1) * one) * sp.exp((order - 1) * two)))
    holds = same(together / parts, 1) & same(sp.simplify(logs) / (order - 1), one + two)
    return Step("moments multiply", holds, "all orders α > 1")


def adaptive_trees(order: int = 2) -> Step:
    """`renyi_moment` of two rounds ≤ that of the first times the largest of the second, in rationals."""
    pairs = [pair for pair in rational_pairs(2, 4) if not pair.likelihood.singular]
    holds, equal, count = VACUOUS, 0, 0
    for first, one, two in product(pairs[::3], pairs[::2], pairs[::2]):
        bound = first.renyi_moment(2) * max(one.renyi_moment(2), two.renyi_moment(2))
        made = joint(first, [one, two]).renyi_moment(order)
        holds &= at_most(made, bound)
        equal += made == bound
        count += 1
    return Step("adaptive trees", holds & below(0, equal), f"{count} trees of two rounds")


def the_library_adds(extra: int = 0) -> Step:
    """`RenyiComposition.divergence` = Σ kᵢ·γᵢ, rounded up by one unit in the last place."""
    parts = (
        Part(RenyiDP(order=8.0, epsilon=0.25), 3, "given"),
        Part(LeakyResponsePair(ApproxDP(epsilon=0.5)), 2, "response"),
    )
    one = Fraction(LeakyResponsePair(ApproxDP(epsilon=0.5)).renyi(8.0))
    found = RenyiComposition(parts).divergence(8.0)
    exact = Fraction(3, 4) + (2 + extra) * one
    holds = at_most(exact, found) & at_most(found, exact * (1 + Fraction(1, 2**51)))
    holds &= provided(RenyiComposition(parts).divergence(9.0) == math.inf)
    return Step("`RenyiComposition`", holds, "one composition")


PROOF = Proof(
    theorem=RENYI_COMPOSITION,
    clauses=(
        Clause(
            "Parts with Rényi divergence εᵢ at one order compose, adaptively, to Σεᵢ at it;",
            by=(moments_multiply, adaptive_trees),
            argued="that a sum with weights ≥ 0 of moments is at most their largest; induction over the parts",
        ),
        Clause(
            "so to (ε, δ)-DP wherever that divergence, at any order at which all are known, implies it.",
            argued="renyi-to-approx, at every order",
        ),
    ),
    library=(the_library_adds,),
    uses=(RENYI_TO_APPROX,),
    mutations={
        "exponent 2 − α": lambda: moments_multiply(slip=1),
        "order 3 against 2": lambda: adaptive_trees(order=3),
        "one run too many": lambda: the_library_adds(extra=1),
    },
)
