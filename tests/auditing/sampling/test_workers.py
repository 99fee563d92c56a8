"""Calls that end their process are outputs, and disturb no other draw."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import Refuted, audit
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.sampling.workers import pool
from dpverify.errors import InvalidParameter
from dpverify.guarantees import PureDP

GIVEN: dict[str, Any] = {"left": 0, "right": 1, "claim": PureDP(epsilon=0.5), "seed": 1}
WAYS: dict[str, Callable[[], None]] = {
    "exit code 4": lambda: os._exit(4),
    "SIGKILL": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "SIGTERM": lambda: os.kill(os.getpid(), signal.SIGTERM),
}


class Mortal:
    """Dies in half of its calls on the right, and in a twentieth on the left."""

    def __init__(self, way: str) -> None:
        self.way = way

    def __call__(self, data: int, rng: np.random.Generator) -> float:
        if rng.random() < (1 / 2 if data else 1 / 20):
            WAYS[self.way]()
        return float(rng.random())


class Raising(Mortal):
    """The same, with an exception in place of death."""

    def __call__(self, data: int, rng: np.random.Generator) -> float:
        if rng.random() < (1 / 2 if data else 1 / 20):
            raise ValueError("no")
        return float(rng.random())


def exiting(data: int, rng: np.random.Generator) -> float:
    if rng.random() < (0.5 if data else 0.05):
        sys.exit(3)
    return float(rng.random())


class Abandon(BaseException):
    """No `Exception`, like those of frameworks that stop a task."""


class Wordless(Exception):
    """It has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Abandoning:
    """Raises what not every `except` catches, the more often on the right."""

    def __init__(self, *kinds: type[BaseException]) -> None:
        self.kinds = kinds

    def __call__(self, data: int, rng: np.random.Generator) -> float:
        if rng.random() < (0.9 if data else 0.1):
            raise self.kinds[0]
        return float(rng.random())


def grouped(data: int, rng: np.random.Generator) -> float:
    inner = "ab"[data if rng.random() < 0.9 else 1 - data]
    raise ExceptionGroup("many", [ValueError(inner)])


class MortalBlocks(Mortal):
    """Drawn many at a time, so that it is not known at first which draw it was."""

    def sample(self, data: int, size: int, *, rng: np.random.Generator) -> list[float]:
        return [self(data, rng) for _ in range(size)]


@pytest.mark.parametrize(("way", "workers"), [("exit code 4", 1), ("SIGKILL", 3), ("SIGTERM", 2)])
def test_all_other_draws_are_as_without_deaths(way: str, workers: int) -> None:
    alone = Sampler(mechanism=Raising(way), left=0, right=1, seed=5)
    raised = alone.draw(0, 24)
    with pool(workers, None, None, isolate=True) as runner:
        sampler = Sampler(mechanism=Mortal(way), left=0, right=1, seed=5, executor=runner)
        died = sampler.draw(0, 24)
    for one, other in zip(raised, died, strict=True):
        dead = one.text("output") == "raises ValueError"
        assert (other.text("output")[dead] == f"dies by {way}").all()
        assert np.array_equal(one.column("output"), other.column("output"), equal_nan=True)
    assert np.isin(f"dies by {way}", died[1].text("output"))


@pytest.mark.parametrize(
    ("kind", "options"), [(Mortal, {"isolate": True}), (MortalBlocks, {"workers": 2})]
)
def test_deaths_refute(kind: type[Mortal], options: dict[str, Any]) -> None:
    """Also of a vectorized mechanism, which is drawn one by one once it has died."""
    verdict = audit(kind("exit code 4"), **GIVEN, **options, samples=110, method="fixed")
    assert isinstance(verdict, Refuted)
    assert str(verdict.witness.event) == "output dies by exit code 4"


def test_an_exit_is_an_output_without_workers() -> None:
    verdict = audit(exiting, **GIVEN)
    assert isinstance(verdict, Refuted)
    assert str(verdict.witness.event) == "output raises SystemExit"


def test_one_that_always_dies_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="every call dies by exit code 4"):
        audit(_always, **GIVEN, isolate=True)


def _always(data: int, rng: np.random.Generator) -> float:
    del data, rng
    os._exit(4)


def _second_leak(data: int, rng: np.random.Generator) -> bool:
    """Raises far more often on the right, and tells the data where it does not raise."""
    if rng.random() < (0.75 if data else 0.25):
        raise ValueError(f"not today: {data}")
    return bool(rng.random() < (0.1 if data else 0.9))


def _only_raises_apart(data: int, rng: np.random.Generator) -> float:
    if rng.random() < (0.5 if data else 0.3):
        raise ValueError("not today")
    return float(rng.random())


def test_exceptions_that_are_ignored_are_in_no_event() -> None:
    counted = audit(_second_leak, **GIVEN)
    ignored = audit(_second_leak, **GIVEN, exceptions="ignore")
    assert isinstance(counted, Refuted)
    assert isinstance(ignored, Refuted)
    assert "raises" in str(counted.witness.event) or "message" in str(counted.witness.event)
    assert str(ignored.witness.event) == "output ≥ 1.0"
    tight = GIVEN | {"claim": PureDP(epsilon=0.3)}
    assert audit(_only_raises_apart, **tight, samples=4_000).refuted
    aside = audit(_only_raises_apart, **tight, samples=4_000, exceptions="ignore")
    assert not aside.refuted or "raises" not in str(aside.witness)
    assert any("not examined: calls that failed" in note for note in aside.notes)


def test_ignoring_is_said_with_one_of_two_words() -> None:
    with pytest.raises(InvalidParameter, match="exceptions='skip' must be one of: count, ignore"):
        audit(exiting, **GIVEN, exceptions="skip")  # type: ignore[arg-type]


def test_what_cannot_be_sent_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="picklable for isolate=True"):
        audit(lambda data, rng: data + rng.random(), **GIVEN, isolate=True)


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, Wordless])
def test_all_that_is_raised_is_an_output(kind: type[BaseException]) -> None:
    verdict = audit(Abandoning(kind), **GIVEN, samples=300)
    assert isinstance(verdict, Refuted)
    assert str(verdict.witness.event) in {f"output raises {kind.__name__}", "output is a number"}


def test_what_may_be_the_callers_is_an_output_in_a_process_of_its_own_only() -> None:
    with pytest.raises(Abandon):
        audit(Abandoning(Abandon), **GIVEN, samples=300)
    assert audit(Abandoning(Abandon), **GIVEN, samples=300, isolate=True).refuted


def test_an_interrupt_that_the_mechanism_raises_is_an_output_of_a_worker(
    capfd: pytest.CaptureFixture[str],
) -> None:
    verdict = audit(Abandoning(KeyboardInterrupt), **GIVEN, samples=300, isolate=True)
    assert isinstance(verdict, Refuted)
    assert not capfd.readouterr().err


def test_what_is_in_a_group_of_exceptions_counts() -> None:
    verdict = audit(grouped, **GIVEN, samples=300)
    assert isinstance(verdict, Refuted)
    assert not verdict.unusable
