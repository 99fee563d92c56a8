"""Objective perturbation of the softmax loss of K classes: Hessians of rank K − 1, slopes that are mixtures.

For ℓ = ln Σ e^(sⱼ) − s_y, s = Θᵀx, the gradient is x ⊗ q with q = p − e_y = Σ pⱼ·(eⱼ − e_y), a mixture, with weights that
depend on Θ, of 0 and K − 1 vectors of length √2 that do not. The Hessian is xxᵀ ⊗ S, S = diag(p) − ppᵀ.

- *determinant*: for M ≥ λI, det(M + xxᵀ⊗S)/det(M) = det(I + AᵀM⁻¹A) ≤ det(I + AᵀA/λ) = det(I + κS) with
  A = x ⊗ S^(1/2), κ = R²/λ. S has the null vector 1 and trace 1 − Σp² ≤ 1 − 1/K, so by the inequality of the means
  over its K − 1 other eigenvalues det(I + κS) ≤ (1 + κ/K)^(K−1), which p = 1/K attains. Where the record is in the
  denominator, the determinant only helps.
- *norm noise*: b moves by ‖x‖·‖q‖ ≤ √2·R = L when a record is added or removed, and by 2L when one is replaced.
- *Gaussian noise*: the noise part of the loss is (‖g‖² + 2⟨b, g⟩)/(2σ²) for g = x ⊗ q, convex in g, so at most its
  largest value at a corner: 0, or one of K − 1 fixed g of length at most L. There it is the loss of Gaussian noise, and
  a maximum is at most a sum. For a record replaced g = x ⊗ q − x′ ⊗ q′, with (K−1)² corners of length at most 2L and
  2(K−1) of length at most L.
"""

from fractions import Fraction
from itertools import product

import sympy as sp
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from dpverify.balls import ball
from dpverify.guarantees import ApproxDP
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair
from dpverify.theorems import ANALYTIC_GAUSSIAN, NORM_MECHANISM, Step
from proofs.objective_perturbation import OBJECTIVE_PERTURBATION
from proofs.support.checks import VACUOUS, at_most, equal, every, provided
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_laws
from proofs.support.symbolic import nonnegative, same
from solvers.bounds import Bounds
from solvers.losses.softmax import Softmax
from solvers.privacy.objective_rules import Setting
from solvers.privacy.theorems import OBJECTIVE_PERTURBATION_REPLACED, OBJECTIVE_PERTURBATION_SOFTMAX


def slope_and_hessian(sign: int = -1) -> Step:
    """∂ℓ/∂sⱼ = pⱼ − [j = y] and ∂²ℓ/∂sⱼ∂s_k = [j = k]·pⱼ − pⱼ·p_k, for three classes."""
    s = sp.symbols("s0:3", real=True)
    total = sum(sp.exp(v) for v in s)
    p = [sp.exp(v) / total for v in s]
    loss = sp.log(total) - s[0]
    holds = every(same(sp.diff(loss, s[j]), p[j] - (1 if j == 0 else 0)) for j in range(3))
    for j in range(3):
        for k in range(3):
            expected = (p[j] if j == k else 0) + sign * p[j] * p[k]
            holds &= same(sp.diff(loss, s[j], s[k]), expected)
    return Step("slope and Hessian", holds, "K = 3, all scores")


def how_long_the_slope_is(two: int = 2) -> Step:
    """2(Σ_{j≠y} pⱼ)² − (1 − p_y)² − Σ_{j≠y} pⱼ² ≥ 0, as 1 − p_y = Σ_{j≠y} pⱼ: ‖q‖ ≤ √2·(1 − p_y)."""
    a, b, c = sp.symbols("a b c", nonnegative=True)
    others = a + b + c
    gap = two * others**2 - others**2 - (a**2 + b**2 + c**2)
    holds = nonnegative(gap, (a, b, c))
    return Step("slope ≤ √2", holds, "K = 4, all p")


def the_trace(power: int = 2) -> Step:
    """(1 − 1/K) − (1 − Σp²) = Σ(p − 1/K)² for Σp = 1."""
    p = sp.symbols("p0:3", real=True)
    full = (*p, 1 - sum(p))
    count = len(full)
    gap = (1 - sp.Rational(1, count)) - (1 - sum(v**2 for v in full))
    holds = same(gap, sum((v - sp.Rational(1, count)) ** power for v in full))
    return Step("trace", holds, "K = 4, all p")


def the_determinant(extra: int = 0) -> Step:
    """det(I + κ(diag(p) − ppᵀ)) ≤ (1 + κ/K)^(K−1), with equality at p = 1/K, in rationals."""
    holds, attained, count = VACUOUS, 0, 0
    for classes, denominator in ((2, 12), (3, 9), (4, 8)):
        for kappa in (Fraction(1, 3), Fraction(2), Fraction(50)):
            bound = (1 + kappa / classes) ** (classes - 1 - extra)
            for p in rational_laws(classes, denominator):
                rows = [
                    [
                        (1 if i == j else 0) + kappa * ((p[i] if i == j else 0) - p[i] * p[j])
                        for j in range(classes)
                    ]
                    for i in range(classes)
                ]
                found = _det(rows)
                holds &= at_most(found, bound)
                attained += found == bound
                count += 1
    return Step("determinant", holds & equal(attained, 9), f"{count} laws p, K = 2, 3, 4")


def _det(rows: list[list[Fraction]]) -> Fraction:
    entries = [
        fmpq(value.numerator, value.denominator) for row in rows for value in map(Fraction, row)
    ]
    found = fmpq_mat(len(rows), len(rows), entries).det()
    return Fraction(int(found.p), int(found.q))


def more_curvature_elsewhere_helps(sign: int = 1) -> Step:
    """det(M + xxᵀ⊗S)·λ^… ≤ det(M)·det(I + (‖x‖²/λ)·S) for M = λI + N, N ≥ 0, in rationals."""
    holds, strict, count = VACUOUS, False, 0
    lam, classes = Fraction(1, 2), 2
    for x in ((Fraction(1), Fraction(0)), (Fraction(3, 5), Fraction(4, 5))):
        for p in rational_laws(classes, 6):
            s = [[(p[i] if i == j else 0) - p[i] * p[j] for j in range(2)] for i in range(2)]
            for u in ((1, 0, 0, 0), (1, 2, 0, 1), (1, -1, 1, 1)):
                base = [
                    [(lam if i == j else 0) + sign * Fraction(u[i] * u[j], 4) for j in range(4)]
                    for i in range(4)
                ]
                added = [
                    [base[i][j] + x[i // 2] * x[j // 2] * s[i % 2][j % 2] for j in range(4)]
                    for i in range(4)
                ]
                length = sum(v * v for v in x)
                small = [
                    [(1 if i == j else 0) + length / lam * s[i][j] for j in range(2)]
                    for i in range(2)
                ]
                left, right = _det(added), _det(base) * _det(small)
                holds &= at_most(left, right)
                strict |= left < right
                count += 1
    return Step("other records help", holds & provided(strict), f"{count} matrices")


def the_library_adds_up(corners: int = 2) -> Step:
    """δ = 2·H(ε̃, L/σ) added or removed, 4·H(ε̃, 2L/σ) + 4·H(ε̃, L/σ) replaced, for K = 3, rounded up."""
    holds, count = VACUOUS, 0
    bounds = Bounds(norm=1.0, labels=(0, 1, 2))
    with ctx.workprec(192):
        length = Softmax(3).lipschitz(bounds)
        for ridge, sigma, epsilon in ((1.0, 8.0, 1.0), (2.0, 4.0, 2.0)):
            left = ball(epsilon) - 2 * (1 + 1 / (3 * ball(ridge))).log()
            narrow, wide = (
                GaussianPair.of(sigma=sigma, sensitivity=times * length).profile_ball(left)
                for times in (1, 2)
            )
            for relation, exact in (
                (Relation.ADD_REMOVE, corners * narrow),
                (Relation.REPLACE_ONE, corners**2 * wide + 2 * corners * narrow),
            ):
                setting = Setting(loss=Softmax(3), bounds=bounds, ridge=ridge, relation=relation)
                spent = setting.gaussian(sigma, epsilon).guarantee
                delta = ball(spent.delta) if isinstance(spent, ApproxDP) else arb(0)
                holds &= at_most(exact, delta) & at_most(delta, exact * arb("1.000000001"))
                count += 1
    return Step("library", holds, f"{count} settings")


def _derivatives(
    theta: list[arb], records: list[tuple[float, int]], lam: arb
) -> tuple[list[arb], arb]:
    """b and the determinant at θ, for three classes and one feature."""
    noise = [-lam * t for t in theta]
    hessian = [[lam if i == j else arb(0) for j in range(3)] for i in range(3)]
    for value, label in records:
        x = ball(value)
        weights = [(x * t).exp() for t in theta]
        total = sum(weights, arb(0))
        p = [w / total for w in weights]
        for i in range(3):
            noise[i] -= x * (p[i] - (1 if i == label else 0))
            for j in range(3):
                hessian[i][j] += x * x * ((p[i] if i == j else arb(0)) - p[i] * p[j])
    return noise, arb_mat(hessian).det()


def exact_losses_obey(share: str = "1") -> Step:
    """The exact loss is at most D plus the worst corner, and exceeds the corner by 0.9·D somewhere."""
    holds, tight = VACUOUS, False
    grid = [Fraction(i, 2) for i in range(-4, 5)]
    with ctx.workprec(128):
        lam = ball(0.25)
        extra = arb(share) * 2 * (1 + 1 / (3 * lam)).log()
        for common in ([], [(0.5, 1), (-0.25, 2)]):
            for point in product(grid, repeat=3):
                theta = [ball(value) for value in point]
                present, bent = _derivatives(theta, [*common, (1.0, 0)], lam)
                without, flat = _derivatives(theta, common, lam)
                for sigma in (ball(1.5), ball(10)):
                    moved = sum(
                        (v * v - w * w for v, w in zip(without, present, strict=True)), arb(0)
                    )
                    loss = moved / (2 * sigma**2) + (bent / flat).log()
                    corner = _worst_corner(present, 1) / sigma**2
                    holds &= at_most(loss, corner + extra)
                    holds &= at_most(-loss, _worst_corner(without, -1) / sigma**2)
                    tight |= bool(loss > corner + ball(0.9) * extra)
    return Step("exact losses", holds & provided(tight), "1458 points Θ, both directions")


def _worst_corner(noise: list[arb], sign: int) -> arb:
    """σ² times the loss at q = 0, e₁ − e₀ or e₂ − e₀, on the side that b is the noise of."""
    return arb(0).max(1 + sign * (noise[1] - noise[0])).max(1 + sign * (noise[2] - noise[0]))


PROOF = Proof(
    theorem=OBJECTIVE_PERTURBATION_SOFTMAX,
    clauses=(
        Clause(
            (
                "Objective perturbation of softmax losses of K classes with ‖x‖ ≤ R and a ridge λ has a log "
                "determinant ratio of at most D = (K−1)·ln(1 + R²/(Kλ))."
            ),
            by=(slope_and_hessian, the_trace, the_determinant, more_curvature_elsewhere_helps),
            argued="the forms for three and four classes are those of every K",
        ),
        Clause(
            (
                "With noise ∝ e^(−‖b‖/τ) it is (L/τ + D)-DP for a record added or removed, L = √2·R, and "
                "(2L/τ + D)-DP for one replaced;"
            ),
            by=(how_long_the_slope_is,),
            argued="the triangle inequality for the noise",
        ),
        Clause(
            (
                "with b ~ N(0, σ²I) and ε̃ = ε − D ≥ 0 it has δ ≤ (K−1)·H(ε̃, L/σ), or (K−1)²·H(ε̃, 2L/σ) + "
                "2(K−1)·H(ε̃, L/σ)."
            ),
            by=(how_long_the_slope_is, exact_losses_obey),
            argued="that a convex function is largest at a corner of the simplex, where g does not depend on b",
        ),
    ),
    library=(the_library_adds_up,),
    uses=(
        ANALYTIC_GAUSSIAN,
        NORM_MECHANISM,
        OBJECTIVE_PERTURBATION,
        OBJECTIVE_PERTURBATION_REPLACED,
    ),
    cites=(
        "the inequality of the arithmetic and geometric means",
        "determinants of positive matrices rise in the Loewner order",
    ),
    mutations={
        "plus p·pᵀ": lambda: slope_and_hessian(sign=1),
        "slope ≤ 1": lambda: how_long_the_slope_is(two=1),
        "cubes": lambda: the_trace(power=3),
        "power K − 2": lambda: the_determinant(extra=1),
        "less curvature elsewhere": lambda: more_curvature_elsewhere_helps(sign=-1),
        "one corner": lambda: the_library_adds_up(corners=1),
        "half of the determinant": lambda: exact_losses_obey("0.5"),
    },
)
