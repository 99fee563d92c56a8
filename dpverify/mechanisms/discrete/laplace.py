"""Discrete Laplace noise, also called geometric."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import as_count, check_draw, settle
from dpverify.guarantees import PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import (
    RANDOM_BITS,
    as_noise_scale,
    outputs_of,
    per_draw,
    whole_array,
)
from dpverify.mechanisms.sampling.grid import exact
from dpverify.mechanisms.sampling.integers import discrete_laplace
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.neighbors import Relation
from dpverify.pairs.discrete.laplace import DiscreteLaplacePair
from dpverify.theorems import DISCRETE_LAPLACE


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Described):
    """Integer noise with P(k) ∝ e^(−|k|/b) on every coordinate of whole numbers: (Δ/b)-DP.

    `data` is the query's answer, a whole number or an array of such; neighboring datasets give
    answers within `sensitivity` of each other in ℓ1, a whole number. Draws are exact.

    >>> noise = DiscreteLaplace(scale=2.0)
    >>> noise.claim.guarantee
    PureDP(epsilon=0.5)
    >>> noise.sample(10, size=5, rng=np.random.default_rng(0)).dtype
    dtype('int64')
    """

    scale: float
    _: KW_ONLY
    sensitivity: int = 1

    def __post_init__(self) -> None:
        settle(self, scale=as_noise_scale("scale", self.scale))
        settle(self, sensitivity=as_count("sensitivity", self.sensitivity))

    @property
    def claim(self) -> Claim:
        epsilon = enclose(lambda: ball(self.sensitivity / exact(self.scale)))[1]
        assumes = (RANDOM_BITS, EXPONENTIAL.assumption)
        return Claim(PureDP(epsilon=epsilon), None, DISCRETE_LAPLACE, assumes)

    def pair(self, relation: Relation) -> DiscreteLaplacePair:
        """Δ + Z against Z, for whichever relation Δ was declared."""
        Relation.parse(relation)
        return DiscreteLaplacePair(scale=self.scale, shift=self.sensitivity)

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Ints:
        """`size` independent releases of the answer `data`: an array (size, *answer shape)."""
        answer = whole_array("data", data)
        check_draw(size, rng)
        return answer + discrete_laplace(float(self.scale), (size, *answer.shape), rng)

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability on the answer `data`; −∞ for no whole number."""
        answer = whole_array("data", data)
        draws = outputs_of(outputs, answer.shape).astype(np.float64)
        scale = float(self.scale)
        logs = np.log(np.tanh(0.5 / scale)) - np.abs(draws - answer) / scale
        return per_draw(np.where(draws == np.rint(draws), logs, -np.inf))
