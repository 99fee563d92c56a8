"""Clopper and Pearson's limit covers: P(L(A) > p) ≤ level for A ~ Bin(n, p), whatever p.

L(a) is the p at which P(Bin(n, p) ≥ a) = level, and 0 for a = 0. The tail rises with p (step 1), so L(a) > p if and
only if P(Bin(n, p) ≥ a) < level. The set of such a is an upper end {a*, a*+1, …}, if there is any, and its
probability is P(A ≥ a*) < level.
"""

from fractions import Fraction
from math import comb

import sympy as sp

from dpverify.auditing.statistics.binomial import lower_limit, upper_limit
from dpverify.theorems import CLOPPER_PEARSON, Evidence, Step
from proofs.support.form import Proof
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
    return Step("the tail rises", Evidence.SYMBOLIC, holds, "all n, j, p")


def coverage(level: Fraction = Fraction(1, 20)) -> Step:
    """Σ C(n,a)·p^a·(1−p)^(n−a) over `lower_limit(a, n, 0.05)` > p is ≤ 0.05, in rationals; and for `upper_limit`."""
    holds, largest, count = True, Fraction(0), 0
    for n in (1, 5, 20, 60):
        lower = [Fraction(lower_limit(a, n, 0.05)) for a in range(n + 1)]
        upper = [Fraction(upper_limit(a, n, 0.05)) for a in range(n + 1)]
        for step in range(1, 40):
            p = Fraction(step, 40)
            masses = [comb(n, a) * p**a * (1 - p) ** (n - a) for a in range(n + 1)]
            above = sum(
                (m for m, limit in zip(masses, lower, strict=True) if limit > p), Fraction(0)
            )
            below = sum(
                (m for m, limit in zip(masses, upper, strict=True) if limit < p), Fraction(0)
            )
            holds &= above <= level and below <= level
            largest = max(largest, above, below)
            count += 2
    holds &= largest > Fraction(4, 100)  # the limits are not merely cautious
    return Step("coverage", Evidence.EXACT, holds, f"{count} values of n and p, level 1/20")


PROOF = Proof(
    theorem=CLOPPER_PEARSON,
    steps=(the_tail_rises, coverage),
    mutations={
        "j − 2": lambda: the_tail_rises(shift=2),
        "level 1/25": lambda: coverage(Fraction(1, 25)),
    },
)
