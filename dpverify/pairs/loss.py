"""The privacy loss ln(P/Q) as a random variable, for plots and proofs.

These are floats, right to about 1e-13 of themselves, and not certified bounds; what bounds need
is read off pairs directly.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import NotSupported, as_between, as_count, as_float, as_real
from dpverify.guarantees import ApproxDP

_MOST_ROUNDS = 10**7  # some hundred megabytes
_SMALL_STIRLING_ERRORS = np.array(
    [math.nan]
    + [
        math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2.0 * math.pi)
        for n in range(1, 16)
    ]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivacyLoss:
    """Loss values in rising order, their probabilities under P, and P(loss = ∞).

    >>> import dpverify as dpv
    >>> loss = dpv.leaky_loss(dpv.ApproxDP(0.5, 0.0), 4)
    >>> round(loss.mean, 4), round(loss.tail(1.0), 4)
    (0.4898, 0.5143)
    """

    losses: Floats
    masses: Floats
    infinite_mass: float

    @property
    def mean(self) -> float:
        """The expected loss under P, which is the Kullback–Leibler divergence; ∞ if any mass is."""
        if self.infinite_mass > 0.0:
            return math.inf
        return math.fsum(self.losses * self.masses)

    def tail(self, threshold: float) -> float:
        """P(loss ≥ threshold), the infinite losses included."""
        threshold = as_real("threshold", threshold)
        first = int(np.searchsorted(self.losses, threshold, side="left"))
        return min(float(self.masses[first:].sum()) + self.infinite_mass, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class LeakyLoss(PrivacyLoss):
    """The loss of k leaky randomized responses, and the two bad events of advanced composition.

    The first bad event is that some response leaks. Given that none does, the loss is ε times a
    walk of k steps, +1 with probability e^ε/(1+e^ε) and −1 otherwise; the second bad event is
    that the walk goes far beyond its mean. `walk` lists its ends 2j − k, `walk_log_masses` the
    logarithms of their probabilities given that nothing leaks, so that none underflows.
    """

    worst: ApproxDP
    times: int
    walk: Floats
    walk_log_masses: Floats

    @property
    def leak_probability(self) -> float:
        """1 − (1−δ)^k: the first bad event; at most k·δ by the union bound."""
        if self.worst.delta == 1:
            return 1.0
        return 0.0 - math.expm1(self.times * math.log1p(-self.worst.delta))

    @property
    def round_mean(self) -> float:
        """ε·(e^ε − 1)/(e^ε + 1): the expected loss of one round, given that it does not leak."""
        return self.worst.epsilon * math.tanh(self.worst.epsilon / 2)

    def threshold(self, deviation: float) -> float:
        """k·ε·(e^ε − 1)/(e^ε + 1) + t·ε·√k at t = `deviation`."""
        deviation = as_between("deviation", deviation, 0.0, math.inf)
        return self.times * self.round_mean + deviation * self.worst.epsilon * math.sqrt(self.times)

    def chernoff_tail(self, deviation: float) -> float:
        """e^(−t²/2): bounds the probability that the loss reaches `threshold(t)`, given no leak.

        The steps of the walk lie in [−1, 1]. [Hoeffding, JASA 58, 1963, Thm 2]
        """
        deviation = as_between("deviation", deviation, 0.0, math.inf)
        return math.exp(-(deviation**2) / 2)

    def exact_tail(self, deviation: float) -> float:
        """The probability that `chernoff_tail` bounds.

        Stated for the walk, not for its multiple by ε, so that it is continuous at ε = 0.
        """
        deviation = as_between("deviation", deviation, 0.0, math.inf)
        mean = self.times * math.tanh(self.worst.epsilon / 2)
        beyond = self.walk >= mean + deviation * math.sqrt(self.times)
        return min(float(np.exp(self.walk_log_masses[beyond]).sum()), 1.0)


def float_loss(left: Floats, right: Floats) -> PrivacyLoss:
    """The loss of two vectors of floats, without cancellation near 0 and overflow far from it."""
    left, right = left / math.fsum(left), right / math.fsum(right)
    finite = (left > 0.0) & (right > 0.0)
    p, q = left[finite], right[finite]
    near = np.abs(p - q) < 0.5 * q
    losses = np.log(p) - np.log(q)
    losses[near] = np.log1p((p[near] - q[near]) / q[near])
    order = np.argsort(losses, kind="stable")
    singular = math.fsum(left[right == 0.0])
    return PrivacyLoss(losses=losses[order], masses=p[order], infinite_mass=singular)


def leaky_loss(worst: ApproxDP, times: int) -> LeakyLoss:
    """The loss of `times` leaky randomized responses: values (2j − k)·ε, and ∞ if one leaks.

    The masses are unconditional: (1−δ)^k times binomial probabilities, and 1 − (1−δ)^k at ∞.

    >>> loss = leaky_loss(ApproxDP(epsilon=math.log(3)), 2)
    >>> [round(mass, 12) for mass in loss.masses.tolist()]  # 1/16, 6/16, 9/16
    [0.0625, 0.375, 0.5625]
    """
    times = as_count("times", times)
    if times > _MOST_ROUNDS:
        raise NotSupported(f"times={times!r} must be at most {_MOST_ROUNDS} to list every loss")
    walk: Floats = 2.0 * np.arange(times + 1.0) - times
    logarithms = log_binomial(times, worst.epsilon)
    losses, masses, infinite = np.empty(0), np.empty(0), 1.0
    if worst.epsilon < math.inf and worst.delta < 1:
        stay = times * math.log1p(-worst.delta)
        losses, masses = walk * as_float(worst.epsilon), np.exp(logarithms + stay)
        infinite = 0.0 - math.expm1(stay)
    return LeakyLoss(
        losses=losses,
        masses=masses,
        infinite_mass=infinite,
        worst=worst,
        times=times,
        walk=walk,
        walk_log_masses=logarithms,
    )


def log_binomial(times: int, log_odds: float) -> Floats:
    """Logarithms of the probabilities of 0 … k successes at odds e^ε : 1.

    Loader's form: the deviances keep full accuracy where differences of log-gammas, of size
    k·ln k, would lose it. [Loader, Fast and accurate computation of binomial probabilities, 2000]
    """
    inverse = math.exp(-log_odds)
    success, log_success = 1.0 / (1.0 + inverse), -math.log1p(inverse)
    log_failure = log_success - log_odds
    result = np.empty(times + 1)
    result[0], result[times] = times * log_failure, times * log_success
    wins = np.arange(1.0, times)
    fails = times - wins
    if log_odds == math.inf:
        result[:times] = -math.inf
        return result
    result[1:times] = (
        _stirling_error(np.array([float(times)]))
        - _stirling_error(wins)
        - _stirling_error(fails)
        - _deviance(wins, times * success, math.log(times) + log_success)
        - _deviance(fails, times * (inverse * success), math.log(times) + log_failure)
        + 0.5 * np.log(times / (2.0 * math.pi * wins * fails))
    )
    return result


def _deviance(count: Floats, mean: float, log_mean: float) -> Floats:
    """x·ln(x/m) + m − x, by its series where x is near m; m itself may underflow, ln m does not."""
    gap = (count - mean) / (count + mean)
    far = count * (np.log(count) - log_mean) + mean - count
    power, series = 2.0 * count * gap, (count - mean) * gap
    for odd in range(3, 31, 2):
        power = power * gap * gap
        series = series + power / odd
    return np.where(np.abs(gap) < 0.1, series, far)


def _stirling_error(count: Floats) -> Floats:
    """ln(n!) − ln(√(2πn)·(n/e)^n), for n ≥ 1."""
    square = count * count
    series = np.full_like(count, 1.0 / 1188.0)
    for coefficient in (-1.0 / 1680.0, 1.0 / 1260.0, -1.0 / 360.0, 1.0 / 12.0):
        series = coefficient + series / square
    small = _SMALL_STIRLING_ERRORS[np.minimum(count, 15.0).astype(np.intp)]
    return np.where(count > 15.0, series / count, small)
