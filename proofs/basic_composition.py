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

from dpverify.accounting.basic import basic
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair
from dpverify.theorems import BASIC_COMPOSITION, SIMULATION_LEMMA, Evidence, Step
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.leaky_response import table
from proofs.support.form import Proof
from proofs.support.symbolic import nonnegative, same

_RATIOS = (Fraction(1), Fraction(3), Fraction(5, 2))
_DELTAS = (Fraction(0), Fraction(1, 20), Fraction(1, 3))


def two_leaky_responses(power: int = 1) -> Step:
    """Every outcome with Q > 0 has P ≤ r₁·r₂·Q; the rest has P = δ₁ + δ₂ − δ₁·δ₂ ≤ δ₁ + δ₂."""
    t1, t2, u1, v1, u2, v2 = sp.symbols("t1 t2 u1 v1 u2 v2", nonnegative=True)
    variables = (t1, t2, u1, v1, u2, v2)
    r1, r2, d1, d2 = 1 + t1, 1 + t2, u1 / (u1 + v1), u2 / (u2 + v2)
    one, two = (list(zip(*table(r, d), strict=True)) for r, d in ((r1, d1), (r2, d2)))
    singular, holds = sp.Integer(0), True
    for (p1, q1), (p2, q2) in product(one, two):
        if q1 * q2 == 0:
            singular += p1 * p2
        else:
            holds &= nonnegative((r1 * r2) ** power * q1 * q2 - p1 * p2, variables)
    holds &= same(singular, d1 + d2 - d1 * d2)
    holds &= nonnegative(d1 + d2 - singular, variables)
    return Step("two responses", Evidence.SYMBOLIC, holds, "all ε₁, ε₂ ≥ 0, all δ₁, δ₂ in [0, 1]")


def the_library_adds_up(share: Fraction = Fraction(1)) -> Step:
    """`basic` gives kδ, and k exact responses have `delta_at_ratio(r^k)` ≤ kδ, also unequal ones."""
    holds, count = True, 0
    for r1, r2, d1, d2 in product(_RATIOS, _RATIOS[:2], _DELTAS, _DELTAS):
        pairs = FinitePair.leaky_response(r1, d1), FinitePair.leaky_response(r2, d2)
        for k1, k2 in ((1, 1), (3, 2)):
            both = pairs[0].power(k1).product(pairs[1].power(k2))
            parts = [
                (ApproxDP(epsilon=log(r), delta=float(d)), k)
                for r, d, k in ((r1, d1, k1), (r2, d2, k2))
            ]
            added = k1 * d1 + k2 * d2
            holds &= both.delta_at_ratio(r1**k1 * r2**k2) <= share * added
            promised = basic(parts)
            holds &= promised.delta >= min(sum(k * Fraction(p.delta) for p, k in parts), 1)
            holds &= Fraction(promised.epsilon) >= sum(k * Fraction(p.epsilon) for p, k in parts)
            count += 1
    return Step("`basic`", Evidence.EXACT, holds, f"{count} compositions")


PROOF = Proof(
    theorem=BASIC_COMPOSITION,
    steps=(two_leaky_responses, the_library_adds_up),
    uses=(SIMULATION_LEMMA, ADAPTIVE_DOMINATION),
    mutations={
        "ε₁ + ε₂ reduced to 0": lambda: two_leaky_responses(power=0),
        "kδ/2": lambda: the_library_adds_up(Fraction(1, 2)),
    },
)
