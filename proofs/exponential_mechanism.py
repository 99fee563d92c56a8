"""The exponential mechanism is ε-DP.

Let wⱼ be the weights e^(ε·score/(2Δ)) and wⱼ·tⱼ those on a neighbor, so that tⱼ lies between 1/ρ and ρ
with ρ = e^(ε/2). The probability of i changes by Σwⱼtⱼ/(tᵢ·Σwⱼ), and ρ²·tᵢ·Σwⱼ − Σwⱼtⱼ is a sum of
terms wⱼ·(ρ²·tᵢ − tⱼ) that are all ≥ 0. With monotone scores and ρ = e^ε all tⱼ lie in [1, ρ], or all
in [1/ρ, 1], and the same terms with ρ in place of ρ² are ≥ 0.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp
from flint import ctx

from dpverify.balls import ball
from dpverify.mechanisms import ExponentialMechanism
from dpverify.pairs import FinitePair
from dpverify.theorems import EXPONENTIAL_MECHANISM, Step
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.enclosures import overlaps
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import nonnegative

_TWO = Fraction(2)


def each_term_is_nonnegative(power: int = 2) -> Step:
    """ρ²·tᵢ − tⱼ ≥ 0 for tᵢ, tⱼ in [1/ρ, ρ]."""
    more, u, v, x, y = sp.symbols("more u v x y", nonnegative=True)
    rho = 1 + more
    ti, tj = (_between(1 / rho, rho, *pair) for pair in ((u, v), (x, y)))
    holds = nonnegative(rho**power * ti - tj, (more, u, v, x, y))
    return Step("any scores", holds, "all ε, any number of candidates")


def each_term_is_nonnegative_if_monotone(power: int = 1) -> Step:
    """ρ·tᵢ − tⱼ ≥ 0 for tᵢ, tⱼ both in [1, ρ], or both in [1/ρ, 1]."""
    more, u, v, x, y = sp.symbols("more u v x y", nonnegative=True)
    rho, holds = 1 + more, VACUOUS
    for low, high in ((sp.Integer(1), rho), (1 / rho, sp.Integer(1))):
        ti, tj = (_between(low, high, *pair) for pair in ((u, v), (x, y)))
        holds &= nonnegative(rho**power * ti - tj, (more, u, v, x, y))
    return Step("monotone scores", holds, "all ε, any number of candidates")


def _between(low: object, high: object, u: object, v: object) -> object:
    return (u * low + v * high) / (u + v)  # type: ignore[operator]  # sympy


def law(scores: tuple[int, ...], ratio: Fraction = _TWO) -> list[Fraction]:
    """Probabilities ∝ ratio^score."""
    weights = [ratio**score for score in scores]
    return [weight / sum(weights) for weight in weights]


def all_neighbors_of_small_scores(root: Fraction = _TWO) -> Step:
    """With e^(ε/2) = 2 and Δ = 1: no ratio above e^ε = 4, for all scores 0…2 and all moves −1, 0, 1."""
    holds, count, largest = VACUOUS, 0, Fraction(0)
    for scores in product(range(3), repeat=3):
        for move in product((-1, 0, 1), repeat=3):
            other = tuple(s + m for s, m in zip(scores, move, strict=True))
            pair = FinitePair(left=law(scores, root), right=law(other, root))
            top = max(pair.corners)
            largest = max(largest, top)
            monotone = min(move) >= 0 or max(move) <= 0
            holds &= at_most(top, 2 if monotone else 4)
            count += 1
    holds &= below(2, largest)  # the factor 2 in the exponent is needed
    return Step("all small scores", holds, f"{count} neighbors")


def the_library_has_this_law(factor: int = 2) -> Step:
    """`ExponentialMechanism` cuts the unit interval at the sums of e^(ε·score/(2Δ)), normalized."""
    holds, count = VACUOUS, 0
    with ctx.workprec(128):
        for epsilon, sensitivity, monotone in (
            (1.0, 2.0, False),
            (0.5, 1.0, True),
            (4.0, 0.5, False),
        ):
            pick = ExponentialMechanism(
                epsilon=epsilon, score_sensitivity=sensitivity, monotone=monotone
            )
            cuts = pick._cut_balls(np.array([0.0, 1.0, 3.0, -2.0]))  # noqa: SLF001  # the law that draws are made from
            reach = 1 if monotone else factor
            weights = [
                (ball(epsilon) * s / (reach * ball(sensitivity))).exp() for s in (0, 1, 3, -2)
            ]
            for index, cut in enumerate(cuts):
                expected = sum(weights[: index + 1], ball(0)) / sum(weights, ball(0))
                holds &= overlaps(cut, expected, digits=30)
                count += 1
    return Step("`ExponentialMechanism`", holds, f"{count} probabilities")


PROOF = Proof(
    theorem=EXPONENTIAL_MECHANISM,
    clauses=(
        Clause(
            "Choosing with probability ∝ exp(ε·score/(2Δ)) is ε-DP for scores of sensitivity Δ;",
            by=(each_term_is_nonnegative, all_neighbors_of_small_scores),
            argued="that ρ²·tᵢ·Σwⱼ − Σwⱼtⱼ is the sum of the terms wⱼ·(ρ²·tᵢ − tⱼ)",
        ),
        Clause(
            "∝ exp(ε·score/Δ) if between neighbors no score rises while another falls.",
            by=(each_term_is_nonnegative_if_monotone, all_neighbors_of_small_scores),
            argued="the same sum with ρ in place of ρ²",
        ),
    ),
    library=(the_library_has_this_law,),
    mutations={
        "ε/2 without monotone scores": lambda: each_term_is_nonnegative(power=1),
        "monotone scores for free": lambda: each_term_is_nonnegative_if_monotone(power=0),
        "weights e^(ε·score/Δ) for all": lambda: all_neighbors_of_small_scores(root=Fraction(4)),
        "weights e^(ε·score/Δ)": lambda: the_library_has_this_law(factor=1),
    },
)
