"""Domination survives adaptive composition.

Let h be what was seen so far, with masses p and q, and let the next part have masses a and b given
h. With f_h the profile of the next part, the profile of both together at x is

    Σ_h Σ (p·a − x·q·b)₊ = Σ_h p·f_h(x·q/p),

where an h with p = 0 adds nothing, and one with q = 0 adds p, whatever the part. So it only grows
if every f_h is replaced by a profile f that lies above all of them: then the parts are
independent, and exchanging the order of summation lets the first part be replaced in the same way.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.pairs import Dominates, FinitePair, dominates
from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, below, dominated
from proofs.support.form import Clause, Proof
from proofs.support.laws import joint, rational_pairs
from proofs.support.symbolic import positive_part, same

ADAPTIVE_DOMINATION = Theorem(
    name="adaptive-domination",
    statement=(
        "If every part, whatever was seen before it, has a profile nowhere above that of a pair, "
        "then the adaptive composition has a profile nowhere above that of the pairs' product."
    ),
    source="Zhu, Dong, Wang, AISTATS 2022, Thm 10 (arXiv 2106.08567v4)",
    proof="proofs/adaptive_domination.py",
)


def the_profile_of_a_product(power: int = 1) -> Step:
    """(p·a − x·q·b)₊ = p·(a − (x·q/p)·b)₊ for p > 0: f_h enters with the weight p ≥ 0."""
    p, q, a, b, x = sp.symbols("p q a b x", positive=True)
    factored = p**power * positive_part(a - x * q / p * b)
    gap = a - x * q / p * b
    above = same(p * a - x * q * b, p**power * gap)
    # Both sides are 0 on the other side, as p > 0 does not change the sign.
    agree = same(factored / p**power, positive_part(gap))
    return Step("profile of a product", above & agree, "all masses, all x ≥ 0")


def adaptive_parts_are_dominated(*, second_too: bool = True) -> Step:
    """`joint(first, parts by history)` against `strong₁.product(strong₂)`, by `dominates`."""
    parts = [pair for pair in rational_pairs(2, 6) if len(set(pair.corners)) > 1]
    strong = FinitePair.leaky_response(Fraction(2), Fraction(0))
    weak = [pair for pair in parts if isinstance(dominates(strong, pair), Dominates)]
    bound = strong.product(strong) if second_too else strong
    holds, count = VACUOUS, 0
    for first, one, two in product(weak, repeat=3):
        holds &= dominated(bound, joint(first, [one, two]))
        count += 1
    name = "adaptive compositions are dominated"
    return Step(name, holds & below(1, count), f"{count} trees of two rounds")


PROOF = Proof(
    theorem=ADAPTIVE_DOMINATION,
    clauses=(
        Clause(
            (
                "If every part, whatever was seen before it, has a profile nowhere above that of a pair, then "
                "the adaptive composition has a profile nowhere above that of the pairs' product."
            ),
            by=(the_profile_of_a_product, adaptive_parts_are_dominated),
            argued=(
                "that Σ_h p·f_h(x·q/p) grows with every f_h, that exchanging the order of summation replaces "
                "the first part too, and that rounds are added one at a time; sums are integrals for "
                "densities"
            ),
        ),
    ),
    mutations={
        "weight p²": lambda: the_profile_of_a_product(power=2),
        "second round forgotten": lambda: adaptive_parts_are_dominated(second_too=False),
    },
)
