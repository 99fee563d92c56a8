"""Losses in a range of length ε: the dominating pair of the exponential mechanism."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb, ctx

from dpverify.balls import ball, float_above, float_below
from dpverify.errors import InvalidParameter, as_between, settle
from dpverify.guarantees import ApproxDP
from dpverify.pairs.base import Pair
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import Noise, Ramp
from dpverify.theorems import BOUNDED_RANGE, Theorem

_LEAST, _LARGEST = 1e-6, 500.0  # ranges within which floats tell the two outcomes apart


@dataclass(frozen=True, slots=True)
class BoundedRangePair(Pair):
    r"""The smallest pair that dominates all pairs with losses in some [t − ε, t], 0 ≤ t ≤ ε.

    The worst such pair has two outcomes, of loss t and t − ε; at ε′ the worst t is (ε + ε′)/2. Over
    all ε′ that is density ∝ e^z against ∝ e^(−z) on [0, ε], of loss 2z − ε. Every t is attained by
    an exponential mechanism with two candidates, but no single one is worst at every ε′.
    [Dong, Durfee, Rogers, ICML 2020 (arXiv 1909.13830v2), Lemma 3.4]

    >>> round(BoundedRangePair(2.0).delta(0.0), 12)  # tanh(ε/4)
    0.46211715726
    """

    theorem: ClassVar[Theorem] = BOUNDED_RANGE

    epsilon_range: float
    singular_mass = 0.0

    def __post_init__(self) -> None:
        settle(self, epsilon_range=as_between("epsilon_range", self.epsilon_range, 0.0, math.inf))
        if self.epsilon_range == math.inf:
            raise InvalidParameter("epsilon_range=inf must be finite")

    @property
    def reversed(self) -> "BoundedRangePair":
        """Reflecting about ε/2 exchanges the two distributions."""
        return self

    @property
    def attained(self) -> tuple[Pair, Pair]:
        """Actual runs: two candidates of which one gains what the other loses, t = ε/2 and 3ε/4."""
        half: float = Fraction(self.epsilon_range) / 2  # type: ignore[assignment]  # a real number
        response = LeakyResponsePair(ApproxDP(epsilon=half))
        if not _LEAST < self.epsilon_range < _LARGEST:
            return response, response
        return response, two_outcomes(float(self.epsilon_range), 0.75)

    def max_loss_ball(self) -> arb:
        return ball(self.epsilon_range)

    def profile_ball(self, epsilon: arb) -> arb:
        """(1 − e^((ε′ − ε)/2))²/(1 − e^(−ε)) for |ε′| ≤ ε; then 0 above, and 1 − e^ε′ below."""
        own = ball(self.epsilon_range)
        if own == 0:
            return (-epsilon.expm1()).max(arb(0))
        gap = -((epsilon - own) / 2).expm1()
        inside = gap.max(arb(0)) ** 2 / -(-own).expm1()
        if epsilon < -own:
            return -epsilon.expm1()
        return inside if epsilon >= -own else inside.union(-epsilon.expm1())

    def grouped(self, size: int) -> "BoundedRangePair":
        """Scores move, and so the losses' range grows, `size` times as far."""
        return BoundedRangePair(Fraction(self.epsilon_range) * size)  # type: ignore[arg-type]

    def loss_law(self) -> LossLaw:
        if self.epsilon_range == 0:
            return LeakyResponsePair(ApproxDP(epsilon=0.0)).loss_law()
        own = float(self.epsilon_range)
        scale = -2.0 / math.expm1(-own)
        ramp = Ramp(
            noise=Noise.FALLING,
            slope=2.0,
            left_flat=0.0,
            log_left_rise=math.log(scale) - own,
            right_flat=scale,
            log_right_fall=-math.inf,
            low=0.0,
            high=own,
        )
        return LossLaw(ramps=(ramp,))


def two_outcomes(width: float, share: float) -> FinitePair:
    """Losses t and t − ε at t = share·ε, moved together by a rounding."""
    with ctx.workprec(128):
        top = Fraction(float_below((ball(share) * ball(width)).exp()))
        bottom = Fraction(float_above(((ball(share) - 1) * ball(width)).exp()))
    right = (1 - bottom) / (top - bottom)
    left = top * right
    return FinitePair(left=[left, 1 - left], right=[right, 1 - right])
