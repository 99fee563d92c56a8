"""A lower bound on the cost of a growing sequence of requests, under any accounting rule."""

from fractions import Fraction

from flint import ctx

from dpverify.accounting.parts import Part
from dpverify.balls import ball, shortened
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair, crossing

_BITS = 128
_NEAR = 2.0**-30  # how much below the crossing found in floats is certified


class LowerEnd:
    """The exact ε of all Gaussian requests together, or of the costliest other single request.

    Both are attained by requests fixed in advance, so nothing valid is below either. Of a pair
    that only dominates what is run, the instances that it lists count instead.
    """

    def __init__(self) -> None:
        self._squared = Fraction()
        self._others: dict[Pair, None] = {}
        self._largest: dict[float, tuple[int, float]] = {}  # by δ: of how many others, their most

    def note(self, part: Part) -> None:
        """Add one more part of the sequence."""
        if isinstance(part.seen, GaussianPair):
            total = self._squared + part.seen.squared_mu * part.times
            self._squared = -shortened(-total)  # rounded down
        elif isinstance(part.seen, Pair):
            self._others |= dict.fromkeys(part.seen.instances)

    def epsilon(self, delta: float) -> float:
        """A lower bound on the cost at δ of the same sequence, fixed in advance."""
        gaussian = _gaussian_epsilon(self._squared, delta)
        return max(gaussian, self._single(delta))

    def _single(self, delta: float) -> float:
        seen, most = self._largest.get(delta, (0, 0.0))
        for pair in list(self._others)[seen:]:
            sides = (pair, pair.reversed)
            most = max(most, *(_certified(side, delta, most) for side in sides))
        self._largest[delta] = (len(self._others), most)
        return most


def _certified(pair: Pair, delta: float, floor: float) -> float:
    """A lower bound on the ε of a pair at δ, if it is above `floor`; else `floor`."""
    if _stays_above(pair, floor, delta):
        return pair.epsilon_bracket(delta).lower
    return floor


def _stays_above(pair: Pair, epsilon: float, delta: float) -> bool:
    """Whether the profile at ε is certainly above δ, so that δ needs a larger ε."""
    with ctx.workprec(_BITS):
        return bool(pair.profile_ball(ball(epsilon)) > ball(delta))


def _gaussian_epsilon(squared: Fraction, delta: float) -> float:
    """A certified lower bound on the ε of N(μ, 1) against N(0, 1), near a root found in floats."""
    if squared == 0 or delta >= 1:
        return 0.0
    pair = GaussianPair(squared)
    guess = crossing(float(pair.mu), delta) * (1 - _NEAR)
    if guess > 0 and _stays_above(pair, guess, delta):
        return guess
    return pair.epsilon_bracket(delta).lower
