"""Discrete Gaussian noise."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import as_count, check_draw, settle
from dpverify.guarantees import ZeroConcentratedDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import (
    RANDOM_BITS,
    as_noise_scale,
    outputs_of,
    per_draw,
    whole_array,
)
from dpverify.mechanisms.sampling.grid import exact
from dpverify.mechanisms.sampling.integers import discrete_gaussian
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.neighbors import Relation
from dpverify.pairs.discrete.gaussian import DiscreteGaussianPair, total
from dpverify.theorems import DISCRETE_GAUSSIAN


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Described):
    """Integer noise with P(k) ∝ e^(−k²/(2σ²)) on every coordinate of whole numbers: Δ²/(2σ²)-zCDP.

    `data` is the query's answer, a whole number or an array of such; neighboring datasets give
    answers within `sensitivity` of each other in ℓ1, a whole number. The worst is one coordinate
    that moves by all of it. Noise on a lattice has no direction to which all shifts of one length
    could be turned, so there is no single pair for an ℓ2 sensitivity: where a record moves several
    coordinates, by Δ₁, Δ₂, …, composing one part for each of them costs less. Draws are exact.

    >>> noise = DiscreteGaussian(sigma=2.0)
    >>> noise.claim.guarantee
    ZeroConcentratedDP(rho=0.125)
    >>> noise.sample([0, 10], size=3, rng=np.random.default_rng(0)).shape
    (3, 2)
    """

    sigma: float
    _: KW_ONLY
    sensitivity: int = 1

    def __post_init__(self) -> None:
        settle(self, sigma=as_noise_scale("sigma", self.sigma))
        settle(self, sensitivity=as_count("sensitivity", self.sensitivity))

    @property
    def claim(self) -> Claim:
        rho = enclose(lambda: ball((self.sensitivity / exact(self.sigma)) ** 2 / 2))[1]
        assumes = (RANDOM_BITS, EXPONENTIAL.assumption)
        return Claim(ZeroConcentratedDP(rho=rho), None, DISCRETE_GAUSSIAN, assumes)

    def pair(self, relation: Relation) -> DiscreteGaussianPair:
        """Δ + Z against Z, for whichever relation Δ was declared."""
        Relation.parse(relation)
        return DiscreteGaussianPair(sigma=self.sigma, shift=self.sensitivity)

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Ints:
        """`size` independent releases of the answer `data`: an array (size, *answer shape)."""
        answer = whole_array("data", data)
        check_draw(size, rng)
        return answer + discrete_gaussian(self.sigma, (size, *answer.shape), rng)

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """For each output, its log probability on the answer `data`; −∞ for no whole number."""
        answer = whole_array("data", data)
        draws = outputs_of(outputs, answer.shape).astype(np.float64)
        log_total = enclose(lambda: total(self.sigma).log())[1]
        logs = -0.5 * ((draws - answer) / float(self.sigma)) ** 2 - log_total
        return per_draw(np.where(draws == np.rint(draws), logs, -np.inf))
