"""Laws of every composition rule, on parts that it applies to."""

import math
from dataclasses import dataclass
from itertools import pairwise

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Parts
from dpverify.accounting.rules import Question, Rule
from dpverify.guarantees import Bracket
from dpverify.testing.laws.law import Law, require

_DELTAS = (0.2, 1e-2, 1e-5)
_SLACK = 1e-9  # relative; a rule that is not exact may answer the two questions by two routes


@dataclass(frozen=True, slots=True)
class RuleOn:
    """A rule, and an accountant that holds the parts it is asked about."""

    rule: Rule
    spent: Accountant

    def epsilon(self, delta: float) -> float | None:
        """The rule's upper bound; None if it does not apply."""
        return upper(self.rule, self.spent.parts, Question("epsilon", delta))

    def delta(self, epsilon: float) -> float | None:
        return upper(self.rule, self.spent.parts, Question("delta", epsilon))


def upper(rule: Rule, parts: Parts, question: Question) -> float | None:
    found = rule.answer(parts, question)
    return found.upper if isinstance(found, Bracket) else found


def falls(subject: RuleOn) -> None:
    found = [(delta, subject.epsilon(delta)) for delta in _DELTAS]
    known = [(delta, epsilon) for delta, epsilon in found if epsilon is not None]
    require(len(known) in {0, len(found)}, FALLS, subject, f"it applies at some δ only: {found}")
    for (large, cheap), (small, dear) in pairwise(known):
        holds = cheap <= dear * (1.0 + _SLACK) + _SLACK
        require(holds, FALLS, subject, f"ε({large}) = {cheap} > ε({small}) = {dear}")


def more_costs_more(subject: RuleOn) -> None:
    longer = RuleOn(subject.rule, subject.spent.compose(subject.spent))
    for delta in _DELTAS:
        before, after = subject.epsilon(delta), longer.epsilon(delta)
        if before is not None and after is not None:
            holds = after >= before * (1.0 - _SLACK) - _SLACK
            require(holds, MORE, subject, f"ε({delta}) falls from {before} to {after}")


def is_a_bound(subject: RuleOn) -> None:
    for delta in _DELTAS:
        exact = subject.spent.epsilon(delta=delta)
        found = subject.epsilon(delta)
        if found is not None:
            require(found >= exact.lower, BOUND, subject, f"ε({delta}) ≤ {found}, it is {exact}")
            if found < math.inf:
                at = subject.spent.delta(epsilon=found)
                require(at.lower <= delta, BOUND, subject, f"δ({found}) = {at} > {delta}")


def deltas_bound(subject: RuleOn) -> None:
    for epsilon in (0.2, 1.0, 4.0):
        found = subject.delta(epsilon)
        if found is not None:
            exact = subject.spent.delta(epsilon=epsilon)
            require(found >= exact.lower, DELTAS, subject, f"δ({epsilon}) ≤ {found}, it is {exact}")


FALLS = "a rule's ε falls in δ"
MORE = "twice the parts never cost less"
BOUND = "a rule's ε is never below the exact one"
DELTAS = "a rule's δ is never below the exact one"

RULE_LAWS = (
    Law(FALLS, falls),
    Law(MORE, more_costs_more),
    Law(BOUND, is_a_bound),
    Law(DELTAS, deltas_bound),
)
