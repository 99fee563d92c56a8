"""The noise of objective perturbation: the linear part b, and a small last noise on the grid.

b has the law of continuous noise rounded to a grid, drawn exactly. So it is within half a step a
coordinate of an ideal draw, and that distance is charged like a solver's error: it moves the
minimum by at most √d·step/(2λ). The last noise hides both errors, and makes what can be released
independent of the data.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.mechanisms.grid import GridNoise
from dpverify.mechanisms.inputs import RANDOM_BITS
from dpverify.mechanisms.inversion import nearest_steps
from dpverify.mechanisms.laws import EXPONENTIAL, HALF_NORMAL
from dpverify.mechanisms.norm_noise import NormNoise, direction_law

_FINE_NORMAL = 30  # the scale of b is at least 2^30 steps, which floats still settle
_FINE_NORM = 22  # of norm noise all coordinates must be settled at once


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearNoise:
    """b ~ N(0, scale²·I) if `gaussian`, else with density ∝ e^(−‖b‖/scale)."""

    scale: float
    gaussian: bool

    @property
    def assumes(self) -> tuple[str, ...]:
        """What drawing it on a grid rests on."""
        laws = [HALF_NORMAL] if self.gaussian else [EXPONENTIAL, direction_law(2.0)]
        return (RANDOM_BITS, *(law.assumption for law in laws))

    @property
    def _exponent(self) -> int:
        fine = _FINE_NORMAL if self.gaussian else _FINE_NORM
        return math.frexp(self.scale)[1] - 1 - fine

    def rounding(self, dimension: int) -> float:
        """How far, at most, a draw on the grid is from an ideal one: √d/2 steps."""
        return 0.5000001 * math.sqrt(dimension) * 2.0**self._exponent

    def draw(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """`size` vectors, as multiples of the step."""
        steps = self.scale * 2.0**-self._exponent  # exact: a power of two
        drawn: Ints
        if self.gaussian:
            drawn = nearest_steps(HALF_NORMAL, steps, (size, dimension), rng)
        else:
            drawn = norm_steps(steps, size, dimension, rng)
        return np.ldexp(drawn.astype(np.float64), self._exponent)

    def draw_real(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """`size` vectors of plain floats, fast: for simulation."""
        directions = rng.standard_normal((size, dimension))
        if self.gaussian:
            return self.scale * directions
        radius = rng.gamma(dimension, self.scale, (size, 1))
        drawn: Floats = radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        return drawn

    def log_density(self, vectors: Floats) -> Floats:
        """The log density of each ideal vector (B, d)."""
        d = vectors.shape[1]
        squares = (vectors**2).sum(axis=1)
        logs: Floats
        if self.gaussian:
            constant = d * math.log(self.scale * math.sqrt(2.0 * math.pi))
            logs = -0.5 * squares / self.scale**2 - constant
            return logs
        # The integral of e^(−‖b‖/τ) is d!·τ^d times the volume π^(d/2)/Γ(1 + d/2) of the ball.
        volume = 0.5 * d * math.log(math.pi) - math.lgamma(1.0 + 0.5 * d)
        constant = math.lgamma(d + 1.0) + d * math.log(self.scale) + volume
        logs = -np.sqrt(squares) / self.scale - constant
        return logs


@dataclass(frozen=True, slots=True, kw_only=True)
class LastNoise:
    """Noise on the grid for points that are off by at most `error`: sensitivity 2·error.

    Density ∝ e^(−‖z‖/scale), scale = 2·error/ε, which is ε-DP; or N(0, σ²) if `gaussian`, with
    `ratio` = σ over the sensitivity. [Theorem approximate-minimum]
    """

    error: float
    ratio: float
    gaussian: bool

    def release(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Each of the points (B, d) with noise of its own."""
        size, dimension = points.shape
        noise = GridNoise(
            scale=enclose(lambda: 2 * ball(self.error) * ball(self.ratio))[1],
            sensitivity=2.0 * self.error,
            norm=2.0,
            dimension=dimension,
            exponent=None,
            fine=6,  # the grid may be coarse against an error that is tiny itself
        )
        steps = noise.scale_in_steps
        drawn: Ints
        if self.gaussian:
            drawn = nearest_steps(HALF_NORMAL, steps, points.shape, rng)
        else:
            drawn = norm_steps(steps, size, dimension, rng)
        return noise.grid.release(points, drawn)


def norm_steps(scale: float, size: int, dimension: int, rng: np.random.Generator) -> Ints:
    """Integer vectors with the law of rounded noise of density ∝ e^(−‖z‖/scale)."""
    if dimension == 1:
        return nearest_steps(EXPONENTIAL, scale, (size, 1), rng)
    return NormNoise(norm=2.0, dimension=dimension, scale=scale).draw(size, rng)
