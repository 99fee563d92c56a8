"""Every composition rule behind one interface: what it says of these parts, if it applies."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

from flint import arb

from dpverify.accounting.advanced import AdvancedComposition, leak
from dpverify.accounting.approximate import splits
from dpverify.accounting.basic import basic
from dpverify.accounting.extremes import LARGEST_LOSS, NOTE, End, is_extreme, tamed
from dpverify.accounting.gdp import gdp
from dpverify.accounting.numerical import NumericalComposition
from dpverify.accounting.optimal import OptimalComposition
from dpverify.accounting.parts import Part, Parts, gaussian_parts, leaky_parts
from dpverify.accounting.rdp import RenyiComposition
from dpverify.accounting.unequal import UnequalComposition
from dpverify.accounting.zcdp import zcdp, zcdp_delta, zcdp_epsilon
from dpverify.balls import ball, enclose
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.pairs.base import Pair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.theorems import (
    ADVANCED_COMPOSITION,
    BASIC_COMPOSITION,
    GAUSSIAN_COMPOSITION,
    LECTURE_GAUSSIAN,
    NUMERICAL_COMPOSITION,
    OPTIMAL_COMPOSITION,
    RENYI_COMPOSITION,
    ZCDP_COMPOSITION,
    Theorem,
)

_ROUGH = 0.1  # tolerance at which two directions are told apart
_VERY_ROUGH = 20.0
_MOST_UNEQUAL = 4_000_000  # runs of one of several unequal (ε, δ) parts

Answer: TypeAlias = float | Bracket | None
"""An upper bound; or both ends, where the rule is exact for these parts; or: does not apply."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is ε at this δ, or δ at this ε? `tolerance` says how narrow a bracket should be."""

    unknown: Literal["epsilon", "delta"]
    at: float
    tolerance: float = 1e-3

    def of(self, pair: Pair) -> Bracket:
        """The answer for one run of a pair, in the worse of its two directions."""
        if self.unknown == "epsilon":
            return _worse(side.epsilon_bracket(self.at) for side in (pair, pair.reversed))
        return _worse(side.delta_bracket(self.at) for side in (pair, pair.reversed))


@dataclass(frozen=True, slots=True)
class Rule:
    """A composition rule: ε at a δ, and δ at an ε, for a tuple of parts."""

    name: str
    theorem: Theorem
    epsilon: Callable[[Parts, float, float], Answer]
    delta: Callable[[Parts, float, float], Answer]

    def answer(self, parts: Parts, question: Question) -> Answer:
        ask = self.epsilon if question.unknown == "epsilon" else self.delta
        return ask(parts, question.at, question.tolerance)


def _smallest(values: Iterable[float]) -> float | None:
    return min(values, default=None)


def _basic_epsilon(parts: Parts, delta: float, _: float) -> Answer:
    stated = next(iter(splits(parts, delta)), None)
    if stated is None:
        return None
    total = basic(stated)
    return total.epsilon if total.delta <= delta else math.inf


def _bounded(parts: Parts) -> tuple[tuple[ApproxDP, int], ...] | None:
    """The parts as (ε, δ) guarantees if each has a natural one: its largest loss, and its leak."""
    return next(iter(splits(parts, 0.0)), None)


def _basic_delta(parts: Parts, epsilon: float, _: float) -> Answer:
    bounded = _bounded(parts)
    if bounded is None:
        return None
    total = basic(bounded)
    return total.delta if total.epsilon <= epsilon else 1.0


def _advanced_epsilon(parts: Parts, delta: float, _: float) -> Answer:
    return _smallest(AdvancedComposition(split).epsilon(delta) for split in splits(parts, delta))


def _advanced_delta(parts: Parts, epsilon: float, _: float) -> Answer:
    bounded = _bounded(parts)
    return None if bounded is None else AdvancedComposition(bounded).delta(epsilon)


def within_reach(parts: tuple[tuple[ApproxDP, int], ...]) -> bool:
    """Whether optimal composition ends soon: unequal parts are listed outcome by outcome."""
    unequal = len({part for part, _ in parts}) > 1
    return not unequal or max(times for _, times in parts) <= _MOST_UNEQUAL


def _leaky(parts: tuple[tuple[ApproxDP, int], ...]) -> OptimalComposition | UnequalComposition:
    if len({part for part, _ in parts}) == 1:
        return OptimalComposition(parts[0][0], sum(times for _, times in parts))
    return UnequalComposition(parts)


def _optimal_epsilon(parts: Parts, delta: float, tolerance: float) -> Answer:
    exact = leaky_parts(parts)
    stated = exact or _bounded(parts)
    if stated is None or not within_reach(stated):
        return None
    found = _bracket_epsilon(_leaky(stated), delta, tolerance)
    return found if exact else found.upper


def _bracket_epsilon(
    composition: OptimalComposition | UnequalComposition, delta: float, tolerance: float
) -> Bracket:
    if isinstance(composition, OptimalComposition):
        return composition.epsilon(delta)
    return composition.epsilon(delta, tolerance=tolerance)


def _optimal_delta(parts: Parts, epsilon: float, tolerance: float) -> Answer:
    exact = leaky_parts(parts)
    stated = exact or _bounded(parts)
    if stated is None or not within_reach(stated):
        return None
    composition = _leaky(stated)
    if isinstance(composition, OptimalComposition):
        found = composition.delta(epsilon)
    else:
        found = composition.delta(epsilon, tolerance=tolerance)
    return found if exact else found.upper


def _zcdp_epsilon(parts: Parts, delta: float, _: float) -> Answer:
    total = zcdp(parts)
    return None if total is None else zcdp_epsilon(total.rho, delta)


def _zcdp_delta(parts: Parts, epsilon: float, _: float) -> Answer:
    total = zcdp(parts)
    return None if total is None else zcdp_delta(total.rho, epsilon)


def _unleaked(parts: Parts) -> tuple[Parts, tuple[tuple[ApproxDP, int], ...]]:
    """The parts given that none leaks, and the (ε, δ) guarantees of those that may.

    Whatever is (ε, δ)-DP is a post-processing of leaky randomized response, whose coin that decides
    on leaking does not look at the data. So with L the probability of any leak, the composition has
    the profile L + (1 − L)·δ₀(ε), where δ₀ is that of the parts that did not leak, chosen
    adaptively or not. [KOV15 Thm 2.5]
    """
    kept, leaks = [], []
    for part in parts:
        pair = part.pair
        mass = 0.0 if pair is None else max(s.singular_mass for s in (pair, pair.reversed))
        if pair is None or not 0 < mass < 1:
            kept.append(part)
            continue
        largest = max(side.max_loss for side in (pair, pair.reversed))
        leaks.append((ApproxDP(epsilon=largest, delta=mass), part.times))
        if largest > 0:
            bounded = LeakyResponsePair(ApproxDP(epsilon=largest))
            kept.append(Part(bounded, part.times, part.label))
    return tuple(kept), tuple(leaks)


def _rdp_epsilon(parts: Parts, delta: float, _: float) -> Answer:
    kept, leaks = _unleaked(parts)
    spare = enclose(lambda: (ball(delta) - leak(leaks)) / (1 - leak(leaks)))[0] if leaks else delta
    if spare < 0 or (leaks and spare == 0):
        return None
    if not kept:
        return 0.0
    found = RenyiComposition(kept)
    return found.epsilon(spare) if found.applies else None


def _rdp_delta(parts: Parts, epsilon: float, _: float) -> Answer:
    kept, leaks = _unleaked(parts)
    found = RenyiComposition(kept) if kept else None
    if found is not None and not found.applies:
        return None
    rest = 0.0 if found is None else found.delta(epsilon)
    return min(enclose(lambda: leak(leaks) + (1 - leak(leaks)) * ball(rest))[1], 1.0)


def _gdp_epsilon(parts: Parts, delta: float, _: float) -> Answer:
    total = gdp(parts)
    if total is None:
        return None
    return _gaussian(parts, total.epsilon_bracket(delta))


def _gdp_delta(parts: Parts, epsilon: float, _: float) -> Answer:
    total = gdp(parts)
    if total is None:
        return None
    return _gaussian(parts, total.delta_bracket(epsilon))


def _gaussian(parts: Parts, found: Bracket) -> Answer:
    """Both ends where every part is Gaussian; the upper one where some are only dominated."""
    exact = gaussian_parts(parts) is not None
    return Bracket(found.lower, found.upper, GAUSSIAN_COMPOSITION) if exact else found.upper


def _lecture_epsilon(parts: Parts, delta: float, _: float) -> Answer:
    """kρ + √(2kρ·ln(1/δ)) for σ² = Δ²/ρ, that is kρ = μ²."""
    total = gaussian_parts(parts)
    if total is None:
        return None
    if delta == 0:
        return math.inf if total.squared_mu else 0.0
    m = total.squared_mu
    return enclose(lambda: ball(m) + (-2 * ball(m) * ball(delta).log()).sqrt())[1]


def _lecture_delta(parts: Parts, epsilon: float, _: float) -> Answer:
    total = gaussian_parts(parts)
    if total is None:
        return None
    if epsilon == math.inf or not total.squared_mu:
        return 0.0
    if Fraction(epsilon) <= total.squared_mu:
        return 1.0
    m = total.squared_mu

    def formula() -> arb:
        beyond = ball(epsilon) - ball(m)
        return (-beyond * beyond / (2 * ball(m))).exp()

    return enclose(formula)[1]


def _numerical(parts: Parts, end: End) -> list[NumericalComposition] | None:
    """Both directions of the composition, parts out of reach replaced towards `end`."""
    pairs = tuple((tamed(part.pair, end), part.times) for part in parts if part.pair is not None)
    if len(pairs) < len(parts):
        return None
    mirrored = tuple((pair.reversed, times) for pair, times in pairs)
    return [NumericalComposition(sides) for sides in dict.fromkeys((pairs, mirrored))]


def _worse(brackets: Iterable[Bracket]) -> Bracket:
    """The larger of two numbers that are known by brackets."""
    found = list(brackets)
    assumes = tuple(dict.fromkeys(text for bracket in found for text in bracket.assumes))
    lower, upper = max(b.lower for b in found), max(b.upper for b in found)
    return Bracket(lower, upper, found[0].theorem, assumes)


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
    return _worse(close)


def _numerical_epsilon(parts: Parts, delta: float, tolerance: float) -> Answer:
    def ask(end: End, width: float) -> Bracket | None:
        sides = _numerical(parts, end)
        return None if sides is None else _worst_side([s.epsilon for s in sides], delta, width)

    if not any(part.pair is not None and is_extreme(part.pair) for part in parts):
        return ask(End.UPPER, tolerance)
    # What is out of reach is bounded, not approached: narrow brackets would be wasted on it.
    lower, upper = ask(End.LOWER, _VERY_ROUGH), ask(End.UPPER, tolerance)
    if lower is None or upper is None:
        return None
    simple = _basic_epsilon(parts, delta, tolerance)
    most = upper.upper if not isinstance(simple, float) else min(upper.upper, simple)
    return Bracket(min(lower.lower, most), most, NUMERICAL_COMPOSITION, (*upper.assumes, NOTE))


def _numerical_delta(parts: Parts, epsilon: float, tolerance: float) -> Answer:
    within = min(epsilon, LARGEST_LOSS)

    def ask(end: End) -> Bracket | None:
        sides = _numerical(parts, end)
        return (
            None
            if sides is None
            else _worst_side([side.delta for side in sides], within, tolerance)
        )

    reachable = epsilon in {within, math.inf}
    if reachable and not any(part.pair is not None and is_extreme(part.pair) for part in parts):
        within = epsilon
        return ask(End.UPPER)
    lower, upper = ask(End.LOWER), ask(End.UPPER)
    if lower is None or upper is None:
        return None
    # δ falls in ε: beyond reach its value at the edge is an upper bound, and 0 a lower one.
    least = lower.lower if within == epsilon else 0.0
    return Bracket(
        min(least, upper.upper), upper.upper, NUMERICAL_COMPOSITION, (*upper.assumes, NOTE)
    )


BASIC = Rule("basic", BASIC_COMPOSITION, _basic_epsilon, _basic_delta)
ADVANCED = Rule("advanced", ADVANCED_COMPOSITION, _advanced_epsilon, _advanced_delta)
OPTIMAL = Rule("optimal", OPTIMAL_COMPOSITION, _optimal_epsilon, _optimal_delta)
LECTURE = Rule("gaussian (lecture notes)", LECTURE_GAUSSIAN, _lecture_epsilon, _lecture_delta)
ZCDP = Rule("zcdp", ZCDP_COMPOSITION, _zcdp_epsilon, _zcdp_delta)
RDP = Rule("rdp", RENYI_COMPOSITION, _rdp_epsilon, _rdp_delta)
GDP = Rule("gdp", GAUSSIAN_COMPOSITION, _gdp_epsilon, _gdp_delta)
NUMERICAL = Rule("numerical", NUMERICAL_COMPOSITION, _numerical_epsilon, _numerical_delta)

RULES: tuple[Rule, ...] = (BASIC, ADVANCED, OPTIMAL, LECTURE, ZCDP, RDP, GDP, NUMERICAL)
"""In the order in which a table shows them: from the oldest to the tightest."""
