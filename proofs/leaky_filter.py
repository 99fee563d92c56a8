"""Leaks beside a filter: they add up, and cost what they leave of δ.

What is (ε, δ)-DP leaks all with chance δ, by a coin that does not look at the data, or else is ε-DP
(leaky randomized response). Let L be set aside for leaks in advance, and let f bound the profile of
every interaction without leaks that the filter grants. By induction on the rounds left: with r of L
left, the profile is at most r + (1 − r)·f. A request of chance d, then what follows with r left,
whatever it answers, gives d + (1 − d)·(r + (1 − r)·f) ≤ (d + r) + (1 − d − r)·f. So a budget (ε, δ)
leaves (δ − L)/(1 − L) for f. How much is set aside must not depend on answers: an adversary that may
decide later gains on both sides.
"""

import math
from fractions import Fraction

import sympy as sp

from dpverify.guarantees import ApproxDP
from dpverify.ledger import Filter
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, GaussianPair
from dpverify.theorems import GAUSSIAN_FILTER, LEAKY_FILTER, SIMULATION_LEMMA, Step
from proofs.support.checks import VACUOUS, at_most, below
from proofs.support.form import Clause, Proof
from proofs.support.interactions import Game, below_exp, by_filter, response
from proofs.support.symbolic import nonnegative, same

_BUDGETS = ((1.0, 1e-6), (0.1, 1e-3), (5.0, 1e-12), (0.0, 0.25))


def leaks_add_up(sign: int = 1) -> Step:
    """(d + r) + (1 − d − r)·f − d − (1 − d)·(r + (1 − r)·f) = d·r·(1 − f) ≥ 0."""
    d, r, f, room = sp.symbols("d r f room", nonnegative=True)
    gap = (d + r) + (1 - d - r) * f - d - (1 - d) * (r + (1 - r) * f)
    holds = same(gap, sign * d * r * (1 - f))
    holds &= nonnegative(sp.expand(sign * d * r * room), (d, r, room))
    return Step("leaks add up", holds, "all d, r, f in [0, 1]")


def the_limit_is_the_last_float(steps: int = 0) -> Step:
    """`Filter.scheme`: μ² is within (ε, δ), and the next float is not, by `GaussianPair.delta_bracket`."""
    holds = VACUOUS
    for epsilon, delta in _BUDGETS:
        guard = Filter(ApproxDP(epsilon, delta), Relation.ADD_REMOVE, by="gaussian")
        limit = float(dict(guard.scheme.limits)["squared_mu"])  # type: ignore[union-attr]  # it is known
        for _ in range(steps):
            limit = math.nextafter(limit, math.inf)
        beyond = math.nextafter(limit, math.inf)
        holds &= at_most(GaussianPair(Fraction(limit)).delta(epsilon), delta)
        holds &= below(delta, GaussianPair(Fraction(beyond)).delta_bracket(epsilon).upper)
    return Step("`Filter`", holds, f"{len(_BUDGETS)} budgets")


def the_best_adversary(times: int = 1) -> Step:
    """`Filter(by="gaussian")`, with leaks: `Game.best_gain` ≤ δ for four rounds."""
    menu = (
        response(Fraction(5, 4)),
        response(Fraction(2)),
        response(Fraction(3), Fraction(1, 4)),
        FinitePair.leaky_response(Fraction(9, 8), Fraction(1, 128)),
    )
    holds, count = VACUOUS, 0
    for epsilon, delta in ((0.5, 1 / 16), (0.25, 1 / 8), (1.0, 1 / 64)):
        allowed = ApproxDP(epsilon * times, delta)

        def make(allowed: ApproxDP = allowed) -> Filter:
            return Filter(allowed, Relation.ADD_REMOVE, by="gaussian", leak_share=0.25)

        gain = Game(menu, by_filter(menu, make), 4).best_gain(below_exp(epsilon))
        holds &= at_most(gain, Fraction(delta))
        count += 1
    return Step("the best adversary", holds, f"{count} budgets, four rounds")


PROOF = Proof(
    theorem=LEAKY_FILTER,
    clauses=(
        Clause(
            (
                "If a filter keeps every interaction without leaks to a profile of at most f at ε, then with "
                "leaks of chance δᵢ besides, Σδᵢ ≤ L always, its interactions have a profile of at most L + "
                "(1 − L)·f."
            ),
            by=(leaks_add_up, the_best_adversary),
            argued=(
                "induction on the rounds that are left; that (ε, δ)-DP is ε-DP but for a coin of chance δ "
                "(simulation-lemma)"
            ),
        ),
    ),
    library=(the_limit_is_the_last_float,),
    uses=(GAUSSIAN_FILTER, SIMULATION_LEMMA),
    mutations={
        "the other sign": lambda: leaks_add_up(sign=-1),
        "two floats more": lambda: the_limit_is_the_last_float(steps=2),
        "four times the budget": lambda: the_best_adversary(times=4),
    },
)
