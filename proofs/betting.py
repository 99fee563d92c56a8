"""The auditor's wealth is a supermartingale under the claim, so it rarely grows large.

Under (ε, δ), an event E fixed before the pair (x, y) is drawn has the payoff 1_E(x) − e^ε·1_E(y) − δ of mean
P(E) − e^ε·Q(E) − δ ≤ 0, and never below −(e^ε + δ). So with λ ≥ 0 fixed before and λ·(e^ε + δ) ≤ 1 the factor
1 + λ·payoff is ≥ 0 and of mean at most 1, given the past. Stop at the first time the wealth W reaches c: by
induction over the pairs the stopped wealth has mean at most 1, and it is c where W got there; so P(W ever ≥ c) ≤ 1/c
for every number of pairs, hence for all (Ville).
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.statistics.betting import Bet, Stake
from dpverify.auditing.statistics.points import Point
from dpverify.pairs import FinitePair
from dpverify.theorems import BETTING, Step
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.form import Clause, Proof
from proofs.support.laws import rational_pairs
from proofs.support.symbolic import nonnegative, same

_LEVEL = Fraction(1, 4)


def payoffs_have_no_positive_mean(share: int = 1) -> Step:
    """E[1 + λ·payoff] = 1 + λ·(P(E) − e^ε·Q(E) − δ) ≤ 1, and 1 + λ·payoff ≥ 0."""
    lam, q, t, delta, room = sp.symbols("lambda q t delta room", nonnegative=True)
    r = 1 + t
    p = r * q + share * delta - room  # the claim: P(E) ≤ r·Q(E) + δ
    holds = nonnegative(1 - (1 + lam * (p - r * q - delta)), (lam, q, t, delta, room))
    stake, rest = sp.symbols("stake rest", nonnegative=True)
    worst = 1 - stake / (stake + rest)  # λ·(r + δ) = stake/(stake + rest), every number in [0, 1]
    holds &= nonnegative(worst, (stake, rest))
    return Step("a fair bet at best", holds, "all ε, δ, λ, E")


def markov_at_the_stopping_time(power: int = 1) -> Step:
    """E[W stopped] ≥ c·P(reached), as W ≥ 0 elsewhere: P(reached) ≤ 1/c."""
    chance, c, rest = sp.symbols("chance c rest", positive=True)
    mean = chance * c + rest  # what was reached, and what was not
    holds = same(mean / c - chance, rest / c**power)
    return Step("Markov", holds, "all c > 0")


def the_library_bets_fairly(beyond: int = 0) -> Step:
    """`Bet.payoffs`: the mean over the four cases (x ∈ E, y ∈ E) is ≤ 0 for all pairs within the claim."""
    holds, count = VACUOUS, 0
    for ratio, delta in ((1, 0.0), (2, 0.0), (2, 0.25)):
        point = Point(epsilon=math.log(ratio), delta=delta)
        for favors in Side:
            stake = Stake(event=None, favors=favors, point=point)  # type: ignore[arg-type]  # not asked
            table = Bet((stake,)).payoffs(np.zeros(1))[0]
            for pair in rational_pairs(2, 4):
                own = pair if favors is Side.LEFT else pair.reversed
                p, q = own.left[0], own.right[0]
                if p - (ratio + beyond) * q > Fraction(delta):
                    continue
                # Bit 0: the event happened on the left; bit 2: on the right.
                hits = (pair.left[0], pair.right[0])
                mean = sum(
                    Fraction(float(table[a + 4 * b]))
                    * (hits[0] if a else 1 - hits[0])
                    * (hits[1] if b else 1 - hits[1])
                    for a, b in product((0, 1), repeat=2)
                )
                holds &= at_most(mean, 0)
                holds &= at_most(-1, min(table))
                count += 1
    return Step("`Bet.payoffs`", holds & below(50, count), f"{count} pairs and claims")


def whole_games(odds: int = 2) -> Step:
    """All games of 8 pairs against (ln 2, 0) at its worst pair, by `Bet.payoffs`, λ = 2/5: P(W ever ≥ 4) ≤ 1/4, exactly."""
    pair = FinitePair.leaky_response(odds, 0)
    p, q = pair.left[0], pair.right[0]
    stake = Stake(event=None, favors=Side.LEFT, point=Point(epsilon=math.log(2), delta=0.0))  # type: ignore[arg-type]  # not asked
    shares = Bet((stake,)).payoffs(np.zeros(1))[0]
    factors = []
    for x, y in product((0, 1), repeat=2):
        chance = (p if x else 1 - p) * (q if y else 1 - q)
        # The share is of the risk e^ε = 2, so λ = 2/5 stakes 4/5 of it.
        factors.append((chance, 1 + Fraction(4, 5) * Fraction(float(shares[x + 4 * y]))))
    alive, reached = {Fraction(1): Fraction(1)}, Fraction(0)
    for _ in range(8):
        after: dict[Fraction, Fraction] = {}
        for (wealth, chance), (share, factor) in product(alive.items(), factors):
            value = wealth * factor
            if value >= 1 / _LEVEL:
                reached += chance * share
            else:
                after[value] = after.get(value, Fraction(0)) + chance * share
        alive = after
    return Step("whole games", below(0, reached) & at_most(reached, _LEVEL), "8 pairs, level 1/4")


PROOF = Proof(
    theorem=BETTING,
    clauses=(
        Clause(
            (
                "Under the claim, wealth that starts at 1 and multiplies, at each fresh pair x ~ P, y ~ Q "
                "that is independent of the past, by 1 + λ·(1_E(x) − e^ε·1_E(y) − δ), with E and λ "
                "chosen from the past, λ ≥ 0 and λ·(e^ε + δ) ≤ 1, ever reaches 1/level with probability "
                "at most level."
            ),
            by=(payoffs_have_no_positive_mean, markov_at_the_stopping_time, whole_games),
            argued=(
                "induction over the pairs: the stopped wealth keeps a mean of at most 1, given the past; a "
                "limit over the number of pairs (Ville)"
            ),
        ),
    ),
    library=(the_library_bets_fairly,),
    mutations={
        "P(E) up to e^ε·Q(E) + 2δ": lambda: payoffs_have_no_positive_mean(share=2),
        "1/c²": lambda: markov_at_the_stopping_time(power=2),
        "pairs beyond the claim": lambda: the_library_bets_fairly(beyond=1),
        "a pair beyond the claim": lambda: whole_games(odds=8),
    },
)
