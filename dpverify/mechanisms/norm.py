"""The norm mechanism: noise with density ∝ exp(−‖z‖_p/b)."""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    NotSupported,
    as_between,
    as_positive,
    check_draw,
    checked_grid,
    settle,
)
from dpverify.guarantees import PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import grounds, outputs_of, per_draw, real_array
from dpverify.mechanisms.sampling.euclidean_noise import EuclideanNoise
from dpverify.mechanisms.sampling.grid import GridNoise, exact
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.mechanisms.sampling.norm_noise import LARGEST_NORM, NormNoise, direction_law, lengths
from dpverify.neighbors import Relation
from dpverify.pairs import LaplacePair, Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.theorems import NORM_MECHANISM

_FINE = 17  # d coordinates must all be settled at once: a step eight times as long is worth it


@dataclass(frozen=True, slots=True)
class NormMechanism(Described):
    """Noise with density ∝ exp(−‖z‖_p/b) on an answer of ‖·‖_p sensitivity Δ: (Δ/b)-DP.

    `norm` is p, from 1 to ∞. ‖z‖_p is Gamma(d)·b: the noise grows with the dimension d. `data`,
    `arithmetic` and `grid_exponent` are those of `Gaussian`.

    >>> noise = NormMechanism(scale=2.0, sensitivity=1.0, norm=2.0, grid_exponent=-1)
    >>> noise.claim.guarantee
    PureDP(epsilon=0.5)
    >>> noise.sample([0.0, 0.0, 10.0], size=2, rng=np.random.default_rng(0)).shape
    (2, 3)
    """

    scale: float
    _: KW_ONLY
    sensitivity: float = 1.0
    norm: float = 2.0
    arithmetic: Arithmetic = "grid"
    grid_exponent: int | None = None

    def __post_init__(self) -> None:
        settle(self, scale=as_positive("scale", self.scale))
        settle(self, sensitivity=as_positive("sensitivity", self.sensitivity))
        settle(self, norm=as_between("norm", self.norm, 1.0, math.inf))
        settle(self, grid_exponent=checked_grid(self.arithmetic, self.grid_exponent))

    @property
    def claim(self) -> Claim:
        laws = [EXPONENTIAL] if self.norm == 1 else [EXPONENTIAL, direction_law(float(self.norm))]
        assumes = grounds(self.arithmetic, *(law.assumption for law in laws))
        return Claim(PureDP(epsilon=self._epsilon), None, NORM_MECHANISM, assumes)

    def pair(self, relation: Relation) -> Pair:
        """The pair of Laplace noise, in every norm and dimension; one dimension attains it.

        [proofs/norm_mechanism.py]
        """
        Relation.parse(relation)
        pair = LaplacePair(scale=self.scale, sensitivity=self.sensitivity)
        # In several dimensions three answers lie otherwise than on a line: no more is known.
        return (
            pair
            if self.norm == 1
            else BetweenPair(pair, pair, theorem=NORM_MECHANISM, samples=True)
        )

    def noise_inflation(self, dimension: int = 1) -> float:
        """The scale of the noise on the grid over b; at least 1, for rounding."""
        return 1.0 if self.arithmetic == "real" else self._noise(dimension).inflation

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent releases of the answer `data`: an array (size, *answer shape)."""
        answer = real_array("data", data)
        check_draw(size, rng)
        shape = (size, *answer.shape)
        if self.arithmetic == "real":
            return answer + self._real_noise(size, answer.size, rng).reshape(shape)
        noise = self._noise(answer.size)
        if self._independent(answer.size):
            return noise.released(EXPONENTIAL, answer, size, rng)
        if LARGEST_NORM < self.norm < math.inf:
            raise InvalidParameter(
                f"norm={self.norm!r} must be at most {LARGEST_NORM:g}, or inf, on a grid; "
                'arithmetic="real" has no such limit'
            )
        steps = noise.scale_in_steps
        law = (
            EuclideanNoise(answer.size, steps)
            if self.norm == 2
            else NormNoise(float(self.norm), answer.size, steps)
        )
        return noise.grid.release(answer, law.draw(size, rng).reshape(shape))

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log density (real) or log probability (grid) on the answer `data`.

        On the grid it is known for p = 1 or one dimension; otherwise it is an integral over a cube
        that no formula gives.
        """
        answer = real_array("data", data)
        draws = outputs_of(outputs, answer.shape).astype(np.float64)
        if self.arithmetic == "real":
            return self._log_real(draws, answer)
        if not self._independent(answer.size):
            raise NotSupported(
                f"log_density of norm={self.norm!r} noise on a grid has no formula in "
                f'{answer.size} dimensions; arithmetic="real" has one'
            )
        return per_draw(self._noise(answer.size).log_masses(EXPONENTIAL, draws, answer))

    @property
    def _epsilon(self) -> float:
        ratio = exact(self.sensitivity) / exact(self.scale)
        return enclose(lambda: ball(ratio))[1]

    def _independent(self, dimension: int) -> bool:
        """Whether the coordinates are independent Laplace noise."""
        return self.norm == 1 or dimension == 1

    def _noise(self, dimension: int) -> GridNoise:
        norm = float(self.norm)
        return GridNoise(self.scale, self.sensitivity, norm, dimension, self.grid_exponent, _FINE)

    def _real_noise(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """Gamma(d)·b along x/‖x‖_p, x with density ∝ exp(−‖x‖_p^p); the cube for p = ∞."""
        norm, scale = float(self.norm), float(self.scale)
        shape = (size, dimension)
        if norm == math.inf:
            radius = rng.gamma(dimension + 1.0, scale, (size, 1))
            return radius * rng.uniform(-1.0, 1.0, shape)
        powers = rng.gamma(1.0 + 1.0 / norm, 1.0, shape)
        # x = U·y^(1/p) with y ~ Gamma(1 + 1/p) has the law of ±Gamma(1/p)^(1/p), and no underflow.
        direction = rng.uniform(-1.0, 1.0, shape) * powers ** (1.0 / norm)
        radius = rng.gamma(dimension, scale, (size, 1))
        return radius * direction / lengths(direction, norm)

    def _log_real(self, draws: Floats, answer: Floats) -> Floats:
        """The log density; the integral of exp(−‖z‖/b) is d!·b^d times the unit ball's volume."""
        norm, scale, d = float(self.norm), float(self.scale), answer.size
        shifts = (draws - answer).reshape(len(draws), -1)
        log_ball = d * (
            math.log(2.0) + scipy.special.gammaln(1.0 + 1.0 / norm)
        ) - scipy.special.gammaln(1.0 + d / norm)
        constant = float(scipy.special.gammaln(d + 1.0) + d * math.log(scale) + log_ball)
        return -lengths(shifts, norm)[:, 0] / scale - constant
