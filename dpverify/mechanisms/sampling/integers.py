"""Integers drawn exactly from the discrete Laplace and discrete Gaussian distributions.

A geometric number is an exponential one rounded down, which `inversion` draws exactly. Two signs
make it discrete Laplace, where −0 is drawn again; and that, kept with probability
exp(−(|y| − σ²/t)²/(2σ²)), is discrete Gaussian. [CKS20 Alg. 2, 3] Whether to keep is decided like
every draw here: by floats where they are far enough from the limit, by balls and as many digits of
the same uniform as it takes elsewhere.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball
from dpverify.mechanisms.sampling.inversion import FIRST_PRECISION, TRUSTED, UNIFORM_BITS, Steps
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL
from dpverify.mechanisms.sampling.uniform import LazyUniform, leading, random_words, refine

_BLOCK = 1 << 16
_SURE = 1 << 20  # an exponent that no draw exceeds in floats
_SPARE = 1.25  # draws at a time over those still wanted
_ROUNDING = 2.0**-42  # of an exponent in floats, relative to 1 + its terms; delivered: below 2^-49


def discrete_laplace(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Independent integers k with probability ∝ e^(−|k|/scale)."""
    return _filled(lambda count: _laplace(scale, count, rng), shape)


def discrete_gaussian(sigma: float, shape: tuple[int, ...], rng: np.random.Generator) -> Ints:
    """Independent integers k with probability ∝ e^(−k²/(2σ²))."""
    variance = Fraction(sigma) ** 2
    scale = math.floor(sigma) + 1

    def some(count: int) -> Ints:
        drawn = _laplace(float(scale), count, rng)
        kept: Ints = drawn[_kept(np.abs(drawn), variance, scale, rng)]
        return kept

    return _filled(some, shape)


def _filled(some: Callable[[int], Ints], shape: tuple[int, ...]) -> Ints:
    """Fill the shape with draws of which an unknown fraction is kept."""
    result = np.empty(shape, np.int64)
    flat = result.reshape(-1)
    done = 0
    while done < flat.size:
        kept = some(min(int(_SPARE * (flat.size - done)) + 16, _BLOCK))[: flat.size - done]
        flat[done : done + kept.size] = kept
        done += kept.size
    return result


def _laplace(scale: float, count: int, rng: np.random.Generator) -> Ints:
    """Up to `count` integers: a magnitude with a sign, without those that would be −0."""
    rule = Steps(law=EXPONENTIAL, scale=scale, offset=0.0, margin=EXPONENTIAL.margin)
    steps, signs = rule.draw(count, rng)
    signed: Ints = (steps * (1 - 2 * signs))[(steps > 0) | (signs == 0)]
    return signed


def _kept(
    sizes: Ints, variance: Fraction, scale: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """For each |y|, True with probability exp(−(|y| − σ²/t)²/(2σ²))."""
    sigma = math.sqrt(variance)
    far, near = sizes / sigma, sigma / scale
    needed = 0.5 * (far - near) ** 2
    room = _ROUNDING * (1.0 + (far + near) ** 2)

    def exactly(index: int) -> Fraction:
        return (int(sizes[index]) - variance / scale) ** 2 / (2 * variance)

    return _coins(needed, room, exactly, rng)


def exponential_coins(
    exponents: Sequence[Fraction], count: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """`count` rows of independent coins, each True with probability e^(−exponent)."""
    floats = np.array([float(min(exponent, Fraction(_SURE))) for exponent in exponents])
    needed = np.tile(floats, count)
    room = _ROUNDING * (1.0 + needed)
    coins = _coins(needed, room, lambda index: exponents[index % len(exponents)], rng)
    return coins.reshape(count, len(exponents))


def _coins(
    needed: Floats, room: Floats, exactly: Callable[[int], Fraction], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """True with probability e^(−needed), by an exponential draw; doubtful cases call `exactly`."""
    numerators = random_words(needed.size, rng) >> np.uint64(1)
    drawn = EXPONENTIAL.quantile(leading(numerators, UNIFORM_BITS))
    kept: NDArray[np.bool_] = drawn > needed
    doubt = room + EXPONENTIAL.margin * (1.0 + drawn)
    certain = (np.abs(drawn - needed) > doubt) & (numerators >= TRUSTED)
    for index in np.flatnonzero(~certain):
        uniform = LazyUniform(int(numerators[index]), UNIFORM_BITS)
        kept[index] = _exceeds(exactly(int(index)), uniform, rng)
    return kept


def _exceeds(exponent: Fraction, uniform: LazyUniform, rng: np.random.Generator) -> bool:
    """Whether −ln u > exponent, using as many digits of u as that takes."""
    if exponent == 0:
        return True
    precision = FIRST_PRECISION
    while True:
        refine([uniform], rng)
        with ctx.workprec(precision):
            limit, at = (-ball(exponent)).exp(), uniform.ball()
            if at < limit:
                return True
            if at >= limit:
                return False
        precision += 64
