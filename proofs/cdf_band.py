"""Limits on counts of uniform draws give a confidence band for any distribution function.

U₁, …, U_n uniform, N(t) = #{U_j ≤ t}; S_j = F⁻¹(U_j) = min{x : F(x) ≥ U_j} has law F, and order is kept: the k-th
smallest S_(k) is F⁻¹(U_(k)). Suppose lo ≤ N(t) ≤ hi at t = t_i. If lo ≥ 1, then U_(lo) ≤ t, so S_(lo) ≤ F⁻¹(t), and for
x ≤ S_(lo): P(S < x) ≤ P(S < F⁻¹(t)) ≤ t, since F(y) < t for every y below F⁻¹(t). If hi < n, then U_(hi+1) > t, so
S_(hi+1) ≥ F⁻¹(t), and for x ≥ S_(hi+1): P(S ≤ x) ≥ F(F⁻¹(t)) ≥ t. Nothing else was supposed of F; and all i hold at
once with the probability that all counts lie within their limits. That probability is a chain of convolutions, for N is
a Poisson process given its total (step 1); step 2 compares the library's with enumeration, step 3 enumerates samples of
laws with atoms and counts how often the band fails.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import factorial, prod

import numpy as np
import sympy as sp

from dpverify.auditing.bands.cdf_bands import CountLimits, TailLimits, coverage
from dpverify.theorems import CDF_BAND, Step
from proofs.support.checks import VACUOUS, at_most, near
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import Expression, same

Limits = tuple[Sequence[Fraction], Sequence[int], Sequence[int]]

CASES: tuple[tuple[int, Limits], ...] = (
    (3, ([Fraction(1, 2)], [1], [3])),
    (5, ([Fraction(1, 4), Fraction(1, 2)], [0, 1], [3, 4])),
    (6, ([Fraction(1, 8), Fraction(1, 2), Fraction(7, 8)], [0, 2, 4], [2, 4, 6])),
)


def poisson_given_its_total(factor: int = 1) -> Step:
    """Π e^(−λᵢ)·λᵢ^kᵢ/kᵢ! over e^(−n)·n^n/n!, with λᵢ = n·tᵢ, Σtᵢ = 1, Σkᵢ = n, is n!/Πkᵢ!·Πtᵢ^kᵢ."""
    n, s, t, i, j = sp.symbols("n s t i j", positive=True)
    parts = [(s, i), (t, j), (1 - s - t, n - i - j)]
    joint = sp.prod([sp.exp(-n * x) * (n * x) ** k / sp.gamma(k + 1) for x, k in parts])
    total = sp.exp(-n) * n**n / sp.gamma(n + 1)
    multinomial = factor * sp.gamma(n + 1) * sp.prod([x**k / sp.gamma(k + 1) for x, k in parts])
    ratio = joint / total / multinomial
    holds = same(ratio, 1, by=_powers_together)
    return Step("Poisson, given its total", holds, "three cells, all n")


def _powers_together(ratio: Expression) -> Expression:
    """All symbols are positive here, so that powers of products may be taken apart."""
    return sp.simplify(sp.powsimp(sp.expand_power_base(ratio, force=True)))


def exact_coverage(n: int, limits: Limits) -> Fraction:
    """The sum of n!/Πkᵢ!·Πtᵢ^kᵢ over all counts within the limits."""
    at, low, high = limits
    cells = [b - a for a, b in zip([Fraction(0), *at], [*at, Fraction(1)], strict=True)]
    total = Fraction(0)
    for counts in product(range(n + 1), repeat=len(cells)):
        sums = [sum(counts[: i + 1]) for i in range(len(at))]
        if sum(counts) == n and all(a <= c <= b for a, c, b in zip(low, sums, high, strict=True)):
            ways = Fraction(factorial(n), prod(factorial(k) for k in counts))
            total += ways * prod(
                (x**k for x, k in zip(cells, counts, strict=True)), start=Fraction(1)
            )
    return total


def convolutions(shift: int = 0) -> Step:
    """`coverage` is the sum over all counts within the limits, to 1e-12."""
    holds = VACUOUS
    for n, (at, low, high) in CASES:
        exact = exact_coverage(n, (at, low, high))
        found = coverage(
            n,
            np.array([float(t) for t in at]),
            np.array(low) + shift,
            np.array(high),
        )
        holds &= near(found, exact, Fraction(1, 10**12))
    return Step("convolutions", holds, f"{len(CASES)} sets of limits, n ≤ 6")


def atoms(narrower: int = 0) -> Step:
    """Over all samples of laws on three values, the band fails with at most 1 − coverage."""
    holds, count = VACUOUS, 0
    laws = [
        (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)),
        (Fraction(1, 2), Fraction(0), Fraction(1, 2)),
    ]
    for (n, (at, low, high)), law in product(CASES, laws):
        if not holds.holds:
            break
        limits = CountLimits(
            at=np.array([float(t) for t in at]),
            low=np.array(low) + narrower,
            high=np.array(high),
            draws=n,
            level=0.0,
        )
        failed = Fraction(0)
        for sample in product(range(3), repeat=n):
            if _fails(TailLimits(np.sort(np.array(sample, dtype=float)), limits), law):
                failed += prod((law[x] for x in sample), start=Fraction(1))
        holds &= at_most(failed, 1 - exact_coverage(n, (at, low, high)))
        count += 1
    return Step("laws with atoms", holds, f"{count} laws and limits, all samples")


def _fails(band: TailLimits, law: tuple[Fraction, ...]) -> bool:
    """Whether some P(S ≥ x) or P(S ≤ x) is outside of its limits."""
    for x in (-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5):
        point = np.array([x])
        upper_tail = sum((p for k, p in enumerate(law) if k >= x), Fraction(0))
        lower_tail = sum((p for k, p in enumerate(law) if k <= x), Fraction(0))
        for (low, high), truth in (
            (band.at_least(point), upper_tail),
            (band.at_most(point), lower_tail),
        ):
            if not Fraction(float(low[0])) <= truth <= Fraction(float(high[0])):
                return True
    return False


PROOF = Proof(
    theorem=CDF_BAND,
    clauses=(
        Clause(
            (
                "If lo_i ≤ #{U_j ≤ t_i} ≤ hi_i for all i has probability 1 − level for n uniform draws, then "
                "for n draws of any distribution, with that probability and for all i and x at once, P(S < x) "
                "≤ t_i where x ≤ S_(lo_i), and P(S ≤ x) ≥ t_i where x ≥ S_(hi_i + 1)."
            ),
            by=(poisson_given_its_total, atoms),
            argued=(
                "the coupling S_j = F⁻¹(U_j), which keeps order: lo ≤ N(t) puts S_(lo) at or below F⁻¹(t), "
                "N(t) ≤ hi puts S_(hi+1) at or above it"
            ),
        ),
    ),
    library=(convolutions,),
    mutations={
        "twice the multinomial": lambda: poisson_given_its_total(factor=2),
        "one more below": lambda: convolutions(shift=1),
        "narrower limits": lambda: atoms(narrower=1),
    },
)
