"""Parts whose privacy loss is out of a grid's reach, replaced by parts within it.

Noise thirty times smaller than the sensitivity protects nothing, and asks a grid for losses in the
thousands; a rate of 1e-20 asks it for losses that floats round to 0. For each end such a pair is
replaced by one on the safe side: for the upper end it gives away whatever it can, for the lower end
it is a little more private than it is.
"""

import math
from dataclasses import replace
from fractions import Fraction

from dpverify.guarantees import ApproxDP, End
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.pairs.subsampled import SubsampledPair
from dpverify.pairs.without_replacement import WithoutReplacementPair

LARGEST_SQUARED_MU = Fraction(625)
LARGEST_LOSS = 500.0
LEAST_MIXED = 1e-14  # rates, and shifts of mixed noise, below which losses drown in rounding
LEAST_SHIFT = 1e-200  # of noise that is not mixed
LARGEST_SHIFT = 2000.0  # of plain Laplace noise, whose losses have two atoms at the ends
NOTE = "losses beyond a grid's reach are bounded: nothing is assumed private about such a part"


def is_extreme(pair: Pair) -> bool:
    """Whether a pair's loss is out of reach."""
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
        case LaplacePair():
            return pair.max_loss > LARGEST_SHIFT
        case LeakyResponsePair(worst=worst):
            return LARGEST_LOSS < worst.epsilon < math.inf
        case _:
            return False


def tamed(pair: Pair, end: End) -> Pair:
    """The pair itself, or one within reach that dominates it, or that it dominates.

    A Poisson sample or a batch gives away at most whether the record is in it, that is with
    probability q: leaky randomized response with ε = 0 and δ = q.
    """
    if not is_extreme(pair):
        return pair
    if _is_tiny(pair):
        return _leak_of(pair) if end is End.UPPER else GaussianPair(Fraction(0))
    if end is End.UPPER:
        match pair:
            case SubsampledPair(rate=rate) | WithoutReplacementPair(rate=rate):
                return LeakyResponsePair(ApproxDP(epsilon=0.0, delta=rate))
            case _:
                return LeakyResponsePair(ApproxDP(epsilon=math.inf))
    match pair:
        case SubsampledPair(base=base) | WithoutReplacementPair(base=base):
            return replace(pair, base=_weaker(base))
        case GaussianPair() | LaplacePair():
            return _weaker(pair)
        case LeakyResponsePair(worst=worst):
            return LeakyResponsePair(replace(worst, epsilon=LARGEST_LOSS))
        case _:
            raise AssertionError(pair)  # pragma: no cover - is_extreme knows no others


def _leak_of(pair: Pair) -> Pair:
    """A leak of probability δ(0), the larger of both directions: every pair is (0, δ(0))-DP."""
    delta = max(side.delta(0.0) for side in (pair, pair.reversed))
    return LeakyResponsePair(ApproxDP(epsilon=0.0, delta=delta))


def _weaker(base: GaussianPair | LaplacePair) -> GaussianPair | LaplacePair:
    """The same noise, as much larger as it takes."""
    if isinstance(base, GaussianPair):
        return GaussianPair(LARGEST_SQUARED_MU)
    return replace(base, scale=base.sensitivity * 1.01 / LARGEST_LOSS)
