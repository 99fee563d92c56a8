"""How far a record moves the counts of classes in the leaves of trees that do not depend on the data.

In every tree a record is in one leaf, and it has one class: of all counts of a tree one has it, with its weight u in
[0, 1]. One record more moves one count in each of t trees by u. One replaced moves one count by u and another by w, or one
by |u − w|: at most 2 in ℓ1, and u² + w² ≤ 2 in squares, in each tree.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from dpverify.guarantees import GaussianDP, PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import Step, Theorem
from proofs.stacked_queries import STACKED_QUERIES
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative
from solvers.random_trees import LeafCounts, RandomTrees

TREE_HISTOGRAMS = Theorem(
    name="tree-histograms",
    statement=(
        "Counts of records, by class, in the leaves of t trees that do not depend on the data, of records with weights in "
        "[0, 1], move by at most t in ℓ1 and √t in ℓ2 with one record more, and by at most 2t in ℓ1 and √(2t) in ℓ2 with "
        "one replaced."
    ),
    source="derived here; Jagannathan, Pillaipakkamnatt, Wright, ICDM Workshops 2009, for one more in ℓ1",
    proof="proofs/tree_histograms.py",
)


def in_one_tree(two: int = 2) -> Step:
    """1 − u ≥ 0 and 1 − u² ≥ 0; 2 − (u + w) ≥ 0 and 2 − (u² + w²) ≥ 0; 2 − (u − w) ≥ 0: u = 1 − r, w = 1 − s."""
    u, w, r, s = sp.symbols("u w r s", nonnegative=True)
    one, other = u + r, w + s  # both are 1
    holds = nonnegative(one - u, (u, r)) & nonnegative(one**2 - u**2, (u, r))
    holds &= nonnegative(two * (one + other) / 2 - (u + w), (u, w, r, s))
    holds &= nonnegative(two * (one**2 + other**2) / 2 - (u**2 + w**2), (u, w, r, s))
    holds &= nonnegative((one + other) - (u - w), (u, w, r, s))
    return Step("in one tree", holds, "all weights")


def trees_add_up(power: int = 1) -> Step:
    """t·1 and t·2 in ℓ1, and the same for squares, as t parts have: t·m − Σ m ≥ 0 by one tree more."""
    t, m, less = sp.symbols("t m less", nonnegative=True)
    holds = nonnegative((t + power) * m - (t * m + m - less * m / (1 + less)), (t, m, less))
    return Step("trees add up", holds, "any number, by induction")


def the_library_has_these_bounds(shrink: Fraction = Fraction(1)) -> Step:
    """`LeafCounts.sensitivity` is not exceeded by any two of a few records; it is attained."""
    holds, count, attained = VACUOUS, 0, 0
    records = list(product((-1.0, -0.4, 0.4, 1.0), (0, 1), (0.0, 0.5, 1.0)))
    for trees, relation in product((1, 3), Relation):
        drawn = RandomTrees.drawn(
            trees=trees, depth=2, dimension=1, rng=np.random.default_rng(trees)
        )
        laplace, gauss = (
            LeafCounts(trees=drawn, classes=2, budget=budget, relation=relation)
            for budget in (PureDP(epsilon=1.0), GaussianDP(mu=1.0))
        )
        absolute = Fraction(laplace.sensitivity) * shrink
        square = (Fraction(gauss.sensitivity) * shrink) ** 2
        sums = [_sums(laplace, [record]) for record in records]
        others = sums if relation is Relation.REPLACE_ONE else [_sums(laplace, [])]
        largest = Fraction(0)
        for one, other in product(sums, others):
            moved = [a - b for a, b in zip(one, other, strict=True)]
            total = sum(map(abs, moved), Fraction(0))
            holds &= at_most(total, absolute) & at_most(sum(x * x for x in moved), square)
            largest, count = max(largest, total), count + 1
        attained += largest == trees * (2 if relation is Relation.REPLACE_ONE else 1)
    return Step("`LeafCounts`", holds & equal(attained, 4), f"{count} pairs of records")


def _sums(counts: LeafCounts, records: list[tuple[float, int, float]]) -> list[Fraction]:
    rows = np.array([[x] for x, _, _ in records]).reshape(-1, 1)
    classes = np.array([c for _, c, _ in records], np.int64)
    weights = np.array([w for _, _, w in records])
    found, exponent = counts.sums((rows, classes, weights))
    return [Fraction(int(x), 1 << -exponent) for x in found]


PROOF = Proof(
    theorem=TREE_HISTOGRAMS,
    clauses=(
        Clause(
            (
                "Counts of records, by class, in the leaves of t trees that do not depend on the data, of records with "
                "weights in [0, 1], move by at most t in ℓ1 and √t in ℓ2 with one record more, and by at most 2t in ℓ1 "
                "and √(2t) in ℓ2 with one replaced."
            ),
            by=(in_one_tree, trees_add_up),
            argued="that a record is in one leaf of each tree, and that squares add up over trees (stacked-queries)",
        ),
    ),
    library=(the_library_has_these_bounds,),
    uses=(STACKED_QUERIES,),
    mutations={
        "1 when replaced": lambda: in_one_tree(two=1),
        "a tree less": lambda: trees_add_up(power=0),
        "nine tenths of it": lambda: the_library_has_these_bounds(Fraction(9, 10)),
    },
)
