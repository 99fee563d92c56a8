"""The certified numerical accountant as a rule: brackets for any parts that are pairs.

Noise thirty times smaller than the sensitivity protects nothing, and asks a grid for losses in the
thousands; a rate of 1e-20 asks it for losses that floats round to 0. For each end such a pair is
replaced by one within reach, on the safe side: for the upper end it gives away whatever it can, for
the lower end it is a little more private than it is.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

from dpverify.accounting import deadline
from dpverify.accounting.numerical import NumericalComposition
from dpverify.accounting.parts import Parts
from dpverify.accounting.rules.basic import Basic
from dpverify.accounting.rules.rule import Answer, Rule, worse
from dpverify.guarantees import ApproxDP, Bracket, End
from dpverify.pairs.base import Pair
from dpverify.pairs.bounded_range import BoundedRangePair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.discrete.gaussian import DiscreteGaussianPair
from dpverify.pairs.discrete.laplace import DiscreteLaplacePair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.pairs.subsampling.poisson import SubsampledPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair
from dpverify.theorems import NUMERICAL_COMPOSITION

LARGEST_SQUARED_MU = Fraction(625)
LARGEST_TOTAL = Fraction(10**9)  # of the squares of all runs
LARGEST_LOSS = 500.0
LEAST_MIXED = 1e-14  # rates, and shifts of mixed noise, below which losses drown in rounding
LEAST_SHIFT = 1e-80  # of noise that is not mixed
_MOST_STEPS = 1 << 16  # of a discrete shift that stands in for a larger one
LARGEST_SHIFT = 2000.0  # of plain Laplace noise, whose losses have two atoms at the ends
NOTE = "a part whose losses no grid holds is replaced by a simpler bound, in the safe direction"


_ROUGH = 0.1  # tolerance at which two directions are told apart at first
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

        if not _any_extreme(parts):
            return ask(End.UPPER, epsilon)
        lower, upper = ask(End.LOWER, within), ask(End.UPPER, within)
        # δ falls in ε: beyond reach its value at the edge is an upper bound, and 0 a lower one.
        least = lower.lower if within == epsilon else 0.0
        return Bracket(
            min(least, upper.upper), upper.upper, NUMERICAL_COMPOSITION, (*upper.assumes, NOTE)
        )


def _any_extreme(parts: Parts) -> bool:
    return any(
        part.pair is not None and (is_extreme(part.pair) or _is_too_much(part.pair, part.times))
        for part in parts
    )


def _is_too_much(pair: Pair, times: int) -> bool:
    """Whether merged Gaussian noise has losses too large for any grid."""
    return isinstance(pair, GaussianPair) and pair.squared_mu * times > LARGEST_TOTAL


def _bounded(pair: Pair, times: int, end: End) -> tuple[Pair, int]:
    """Many runs of a pair, or a bound on them towards `end` that a grid can hold."""
    found = tamed(pair, end)
    if not _is_too_much(found, times):
        return found, times
    upper = LeakyResponsePair(ApproxDP(epsilon=math.inf))
    return (upper if end is End.UPPER else GaussianPair(LARGEST_SQUARED_MU)), 1


def _directions(parts: Parts, end: End) -> list[NumericalComposition]:
    """Both directions of the composition; parts that no grid holds are bounded towards `end`."""
    pairs = tuple(_bounded(part.pair, part.times, end) for part in parts if part.pair is not None)
    mirrored = tuple((pair.reversed, times) for pair, times in pairs)
    return [NumericalComposition(sides) for sides in dict.fromkeys((pairs, mirrored))]


class _Asked(Protocol):
    def __call__(self, at: float, /, *, tolerance: float, enough: float = ...) -> Bracket: ...


def _worst_side(sides: list[_Asked], at: float, tolerance: float) -> Bracket:
    """The larger of the two directions; the other need not be known better than "no larger"."""
    found = sides[0](at, tolerance=tolerance)
    for side in sides[1:]:
        # Asked for less than the answer itself, a grid would be as coarse as the whole law.
        rough = max(tolerance, min(_ROUGH, found.upper / 2.0))
        other = side(at, tolerance=rough, enough=found.upper)
        if other.upper > found.upper and not deadline.is_over():
            other = side(at, tolerance=tolerance, enough=found.upper)
        found = worse((found, other))
    return found


def is_extreme(pair: Pair) -> bool:
    """Whether a pair's privacy loss is too small or too large for the numerical grid."""
    if isinstance(pair, BetweenPair):
        return is_extreme(pair.upper) or is_extreme(pair.lower)
    return _is_tiny(pair) or _is_huge(pair)


def _is_tiny(pair: Pair) -> bool:
    match pair:
        case SubsampledPair(rate=rate) | WithoutReplacementPair(rate=rate) as mixed:
            known = pair.max_loss == 0.0 or rate == 1
            return not known and (rate < LEAST_MIXED or _is_below(mixed.base, LEAST_MIXED))
        case GaussianPair() | LaplacePair():
            return _is_below(pair, LEAST_SHIFT)
        case LeakyResponsePair(worst=worst):
            return 0 < worst.epsilon < LEAST_SHIFT
        case BoundedRangePair(epsilon_range=width):
            return 0 < width < LEAST_SHIFT
        case _:
            return False


def _is_below(base: GaussianPair | LaplacePair, least: float) -> bool:
    if isinstance(base, GaussianPair):
        return 0 < base.squared_mu < Fraction(least) ** 2
    return base.max_loss < least


def _is_huge(pair: Pair) -> bool:
    match pair:
        case (
            SubsampledPair(base=LaplacePair() as base)
            | WithoutReplacementPair(base=LaplacePair() as base)
        ):
            return base.max_loss > LARGEST_LOSS
        case SubsampledPair(base=base) | WithoutReplacementPair(base=base):
            return _is_huge(base)
        case GaussianPair(squared_mu=squared_mu):
            return squared_mu > LARGEST_SQUARED_MU
        case LaplacePair() | DiscreteLaplacePair():
            return pair.max_loss > LARGEST_SHIFT
        case BoundedRangePair(epsilon_range=width):
            return width > LARGEST_LOSS
        case DiscreteGaussianPair(sigma=sigma, shift=shift):
            return (shift / Fraction(sigma)) ** 2 > LARGEST_SQUARED_MU
        case LeakyResponsePair(worst=worst):
            return LARGEST_LOSS < worst.epsilon < math.inf
        case _:
            return False


def tamed(pair: Pair, end: End) -> Pair:
    """The pair itself or, if a grid cannot hold it, one that bounds it from above or below.

    A Poisson sample or a batch gives away at most whether the record is in it, that is with
    probability q: leaky randomized response with ε = 0 and δ = q.
    """
    if not is_extreme(pair):
        return pair
    if isinstance(pair, BetweenPair):
        return tamed(pair.upper if end is End.UPPER else pair.lower, end)
    if _is_tiny(pair):
        return _leak_of(pair) if end is End.UPPER else GaussianPair(Fraction(0))
    if end is End.UPPER:
        match pair:
            case SubsampledPair(rate=rate) | WithoutReplacementPair(rate=rate):
                return LeakyResponsePair(ApproxDP(epsilon=0.0, delta=rate))
            case _:
                return LeakyResponsePair(ApproxDP(epsilon=math.inf))
    return _smaller(pair)


def _smaller(pair: Pair) -> Pair:
    """A pair that a huge one dominates, small enough for the grid."""
    match pair:
        case SubsampledPair(base=base) | WithoutReplacementPair(base=base):
            return replace(pair, base=_weaker(base))
        case GaussianPair() | LaplacePair():
            return _weaker(pair)
        case LeakyResponsePair(worst=worst):
            return LeakyResponsePair(replace(worst, epsilon=LARGEST_LOSS))
        case BoundedRangePair():
            return BoundedRangePair(LARGEST_LOSS)
        case DiscreteLaplacePair(shift=shift):
            scale = max(float(pair.scale), 2.0 / LARGEST_LOSS)
            within = int(min(scale * LARGEST_LOSS / 2.0, _MOST_STEPS))
            return DiscreteLaplacePair(scale=scale, shift=max(min(shift, within), 1))
        case DiscreteGaussianPair():
            # Told apart at s/2, either side errs with probability at most e^(−s²/(8σ²)) < e^(−78).
            return LeakyResponsePair(ApproxDP(epsilon=77.0))
        case _:
            raise AssertionError(pair)  # pragma: no cover - is_extreme knows no others


def _leak_of(pair: Pair) -> Pair:
    """A leak of probability δ(0), the larger of both directions: every pair is (0, δ(0))-DP."""
    delta = max(side.delta(0.0) for side in (pair, pair.reversed))
    return LeakyResponsePair(ApproxDP(epsilon=0.0, delta=delta))


def _weaker(base: GaussianPair | LaplacePair) -> GaussianPair | LaplacePair:
    """The same noise with a larger scale, so that it fits."""
    if isinstance(base, GaussianPair):
        return GaussianPair(LARGEST_SQUARED_MU)
    return replace(base, scale=base.sensitivity * 1.01 / LARGEST_LOSS)
