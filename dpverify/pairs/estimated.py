"""A mechanism known between two pairs: one dominates it, and it dominates the other.

What a privacy-loss distribution rounded upwards says of a mechanism is an upper bound, rounded
downwards a lower one. Composition keeps both orders, so each end of a bracket is of a product of
its own.
"""

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.pairs.loss_law import AnyLossLaw
from dpverify.theorems import EXACT_PROFILE

NOTHING = GaussianPair(Fraction(0))
EVERYTHING = LeakyResponsePair(ApproxDP(epsilon=float("inf")))
ONE_SIDED = (
    "a part is known from one side only: the other end of the bracket is of whatever it may be"
)


@dataclass(frozen=True, slots=True)
class EstimatedPair(Pair):
    """All profiles between `below` and `above`; compositions use `above`."""

    above: Pair = EVERYTHING
    below: Pair = NOTHING

    def __post_init__(self) -> None:
        for name in ("above", "below"):
            if not isinstance(getattr(self, name), Pair):
                raise InvalidParameter(f"{name}={getattr(self, name)!r} must be a Pair")

    @property
    def reversed(self) -> "EstimatedPair":
        return EstimatedPair(self.above.reversed, self.below.reversed)

    @property
    def attained(self) -> tuple[Pair, Pair]:
        """The pair below, in both directions, as every run costs at least that."""
        return self.below, self.below

    @property
    def either_way(self) -> Pair:
        return EstimatedPair(self.above.either_way, self.below)

    @property
    def is_bracketed(self) -> bool:
        return True

    @property
    def is_limit_known(self) -> bool:
        return False

    def singular_mass_ball(self) -> arb:
        return self.above.singular_mass_ball()

    def max_loss_ball(self) -> arb:
        return self.above.max_loss_ball()

    def profile_ball(self, epsilon: arb) -> arb:
        return self.above.profile_ball(epsilon)

    def loss_law(self) -> AnyLossLaw:
        return self.above.loss_law()

    def delta_bracket(self, epsilon: float) -> Bracket:
        return _between(self.below.delta_bracket(epsilon), self.above.delta_bracket(epsilon))

    def epsilon_bracket(self, delta: float) -> Bracket:
        return _between(self.below.epsilon_bracket(delta), self.above.epsilon_bracket(delta))


def _between(below: Bracket, above: Bracket) -> Bracket:
    return Bracket(min(below.lower, above.upper), above.upper, EXACT_PROFILE, (ONE_SIDED,))
