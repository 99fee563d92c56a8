"""Integers drawn exactly from the distribution of a rounded continuous magnitude.

A draw is u ↦ ⌊scale·x(u) + offset⌋, where x is the quantile function and u is uniform with
infinitely many digits, 63 of which are drawn at first. Floats settle the integer whenever it is
the same at a distance of `margin` around what they compute. The rest, about one draw in ten
thousand and every one of a tail below 2^-15, is settled on balls, with more digits of the same u
if it takes them. So the law is exact if the random bits are, under one assumption that a test
compares with ball arithmetic: `Magnitude.accuracy`.

Draws beyond 2^62, which have probability below e^-1000 as `scale` is at most 2^52, are returned
as 2^62.
"""

from dataclasses import dataclass

import numpy as np
from flint import ctx

from dpverify.arrays import Ints
from dpverify.errors import as_positive, settle
from dpverify.mechanisms.sampling.magnitudes import Magnitude
from dpverify.mechanisms.sampling.uniform import LazyUniform, leading, random_words, refine

LARGEST_STEP = 1 << 62
LARGEST_SCALE = 2.0**52
UNIFORM_BITS = 63  # the last bit of a word is a sign
TRUSTED = 1 << 48  # below this numerator, u < 2^-15 and the digits at hand are too few
FIRST_PRECISION = 128
_BLOCK = 1 << 16  # draws per pass, so that temporaries stay in cache


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How a magnitude x becomes an integer: ⌊scale·x + offset⌋."""

    law: Magnitude
    scale: float
    offset: float
    margin: float

    def __post_init__(self) -> None:
        settle(self, scale=as_positive("scale", self.scale))

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """`count` integers, and as many independent random bits."""
        words = random_words(count, rng)
        numerators = words >> np.uint64(1)
        x = self.law.quantile(leading(numerators, UNIFORM_BITS))
        position = x * self.scale + self.offset
        below = np.floor(position)
        fraction = position - below
        slack = (1.0 + x) * (self.scale * self.margin)
        certain = (np.minimum(fraction, 1.0 - fraction) > slack) & (numerators >= TRUSTED)
        steps = np.where(certain, below, 0.0).astype(np.int64)
        for index in np.flatnonzero(~certain):
            steps[index] = self.resolve(LazyUniform(int(numerators[index]), UNIFORM_BITS), rng)
        return steps, (words & np.uint64(1)).astype(np.int64)

    def resolve(self, uniform: LazyUniform, rng: np.random.Generator) -> int:
        """The exact integer of one draw, with as many further digits as that takes."""
        precision = FIRST_PRECISION
        while True:
            refine([uniform], rng)
            # A ball that reaches 0 has no quantile, and one near it a wide one.
            if uniform.significant >= UNIFORM_BITS:
                with ctx.workprec(precision):
                    x = self.law.quantile_ball(uniform.ball())
                    steps = (x * self.scale + self.offset).floor().unique_fmpz()
                if steps is not None:
                    return min(int(steps), LARGEST_STEP)
            precision += 64


def nearest_steps(
    law: Magnitude, scale: float, shape: tuple[int, ...], rng: np.random.Generator
) -> Ints:
    """Independent integers: ±scale·x, with a fair sign, rounded to the nearest integer."""
    rule = Steps(law=law, scale=scale, offset=0.5, margin=law.margin)
    return _filled(rule, shape, rng, signed=True)


def whole_steps(
    law: Magnitude, scale: float, shape: tuple[int, ...], rng: np.random.Generator
) -> Ints:
    """Independent integers: scale·x, rounded down."""
    rule = Steps(law=law, scale=scale, offset=0.0, margin=law.margin)
    return _filled(rule, shape, rng, signed=False)


def _filled(rule: Steps, shape: tuple[int, ...], rng: np.random.Generator, *, signed: bool) -> Ints:
    result = np.empty(shape, np.int64)
    flat = result.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        steps, bits = rule.draw(block.size, rng)
        block[:] = steps * (1 - 2 * bits) if signed else steps
    return result
