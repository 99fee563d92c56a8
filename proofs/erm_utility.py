"""The utility of ExpMech-ERM on the ball of radius R, with the Δ = 2GR that privacy needs.

Let w* be a minimum, GOOD the points within r·G of its loss, BAD those worse by t more. GOOD holds a ball of
radius r/2: around (1 − r/(2R))·w*, it lies in C and within r of w*. So the volumes are at most (2R/r)^d apart, and

    P(BAD) ≤ P(BAD)/P(GOOD) ≤ (2R/r)^d·e^(−εn·t/(2Δ)).

With t = (2Δ/(εn))·(d·ln(2R/r) + ln(1/β)) this is β; with r = 2R·d/(εn) and Δ = 2GR the excess is, with probability
at least 1 − β, at most 2RG·d/(εn) + (4RG/(εn))·(d·ln(εn/d) + ln(1/β)). A variable that stays below a + c·ln(1/β) with
probability at least 1 − β for every β has an expectation of at most a + c·∫₀¹ ln(1/β) dβ = a + c.
Privacy: a loss that varies by at most Δ over C can be shifted into [0, Δ], which leaves the law as it is; then one record
moves Σℓ by at most Δ, and the exponential mechanism with the score −Σℓ applies, sums over C being integrals.
"""

import sympy as sp
from flint import arb, ctx

from dpverify.balls import ball
from dpverify.theorems import EXPONENTIAL_MECHANISM, Step, Theorem
from proofs.lipschitz_losses import LIPSCHITZ_LOSSES
from proofs.support.checks import VACUOUS, at_most, below, some
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative, same

ERM_UTILITY = Theorem(
    name="erm-utility",
    statement=(
        "ExpMech-ERM with Δ = 2GR on the ball of radius R is ε-DP when one record is replaced and has, with probability at "
        "least 1 − β, an excess risk of at most 2RG·d/(εn) + (4RG/(εn))·(d·ln(εn/d) + ln(1/β)), for d ≤ εn; its expectation is "
        "at most that with 1 for ln(1/β)."
    ),
    source="Smith, Ullman, notes on private ERM, Thm 2.5, with the diameter for Δ",
    proof="proofs/erm_utility.py",
)


def one_record_moves_the_score(share: int = 1) -> Step:
    """ℓ(w; x′) − ℓ(w; x) ≤ Δ for two values in [0, Δ], and G·2R is the Δ of a ball of radius R; a shift cancels."""
    size, u, v, x, y, g, radius = sp.symbols("Delta u v x y G R", nonnegative=True)
    before, after = size * u / (u + v), size * x / (x + y)
    holds = nonnegative(share * size - (after - before), (size, u, v, x, y))
    distance = 2 * radius * u / (u + v)  # between two points of the ball
    holds &= nonnegative(2 * g * radius - g * distance, (g, radius, u, v))
    weight, shift = sp.symbols("weight shift", real=True)
    holds &= same(sp.exp(weight + shift) / sp.exp(shift), sp.exp(weight))
    return Step("Σℓ moves by Δ", holds, "all losses in [0, Δ]")


def the_expectation(rate: int = 1) -> Step:
    """∫₀¹ (a + c·ln(1/β)) dβ = a + c."""
    a, c, beta = sp.symbols("a c beta", positive=True)
    area = sp.integrate(a - c * sp.log(beta), (beta, 0, 1))
    return Step("expectation", same(area, a + rate * c), "all a, c")


def the_inner_ball(half: int = 2) -> Step:
    """Distance r‖w*‖/(2R) + r/2 ≤ r to w*, and (1 − r/(2R))·‖w*‖ + r/2 ≤ R to 0, for ‖w*‖ ≤ R."""
    norm, room, r = sp.symbols("norm room r", nonnegative=True)
    size = norm + room + 1  # R > 0 in units that make it norm + room + 1
    far = r * norm / (half * size) + r / 2
    out = (1 - r / (half * size)) * norm + r / 2
    holds = nonnegative(r - far, (norm, room, r))
    holds &= same(size - out, (room + 1) * (1 - r / (2 * size)))  # ≥ 0 as r ≤ 2R, that is d ≤ εn
    return Step("the inner ball", holds, "all w* in C, all r ≤ 2R")


def the_probability_of_bad(factor: int = 2) -> Step:
    """d·ln(2R/r) − εn·t/(2Δ) = ln β at t = (2Δ/(εn))·(d·ln(2R/r) + ln(1/β))."""
    d, size, r, epsilon, n, beta, g = sp.symbols("d R r epsilon n beta G", positive=True)
    bound = 2 * g * size
    t = 2 * bound / (epsilon * n) * (d * sp.log(2 * size / r) + sp.log(1 / beta))
    exponent = d * sp.log(2 * size / r) - epsilon * n * t / (factor * bound)
    holds = same(sp.expand_log(exponent), sp.log(beta))
    return Step("P(BAD) ≤ β", holds, "all parameters")


def the_excess(multiple: int = 4) -> Step:
    """r·G + t at r = 2R·d/(εn): 2RG·d/(εn) + (4RG/(εn))·(d·ln(εn/d) + ln(1/β))."""
    d, size, epsilon, n, beta, g = sp.symbols("d R epsilon n beta G", positive=True)
    r, bound = 2 * size * d / (epsilon * n), 2 * g * size
    t = 2 * bound / (epsilon * n) * (d * sp.log(2 * size / r) + sp.log(1 / beta))
    claimed = 2 * size * g * d / (epsilon * n) + multiple * size * g / (epsilon * n) * (
        d * sp.log(epsilon * n / d) + sp.log(1 / beta)
    )
    holds = same(r * g + t, claimed, by=lambda e: sp.expand_log(sp.simplify(e)))
    return Step("the excess", holds, "all parameters")


def an_exact_instance(shrink: str = "1") -> Step:
    """C = [−1, 1], ℓ = w, Δ = 2: P(w + 1 ≥ excess) = (e^(−k(excess−1)) − e^(−k))/(e^k − e^(−k)) ≤ β, k = εn/4."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for total in (2, 10, 100, 1000):  # εn
            for beta in ("0.5", "0.1", "1e-6"):
                logs = ball(total).log() + (1 / arb(beta)).log()
                excess = arb(shrink) * (arb(2) / total + arb(4) / total * logs)
                rate = arb(total) / 4
                tail = ((-rate * (excess - 1)).exp() - (-rate).exp()) / (rate.exp() - (-rate).exp())
                holds &= some((below(2, excess), at_most(tail, arb(beta))))
                count += 1
    return Step("an exact instance", holds, f"{count} values of εn and β")


PROOF = Proof(
    theorem=ERM_UTILITY,
    clauses=(
        Clause(
            "ExpMech-ERM with Δ = 2GR on the ball of radius R is ε-DP when one record is replaced",
            by=(one_record_moves_the_score,),
            argued="that sums over candidates are integrals over the ball (exponential-mechanism)",
        ),
        Clause(
            (
                "and has, with probability at least 1 − β, an excess risk of at most 2RG·d/(εn) + "
                "(4RG/(εn))·(d·ln(εn/d) + ln(1/β)), for d ≤ εn;"
            ),
            by=(the_inner_ball, the_probability_of_bad, the_excess, an_exact_instance),
            argued="that volumes of balls scale with the d-th power of the radius, and P(BAD) ≤ P(BAD)/P(GOOD)",
        ),
        Clause(
            "its expectation is at most that with 1 for ln(1/β).",
            by=(the_expectation,),
            argued="that E X is the integral of its quantiles",
        ),
    ),
    uses=(EXPONENTIAL_MECHANISM, LIPSCHITZ_LOSSES),
    mutations={
        "Σℓ does not move": lambda: one_record_moves_the_score(share=0),
        "∫ ln(1/β) = 2": lambda: the_expectation(rate=2),
        "center (R−r)/R": lambda: the_inner_ball(half=1),
        "weights e^(−εn·L/(3Δ))": lambda: the_probability_of_bad(factor=3),
        "the notes' 2RG": lambda: the_excess(multiple=2),
        "a tenth of it": lambda: an_exact_instance("0.1"),
    },
)
