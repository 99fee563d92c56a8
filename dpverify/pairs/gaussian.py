"""N(μ, 1) against N(0, 1): the dominating pair of Gaussian noise."""

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from flint import arb

from dpverify.balls import ball
from dpverify.errors import InvalidParameter, as_positive, as_real, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import LossLaw, normal_law

_LEAST = 1e-300  # of δ, that floats tell from 0 with all their digits
_NEAR = 2.0**-40  # how close a crossing found in floats is, in most cases
_FAR = 2.0**40  # beyond, Mills' ratio lies between x/(1+x²) and 1/x: known to 2^-80 of itself


@dataclass(frozen=True, slots=True)
class GaussianPair(Pair):
    """Left N(μ, 1), right N(0, 1), given by μ² as a rational so that compositions stay exact.

    The privacy loss is normal with mean μ²/2 under P and variance μ². [BW18 Lemma 3]

    >>> GaussianPair.of(sigma=1.0, sensitivity=1.0).delta(1.0)
    0.12693673750664397
    """

    squared_mu: Fraction
    singular_mass = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.squared_mu, Fraction):
            settle(self, squared_mu=Fraction(_finite("squared_mu", self.squared_mu)))
        if not self.squared_mu >= 0:
            raise InvalidParameter(f"squared_mu={self.squared_mu!r} must not be negative")

    @classmethod
    def of(cls, *, sigma: float, sensitivity: float) -> "GaussianPair":
        """The pair of noise N(0, σ²) on two answers that differ by `sensitivity` in ℓ2."""
        sigma = as_positive("sigma", sigma)
        sensitivity = as_positive("sensitivity", sensitivity)
        return cls((Fraction(sensitivity) / Fraction(sigma)) ** 2)

    @property
    def mu(self) -> arb:
        return ball(self.squared_mu).sqrt()

    @property
    def reversed(self) -> "GaussianPair":
        """Reflecting about μ/2 exchanges the two distributions."""
        return self

    @property
    def max_loss(self) -> float:
        return math.inf if self.squared_mu else 0.0

    def profile_ball(self, epsilon: arb) -> arb:
        """Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ). [BW18 Thm 8]"""
        if not self.squared_mu:
            return (1 - epsilon.exp()).max(arb(0))
        center, half = epsilon / self.mu, self.mu / 2
        low, high = center - half, center + half
        if high > _FAR:
            # Arb does not follow 1−Φ beyond 2^64; e^ε·(1−Φ(high)) = φ(low)·Mills(high) it does.
            density = (-low * low / 2).exp() / (2 * arb.pi()).sqrt()
            return upper_tail(low) - density * (high / (1 + high * high)).union(1 / high)
        return upper_tail(low) - epsilon.exp() * upper_tail(high)

    def trade_off_ball(self, false_alarm: arb) -> arb:
        """Φ(Φ⁻¹(1 − α) − μ). [DRS22 eq. 6]"""
        if not self.squared_mu or false_alarm.is_integer():
            return 1 - false_alarm
        threshold = arb(2).sqrt() * (2 * false_alarm).erfcinv()
        return upper_tail(self.mu - threshold)

    def renyi_ball(self, order: arb) -> arb:
        return order * ball(self.squared_mu) / 2

    def kullback_leibler_ball(self) -> arb:
        return self.renyi_ball(arb(1))

    def loss_law(self) -> LossLaw:
        return normal_law(float(self.mu), left=1.0, right=0.0)

    def _around(self, delta: float) -> tuple[float, float]:
        found = crossing(float(self.mu), delta)
        return found * (1 - _NEAR), found * (1 + _NEAR) if found else math.inf

    def grouped(self, size: int) -> "GaussianPair":
        """The shifts of all records may point the same way."""
        return GaussianPair(self.squared_mu * size**2)

    def merged(self, times: int, other: Pair | None, others: int) -> Pair | None:
        """The μ² add up. [DRS22 Cor. 2]"""
        if other is None:
            return GaussianPair(self.squared_mu * times)
        if not isinstance(other, GaussianPair):
            return None
        return GaussianPair(self.squared_mu * times + other.squared_mu * others)


def _finite(name: str, value: object) -> float:
    number = as_real(name, value)
    if abs(number) == math.inf:
        raise InvalidParameter(f"{name}={value!r} must be finite")
    return number


def crossing(mu: float, delta: float) -> float:
    """The ε at which the profile is δ, in floats; 0 if there is none above 0 that floats can tell.

    By Newton's method on ln δ, which is concave, from the right: Φ(μ/2 − ε/μ) alone is δ there.
    """
    if not _LEAST < delta < 1:
        return 0.0
    half = math.sqrt(0.5)
    epsilon = mu * (mu / 2 - NormalDist().inv_cdf(delta))
    for _ in range(50):
        if not 0 < epsilon < 700:
            return 0.0
        tail = math.exp(epsilon) * math.erfc((epsilon / mu + mu / 2) * half) / 2
        profile = math.erfc((epsilon / mu - mu / 2) * half) / 2 - tail
        if not (tail > 0 and profile > 0):
            return 0.0
        step = profile / tail * math.log(profile / delta)
        epsilon += step
        if abs(step) <= 1e-12 * epsilon:
            break
    return max(epsilon, 0.0)


def upper_tail(x: arb) -> arb:
    """1 − Φ(x), without cancellation."""
    return (x / arb(2).sqrt()).erfc() / 2
