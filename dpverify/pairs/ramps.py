"""Stretches of outcomes on which the privacy loss rises continuously.

Every pair of additive noise, subsampled or not, is made of such ramps and of atoms. With base
noise w, outcome z and x = dP/dQ,

    dP = (left_flat + left_rise·e^(slope·z))·w dz,
    dQ = (right_flat + right_fall·e^(−slope·z))·w dz,

so that for any node i with loss ln(xᵢ) at zᵢ

    dP − xᵢ·dQ = (left_rise·e^(slope·z) + xᵢ·right_fall·e^(−slope·zᵢ))·(1 − e^(−slope·(z−zᵢ)))·w dz:

a positive product without cancellation, which is what a discretization has to integrate.
"""

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from dpverify.arrays import Floats

UNIT = 2.0**-53
"""Half a unit in the last place: the relative error of one rounding."""

_LOG_NORMAL = 0.5 * math.log(2.0 * math.pi)
_LOG_TWO = math.log(2.0)
_POINTS = 320  # of a rough picture
_MOST_POINTS = 4000


class Noise(Enum):
    """The base density w: standard normal, or one half of the standard Laplace density."""

    NORMAL = "normal"
    FALLING = "falling"
    RISING = "rising"

    def log_density(self, outcomes: Floats) -> Floats:
        if self is Noise.NORMAL:
            return -0.5 * outcomes * outcomes - _LOG_NORMAL
        return (-outcomes if self is Noise.FALLING else outcomes) - _LOG_TWO

    def steepness(self, outcomes: Floats) -> Floats:
        """A bound on |d ln w/dz|, at least 1."""
        if self is Noise.NORMAL:
            return np.maximum(np.abs(outcomes), 1.0)
        return np.ones_like(outcomes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """One stretch [low, high] of outcomes; an absent rise or fall has the logarithm −∞.

    The right side of a ramp with both a rise and a fall mirrors its left side: same flat part,
    same coefficient.
    """

    noise: Noise
    slope: float
    left_flat: float
    log_left_rise: float
    right_flat: float
    log_right_fall: float
    low: float
    high: float

    def log_left(self, outcomes: Floats) -> Floats:
        """ln(dP/w dz)."""
        return _log_mixture(self.left_flat, self.log_left_rise + self.slope * outcomes)

    def log_right(self, outcomes: Floats) -> Floats:
        """ln(dQ/w dz)."""
        return _log_mixture(self.right_flat, self.log_right_fall - self.slope * outcomes)

    def loss(self, outcomes: Floats) -> Floats:
        return self.log_left(outcomes) - self.log_right(outcomes)

    def loss_at(self, outcome: float) -> float:
        return float(self.loss(np.array([outcome]))[0])

    def outcome(self, losses: Floats) -> Floats:
        """Where the loss takes these values; clipped to [low, high], never decreasing."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.log_right_fall == -math.inf:
                found = self._outcome_of_rise(losses)
            elif self.log_left_rise == -math.inf:
                found = self._outcome_of_fall(losses)
            else:
                found = self._outcome_of_both(losses)
        clipped = np.clip(np.where(np.isnan(found), self.low, found), self.low, self.high)
        return np.maximum.accumulate(clipped)

    def _outcome_of_rise(self, losses: Floats) -> Floats:
        if self.left_flat == 0.0:
            log_rise = losses + math.log(self.right_flat)
        else:
            least = math.log(self.left_flat) - math.log(self.right_flat)
            above = np.maximum(losses - least, 0.0)
            log_rise = losses + math.log(self.right_flat) + np.log(-np.expm1(-above))
        return (log_rise - self.log_left_rise) / self.slope

    def _outcome_of_fall(self, losses: Floats) -> Floats:
        if self.right_flat == 0.0:
            log_fall = math.log(self.left_flat) - losses
        else:
            most = math.log(self.left_flat) - math.log(self.right_flat)
            below = np.maximum(most - losses, 0.0)
            log_fall = math.log(self.left_flat) - losses + np.log(-np.expm1(-below))
        return (self.log_right_fall - log_fall) / self.slope

    def _outcome_of_both(self, losses: Floats) -> Floats:
        """V² − β·V = rise·fall at V = rise·e^(slope·z − loss/2), β = flat·2·sinh(loss/2)."""
        size = np.minimum(np.abs(losses), 1400.0)
        half_beta = self.left_flat * np.sinh(size / 2.0)
        root = math.exp((self.log_left_rise + self.log_right_fall) / 2.0)
        log_big = np.log(half_beta + np.hypot(half_beta, root))
        log_small = self.log_left_rise + self.log_right_fall - log_big
        log_v = np.where(losses >= 0.0, log_big, log_small)
        return (log_v + losses / 2.0 - self.log_left_rise) / self.slope

    def loss_error(self, largest: float) -> float:
        """How far the loss at `outcome(l)` may be from l, for |l| ≤ `largest` inside the ramp.

        Each logarithm is good to a few units in the last place of the largest term that entered
        it, and the loss moves at most `slope` times as fast as the outcome.
        """
        terms = [t for t in (self.log_left_rise, self.log_right_fall) if t != -math.inf]
        reach = self.slope * max(abs(self.low), abs(self.high))
        return 2.0**-50 * (4.0 + largest + sum(map(abs, terms)) + reach)

    def points(self) -> tuple[Floats, Floats]:
        """Losses and logarithms of masses of a few hundred equal stretches."""
        length = self.high - self.low
        count = int(min(max(_POINTS, length * 5.0), _MOST_POINTS))
        width = length / count
        outcomes: Floats = self.low + width * (np.arange(count, dtype=float) + 0.5)
        log_masses = self.noise.log_density(outcomes) + self.log_left(outcomes) + math.log(width)
        return self.loss(outcomes), log_masses

    def scaled(self, log_share: float) -> "Ramp":
        """The same losses, with every mass multiplied."""
        share = math.exp(log_share)
        return replace(
            self,
            left_flat=self.left_flat * share,
            log_left_rise=self.log_left_rise + log_share,
            right_flat=self.right_flat * share,
            log_right_fall=self.log_right_fall + log_share,
        )

    def cut(self, low: float, high: float) -> "Ramp":
        return replace(self, low=max(low, self.low), high=min(high, self.high))


def _log_mixture(flat: float, log_rest: Floats) -> Floats:
    """ln(flat + e^log_rest), accurate where the sum is near 1 as well."""
    if flat == 0.0:
        return log_rest
    return np.logaddexp(math.log(flat), log_rest)
