"""Basic composition, from two leaky responses.

By the simulation lemma a part that is (ε, δ)-DP has a profile nowhere above leaky response's, and
adaptive domination reduces the composition to a product. Of the sixteen outcomes of two leaky
responses, those with a "U" and no "V" are impossible on the right and have 1 − (1−δ₁)(1−δ₂) ≤ δ₁ + δ₂
together; on every other one P ≤ r₁·r₂·Q. So the composition is (ε₁+ε₂, δ₁+δ₂)-DP, and induction adds
one part at a time.
"""

from fractions import Fraction
from itertools import product
from math import log

import sympy as sp

from dpverify.accounting.rules.basic import basic
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair
from dpverify.theorems import BASIC_COMPOSITION, SIMULATION_LEMMA, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.leaky_response import table
from proofs.support.checks import VACUOUS, at_most, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

_RATIOS = (Fraction(1), Fraction(3), Fraction(5, 2))
_DELTAS = (Fraction(0), Fraction(1, 20), Fraction(1, 3))


def two_leaky_responses(power: int = 1) -> Step:
    """P ≤ r·Q where Q > 0, so r₁Q₁·r₂Q₂ − P₁P₂ = (r₁Q₁ − P₁)·r₂Q₂ + P₁·(r₂Q₂ − P₂) ≥ 0; the rest has P = δ₁ + δ₂ − δ₁·δ₂ ≤ δ₁ + δ₂."""
    t, u1, v1, u2, v2 = sp.symbols("t u1 v1 u2 v2", nonnegative=True)
    r, d1, d2 = 1 + t, u1 / (u1 + v1), u2 / (u2 + v2)
    left, right = table(r, d1)
    holds = every(
        nonnegative(r**power * q - p, (t, u1, v1))
        for p, q in zip(left, right, strict=True)
        if q != 0
    )
    a, b, p1, p2 = sp.symbols("a b p1 p2", nonnegative=True)  # a = r₁Q₁ ≥ p₁, b = r₂Q₂ ≥ p₂
    holds &= same(a * b - p1 * p2, (a - p1) * b + p1 * (b - p2))
    one, two = (list(zip(*table(r, d), strict=True)) for d in (d1, d2))
    singular = sum(p * w for (p, q), (w, v) in product(one, two) if q == 0 or v == 0)
    holds &= same(singular, d1 + d2 - d1 * d2)
    holds &= nonnegative(d1 * d2, (u1, v1, u2, v2))
    return Step("two responses", holds, "all ε₁, ε₂ ≥ 0, all δ₁, δ₂ in [0, 1]")


def the_library_adds_up(share: Fraction = Fraction(1)) -> Step:
    """`basic` gives kδ, and k exact responses have `delta_at_ratio(r^k)` ≤ kδ, also unequal ones."""
    holds, count = VACUOUS, 0
    for r1, r2, d1, d2 in product(_RATIOS, _RATIOS[:2], _DELTAS, _DELTAS):
        pairs = FinitePair.leaky_response(r1, d1), FinitePair.leaky_response(r2, d2)
        for k1, k2 in ((1, 1), (3, 2)):
            both = pairs[0].power(k1).product(pairs[1].power(k2))
            parts = [
                (ApproxDP(epsilon=log(r), delta=float(d)), k)
                for r, d, k in ((r1, d1, k1), (r2, d2, k2))
            ]
            added = k1 * d1 + k2 * d2
            holds &= at_most(both.delta_at_ratio(r1**k1 * r2**k2), share * added)
            promised = basic(parts)
            holds &= at_most(min(sum(k * Fraction(p.delta) for p, k in parts), 1), promised.delta)
            holds &= at_most(sum(k * Fraction(p.epsilon) for p, k in parts), promised.epsilon)
            count += 1
    return Step("`basic`", holds, f"{count} compositions")


PROOF = Proof(
    theorem=BASIC_COMPOSITION,
    clauses=(
        Clause(
            "Parts that are (εᵢ, δᵢ)-DP compose, adaptively, to (Σεᵢ, Σδᵢ)-DP.",
            by=(two_leaky_responses,),
            argued=(
                "that parts are at worst leaky responses (simulation-lemma) and products of them "
                "(adaptive-domination); induction over the parts"
            ),
        ),
    ),
    library=(the_library_adds_up,),
    uses=(SIMULATION_LEMMA, ADAPTIVE_DOMINATION),
    mutations={
        "ε₁ + ε₂ reduced to 0": lambda: two_leaky_responses(power=0),
        "kδ/2": lambda: the_library_adds_up(Fraction(1, 2)),
    },
)
