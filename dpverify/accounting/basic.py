"""Basic composition: the ε and the δ add up."""

import math
from collections.abc import Iterable
from fractions import Fraction

from dpverify.guarantees import ApproxDP


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


def round_up(exact: Fraction) -> float:
    """A float that is not below `exact`, so that an upper bound stays one."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)
