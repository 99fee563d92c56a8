"""Leaky randomized response: the pair behind every (ε, δ) guarantee."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from dpverify.balls import ball
from dpverify.errors import as_float
from dpverify.guarantees import ApproxDP
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.bounds.group import group_points
from dpverify.pairs.discrete.laplace import DiscreteLaplacePair
from dpverify.pairs.loss_law import LossLaw, log_of, rest_of
from dpverify.pairs.ramps import UNIT
from dpverify.theorems import GROUP_PRIVACY


@dataclass(frozen=True, slots=True)
class LeakyResponsePair(Pair):
    r"""Four outcomes: 0, 1, and two that give the side away.

    ========  ===========================  ===========================
    outcome   left (U)                     right (V)
    ========  ===========================  ===========================
    0         (1−δ)·e^ε/(1+e^ε)            (1−δ)·1/(1+e^ε)
    1         (1−δ)·1/(1+e^ε)              (1−δ)·e^ε/(1+e^ε)
    "U"       δ                            0
    "V"       0                            δ
    ========  ===========================  ===========================

    Randomized response is the case δ = 0. [KOV15 Thm 2.5]

    >>> LeakyResponsePair(ApproxDP(epsilon=math.log(3), delta=0.25)).delta(0.0)  # 1/4 + 3/4 · 1/2
    0.6250000000000001
    """

    worst: ApproxDP
    is_local: bool = False  # each record is answered by itself, so a group is not the worst

    @property
    def reversed(self) -> "LeakyResponsePair":
        """Renaming 0 ↔ 1 and "U" ↔ "V" exchanges the two distributions."""
        return self

    @property
    def reveals(self) -> bool:
        """Whether the two distributions have no outcome in common."""
        return self.worst.epsilon == math.inf or self.worst.delta == 1

    @property
    def singular_mass(self) -> float:
        return 1.0 if self.reveals else self.worst.delta

    def max_loss_ball(self) -> arb:
        return ball(0.0 if self.reveals else self.worst.epsilon)

    @property
    def truthful(self) -> arb:
        """e^ε/(1+e^ε): the probability of the likelier answer if there is no leak."""
        return 1 / (1 + (-ball(self.worst.epsilon)).exp())

    @property
    def lying(self) -> arb:
        """1/(1+e^ε): the probability of the other answer if there is no leak."""
        return 1 / (1 + ball(self.worst.epsilon).exp())

    def profile_ball(self, epsilon: arb) -> arb:
        """δ + (1−δ)·[(1 − e^(ε′−ε))₊·e^ε + (1 − e^(ε′+ε))₊] / (1+e^ε) at ε′. [KOV15 eq. 6]"""
        if self.reveals:
            return arb(1)
        own = ball(self.worst.epsilon)
        likely = (-(epsilon - own).expm1()).max(arb(0)) * self.truthful
        unlikely = (-(epsilon + own).expm1()).max(arb(0)) * self.lying
        leak = ball(self.worst.delta)
        return leak + (1 - leak) * (likely + unlikely)

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """max(0, 1 − δ − e^ε·α, e^(−ε)·(1 − δ − α)). [DRS22 eq. 5]"""
        if self.reveals:
            return arb(0)
        own, unleaked = ball(self.worst.epsilon), 1 - ball(self.worst.delta)
        steep = unleaked - own.exp() * false_alarm
        flat = (-own).exp() * (unleaked - false_alarm)
        return steep.max(flat).max(arb(0))

    def renyi_ball(self, order: arb) -> arb:
        """The moment is p·e^((α−1)ε) + (1−p)·e^(−(α−1)ε), for δ = 0."""
        growth = (order - 1) * ball(self.worst.epsilon)
        moment = self.truthful * growth.exp() + self.lying * (-growth).exp()
        return moment.log() / (order - 1)

    def kullback_leibler_ball(self) -> arb:
        """ε·(e^ε − 1)/(e^ε + 1): the expected loss of one round."""
        own = ball(self.worst.epsilon)
        return own * (own / 2).tanh()

    def grouped(self, size: int) -> Pair:
        """For δ = 0, discrete Laplace noise of scale 1/ε: a step is this pair, k the worst."""
        if size == 1 or self.reveals:
            return self
        if self.is_local:
            worst = replace(self, is_local=False).grouped(size)
            return BetweenPair(worst, self, theorem=GROUP_PRIVACY)
        if self.worst.epsilon == 0:
            return LeakyResponsePair(
                ApproxDP(epsilon=0.0, delta=min(Fraction(self.worst.delta) * size, Fraction(1)))  # type: ignore[arg-type]
            )
        scale: float = 1 / Fraction(self.worst.epsilon)  # type: ignore[assignment]  # a real number
        steps = DiscreteLaplacePair(scale=scale, shift=size)
        if self.worst.delta == 0:
            return steps
        return BetweenPair(group_points(self, size), steps, theorem=GROUP_PRIVACY)

    def loss_law(self) -> LossLaw:
        """Loss ε with probability (1−δ)·e^ε/(1+e^ε), −ε otherwise unless it leaks."""
        if self.reveals:
            return LossLaw()
        epsilon = as_float(self.worst.epsilon)
        stay = log_of(rest_of(self.worst.delta))
        truth = -math.log1p(math.exp(-epsilon))
        if epsilon == 0.0:
            return LossLaw(losses=np.zeros(1), log_masses=np.array([stay]), mass_error=8.0 * UNIT)
        return LossLaw(
            losses=np.array([epsilon, -epsilon]),
            log_masses=np.array([stay + truth, stay + truth - epsilon]),
            loss_error=UNIT * epsilon,
            mass_error=8.0 * UNIT * (1.0 + abs(stay) + epsilon),
        )
