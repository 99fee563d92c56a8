"""Laplace noise."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import Arithmetic, as_positive, check_draw, checked_grid, settle
from dpverify.guarantees import PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import grounds, outputs_of, per_draw, real_array
from dpverify.mechanisms.sampling.grid import GridNoise, exact
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.neighbors import Relation
from dpverify.pairs import LaplacePair
from dpverify.theorems import LAPLACE


@dataclass(frozen=True, slots=True)
class Laplace(Described):
    """Laplace noise of scale b on every coordinate of an answer of ℓ1 sensitivity Δ: (Δ/b)-DP.

    `data` is the query's answer, a number or an array; neighboring datasets give answers within
    `l1_sensitivity` of each other, as the floats that they are. `arithmetic` and `grid_exponent`
    are those of `Gaussian`.

    >>> noise = Laplace(scale=2.0, l1_sensitivity=1.0, grid_exponent=0)
    >>> noise.claim.guarantee
    PureDP(epsilon=0.5)
    >>> noise.sample(10.0, size=5, rng=np.random.default_rng(0))
    array([ 9.,  7., 16.,  2., 10.])
    """

    scale: float
    _: KW_ONLY
    l1_sensitivity: float = 1.0
    arithmetic: Arithmetic = "grid"
    grid_exponent: int | None = None

    def __post_init__(self) -> None:
        settle(self, scale=as_positive("scale", self.scale))
        settle(self, l1_sensitivity=as_positive("l1_sensitivity", self.l1_sensitivity))
        settle(self, grid_exponent=checked_grid(self.arithmetic, self.grid_exponent))

    @property
    def claim(self) -> Claim:
        ratio = exact(self.l1_sensitivity) / exact(self.scale)
        epsilon = enclose(lambda: ball(ratio))[1]
        assumes = grounds(self.arithmetic, EXPONENTIAL.assumption)
        return Claim(PureDP(epsilon=epsilon), None, LAPLACE, assumes)

    def pair(self, relation: Relation) -> LaplacePair:
        """Laplace(Δ, b) against Laplace(0, b), for whichever relation Δ was declared."""
        Relation.parse(relation)
        return LaplacePair(scale=self.scale, sensitivity=self.l1_sensitivity)

    def noise_inflation(self, dimension: int = 1) -> float:
        """The scale of the noise on the grid over b; at least 1, for rounding."""
        return 1.0 if self.arithmetic == "real" else self._noise(dimension).inflation

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent releases of the answer `data`: an array (size, *answer shape)."""
        answer = real_array("data", data)
        check_draw(size, rng)
        if self.arithmetic == "real":
            return answer + rng.laplace(0.0, float(self.scale), (size, *answer.shape))
        return self._noise(answer.size).released(EXPONENTIAL, answer, size, rng)

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability (grid) or log density (real) on the answer `data`.

        On the grid, −∞ for what is no multiple of the step.
        """
        answer = real_array("data", data)
        draws = outputs_of(outputs, answer.shape).astype(np.float64)
        if self.arithmetic == "real":
            scale = float(self.scale)
            logs = -np.abs(draws - answer) / scale - np.log(2.0 * scale)
        else:
            logs = self._noise(answer.size).log_masses(EXPONENTIAL, draws, answer)
        return per_draw(logs)

    def _noise(self, dimension: int) -> GridNoise:
        return GridNoise(self.scale, self.l1_sensitivity, 1.0, dimension, self.grid_exponent)
