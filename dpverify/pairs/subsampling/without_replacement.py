"""Noise on a batch drawn without replacement, where one record is replaced."""

import math
from dataclasses import dataclass

import numpy as np
from flint import acb, arb

from dpverify.balls import ball
from dpverify.errors import as_between, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair, check_base
from dpverify.pairs.subsampling.shifts import Shift, shift_of


@dataclass(frozen=True, slots=True)
class WithoutReplacementPair(Pair):
    """A pair that dominates noise on a batch that holds each record with probability `rate`.

    `base` is the pair of the inner mechanism when one record of the batch is replaced. The profile
    is that of (1−q)·B + q·B(s) against B for ε ≥ 0, and follows for ε < 0 since old and new record
    may be exchanged. [ZDW22 Thm 11; BBG18 Thm 11] So the loss has the law of that pair above 0,
    mirrored below 0, and an atom at 0.

    For a single step it is attained. `attained` lists pairs of actual instances, which bound what
    several steps lose from below: all other records alike, the new one like them.
    """

    base: GaussianPair | LaplacePair
    rate: float
    singular_mass = 0.0

    def __post_init__(self) -> None:
        check_base(self.base)
        settle(self, rate=as_between("rate", self.rate, 0.0, 1.0))

    @property
    def attained(self) -> tuple[SubsampledPair, SubsampledPair]:
        """Replacing the odd record out by a common one, and the reverse."""
        removed = self.removed
        return removed, removed.reversed

    @property
    def removed(self) -> SubsampledPair:
        return SubsampledPair(self.base, self.rate, Mixed.LEFT)

    @property
    def shift(self) -> Shift:
        return shift_of(self.base)

    @property
    def reversed(self) -> "WithoutReplacementPair":
        """Exchanging old and new record exchanges the two distributions."""
        return self

    def max_loss_ball(self) -> arb:
        return self.removed.max_loss_ball()

    def profile_ball(self, epsilon: arb) -> arb:
        above = self.removed.profile_ball(epsilon.max(arb(0)))
        if epsilon >= 0:
            return above
        below = self.removed.reversed.profile_ball(epsilon.min(arb(0)))
        return below if epsilon <= 0 else below.union(above)

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """The removed pair's curve down to slope −1, a segment of slope −1, the mirror image.

        [DRS22 Def. 6: the sampling operator]
        """
        removed = self.removed
        start = self.shift.tail(self.shift.size / 2)
        end = removed.trade_off_ball(start)
        if false_alarm <= start:
            return removed.trade_off_ball(false_alarm)
        if false_alarm >= end:
            return removed.reversed.trade_off_ball(false_alarm)
        curve = start + end - false_alarm
        if not false_alarm > start:  # too close to tell, where the two pieces meet
            curve = curve.union(removed.trade_off_ball(false_alarm))
        if not false_alarm < end:
            curve = curve.union(removed.reversed.trade_off_ball(false_alarm))
        return curve

    def renyi_ball(self, order: arb) -> arb:
        """ln(E[ρ^α + ρ^(1−α)] over ρ > 1, plus the atom at 0)/(α−1), ρ = 1 − q + q·r under B."""
        if self.removed.is_trivial or self.rate == 1:
            return self.removed.renyi_ball(order)
        q = ball(self.rate)

        def moment(up: acb, down: acb, analytic: bool) -> acb:  # noqa: ARG001, FBT001
            loss = (1 - q + q * up).log(analytic)
            return (order * loss).exp() + ((1 - order) * loss).exp()

        size = self.shift.size
        total = self.shift.expectation(moment, (order + 1) * (1 + size), above=True)
        return (total + self.atom_ball()).log() / (order - 1)

    def kullback_leibler_ball(self) -> arb:
        """E[(ρ − 1)·ln ρ] over ρ > 1 under B."""
        if self.removed.is_trivial or self.rate == 1:
            return self.removed.kullback_leibler_ball()
        q = ball(self.rate)

        def mean(up: acb, down: acb, analytic: bool) -> acb:  # noqa: ARG001, FBT001
            ratio = 1 - q + q * up
            return (ratio - 1) * ratio.log(analytic)

        size = self.shift.size
        return self.shift.expectation(mean, 2 * size + 1, above=True)

    def loss_law(self) -> LossLaw:
        """The removed pair above loss 0, its mirror image below, and an atom at 0."""
        removed = self.removed
        above, below = removed.loss_law(), removed.reversed.loss_law()
        if above.is_discrete or self.rate == 1:
            return above
        half = float(self.shift.size) / 2.0
        up, down = above.ramps[0], below.ramps[0]
        # Of the two atoms that Laplace noise has at the ends, each side keeps the one beyond 0.
        losses = (above.losses[:1], np.zeros(1), below.losses[1:])
        atom = float(self.atom_ball())
        log_masses = (above.log_masses[:1], np.array([math.log(atom)]), below.log_masses[1:])
        return LossLaw(
            ramps=(up.cut(half, math.inf), down.cut(-math.inf, -half)),
            losses=np.concatenate(losses),
            log_masses=np.concatenate(log_masses),
            loss_error=above.loss_error,
            # Where the ramps end is rounded, and the atom has to make up for it.
            mass_error=above.mass_error + 16.0 * UNIT * (1.0 + 1.0 / atom),
        )

    @property
    def simplest(self) -> Pair:
        """The base itself if everything is sampled."""
        return self.base if self.rate == 1 else self

    def atom_ball(self) -> arb:
        """The mass of both distributions at loss 0: (1−q)·(1 − 2·B(z > s/2))."""
        return (1 - ball(self.rate)) * (1 - 2 * self.shift.tail(self.shift.size / 2))
