"""The pair of laws behind every guarantee, and what can be read off it."""

import math
from abc import ABC, abstractmethod

from flint import arb

from dpverify.balls import Formula, at_least, at_most, ball, enclose, first_float
from dpverify.errors import InvalidParameter, as_between, as_real
from dpverify.guarantees import Bracket
from dpverify.theorems import EXACT_PROFILE


class Pair(ABC):
    """Two laws, left (P) and right (Q): the outputs on two neighboring datasets, at the worst.

    A subclass states the mathematics on balls: `profile_ball`, `trade_off_ball`, `renyi_ball`.
    This class turns it into floats that are correctly rounded up to one unit in the last place,
    and always towards safety: δ, ε and Rényi divergences up, the attacker's error down.
    """

    @property
    @abstractmethod
    def reversed(self) -> "Pair":
        """The same two laws with their sides exchanged."""

    @property
    @abstractmethod
    def singular_mass(self) -> float:
        """P of the outcomes that are impossible under Q: the profile's limit at ε = ∞."""

    @property
    @abstractmethod
    def max_loss(self) -> float:
        """An ε from which on the profile equals `singular_mass`; ∞ if there is none."""

    def singular_mass_ball(self) -> arb:
        """`singular_mass` before it is rounded up to a float."""
        return ball(self.singular_mass)

    def max_loss_ball(self) -> arb:
        """`max_loss` before it is rounded up to a float."""
        return ball(self.max_loss)

    @abstractmethod
    def profile_ball(self, epsilon: arb) -> arb:
        """The largest P(E) − e^ε·Q(E) over events E, for any finite ε, negative ones too."""

    @abstractmethod
    def trade_off_ball(self, false_alarm: arb) -> arb:
        """Least probability under P of missing, among tests that reject Q with this probability."""

    @abstractmethod
    def renyi_ball(self, order: arb) -> arb:
        """Rényi divergence of P from Q for a finite order above 1."""

    @abstractmethod
    def kullback_leibler_ball(self) -> arb:
        """Rényi divergence at its limit of order 1: the mean of the privacy loss under P."""

    def delta(self, epsilon: float) -> float:
        """The profile: the smallest δ at ε, rounded up."""
        return self.delta_bracket(epsilon).upper

    def delta_bracket(self, epsilon: float) -> Bracket:
        """The profile between two neighboring floats."""
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        if epsilon >= self.max_loss:
            return Bracket(*enclose(self.singular_mass_ball), EXACT_PROFILE)
        lower, upper = enclose(lambda: self.profile_ball(ball(epsilon)))
        return Bracket(max(lower, 0.0), min(upper, 1.0), EXACT_PROFILE)

    def epsilon(self, delta: float) -> float:
        """The profile's inverse: the smallest ε ≥ 0 that suffices at δ, rounded up."""
        return self.epsilon_bracket(delta).upper

    def epsilon_bracket(self, delta: float) -> Bracket:
        """The profile's inverse between two neighboring floats; ∞ if no finite ε suffices."""
        delta = as_between("delta", delta, 0.0, 1.0)
        if delta < self.singular_mass:
            return Bracket(math.inf, math.inf, EXACT_PROFILE)
        if delta == self.singular_mass:
            return self._epsilon_at_singular_mass()

        def excess(epsilon: float) -> Formula:
            return lambda: self.profile_ball(ball(epsilon)) - ball(delta)

        upper = first_float(lambda epsilon: at_most(excess(epsilon), 0.0), 0.0, self.max_loss)
        if upper == 0.0:
            return Bracket(0.0, 0.0, EXACT_PROFILE)
        lower = math.nextafter(upper, 0.0)
        while lower > 0.0 and not at_least(excess(lower), 0.0):
            # Only where equality cannot be decided, so the step may grow quickly.
            lower -= 4.0 * (upper - lower)
        return Bracket(max(lower, 0.0), upper, EXACT_PROFILE)

    def _epsilon_at_singular_mass(self) -> Bracket:
        return Bracket(*enclose(self.max_loss_ball), EXACT_PROFILE)

    def trade_off(self, false_alarm: float) -> float:
        """The trade-off curve: the least miss rate at a false-alarm rate, rounded down."""
        false_alarm = as_between("false_alarm", false_alarm, 0.0, 1.0)
        lower, _ = enclose(lambda: self.trade_off_ball(ball(false_alarm)))
        return min(max(lower, 0.0), 1.0)

    def renyi(self, order: float) -> float:
        """Rényi divergence of P from Q at an order in [1, ∞], rounded up."""
        order = as_real("order", order)
        if not order >= 1.0:
            raise InvalidParameter(f"order={order!r} must be at least 1")
        if self.singular_mass > 0.0:
            return math.inf
        if order == math.inf:
            return self.max_loss
        if order == 1.0:
            return max(enclose(self.kullback_leibler_ball)[1], 0.0)
        return max(enclose(lambda: self.renyi_ball(ball(order)))[1], 0.0)
