"""The law of a very long sum from its low frequencies, if its window is too long to hold.

The sum of a million losses needs a grid that is fine for one loss and a window that is wide enough
for a thousand standard deviations of it: hundreds of millions of nodes. But it is so smooth that
its transform vanishes beyond a few dozen frequencies. These are summed up from the masses of one
loss, which fit; the profile is then a sum over frequencies, not over nodes.

*At a frequency θ* the transform of one loss X around a node c near its mean is 1 + z with
z = Σ w·(e^(−iθ(X−c)) − 1) + Σw − 1, every term of which is small, and its k-th power
e^(k·log1p(z)): rounding is relative to θ·E|X−c| ≈ 1/√k, not to 1.

*Beyond the highest one kept*, |ŵ(θ)|ᵏ ≤ e^−90 is shown, not observed. Next to it, by
cos t ≤ 1 − t²/2 + t⁴/24 for the difference of two independent losses,

    |ŵ(θ)|² ≤ W² − θ²·D₂/2 + θ⁴·D₄/24,   Dₙ = Σ wᵢwⱼ(i − j)ⁿ;

from the second root of that on by a transform of one loss, since |ŵ|² bends by at most D₂ between
two of its frequencies. A law on a coarser lattice than the grid has |ŵ| = 1 again at a higher
frequency: this is seen there, and refused.

What is charged for rounding is derived in proofs/low_frequencies.py.
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.accounting import deadline
from dpverify.accounting.numerical.convolution import TRANSFORM_ROUNDINGS, Convolution
from dpverify.arrays import Floats
from dpverify.pairs.ramps import UNIT

Complexes = NDArray[np.complex128]

_NEGLIGIBLE = -90.0  # logarithm of the modulus that frequencies left out stay below
_MOST_FREQUENCIES = 2048
_FARTHEST = 0.4  # of |z|, for its logarithm
_LOGARITHM_ROUNDINGS = 64.0  # of k·log1p(z) and its exponential, over 1 + k·|z|
_ANGLE_ROUNDINGS = 64.0  # of a power of a root of unity, and of what it is multiplied with
_MODULUS_ROUNDINGS = 128.0  # of e^(−90/k), whose exponent is rounded as well
_AT_ONCE = 1 << 8  # frequencies, so that tables stay small
_BLOCK = 1 << 10  # nodes whose powers of a root of unity are shared
_LEAST_LENGTH = 1 << 12  # of the transform that high frequencies are looked at by
_SLACK = 1e-6  # relative, for moments that are rounded
_LEAST_SQUARES = 1e-3  # of the steps by which two losses differ, for their moments not to cancel


class Unresolved(Exception):
    """Raised if low frequencies do not describe a law, or there are too many of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """A cyclic law of `length` masses, as its transform at the frequencies 0, 1, …, and no others.

    Negative frequencies are the conjugates.
    """

    length: int
    values: Complexes

    def __len__(self) -> int:
        return self.length

    def rolled(self, back: int) -> "Spectrum":
        """The same law with the mass at `back` moved to index 0."""
        return Spectrum(self.length, self.values * self._roots(back))

    def decayed(self, first: int, decay: float) -> float:
        """Σ mᵢ·e^(−decay·(i − first)) over i from `first` to the last index."""
        count = self.length - first
        end = math.exp(-decay * count) * self._roots(count)
        sums = np.full(len(self.values), _geometric(decay, count), dtype=np.complex128)
        sums[1:] = (1.0 - end[1:]) / self._steps(decay)[1:]
        return self._total((self.values * self._roots(first) * sums).real)

    def rounding(self, decay: float) -> float:
        """A bound on the error of `decayed`, from any index, beyond that of the values."""
        sizes = np.abs(self.values)
        sizes[0] *= _geometric(decay, self.length)
        sizes[1:] *= 2.0 / np.abs(self._steps(decay)[1:])
        return UNIT * (2.0 * _ANGLE_ROUNDINGS + len(self.values)) * self._total(sizes)

    def norm(self) -> float:
        """The ℓ2 norm of the masses."""
        return math.sqrt(self._total(np.abs(self.values) ** 2))

    def _total(self, terms: Floats) -> float:
        """The sum over all frequencies, over the length."""
        return float(terms[0] + 2.0 * terms[1:].sum()) / self.length

    def _roots(self, power: int) -> Complexes:
        return _roots(self.length, len(self.values), power)

    def _steps(self, decay: float) -> Complexes:
        """1 − e^(−decay + iθ) at each frequency, free of cancellation for θ up to π/2."""
        theta = 2.0 * math.pi * np.arange(len(self.values)) / self.length
        real = -math.expm1(-decay) * np.cos(theta) + 2.0 * np.sin(theta / 2.0) ** 2
        return real - 1j * (math.exp(-decay) * np.sin(theta))


def _geometric(decay: float, count: int) -> float:
    """Σ e^(−decay·j) over j = 0 … count − 1, for any decay ≥ 0: that of frequency 0."""
    return math.expm1(-decay * count) / math.expm1(-decay) if decay else float(count)


def _roots(length: int, count: int, power: int) -> Complexes:
    """e^(2πi·f·power/length) for f = 0, 1, …, with the whole turns taken off exactly."""
    power = int(power)  # of numpy's integers products would overflow
    turns = np.array([f * power % length for f in range(count)], dtype=np.float64)
    roots: Complexes = np.exp(2j * math.pi * (turns / length))
    return roots


class LowFrequencies:
    """Multiplies up the transforms of laws, each taken a number of times, at low frequencies."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._laws: list[tuple[Floats, int, int]] = []

    def add(self, masses: Floats, first: int, times: int) -> None:
        """Take the law with these masses at first, first + 1, … another `times` times."""
        self._laws.append((masses, first, times))

    def result(self) -> Convolution[Spectrum]:
        """The law of the sum; `Unresolved` if it is not to be had like this."""
        laws = [_Law.of(*law) for law in self._laws]
        highest = min((law.highest(self.length) for law in laws), default=0.0)
        if highest == math.inf:
            raise Unresolved
        count = 1 + int(highest)
        values = np.ones(count, dtype=np.complex128)
        log_errors = np.zeros(count)
        log_total = 0.0
        for law in laws:
            deadline.check()
            factor, log_error = law.power(self.length, count)
            values *= factor
            log_errors += log_error
            log_total += law.times * (max(math.log(law.total), 0.0) + 16.0 * UNIT)
        spectrum = Spectrum(self.length, values)
        off = Spectrum(self.length, values * np.expm1(log_errors + 8.0 * UNIT * len(laws)))
        dropped = math.exp(_NEGLIGIBLE + log_total)
        return Convolution(spectrum, (off.norm() + dropped) * (1.0 + _SLACK), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Law:
    """The masses of one loss at offset, offset + 1, … around the node `center`."""

    masses: Floats
    offset: int
    center: int
    times: int
    total: float

    @classmethod
    def of(cls, masses: Floats, first: int, times: int) -> "_Law":
        total = math.fsum(masses)
        middle = round(float(masses @ np.arange(len(masses), dtype=np.float64)) / total)
        return cls(masses=masses, offset=-middle, center=first + middle, times=times, total=total)

    def highest(self, length: int) -> float:
        """A frequency beyond which the power's transform is negligible, for certain; or ∞."""
        offsets = self.offset + np.arange(len(self.masses), dtype=np.float64)
        first, second, third, fourth = (
            float((self.masses * offsets**power).sum()) for power in (1, 2, 3, 4)
        )
        squares = 2.0 * (self.total * second - first * first) * (1.0 - _SLACK)
        fourths = 2.0 * (self.total * fourth + 4.0 * abs(first * third) + 3.0 * second * second)
        fourths *= 1.0 + _SLACK
        modulus = math.exp(_NEGLIGIBLE / self.times) * (1.0 - _MODULUS_ROUNDINGS * UNIT)
        lack = self.total**2 - modulus**2 + 16.0 * UNIT
        root = squares * squares / 4.0 - lack * fourths / 6.0
        if not (root > 0.0 and squares > _LEAST_SQUARES):
            return math.inf
        low = math.sqrt(2.0 * lack / (squares / 2.0 + math.sqrt(root))) * (1.0 + _SLACK)
        high = math.sqrt((squares / 2.0 + math.sqrt(root)) * 12.0 / fourths) * (1.0 - _SLACK)
        frequency = math.ceil(low * length / (2.0 * math.pi))
        if frequency >= _MOST_FREQUENCIES or low >= math.pi / 4.0:
            return math.inf
        if high < math.pi and self._largest_from(high, squares) > modulus:
            return math.inf
        return float(frequency)

    def _largest_from(self, theta: float, squares: float) -> float:
        """A bound on |ŵ| at θ and beyond, by its values at evenly spaced frequencies."""
        deadline.check()
        length = scipy.fft.next_fast_len(max(2 * len(self.masses), _LEAST_LENGTH), real=True)
        unit = 2.0 * math.pi / length
        moduli = np.abs(scipy.fft.rfft(self.masses, length)[max(math.floor(theta / unit) - 1, 0) :])
        norm = math.sqrt(length * float(np.square(self.masses).sum()))
        rounding = TRANSFORM_ROUNDINGS * math.log2(length) * UNIT * norm
        largest = float(moduli.max()) + rounding
        between = unit * unit / 8.0 * squares * (1.0 + 4.0 * _SLACK)
        return math.sqrt(largest * largest + between) * (1.0 + 16.0 * UNIT)

    def power(self, length: int, count: int) -> tuple[Complexes, Floats]:
        """The power's transform at the first frequencies, and the logarithm of 1 + its error."""
        z, sizes = self._around(length, count)
        moduli = np.abs(z)
        if not moduli.max() <= _FARTHEST:
            raise Unresolved
        real, imaginary = z.real, z.imag
        log_moduli = self.times * np.log1p(real * (2.0 + real) + imaginary * imaginary) / 2.0
        angles = self.times * np.arctan2(imaginary, 1.0 + real)
        moved = _roots(length, count, -self.times * self.center)
        values = np.exp(log_moduli + 1j * angles) * moved
        # |1 + z| is at least 1 − 0.4, and 1/0.6 < 2.
        errors = 2.0 * self.times * sizes
        errors += UNIT * (_LOGARITHM_ROUNDINGS * (1.0 + self.times * moduli) + _ANGLE_ROUNDINGS)
        return values, errors

    def _around(self, length: int, count: int) -> tuple[Complexes, Floats]:
        """z at the first frequencies, and its error.

        With X − c = a·B + b, e^(−iθ(aB+b)) − 1 = e^(−iθaB)·(e^(−iθb) − 1) + (e^(−iθaB) − 1).
        """
        before = self.offset % _BLOCK  # so that the node c begins a block
        rows = -(-(before + len(self.masses)) // _BLOCK)
        padded = np.zeros(rows * _BLOCK)
        padded[before : before + len(self.masses)] = self.masses
        table = padded.reshape(rows, _BLOCK)
        blocks = (self.offset - before) // _BLOCK + np.arange(rows)
        sums, frequencies = table.sum(axis=1), np.arange(count)
        z = np.empty(count, dtype=np.complex128)
        for start in range(0, count, _AT_ONCE):
            some = frequencies[start : start + _AT_ONCE]
            inner = _less_one(np.outer(np.arange(_BLOCK), some), length)
            outer = _less_one(np.outer(_BLOCK * blocks, some), length)
            within = table @ inner.real + 1j * (table @ inner.imag)
            z[some] = (within + outer * (within + sums[:, np.newaxis])).sum(axis=0)
        spread = float((table @ np.arange(float(_BLOCK)) + _BLOCK * sums * np.abs(blocks)).sum())
        theta = 2.0 * math.pi * frequencies / length
        roundings = _ANGLE_ROUNDINGS + 4.0 * (_BLOCK + rows)
        sizes = UNIT * (roundings * spread * theta * (1.0 + _SLACK) + 4.0)
        return z + (self.total - 1.0), sizes


def _less_one(multiples: NDArray[np.int64], length: int) -> Complexes:
    """e^(−2πi·m/length) − 1 for whole m, right to a few roundings of |2π·m/length|."""
    angles = 2.0 * math.pi * (multiples / length)
    return -2.0 * np.sin(angles / 2.0) ** 2 - 1j * np.sin(angles)
