"""The matrix mechanism: one Gaussian mechanism, and how far one record moves it.

Rows of x that one record holds change by vectors u_j of length at most 1; C·x changes by Σ C[:, j]·u_jᵀ, whose squared
length is Σ ⟨uᵢ, u_j⟩·Xᵢⱼ with X = CᵀC. As |⟨uᵢ, u_j⟩| ≤ 1, that is at most Σ |Xᵢⱼ|, and equal vectors give Σ Xᵢⱼ. That
later rows depend on earlier outputs does not matter where C never looks ahead: given the outputs so far, the mean of
the next one moves by what the same formula gives, and squared lengths add up over the rows.

For patterns with gaps, Σ_{i ∈ π} Σ_{j ∈ π} |Xᵢⱼ| ≤ Σ_{i ∈ π} vᵢ, where vᵢ is the largest inner sum over patterns that hold i; and
the pattern with the largest Σ vᵢ is found by a dynamic program.

With b bands columns j and j + b have no row in common. A record of part g is drawn only at steps g, g + b, …; the rows
that step g + kb reaches come after all that were released before it, and no other draw of the record touches them. So
each block is a Poisson-subsampled Gaussian mechanism of the column's length, given the past: a composition.
"""

from itertools import combinations, pairwise, product

import numpy as np
import sympy as sp

from dpverify.mechanisms.matrix import MatrixMechanism
from dpverify.mechanisms.matrix.sensitivity import squared, squared_separated
from dpverify.mechanisms.matrix.strategies import bandwidth, square_root, tree
from dpverify.theorems import (
    ANALYTIC_GAUSSIAN,
    GAUSSIAN_FILTER,
    MATRIX_MECHANISM,
    POISSON_SUBSAMPLING,
    Step,
)
from proofs.adaptive_domination import ADAPTIVE_DOMINATION
from proofs.support.checks import VACUOUS, answered, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def the_move_is_a_quadratic_form(sign: int = 1) -> Step:
    """|a·u + b·w|² = |a|²·|u|² + |b|²·|w|² + 2⟨a, b⟩·⟨u, w⟩ for the matrix a·uᵀ + b·wᵀ."""
    a, b = sp.Matrix(sp.symbols("a1:3")), sp.Matrix(sp.symbols("b1:3"))
    u, w = sp.Matrix(sp.symbols("u1:3")), sp.Matrix(sp.symbols("w1:3"))
    move = a * u.T + b * w.T
    length = sum(entry**2 for entry in move)
    form = a.dot(a) * u.dot(u) + b.dot(b) * w.dot(w) + sign * 2 * a.dot(b) * u.dot(w)
    return Step("the move", same(length, form), "two columns in the plane")


def whole_matrices_by_enumeration(separation: int = 0) -> Step:
    """All 0/1 lower triangular matrices of order 4: every pattern, in integers."""
    holds, count = VACUOUS, 0
    places = [(i, j) for i in range(4) for j in range(i + 1)]
    for bits in product((0, 1), repeat=len(places)):
        matrix = np.zeros((4, 4))
        for place, bit in zip(places, bits, strict=True):
            matrix[place] = bit
        if not matrix.any():
            continue
        gap, most = 2, 2
        found = squared_separated(matrix, gap + separation, most)
        gram = (matrix.T @ matrix).astype(int)
        truth = max(
            int(gram[np.ix_(pattern, pattern)].sum())
            for size in (1, 2)
            for pattern in combinations(range(4), size)
            if all(b - a >= gap for a, b in pairwise(pattern))
        )
        holds &= at_most(found.lower, truth) & at_most(truth, found.upper)
        count += 1
    return Step("patterns", holds, f"{count} matrices")


def known_sensitivities(extra: int = 0) -> Step:
    """A tree over 2^m leaves: m + 1; all prefix sums of n steps: n; both ends are whole numbers."""
    holds, count = VACUOUS, 0
    for levels in range(1, 8):
        found = squared(tree(2**levels), ([j] for j in range(2**levels)))
        holds &= at_most(found.lower, levels + 1 + extra) & at_most(levels + 1 + extra, found.upper)
        prefix = MatrixMechanism(strategy="prefix", steps=levels, sigma=1.0).squared_sensitivity
        holds &= at_most(prefix.lower, levels + extra) & at_most(levels + extra, prefix.upper)
        count += 2
    return Step("tree and prefix sums", holds, f"{count} matrices")


def columns_of_banded_matrices_do_not_meet(closer: int = 0) -> Step:
    """Σ C[r, i]·C[r, j] = 0 for |i − j| ≥ b, where C[r, j] is any number for j ≤ r < j + b and 0 elsewhere."""
    holds, count, entry = VACUOUS, 0, sp.Function("c")
    for steps, bands in product((3, 6), (1, 2, 4)):
        matrix = sp.Matrix(
            steps, steps, lambda r, j, b=bands: entry(r, j) if j <= r < j + b else sp.Integer(0)
        )
        gram = matrix.T * matrix
        for i, j in product(range(steps), repeat=2):
            if abs(i - j) >= bands - closer:
                holds &= same(gram[i, j], 0)
                count += 1
    return Step("bands", holds, f"all entries; {count} pairs of columns")


def the_library_cuts_bands(closer: int = 0) -> Step:
    """(CᵀC)ᵢⱼ = 0 for |i − j| ≥ b, for the square root cut to b bands; and only there."""
    holds, count = VACUOUS, 0
    for steps, bands in product((6, 12), (1, 2, 4)):
        matrix = square_root(steps, bands)
        gram = matrix.T @ matrix
        apart = np.abs(np.subtract.outer(np.arange(steps), np.arange(steps)))
        holds &= answered(not gram[apart >= bands - closer].any()) & equal(bandwidth(matrix), bands)
        count += 1
    return Step("`square_root`", holds, f"{count} matrices")


PROOF = Proof(
    theorem=MATRIX_MECHANISM,
    clauses=(
        Clause(
            (
                "C·x + N(0, σ²) is the Gaussian mechanism whose sensitivity is the largest length of Σ C[:, "
                "j]·u_j over the steps of one record, whose rows of x move by u_j of length at most 1: the root "
                "of the largest Σ Xᵢⱼ where every entry of X = CᵀC is ≥ 0; its profile is no larger if rows of x "
                "depend on outputs that come before all those they enter;"
            ),
            by=(the_move_is_a_quadratic_form, whole_matrices_by_enumeration),
            argued=(
                "that |⟨uᵢ, uⱼ⟩| ≤ 1 and equal vectors attain Σ Xᵢⱼ; that given the outputs so far the next one is "
                "Gaussian, and the squares of its moves add up to no more on any path (gaussian-filter)"
            ),
        ),
        Clause(
            (
                "with b bands on and below the diagonal and Poisson samples drawn in turn from b parts of the "
                "data, n steps are at most ⌈n/b⌉ subsampled Gaussians, each of the longest column."
            ),
            by=(columns_of_banded_matrices_do_not_meet,),
            argued=(
                "that each block of rows is a Poisson-subsampled Gaussian mechanism given the past, whose shift is "
                "its column’s length, and longer shifts dominate"
            ),
        ),
    ),
    library=(known_sensitivities, the_library_cuts_bands),
    uses=(ANALYTIC_GAUSSIAN, GAUSSIAN_FILTER, POISSON_SUBSAMPLING, ADAPTIVE_DOMINATION),
    mutations={
        "the other sign": lambda: the_move_is_a_quadratic_form(sign=-1),
        "a larger separation": lambda: whole_matrices_by_enumeration(separation=2),
        "one more": lambda: known_sensitivities(extra=1),
        "one band less": lambda: columns_of_banded_matrices_do_not_meet(closer=1),
        "one band less in the library": lambda: the_library_cuts_bands(closer=1),
    },
)
