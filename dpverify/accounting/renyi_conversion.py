r"""From one Rényi divergence to (ε, δ), without loss.

Fix an order α and a bound γ on the Rényi divergence of P from Q. For any event E with p = P(E) and
q = Q(E), merging outcomes to "E or not" leaves

.. math:: m(p, q) = p^α q^{1-α} + (1-p)^α (1-q)^{1-α} ≤ e^{(α-1)γ},

so (ε, δ)-DP holds if no (p, q) with p − e^ε·q = δ satisfies it; and if one does, that pair of laws
on two outcomes is a counterexample. m is convex along that line, so the condition is a convex
minimization in one variable. [ALCKS21 Thm 2] Dropping the second term of m gives the widely used
closed form of [CKS20 v4 Prop. 12], here `simple_epsilon`, which is never smaller.

With s = p − δ, the derivative along the line has the sign of

    (s+δ)^(α−1)·(s·e^(−ε))^(−α)·e^(−ε)·(s − (α−1)δ)
        − (1−δ−s)^(α−1)·(1−s·e^(−ε))^(−α)·(α − e^(−ε)·(s + (α−1)(1−δ))),

so the minimizer lies in ((α−1)δ, 1−δ), or at 1−δ if αδ ≥ 1. It is searched as
s = (α−1)δ + (1−αδ)·share with share in (0, 1).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from flint import arb

from dpverify.balls import at_least, at_most, ball, enclose, first_float
from dpverify.guarantees import ApproxDP
from dpverify.pairs.leaky_response import LeakyResponsePair

_NEAR = (
    2.0**-30,
    2.0**-20,
    2.0**-10,
)  # relative widths tried to enclose the minimizer; squares cost
_LOGITS = (-690.0, 36.0)
_TINY = math.exp(_LOGITS[0])  # a smaller share cannot be told from 0 in floats, and need not be


def simple_epsilon(order: float, divergence: float, delta: float) -> float:
    """γ + ln(1 − 1/α) − ln(α·δ)/(α − 1), rounded up; valid, and not the best."""

    def formula() -> arb:
        a, d = ball(order), ball(delta)
        return ball(divergence) + (-1 / a).log1p() - (a * d).log() / (a - 1)

    return max(enclose(formula)[1], 0.0)


@lru_cache(maxsize=4096)
def renyi_epsilon(order: float, divergence: float, delta: float) -> float:
    """Smallest ε ≥ 0 such that divergence γ at order α implies (ε, δ)-DP, rounded up.

    >>> renyi_epsilon(8.0, 0.1, 1e-5) <= simple_epsilon(8.0, 0.1, 1e-5)
    True
    """
    if delta == 1 or divergence == 0:
        return 0.0
    if math.isinf(order):
        return LeakyResponsePair(ApproxDP(epsilon=divergence)).epsilon(delta)
    if delta == 0 or math.isinf(divergence):
        return math.inf
    ceiling = simple_epsilon(order, divergence, delta)
    return first_float(lambda e: _Line(order, e, delta).excludes(divergence), 0.0, ceiling)


@lru_cache(maxsize=4096)
def renyi_delta(order: float, divergence: float, epsilon: float) -> float:
    """Smallest δ such that divergence γ at order α implies (ε, δ)-DP, rounded up."""
    if divergence == 0:
        return 0.0
    if math.isinf(divergence):
        return 1.0
    if math.isinf(order):
        return LeakyResponsePair(ApproxDP(epsilon=divergence)).delta(epsilon)
    if epsilon == math.inf:
        return 0.0
    smallest = math.ulp(0.0)
    return first_float(lambda d: _Line(order, epsilon, d).excludes(divergence), smallest, 1.0)


@lru_cache(maxsize=256)
def largest_divergence(order: float, epsilon: float, delta: float) -> float:
    """The largest divergence at a finite order that implies (ε, δ)-DP, rounded down.

    >>> renyi_epsilon(8.0, largest_divergence(8.0, 1.0, 1e-5), 1e-5) <= 1.0
    True
    """
    if delta == 1 or epsilon == math.inf:
        return math.inf
    line = _Line(order, epsilon, delta)
    if delta == 0 or not line.excludes(0.0):
        return 0.0
    breaking = first_float(lambda d: not line.excludes(d), 0.0, math.inf)
    return math.nextafter(breaking, 0.0)


@lru_cache(maxsize=4096)
def approximate_epsilon(order: float, divergence: float, delta: float) -> float:
    """`renyi_epsilon` in plain floats, for searching over orders only."""
    ceiling = simple_epsilon(order, divergence, delta)
    return _zero(lambda epsilon: _Line(order, epsilon, delta).gap(divergence), 0.0, ceiling)


@lru_cache(maxsize=4096)
def approximate_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """Ln of `renyi_delta` in plain floats, for searching over orders only."""
    return _zero(lambda log: _Line(order, epsilon, math.exp(log)).gap(divergence), -740.0, -1e-9)


def _zero(rising: Callable[[float], float], low: float, high: float) -> float:
    if rising(low) >= 0:
        return low
    return brent(rising, low, high, 1e-12) if rising(high) > 0 else high


def brent(function: Callable[[float], float], low: float, high: float, accuracy: float) -> float:
    """A zero between two ends of opposite sign."""
    from scipy.optimize import brentq  # noqa: PLC0415  # slow to import

    return float(brentq(function, low, high, xtol=accuracy, rtol=1e-14))


@dataclass(frozen=True, slots=True)
class _Line:
    """The pairs on two outcomes with p − e^ε·q = δ, and their moment of one order."""

    order: float
    epsilon: float
    delta: float

    def gap(self, divergence: float) -> float:
        """Ln of the least moment minus what the divergence allows, in floats; rises in ε and δ."""
        allowed = (self.order - 1) * divergence
        noise = 2.0**-48 * (1 + allowed)  # an order that wins by rounding alone must not win
        return self.log_moment(self.minimizer()) - allowed - noise

    def excludes(self, divergence: float) -> bool:
        """Whether every pair on the line certainly has a Rényi divergence of at least this."""
        reach = self.order * self.delta
        if reach >= 1:
            # m falls all the way to p = 1, where its logarithm is (α−1)·(ε − ln(1−δ)).
            exact = at_least(lambda: ball(self.order) * ball(self.delta), 1.0)
            return exact and at_most(
                lambda: ball(divergence) + (-ball(self.delta)).log1p(), ball(self.epsilon)
            )
        enclosed = self._enclosed_minimizer()
        if enclosed is None:
            return False
        low, high = enclosed

        def least_moment() -> arb:
            """Tangent at the lower end, taken to the upper: below m in between, by convexity."""
            width = (1 - ball(self.order) * ball(self.delta)) * (ball(high) - ball(low))
            return self._moment(low) + self._slope(low) * width

        threshold = (ball(self.order) - 1) * ball(divergence)
        return at_least(lambda: least_moment().log() - threshold, 0.0)

    def _enclosed_minimizer(self) -> tuple[float, float] | None:
        """Shares with the minimizer certainly between them, as close as floats can tell."""
        share = self.minimizer()
        for near in _NEAR:
            low = 0.0 if share <= _TINY else share * (1 - near)
            high = min(share * (1 + near), 1 - (1 - share) * (1 - near))
            if (
                low < high < 1
                and at_most(lambda at=low: self._slope(at), 0.0)  # type: ignore[misc]  # bound now
                and at_least(lambda at=high: self._slope(at), 0.0)  # type: ignore[misc]  # bound now
            ):
                return low, high
        return None

    def minimizer(self) -> float:
        """The share at which m is least, in floats."""

        def sign(logit: float) -> float:
            share, rest = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
            room = 1 - self.order * self.delta
            s = (self.order - 1) * self.delta + room * share
            q = s * math.exp(-self.epsilon)
            bracket = self.order - math.exp(-self.epsilon) * (
                s + (self.order - 1) * (1 - self.delta)
            )
            rising = (
                (self.order - 1) * math.log(s + self.delta)
                - self.order * (math.log(s) - self.epsilon)
                - self.epsilon
                + math.log(room * share)
            )
            falling = (
                (self.order - 1) * math.log(room * rest)
                - self.order * math.log1p(-q)
                + math.log(max(bracket, 5e-324))
            )
            return rising - falling

        if self.order * self.delta >= 1:
            return 1.0
        low, high = _LOGITS
        if sign(low) >= 0:
            return _TINY
        if sign(high) <= 0:
            return 1 / (1 + math.exp(-high))
        return 1 / (1 + math.exp(-brent(sign, low, high, 1e-12)))

    def log_moment(self, share: float) -> float:
        """Ln m in floats."""
        room = 1 - self.order * self.delta
        s = (self.order - 1) * self.delta + room * share if room > 0 else 1 - self.delta
        first = self.order * math.log(s + self.delta) + (1 - self.order) * (
            math.log(s) - self.epsilon
        )
        rest = room * (1 - share)
        if rest <= 0:
            return first
        second = self.order * math.log(rest) + (1 - self.order) * math.log1p(
            -s * math.exp(-self.epsilon)
        )
        return max(first, second) + math.log1p(math.exp(-abs(first - second)))

    def _coordinates(self, share: float) -> tuple[arb, arb, arb, arb]:
        """α, s, p and q on balls."""
        order, delta = ball(self.order), ball(self.delta)
        s = (order - 1) * delta + (1 - order * delta) * ball(share)
        return order, s, s + delta, s * (-ball(self.epsilon)).exp()

    def _moment(self, share: float) -> arb:
        order, _, p, q = self._coordinates(share)
        return p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)

    def _slope(self, share: float) -> arb:
        order, s, p, q = self._coordinates(share)
        shrink, delta = (-ball(self.epsilon)).exp(), ball(self.delta)
        beyond = (1 - order * delta) * ball(share)  # s − (α−1)δ, without its cancellation
        rising = p ** (order - 1) * q**-order * shrink * beyond
        bracket = order - shrink * (s + (order - 1) * (1 - delta))
        return rising - (1 - p) ** (order - 1) * (1 - q) ** -order * bracket
