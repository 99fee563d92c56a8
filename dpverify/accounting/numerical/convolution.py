"""The distribution of a sum of independent losses on one grid, with its error.

*By Fourier transform.* Tilted masses w sum to 1, so |ŵ| ≤ 1 and the k-th power of a transform
that is off by e is off by at most k·|e|·(1+|e|)^(k−1). The transform of length n is taken to be
off by at most `TRANSFORM_ROUNDINGS`·log2(n) units in ℓ2, relative to the ℓ2 norm of the result:
about twice the constant of Higham, Accuracy and Stability of Numerical Algorithms, 2002, Thm 24.2,
for exact twiddle factors rounded once. Indices are taken modulo n, so what leaves the window on
one side enters it on the other; callers bound that mass.

*Directly*, by adding and multiplying positive numbers only: slow but for short laws; in return
every mass, however small, is right to a few roundings of itself. No tilt can do that where the
logarithm of the profile is convex, as it is for a rare large loss.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from dpverify.arrays import Floats
from dpverify.pairs.ramps import UNIT

TRANSFORM_ROUNDINGS = 12.0

_PRODUCT_ROUNDINGS = 2.5  # of one complex multiplication, at most √5
_NEGLIGIBLE = -90.0  # logarithm of the modulus below which a frequency is dropped


def window_length(count: int) -> int:
    """A length of at least `count` that transforms quickly."""
    return int(next_fast_len(max(count, 16), real=True))


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """Masses at indices 0 … n−1, the ℓ2 norm of their error, and the relative error of each.

    Both errors are bounds, and add up.
    """

    masses: Floats
    error: float
    relative_error: float


class Convolver:
    """Multiplies up the transforms of laws, each taken a number of times."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._product: NDArray[np.complex128] = np.ones(length // 2 + 1, dtype=np.complex128)
        self._active = np.arange(length // 2 + 1)
        self._transform_unit = TRANSFORM_ROUNDINGS * math.log2(length) * UNIT
        self._transform_error = 0.0  # Σ k·‖e‖₂/√n
        self._log_growth = 0.0  # ln of what (1+|e|)^k and masses above 1 may add up to
        self._products = 0.0

    def add(self, masses: Floats, first: int, times: int) -> None:
        """Take the law with these masses at first, first + 1, … another `times` times."""
        folded = _fold(masses, first, self.length)
        norm = _norm(folded)
        error = self._transform_unit * norm
        self._transform_error += times * error
        total = float(folded.sum())
        self._log_growth += times * (max(math.log(total), 0.0) + error * math.sqrt(self.length))
        self._products += 2.0 * times
        values = rfft(folded)[self._active]
        with np.errstate(divide="ignore"):
            moduli = times * np.log(np.abs(values))
        kept = moduli > _NEGLIGIBLE
        self._active = self._active[kept]
        self._product = self._product[kept] * _power(values[kept], times)

    def result(self) -> Convolution:
        """The law of the sum; frequencies that were dropped count as error."""
        spectrum = np.zeros(self.length // 2 + 1, dtype=np.complex128)
        spectrum[self._active] = self._product
        masses = irfft(spectrum, self.length)
        growth = math.exp(min(self._log_growth, 700.0))
        norm = _norm(masses)
        rounding = _PRODUCT_ROUNDINGS * UNIT * self._products + self._transform_unit
        dropped = math.exp(_NEGLIGIBLE) * math.sqrt(self.length)
        error = growth * (self._transform_error + dropped) + 2.0 * rounding * norm
        return Convolution(masses, error, 0.0)


def _norm(values: Floats) -> float:
    """The ℓ2 norm, without waking up the threads of a linear-algebra library."""
    return math.sqrt(float(np.square(values).sum()))


def _fold(masses: Floats, first: int, length: int) -> Floats:
    """Masses added up modulo `length`."""
    start = first % length
    size = -(-(start + len(masses)) // length) * length
    padded = np.zeros(size)
    padded[start : start + len(masses)] = masses
    folded: Floats = padded.reshape(-1, length).sum(axis=0)
    return folded


def _power(values: NDArray[np.complex128], times: int) -> NDArray[np.complex128]:
    """values^times by repeated squaring: relative error below `times` roundings of a product."""
    result = np.ones_like(values)
    while True:
        if times & 1:
            result = result * values
        times >>= 1
        if not times:
            return result
        values = values * values


class DirectConvolver:
    """Multiplies laws up as they come; keeps the whole sum."""

    def __init__(self) -> None:
        self._masses: Floats = np.ones(1)
        self._error = 0.0

    def add(self, masses: Floats, first: int, times: int) -> None:  # noqa: ARG002  # nothing is folded
        """Take the law with these masses another `times` times."""
        power, error = np.asarray(masses), 0.0
        while True:
            if times & 1:
                self._error += error + _roundings(self._masses, power)
                self._masses = np.convolve(self._masses, power)
            times >>= 1
            if not times:
                return
            error = 2.0 * error + _roundings(power, power)
            power = np.convolve(power, power)

    def result(self) -> Convolution:
        return Convolution(self._masses, 0.0, self._error)


def _roundings(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float:
    """Relative error of a sum of as many products as fit."""
    return 1.01 * UNIT * (min(len(first), len(second)) + 1)
