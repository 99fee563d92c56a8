"""Noise on a Poisson sample that is cut at random to a largest size.

Let N records other than the one in question be drawn, of at most n − 1. If N < B, the record joins
them whenever it is drawn: ordinary Poisson sampling. If N ≥ B and it is drawn, then it stays with
probability B/(N+1), in the place of one of the others. So who knows which others are drawn sees,
with probability τ = P(N ≥ B), a record of rate q·B/(N+1) ≤ q that moves the noise by what it adds
and what it displaces: at most twice the shift. The pair that tells whether N ≥ B dominates:

    with probability 1−τ the Poisson pair of rate q and shift s, with probability τ that of 2s.

From below: where the others contribute nothing the record is simply drawn, with a probability of at
least q·(1−τ).
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy
from flint import arb

from dpverify.balls import ball
from dpverify.errors import as_between, as_count, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.loss_law import LossLaw, log_of, rest_of
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.copies import several
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair, check_base

_TAIL_ERROR = 1e-9  # what scipy's binomial tails may be off for a hundred thousand records
_MOST_RECORDS = 10**8  # beyond, nothing is known of their error


@dataclass(frozen=True, slots=True)
class TruncatedPair(Pair):
    """A Poisson sample of at most `population` records, cut down to `at_most` of them."""

    base: GaussianPair | LaplacePair
    rate: float
    at_most: int
    population: int
    mixed: Mixed = Mixed.LEFT
    singular_mass = 0.0

    def __post_init__(self) -> None:
        check_base(self.base)
        settle(self, rate=as_between("rate", self.rate, 0.0, 1.0))
        settle(self, at_most=as_count("at_most", self.at_most))
        settle(self, population=as_count("population", self.population))

    @property
    def cut(self) -> float:
        """τ, rounded up: the probability that the sample is full without the record."""
        if self.population <= self.at_most or self.rate == 0:
            return 0.0
        if self.population > _MOST_RECORDS:
            return 1.0
        tail = float(scipy.special.bdtrc(self.at_most - 1, self.population - 1, float(self.rate)))
        error = _TAIL_ERROR * max(1.0, self.population / 1e5)
        return min(tail * (1.0 + 5.0 * error) + 1e-300, 1.0)

    @property
    def whole(self) -> SubsampledPair:
        return SubsampledPair(self.base, self.rate, self.mixed)

    @property
    def displacing(self) -> SubsampledPair:
        return SubsampledPair(several(self.base, 2), self.rate, self.mixed)

    @property
    def reversed(self) -> "TruncatedPair":
        return replace(self, mixed=self.whole.reversed.mixed)

    @property
    def simplest(self) -> Pair:
        return self if self.cut else self.whole.simplest

    @property
    def attained(self) -> tuple[Pair, ...]:
        kept = float(self.rate) * rest_of(self.cut) * (1.0 - 4.0 * UNIT)
        return (SubsampledPair(self.base, kept, self.mixed),)

    @property
    def gap(self) -> str:
        return (
            f"a truncated Poisson sample: with probability {self.cut:.2g} it is full without the "
            "record, and the upper end takes the record to displace an opposite one"
        )

    def max_loss_ball(self) -> arb:
        return self.displacing.max_loss_ball()

    def profile_ball(self, epsilon: arb) -> arb:
        cut = ball(self.cut)
        return (1 - cut) * self.whole.profile_ball(epsilon) + cut * self.displacing.profile_ball(
            epsilon
        )

    def loss_law(self) -> LossLaw:
        """Both laws, each with its share of every mass."""
        if self.cut == 1.0:
            return self.displacing.loss_law()
        laws = (
            (self.whole.loss_law(), log_of(rest_of(self.cut))),
            (self.displacing.loss_law(), log_of(self.cut)),
        )
        return LossLaw(
            ramps=tuple(ramp.scaled(log_share) for law, log_share in laws for ramp in law.ramps),
            losses=np.concatenate([law.losses for law, _ in laws]),
            log_masses=np.concatenate([law.log_masses + log_share for law, log_share in laws]),
            loss_error=max(law.loss_error for law, _ in laws),
            mass_error=max(law.mass_error for law, _ in laws)
            + 8.0 * UNIT * (1.0 + abs(laws[1][1])),
        )
