"""Noise on sums that are whole multiples of a power of two: Gaussian, or ∝ exp(−‖z‖/b).

The same grid as in `dpverify.mechanisms`, but for many answers at once, one noise each, and for
answers that are exact integers.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from dpverify.arrays import Floats, Ints
from dpverify.errors import InvalidParameter, check_positive
from dpverify.mechanisms import NormMechanism
from dpverify.mechanisms.grid import GridNoise
from dpverify.mechanisms.inputs import RANDOM_BITS, REAL_ARITHMETIC, Arithmetic
from dpverify.mechanisms.inversion import nearest_steps
from dpverify.mechanisms.laws import EXPONENTIAL, HALF_NORMAL, Magnitude
from dpverify.mechanisms.norm_noise import NormNoise, direction_law
from solvers.plain_numbers import settle

Kind: TypeAlias = Literal["gaussian", "norm", "laplace"]

_LIMIT = 1 << 61
_FINE = {"gaussian": 20, "norm": 17, "laplace": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNoise:
    """Noise of standard deviation `scale` a coordinate (gaussian) or density ∝ exp(−‖z‖/scale).

    ‖z‖ is the ℓ2 norm for "norm" and the ℓ1 norm for "laplace", and so is the norm of the
    sensitivity Δ; for "gaussian" it is ℓ2. Gaussian noise is (Δ/scale)-GDP, the other two are
    (Δ/scale)-DP.
    """

    kind: Kind
    scale: float
    sensitivity: float
    dimension: int
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle(self)
        check_positive("scale", self.scale)
        check_positive("sensitivity", self.sensitivity)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a claim rests on if it is drawn this way."""
        if self.arithmetic == "real":
            return (REAL_ARITHMETIC,)
        return (RANDOM_BITS, *(law.assumption for law in self._laws))

    @property
    def second_moment(self) -> float:
        """E‖z‖₂²: d·σ², d·(d + 1)·b² or 2d·b²; the grid's rounding adds less than 2^-5 of it."""
        d = self.dimension
        factor = {"gaussian": d, "norm": d * (d + 1), "laplace": 2 * d}[self.kind]
        return factor * float(self.scale) ** 2

    def release(self, sums: Ints, exponent: int, rng: np.random.Generator) -> Floats:
        """Each row of `sums`·2^exponent (m, d), with noise of its own."""
        if self.arithmetic == "real":
            answers = np.ldexp(sums.astype(np.float64), exponent)
            return answers + self._real(len(sums), rng)
        noise = self._grid
        total = np.clip(self._steps(sums, exponent) + self._drawn(len(sums), rng), -_LIMIT, _LIMIT)
        released: Floats = np.ldexp(total.astype(np.float64), noise.grid.exponent)
        return released

    def log_density(self, outputs: Floats, sums: Ints, exponent: int) -> Floats:
        """The log probability (grid) or log density (real) of each row of `outputs`.

        For norm noise on a grid in two or more dimensions it is the density at the middle of the
        cell, within √d/2 steps over the scale of the cell's mean.
        """
        if self.arithmetic == "real":
            return self._log_real(outputs - np.ldexp(sums.astype(np.float64), exponent))
        noise = self._grid
        with np.errstate(over="ignore"):
            scaled = np.ldexp(outputs, -noise.grid.exponent)
        reachable = (np.floor(scaled) == scaled).all(axis=1) & (np.abs(scaled) < 2.0**53).all(
            axis=1
        )
        steps = np.where(reachable[:, None], scaled, 0.0).astype(np.int64)
        steps -= self._steps(sums, exponent)
        if self._independent:
            law = HALF_NORMAL if self.kind == "gaussian" else EXPONENTIAL
            logs = law.log_rounded_mass(steps, noise.scale_in_steps).sum(axis=1)
        else:
            middle = NormMechanism(scale=noise.scale_in_steps, arithmetic="real")
            logs = middle.log_density(steps, np.zeros(self.dimension))
        return np.where(reachable, logs, -np.inf)

    @property
    def _independent(self) -> bool:
        """Whether the coordinates are."""
        return self.kind != "norm" or self.dimension == 1

    @property
    def _laws(self) -> tuple[Magnitude, ...]:
        if self.kind == "gaussian":
            return (HALF_NORMAL,)
        return (EXPONENTIAL,) if self._independent else (EXPONENTIAL, direction_law(2.0))

    @property
    def _plain(self) -> NormMechanism:
        """The noise that is not Gaussian, in real arithmetic."""
        norm = 1.0 if self.kind == "laplace" else 2.0
        return NormMechanism(scale=self.scale, norm=norm, arithmetic="real")

    @property
    def _grid(self) -> GridNoise:
        return GridNoise(
            scale=self.scale,
            sensitivity=self.sensitivity,
            norm=1.0 if self.kind == "laplace" else 2.0,
            dimension=self.dimension,
            exponent=None,
            fine=_FINE[self.kind],
        )

    def _steps(self, sums: Ints, exponent: int) -> Ints:
        """⌊sum/step + 1/2⌋, exactly."""
        shift = self._grid.grid.exponent - exponent
        if shift < 0:
            raise InvalidParameter(
                f"scale={self.scale!r} must be at least 2^-28 of sensitivity={self.sensitivity!r} "
                "for a grid"
            )
        return sums if shift == 0 else (sums + (1 << (shift - 1))) >> shift

    def _drawn(self, count: int, rng: np.random.Generator) -> Ints:
        scale = self._grid.scale_in_steps
        if not self._independent:
            return NormNoise(norm=2.0, dimension=self.dimension, scale=scale).draw(count, rng)
        return nearest_steps(self._laws[0], scale, (count, self.dimension), rng)

    def _real(self, count: int, rng: np.random.Generator) -> Floats:
        shape = (count, self.dimension)
        if self.kind == "gaussian":
            return float(self.scale) * rng.standard_normal(shape)
        return self._plain.sample(np.zeros(self.dimension), count, rng=rng)

    def _log_real(self, noise: Floats) -> Floats:
        if self.kind != "gaussian":
            return self._plain.log_density(noise, np.zeros(self.dimension))
        scale = float(self.scale)
        logs: Floats = -0.5 * ((noise / scale) ** 2).sum(axis=1) - self.dimension * np.log(
            scale * np.sqrt(2.0 * np.pi)
        )
        return logs
