"""How far a record moves the sum and the sum of squares of a feature in [−1, 1].

A record that is added moves (Σz, Σz²) by (z, z²). One that is replaced moves it by (z − w)·(1, z + w). With s = |z + w|
and t = |z − w|, s + t = 2·max(|z|, |w|) ≤ 2, so that t ≤ 2 − s.

Of records in groups, such as classes, a record of weight u adds u·(z, z², 1) to its own group, over all d features: at most
2d + 1 in ℓ1 and √(2d + 1) in ℓ2. One that is replaced by one of another group moves both groups. In one group the
difference is u·g − v·h, g and h what the records add with weight 1, and its length is convex in (u, v): largest where both
weights are 0 or 1. There it is one record more or less, or one replaced with the count unmoved, 9d/4 and √(4d).
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
        "by at most 9/4 in ℓ1 and 2 in ℓ2. Of records in groups, with d such features and weights in [0, 1], all weighted sums "
        "and counts together move by at most 2d + 1 in ℓ1 and √(2d + 1) in ℓ2 with one record more, and by twice that in ℓ1 "
        "and √2 times that in ℓ2 with one replaced."
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


def one_weighted_record(extra: int = 1) -> Step:
    """2d + 1 − u·(2d + 1) ≥ 0 and 2d + 1 − u²·(2d + 1) ≥ 0, for u = b/(a + b) in [0, 1]."""
    a, b, d = sp.symbols("a b d", nonnegative=True)
    u = b / (a + b)
    most = 2 * d + 1
    holds = nonnegative(sp.together(2 * d + extra - u * most) * (a + b), (a, b, d))
    holds &= nonnegative(sp.together(2 * d + extra - u**2 * most) * (a + b) ** 2, (a, b, d))
    return Step("one more, weighted", holds, "all weights, all d")


def replaced_in_groups(twice: int = 2) -> Step:
    """2(2d + 1) is not below 2d + 1, 9d/4 and 4d: one record, and one replaced, in one group; it is that of two groups."""
    d, r, s = sp.symbols("d r s", nonnegative=True)
    most = twice * (2 * d + 1)
    holds = nonnegative(most - (2 * d + 1), (d,)) & nonnegative(most - 4 * d, (d,))
    holds &= nonnegative(most - sp.Rational(9, 4) * d, (d,))
    holds &= nonnegative(most - (2 * d + 1 - r) - (2 * d + 1 - s), (d, r, s))
    return Step("one replaced, in groups", holds, "all d, at the corners of both weights")


def convex_in_the_weights(sign: int = 1) -> Step:
    """t·x² + (1 − t)·y² − (t·x + (1 − t)·y)² = t(1 − t)(x − y)² ≥ 0: squares of u·g − v·h are convex in (u, v)."""
    x, y = sp.symbols("x y", real=True)
    a, b = sp.symbols("a b", nonnegative=True)
    t = a / (a + b + 1)
    gap = t * x**2 + (1 - t) * y**2 - (t * x + (1 - t) * y) ** 2
    holds = same(gap, sign * t * (1 - t) * (x - y) ** 2) & nonnegative(t * (1 - t), (a, b))
    return Step("convex in the weights", holds, "each coordinate, all segments")


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


def weighted_groups_in_the_library(shrink: Fraction = Fraction(1)) -> Step:
    """Two groups, weights 0, 1/2 and 1, z in {−1, −1/2, …, 1}: no pair of records moves more than `sensitivity`."""
    records = list(product([k / 2 for k in range(-2, 3)], (0, 1), (0.0, 0.5, 1.0)))
    holds, count = VACUOUS, 0
    for relation in Relation:
        absolute, euclidean = (
            Fraction(BoundedMoments(budget=budget, relation=relation, groups=2).sensitivity(1))
            * shrink
            for budget in (PureDP(epsilon=1.0), ZeroConcentratedDP(rho=1.0))
        )
        replaced = relation is Relation.REPLACE_ONE
        for one, other in product(records, records if replaced else [None]):
            shares = [_shares(record, relation) for record in (one, other)]
            moved = [a - b for a, b in zip(*shares, strict=True)]
            holds &= at_most(sum(map(abs, moved)), absolute)
            holds &= at_most(sum(x * x for x in moved), euclidean**2)
            count += 1
    return Step("the library, with weights", holds, f"{count} pairs of records")


def _shares(record: tuple[float, int, float] | None, relation: Relation) -> list[Fraction]:
    """What one record adds to the sums of two groups."""
    moments = BoundedMoments(budget=PureDP(epsilon=1.0), relation=relation, groups=2)
    z, group, weight = ([part] for part in record) if record else ([], [], [])
    rows = np.array(z, np.float64).reshape(-1, 1)
    found = moments.grouped_sums(rows, np.array(group, np.int64), np.array(weight, np.float64))
    return [Fraction(int(each), 1 << 60) for each in found]


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
        Clause(
            (
                "Of records in groups, with d such features and weights in [0, 1], all weighted sums and counts together "
                "move by at most 2d + 1 in ℓ1 and √(2d + 1) in ℓ2 with one record more,"
            ),
            by=(one_record, one_weighted_record),
            argued="that lengths scale with the weight",
        ),
        Clause(
            "and by twice that in ℓ1 and √2 times that in ℓ2 with one replaced.",
            by=(replaced_in_groups, convex_in_the_weights, in_absolute_values, in_squares),
            argued="that a convex function on a square is largest at a corner; absolute values are convex as well",
        ),
    ),
    library=(the_library_has_these_bounds, weighted_groups_in_the_library),
    mutations={
        "less for one more": lambda: one_record(most=1),
        "a sum": lambda: a_replaced_record(sign=-1),
        "a lower peak": lambda: in_absolute_values(peak=Fraction(2)),
        "less in ℓ2": lambda: in_squares(most=3),
        "no count": lambda: one_weighted_record(extra=0),
        "as one record more": lambda: replaced_in_groups(twice=1),
        "concave": lambda: convex_in_the_weights(sign=-1),
        "a smaller bound, with weights": lambda: weighted_groups_in_the_library(
            shrink=Fraction(9, 10)
        ),
        "a smaller bound": lambda: the_library_has_these_bounds(shrink=Fraction(9, 10)),
    },
)
