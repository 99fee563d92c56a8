"""Laws of every accountant: monotone, independent of order, and no rule too low."""

import math
from itertools import pairwise

from dpverify.accounting.accountant import Accountant
from dpverify.guarantees import Bracket, PureDP
from dpverify.testing.laws.law import Law, require

_DELTAS = (0.2, 1e-2, 1e-5)
_EPSILONS = (0.2, 1.0, 4.0)


def epsilon_falls(spent: Accountant) -> None:
    found = [(delta, spent.epsilon(delta=delta)) for delta in _DELTAS]
    for (large, cheap), (small, dear) in pairwise(found):
        holds = cheap.lower <= dear.upper
        require(holds, MONOTONE, spent, f"ε({large}) = {cheap} > ε({small}) = {dear}")
    brackets = [(epsilon, spent.delta(epsilon=epsilon)) for epsilon in _EPSILONS]
    for (small, dear), (large, cheap) in pairwise(brackets):
        holds = cheap.lower <= dear.upper
        require(holds, MONOTONE, spent, f"δ({large}) = {cheap} > δ({small}) = {dear}")


def questions_agree(spent: Accountant) -> None:
    for delta in _DELTAS:
        epsilon = spent.epsilon(delta=delta).upper
        if epsilon < math.inf:
            found = spent.delta(epsilon=epsilon)
            require(found.lower <= delta, INVERSE, spent, f"δ({epsilon}) = {found} > {delta}")


def more_costs_more(spent: Accountant) -> None:
    for longer in (spent.compose(PureDP(epsilon=0.1)), spent.compose(spent)):
        for delta in _DELTAS:
            before, after = spent.epsilon(delta=delta), longer.epsilon(delta=delta)
            holds = after.upper >= before.lower
            require(holds, MORE, spent, f"ε({delta}) falls from {before} to {after}")


def order_does_not_matter(spent: Accountant) -> None:
    backwards = Accountant(relation=spent.relation).extended(*reversed(spent.parts))
    for delta in _DELTAS:
        one, other = spent.epsilon(delta=delta), backwards.epsilon(delta=delta)
        require(_overlap(one, other), ORDER, spent, f"{one} forwards, {other} backwards")


def repeating_is_listing(spent: Accountant) -> None:
    empty = Accountant(relation=spent.relation)
    twice, listed = empty.compose(spent, times=2), spent.compose(spent)
    for delta in _DELTAS:
        one, other = twice.epsilon(delta=delta), listed.epsilon(delta=delta)
        require(_overlap(one, other), TIMES, spent, f"{one} with times=2, {other} listed")


def rules_bound_the_truth(spent: Accountant) -> None:
    if not spent.parts:
        return
    for delta in _DELTAS:
        exact = spent.epsilon(delta=delta)
        for row in spent.compare(delta=delta).rows:
            holds = row.upper >= exact.lower
            detail = f"{row.rule} says ε({delta}) ≤ {row.upper}, but it is in {exact}"
            require(holds, BOUND, spent, detail)


def _overlap(one: Bracket, other: Bracket) -> bool:
    return one.lower <= other.upper and other.lower <= one.upper


MONOTONE = "ε falls in δ, and δ in ε"
INVERSE = "the two questions agree"
MORE = "more runs never cost less"
ORDER = "the order of parts does not matter"
TIMES = "repeating equals listing"
BOUND = "every rule bounds the exact value"

ACCOUNTANT_LAWS = (
    Law(MONOTONE, epsilon_falls),
    Law(INVERSE, questions_agree),
    Law(MORE, more_costs_more),
    Law(ORDER, order_does_not_matter),
    Law(TIMES, repeating_is_listing),
    Law(BOUND, rules_bound_the_truth),
)
