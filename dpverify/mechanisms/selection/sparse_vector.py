"""The sparse vector technique: which queries are above a threshold, until c of them are."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    as_count,
    as_positive,
    as_real,
    check_draw,
    check_flag,
    checked_grid,
    settle,
)
from dpverify.guarantees import PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import grounds, real_array, real_vector
from dpverify.mechanisms.sampling.grid import GridNoise, exact
from dpverify.mechanisms.sampling.inversion import nearest_steps
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.mechanisms.selection.two_candidates import ALIKE, bounded
from dpverify.neighbors import Relation
from dpverify.pairs import Pair
from dpverify.theorems import SPARSE_VECTOR

NOT_ANSWERED = -1
_BLOCK = 1 << 20  # noises per pass, to bound memory


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVector(Described):
    """For each query, whether its noisy answer reaches a noisy threshold, up to c times: ε-DP.

    `data` is the list of the queries' answers, each of sensitivity Δ = `sensitivity`, as the float
    that it is. Outputs are rows of 1 (reached), 0 (not reached), and −1 (not answered) after the
    c-th 1, c = `answers`. The threshold's noise is drawn once, with scale Δ/ε₁; every query's
    noise is fresh, with scale 2cΔ/ε₂, or cΔ/ε₂ where answers are `monotone`, so that between
    neighbors none rises while another falls. ε₁ is the share `split` of ε and ε₂ the rest; the
    default, 1 : (2c)^(2/3), or 1 : c^(2/3) for monotone answers, makes the variance of the
    comparison smallest. [LSL17 Alg. 7 and Sec. 4.2]

    With arithmetic "grid", answers and threshold are rounded to integers a_i and T, the former of
    sensitivity D = ⌈Δ/g⌉ steps, and the noises ρ and ν_i are Laplace noise rounded to whole steps.
    Query i reaches if a_i + ν_i ≥ T + ρ. Why this is ε-DP on integers: given ρ = z, the outputs of
    queries are independent, so a row has probability Σ_z P(ρ = z)·Π P(ν_i < T + z − a_i)·
    Π P(ν_i ≥ T + z − a_i) over the zeros and over the at most c ones. Replace z by z + D on the
    neighbor a′. Then P(ρ = z) grows at most by the factor e^(ε₁), since this holds for the density
    whose unit intervals it sums up; each zero only gains, as T + z + D − a′_i ≥ T + z − a_i; and in
    each one the bound rises by at most 2D, which costs at most e^(2D/scale) = e^(ε₂/c) by
    P(ν ≥ t + n) ≥ e^(−n/scale)·P(ν ≥ t). Monotone answers: if they rise, the bound of a one rises
    by at most D; if they fall, leave z as it is: the zeros gain, and the bounds of ones rise by at
    most D.

    >>> above = SparseVector(epsilon=2.0, threshold=50.0, answers=2)
    >>> above.sample([0.0, 99.0, 0.0, 99.0, 99.0], size=1, rng=np.random.default_rng(0))
    array([[ 0,  1,  0,  1, -1]], dtype=int8)
    """

    epsilon: float
    threshold: float
    sensitivity: float = 1.0
    answers: int = 1
    split: float | None = None
    monotone: bool = False
    arithmetic: Arithmetic = "grid"
    grid_exponent: int | None = None

    def __post_init__(self) -> None:
        settle(self, epsilon=as_positive("epsilon", self.epsilon))
        settle(self, threshold=as_real("threshold", self.threshold))
        real_array("threshold", float(self.threshold))
        settle(self, sensitivity=as_positive("sensitivity", self.sensitivity))
        settle(self, answers=as_count("answers", self.answers))
        if self.split is not None:
            settle(self, split=as_real("split", self.split))
            if not 0 < self.split < 1:
                raise InvalidParameter(f"split={self.split!r} must lie strictly between 0 and 1")
        check_flag("monotone", self.monotone)
        settle(self, grid_exponent=checked_grid(self.arithmetic, self.grid_exponent))

    @property
    def claim(self) -> Claim:
        assumes = grounds(self.arithmetic, EXPONENTIAL.assumption)
        return Claim(PureDP(epsilon=self.epsilon), None, SPARSE_VECTOR, assumes)

    def pair(self, relation: Relation) -> Pair:
        """Upper bound: randomized response; a lower bound is not known."""
        Relation.parse(relation)
        return bounded(self.epsilon, ALIKE, SPARSE_VECTOR)

    @property
    def threshold_scale(self) -> Fraction:
        """The scale of the threshold's noise, before the grid: Δ/ε₁."""
        return exact(self.sensitivity) / (exact(self.epsilon) * self._share)

    @property
    def query_scale(self) -> Fraction:
        """The scale of each query's noise before the grid: 2cΔ/ε₂, or cΔ/ε₂ if monotone."""
        reach = int(self.answers) * (1 if self.monotone else 2)
        return reach * exact(self.sensitivity) / (exact(self.epsilon) * (1 - self._share))

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> NDArray[np.int8]:
        """`size` independent rows of 1, 0 and −1, one entry for each answer in `data`."""
        answers = real_vector("data", data)
        check_draw(size, rng)
        result = np.empty((size, answers.size), np.int8)
        rows = max(1, _BLOCK // answers.size)
        for start in range(0, size, rows):
            block = result[start : start + rows]
            reached = self._reached(answers, len(block), rng)
            count_before = reached.cumsum(axis=1) - reached
            block[:] = np.where(count_before < self.answers, reached, NOT_ANSWERED)
        return result

    def _reached(self, answers: Floats, rows: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Whether each query would reach the threshold if the technique did not stop."""
        once, each = (rows, 1), (rows, answers.size)
        if self.arithmetic == "real":
            bar = float(self.threshold) + rng.laplace(0.0, float(self.threshold_scale), once)
            return answers + rng.laplace(0.0, float(self.query_scale), each) >= bar
        query = self._noise(self.query_scale, self.grid_exponent)
        bar_scale = self._noise(self.threshold_scale, query.grid.exponent).scale_in_steps
        steps = query.grid.steps
        bar_steps = steps(real_array("threshold", self.threshold)) + nearest_steps(
            EXPONENTIAL, bar_scale, once, rng
        )
        return steps(answers) + nearest_steps(EXPONENTIAL, query.scale_in_steps, each, rng) >= (
            bar_steps
        )

    @property
    def _share(self) -> Fraction:
        """The share ε₁/ε of the threshold."""
        if self.split is not None:
            return exact(self.split)
        reach = int(self.answers) * (1 if self.monotone else 2)
        return Fraction(1.0 / (1.0 + reach ** (2.0 / 3.0)))

    def _noise(self, scale: Fraction, exponent: int | None) -> GridNoise:
        """The noise on the grid; answers are rounded one by one, so D = ⌈Δ/g⌉ steps."""
        return GridNoise(scale, self.sensitivity, math.inf, 1, exponent)
