"""Clopper and Pearson's limit covers: P(L(A) > p) ≤ level for A ~ Bin(n, p), whatever p.

L(a) is the p at which P(Bin(n, p) ≥ a) = level, and 0 for a = 0. The tail rises with p (step 1), so L(a) > p if and
only if P(Bin(n, p) ≥ a) < level. The set of such a is an upper end {a*, a*+1, …}, if there is any, and its
probability is P(A ≥ a*) < level.
"""

from fractions import Fraction
from math import comb

import sympy as sp

from dpverify.auditing.statistics.binomial import lower_limit, upper_limit
from dpverify.theorems import CLOPPER_PEARSON, Step
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def the_tail_rises(shift: int = 1) -> Step:
    """d/dp C(n,j)·p^j·(1−p)^(n−j) = n·(b(n−1, j−1) − b(n−1, j)); the sum over j ≥ a telescopes to n·b(n−1, a−1) ≥ 0."""
    n, j, p = sp.symbols("n j p", positive=True)

    def term(size: object, count: object) -> object:
        weight = sp.gamma(size + 1) / (sp.gamma(count + 1) * sp.gamma(size - count + 1))  # type: ignore[operator]
        return weight * p**count * (1 - p) ** (size - count)  # type: ignore[operator]

    gap = sp.diff(term(n, j), p) / term(n, j)
    claimed = n * (term(n - 1, j - shift) - term(n - 1, j)) / term(n, j)  # type: ignore[operator]
    holds = same(
        sp.gammasimp(sp.powsimp(sp.expand(gap))), sp.gammasimp(sp.powsimp(sp.expand(claimed)))
    )
    return Step("the tail rises", holds, "all n, j, p")


def coverage(nominal: float = 0.05) -> Step:
    """Σ C(n,a)·p^a·(1−p)^(n−a) over `lower_limit(a, n, 0.05)` > p is ≤ 0.05, in rationals; and for `upper_limit`."""
    holds, largest, count = VACUOUS, Fraction(0), 0
    for n in (1, 5, 20, 60):
        lower = [lower_limit(a, n, nominal) for a in range(n + 1)]
        upper = [upper_limit(a, n, nominal) for a in range(n + 1)]
        for step in range(1, 40):
            p = Fraction(step, 40)
            masses = [comb(n, a) * p**a * (1 - p) ** (n - a) for a in range(n + 1)]
            above = sum(
                (m for m, limit in zip(masses, lower, strict=True) if limit > p), Fraction(0)
            )
            short = sum(
                (m for m, limit in zip(masses, upper, strict=True) if limit < p), Fraction(0)
            )
            holds &= at_most(above, Fraction(1, 20)) & at_most(short, Fraction(1, 20))
            largest = max(largest, above, short)
            count += 2
    holds &= below(Fraction(1, 25), largest)  # the limits are not merely cautious
    return Step("coverage", holds, f"{count} values of n and p, level 1/20")


PROOF = Proof(
    theorem=CLOPPER_PEARSON,
    clauses=(
        Clause(
            (
                "The limit L(a), the p with P(Bin(n, p) ≥ a) = level for a ≥ 1, and L(0) = 0, exceeds the "
                "true p with probability at most level."
            ),
            by=(the_tail_rises, coverage),
            argued=(
                "that the sum over j ≥ a telescopes, so that the tail rises in p and {a : L(a) > p} is an "
                "upper end"
            ),
        ),
    ),
    mutations={
        "j − 2": lambda: the_tail_rises(shift=2),
        "limits at level 0.06": lambda: coverage(nominal=0.06),
    },
)
