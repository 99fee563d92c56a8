"""Theorem 2.5 on any convex body C of diameter R, with Δ = G·R: its corner at w* takes the place of a ball.

Shrink C towards a minimum w* by a factor s in (0, 1]: w* + s·(C − w*) lies in C, by convexity, and within s·R of w*, so its points are GOOD, worse than
w* by at most s·G·R. Its volume is s^d times that of C, whatever the shape of C and wherever w* is. So, with BAD the points that are worse by t more,

    P(BAD) ≤ P(BAD)/P(GOOD) ≤ s^(−d)·e^(−εn·t/(2Δ)),

which is β at t = (2Δ/(εn))·(d·ln(1/s) + ln(1/β)). With s = d/(εn) the excess is at most G·R·d/(εn) + (2GR/(εn))·(d·ln(εn/d) + ln(1/β)): for a ball,
whose diameter is twice its radius, the bound of erm-utility. Privacy: a loss that is G-Lipschitz moves by at most G·R over C, so it can be shifted into
[0, Δ]. A C without volume is one in its affine hull, of a smaller d.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import EXPONENTIAL_MECHANISM, Step, Theorem
from proofs.erm_utility import the_expectation
from proofs.lipschitz_losses import LIPSCHITZ_LOSSES
from proofs.support.checks import VACUOUS, at_most, below, some
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

ERM_CONVEX_BODY = Theorem(
    name="erm-convex-body",
    statement=(
        "For G-Lipschitz losses, ExpMech-ERM with Δ = G·R on a convex body C of diameter R in d dimensions is ε-DP when one record is replaced and has, with "
        "probability at least 1 − β, an excess risk of at most G·R·d/(εn) + (2GR/(εn))·(d·ln(εn/d) + ln(1/β)), for d ≤ εn; its expectation is at most that "
        "with 1 for ln(1/β)."
    ),
    source="Smith, Ullman, notes on private ERM, the remark after the proof of Thm 2.5",
    proof="proofs/erm_convex_body.py",
)


def one_record_moves_the_score(diameter: int = 1) -> Step:
    """|ℓ(w) − ℓ(v)| ≤ G·‖w − v‖ ≤ G·R, so ℓ − min ℓ lies in [0, Δ], and one record moves Σℓ by at most Δ = G·R."""
    g, size, u, v, x, y = sp.symbols("G R u v x y", nonnegative=True)
    before, after = (
        g * size * part / (part + rest) for part, rest in ((u, v), (x, y))
    )  # any two values in [0, G·R]
    holds = nonnegative(diameter * g * size - (after - before), (g, size, u, v, x, y))
    return Step("Σℓ moves by G·R", holds, "all Lipschitz losses")


def the_corner_is_good(reach: int = 1) -> Step:
    """w* + s·(w − w*) = (1 − s)·w* + s·w is in C, and s·‖w − w*‖ ≤ s·R, so its loss is at most G·s·R more."""
    s_part, rest, g, size, near, room = sp.symbols("s_part rest G R near room", nonnegative=True)
    start, to = sp.symbols("w_star w", real=True)
    s = s_part / (s_part + rest)
    holds = same(start + s * (to - start), (1 - s) * start + reach * s * to)
    distance = size * near / (near + room)  # any distance in [0, R]
    holds &= nonnegative(g * s * size - g * s * distance, (s_part, rest, g, size, near, room))
    return Step("the corner at w*", holds, "all s in [0, 1], all w in C")


def its_volume(power: int = 1) -> Step:
    """Shrinking by s multiplies a volume by det(s·I) = s^d; here the area of any triangle, and boxes up to d = 5."""
    s = sp.Symbol("s", positive=True)
    points = [sp.Matrix(sp.symbols(f"x{i} y{i}", real=True)) for i in range(3)]
    star = sp.Matrix(sp.symbols("a b", real=True))

    def area(corners: list[sp.Matrix]) -> sp.Expr:
        sides = [corner - corners[0] for corner in corners[1:]]
        return sp.Matrix.hstack(*sides).det() / 2

    small = [star + s * (point - star) for point in points]
    holds = same(sp.expand(area(small)), sp.expand(s ** (2 * power) * area(points)))
    for d in range(1, 6):
        holds &= same(sp.det(s * sp.eye(d)), s ** (d * power))
    return Step("its volume", holds, "all triangles; d ≤ 5, the determinant is that of every d")


def the_probability_of_bad(factor: int = 2) -> Step:
    """d·ln(1/s) − εn·t/(2Δ) = ln β at t = (2Δ/(εn))·(d·ln(1/s) + ln(1/β)), Δ = G·R."""
    d, size, s, epsilon, n, beta, g = sp.symbols("d R s epsilon n beta G", positive=True)
    t = 2 * g * size / (epsilon * n) * (d * sp.log(1 / s) + sp.log(1 / beta))
    exponent = d * sp.log(1 / s) - epsilon * n * t / (factor * g * size)
    return Step("P(BAD) ≤ β", same(sp.expand_log(exponent), sp.log(beta)), "all parameters")


def the_excess(multiple: int = 2) -> Step:
    """s·G·R + t at s = d/(εn): G·R·d/(εn) + (2GR/(εn))·(d·ln(εn/d) + ln(1/β)); s ≤ 1 as d ≤ εn."""
    d, size, epsilon, n, beta, g = sp.symbols("d R epsilon n beta G", positive=True)
    s = d / (epsilon * n)
    t = 2 * g * size / (epsilon * n) * (d * sp.log(1 / s) + sp.log(1 / beta))
    claimed = g * size * d / (epsilon * n) + multiple * g * size / (epsilon * n) * (
        d * sp.log(epsilon * n / d) + sp.log(1 / beta)
    )
    holds = same(s * g * size + t, claimed, by=lambda e: sp.expand_log(sp.simplify(e)))
    room = sp.Symbol("room", nonnegative=True)  # εn = d + room
    holds &= nonnegative(1 - d / (d + room), (d, room))
    return Step("the excess", holds, "all parameters")


def an_exact_instance(shrink: str = "1") -> Step:
    """A triangle, no ball: w ≥ 0, w₁ + w₂ ≤ 1, R = √2, ℓ = w₁ + w₂, G = √2: the density of u = ℓ is ∝ u·e^(−k·u), k = εn/4."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for total in (4, 20, 200, 2000):  # εn; Δ = G·R = 2
            for beta in ("0.5", "0.1", "1e-6"):
                logs = 2 * (ball(total) / 2).log() + (1 / arb(beta)).log()
                excess = arb(shrink) * (arb(4) / total + arb(4) / total * logs)
                rate = arb(total) / 4

                def above(
                    u: arb, rate: arb = rate
                ) -> arb:  # ∫ from u to 1 of v·e^(−k·v) dv, times k²
                    return (1 + rate * u) * (-rate * u).exp() - (1 + rate) * (-rate).exp()

                holds &= some((below(1, excess), at_most(above(excess) / above(arb(0)), arb(beta))))
                count += 1
    return Step("a triangle", holds, f"{count} values of εn and β")


PROOF = Proof(
    theorem=ERM_CONVEX_BODY,
    clauses=(
        Clause(
            "For G-Lipschitz losses, ExpMech-ERM with Δ = G·R on a convex body C of diameter R in d dimensions is ε-DP when one record is replaced",
            by=(one_record_moves_the_score,),
            argued="that sums over candidates are integrals over the body (exponential-mechanism)",
        ),
        Clause(
            "and has, with probability at least 1 − β, an excess risk of at most G·R·d/(εn) + (2GR/(εn))·(d·ln(εn/d) + ln(1/β)), for d ≤ εn;",
            by=(
                the_corner_is_good,
                its_volume,
                the_probability_of_bad,
                the_excess,
                an_exact_instance,
            ),
            argued="that a linear map multiplies volumes by its determinant, and P(BAD) ≤ P(BAD)/P(GOOD)",
        ),
        Clause(
            "its expectation is at most that with 1 for ln(1/β).",
            by=(the_expectation,),
            argued="that E X is the integral of its quantiles",
        ),
    ),
    uses=(EXPONENTIAL_MECHANISM, LIPSCHITZ_LOSSES),
    mutations={
        "Σℓ does not move": lambda: one_record_moves_the_score(diameter=0),
        "beyond w": lambda: the_corner_is_good(reach=2),
        "volumes s^(2d)": lambda: its_volume(power=2),
        "weights e^(−εn·L/(3Δ))": lambda: the_probability_of_bad(factor=3),
        "(GR/(εn))·ln": lambda: the_excess(multiple=1),
        "∫ ln(1/β) = 2": lambda: the_expectation(rate=2),
        "a tenth of it": lambda: an_exact_instance("0.1"),
    },
)
