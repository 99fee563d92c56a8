"""The distribution of a sum of independent losses on one grid, with its error.

*By Fourier transform.* Tilted masses w sum to 1, so |ŵ| ≤ 1 and the k-th power of a transform
that is off by e is off by at most k·|e|·(1+|e|)^(k−1). The transform of length n is taken to be
off by at most `TRANSFORM_ROUNDINGS`·log2(n) units in ℓ2, relative to the ℓ2 norm of the result:
proofs/fourier_rounding.py, for passes of radix 2 to 5. Indices are taken modulo n, so what leaves
the window on one side enters it on the other; callers bound that mass.

A law that is nearly one atom is powered through its logarithm: with the heaviest node moved to
index 0 and the rest r, ŵᵏ = exp(k·log1p(w₀ − 1 + r̂)). The atom is not rounded, only the small r̂
is, and moving nodes is exact.

*Directly*, by adding and multiplying positive numbers only: slow but for short laws; in return
every mass, however small, is right to a few roundings of itself. No tilt can do that where the
logarithm of the profile is convex, as it is for a rare large loss. A thousand different laws that
are short beside the window are multiplied up directly first, many to one transform.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.accounting import deadline
from dpverify.arrays import Floats
from dpverify.pairs.ramps import UNIT

TRANSFORM_ROUNDINGS = 12.0
LOGARITHM_ROUNDINGS = 16.0  # half of those of a power by logarithms: proofs/numerical_rounding.py

_PRODUCT_ROUNDINGS = 2.5  # of one complex multiplication, at most √5
_NEARLY_ALL = 0.9  # the share of a law in one node from which on logarithms are taken around it
_WORTH_IT = 4  # products, over the length of a window, that cost less than another transform
_NEGLIGIBLE = -90.0  # logarithm of the modulus below which a frequency is dropped


def window_length(count: int) -> int:
    """A length of at least `count` that transforms quickly."""
    return int(scipy.fft.next_fast_len(max(count, 16), real=True))


Masses = TypeVar("Masses")


@dataclass(frozen=True, slots=True, eq=False)
class Convolution(Generic[Masses]):
    """Masses at indices 0 … n−1, the ℓ2 norm of their error, and the relative error of each.

    Both errors are bounds, and add up.
    """

    masses: Masses
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
        self._roundings = 0.0  # relative ones of the product, in units
        self._moved = 0  # how far the law of the sum lies above that of the product
        self._waiting, self._waiting_first = DirectConvolver(), 0
        self._relative_error = 0.0  # of what was multiplied up directly

    def add(self, masses: Floats, first: int, times: int) -> None:
        """Take the law with these masses at first, first + 1, … another `times` times."""
        if times > 1:
            self._transform(masses, first, times)
            return
        if len(masses) * self._waiting.length > _WORTH_IT * self.length:
            self._flush()
        self._waiting.add(masses, first, 1)
        self._waiting_first += first

    def _flush(self) -> None:
        """Transform what was multiplied up directly."""
        if self._waiting.is_empty:
            return
        found = self._waiting.result()
        self._relative_error += found.relative_error
        self._transform(found.masses, self._waiting_first, 1)
        self._waiting, self._waiting_first = DirectConvolver(), 0

    def _transform(self, masses: Floats, first: int, times: int) -> None:
        deadline.check()
        folded = _fold(masses, first, self.length)
        total, heaviest = float(folded.sum()), int(np.argmax(folded))
        if times > 1 and folded[heaviest] > _NEARLY_ALL * total:
            self._moved = (self._moved + times * heaviest) % self.length
            error = self._multiply_around(np.roll(folded, -heaviest), times)
        else:
            error = self._multiply(folded, times)
        self._transform_error += times * error
        self._log_growth += times * (max(math.log(total), 0.0) + error * math.sqrt(self.length))

    def _multiply(self, folded: Floats, times: int) -> float:
        """Multiply by the transform's power; the error of the transform over √n."""
        self._roundings += 2.0 * _PRODUCT_ROUNDINGS * times
        values = scipy.fft.rfft(folded)[self._active]
        with np.errstate(divide="ignore"):
            kept = times * np.log(np.abs(values)) > _NEGLIGIBLE
        self._keep(kept, _power(values[kept], times))
        return self._transform_unit * _norm(folded)

    def _multiply_around(self, folded: Floats, times: int) -> float:
        """The same for a law with nearly all of its mass at index 0."""
        lack = float(folded[0]) - 1.0  # exact, since masses add up to about 1
        rest = folded.copy()
        rest[0] = 0.0
        most = abs(lack) + float(rest.sum())
        self._roundings += LOGARITHM_ROUNDINGS * (1.0 + times * most)
        values = scipy.fft.rfft(rest)[self._active] + lack
        real, imaginary = values.real, values.imag
        log_moduli = times * np.log1p(real * (2.0 + real) + imaginary * imaginary) / 2.0
        angles = times * np.arctan2(imaginary, 1.0 + real)
        kept = log_moduli > _NEGLIGIBLE
        self._keep(kept, np.exp(log_moduli[kept] + 1j * angles[kept]))
        return self._transform_unit * _norm(rest) + 2.0 * UNIT * most

    def _keep(self, kept: NDArray[np.bool_], factor: NDArray[np.complex128]) -> None:
        self._active = self._active[kept]
        self._product = self._product[kept] * factor

    def result(self) -> Convolution[Floats]:
        """The law of the sum; frequencies that were dropped count as error."""
        self._flush()
        spectrum = np.zeros(self.length // 2 + 1, dtype=np.complex128)
        spectrum[self._active] = self._product
        masses = np.roll(scipy.fft.irfft(spectrum, self.length), self._moved)
        growth = math.exp(min(self._log_growth, 700.0))
        norm = _norm(masses)
        rounding = UNIT * self._roundings + self._transform_unit
        dropped = math.exp(_NEGLIGIBLE) * math.sqrt(self.length)
        error = growth * (self._transform_error + dropped) + 2.0 * rounding * norm
        error *= 1.0 + 2.0 * self._relative_error
        return Convolution(masses, error, self._relative_error)


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
        self.is_empty = True

    @property
    def length(self) -> int:
        return len(self._masses)

    def add(self, masses: Floats, first: int, times: int) -> None:  # noqa: ARG002  # nothing is folded
        """Take the law with these masses another `times` times."""
        power, error = np.asarray(masses), 0.0
        if self.is_empty and times == 1:
            self._masses, self.is_empty = power, False
            return
        self.is_empty = False
        while True:
            if times & 1:
                self._error += error + _roundings(self._masses, power)
                self._masses = np.convolve(self._masses, power)
            times >>= 1
            if not times:
                return
            error = 2.0 * error + _roundings(power, power)
            power = np.convolve(power, power)

    def result(self) -> Convolution[Floats]:
        return Convolution(self._masses, 0.0, self._error)


def _roundings(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float:
    """Relative error of a sum of as many products as fit."""
    return 1.01 * UNIT * (min(len(first), len(second)) + 1)
