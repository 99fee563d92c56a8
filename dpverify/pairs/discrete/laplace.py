"""Discrete Laplace noise, shifted against unshifted: few losses, evenly spaced."""

import math
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from dpverify.balls import ball
from dpverify.errors import as_count, as_positive, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.discrete.thresholds import largest_excess, trade_off
from dpverify.pairs.loss_law import AnyLossLaw, LossLaw
from dpverify.pairs.profile_law import ProfileLaw
from dpverify.pairs.ramps import UNIT

_MOST_ATOMS = 1 << 17


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplacePair(Pair):
    """Left s + Z, right Z, with P(Z = k) ∝ a^|k| and a = e^(−1/b).

    The loss at k is (|k| − |k − s|)/b: −s/b up to 0, s/b from s on, and in steps of 2/b between.
    It also dominates vectors of such noise whose ℓ1 shift is s.

    >>> DiscreteLaplacePair(scale=1.0, shift=1).max_loss
    1.0
    """

    scale: float
    shift: int
    singular_mass = 0.0

    def __post_init__(self) -> None:
        settle(self, scale=as_positive("scale", self.scale))
        settle(self, shift=as_count("shift", self.shift))

    @property
    def reversed(self) -> "DiscreteLaplacePair":
        """Reflecting about s/2 exchanges the two distributions."""
        return self

    def max_loss_ball(self) -> arb:
        return ball(self.shift) / ball(self.scale)

    def profile_ball(self, epsilon: arb) -> arb:
        """The largest P(k ≥ t) − e^ε·Q(k ≥ t): 1 − (a^(s−t+1) + e^ε·a^t)/(1+a), t from 1 to s."""
        scale, shift = ball(self.scale), self.shift
        base = (-1 / scale).exp()

        def excess(cut: int) -> arb:
            up, down = (-(cut / scale)).exp(), ((cut - 1 - shift) / scale).exp()
            return 1 - (down + epsilon.exp() * up) / (1 + base)

        crossing = (epsilon * scale + shift) / 2
        found = largest_excess(excess, crossing, 1, shift)
        return found.max(-epsilon.expm1()).max(arb(0))

    def trade_off_ball(self, false_alarm: arb) -> arb:
        return trade_off(self._tail, self.shift, false_alarm)

    def _tail(self, start: int) -> arb:
        """P(Z ≥ start): a^start/(1+a) above 0, and what is left of 1 below."""
        scale = ball(self.scale)
        beyond = (-(max(start, 1 - start) / scale)).exp() / (1 + (-1 / scale).exp())
        return beyond if start > 0 else 1 - beyond

    def renyi_ball(self, order: arb) -> arb:
        """ln of the sum over outcomes, two of the three pieces of which are geometric."""
        scale, shift, down = ball(self.scale), self.shift, order - 1
        top, base = (down * shift / scale).exp(), (-1 / scale).exp()
        ends = top + (-order * shift / scale).exp()
        # Σ over k = 1 … s−1 of a^(s−k)·e^((α−1)(2k−s)/b) = a^s·e^(−(α−1)s/b)·Σ g^k.
        growth = (1 + 2 * down) / scale
        inside = growth.expm1()
        between = ((shift * growth).exp() - growth.exp()) / inside
        middle = (-order * shift / scale).exp() * between * (1 - base)
        return ((ends + middle) / (1 + base)).log() / down

    def kullback_leibler_ball(self) -> arb:
        """s/b less twice the mean of min(N, s)/b, with P(N ≥ j) = a^j/(1+a)."""
        scale = ball(self.scale)
        base = (-1 / scale).exp()
        mean = base * (1 - (-self.shift / scale).exp()) / (1 - base) / (1 + base)
        return (self.shift - 2 * mean) / scale

    def grouped(self, size: int) -> "DiscreteLaplacePair":
        """The shifts of all records may point the same way, and add up in one coordinate."""
        return replace(self, shift=self.shift * size)

    def loss_law(self) -> AnyLossLaw:
        """One atom for each k from 0 to s, the ends with all that lies beyond them."""
        if self.shift >= _MOST_ATOMS:
            return ProfileLaw(self)
        step = 1.0 / float(self.scale)
        below = self.shift - np.arange(self.shift + 1.0)  # s − k
        logs = -below * step
        inside = math.log(-math.expm1(-step))
        logs[1:-1] += inside
        logs -= math.log1p(math.exp(-step))
        size = (self.shift + 1.0) * step + abs(inside)
        return LossLaw(
            losses=(self.shift - 2.0 * below) * step,
            log_masses=logs,
            loss_error=16.0 * UNIT * (1.0 + size),
            mass_error=16.0 * UNIT * (1.0 + size),
        )
