"""Uniform numbers whose binary digits are drawn when they are needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dpverify.arrays import Words

WORD_BITS = 64
_LARGEST_WORD = (1 << WORD_BITS) - 1


def random_words(count: int, rng: np.random.Generator) -> Words:
    """`count` independent random words of 64 bits."""
    return rng.integers(0, _LARGEST_WORD, count, dtype=np.uint64, endpoint=True)


def leading(numerators: Words, bits: int) -> NDArray[np.float64]:
    """The middle of [numerator, numerator + 1]/2^bits, rounded to a float."""
    middles: NDArray[np.float64] = (numerators.astype(np.float64) + 0.5) * 2.0**-bits
    return middles


@dataclass(slots=True)
class LazyUniform:
    """A uniform number between numerator/2^bits and (numerator + 1)/2^bits.

    The digits that are known never change; 64 more can be appended. So a decision that the known
    digits force is the decision for the number with all its infinitely many digits.
    """

    numerator: int
    bits: int

    def append(self, word: int) -> None:
        """Append the next 64 binary digits."""
        self.numerator = (self.numerator << WORD_BITS) | word
        self.bits += WORD_BITS

    @property
    def significant(self) -> int:
        """The number of known digits from the first 1 on."""
        return self.numerator.bit_length()

    def ball(self) -> arb:
        """A ball with all numbers that begin with the known digits."""
        exponent = -self.bits - 1
        return arb((2 * self.numerator + 1, exponent), (1, exponent))

    def rounded_ball(self) -> arb:
        """The same at the working precision, which is faster."""
        return arb(2 * self.numerator + 1, 1) * _power_of_two(-self.bits - 1)


@lru_cache(maxsize=64)
def _power_of_two(exponent: int) -> arb:
    return arb((1, exponent))


def refine(uniforms: Sequence[LazyUniform], rng: np.random.Generator) -> None:
    """Append 64 random digits to each number."""
    for uniform, word in zip(uniforms, random_words(len(uniforms), rng).tolist(), strict=True):
        uniform.append(word)
