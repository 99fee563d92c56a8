"""The sufficient statistics of linear regression where rows have a bounded norm, and how far a record moves them.

A record's share of (XᵀX, Xᵀy) is (x·xᵀ, y·x). Two records x, y and z, w differ, in squared ℓ2 norm over all entries of
the matrix, by

    ‖x·xᵀ − z·zᵀ‖² + ‖y·x − w·z‖² = a² + b² − 2c² + y²a + w²b − 2yw·c,   a = ‖x‖², b = ‖z‖², c = ⟨x, z⟩.

With a, b ≤ r², |y|, |w| ≤ s and t = |c| ≤ r² that is at most 2r⁴ + 2r²s² + 2s²t − 2t², a parabola in t with its peak at
t = s²/2. In ℓ1, with each entry of the symmetric matrix counted once, Σ_(i≤j) |xᵢxⱼ| = (‖x‖₁² + ‖x‖²)/2 and
‖x‖₁ ≤ √d·‖x‖. A vector of d entries on the diagonal, d(d−1)/2 above it and d more has by Cauchy and Schwarz an ℓ1 norm
of at most √(d + d(d−1)/4 + d) times its ℓ2 norm in which those above the diagonal count twice.
"""

from fractions import Fraction
from itertools import product

import sympy as sp

from dpverify.neighbors import Relation
from dpverify.theorems import Step, Theorem
from proofs.lipschitz_losses import LIPSCHITZ_LOSSES
from proofs.support.checks import VACUOUS, at_most
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same
from solvers.sufficient_statistics import sensitivity

NORMED_STATISTICS = Theorem(
    name="normed-statistics",
    statement=(
        "For ‖x‖ ≤ r and |y| ≤ s one record more moves (XᵀX, Xᵀy) by at most r·√(r² + s²) in ℓ2, and one replaced by "
        "at most √(2r⁴ + 2r²s² + s⁴/2), or 2rs where s² ≥ 2r²; in ℓ1, with the matrix on and above its diagonal, one "
        "more by at most (d+1)/2·r² + √d·rs, and every move by at most √(2d + d(d−1)/4) times that in ℓ2."
    ),
    source="derived here; lecture on machine learning with DP, Sec. 4.4",
    proof="proofs/normed_statistics.py",
)


def the_squared_distance(cross: int = 2) -> Step:
    """‖xxᵀ − zzᵀ‖² + ‖yx − wz‖² = a² + b² − 2c² + y²a + w²b − 2ywc, in the plane of x and z."""
    x1, x2, z1, z2, y, w = sp.symbols("x1 x2 z1 z2 y w", real=True)
    x, z = sp.Matrix([x1, x2]), sp.Matrix([z1, z2])
    gap, lean = x * x.T - z * z.T, y * x - w * z
    a, b, c = x.dot(x), z.dot(z), x.dot(z)
    total = sum(entry**2 for entry in gap) + lean.dot(lean)
    holds = same(total, a**2 + b**2 - cross * c**2 + y**2 * a + w**2 * b - 2 * y * w * c)
    return Step("squared distance", holds, "all x, z, y, w")


def one_record(power: int = 2) -> Step:
    """r²(r² + s²) − (a² + y²a) ≥ 0 for a ≤ r², y² ≤ s²; z = 0 in the identity above."""
    a, more, y, room = sp.symbols("a more y room", nonnegative=True)  # a and y stand for squares
    r2, s2 = a + more, y + room
    holds = nonnegative(r2**power + r2 * s2 - (a**2 + y * a), (a, more, y, room))
    return Step("one more", holds, "all records")


def the_largest_case(sign: int = 1) -> Step:
    """r⁴ − a² ≥ 0, r²s² − y²a ≥ 0 and s²t − |y|·|w|·t ≥ 0 for a ≤ r² and |y|, |w| ≤ s; b and w like a and y."""
    a, more, y, room, t, u, v = sp.symbols("a more y room t u v", nonnegative=True)
    r2, s = a + more, y + room
    w = s * u / (u + v)  # every |w| in [0, s]
    holds = nonnegative(sign * (r2**2 - a**2), (a, more))
    holds &= nonnegative(r2 * s**2 - y**2 * a, (a, more, y, room))
    holds &= nonnegative(s**2 * t - y * w * t, (y, room, t, u, v))
    return Step("largest at the bounds", holds, "all records, given t = |c|")


def the_parabola(half: int = 2) -> Step:
    """2r⁴ + 2r²s² + 2s²t − 2t² = (2r⁴ + 2r²s² + s⁴/2) − 2(t − s²/2)²."""
    r, s, t = sp.symbols("r s t", nonnegative=True)
    value = 2 * r**4 + 2 * r**2 * s**2 + 2 * s**2 * t - 2 * t**2
    peak = 2 * r**4 + 2 * r**2 * s**2 + s**4 / half
    holds = same(peak - value, 2 * (t - s**2 / 2) ** 2)
    return Step("peak", holds, "all r, s, t")


def beyond_the_peak(two: int = 2) -> Step:
    """4r²s² − (2r⁴ + 2r²s² + 2s²t − 2t²) = 2(r² − t)(s² − r² − t) ≥ 0 for t ≤ r² and s² ≥ 2r²."""
    t, gap, more = sp.symbols("t gap more", nonnegative=True)
    r2 = t + gap
    s2 = two * r2 + more
    value = 2 * r2**2 + 2 * r2 * s2 + 2 * s2 * t - 2 * t**2
    holds = nonnegative(4 * r2 * s2 - value, (t, gap, more))
    return Step("s² ≥ 2r²", holds, "all r, s, t")


def in_absolute_values(weight: Fraction = Fraction(1, 2)) -> Step:
    """Σ_(i≤j) xᵢxⱼ = ((Σxᵢ)² + Σxᵢ²)/2, and d·Σxᵢ² − (Σxᵢ)² = Σ_(i<j) (xᵢ − xⱼ)², for xᵢ ≥ 0."""
    holds = VACUOUS
    for d in range(1, 7):
        x = sp.symbols(f"x1:{d + 1}", nonnegative=True)
        upper = sum(x[i] * x[j] for i in range(d) for j in range(i, d))
        squares = sum(xi**2 for xi in x)
        holds &= same(upper, sp.Rational(weight) * (sum(x) ** 2 + squares))
        pairs = sum((x[i] - x[j]) ** 2 for i in range(d) for j in range(i + 1, d))
        holds &= same(d * squares - sum(x) ** 2, pairs)
    return Step("ℓ1 norm", holds, "d = 1 … 6; the form is that of every d")


def cauchy_and_schwarz(half: int = 2) -> Step:
    """(p·1 + q√2·(1/√2) + u·1)² ≤ (p² + 2q² + u²)·(1 + 1/2 + 1): weights add up to 2d + d(d−1)/4."""
    p, q, u, d = sp.symbols("p q u d", nonnegative=True)
    weights = 2 + sp.Rational(1, half)
    gap = weights * (p**2 + 2 * q**2 + u**2) - (p + q + u) ** 2
    lagrange = (p - 2 * q) ** 2 / 2 + (p - u) ** 2 + (u - 2 * q) ** 2 / 2
    holds = same(gap, lagrange)
    holds &= same(d + (d * (d - 1) / 2) / half + d, 2 * d + d * (d - 1) / 4)
    return Step("ℓ1 from ℓ2", holds, "one entry of each kind; all d for the sum")


def the_library_has_these_bounds(shrink: Fraction = Fraction(1)) -> Step:
    """`sensitivity` is not exceeded by any two of the records with coordinates in {−1, −1/2, 0, 1/2, 1} and the largest labels."""
    holds, count = VACUOUS, 0
    steps = [Fraction(k, 2) for k in (-2, -1, 0, 1, 2)]
    rows = [x for x in product(steps, repeat=2) if x[0] ** 2 + x[1] ** 2 <= 1]
    for relation, label in product(Relation, (Fraction(1, 2), Fraction(1), Fraction(2))):
        bound = Fraction(sensitivity(1.0, float(label), 2, kind="norm", relation=relation)) * shrink
        total = (
            Fraction(sensitivity(1.0, float(label), 2, kind="laplace", relation=relation)) * shrink
        )
        others: list[tuple[tuple[Fraction, ...], Fraction]] = [((Fraction(0),) * 2, Fraction(0))]
        if relation is Relation.REPLACE_ONE:
            others = [(row, sign * label) for row in rows for sign in (-1, 1)]
        for x, (z, w) in product(rows, others):
            y = label
            diagonal = [x[0] ** 2 - z[0] ** 2, x[1] ** 2 - z[1] ** 2]
            above = x[0] * x[1] - z[0] * z[1]
            lean = [y * x[0] - w * z[0], y * x[1] - w * z[1]]
            squared = sum((v * v for v in (*diagonal, *lean)), 2 * above**2)
            holds &= at_most(squared, bound**2)
            holds &= at_most(sum(map(abs, (*diagonal, *lean)), abs(above)), total)
            count += 1
    return Step("`sensitivity`", holds, f"{count} pairs of records")


PROOF = Proof(
    theorem=NORMED_STATISTICS,
    clauses=(
        Clause(
            "For ‖x‖ ≤ r and |y| ≤ s one record more moves (XᵀX, Xᵀy) by at most r·√(r² + s²) in ℓ2,",
            by=(the_squared_distance, one_record),
            argued="that two vectors lie in a plane",
        ),
        Clause(
            "and one replaced by at most √(2r⁴ + 2r²s² + s⁴/2), or 2rs where s² ≥ 2r²;",
            by=(the_squared_distance, the_largest_case, the_parabola, beyond_the_peak),
            argued="that |⟨x, z⟩| ≤ r², so that t stops short of the peak where s² ≥ 2r²",
        ),
        Clause(
            "in ℓ1, with the matrix on and above its diagonal, one more by at most (d+1)/2·r² + √d·rs,",
            by=(in_absolute_values,),
            argued="that the form for d ≤ 6 is that of every d",
        ),
        Clause(
            "and every move by at most √(2d + d(d−1)/4) times that in ℓ2.",
            by=(cauchy_and_schwarz,),
            argued="the inequality for any number of entries of each kind",
        ),
    ),
    library=(the_library_has_these_bounds,),
    uses=(LIPSCHITZ_LOSSES,),
    mutations={
        "‖xxᵀ − zzᵀ‖² = a² + b² − c²": lambda: the_squared_distance(cross=1),
        "r⁶": lambda: one_record(power=1),
        "falls with a": lambda: the_largest_case(sign=-1),
        "s⁴/4": lambda: the_parabola(half=4),
        "s² ≥ r²/2 is enough": lambda: beyond_the_peak(two=0),
        "Σ over i ≤ j = (Σx)² + Σx²": lambda: in_absolute_values(Fraction(1)),
        "weight 1/3 off the diagonal": lambda: cauchy_and_schwarz(half=3),
        "nine tenths of it": lambda: the_library_has_these_bounds(Fraction(9, 10)),
    },
)
