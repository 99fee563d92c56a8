"""Gaussian noise."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import Arithmetic, as_positive, check_draw, checked_grid, settle
from dpverify.guarantees import GaussianDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import grounds, outputs_of, per_draw, real_array
from dpverify.mechanisms.sampling.grid import GridNoise, exact
from dpverify.mechanisms.sampling.magnitudes import HALF_NORMAL
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair
from dpverify.theorems import ANALYTIC_GAUSSIAN


@dataclass(frozen=True, slots=True)
class Gaussian(Described):
    """Gaussian noise N(0, σ²) on every coordinate of an answer of ℓ2 sensitivity Δ: (Δ/σ)-GDP.

    `data` is the query's answer, a number or an array; neighboring datasets give answers within
    `l2_sensitivity` of each other, as the floats that they are.

    With arithmetic "grid", releases are multiples of a power of two, 2^`grid_exponent` or one
    chosen from the parameters and the answer's shape; `mechanisms/sampling/grid.py` says why the
    claim is exact. With arithmetic "real", noise is a plain float: for simulation only.

    >>> noise = Gaussian(sigma=2.0, l2_sensitivity=1.0)
    >>> noise.claim.guarantee
    GaussianDP(mu=0.5)
    >>> noise.sample([0.0, 10.0], size=3, rng=np.random.default_rng(0)).shape
    (3, 2)
    """

    sigma: float
    _: KW_ONLY
    l2_sensitivity: float = 1.0
    arithmetic: Arithmetic = "grid"
    grid_exponent: int | None = None

    def __post_init__(self) -> None:
        settle(self, sigma=as_positive("sigma", self.sigma))
        settle(self, l2_sensitivity=as_positive("l2_sensitivity", self.l2_sensitivity))
        settle(self, grid_exponent=checked_grid(self.arithmetic, self.grid_exponent))

    @property
    def claim(self) -> Claim:
        ratio = exact(self.l2_sensitivity) / exact(self.sigma)
        mu = enclose(lambda: ball(ratio))[1]
        assumes = grounds(self.arithmetic, HALF_NORMAL.assumption)
        return Claim(GaussianDP(mu=mu), None, ANALYTIC_GAUSSIAN, assumes)

    def pair(self, relation: Relation) -> GaussianPair:
        """N(Δ/σ, 1) against N(0, 1), for whichever relation the sensitivity was declared."""
        Relation.parse(relation)
        return GaussianPair.of(sigma=self.sigma, sensitivity=self.l2_sensitivity)

    def noise_inflation(self, dimension: int = 1) -> float:
        """The standard deviation of the noise on the grid over σ; at least 1, for rounding."""
        return 1.0 if self.arithmetic == "real" else self._noise(dimension).inflation

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent releases of the answer `data`: an array (size, *answer shape)."""
        answer = real_array("data", data)
        check_draw(size, rng)
        if self.arithmetic == "real":
            return answer + float(self.sigma) * rng.standard_normal((size, *answer.shape))
        return self._noise(answer.size).released(HALF_NORMAL, answer, size, rng)

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability (grid) or log density (real) on the answer `data`.

        On the grid, −∞ for what is no multiple of the step.
        """
        answer = real_array("data", data)
        draws = outputs_of(outputs, answer.shape).astype(np.float64)
        if self.arithmetic == "real":
            sigma = float(self.sigma)
            logs = -0.5 * ((draws - answer) / sigma) ** 2 - np.log(sigma * np.sqrt(2.0 * np.pi))
        else:
            logs = self._noise(answer.size).log_masses(HALF_NORMAL, draws, answer)
        return per_draw(logs)

    def _noise(self, dimension: int) -> GridNoise:
        return GridNoise(self.sigma, self.l2_sensitivity, 2.0, dimension, self.grid_exponent)
