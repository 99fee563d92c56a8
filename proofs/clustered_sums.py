"""How far a record moves the sums and counts of clusters, as k-means takes them.

A record z in [−1, 1]^d with a weight u in [0, 1] adds u·(z, 1) to the cluster of its own that public centers give it, and
nothing to the others: at most d + 1 in ℓ1, and √(d + 1) in ℓ2. Two records in different clusters move both. Two in one
cluster, with weights u and w, differ by at most u + w in each coordinate and by |u − w| in the count: in ℓ2 squared by
d(u + w)² + (u − w)², a convex function of the weights, so largest where they are 0 or 1.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from dpverify.guarantees import GaussianDP, PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative
from solvers.lloyd import Lloyd

CLUSTERED_SUMS = Theorem(
    name="clustered-sums",
    statement=(
        "Sums and counts of clusters, of records in [−1, 1]^d with weights in [0, 1], each in one cluster that public "
        "numbers and the record itself decide, move by at most d + 1 in ℓ1 and √(d + 1) in ℓ2 with one record more, and "
        "by at most 2d + 2 in ℓ1 and √max(2d + 2, 4d) in ℓ2 with one replaced."
    ),
    source="derived here; Su, Cao, Li, Bertino, Jin, CODASPY 2016, for one more in ℓ1",
    proof="proofs/clustered_sums.py",
)


def one_record(power: int = 1) -> Step:
    """d + 1 − (d·u + u) ≥ 0 and d + 1 − (d·u² + u²) ≥ 0 for u = b/(a + b) in [0, 1]."""
    a, b, d = sp.symbols("a b d", nonnegative=True)
    u = b / (a + b)
    holds = nonnegative(sp.together(d**power + 1 - (d * u + u)) * (a + b), (a, b, d))
    holds &= nonnegative(sp.together(d + 1 - (d * u**2 + u**2)) * (a + b) ** 2, (a, b, d))
    return Step("one more", holds, "all weights, all d")


def two_clusters(two: int = 2) -> Step:
    """Both parts add up, in ℓ1 and in squares: 2(d + 1) − (d + 1 − r) − (d + 1 − s) ≥ 0."""
    d, r, s = sp.symbols("d r s", nonnegative=True)
    holds = nonnegative(two * (d + 1) - (d + 1 - r) - (d + 1 - s), (d, r, s))
    return Step("two clusters", holds, "all d")


def one_cluster(four: int = 4) -> Step:
    """At weights 1 and 1: d(1 + 1)² ≤ 4d; at 1 and 0: d + 1; in ℓ1 2d and d + 1, both at most 2d + 2."""
    d = sp.symbols("d", nonnegative=True)
    holds = nonnegative(four * d - d * (1 + 1) ** 2, (d,))
    holds &= nonnegative((d + 1) - (d * (1 + 0) ** 2 + (1 - 0) ** 2), (d,))
    holds &= nonnegative(2 * d + 2 - (d * (1 + 1) + 0), (d,))
    holds &= nonnegative(2 * d + 2 - (d * (1 + 0) + 1), (d,))
    return Step("one cluster", holds, "all d, at the corners of both weights")


def convex_in_the_weights(sign: int = 1) -> Step:
    """The Hessian of d(u + w)² + (u − w)² has diagonal 2d + 2 ≥ 0 and determinant 16d ≥ 0."""
    d, u, w = sp.symbols("d u w", nonnegative=True)
    hessian = sp.hessian(d * (u + w) ** 2 + sign * (u - w) ** 2, (u, w))
    holds = nonnegative(sp.expand(hessian.det()), (d,)) & nonnegative(
        sp.expand(hessian[0, 0]), (d,)
    )
    return Step("convex", holds, "all d, u, w")


def the_library_has_these_bounds(shrink: Fraction = Fraction(1)) -> Step:
    """`Lloyd.sensitivity` is not exceeded by records with entries in {−1, 0, 1}, weights in {0, 1/2, 1} and two centers."""
    holds, count, attained = VACUOUS, 0, 0
    weights = (0.0, 0.5, 1.0)
    for d, relation in product((1, 2, 3), Relation):
        largest = Fraction(0)
        for apart in (0.5, 0.0):  # of centers at ±apart: at 0 all records are in the first cluster
            lloyd, euclidean = (
                Lloyd(start=[[-apart] * d, [apart] * d], budget=budget, relation=relation, steps=1)
                for budget in (PureDP(epsilon=1.0), GaussianDP(mu=1.0))
            )
            absolute, square = (
                Fraction(lloyd.sensitivity) * shrink,
                (Fraction(euclidean.sensitivity) * shrink) ** 2,
            )
            records = list(product(product((-1.0, 0.0, 1.0), repeat=d), weights))
            sums = [_sums(lloyd, [record]) for record in records]
            others = sums if relation is Relation.REPLACE_ONE else [_sums(lloyd, [])]
            for one, other in product(sums, others):
                moved = [a - b for a, b in zip(one, other, strict=True)]
                squares = sum((x * x for x in moved), Fraction(0))
                holds &= at_most(sum(map(abs, moved)), absolute) & at_most(squares, square)
                largest, count = max(largest, squares), count + 1
        exact = max(2 * d + 2, 4 * d) if relation is Relation.REPLACE_ONE else d + 1
        attained += largest == exact
    return Step("`Lloyd`", holds & equal(attained, 6), f"{count} pairs of records")


def _sums(lloyd: Lloyd, records: list[tuple[tuple[float, ...], float]]) -> list[Fraction]:
    start = np.asarray(lloyd.start)
    rows = np.array([row for row, _ in records]).reshape(-1, start.shape[1])
    weights = np.array([weight for _, weight in records])
    found = lloyd.sums((rows, weights), start[None])[0]
    return [Fraction(int(x), 1 << 40) for x in found]


PROOF = Proof(
    theorem=CLUSTERED_SUMS,
    clauses=(
        Clause(
            (
                "Sums and counts of clusters, of records in [−1, 1]^d with weights in [0, 1], each in one cluster that "
                "public numbers and the record itself decide, move by at most d + 1 in ℓ1 and √(d + 1) in ℓ2 with one "
                "record more,"
            ),
            by=(one_record,),
            argued="that |z| ≤ 1 in each coordinate, and that the other clusters stay as they are",
        ),
        Clause(
            "and by at most 2d + 2 in ℓ1 and √max(2d + 2, 4d) in ℓ2 with one replaced.",
            by=(two_clusters, one_cluster, convex_in_the_weights),
            argued=(
                "that a convex function of two weights is largest where both are 0 or 1, and |u·z − w·y| ≤ u + w; ℓ1, "
                "d(u + w) + |u − w|, is convex, too"
            ),
        ),
    ),
    library=(the_library_has_these_bounds,),
    mutations={
        "√d": lambda: one_record(power=0),
        "one cluster moves": lambda: two_clusters(two=1),
        "2d in one cluster": lambda: one_cluster(four=2),
        "a saddle": lambda: convex_in_the_weights(sign=-1),
        "nine tenths of it": lambda: the_library_has_these_bounds(Fraction(9, 10)),
    },
)
