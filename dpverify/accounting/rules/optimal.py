"""Optimal composition of k equal (ε, δ) guarantees, exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from flint import arb

from dpverify.accounting.parts import Parts, leak, leaky_parts
from dpverify.accounting.rules.rule import Answer, Rule
from dpverify.accounting.rules.stating import Stated, bounded
from dpverify.accounting.rules.unequal import UnequalComposition
from dpverify.balls import Order, at_most, ball, compare, enclose
from dpverify.errors import as_between, as_count, settle
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.theorems import OPTIMAL_COMPOSITION

_LARGEST_EPSILON, _LARGE_EPSILON, _MANY = 1e4, 20.0, 10**5
_MOST_UNEQUAL = 4_000_000  # runs of one of several unequal (ε, δ) parts
_MOST_LISTED = 1 << 22  # counts whose masses are summed up to guess; beyond, a normal law guesses


@dataclass(frozen=True, slots=True)
class OptimalComposition:
    r"""k leaky randomized responses: the worst composition of k (ε, δ)-DP parts.

    If none leaks, the loss is (2J − k)·ε with J ~ Binomial(k, e^ε/(1+e^ε)) on the left and
    Binomial(k, 1/(1+e^ε)) on the right, so with j the first count whose loss exceeds ε′,

    .. math:: δ(ε') = 1 - (1-δ)^k + (1-δ)^k (P_U(J ≥ j) - e^{ε'} P_V(J ≥ j)).

    Binomial tails are regularized incomplete beta functions, evaluated on balls: exact to the last
    bit for k in the millions. [KOV15 Thm 3.3]

    >>> OptimalComposition(ApproxDP(epsilon=0.1), 100).epsilon(1e-6).upper
    4.7745675881079865
    """

    worst: ApproxDP
    times: int

    def __post_init__(self) -> None:
        settle(self, times=as_count("times", self.times))

    def delta(self, epsilon: float) -> Bracket:
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        if self._pair.reveals:
            return Bracket(1.0, 1.0, OPTIMAL_COMPOSITION)
        first = self._first_count_above(epsilon)

        def formula() -> arb:
            excess = self._left_tail(first)
            if first <= self.times:  # otherwise ε may be ∞, and nothing exceeds it
                excess -= ball(epsilon).exp() * self._right_tail(first)
            return self._leak() + (1 - self._leak()) * excess

        lower, upper = enclose(formula, ulps=2)
        return Bracket(max(lower, 0.0), min(upper, 1.0), OPTIMAL_COMPOSITION)

    def epsilon(self, delta: float) -> Bracket:
        delta = as_between("delta", delta, 0.0, 1.0)
        if self.delta(0.0).upper <= delta:
            return Bracket(0.0, 0.0, OPTIMAL_COMPOSITION)
        if self._pair.reveals or compare(self._leak, delta) is Order.ABOVE:
            return Bracket(math.inf, math.inf, OPTIMAL_COMPOSITION)
        count = self._count_sufficient_at(delta)

        def formula() -> arb:
            """Between two counts δ is linear in e^ε, hence solved for it."""
            slack = (ball(delta) - self._leak()) / (1 - self._leak())
            return ((self._left_tail(count) - slack) / self._right_tail(count)).log()

        lower, upper = enclose(formula, ulps=2)
        highest = enclose(lambda: (2 * count - self.times) * ball(self.worst.epsilon))[1]
        return Bracket(max(lower, 0.0), min(max(upper, 0.0), highest), OPTIMAL_COMPOSITION)

    @property
    def _pair(self) -> LeakyResponsePair:
        return LeakyResponsePair(self.worst)

    def _first_count_above(self, epsilon: float) -> int:
        """Smallest j with (2j − k)·ε > epsilon, in exact arithmetic; k + 1 if there is none."""
        own = Fraction(self.worst.epsilon)
        if own == 0 or epsilon == math.inf or Fraction(epsilon) >= own * self.times:
            return self.times + 1
        return math.floor((Fraction(epsilon) / own + self.times) / 2) + 1

    def _count_sufficient_at(self, delta: float) -> int:
        """Smallest j in (k/2, k] with δ((2j − k)·ε) certainly at most `delta`; k always is one."""
        low, high = self.times // 2, self.times
        guess, reach = self._guessed_count(delta), 1
        # Doubling steps away from the guess, then halving: two evaluations if it was right.
        probe = min(max(guess, low + 1), high)
        while high - low > 1:
            if self._is_enough(probe, delta):
                high = probe
                probe = max(high - reach, (low + high) // 2 if reach > high - low else low + 1)
            else:
                low = probe
                probe = min(low + reach, high - 1)
            reach *= 2
            probe = min(max(probe, low + 1), max(high - 1, low + 1))
        return high

    def _is_enough(self, count: int, delta: float) -> bool:
        if count >= self.times:
            return True
        loss = (2 * count - self.times) * Fraction(self.worst.epsilon)

        def formula() -> arb:
            excess = self._left_tail(count + 1) - ball(loss).exp() * self._right_tail(count + 1)
            return self._leak() + (1 - self._leak()) * excess

        return loss >= 0 and at_most(formula, delta)

    def _guessed_count(self, delta: float) -> int:
        """The same count in plain floats: nearly always right, and never trusted."""
        own, k, delta = float(self.worst.epsilon), self.times, float(delta)
        truthful = 1 / (1 + math.exp(-own))
        spread = math.sqrt(k * truthful * math.exp(-own) * truthful)
        if spread > _MOST_LISTED / 90:
            return round(k * truthful + spread * math.sqrt(-2 * math.log(max(delta, 1e-300))))
        last = min(k, math.ceil(k * truthful + 45 * spread) + 10)
        counts = np.arange(max(k // 2, int(k * truthful - 45 * spread)), last + 1)
        logs = (
            scipy.special.gammaln(k + 1)
            - scipy.special.gammaln(counts + 1)
            - scipy.special.gammaln(k - counts + 1)
        )
        log_truth, log_lie = -math.log1p(math.exp(-own)), -float(np.logaddexp(0.0, own))
        left = np.exp(logs + counts * log_truth + (k - counts) * log_lie)
        right = np.exp(logs + counts * log_lie + (k - counts) * log_truth)
        above_left, above_right = (m[::-1].cumsum()[::-1] - m for m in (left, right))
        with np.errstate(divide="ignore"):
            paid = np.exp(
                np.minimum((2.0 * counts - k) * own + np.log(np.maximum(above_right, 0.0)), 9)
            )
        slack = (delta - float(self._leak())) / max(1 - float(self._leak()), 1e-300)
        enough = np.flatnonzero(above_left - paid <= slack)
        return int(counts[enough[0]]) if enough.size else k

    def _leak(self) -> arb:
        return leak(((self.worst, self.times),))

    def _left_tail(self, count: int) -> arb:
        return binomial_tail(count, self.times, self._pair.truthful)

    def _right_tail(self, count: int) -> arb:
        return binomial_tail(count, self.times, self._pair.lying)


def binomial_tail(count: int, trials: int, probability: arb) -> arb:
    """P(J ≥ count) for J ~ Binomial(trials, probability): the incomplete beta function."""
    if count <= 0:
        return arb(1)
    if count > trials:
        return arb(0)
    return probability.beta_lower(arb(count), arb(trials - count + 1), regularized=True)


class Optimal(Rule):
    """The optimum over all mechanisms with these (ε, δ); exact if all parts are guarantees."""

    name = "optimal"
    theorem = OPTIMAL_COMPOSITION

    def supports(self, parts: Parts) -> bool:
        stated = leaky_parts(parts) or bounded(parts)
        return stated is not None and within_reach(stated)

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:
        return self._found(parts, "epsilon", delta, tolerance)

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:
        return self._found(parts, "delta", epsilon, tolerance)

    def _found(self, parts: Parts, unknown: str, at: float, tolerance: float) -> Answer:
        exact = leaky_parts(parts)
        stated = exact or bounded(parts)
        if stated is None:
            return None
        composition = _composed(stated)
        equal = isinstance(composition, OptimalComposition)
        options = {} if equal else {"tolerance": tolerance}
        found: Bracket = getattr(composition, unknown)(at, **options)
        return found if exact else found.upper


def within_reach(parts: Stated) -> bool:
    """Whether optimal composition is fast enough: unequal parts need a list of outcomes.

    Where an ε is huge, no ball tells the probability of a lie from 0.
    """
    for part, times in parts:
        most = _LARGEST_EPSILON if times <= _MANY else _LARGE_EPSILON
        if most < part.epsilon < math.inf:
            return False
    unequal = len({part for part, _ in parts}) > 1
    return not unequal or max(times for _, times in parts) <= _MOST_UNEQUAL


def _composed(parts: Stated) -> OptimalComposition | UnequalComposition:
    if len({part for part, _ in parts}) == 1:
        return OptimalComposition(parts[0][0], sum(times for _, times in parts))
    return UnequalComposition(parts)
