"""Permute-and-flip is ε-DP.

Coin i shows heads with probability pᵢ = exp(c·(scoreᵢ − best)), c = ε/(2Δ), and the first heads in random order wins:
candidate i with the probability pᵢ·∫₀¹ Π (1 − pⱼ·s) ds over the others j. With exponentials of rate c in place of coins that
is the largest score plus noise: scoreᵢ + Eᵢ exceeds all others, as e^(−c(m − scoreⱼ)) is the chance of an exponential to
exceed m − scoreⱼ ≥ 0. So the proof of report noisy max applies: with the other noises fixed, candidate i wins if its
noise exceeds a threshold, which moves by at most 2Δ on a neighbor (by Δ if scores are monotone), and the probability of
that falls by the factor e^(−ε) at most.
"""

from fractions import Fraction
from itertools import permutations, product
from math import factorial

import sympy as sp

from dpverify.theorems import NOISY_MAX, PERMUTE_AND_FLIP, Step
from proofs.support.checks import VACUOUS, at_most, every
from proofs.support.form import Clause, Proof
from proofs.support.symbolic import same


def _played(heads: tuple[Fraction, ...]) -> list[Fraction]:
    """The winning probabilities by going through all orders of the candidates."""
    wins = [Fraction(0)] * len(heads)
    for order in permutations(range(len(heads))):
        missed = Fraction(1, factorial(len(heads)))
        for index in order:
            wins[index] += missed * heads[index]
            missed *= 1 - heads[index]
    return wins


def the_integral_counts_the_orders(first: int = 0) -> Step:
    """pᵢ·∫ Π (1 − pⱼs) ds against all orders, three candidates, in symbols."""
    s, a, b = sp.symbols("s a b")
    integral = a * sp.integrate((1 - s) * (1 - b * s), (s, first, 1))
    orders = 0
    for order in permutations(("best", "a", "b")):
        missed: sp.Expr = sp.Rational(1, 6)
        for name in order:
            chance = {"best": sp.Integer(1), "a": a, "b": b}[name]
            orders += missed * chance if name == "a" else 0
            missed *= 1 - chance
    return Step("orders", same(integral, orders), "all coins, three candidates")


def coins_are_exponential_noise(rate: int = 1) -> Step:
    """∫ c·e^(−cx)·Π (1 − pⱼe^(−cx)) dx = ∫ Π (1 − pⱼs) ds with s = e^(−cx)."""
    c, x, p = sp.symbols("c x p", positive=True)
    noise = sp.integrate(
        sp.expand(c * sp.exp(-c * x) * (1 - p * sp.exp(-rate * c * x))), (x, 0, sp.oo)
    )
    s = sp.symbols("s", positive=True)
    holds = same(noise, sp.integrate(1 - p * s, (s, 0, 1)))
    return Step("noise", holds, "all c and p, two candidates")


def whole_scores_are_private(power: int = 1) -> Step:
    """Three candidates, e^(ε/2) = 2, scores 0, 1, 2 and all neighbors: ratios of at most e^ε = 4."""
    holds, count = VACUOUS, 0
    half = Fraction(1, 2)
    for scores in product(range(3), repeat=3):
        if not holds.holds:
            break
        one = _played(tuple(half ** (max(scores) - score) for score in scores))
        for moves in product((-1, 0, 1), repeat=3):
            other = [score + move for score, move in zip(scores, moves, strict=True)]
            two = _played(tuple(half ** (max(other) - score) for score in other))
            holds &= every(at_most(a, 4**power * b) for a, b in zip(one, two, strict=True))
            count += 1
    return Step("neighbors", holds, f"{count} pairs of scores")


def the_worse_of_two(half: Fraction = Fraction(1, 2)) -> Step:
    """Both orders: first, it is chosen if its coin shows heads; second, never."""
    heads = sp.Symbol("heads", nonnegative=True)
    first, second = heads, (1 - 1) * heads  # the other one's coin has probability 1
    holds = same((first + second) / 2, sp.Rational(half) * heads)
    return Step("the worse of two", holds, "all coins")


PROOF = Proof(
    theorem=PERMUTE_AND_FLIP,
    clauses=(
        Clause(
            (
                "The first of the candidates, in random order, whose coin of probability exp(ε·(score − "
                "best)/(2Δ)) shows heads is an ε-DP choice;"
            ),
            by=(
                the_integral_counts_the_orders,
                coins_are_exponential_noise,
                whole_scores_are_private,
            ),
            argued="the same integral for any number of candidates; noisy-max for exponential noise",
        ),
        Clause(
            "2Δ may be Δ if between neighbors no score rises while another falls.",
            argued="noisy-max for such scores, with the same integral",
        ),
        Clause(
            "Of two candidates, the worse one is chosen with half of its coin's probability.",
            by=(the_worse_of_two,),
            argued="that the best candidate's coin always shows heads",
        ),
    ),
    uses=(NOISY_MAX,),
    mutations={
        "another integral": lambda: the_integral_counts_the_orders(first=-1),
        "another rate": lambda: coins_are_exponential_noise(rate=2),
        "the worse one always first": lambda: the_worse_of_two(Fraction(1)),
        "half of ε": lambda: whole_scores_are_private(power=0),
    },
)
