r"""The lossless conversion from a Rényi divergence to (ε, δ).

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

from dpverify.accounting.one_variable import zero
from dpverify.balls import at_least, at_most, ball, enclose, first_float
from dpverify.guarantees import ApproxDP
from dpverify.pairs.leaky_response import LeakyResponsePair

_NEAR = (
    2.0**-30,
    2.0**-20,
    2.0**-10,
)  # relative widths tried to enclose the minimizer; squares cost
_REACHES = (2.0**-44, 2.0**-40)  # relative, above an approximate bound
_LEAST_RATE, _LEAST_LOG = -690.0, -745.0
_LARGEST_ORDER = 1e12
_LARGEST_RATE = 700.0  # logarithm of a rate; beyond, s is 0 and nothing is left to tell
_LOGITS = (-690.0, 36.0)
_TINY = math.exp(_LOGITS[0])  # a smaller share cannot be told from 0 in floats, and need not be


def simple_epsilon(order: float, divergence: float, delta: float) -> float:
    """γ + ln(1 − 1/α) − ln(α·δ)/(α − 1), rounded up; valid but not optimal."""

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
    near = approximate_epsilon(order, divergence, delta)
    return _first(lambda e: _Line(order, e, delta).excludes(divergence), 0.0, near, ceiling)


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
    near = math.exp(approximate_log_delta(order, divergence, epsilon))
    smallest = math.ulp(0.0)
    return _first(lambda d: _Line(order, epsilon, d).excludes(divergence), smallest, near, 1.0)


def _first(holds: Callable[[float], bool], low: float, near: float, high: float) -> float:
    """A float of which `holds` is certain, within 13 digits of the smallest if `near` is good."""
    for reach in _REACHES:
        above = max(near * (1 + reach), low)
        if above < high and holds(above):
            return above
    return first_float(holds, low, high)


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
    found = math.nextafter(first_float(lambda d: not line.excludes(d), 0.0, math.inf), 0.0)
    slack = 2.0**-50
    while renyi_epsilon(order, found, delta) > epsilon:  # it is looser in the last digits
        found, slack = found * (1.0 - slack), 2.0 * slack
    return found


@lru_cache(maxsize=4096)
def approximate_epsilon(order: float, divergence: float, delta: float) -> float:
    """`renyi_epsilon` in plain floats; only for searching over orders and starting points."""
    ceiling, log_delta = simple_epsilon(order, divergence, delta), math.log(delta)
    if approximate_log_delta(order, divergence, 0.0) <= log_delta:
        return 0.0

    def excess(epsilon: float) -> float:
        return approximate_log_delta(order, divergence, epsilon) - log_delta

    return zero(excess, 0.0, ceiling, 1e-12) if excess(ceiling) < 0 else ceiling


@lru_cache(maxsize=4096)
def approximate_log_delta(order: float, divergence: float, epsilon: float) -> float:
    """ln of `renyi_delta` in plain floats; only for searching.

    Pairs on two outcomes are told by their ratios r = p/q > s = (1−p)/(1−q). Along the line the
    moment is least where (α−1)(r^α − s^α) = e^ε·α(r^(α−1) − s^(α−1)), which gives r for every s,
    and on it the moment falls from s = 0, where p = 1, to 1 at s = 1, where δ = 0.
    """
    # An order that wins by rounding alone must not win.
    allowed = (order - 1) * divergence * (1 + 2.0**-48)
    if allowed <= 0.0:
        return math.log(5e-324)
    if order > _LARGEST_ORDER:  # where orders are told apart by this alone
        return min((order - 1) * (divergence - epsilon), 0.0)
    if allowed >= (order - 1) * (epsilon - math.log1p(-1 / order)):
        return math.log(max(-math.expm1(epsilon - allowed / (order - 1)), 5e-324))
    target = math.log(allowed)

    def excess(log_rate: float) -> float:
        return math.log(max(_least(order, epsilon, math.exp(log_rate))[0], 5e-324)) - target

    # ln ln m against ln(−ln s) is nearly a line of slope 1.
    start, reach = -excess(0.0), 1.0
    low = high = max(start, _LEAST_RATE)
    while excess(low) > 0:
        low, reach = low - reach, 2 * reach
        if low < _LEAST_RATE:
            return _LEAST_LOG
    while excess(high) < 0:
        high, reach = high + reach, 2 * reach
        if high > _LARGEST_RATE:
            return 0.0
    found = zero(excess, low, high, 1e-13) if low < high else low
    return math.log(max(_least(order, epsilon, math.exp(found))[1], 5e-324))


def _least(order: float, epsilon: float, rate: float) -> tuple[float, float]:
    """Ln of the least moment, and its δ, where s = e^−rate; with ρ = r·e^−ε, to avoid overflow."""
    below, s = order - 1, math.exp(-rate)
    share = s * math.exp(-epsilon)
    ratio = order / below
    for _ in range(60):  # convex, from above: Newton's method descends to the root
        lost = math.exp(-below * (rate + epsilon + math.log(ratio))) * (order - below * share)
        moved = (below * ratio - order + lost) / (below * (1 - lost / ratio))
        ratio -= moved
        if not moved > 1e-15 * ratio:
            break
    q_scaled = -math.expm1(-rate) / (ratio - share)  # q·e^ε
    p, spread = ratio * q_scaled, ratio - 1
    rise, rest = below * (epsilon + math.log(ratio)), s * (ratio - math.exp(-epsilon))
    # p·r^(α−1) + (1−p)·s^(α−1) = 1 + …, without cancellation.
    falling = rest / (ratio - share) * math.expm1(-below * rate)
    if rise < 700.0:
        return math.log1p(p * math.expm1(rise) + falling), q_scaled * spread
    return max(rise + math.log(p), 5e-324), q_scaled * spread


@dataclass(frozen=True, slots=True)
class _Line:
    """The pairs on two outcomes with p − e^ε·q = δ, and their moment of one order."""

    order: float
    epsilon: float
    delta: float

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
        return 1 / (1 + math.exp(-zero(sign, low, high, 1e-12)))

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
