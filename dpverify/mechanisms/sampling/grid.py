"""The grid of float-safe noise: the set of possible outputs does not depend on the data.

An answer x is rounded to the nearest multiple of a grid step g, a power of two that is fixed by
declared parameters and the answer's shape alone, and an integer number of steps is added. That
integer has exactly the law of rounded continuous noise. Rounding commutes with adding whole
steps, so the release is a function of (rounded answer + continuous noise), and the theorem for
continuous noise applies with the sensitivity of the *rounded* answer. `rounded_sensitivity`
bounds it, and the noise is made larger by as much, so that the claim is that of the declared
parameters, unchanged.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsFloat

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.errors import GREATEST_EXPONENT, LEAST_EXPONENT, InvalidParameter, as_count, settle
from dpverify.mechanisms.sampling.inversion import LARGEST_SCALE, nearest_steps
from dpverify.mechanisms.sampling.magnitudes import Exponential, HalfNormal

FINE = 20  # the default step adds at most 2^-FINE of the sensitivity in ordinary cases

_LIMIT = 1 << 61  # answers and releases are clamped to ±2^61 steps; noise to ±2^62
_RESOLVED = 1 << 53  # beyond, several multiples of the step share one float


def exact(value: SupportsFloat) -> Fraction:
    """The number itself, checked to be a finite real."""
    return Fraction(value) if isinstance(value, (int, Fraction)) else Fraction(float(value))


@dataclass(frozen=True, slots=True)
class Grid:
    """All multiples of 2^exponent."""

    exponent: int

    def steps(self, answer: Floats) -> Ints:
        """⌊answer/g + 1/2⌋, clamped to ±2^61; exact, since scaling by powers of two is.

        Halves go up and not to even integers: so answers within n steps of each other, n whole,
        stay so.
        """
        with np.errstate(over="ignore"):  # an infinite product is clamped like any large one
            halves = np.ldexp(answer, 1 - self.exponent)
        whole = np.floor(np.clip(halves, -2.0 * _LIMIT, 2.0 * _LIMIT)).astype(np.int64)
        rounded: Ints = (whole + 1) >> 1
        return rounded

    def release(self, answer: Floats, noise: Ints) -> Floats:
        """The rounded answer plus `noise` steps, clamped, as floats.

        The clamp does not look at the data: where noise was cut at ±2^62, the sum is at ±2^61
        either way.
        """
        total = np.clip(self.steps(answer) + noise, -_LIMIT, _LIMIT)
        released: Floats = np.ldexp(total.astype(np.float64), self.exponent)
        return released

    def noise_of(self, outputs: Floats, answer: Floats) -> tuple[Ints, NDArray[np.bool_]]:
        """The noise (in steps) from `answer` to each output, and which outputs are possible."""
        with np.errstate(over="ignore"):
            scaled = np.ldexp(outputs, -self.exponent)
        if not (np.abs(scaled) < _RESOLVED).all():
            raise InvalidParameter(
                f"outputs must lie within 2^53 grid steps of 2^{self.exponent}, "
                "since beyond that several of them are the same float"
            )
        whole = np.floor(scaled)
        return whole.astype(np.int64) - self.steps(answer), whole == scaled

    def whole_steps_in(self, length: Fraction) -> int:
        """The least whole number of steps that is at least `length`."""
        return math.ceil(length / Fraction(2) ** self.exponent)

    def rounded_sensitivity(self, sensitivity: Fraction, norm: float, dimension: int) -> arb:
        """A bound on ‖round(x) − round(x′)‖ in steps, if ‖x − x′‖ ≤ sensitivity.

        A coordinate that moves by t steps moves by at most ⌈t⌉ < t + 1 whole ones. For one
        coordinate or the maximum norm the bound is hence ⌈Δ/g⌉; for the sum, an integer below
        Δ/g + d, it is ⌈Δ/g⌉ + d − 1; otherwise Δ/g + d^(1/p) by the triangle inequality.
        """
        whole = self.whole_steps_in(sensitivity)
        if dimension == 1 or norm == math.inf:
            return arb(whole)
        if norm == 1:
            return arb(whole + dimension - 1)
        return ball(sensitivity / Fraction(2) ** self.exponent) + spread(norm, dimension)


def spread(norm: float, dimension: int) -> arb:
    """d^(1/p): the norm of the vector of d ones."""
    if norm == math.inf:
        return arb(1)
    return arb(dimension) ** (1 / ball(norm))


@dataclass(frozen=True, slots=True)
class GridNoise:
    """Noise of a given scale on a query of a given sensitivity, rounded to a grid.

    The ratio of scale to sensitivity, on which the guarantee rests, is kept: `scale_in_steps` is
    not below `scale`/`sensitivity` times the sensitivity of the rounded answer.
    """

    scale: SupportsFloat
    sensitivity: SupportsFloat
    norm: float
    dimension: int
    exponent: int | None
    fine: int = FINE

    def __post_init__(self) -> None:
        settle(self, dimension=as_count("dimension", self.dimension))

    def released(
        self, law: Exponential | HalfNormal, answer: Floats, size: int, rng: np.random.Generator
    ) -> Floats:
        """`size` releases of the answer, with independent noise on each coordinate."""
        shape = (size, *answer.shape)
        return self.grid.release(answer, nearest_steps(law, self.scale_in_steps, shape, rng))

    def log_masses(self, law: Exponential | HalfNormal, outputs: Floats, answer: Floats) -> Floats:
        """The log probability of each coordinate of `released` outputs; −∞ off the grid."""
        steps, reachable = self.grid.noise_of(outputs, answer)
        return np.where(reachable, law.log_rounded_mass(steps, self.scale_in_steps), -np.inf)

    @property
    def grid(self) -> Grid:
        """The declared grid, or a default that balances privacy cost against speed.

        Rounding should add at most 2^-fine to the sensitivity; the scale should be at most 2^32
        steps, or floats settle too few draws; in no case should rounding add more than 2^-6 of
        the sensitivity or the step exceed 2^-12 of the scale.
        """
        if self.exponent is not None:
            return Grid(int(self.exponent))
        scale = _floor_log2(exact(self.scale))
        ones = math.ceil(math.log2(self.dimension) / self.norm)
        share = _floor_log2(exact(self.sensitivity)) - ones
        chosen = min(max(share - self.fine, scale - 32), share - 6, scale - 12)
        if not LEAST_EXPONENT <= chosen <= GREATEST_EXPONENT:
            raise InvalidParameter(
                f"noise scale={float(self.scale)!r} and sensitivity={float(self.sensitivity)!r} "
                'must lie between 1e-250 and 1e250 for a grid; arithmetic="real" has no such limit'
            )
        return Grid(chosen)

    @property
    def inflation(self) -> float:
        """The sensitivity of the rounded answer divided by the declared one, rounded up."""
        declared = exact(self.sensitivity) / Fraction(2) ** self.grid.exponent
        return enclose(lambda: self._rounded() / ball(declared))[1]

    @property
    def scale_in_steps(self) -> float:
        """The scale of the added noise in grid steps, rounded up."""
        ratio = exact(self.scale) / exact(self.sensitivity)
        steps = enclose(lambda: self._rounded() * ball(ratio))[1]
        if not steps <= LARGEST_SCALE:
            raise InvalidParameter(
                f"noise scale={float(self.scale)!r} must be at most 2^52 grid steps of "
                f'2^{self.grid.exponent} each; take a coarser grid, or arithmetic="real"'
            )
        return steps

    def _rounded(self) -> arb:
        return self.grid.rounded_sensitivity(exact(self.sensitivity), self.norm, self.dimension)


def _floor_log2(value: Fraction) -> int:
    """The greatest n with 2^n ≤ value, for a positive value."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1
