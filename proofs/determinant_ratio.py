"""One record changes the determinant of objective perturbation by at most the factor 1 + β/λ.

Let M = Σ of the other Hessians + λI, so M ≥ λI. With the record's Hessian f″·x·xᵀ, f″·‖x‖² ≤ β,

    det(M + t·u·uᵀ) = det(M)·(1 + t·uᵀM⁻¹u),

as M + t·u·uᵀ = M^(1/2)·(I + t·w·wᵀ)·M^(1/2) with w = M^(−1/2)u, and I + t·w·wᵀ has the eigenvalue 1 + t·‖w‖² along w and 1
across. (Or: the determinant is multilinear and all 2×2 minors of u·uᵀ vanish, so that it is affine in t.) Replacing the
record changes the determinant by (1 + f″·xᵀM⁻¹x)/(1 + f″′·x′ᵀM⁻¹x′) ≤ 1 + β/λ, since M⁻¹ ≤ I/λ. The pair "Hessian
β against 0" with all others 0 attains it. The notes' Lemma 14.5, for a change E of rank 2, is det(I + U·Vᵀ) = det(I₂ + VᵀU)
with A⁻¹E = U·Vᵀ; the eigenvalues of VᵀU are the two of A⁻¹E that may differ from 0.
"""

from fractions import Fraction

import sympy as sp

from dpverify.theorems import Step, Theorem
from proofs.support.checks import VACUOUS, equal
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

DETERMINANT_RATIO = Theorem(
    name="determinant-ratio",
    statement=(
        "If M ≥ λI, λ > 0, and two records have Hessians H, H′ ≥ 0 of rank at most one and norm "
        "at most β, then det(M + H)/det(M + H′) ≤ 1 + β/λ; this is attained."
    ),
    source="matrix determinant lemma; Wang, CS 325, lecture 14, Lemma 14.5, has (1 + 2β/λ)²",
    proof="proofs/determinant_ratio.py",
)


def minors_of_rank_one_vanish(sign: int = 1) -> Step:
    """(uᵢuⱼ)(u_k u_l) − (uᵢu_l)(u_k uⱼ) = 0 for any four indices."""
    a, b, c, d = sp.symbols("u_i u_j u_k u_l", real=True)
    holds = same((a * b) * (c * d), sign * (a * d) * (c * b))
    return Step("2×2 minors vanish", holds, "all indices, all dimensions")


def eigenvectors(square: int = 2) -> Step:
    """(I + t·w·wᵀ)w = (1 + t‖w‖²)w, and (I + t·w·wᵀ)z = z for z ⟂ w; coordinate by coordinate."""
    t, own, rest, z, inner = sp.symbols("t w_i rest z_i inner", real=True)
    length = own**square + rest  # ‖w‖² = wᵢ² + the other squares
    holds = same(own + t * own * (own * own + rest), (1 + t * length) * own)
    holds &= same((z + t * own * inner).subs(inner, 0), z)
    return Step("eigenvectors", holds, "all dimensions")


def lemma_of_rank_two(largest: int = 4, sign: int = 1) -> Step:
    """det(I + U·Vᵀ) = 1 + tr(VᵀU) + det(VᵀU) = 1 + λ₁ + λ₂ + λ₁λ₂, for U and V of two columns, written out."""
    holds = VACUOUS
    for d in range(2, largest + 1):
        left, right = (sp.Matrix(d, 2, lambda i, j, n=n: sp.Symbol(f"{n}{i}{j}")) for n in "uv")
        small = right.T * left
        made = (sp.eye(d) + left * right.T).det(method="berkowitz")
        holds &= same(made, 1 + small.trace() + sign * small.det(), by=sp.expand)
    return Step("Lemma 14.5", holds, f"d = 2 … {largest}, all entries")


def the_determinant_lemma(largest: int = 3, power: int = 1) -> Step:
    """det(M + t·u·uᵀ) = det(M)·(1 + t·uᵀM⁻¹u) for symmetric M, written out."""
    holds = VACUOUS
    for d in range(1, largest + 1):
        matrix = sp.Matrix(d, d, lambda i, j: sp.Symbol(f"m{min(i, j)}{max(i, j)}"))
        u = sp.Matrix(d, 1, lambda i, _: sp.Symbol(f"u{i}"))
        t = sp.Symbol("t")
        left = (matrix + t * u * u.T).det(method="berkowitz")
        right = matrix.det(method="berkowitz") + t**power * (u.T * matrix.adjugate() * u)[0]
        holds &= same(left, right, by=sp.expand)
    return Step("determinant lemma", holds, f"d = 1 … {largest}, all entries")


def the_ratio_is_bounded(two: int = 1) -> Step:
    """(1 + β/λ) − (1 + a)/(1 + a′) ≥ 0 for 0 ≤ a ≤ β/λ and a′ ≥ 0."""
    beta, lam, other, u, v = sp.symbols("beta lambda other u v", nonnegative=True)
    own = beta / (lam + 1) * u / (u + v)  # λ = lam + 1 > 0; every a in [0, β/λ]
    holds = nonnegative(
        1 + beta / (lam + 1) / two - (1 + own) / (1 + other), (beta, lam, other, u, v)
    )
    return Step("ratio ≤ 1 + β/λ", holds, "all β, λ")


def it_is_attained(factor: int = 1) -> Step:
    """M = λI, H = β·e₁e₁ᵀ, H′ = 0 in three dimensions: (λ+β)·λ²/λ³ = 1 + β/λ."""
    holds, count = VACUOUS, 0
    for beta, lam in (
        (Fraction(1), Fraction(1)),
        (Fraction(1, 4), Fraction(3)),
        (Fraction(5), Fraction(1, 2)),
    ):
        holds &= equal((lam + beta) * lam**2 / lam**3, 1 + factor * beta / lam)
        count += 1
    return Step("attained", holds, f"{count} cases")


PROOF = Proof(
    theorem=DETERMINANT_RATIO,
    clauses=(
        Clause(
            (
                "If M ≥ λI, λ > 0, and two records have Hessians H, H′ ≥ 0 of rank at most one and norm "
                "at most β, then det(M + H)/det(M + H′) ≤ 1 + β/λ;"
            ),
            by=(
                eigenvectors,
                minors_of_rank_one_vanish,
                the_determinant_lemma,
                the_ratio_is_bounded,
                lemma_of_rank_two,
            ),
            argued="that a determinant is the product of eigenvalues, that M has a square root, and M⁻¹ ≤ I/λ",
        ),
        Clause(
            "this is attained.",
            by=(it_is_attained,),
            argued="that M = λI, H = β·e₁e₁ᵀ and H′ = 0 are allowed",
        ),
    ),
    mutations={
        "‖w‖³": lambda: eigenvectors(square=3),
        "1 + λ₁ + λ₂ − λ₁λ₂": lambda: lemma_of_rank_two(sign=-1),
        "minors with a plus": lambda: minors_of_rank_one_vanish(sign=-1),
        "quadratic in t": lambda: the_determinant_lemma(power=2),
        "1 + β/(2λ)": lambda: the_ratio_is_bounded(two=2),
        "1 + 2β/λ is attained": lambda: it_is_attained(factor=2),
    },
)
