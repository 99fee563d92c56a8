"""k queries asked together are one query, whose ℓ2 sensitivity is √k times as large at most.

The squared length of a stacked vector is the sum of the squared lengths of its parts, so k parts that move by at most Δ each move it by at most √k·Δ.
Noise N(0, σ²I) on it is then √k·Δ/σ-GDP: the same as k mechanisms that are Δ/σ-GDP, composed.
"""

import sympy as sp

from dpverify.theorems import ANALYTIC_GAUSSIAN, GAUSSIAN_COMPOSITION, Step, Theorem
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

STACKED_QUERIES = Theorem(
    name="stacked-queries",
    statement=(
        "k queries of ℓ2 sensitivity Δ, stacked into one vector, have ℓ2 sensitivity at most √k·Δ; Gaussian noise on it is "
        "√k·Δ/σ-GDP, as k such mechanisms composed are."
    ),
    source="Nikolov, CSC2412, private gradient descent",
    proof="proofs/stacked_queries.py",
)


def squares_add_up(less: int = 0) -> Step:
    """k·Δ² − Σ mᵢ² ≥ 0 for mᵢ² = Δ²·uᵢ/(uᵢ + vᵢ), here by one part more: (k + 1)·Δ² − (S + m²) for S ≤ k·Δ²."""
    k, square, a, b, c, d = sp.symbols("k square a b c d", nonnegative=True)
    first, more = k * square * a / (a + b), square * c / (c + d)  # S in [0, k·Δ²], m² in [0, Δ²]
    holds = nonnegative((k + 1 - less) * square - first - more, (k, square, a, b, c, d))
    return Step("squares add up", holds, "all k, Δ, by induction")


def both_ways_agree(power: int = 2) -> Step:
    """(√k·Δ/σ)² = k·(Δ/σ)²."""
    k, size, sigma = sp.symbols("k Delta sigma", positive=True)
    holds = same((sp.sqrt(k) * size / sigma) ** power, k * (size / sigma) ** 2)
    return Step("both ways", holds, "all k, Δ, σ")


PROOF = Proof(
    theorem=STACKED_QUERIES,
    clauses=(
        Clause(
            "k queries of ℓ2 sensitivity Δ, stacked into one vector, have ℓ2 sensitivity at most √k·Δ;",
            by=(squares_add_up,),
            argued="that the squared length of a stacked vector is the sum of those of its parts; induction over them",
        ),
        Clause(
            "Gaussian noise on it is √k·Δ/σ-GDP, as k such mechanisms composed are.",
            by=(both_ways_agree,),
            argued="analytic-gaussian and gaussian-composition",
        ),
    ),
    uses=(ANALYTIC_GAUSSIAN, GAUSSIAN_COMPOSITION),
    mutations={
        "√(k−1)·Δ": lambda: squares_add_up(less=1),
        "cubes": lambda: both_ways_agree(power=3),
    },
)
