"""Pairs without a closed form, bounded from both sides by laws of the ratio dP/dQ."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from flint import arb

from dpverify.balls import ball, float_above, float_below
from dpverify.guarantees import End
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.bounds.ratios import Ratios
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT


@dataclass(frozen=True, slots=True)
class RatioPair(Pair):
    """Finitely many values of dP/dQ with their masses, known up to small relative errors.

    `is_reversed` exchanges the sides.
    """

    ratios: Ratios
    is_reversed: bool = False

    @property
    def reversed(self) -> "RatioPair":
        return replace(self, is_reversed=not self.is_reversed)

    @property
    def singular_mass(self) -> float:
        """Rounded up: P at ratio ∞, or Q at ratio 0 if the sides are exchanged."""
        if not self.is_reversed:
            return min(self.ratios.infinite, 1.0)
        at_zero = self.ratios.masses[self.ratios.values == 0.0].sum()
        return min(float(at_zero) * (1.0 + 2.0 * self.ratios.mass_error), 1.0)

    @property
    def max_loss(self) -> float:
        losses = self.loss_law().losses
        return float(losses.max()) + 2.0 * self.loss_law().loss_error

    def loss_law(self) -> LossLaw:
        """Atoms under P, that of loss ∞ left out."""
        ratios = self.ratios
        kept = (ratios.values > 0.0) & (ratios.masses > 0.0)
        logs, log_right = np.log(ratios.values[kept]), np.log(ratios.masses[kept])
        log_left = log_right + logs
        error = ratios.value_error + 8.0 * UNIT * (1.0 + float(np.abs(logs).max()))
        return LossLaw(
            losses=-logs if self.is_reversed else logs,
            log_masses=log_right if self.is_reversed else log_left,
            loss_error=error,
            mass_error=ratios.mass_error + 2.0 * error,
        )

    def profile_ball(self, epsilon: arb) -> arb:
        """Σ (r − x)₊ over the values r, or Σ (1 − x·r)₊ if the sides are exchanged."""
        x = epsilon.exp()
        least, most = (self._total(end, x) for end in (End.LOWER, End.UPPER))
        return ball(least).union(ball(most))

    def _total(self, end: End, x: arb) -> float:
        """One end of the sum, with every number moved to that side by what it may be off."""
        sign = 1.0 if end is End.UPPER else -1.0
        ratios = self.ratios
        error = sign * (ratios.value_error + 16.0 * UNIT)
        below = float_below if (end is End.UPPER) else float_above
        if self.is_reversed:
            with np.errstate(over="ignore", invalid="ignore"):  # then it is certainly negative
                paid = below(x) * (ratios.values * (1.0 - error))
            over = 1.0 - np.where(ratios.values > 0.0, paid, 0.0)
            over += sign * 4.0 * UNIT
            infinite = 0.0
        else:
            over = ratios.values * (1.0 + error) - below(x)
            infinite = ratios.infinite if end is End.UPPER else 0.0
        total = float((np.maximum(over, 0.0) * ratios.masses).sum())
        return total * (1.0 + sign * (ratios.mass_error + 2.0**-40)) + infinite


class BoundedPair(Pair):
    """A pair that `upper` dominates and that dominates `lower`, each a law of the ratio.

    A subclass is a frozen dataclass with the field `is_reversed`, which exchanges the sides.
    """

    is_reversed: bool

    @abstractmethod
    def ratios(self, end: End) -> Ratios:
        """A bound on the law of dP/dQ under Q, before any exchange of sides, towards `end`."""

    @property
    def reversed(self) -> Self:
        return replace(self, is_reversed=not self.is_reversed)  # type: ignore[type-var]

    @property
    def upper(self) -> RatioPair:
        return RatioPair(self.ratios(End.UPPER), self.is_reversed)

    @property
    def lower(self) -> RatioPair:
        return RatioPair(self.ratios(End.LOWER), self.is_reversed)

    @property
    def attained(self) -> tuple[Pair, ...]:
        return (self.lower,)

    @property
    def is_bracketed(self) -> bool:
        return True

    @property
    def either_way(self) -> Pair:
        if self.reversed == self:
            return self
        return BetweenPair(self.upper.either_way, self.lower, words=self.gap)

    @property
    def is_limit_known(self) -> bool:
        return False

    @property
    def singular_mass(self) -> float:
        return self.upper.singular_mass

    def singular_mass_ball(self) -> arb:
        return arb(0).union(ball(self.singular_mass))

    @property
    def max_loss(self) -> float:
        return self.upper.max_loss

    def profile_ball(self, epsilon: arb) -> arb:
        return self.lower.profile_ball(epsilon).union(self.upper.profile_ball(epsilon))

    def loss_law(self) -> LossLaw:
        return self.upper.loss_law()
