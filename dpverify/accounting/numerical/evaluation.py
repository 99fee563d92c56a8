"""The profile of a composed, tilted grid law, with every error bound added to the result.

With masses W tilted by e^(rate·s) and rescaled by e^−log_scale,

    δ(ε) = e^(log_scale − rate·ε) · Σ over s > ε of W(s)·ψ(s − ε), ψ(d) = e^(−rate·d)·(1 − e^(−d)).
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.accounting.numerical.spectrum import Spectrum
from dpverify.arrays import Floats
from dpverify.pairs.ramps import UNIT

_UNDERFLOW = 1e-200  # far above all that can have been lost below the smallest float
_FAR = 36.0  # exponent beyond which the kernel is bounded instead of summed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Composed:
    """One side of a composition: masses at losses start + i·step, and bounds on their errors.

    `error` bounds the ℓ2 norm of the error of the masses, `relative_error` a further error relative
    to each, `outside` the tilted mass beyond the window that a bound has to allow for, `below` what
    lies below the window, which an upper bound has to allow for at an ε there, `log_infinite` the
    mass under P at ∞, `loss_error` the error of the losses.
    """

    masses: Floats | Spectrum
    start: float
    step: float
    rate: float
    log_scale: float
    scale_error: float
    error: float
    relative_error: float
    outside: float
    below: float
    log_infinite: float
    loss_error: float

    def log_upper(self, epsilon: float) -> float:
        """A number not below ln δ(ε) of what the masses stand for."""
        return self.upper(epsilon)[0]

    def log_lower(self, epsilon: float) -> float:
        """A number not above ln δ(ε) of what the masses stand for; −∞ if nothing is certain."""
        return self.lower(epsilon)[0]

    def upper(self, epsilon: float) -> tuple[float, float]:
        """`log_upper`, and roughly d ln δ/dε."""
        epsilon -= self.loss_error
        total, shrunk = self._sums(epsilon)
        slope = _slope(total, shrunk)
        total = total * (1.0 + self._rounding) + self._charge
        if epsilon < self.start:
            total += self.below * self._peak * (1.0 + 2.0**-40)
        finite = (
            math.log(total) + self.log_scale - self.rate * epsilon + self._log_rounding(epsilon)
        )
        return float(np.logaddexp(finite, self.log_infinite)), slope

    def lower(self, epsilon: float) -> tuple[float, float]:
        """`log_lower`, and roughly d ln δ/dε."""
        epsilon += self.loss_error
        total, shrunk = self._sums(epsilon)
        slope = _slope(total, shrunk)
        total = total * (1.0 - self._rounding) - self._charge
        if total <= 0.0:
            return -math.inf, slope
        finite = math.log(total) + self.log_scale - self.rate * epsilon
        return finite - self._log_rounding(epsilon), slope

    def log_signal(self, epsilon: float) -> float:
        """The logarithm of the tilted mass that δ(ε) is read from."""
        total, _ = self._sums(epsilon)
        return math.log(total) if total > 0.0 else -math.inf

    def delta_noise(self, epsilon: float) -> float:
        """What errors may add up to, as a share of δ(ε)."""
        total, shrunk = self._sums(epsilon)
        return (self._charge + self.loss_error * shrunk) / total if total > 0.0 else 0.0

    def epsilon_noise(self, epsilon: float) -> float:
        """By how much they may move the ε at which the profile takes its value at `epsilon`."""
        _, shrunk = self._sums(epsilon)
        return self.loss_error + (self._charge / shrunk if shrunk > 0.0 else 0.0)

    def log_charge(self, epsilon: float) -> float:
        """The logarithm of what errors may add to δ(ε)."""
        _, shrunk = self._sums(epsilon)
        charge = self._charge + self.loss_error * shrunk
        return math.log(charge) + self.log_scale - self.rate * epsilon

    def _sums(self, epsilon: float) -> tuple[float, float]:
        """Σ W·ψ, and Σ W·e^(−(rate+1)·d), over the losses s = ε + d above ε."""
        if epsilon >= self.start + self.step * len(self.masses):
            return 0.0, 0.0
        first = max(math.ceil((epsilon - self.start) / self.step), 0)
        if isinstance(self.masses, Spectrum):
            ahead = max((self.start - epsilon) + self.step * first, 0.0)
            plain, shrunk = (
                math.exp(-rate * ahead) * self.masses.decayed(first, rate * self.step)
                for rate in self._decays
            )
            return plain - shrunk, shrunk
        masses = self.masses[first : first + self._reach]
        distance = (self.start - epsilon) + self.step * np.arange(first, first + len(masses))
        distance = np.maximum(distance, 0.0)
        weighted = masses * np.exp(-self.rate * distance)
        total = float((weighted * -np.expm1(-distance)).sum())
        return total, float((weighted * np.exp(-distance)).sum())

    @property
    def _decays(self) -> tuple[float, float]:
        """The two rates at which the terms of the kernel fall."""
        return self.rate, self.rate + 1.0

    @property
    def _reach(self) -> int:
        """How many nodes are summed: as far as the kernel counts beside the error of the masses."""
        if self.error == 0.0 or self.rate == 0.0 or isinstance(self.masses, Spectrum):
            return len(self.masses)
        return min(len(self.masses), math.ceil(_FAR / (self.rate * self.step)) + 1)

    @property
    def _rounding(self) -> float:
        """Relative error of a sum of positive terms, each with an exponential in it."""
        if isinstance(self.masses, Spectrum):
            return 64.0 * UNIT
        exponent = (1.0 + self.rate) * self.step * self._reach
        rounding = UNIT * (64.0 + 4.0 * exponent + 2.0 * math.log2(len(self.masses)))
        return rounding + self.relative_error

    def _log_rounding(self, epsilon: float) -> float:
        return self.scale_error + 8.0 * UNIT * (
            abs(self.log_scale) + self.rate * abs(epsilon) + 1.0
        )

    @property
    def _peak(self) -> float:
        """The largest ψ, at d = ln(1 + 1/rate)."""
        rate = self.rate
        return math.exp(-rate * math.log1p(1.0 / rate)) / (1.0 + rate) if rate > 0.0 else 1.0

    @property
    def _charge(self) -> float:
        """What errors of the masses may add to the sum.

        ψ has one maximum, so Σψ² is at most ∫ψ²/step + 2·max ψ².
        """
        rate, peak, square = self.rate, self._peak, float(len(self.masses))
        if rate > 0.0:
            integral = 2.0 / (2.0 * rate * (2.0 * rate + 1.0) * (2.0 * rate + 2.0))
            square = min(square, integral / self.step + 2.0 * peak * peak)
        masses = self.error * math.sqrt(square) + self.outside * peak
        if isinstance(self.masses, Spectrum):
            masses += math.fsum(self.masses.rounding(rate * self.step) for rate in self._decays)
        beyond = 0.0 if self._reach == len(self.masses) else math.exp(-_FAR)
        return (masses + beyond) * (1.0 + 2.0**-40) + _UNDERFLOW


@dataclass(frozen=True, slots=True)
class Summed:
    """One end of a sum of compositions, which occur side by side, and of mass at ∞."""

    terms: tuple[Composed, ...]
    log_infinite: float

    @property
    def step(self) -> float:
        return min(term.step for term in self.terms)

    def log_upper(self, epsilon: float) -> float:
        return self.upper(epsilon)[0]

    def log_lower(self, epsilon: float) -> float:
        return self.lower(epsilon)[0]

    def upper(self, epsilon: float) -> tuple[float, float]:
        """A number not below ln δ(ε), and roughly d ln δ/dε."""
        value, slope = _sum([term.upper(epsilon) for term in self.terms])
        total = float(np.logaddexp(value, self.log_infinite))
        return total + self._rounding(total), slope * math.exp(value - total)

    def lower(self, epsilon: float) -> tuple[float, float]:
        """A number not above ln δ(ε), and roughly d ln δ/dε."""
        value, slope = _sum([term.lower(epsilon) for term in self.terms])
        return value - self._rounding(value), slope

    def log_signal(self, epsilon: float) -> float:
        """That of the term that δ(ε) is mostly read from."""
        largest = max(self.terms, key=lambda term: term.log_upper(epsilon))
        return largest.log_signal(epsilon)

    def delta_noise(self, epsilon: float) -> float:
        """What errors may add up to, as a share of δ(ε)."""
        log_delta = self.log_upper(epsilon)
        charges = [term.log_charge(epsilon) - log_delta for term in self.terms]
        return math.fsum(math.exp(min(charge, 0.0)) for charge in charges)

    def epsilon_noise(self, epsilon: float) -> float:
        """By how much they may move the ε at which the profile takes its value at `epsilon`."""
        slope = self.upper(epsilon)[1]
        return self.delta_noise(epsilon) / -slope if slope < 0.0 else 0.0

    def _rounding(self, log_delta: float) -> float:
        """Of adding the terms up as logarithms."""
        if log_delta == -math.inf:
            return 0.0
        return 8.0 * UNIT * len(self.terms) * (1.0 + abs(log_delta))


def _sum(terms: list[tuple[float, float]]) -> tuple[float, float]:
    """ln Σ e^value, and its slope."""
    values, slopes = (np.array(side) for side in zip(*terms, strict=True))
    total = float(np.logaddexp.reduce(values))
    if math.isinf(total):
        return total, -math.inf
    known = np.isfinite(slopes)
    return total, float((np.exp(values[known] - total) * slopes[known]).sum())


def _slope(total: float, shrunk: float) -> float:
    return -shrunk / total if total > 0.0 else -math.inf
