"""Laplace(Δ, b) against Laplace(0, b): the dominating pair of Laplace noise."""

from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb

from dpverify.balls import ball
from dpverify.errors import as_positive, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import LossLaw, laplace_law


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplacePair(Pair):
    """Left Laplace(Δ, b), right Laplace(0, b); everything depends on a = Δ/b alone.

    In one dimension it also dominates vectors of Laplace noise whose ℓ1 shift is Δ: the loss of
    shifts s and t together is a − 2·W, and W is stochastically larger than for the one shift
    s + t wherever the loss is positive.

    >>> LaplacePair(scale=1.0, sensitivity=1.0).delta(0.0)  # 1 − exp(−1/2)
    0.39346934028736663
    """

    scale: float
    sensitivity: float
    singular_mass = 0.0

    def __post_init__(self) -> None:
        settle(self, scale=as_positive("scale", self.scale))
        settle(self, sensitivity=as_positive("sensitivity", self.sensitivity))

    @property
    def shift(self) -> arb:
        """The largest privacy loss, a = Δ/b."""
        return ball(self.sensitivity) / ball(self.scale)

    @property
    def reversed(self) -> "LaplacePair":
        """Reflecting about Δ/2 exchanges the two distributions."""
        return self

    def max_loss_ball(self) -> arb:
        return self.shift

    def profile_ball(self, epsilon: arb) -> arb:
        """1 − e^((ε − a)/2) for |ε| ≤ a, and the greater of 0 and 1 − e^ε elsewhere."""
        inside = -((epsilon - self.shift) / 2).expm1()
        return inside.max(-epsilon.expm1()).max(arb(0))

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """1 − e^a·α, then e^(−a)/(4α), then e^(−a)·(1 − α): tangent at α = e^(−a)/2 and 1/2."""
        edge = (-self.shift).exp() / 2
        flat = 2 * edge * (1 - false_alarm)
        if false_alarm >= 0.5:
            return flat
        straight = 1 - self.shift.exp() * false_alarm
        if false_alarm <= edge:
            return straight
        curved = edge / (2 * false_alarm)
        if false_alarm > edge and false_alarm < 0.5:
            return curved
        # A ball across a joint: which piece applies is open, but not that one of them does.
        return straight.union(curved).union(flat)

    def renyi_ball(self, order: arb) -> arb:
        """[Mironov17 Prop. 6]"""
        up, down = order, order - 1
        moment = up * (down * self.shift).exp() + down * (-up * self.shift).exp()
        return (moment / (2 * order - 1)).log() / (order - 1)

    def kullback_leibler_ball(self) -> arb:
        return self.shift + (-self.shift).expm1()

    def grouped(self, size: int) -> "LaplacePair":
        """The shifts of all records may point the same way."""
        return replace(self, sensitivity=Fraction(self.sensitivity) * size)  # type: ignore[arg-type]  # a real number

    def loss_law(self) -> LossLaw:
        return laplace_law(float(self.shift), left=1.0, right=0.0)
