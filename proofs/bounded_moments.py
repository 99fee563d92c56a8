"""How far a record moves the sum and the sum of squares of a feature in [−1, 1].

A record that is added moves (Σz, Σz²) by (z, z²). One that is replaced moves it by (z − w)·(1, z + w). With s = |z + w|
and t = |z − w|, s + t = 2·max(|z|, |w|) ≤ 2, so that t ≤ 2 − s.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from dpverify.guarantees import PureDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.privacy.moments import BoundedMoments

BOUNDED_MOMENTS = Theorem(
    name="bounded-moments",
    statement=(
        "For a feature z in [−1, 1] one record more moves (Σz, Σz²) by at most 2 in ℓ1 and √2 in ℓ2, and one replaced "
        "by at most 9/4 in ℓ1 and 2 in ℓ2."
    ),
    source="derived here",
    proof="proofs/bounded_moments.py",
)


def one_record(most: int = 2) -> Step:
    """2 − (a + a²) ≥ 0 and 2 − (a² + a⁴) ≥ 0 for a = |z| = 1 − r in [0, 1], r = u/(u + v)."""
    u, v = sp.symbols("u v", nonnegative=True)
    a = v / (u + v)
    holds = nonnegative(sp.together(most - (a + a**2)) * (u + v) ** 2, (u, v))
    holds &= nonnegative(sp.together(most - (a**2 + a**4)) * (u + v) ** 4, (u, v))
    return Step("one more", holds, "all z in [−1, 1]")


def a_replaced_record(sign: int = 1) -> Step:
    """z² − w² = (z − w)(z + w)."""
    z, w = sp.symbols("z w", real=True)
    return Step("moves", same(z**2 - sign * w**2, (z - w) * (z + w)), "all z, w")


def in_absolute_values(peak: Fraction = Fraction(9, 4)) -> Step:
    """9/4 − t(1 + s) = (s − 1/2)² + r(1 + s) ≥ 0 with t = 2 − s − r."""
    s, r = sp.symbols("s r", nonnegative=True)
    gap = sp.Rational(peak) - (2 - s - r) * (1 + s)
    return Step("ℓ1", same(gap, (s - sp.Rational(1, 2)) ** 2 + r * (1 + s)), "all s, r")


def in_squares(most: int = 4) -> Step:
    """4 − t²(1 + s²) ≥ 4 − u²(1 + (2 − u)²) = (2 − u)(2 + u(1 − u)²) for t ≤ u = 2 − s."""
    u, t, more = sp.symbols("u t more", nonnegative=True)
    s = sp.symbols("s", nonnegative=True)
    value = u**2 * (1 + (2 - u) ** 2)
    holds = same(most - value, (2 - u) * (2 + u * (1 - u) ** 2))
    holds &= nonnegative(((t + more) ** 2 - t**2) * (1 + s**2), (t, more, s))
    return Step("ℓ2", holds, "all u; a longer t is worse")


def the_library_has_these_bounds(shrink: Fraction = Fraction(1)) -> Step:
    """`sensitivity` is not exceeded by any two records with z in {−1, −7/8, …, 1}; 9/4 is attained."""
    holds, values = VACUOUS, [Fraction(k, 8) for k in range(-8, 9)]
    for relation, (z, w) in product(Relation, product(values, repeat=2)):
        sums = [
            BoundedMoments(budget=PureDP(epsilon=1.0), relation=relation).sums(
                np.array([[float(x)] for x in records]).reshape(-1, 1)
            )
            for records in (([z], [w]) if relation is Relation.REPLACE_ONE else ([z], []))
        ]
        moved = [Fraction(int(a) - int(b), 1 << 40) for a, b in zip(*sums, strict=True)]
        total, square = sum(map(abs, moved)), sum(x * x for x in moved)
        absolute, euclidean = (
            Fraction(BoundedMoments(budget=budget, relation=relation).sensitivity(1)) * shrink
            for budget in (PureDP(epsilon=1.0), ZeroConcentratedDP(rho=1.0))
        )
        holds &= at_most(total, absolute) & at_most(square, euclidean**2)
    return Step("the library", holds, f"{2 * len(values) ** 2} pairs of records")


PROOF = Proof(
    theorem=BOUNDED_MOMENTS,
    clauses=(
        Clause(
            "For a feature z in [−1, 1] one record more moves (Σz, Σz²) by at most 2 in ℓ1 and √2 in ℓ2,",
            by=(one_record,),
            argued="that every |z| ≤ 1 is v/(u + v) for some u, v ≥ 0",
        ),
        Clause(
            "and one replaced by at most 9/4 in ℓ1 and 2 in ℓ2.",
            by=(a_replaced_record, in_absolute_values, in_squares),
            argued="that |z + w| + |z − w| = 2·max(|z|, |w|) ≤ 2",
        ),
    ),
    library=(the_library_has_these_bounds,),
    mutations={
        "less for one more": lambda: one_record(most=1),
        "a sum": lambda: a_replaced_record(sign=-1),
        "a lower peak": lambda: in_absolute_values(peak=Fraction(2)),
        "less in ℓ2": lambda: in_squares(most=3),
        "a smaller bound": lambda: the_library_has_these_bounds(shrink=Fraction(9, 10)),
    },
)
