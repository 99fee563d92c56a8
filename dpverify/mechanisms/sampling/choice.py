"""Choices among finitely many outcomes, with exactly the probabilities of a formula.

The unit interval is cut at the cumulated probabilities, and a uniform number with infinitely many
digits picks a piece. Floats settle the pick where the first 64 digits are far enough from every
cut; balls settle the rest, with more digits if it takes them. So an outcome of probability 2^-500
has that probability, and not 0 or 2^-53.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats, Ints
from dpverify.mechanisms.sampling.uniform import (
    WORD_BITS,
    LazyUniform,
    leading,
    random_words,
    refine,
)

_FIRST_PRECISION = 128
_ROUNDING = 2.0**-50  # of the first digits to a float, with room
_BLOCK = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPoints:
    """Cut points of the unit interval; outcome i is between cut i − 1 and cut i.

    `floats` are the cuts in ascending order, each within `error` of the exact one; `balls` encloses
    all of them at a given precision.
    """

    floats: Floats
    error: float
    balls: Callable[[int], Sequence[arb]]

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
        """Independent outcomes, from 0 to the number of cuts."""
        result = np.empty(shape, np.int64)
        flat = result.reshape(-1)
        for start in range(0, flat.size, _BLOCK):
            block = flat[start : start + _BLOCK]
            block[:] = self._block(block.size, rng)
        return result

    def _block(self, count: int, rng: np.random.Generator) -> Ints:
        words = random_words(count, rng)
        uniforms = leading(words, WORD_BITS)
        room = self.error + _ROUNDING
        least = np.searchsorted(self.floats + room, uniforms, side="left")
        most = np.searchsorted(self.floats - room, uniforms, side="right")
        for index in np.flatnonzero(least != most):
            uniform = LazyUniform(int(words[index]), WORD_BITS)
            least[index] = self.resolve(uniform, int(least[index]), int(most[index]), rng)
        return least

    def resolve(self, uniform: LazyUniform, least: int, most: int, rng: np.random.Generator) -> int:
        """The number of cuts at or below `uniform`, known to be from `least` to `most`."""
        precision = _FIRST_PRECISION
        while least < most:
            refine([uniform], rng)
            cuts, at = self.balls(precision), uniform.ball()
            while least < most:
                middle = (least + most) // 2
                if at < cuts[middle]:
                    most = middle
                elif at >= cuts[middle]:
                    least = middle + 1
                else:
                    break
            precision += WORD_BITS
        return least


def at_precision(formulas: Callable[[], Sequence[arb]]) -> Callable[[int], Sequence[arb]]:
    """The formulas evaluated as balls at one precision."""

    @cache
    def balls(precision: int) -> Sequence[arb]:
        with ctx.workprec(precision):
            return formulas()

    return balls
