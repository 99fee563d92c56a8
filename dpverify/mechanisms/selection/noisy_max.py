"""Report noisy max: the index of the largest score after noise, and nothing else."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    as_positive,
    check_draw,
    check_flag,
    check_member,
    checked_grid,
    settle,
)
from dpverify.guarantees import PureDP
from dpverify.mechanisms.described import Described
from dpverify.mechanisms.inputs import grounds, real_vector
from dpverify.mechanisms.sampling.grid import GridNoise, exact
from dpverify.mechanisms.sampling.inversion import nearest_steps, whole_steps
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.mechanisms.selection.two_candidates import bounded, chosen, shifts
from dpverify.neighbors import Relation
from dpverify.pairs import Pair
from dpverify.theorems import NOISY_MAX

Noise: TypeAlias = Literal["exponential", "laplace"]

_BLOCK = 1 << 20  # noises per pass, to bound memory


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMax(Described):
    r"""The index of the largest score after noise of scale 2Δ/ε on each: ε-DP.

    `data` is the list of scores, larger is better; each has sensitivity Δ = `score_sensitivity`,
    as the float that it is. Scale Δ/ε suffices where scores are `monotone`, so that between
    neighbors none rises while another falls. Exponential noise is never less accurate than the
    exponential mechanism, and more accurate than Laplace noise. [arXiv 2105.07260]

    With arithmetic "grid", scores are rounded to integers a_i, of sensitivity D = ⌈Δ/g⌉ steps, and
    the noise K_i is a whole number of steps: scale·X rounded down for exponential X, to the
    nearest for Laplace X. Of equal sums the first index wins. Why this is ε-DP on integers, ties
    included: fix all noises but K_i. Index i is reported if and only if a_i + K_i ≥ M, where M is
    the largest of a_j + K_j + 1 for j < i and of a_j + K_j for j > i, that is, if K_i ≥ t with
    t = M − a_i. On a neighbor, M rises by at most D and a_i falls by at most D, so t rises by at
    most 2D; by at most D if scores are monotone. For both noises P(K ≥ t + n) ≥
    e^(−n/scale)·P(K ≥ t) for all whole t and n ≥ 0, so the probability falls at most by the factor
    e^(−2D/scale), e^(−D/scale) if monotone, and the scale is chosen to make that e^(−ε). For
    exponential noise it is attained.

    >>> pick = NoisyMax(epsilon=1.0, score_sensitivity=1.0)
    >>> pick.sample([0.0, 1.0, 30.0], size=5, rng=np.random.default_rng(0))
    array([2, 2, 2, 2, 2])
    """

    epsilon: float
    score_sensitivity: float
    monotone: bool = False
    noise: Noise = "exponential"
    arithmetic: Arithmetic = "grid"
    grid_exponent: int | None = None

    def __post_init__(self) -> None:
        settle(self, epsilon=as_positive("epsilon", self.epsilon))
        settle(self, score_sensitivity=as_positive("score_sensitivity", self.score_sensitivity))
        check_flag("monotone", self.monotone)
        check_member("noise", self.noise, ("exponential", "laplace"))
        settle(self, grid_exponent=checked_grid(self.arithmetic, self.grid_exponent))

    @property
    def claim(self) -> Claim:
        assumes = grounds(self.arithmetic, EXPONENTIAL.assumption)
        return Claim(PureDP(epsilon=self.epsilon), None, NOISY_MAX, assumes)

    def pair(self, relation: Relation) -> Pair:
        """At most randomized response, at least two candidates that swap places.

        The one that is behind by t wins with probability e^(−t/b)/2, b being the scale, and with
        Laplace noise e^(−t/b)·(2 + t/b)/4.
        """
        Relation.parse(relation)
        behind_before, behind_after = self._gaps()
        lower = chosen(
            lambda: 1 - self._overtakes(behind_before), lambda: self._overtakes(behind_after)
        )
        return bounded(self.epsilon, lower, NOISY_MAX)

    def _gaps(self) -> tuple[Fraction, Fraction]:
        """How far the loser is behind before and after, in units of the noise scale."""
        reach = 1 if self.monotone else 2
        if self.arithmetic == "real":
            half = reach * exact(self.score_sensitivity) / self.scale / 2
            return half, half
        noise = self._grid_noise()
        moved = reach * math.floor(
            exact(self.score_sensitivity) / Fraction(2) ** noise.grid.exponent
        )
        before, after = (Fraction(gap) / exact(noise.scale_in_steps) for gap in shifts(moved))
        return before, after

    def _overtakes(self, gap: Fraction) -> arb:
        """The probability that a candidate this far behind wins."""
        fall = (-ball(gap)).exp()
        return fall / 2 if self.noise == "exponential" else fall * (2 + ball(gap)) / 4

    @property
    def scale(self) -> Fraction:
        """The noise scale before the grid: 2Δ/ε, or Δ/ε for monotone scores."""
        reach = 1 if self.monotone else 2
        return reach * exact(self.score_sensitivity) / exact(self.epsilon)

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Ints:
        """`size` independent choices, as indices into the scores `data`."""
        scores = real_vector("data", data)
        check_draw(size, rng)
        result = np.empty(size, np.int64)
        rows = max(1, _BLOCK // scores.size)
        for start in range(0, size, rows):
            block = result[start : start + rows]
            block[:] = self._noisy(scores, len(block), rng).argmax(axis=1)
        return result

    def _noisy(self, scores: Floats, rows: int, rng: np.random.Generator) -> Floats | Ints:
        shape = (rows, scores.size)
        if self.arithmetic == "real":
            scale = float(self.scale)
            if self.noise == "exponential":
                return scores + rng.exponential(scale, shape)
            return scores + rng.laplace(0.0, scale, shape)
        noise = self._grid_noise()
        draw_steps = whole_steps if self.noise == "exponential" else nearest_steps
        steps = draw_steps(EXPONENTIAL, noise.scale_in_steps, shape, rng)
        return noise.grid.steps(scores) + steps

    def _grid_noise(self) -> GridNoise:
        """The noise on the grid; scores are rounded one by one, so D = ⌈Δ/g⌉ steps."""
        return GridNoise(self.scale, self.score_sensitivity, math.inf, 1, self.grid_exponent)
