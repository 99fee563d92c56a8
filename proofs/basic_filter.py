"""A filter that adds up ε and δ keeps them, whatever is asked.

By induction on the number of rounds that are left: once (e, d) is left of (ε, δ), all that follows
is (e, d)-DP. If nothing is run, that is true. Else a part runs that is (c, c′)-DP with c ≤ e, c′ ≤ d,
and whatever it answers, what follows is (e − c, d − c′)-DP, by the induction, with the same
parameters for every answer. That is an adaptive composition of two parts with fixed parameters, and
basic composition makes it (e, d)-DP. The gain Σ(p − x·q)₊ of an interaction of any length is the
supremum of those cut off after n rounds, as both laws of a prefix are marginals of those of the
whole, so no bound on the number of rounds is needed.
"""

from fractions import Fraction
from itertools import product

from dpverify.guarantees import ApproxDP
from dpverify.ledger import Filter
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.theorems import BASIC_COMPOSITION, BASIC_FILTER, Step
from proofs.support.checks import VACUOUS, at_most, dominated
from proofs.support.form import Clause, Proof
from proofs.support.interactions import Game, below_exp, by_filter, response

_MENU = (
    response(Fraction(5, 4)),
    response(Fraction(3, 2)),
    response(Fraction(2)),
    FinitePair.leaky_response(Fraction(9, 8), Fraction(1, 64)),
)


def what_is_left_after_a_request(extra: Fraction = Fraction(1)) -> Step:
    """Leaky(c, c′) ⊗ leaky(e − c, d − c′) is dominated by leaky(e, d), by `dominates`."""
    ratios = (Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3))
    leaks = (Fraction(0), Fraction(1, 8), Fraction(1, 3))
    holds, count = VACUOUS, 0
    for one, two, c, d in product(ratios, ratios, leaks, leaks):
        made = FinitePair.leaky_response(one, c).product(FinitePair.leaky_response(two, d))
        bound = FinitePair.leaky_response(one * two * extra, c + d)
        holds &= dominated(bound, made)
        count += 1
    return Step("one request", holds, f"{count} pairs of (e^c, c′)")


def the_best_adversary(times: int = 1) -> Step:
    """`Filter(by="basic")`: `Game.best_gain` ≤ δ for four rounds, by backward induction."""
    holds, count = VACUOUS, 0
    for epsilon, delta in ((1.0, 1 / 32), (0.5, 1 / 64), (0.25, 1 / 16)):
        allowed = ApproxDP(epsilon=epsilon * times, delta=delta)

        def make(allowed: ApproxDP = allowed) -> Filter:
            return Filter(allowed, Relation.ADD_REMOVE, by="basic")

        game = Game(_MENU, by_filter(_MENU, make), 4)
        gain = game.best_gain(below_exp(epsilon))
        holds &= at_most(gain, Fraction(delta))
        count += 1
    return Step("the best adversary", holds, f"{count} budgets, four rounds")


PROOF = Proof(
    theorem=BASIC_FILTER,
    clauses=(
        Clause(
            (
                "If each next part, chosen from all answers so far with its parameters, is (εᵢ, δᵢ)-DP, and "
                "nothing is run that would make Σεᵢ > ε or Σδᵢ > δ, then all answers together are (ε, δ)-DP."
            ),
            by=(what_is_left_after_a_request, the_best_adversary),
            argued=(
                "induction on the rounds that are left, with the same remaining budget for every answer; that "
                "the gain of an interaction of any length is the supremum of those cut off"
            ),
        ),
    ),
    uses=(BASIC_COMPOSITION,),
    mutations={
        "a tenth less": lambda: what_is_left_after_a_request(extra=Fraction(9, 10)),
        "twice the budget": lambda: the_best_adversary(times=2),
    },
)
