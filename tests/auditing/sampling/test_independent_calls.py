"""Calls know nothing of each other: data changed in place, a buffer for all, forked generators."""

import copy
import random
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.auditing import Refuted, Witness, audit
from dpverify.auditing.sampling.copies import copier, detached
from dpverify.auditing.sampling.parts import Raised
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.sampling.spelling import canonical
from dpverify.auditing.sampling.workers import pool
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP
from dpverify.testing import assert_private
from tests.auditing.workloads import noisy, worldly

Rng = np.random.Generator
HALF = PureDP(epsilon=0.5)
BUFFER = np.zeros(2)


def adds_in_place(data: NDArray[np.float64], rng: Rng) -> NDArray[np.float64]:
    data += rng.laplace(scale=2.0, size=data.shape)
    return data


def appends(data: list[float], rng: Rng) -> float:
    data.append(0.5)
    return sum(data) + rng.laplace(scale=2.0)


def fills_a_buffer(data: NDArray[np.float64], rng: Rng) -> NDArray[np.float64]:
    BUFFER[:] = data[0] + rng.laplace(scale=4.0, size=2)
    return BUFFER


def array(x: float) -> NDArray[np.float64]:
    return np.array([x])


class InPlace:
    """A vectorized mechanism that spoils its data, and returns the same array every time."""

    def __init__(self) -> None:
        self.rows = np.zeros(1 << 15)

    def sample(self, data: NDArray[np.float64], size: int, *, rng: Rng) -> NDArray[np.float64]:
        self.rows[:size] = data[0] + rng.laplace(scale=2.0, size=size)
        data += 1.0
        return self.rows[:size]


PRIVATE: list[tuple[Any, Callable[[float], Any]]] = [
    (adds_in_place, array),
    (appends, lambda x: [x]),
    (fills_a_buffer, array),
    (InPlace(), array),
]


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("mechanism", "data"), PRIVATE)
def test_one_call_does_not_change_another(
    mechanism: Any,  # noqa: ANN401
    data: Callable[[float], Any],
    seed: int,
) -> None:
    """Each call by itself is exactly ½-DP; before calls had copies, most of these were refuted."""
    left, right = data(0.0), data(1.0)
    verdict = audit(
        mechanism, left=left, right=right, claim=HALF, level=1e-9, seed=seed, samples=1_500
    )
    assert not verdict.refuted
    assert (left, right) == (data(0.0), data(1.0))


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize(("mechanism", "data"), PRIVATE[:3])
def test_nor_in_tests(mechanism: Any, data: Callable[[float], Any]) -> None:  # noqa: ANN401
    assert_private(mechanism, HALF, data(0.0), data(1.0), level=1e-9, samples=1_500)


def test_the_witness_holds_the_data_as_they_were() -> None:
    data = np.array([0.0])

    def spoils(given: NDArray[np.float64], rng: Rng) -> float:
        data[:] = 7.0  # the caller's own
        return float(given[0] + rng.laplace(scale=0.1))

    verdict = audit(spoils, left=data, right=np.array([1.0]), claim=HALF, samples=1_000)
    assert isinstance(verdict, Refuted)
    assert verdict.witness.left.tolist() == [0.0]


def test_blocks_of_one_buffer_are_kept_apart() -> None:
    sampler = Sampler(mechanism=InPlace(), left=np.array([0.0]), right=np.array([1.0]), seed=0)
    first, second = sampler.draw(0, 50)[0], sampler.draw(50, 100)[0]
    assert not np.isin(first.column("output"), second.column("output")).any()


@pytest.mark.parametrize(
    "data",
    [
        [[1.0], [2.0, {"a": [3]}]],
        {"x": np.arange(3.0), "y": {1, 2}},
        ([1], 2),
        np.array([[1], None], dtype=object),
        bytearray(b"abc"),
    ],
)
def test_copies_share_nothing(data: Any) -> None:  # noqa: ANN401
    fresh, text = copier(data), canonical(data)
    kept = detached(data)
    for taken in (fresh(), fresh()):
        assert type(taken) is type(data)
        assert canonical(taken) == text
        _spoil(taken)
        assert canonical(taken) != text
    assert canonical(fresh()) == text
    assert canonical(data) == text
    _spoil(data)
    assert canonical(kept) == text
    assert canonical(fresh()) == text


def _spoil(data: Any) -> None:  # noqa: ANN401
    match data:
        case list():
            data[0].append(9.0)
        case dict():
            data["x"][0] = 9.0
        case tuple() | np.ndarray():
            data[0].append(9)
        case _:
            data[0] = 9


def test_what_cannot_change_is_not_copied() -> None:
    for value in (1, "a", None, np.float64(2.0), (1, (2.0, b"c")), Raised("E", "m")):
        assert copier(value)() is value
        assert detached(value) is value


def test_what_cannot_be_copied_is_refused_as_data_and_shown_as_output() -> None:
    lock = threading.Lock()
    with pytest.raises(InvalidParameter, match=r"data of type lock must be such that copy\.deep"):
        audit(noisy, left=lock, right=1.0, claim=HALF)
    with pytest.raises(TypeError):
        copy.deepcopy(lock)
    assert canonical(detached(lock)) == canonical(lock)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize(
    "processes", [lambda: pool(2, None, worldly), lambda: ProcessPoolExecutor(2)]
)
def test_forked_processes_have_noise_of_their_own(processes: Callable[[], Any]) -> None:
    """Noise from global generators: chances are 1e-10 that two of 1,600 53-bit numbers agree."""
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    with processes() as runner:
        sampler = Sampler(mechanism=worldly, left=0, right=0, seed=0, executor=runner)
        parts = list(sampler.pairs(0, 400))
    for name in ("output[0]", "output[1]"):
        drawn = np.concatenate([side.column(name) for part in parts for side in part])
        assert len(np.unique(drawn)) == drawn.size == 800


def test_the_caller_keeps_the_generators() -> None:
    np.random.seed(5)  # noqa: NPY002
    expected = np.random.random(3).tolist()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    audit(noisy, left=0.0, right=1.0, claim=PureDP(epsilon=2.0), samples=300, workers=2)
    assert np.random.random(3).tolist() == expected  # noqa: NPY002


def false_refutation() -> Witness:
    """A witness against an honest mechanism, as one audit in some gives at level 0.5."""
    for seed in range(50):
        verdict = audit(
            noisy, left=0.0, right=1.0, claim=PureDP(epsilon=1.0), level=0.5, seed=seed, samples=400
        )
        if isinstance(verdict, Refuted) and verdict.witness.epsilon_lower > 1.0:
            return verdict.witness
    raise AssertionError("one audit in fifty was to err")


def test_a_replay_never_sees_the_draws_that_chose() -> None:
    witness = false_refutation()
    again = witness.replay(noisy, samples=witness.counts.trials, seed=witness.seed, level=0.01)
    sampler = Sampler(mechanism=noisy, left=0.0, right=1.0, seed=witness.seed)
    audited = sampler.draw(0, 400)[0].column("output")
    seen: list[float] = []

    def spied(data: float, rng: Rng) -> float:
        seen.append(noisy(data, rng))
        return seen[-1]

    repeated = witness.replay(spied, samples=witness.counts.trials, seed=witness.seed, level=0.01)
    assert repeated.epsilon_lower == again.epsilon_lower  # same seed, same draws
    assert not np.isin(audited, seen).any()


def test_a_replay_of_a_replay_is_fresh_too() -> None:
    verdict = audit(noisy, left=0.0, right=1.0, claim=PureDP(epsilon=0.2), seed=0)
    assert isinstance(verdict, Refuted)
    first = verdict.witness.replay(noisy, samples=5_000, seed=0)
    assert isinstance(first, Refuted)
    second = first.witness.replay(noisy, samples=5_000, seed=0)
    assert isinstance(second, Refuted)
    assert second.witness.counts != first.witness.counts


@pytest.mark.parametrize("level", [0.0, -0.1, 0.6, 1.0, float("nan")])
def test_the_level_of_a_replay_is_checked(level: float) -> None:
    verdict = audit(noisy, left=0.0, right=1.0, claim=PureDP(epsilon=0.2), seed=0)
    assert isinstance(verdict, Refuted)
    with pytest.raises(InvalidParameter, match="level="):
        verdict.witness.replay(noisy, seed=1, level=level)
    with pytest.raises(InvalidParameter, match="seed=-1 must"):
        verdict.witness.replay(noisy, seed=-1)


class Fragile:
    """A vectorized mechanism that leaks, and whose blocks fail as soon as one draw does."""

    def sample(self, data: float, size: int, *, rng: Rng) -> NDArray[np.float64]:
        if (rng.random(size) < 0.3 * data).any():
            raise ValueError("a draw failed")
        return rng.laplace(size=size)


def test_a_replay_draws_one_by_one_where_sample_raises() -> None:
    verdict = audit(Fragile(), left=0.0, right=1.0, claim=HALF, samples=500)
    assert isinstance(verdict, Refuted)
    assert verdict.witness.replay(Fragile(), samples=1_000, seed=0, timeout=5.0).refuted
