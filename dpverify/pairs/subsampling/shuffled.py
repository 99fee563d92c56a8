"""Shuffled epochs of fixed-size batches, where one record is replaced."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy
from flint import arb

from dpverify.errors import as_count, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.loss_law import AnyLossLaw
from dpverify.pairs.subsampling.allocation import AllocationPair
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair

_REACH = 12.0
_CELLS = 1 << 16
_SAFE = 1.0 - 1e-9  # covers the rounding of a sum of positive terms

GAP = (
    "shuffled batches: the upper end gives away which batch holds the record, the lower end is the "
    "worst of some instances (all other records alike and the new one like them; or old, new and "
    "the others at equal distances), so that shuffling may be worth anything from nothing to the "
    "whole difference: nobody knows"
)


@dataclass(frozen=True, slots=True)
class ShuffledPair(Pair):
    """`base` itself, which dominates an epoch: given the order, a single batch differs.

    `base` is the pair of one batch when one of its records is replaced. `attained` lists instances:

    - All other records contribute alike and the new one like them: the mean over batches of noise
      moved in that one, against noise that is not moved anywhere. That is random allocation.
    - Gaussian noise, old, new and common contributions at the corners of an equilateral triangle:
      in the direction of its height the batch stands out by h = √3/2·s, whatever the record. So
      with probability p = E Φ(h + Z)^(t−1) it is the batch that looks highest, and across the
      height that batch shows p·N(s/2) + (1−p)·N(0) against p·N(−s/2) + (1−p)·N(0).
    """

    base: Pair
    batches: int

    def __post_init__(self) -> None:
        settle(self, batches=as_count("batches", self.batches))

    @property
    def reversed(self) -> "ShuffledPair":
        """Exchanging old and new record exchanges the two distributions."""
        return self

    @property
    def simplest(self) -> Pair:
        """One batch is the mechanism itself."""
        return self.base if self.batches == 1 else self

    @property
    def attained(self) -> tuple[Pair, ...]:
        if not isinstance(self.base, GaussianPair | LaplacePair):
            return (GaussianPair(Fraction(0)),)
        alike = AllocationPair(self.base, self.batches).lower
        if isinstance(self.base, LaplacePair):
            return alike, alike.reversed
        rate = standing_out(self.base, self.batches)
        across = GaussianPair(self.base.squared_mu / 4)
        return alike, alike.reversed, SubsampledPair(across, rate, Mixed.BOTH)

    @property
    def gap(self) -> str:
        return GAP

    @property
    def singular_mass(self) -> float:
        return self.base.singular_mass

    @property
    def max_loss(self) -> float:
        return self.base.max_loss

    def singular_mass_ball(self) -> arb:
        return self.base.singular_mass_ball()

    def max_loss_ball(self) -> arb:
        return self.base.max_loss_ball()

    @property
    def is_limit_known(self) -> bool:
        return self.base.is_limit_known

    def profile_ball(self, epsilon: arb) -> arb:
        return self.base.profile_ball(epsilon)

    def trade_off_ball(self, false_alarm: arb) -> arb:
        return self.base.trade_off_ball(false_alarm)

    def renyi_ball(self, order: arb) -> arb:
        return self.base.renyi_ball(order)

    def kullback_leibler_ball(self) -> arb:
        return self.base.kullback_leibler_ball()

    def loss_law(self) -> AnyLossLaw:
        return self.base.loss_law()


@lru_cache(maxsize=64)
def standing_out(base: GaussianPair, batches: int) -> float:
    """A number not above E Φ(h + Z)^(t−1): Φ rises, so that lower sums are lower bounds."""
    height = float(base.mu) * math.sqrt(0.75) * (1.0 - 1e-12)
    edges = np.linspace(-_REACH, _REACH, _CELLS)
    wins = np.exp((batches - 1) * scipy.special.log_ndtr(height + edges[:-1]))
    return float((np.diff(scipy.special.ndtr(edges)) * wins).sum()) * _SAFE
