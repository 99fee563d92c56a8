"""Calls in blocks are as good as calls one by one."""

import numpy as np
import pytest

from dpverify.auditing.sampling.copies import copier
from dpverify.auditing.sampling.parts import Raised
from dpverify.auditing.search.trials import Calls

Rng = np.random.Generator


def uniform(_data: object, rng: Rng) -> float:
    return rng.random()


def test_draws_follow_the_generator() -> None:
    first, again, other = (
        Calls(uniform).sample(0, 50, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert list(first) == list(again)
    assert not set(first) & set(other)
    assert len(set(first)) == 50


@pytest.mark.false_alarm(1e-9)
def test_first_numbers_of_calls_are_uniform() -> None:
    """A generator per call from words drawn in advance: χ² of 64 cells, and of neighboring calls.

    P(χ²₆₃ > 164.2) < 1e-10 and P(χ²₂₅₅ > 425) < 1e-10 (scipy.stats.chi2.sf).
    """
    draws = np.array(Calls(uniform).sample(0, 64_000, rng=np.random.default_rng(3)))
    cells = np.bincount((draws * 64).astype(int), minlength=64)
    assert float(((cells - 1000.0) ** 2 / 1000.0).sum()) < 164.2
    pairs = (draws[::2] * 16).astype(int) * 16 + (draws[1::2] * 16).astype(int)
    joint = np.bincount(pairs, minlength=256)
    assert float(((joint - 125.0) ** 2 / 125.0).sum()) < 425.0


def test_a_copied_generator_gives_fresh_noise() -> None:
    def copies(_data: object, rng: Rng) -> float:
        seed = rng.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
        return np.random.default_rng(seed).random()

    draws = Calls(copies).sample(0, 200, rng=np.random.default_rng(4))
    assert len(set(draws)) == 200

    def spawns(_data: object, rng: Rng) -> tuple[float, float]:
        one, other = rng.spawn(2)
        return one.random(), other.random()

    rows = np.asarray(Calls(spawns).sample(0, 200, rng=np.random.default_rng(5)))
    assert len(np.unique(rows)) == 400


def test_data_is_fresh_in_every_call() -> None:
    def spoils(data: list[float], _rng: Rng) -> int:
        data.append(0.0)
        return len(data)

    data = [1.0, 2.0]
    assert set(Calls(spoils).sample(data, 20, rng=np.random.default_rng(0))) == {3}
    assert data == [1.0, 2.0]
    nested = [[1.0], [2.0]]
    fresh = copier(nested)()
    fresh[0].append(3.0)
    assert nested == [[1.0], [2.0]]
    array = np.zeros(3)
    copier(array)()[0] = 1.0
    assert not array.any()
    frozen = (1, "a", (2.0, None))
    assert copier(frozen)() is frozen


def test_what_is_raised_is_an_output() -> None:
    def fails(data: list[float], _rng: Rng) -> float:
        return data[0]

    drawn = Calls(fails).sample([], 3, rng=np.random.default_rng(0))
    assert list(drawn) == [Raised("IndexError", "list index out of range")] * 3


def test_what_a_call_returns_does_not_depend_on_the_others() -> None:
    """A block is a list whatever is in it, so an output is read alike in every company."""

    def alike(_data: object, rng: Rng) -> list[float]:
        return [rng.random(), 1.0]

    drawn = Calls(alike).sample(0, 4, rng=np.random.default_rng(0))
    assert isinstance(drawn, list)
    assert all(isinstance(row, list) for row in drawn)


def test_a_buffer_that_is_used_again_is_no_memory() -> None:
    buffer = np.zeros(2)

    def fills(_data: object, rng: Rng) -> object:
        buffer[:] = rng.random(2)
        return buffer

    drawn = Calls(fills).sample(0, 50, rng=np.random.default_rng(0))
    assert len(np.unique(np.array(drawn))) == 100
