"""The least pair that dominates another in both directions, for steps that may go either way."""

from dataclasses import dataclass

from flint import arb

from dpverify.pairs.base import Pair


@dataclass(frozen=True, slots=True)
class EitherWayPair(Pair):
    """The greater of the profiles of `pair` and of its `reversed`, at every ε. [ZDW22 Prop. 8]

    The maximum of two convex functions is convex, so it is the profile of a pair; steps that each
    show `pair` or its reverse are bounded from above by it, even when each order is chosen after
    seeing earlier outputs, and from below by any choice made in advance.
    """

    pair: Pair

    @property
    def reversed(self) -> "EitherWayPair":
        """It is its own mirror image."""
        return self

    @property
    def attained(self) -> tuple[Pair, Pair]:
        return self.pair, self.pair.reversed

    def singular_mass_ball(self) -> arb:
        return self.pair.singular_mass_ball().max(self.pair.reversed.singular_mass_ball())

    @property
    def is_limit_known(self) -> bool:
        return self.pair.is_limit_known and self.pair.reversed.is_limit_known

    def profile_ball(self, epsilon: arb) -> arb:
        return self.pair.delta_ball(epsilon).max(self.pair.reversed.delta_ball(epsilon))
