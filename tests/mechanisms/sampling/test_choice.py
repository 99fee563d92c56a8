"""Exact choices: the cuts, and the path by balls."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from numpy.typing import ArrayLike

from dpverify.balls import ball
from dpverify.mechanisms.sampling.choice import CutPoints, at_precision
from dpverify.mechanisms.sampling.uniform import WORD_BITS, LazyUniform

Agree = Callable[[ArrayLike, ArrayLike, int], None]


def cuts_at(*fractions: Fraction, error: float = 2.0**-52) -> CutPoints:
    floats = np.array([float(fraction) for fraction in fractions])
    balls = at_precision(lambda: [ball(fraction) for fraction in fractions])
    return CutPoints(floats=floats, error=error, balls=balls)


def test_balls_and_floats_pick_alike() -> None:
    thirds = [Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)]
    fast = cuts_at(*thirds).draw((3000,), np.random.default_rng(3))
    slow = cuts_at(*thirds, error=2.0).draw((3000,), np.random.default_rng(3))
    assert (fast == slow).all()
    assert set(fast.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("bits", [70, 200, 2000])
def test_an_outcome_far_below_float_resolution_is_found(bits: int) -> None:
    """Outcome 1 lies between 1/3 and 1/3 + 2^-bits, and only many digits can hit it."""
    low = Fraction(1, 3)
    cuts = cuts_at(low, low + Fraction(1, 2**bits))
    digits = bits + WORD_BITS
    for numerator, outcome in [
        ((1 << digits) // 3 - 1, 0),
        ((1 << digits) // 3 + 1, 1),
        ((1 << digits) // 3 + (1 << WORD_BITS) - 1, 1),
        ((1 << digits) // 3 + (1 << WORD_BITS) + 1, 2),
    ]:
        uniform = LazyUniform(numerator, digits)
        assert cuts.resolve(uniform, 0, 2, np.random.default_rng(0)) == outcome


def test_cuts_at_the_ends_of_the_interval() -> None:
    rng = np.random.default_rng(0)
    assert (cuts_at(Fraction(0)).draw((1000,), rng) == 1).all()
    assert (cuts_at(Fraction(1)).draw((1000,), rng) == 0).all()
    first = LazyUniform(0, WORD_BITS)
    assert cuts_at(Fraction(0)).resolve(first, 0, 1, rng) == 1
    last = LazyUniform((1 << WORD_BITS) - 1, WORD_BITS)
    assert cuts_at(Fraction(1)).resolve(last, 0, 1, rng) == 0


def test_balls_are_computed_once_for_each_precision() -> None:
    calls = []

    def formulas() -> list[arb]:
        calls.append(1)
        return [arb(1) / 3]

    cuts = CutPoints(floats=np.array([1 / 3]), error=2.0, balls=at_precision(formulas))
    cuts.draw((500,), np.random.default_rng(0))
    assert len(calls) < 5


@pytest.mark.false_alarm(1e-9)
def test_outcomes_have_their_probabilities(rng: np.random.Generator, agree: Agree) -> None:
    total = 400_000
    draws = cuts_at(Fraction(1, 7), Fraction(2, 7), Fraction(2, 3)).draw((4, total // 4), rng)
    assert draws.shape == (4, total // 4)
    agree(np.bincount(draws.ravel(), minlength=4), [1 / 7, 1 / 7, 8 / 21, 1 / 3], total)
