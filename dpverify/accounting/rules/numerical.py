"""The certified numerical accountant as a rule: both ends, for any parts that are pairs."""

import math
from typing import Protocol

from dpverify.accounting.extremes import LARGEST_LOSS, NOTE, is_extreme, tamed
from dpverify.accounting.numerical import NumericalComposition
from dpverify.accounting.parts import Parts
from dpverify.accounting.rules.basic import Basic
from dpverify.accounting.rules.rule import Answer, Rule, worse
from dpverify.guarantees import Bracket, End
from dpverify.theorems import NUMERICAL_COMPOSITION

_ROUGH = 0.1  # tolerance at which two directions are told apart
_VERY_ROUGH = 20.0


class Numerical(Rule):
    """Privacy losses convolved on a grid, in both directions."""

    name = "numerical"
    theorem = NUMERICAL_COMPOSITION

    def supports(self, parts: Parts) -> bool:
        return all(part.pair is not None for part in parts)

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:
        def ask(end: End, width: float) -> Bracket:
            return _worst_side([s.epsilon for s in _directions(parts, end)], delta, width)

        if not _any_extreme(parts):
            return ask(End.UPPER, tolerance)
        # What is out of reach is bounded, not approached: narrow brackets would be wasted on it.
        lower, upper = ask(End.LOWER, _VERY_ROUGH), ask(End.UPPER, tolerance)
        simple = Basic().epsilon(parts, delta, tolerance)
        most = upper.upper if not isinstance(simple, float) else min(upper.upper, simple)
        return Bracket(min(lower.lower, most), most, NUMERICAL_COMPOSITION, (*upper.assumes, NOTE))

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:
        within = min(epsilon, LARGEST_LOSS)

        def ask(end: End, at: float) -> Bracket:
            return _worst_side([s.delta for s in _directions(parts, end)], at, tolerance)

        if epsilon in {within, math.inf} and not _any_extreme(parts):
            return ask(End.UPPER, epsilon)
        lower, upper = ask(End.LOWER, within), ask(End.UPPER, within)
        # δ falls in ε: beyond reach its value at the edge is an upper bound, and 0 a lower one.
        least = lower.lower if within == epsilon else 0.0
        return Bracket(
            min(least, upper.upper), upper.upper, NUMERICAL_COMPOSITION, (*upper.assumes, NOTE)
        )


def _any_extreme(parts: Parts) -> bool:
    return any(part.pair is not None and is_extreme(part.pair) for part in parts)


def _directions(parts: Parts, end: End) -> list[NumericalComposition]:
    """Both directions of the composition, parts out of reach replaced towards `end`."""
    pairs = tuple((tamed(part.pair, end), part.times) for part in parts if part.pair is not None)
    mirrored = tuple((pair.reversed, times) for pair, times in pairs)
    return [NumericalComposition(sides) for sides in dict.fromkeys((pairs, mirrored))]


class _Asked(Protocol):
    def __call__(self, at: float, /, *, tolerance: float) -> Bracket: ...


def _worst_side(sides: list[_Asked], at: float, tolerance: float) -> Bracket:
    """The larger of the two directions; the one that cannot be it is not looked at closely."""
    if len(sides) == 1:
        return sides[0](at, tolerance=tolerance)
    rough = [side(at, tolerance=max(tolerance, _ROUGH)) for side in sides]
    floor = max(bracket.lower for bracket in rough)
    close = [
        side(at, tolerance=tolerance) if bracket.upper > floor else bracket
        for side, bracket in zip(sides, rough, strict=True)
    ]
    return worse(close)
