"""The sufficient statistics of linear regression under declared bounds, and the Laplace noise they need.

XᵀX and Xᵀy are sums over records of x·xᵀ and x·y; XᵀX is symmetric, so its d(d+1)/2 entries on and above the diagonal are
all that is released. For |xⱼ| ≤ r and |y| ≤ s an entry is at most r² or r·s in size, so one record's statistics have an
ℓ1 norm of at most r²·d(d+1)/2 + d·r·s: what adding or removing it moves. Replacing a record moves every entry off the
diagonal by twice that at most, and those on it, which lie in [0, r²], by r². Everything computed from the noisy
statistics is post-processing.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.guarantees import PureDP
from dpverify.mechanisms import Laplace
from dpverify.theorems import LAPLACE, Step, Theorem
from proofs.post_processing import POST_PROCESSING
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

SUFFICIENT_STATISTICS = Theorem(
    name="sufficient-statistics",
    statement=(
        "For |xⱼ| ≤ r and |y| ≤ s the statistics (XᵀX on and above its diagonal, Xᵀy) have ℓ1 sensitivity at most "
        "r²·d(d+1)/2 + d·r·s when a record is added or removed, and d²·r² + 2·d·r·s when one is replaced; with Laplace noise "
        "of that over ε on each, any linear regression computed from them is ε-DP."
    ),
    source="lecture on machine learning with DP, Sec. 4.4; Dwork, McSherry, Nissim, Smith, TCC 2006",
    proof="proofs/sufficient_statistics.py",
)


def added_or_removed(d: int, r: Fraction, s: Fraction) -> Fraction:
    """r²·d(d+1)/2 + d·r·s."""
    return r * r * Fraction(d * (d + 1), 2) + d * r * s


def replaced(d: int, r: Fraction, s: Fraction) -> Fraction:
    """d²·r² + 2·d·r·s."""
    return d * d * r * r + 2 * d * r * s


def statistics(x: tuple[Fraction, ...], y: Fraction) -> list[Fraction]:
    """One record's part of XᵀX, on and above the diagonal, and of Xᵀy."""
    d = len(x)
    return [x[i] * x[j] for i in range(d) for j in range(i, d)] + [xj * y for xj in x]


def the_entries_add_up(diagonal: int = 1) -> Step:
    """d·r² + d(d−1)/2·r² + d·r·s = r²·d(d+1)/2 + d·r·s; replaced: d·r² + 2·(d(d−1)/2·r² + d·r·s) = d²r² + 2drs."""
    d, r, s = sp.symbols("d r s", positive=True)
    off = d * (d - 1) / 2 * r**2 + d * r * s
    holds = same(d * r**2 + off, r**2 * d * (d + 1) / 2 + d * r * s)
    holds &= same(diagonal * d * r**2 + 2 * off, d**2 * r**2 + 2 * d * r * s)
    return Step("entries add up", holds, "all d, r, s")


def each_entry_is_bounded(two: int = 2) -> Step:
    """r² − |xᵢxⱼ| ≥ 0, r·s − |xᵢy| ≥ 0, |xᵢxⱼ − xᵢ′xⱼ′| ≤ 2r², and xᵢ² − xᵢ′² ≤ r²."""
    a, b, c, s, u, v = sp.symbols("a b c s u v", nonnegative=True)
    r = a + b  # |x| = a
    other = r * u / (u + v)  # every size in [0, r]
    holds = nonnegative(r * r - a * other, (a, b, u, v))
    holds &= nonnegative(r * (s + c) - a * s, (a, b, s, c))  # |y| = s ≤ s + c
    holds &= nonnegative(two * r * r - (a * other + r * r), (a, b, u, v))
    holds &= nonnegative(r * r - (a * a - other * other), (a, b, u, v))  # squares lie in [0, r²]
    return Step("each entry", holds, "all |x| ≤ r, |y| ≤ s")


def all_small_records(share: Fraction = Fraction(1)) -> Step:
    """ℓ1 norms of statistics, and of differences, over all records with entries in {−1, −1/2, 0, 1/2, 1}, d = 1, 2, 3."""
    values = [Fraction(n, 2) for n in range(-2, 3)]
    holds, count, attained = VACUOUS, 0, set()
    for d in (1, 2, 3):
        grid = values if d < 3 else values[::2]
        made = [statistics(x[:-1], x[-1]) for x in product(grid, repeat=d + 1)]
        one, two = added_or_removed(d, *_UNITS) * share, replaced(d, *_UNITS) * share
        sizes = [sum(map(abs, each)) for each in made]
        holds &= at_most(max(sizes), one)
        if max(sizes) == one:
            attained.add(d)
        for first, second in product(made, repeat=2):
            holds &= at_most(sum(abs(a - b) for a, b in zip(first, second, strict=True)), two)
            count += 1
    return Step("small records", holds & equal(attained, {1, 2, 3}), f"{count} replacements")


_UNITS = (Fraction(1), Fraction(1))  # r and s


def the_library_claims_this(factor: int = 1) -> Step:
    """`Laplace(scale=Δ/ε, l1_sensitivity=Δ)` claims ε for Δ = r²·d(d+1)/2 + d·r·s, in binary fractions."""
    holds, count = VACUOUS, 0
    for d, r, s in ((2, 1.0, 1.0), (3, 0.5, 2.0), (7, 2.0, 4.0)):
        size = float(added_or_removed(d, Fraction(r), Fraction(s)))
        claim = Laplace(scale=2 * size, l1_sensitivity=factor * size).claim
        holds &= equal(claim.guarantee, PureDP(epsilon=0.5))
        count += 1
    return Step("`Laplace`", holds, f"{count} settings, ε = 1/2")


PROOF = Proof(
    theorem=SUFFICIENT_STATISTICS,
    clauses=(
        Clause(
            (
                "For |xⱼ| ≤ r and |y| ≤ s the statistics (XᵀX on and above its diagonal, Xᵀy) have ℓ1 "
                "sensitivity at most r²·d(d+1)/2 + d·r·s when a record is added or removed, and d²·r² + "
                "2·d·r·s when one is replaced;"
            ),
            by=(the_entries_add_up, each_entry_is_bounded, all_small_records),
            argued="that the ℓ1 norm adds up over the entries",
        ),
        Clause(
            "with Laplace noise of that over ε on each, any linear regression computed from them is ε-DP.",
            argued="laplace and post-processing",
        ),
    ),
    library=(the_library_claims_this,),
    uses=(LAPLACE, POST_PROCESSING),
    mutations={
        "the diagonal twice": lambda: the_entries_add_up(diagonal=2),
        "entries move by r²": lambda: each_entry_is_bounded(two=1),
        "half of it": lambda: all_small_records(Fraction(1, 2)),
        "twice the sensitivity": lambda: the_library_claims_this(factor=2),
    },
)
