"""How far a record moves the matrix of second moments, XᵀX, where rows have a bounded norm.

A record's share is x·xᵀ. Two records differ, in squared ℓ2 norm over all entries of the matrix, by

    ‖x·xᵀ − z·zᵀ‖² = a² + b² − 2c²,   a = ‖x‖², b = ‖z‖², c = ⟨x, z⟩,

at most 2r⁴, which orthogonal rows of length r attain; one feature has c² = ab, and leaves |a − b| ≤ r². In ℓ1, with
each entry of the symmetric matrix counted once, Σ_(i≤j) |xᵢxⱼ| = (‖x‖₁² + ‖x‖²)/2 and ‖x‖₁² ≤ d·‖x‖². A packed
symmetric matrix with p = d entries on the diagonal and q = d(d−1)/2 above it has, by Cauchy and Schwarz, an ℓ1 norm of at
most √(p + q/2) = √(d(d+3))/2 times its ℓ2 norm, in which those above the diagonal count twice.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.guarantees import GaussianDP, PureDP
from dpverify.neighbors import Relation
from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, at_most, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.bounds import Bounds
from solvers.second_moments import SecondMoments

SECOND_MOMENTS = Theorem(
    name="second-moments",
    statement=(
        "For ‖x‖ ≤ r one record more moves XᵀX by at most r² in ℓ2, and one replaced by at most √2·r², or r² for one "
        "feature; in ℓ1, on and above the diagonal, one more by at most (d+1)/2·r², and one replaced by at most "
        "√(d(d+3)/2)·r²."
    ),
    source="derived here; Dwork, Talwar, Thakurta, Zhang, STOC 2014, for one more in ℓ2",
    proof="proofs/second_moments.py",
)


def the_squared_distance(cross: int = 2) -> Step:
    """‖xxᵀ − zzᵀ‖² = a² + b² − 2c², in the plane of x and z; z = 0 leaves a²."""
    x1, x2, z1, z2 = sp.symbols("x1 x2 z1 z2", real=True)
    x, z = sp.Matrix([x1, x2]), sp.Matrix([z1, z2])
    total = sum(entry**2 for entry in x * x.T - z * z.T)
    a, b, c = x.dot(x), z.dot(z), x.dot(z)
    holds = same(total, a**2 + b**2 - cross * c**2)
    return Step("squared distance", holds, "all x, z")


def largest_at_the_bound(two: int = 2) -> Step:
    """r⁴ − a² ≥ 0 and 2r⁴ − (a² + b² − 2c²) ≥ 0 for a, b ≤ r²; and r² − |a − b| ≥ 0."""
    a, more, c, u, v = sp.symbols("a more c u v", nonnegative=True)
    square = a + more  # r²
    b = square * u / (u + v)  # every b in [0, r²]
    holds = nonnegative(square**2 - a**2, (a, more))
    holds &= nonnegative(two * square**2 - (a**2 + b**2 - 2 * c**2), (a, more, c, u, v))
    holds &= nonnegative(square - (a - b), (a, more, u, v))
    return Step("largest at the bound", holds, "all rows")


def in_absolute_values(weight: Fraction = Fraction(1, 2)) -> Step:
    """Σ_(i≤j) xᵢxⱼ = ((Σxᵢ)² + Σxᵢ²)/2 and d·Σxᵢ² − (Σxᵢ)² = Σ_(i<j) (xᵢ − xⱼ)²: at most (d + 1)/2·Σxᵢ²."""
    holds = VACUOUS
    for d in range(1, 7):
        x = sp.symbols(f"x1:{d + 1}", nonnegative=True)
        upper = sum(x[i] * x[j] for i in range(d) for j in range(i, d))
        squares = sum(xi**2 for xi in x)
        pairs = sum((x[i] - x[j]) ** 2 for i in range(d) for j in range(i + 1, d))
        holds &= same(sp.Rational(d + 1, 2) * squares - upper, sp.Rational(weight) * pairs)
    return Step("ℓ1 norm", holds, "d = 1 … 6; the form is that of every d")


def cauchy_and_schwarz(half: int = 2) -> Step:
    """(p + q)² ≤ (p² + 2q²)·(1 + 1/2), the weights add up to d(d+3)/4, and d(d+3)/4·2r⁴ = d(d+3)/2·r⁴."""
    p, q, d = sp.symbols("p q d", nonnegative=True)
    gap = (1 + sp.Rational(1, half)) * (p**2 + 2 * q**2) - (p + q) ** 2
    holds = same(gap, (p - 2 * q) ** 2 / 2)
    holds &= same(d + (d * (d - 1) / 2) / half, d * (d + 3) / 4)
    return Step("ℓ1 from ℓ2", holds, "one entry of each kind; all d for the sum")


def the_library_has_these_bounds(shrink: Fraction = Fraction(1)) -> Step:
    """`sensitivity` is not exceeded by rows with entries in {−1, −1/2, 0, 1/2, 1}; ℓ2 bounds are attained among them."""
    holds, count, attained = VACUOUS, 0, 0
    steps = [Fraction(k, 2) for k in (-2, -1, 0, 1, 2)]
    for d, relation in product((1, 2, 3), Relation):
        rows = [x for x in product(steps, repeat=d) if sum(v * v for v in x) <= 1]
        others = rows if relation is Relation.REPLACE_ONE else [(Fraction(0),) * d]
        euclidean, absolute = (
            Fraction(
                SecondMoments(
                    bounds=Bounds(norm=1.0), budget=budget, relation=relation, pure_noise="laplace"
                ).sensitivity(d)
            )
            * shrink
            for budget in (GaussianDP(mu=1.0), PureDP(epsilon=1.0))
        )
        largest = Fraction(0)
        for x, z in product(rows, others):
            moved = {(i, j): x[i] * x[j] - z[i] * z[j] for i in range(d) for j in range(i, d)}
            squares = sum(
                (v * v * (1 if i == j else 2) for (i, j), v in moved.items()), Fraction(0)
            )
            holds &= at_most(squares, euclidean**2)
            holds &= at_most(sum(map(abs, moved.values())), absolute)
            largest, count = max(largest, squares), count + 1
        attained += largest == (2 if relation is Relation.REPLACE_ONE and d > 1 else 1)
    return Step("`sensitivity`", holds & equal(attained, 6), f"{count} pairs of records")


PROOF = Proof(
    theorem=SECOND_MOMENTS,
    clauses=(
        Clause(
            (
                "For ‖x‖ ≤ r one record more moves XᵀX by at most r² in ℓ2, and one replaced by at most √2·r², or r² "
                "for one feature;"
            ),
            by=(the_squared_distance, largest_at_the_bound),
            argued="that two vectors lie in a plane; for one feature the matrix is the number ‖x‖²",
        ),
        Clause(
            "in ℓ1, on and above the diagonal, one more by at most (d+1)/2·r²,",
            by=(in_absolute_values,),
            argued="that the form for d ≤ 6 is that of every d",
        ),
        Clause(
            "and one replaced by at most √(d(d+3)/2)·r².",
            by=(cauchy_and_schwarz,),
            argued="the inequality for any number of entries of each kind, and √2·r² in ℓ2",
        ),
    ),
    library=(the_library_has_these_bounds,),
    mutations={
        "‖xxᵀ − zzᵀ‖² = a² + b² − c²": lambda: the_squared_distance(cross=1),
        "r² when replaced": lambda: largest_at_the_bound(two=1),
        "pairs once": lambda: in_absolute_values(Fraction(1)),
        "weight 1/3 off the diagonal": lambda: cauchy_and_schwarz(half=3),
        "nine tenths of it": lambda: the_library_has_these_bounds(Fraction(9, 10)),
    },
)
