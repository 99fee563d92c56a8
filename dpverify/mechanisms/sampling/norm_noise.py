"""Integer vectors drawn exactly as rounded noise of density ∝ exp(−‖z‖_p/scale).

Such noise is z = R·x/‖x‖_p: R a sum of d exponentials, the coordinates of x independent with
density ∝ exp(−|x|^p) (for p = 2, normal). For p = ∞ it is R·x with R a sum of d + 1 exponentials
and x uniform in the cube [−1, 1]^d. All of them come from uniforms with infinitely many digits,
as in `inversion`; floats settle a vector if every coordinate is further than the error of the
whole computation from where its rounding changes, and balls settle the rest.
"""

import math
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints, Words
from dpverify.balls import ball
from dpverify.mechanisms.sampling.grid import spread
from dpverify.mechanisms.sampling.inversion import (
    LARGEST_STEP,
    TRUSTED,
    UNIFORM_BITS,
)
from dpverify.mechanisms.sampling.magnitudes import (
    EXPONENTIAL,
    HALF_NORMAL,
    UNIT,
    HalfGeneralizedNormal,
    Magnitude,
)
from dpverify.mechanisms.sampling.uniform import LazyUniform, leading, random_words, refine

_BLOCK = 1 << 16  # uniforms per pass
LARGEST_NORM = 1000.0  # of finite ones; beyond, powers of balls are too wide
_FIRST_PRECISION = 96  # settles nearly all draws, which have 127 digits by then
_LEAST = 2.0**-10  # a radius or length below this share of its usual size is left to balls


def direction_law(norm: float) -> Magnitude:
    """The distribution of the coordinates' magnitudes: of any length, since only x/‖x‖ matters."""
    if norm == math.inf:
        return UNIT
    return HALF_NORMAL if norm == 2 else HalfGeneralizedNormal(norm)


def lengths(rows: Floats, norm: float) -> Floats:
    """‖row‖_p for each row, as a column, without overflow or underflow of powers."""
    largest: Floats = np.abs(rows).max(axis=1, keepdims=True)
    if norm == math.inf:
        return largest
    shares = np.abs(rows) / np.where(largest > 0.0, largest, 1.0)
    column: Floats = largest * (shares**norm).sum(axis=1, keepdims=True) ** (1.0 / norm)
    return column


@dataclass(frozen=True, slots=True)
class NormNoise:
    """Noise of density ∝ exp(−‖z‖_p/scale) in `dimension` ≥ 2 coordinates, rounded to integers.

    `caution` multiplies the error that is allowed for; the law does not depend on it.
    """

    norm: float
    dimension: int
    scale: float
    caution: float = 1.0

    @property
    def exponentials(self) -> int:
        """How many exponentials the radius is the sum of."""
        return self.dimension + (self.norm == math.inf)

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """`count` integer vectors, one a row."""
        result = np.empty((count, self.dimension), np.int64)
        rows = max(1, _BLOCK // (self.exponentials + self.dimension))
        for start in range(0, count, rows):
            block = result[start : start + rows]
            block[:] = self._block(len(block), rng)
        return result

    def _block(self, count: int, rng: np.random.Generator) -> Ints:
        width = self.exponentials + self.dimension
        words = random_words(count * width, rng).reshape(count, width)
        numerators = words >> np.uint64(1)
        signs = 1 - 2 * (words[:, self.exponentials :] & np.uint64(1)).astype(np.int64)
        position, slack = self._positions(leading(numerators, UNIFORM_BITS))
        below = np.floor(position)
        fraction = position - below
        certain = (np.minimum(fraction, 1.0 - fraction) > slack) & np.isfinite(position)
        settled: NDArray[np.bool_] = (certain & (numerators.min(axis=1) >= TRUSTED)[:, None]).all(
            axis=1
        )
        steps = np.where(settled[:, None], below, 0.0).astype(np.int64)
        for row in np.flatnonzero(~settled):
            steps[row] = self.resolve(numerators[row], rng)
        return steps * signs

    def _positions(self, tails: Floats) -> tuple[Floats, Floats]:
        """scale·|z| + 1/2 for each coordinate, and a bound on its error; ∞ if there is none.

        With errors r of R, ξ of x and ν of ‖x‖, that of R·x/‖x‖ is at most
        (r·x + R·ξ + r·ξ + R·x·ν/‖x‖)/(‖x‖ − ν). While R and ‖x‖ are not tiny, twice the sum of
        the three first-order terms covers it; rounding adds a few units in the last place for
        each term of the two sums.
        """
        d, n = self.dimension, self.exponentials
        law = direction_law(self.norm)
        radius = EXPONENTIAL.quantile(tails[:, :n]).sum(axis=1, keepdims=True)
        x = law.quantile(tails[:, n:])
        ones = float(spread(self.norm, d).upper())
        length = lengths(x, self.norm) if self.norm < math.inf else np.ones((len(x), 1))
        usual = (radius > _LEAST * n) & (length > _LEAST * ones)
        length = np.where(usual, length, 1.0)
        share = x / length
        first_order = (
            (n + radius) * share
            + radius * (1.0 + x) / length
            + radius * share * (1.0 + ones / length)
        )
        error = 2.0 * law.margin * first_order + radius * share * (n + d + 16) * 2.0**-50
        slack = np.where(usual, self.caution * self.scale * error, math.inf)
        return radius * share * self.scale + 0.5, slack

    def resolve(self, numerators: Words, rng: np.random.Generator) -> list[int]:
        """The exact magnitudes of one vector, with as many further digits as that takes."""
        uniforms = [LazyUniform(int(numerator), UNIFORM_BITS) for numerator in numerators]
        precision = _FIRST_PRECISION
        while True:
            refine(uniforms, rng)
            if all(uniform.significant >= UNIFORM_BITS for uniform in uniforms):
                with ctx.workprec(precision):
                    tails = [uniform.rounded_ball() for uniform in uniforms]
                    positions = self._position_balls(tails)
                    steps = [position.floor().unique_fmpz() for position in positions]
                known = [min(int(step), LARGEST_STEP) for step in steps if step is not None]
                if len(known) == self.dimension:
                    return known
            precision += 64

    def _position_balls(self, tails: list[arb]) -> list[arb]:
        n = self.exponentials
        law = direction_law(self.norm)
        radius = EXPONENTIAL.sum_ball(tails[:n])
        x = law.quantile_balls(tails[n:])
        if self.norm == math.inf:
            factor = radius * self.scale
        else:
            power = ball(self.norm)
            length = sum((value**power for value in x), arb(0)) ** (1 / power)
            factor = radius * self.scale / length
        return [value * factor + 0.5 for value in x]
