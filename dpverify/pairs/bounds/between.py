"""An unknown pair that lies between two known ones."""

from dataclasses import dataclass, replace

from flint import arb

from dpverify.guarantees import Bracket
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import AnyLossLaw
from dpverify.theorems import EXACT_PROFILE, Theorem


@dataclass(frozen=True, slots=True)
class BetweenPair(Pair):
    """A pair dominated by `upper` that dominates `lower`; every answer is a bracket.

    `mirrored` is what it dominates with its sides exchanged, where that is not `lower.reversed`;
    `theorem` says why, and `words` what is not known, as `gap` does. `samples` says that both are
    pairs of mechanisms that look at one record alone, so that samples of records lie between, too.
    """

    upper: Pair
    lower: Pair
    mirrored: Pair | None = None
    theorem: Theorem = EXACT_PROFILE
    words: str = ""
    samples: bool = False

    @property
    def reversed(self) -> "BetweenPair":
        if self.mirrored is None:
            return replace(self, upper=self.upper.reversed, lower=self.lower.reversed)
        return replace(self, upper=self.upper.reversed, lower=self.mirrored, mirrored=self.lower)

    @property
    def attained(self) -> tuple[Pair, Pair]:
        return self.lower, self.lower

    @property
    def is_bracketed(self) -> bool:
        return True

    @property
    def is_limit_known(self) -> bool:
        return False

    def singular_mass_ball(self) -> arb:
        known = self.lower.is_limit_known
        least = self.lower.singular_mass_ball() if known else arb(0)
        return least.union(self.upper.singular_mass_ball())

    def max_loss_ball(self) -> arb:
        return self.upper.max_loss_ball()

    def profile_ball(self, epsilon: arb) -> arb:
        return self.lower.profile_ball(epsilon).union(self.upper.profile_ball(epsilon))

    def delta_bracket(self, epsilon: float) -> Bracket:
        low, high = (side.delta_bracket(epsilon) for side in (self.lower, self.upper))
        return Bracket(min(low.lower, high.upper), high.upper, self.theorem)

    def epsilon_bracket(self, delta: float) -> Bracket:
        low, high = (side.epsilon_bracket(delta) for side in (self.lower, self.upper))
        return Bracket(min(low.lower, high.upper), high.upper, self.theorem)

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """The curve of the upper pair, so the attacker's error is rounded down."""
        return self.upper.trade_off_ball(false_alarm)

    def renyi_ball(self, order: arb) -> arb:
        """The divergence of the upper pair, an upper bound."""
        return self.upper.renyi_ball(order)

    def kullback_leibler_ball(self) -> arb:
        return self.upper.kullback_leibler_ball()

    def loss_law(self) -> AnyLossLaw:
        return self.upper.loss_law()

    def grouped(self, size: int) -> Pair:
        """Between the groups of both pairs, if these are the same pair."""
        if self.upper != self.lower:
            return Pair.grouped(self, size)
        both = self.upper.grouped(size)
        return replace(self, upper=both, lower=both)

    @property
    def either_way(self) -> Pair:
        return replace(self, upper=self.upper.either_way, mirrored=None)

    @property
    def gap(self) -> str:
        return self.words
