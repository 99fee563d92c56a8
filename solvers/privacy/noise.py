"""Noise for solvers, Gaussian or of density ∝ exp(−‖z‖/b), and how much a budget needs.

`StepNoise` is for sums that are whole multiples of a power of two: the same grid as in
`dpverify.mechanisms`, but for many answers at once, one noise each, and for answers that are exact
integers. `LinearNoise` is the linear part b of objective perturbation. It has the distribution of
continuous noise rounded to a grid, drawn exactly; so it is within half a step a coordinate of an
ideal draw, and that distance is charged like a solver's error: it moves the minimum by at most
√d·step/(2λ). `LastNoise` hides both errors, and makes what can be released independent of the data.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from dpverify.accounting.calibration import calibrate
from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import Arithmetic, InvalidParameter, check_positive, settle_fields
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpverify.mechanisms import Gaussian, NormMechanism
from dpverify.mechanisms.inputs import RANDOM_BITS, REAL_ARITHMETIC
from dpverify.mechanisms.sampling.euclidean_noise import EuclideanNoise
from dpverify.mechanisms.sampling.grid import GridNoise
from dpverify.mechanisms.sampling.inversion import nearest_steps
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL, HALF_NORMAL, Magnitude
from dpverify.mechanisms.sampling.norm_noise import direction_law
from dpverify.neighbors import Relation
from dpverify.theorems import (
    ANALYTIC_GAUSSIAN,
    BASIC_COMPOSITION,
    GAUSSIAN_COMPOSITION,
    GDP_TO_ZCDP,
    LAPLACE,
    NORM_MECHANISM,
    ZCDP_COMPOSITION,
    Theorem,
)
from solvers.privacy.clipped_sums import Wholes

Budget: TypeAlias = PureDP | ApproxDP | ZeroConcentratedDP | GaussianDP
Kind: TypeAlias = Literal["gaussian", "norm", "laplace"]

_LIMIT = 1 << 61
_THEOREMS: dict[Kind, Theorem] = {
    "gaussian": ANALYTIC_GAUSSIAN,
    "laplace": LAPLACE,
    "norm": NORM_MECHANISM,
}
_FINE = {"gaussian": 20, "norm": 17, "laplace": 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNoise:
    """The noise on the sum of one step, for many answers at once.

    Noise of standard deviation `scale` a coordinate (gaussian) or density ∝ exp(−‖z‖/scale).

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
        settle_fields(self)
        check_positive("scale", self.scale)
        check_positive("sensitivity", self.sensitivity)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What a claim assumes if the noise is drawn this way."""
        if self.arithmetic == "real":
            return (REAL_ARITHMETIC,)
        return (RANDOM_BITS, *(law.assumption for law in self._laws))

    @property
    def second_moment(self) -> float:
        """E‖z‖₂²: d·σ², d·(d + 1)·b² or 2d·b²; the grid's rounding adds less than 2^-5 of it."""
        return self.dimension * self.deviation**2

    @property
    def deviation(self) -> float:
        """The standard deviation per coordinate, σ, √(d + 1)·b or √2·b, up to rounding."""
        squares = {"gaussian": 1, "norm": self.dimension + 1, "laplace": 2}[self.kind]
        return float(self.scale) * math.sqrt(squares)

    def release(self, sums: Wholes, exponent: int, rng: np.random.Generator) -> Floats:
        """Each row of `sums`·2^exponent (m, d), with independent noise."""
        if self.arithmetic == "real":
            answers = np.ldexp(sums.astype(np.float64), exponent)
            return answers + self._real(len(sums), rng)
        noise = self._grid
        total = np.clip(self._steps(sums, exponent) + self._drawn(len(sums), rng), -_LIMIT, _LIMIT)
        released: Floats = np.ldexp(total.astype(np.float64), noise.grid.exponent)
        return released

    def log_density(self, outputs: Floats, sums: Wholes, exponent: int) -> Floats:
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
        """Whether the coordinates of the noise are independent."""
        return self.kind != "norm" or self.dimension == 1

    @property
    def _laws(self) -> tuple[Magnitude, ...]:
        if self.kind == "gaussian":
            return (HALF_NORMAL,)
        return (EXPONENTIAL,) if self._independent else (EXPONENTIAL, direction_law(2.0))

    @property
    def _plain(self) -> NormMechanism:
        """The mechanism for noise that is not Gaussian, in real arithmetic."""
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

    def _steps(self, sums: Wholes, exponent: int) -> Ints:
        """⌊sum/step + 1/2⌋, exactly, clipped to ±2^61, which never increases a distance."""
        shift = self._grid.grid.exponent - exponent
        if shift < 0:
            raise InvalidParameter(
                f"scale={self.scale!r} must be at least 2^-28 of sensitivity={self.sensitivity!r} "
                "for a grid"
            )
        steps = sums if shift == 0 else (sums + (1 << (shift - 1))) >> shift
        return np.clip(steps, -_LIMIT, _LIMIT).astype(np.int64, copy=False)

    def _drawn(self, count: int, rng: np.random.Generator) -> Ints:
        scale = self._grid.scale_in_steps
        if self.kind == "norm":
            return norm_steps(scale, count, self.dimension, rng)
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


_FINE_NORMAL = 30  # the scale of b is at least 2^30 steps, which floats still settle
_FINE_NORM = 26  # of norm noise coordinates are longer


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearNoise:
    """The random linear part b of objective perturbation.

    b ~ N(0, scale²·I) if `gaussian`, else with density ∝ e^(−‖b‖/scale).
    """

    scale: float
    gaussian: bool

    @property
    def assumes(self) -> tuple[str, ...]:
        """What is assumed if b is drawn on a grid."""
        laws = [HALF_NORMAL] if self.gaussian else [EXPONENTIAL, direction_law(2.0)]
        return (RANDOM_BITS, *(law.assumption for law in laws))

    @property
    def _exponent(self) -> int:
        fine = _FINE_NORMAL if self.gaussian else _FINE_NORM
        return math.frexp(self.scale)[1] - 1 - fine

    def rounding(self, dimension: int) -> float:
        """The largest distance of a draw on the grid from an ideal one: √d/2 steps."""
        return 0.5000001 * math.sqrt(dimension) * 2.0**self._exponent

    def draw(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """`size` vectors, as integer multiples of the step."""
        steps = self.scale * 2.0**-self._exponent  # exact: a power of two
        drawn: Ints
        if self.gaussian:
            drawn = nearest_steps(HALF_NORMAL, steps, (size, dimension), rng)
        else:
            drawn = norm_steps(steps, size, dimension, rng)
        return np.ldexp(drawn.astype(np.float64), self._exponent)

    def draw_real(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """`size` vectors of ordinary floats, fast; for simulation only."""
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
    """Noise that hides the distance of computed points from exact minima.

    Noise on the grid for points that are off by at most `error`: sensitivity 2·error.

    Density ∝ e^(−‖z‖/scale), scale = 2·error/ε, which is ε-DP; or N(0, σ²) if `gaussian`, with
    `ratio` = σ over the sensitivity. [Theorem approximate-minimum]
    """

    error: float
    ratio: float
    gaussian: bool

    @property
    def assumes(self) -> tuple[str, ...]:
        """What is assumed if it is drawn."""
        laws = [HALF_NORMAL] if self.gaussian else [EXPONENTIAL, direction_law(2.0)]
        return (RANDOM_BITS, *(law.assumption for law in laws))

    def release(self, points: Floats, rng: np.random.Generator) -> Floats:
        """The points (B, d), each with independent noise."""
        size, dimension = points.shape
        sensitivity = 2.0 * self.error
        noise = GridNoise(
            scale=enclose(lambda: ball(sensitivity) * ball(self.ratio))[1],
            sensitivity=sensitivity,
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
    """Integer vectors: noise of density ∝ e^(−‖z‖/scale), rounded to whole steps."""
    if dimension == 1:
        return nearest_steps(EXPONENTIAL, scale, (size, 1), rng)
    return EuclideanNoise(dimension, scale).draw(size, rng)


def kind_of(budget: object) -> Kind:
    """The kind of noise for a budget: norm noise for pure DP, else Gaussian."""
    return "norm" if isinstance(budget, PureDP) else "gaussian"


def release_claim(
    budget: Budget, relation: Relation, kind: Kind, *, arithmetic: Arithmetic = "grid"
) -> Claim:
    """The claim of one noisy release of sums, for the budget that the noise was made for."""
    noise = StepNoise(kind=kind, scale=1.0, sensitivity=1.0, dimension=2, arithmetic=arithmetic)
    theorem, assumes = _THEOREMS[kind], noise.assumes
    if isinstance(budget, ZeroConcentratedDP):
        return Claim(budget, relation, GDP_TO_ZCDP, (f"the noise rests on {theorem}", *assumes))
    return Claim(budget, relation, theorem, assumes)


def composition_of(budget: Budget) -> Theorem:
    """The composition theorem for an algorithm whose steps share a budget evenly."""
    match budget:
        case PureDP():
            return BASIC_COMPOSITION
        case ZeroConcentratedDP():
            return ZCDP_COMPOSITION
        case _:
            return GAUSSIAN_COMPOSITION


def check_budget(budget: object) -> None:
    """Raise for a budget that no noise meets, or that any noise meets."""
    match budget:
        case ApproxDP(delta=0.0):
            raise InvalidParameter(
                f"budget={budget!r} must have delta > 0 for Gaussian noise; PureDP takes another"
            )
        case ApproxDP(delta=delta) if delta >= 1:
            raise InvalidParameter(f"budget={budget!r} must have delta < 1")
        case PureDP(epsilon=size) | ApproxDP(epsilon=size):
            name = "epsilon"
        case ZeroConcentratedDP(rho=size):
            name = "rho"
        case GaussianDP(mu=size):
            name = "mu"
        case _:
            raise InvalidParameter(
                f"budget={budget!r} must be PureDP, ApproxDP, ZeroConcentratedDP or GaussianDP"
            )
    if not 0 < size < math.inf:
        raise InvalidParameter(f"{name}={size!r} must be positive and finite: no noise would fit")


@lru_cache(maxsize=256)
def noise_ratio(budget: Budget, steps: int) -> float:
    """The noise scale of each step divided by its sensitivity, not rounded down.

    ε/k a step for pure budgets; μ/√k a step otherwise, with ρ = μ²/2 for zCDP.

    >>> noise_ratio(GaussianDP(mu=0.5), 4)
    4.0
    """
    match budget:
        case PureDP(epsilon=epsilon):
            return enclose(lambda: steps / ball(epsilon))[1]
        case GaussianDP(mu=mu):
            return enclose(lambda: ball(steps).sqrt() / ball(mu))[1]
        case ZeroConcentratedDP(rho=rho):
            return enclose(lambda: ball(Fraction(steps, 2)).sqrt() / ball(rho).sqrt())[1]
        case ApproxDP():
            unit = _gaussian_ratio(budget)
            return enclose(lambda: ball(steps).sqrt() * ball(unit))[1]


@lru_cache(maxsize=256)
def _gaussian_ratio(budget: ApproxDP) -> float:
    """1/μ for the largest μ whose profile meets the budget; the same for both relations."""
    return calibrate(
        lambda ratio: Gaussian(sigma=ratio), budget=budget, relation=Relation.ADD_REMOVE
    )
