"""Basic composition: add up the ε and the δ."""

import math
from collections.abc import Iterable
from fractions import Fraction

from dpverify.accounting.parts import Parts
from dpverify.accounting.rules.rule import Answer, Rule
from dpverify.accounting.rules.stating import bounded, splits
from dpverify.balls import round_up
from dpverify.guarantees import ApproxDP
from dpverify.theorems import BASIC_COMPOSITION


def basic(parts: Iterable[tuple[ApproxDP, int]]) -> ApproxDP:
    """(Σ kᵢεᵢ, min(1, Σ kᵢδᵢ))-DP, added exactly and rounded up. [DR14 Thm 3.16]

    >>> basic([(ApproxDP(epsilon=0.5, delta=0.25), 2), (ApproxDP(epsilon=1.0), 1)])
    ApproxDP(epsilon=2.0, delta=0.5)
    """
    listed = list(parts)
    epsilon = _total((part.epsilon, times) for part, times in listed)
    delta = _total((part.delta, times) for part, times in listed)
    return ApproxDP(epsilon=epsilon, delta=min(delta, 1.0))


def _total(terms: Iterable[tuple[float, int]]) -> float:
    listed = list(terms)
    if any(math.isinf(value) for value, _ in listed):
        return math.inf
    return round_up(sum((Fraction(value) * times for value, times in listed), Fraction()))


class Basic(Rule):
    """The sum of the parts' ε and δ."""

    name = "basic"
    theorem = BASIC_COMPOSITION

    def supports(self, parts: Parts) -> bool:  # noqa: ARG002  # any part has some (ε, δ)
        return True

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:  # noqa: ARG002
        stated = next(iter(splits(parts, delta)), None)
        if stated is None:
            return None
        total = basic(stated)
        return total.epsilon if total.delta <= delta else math.inf

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:  # noqa: ARG002
        stated = bounded(parts)
        if stated is None:
            return None
        total = basic(stated)
        return total.delta if total.epsilon <= epsilon else 1.0
