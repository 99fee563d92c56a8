"""Draws on both sides of a pair, the same for a seed whatever the workers and the batching.

A callable gets one generator per call, derived from (seed, side, index of the call). A vectorized
mechanism gets one per block, derived from (seed, side, start of the block); the blocks' boundaries
are the audit's stages, so they do not depend on who draws them.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from types import FrameType
from typing import Any, TypeAlias

import numpy as np

from dpverify.auditing.outputs import Outputs, Raised, TimedOut, from_array, from_objects
from dpverify.errors import InvalidParameter

LOSS = "privacy loss"
_CHUNK = 256  # calls per task of an executor

Target: TypeAlias = Any
"""A callable `mechanism(data, rng)`, or an object with `sample(data, size, *, rng)`."""


Task: TypeAlias = tuple[Callable[..., object], object, int, "Side", int, int, float | None]


class Side(Enum):
    """The two datasets of a pair."""

    LEFT = 0
    RIGHT = 1

    @property
    def other(self) -> "Side":
        return Side.RIGHT if self is Side.LEFT else Side.LEFT


class OutOfTime(BaseException):
    """Raised inside a call that takes too long; no `except Exception` of a mechanism stops it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """A mechanism on the two datasets of a pair, with a seed.

    `timeout` is the time in seconds after which one call counts as the output "times out".
    """

    mechanism: Target
    left: Any
    right: Any
    seed: int
    timeout: float | None = None
    executor: Executor | None = None

    def __post_init__(self) -> None:
        if not self.vectorized and not callable(self.mechanism):
            raise InvalidParameter(
                f"mechanism={self.mechanism!r} must be a callable mechanism(data, rng) or have "
                "sample(data, size, *, rng)"
            )

    @property
    def vectorized(self) -> bool:
        return callable(getattr(self.mechanism, "sample", None))

    @property
    def has_density(self) -> bool:
        return self.vectorized and callable(getattr(self.mechanism, "log_density", None))

    def draw(self, side: Side, start: int, stop: int) -> Outputs:
        """Draws start ≤ index < stop on one side."""
        data = self.left if side is Side.LEFT else self.right
        if not self.vectorized:
            return from_objects(self._calls(data, side, start, stop))
        raw = self._block(data, side, start, stop)
        outputs = from_array(raw) if isinstance(raw, np.ndarray) else from_objects(list(raw))
        if outputs.size != stop - start:
            raise InvalidParameter(
                f"mechanism={self.mechanism!r} must return size={stop - start} outputs from "
                f"sample, got {outputs.size}"
            )
        return self._with_loss(outputs, raw) if self.has_density else outputs

    def _block(self, data: object, side: Side, start: int, stop: int) -> Any:  # noqa: ANN401
        rng = generator(self.seed, side, start)
        try:
            with time_limit(None if self.timeout is None else self.timeout * (stop - start)):
                return self.mechanism.sample(data, stop - start, rng=rng)
        except OutOfTime:
            raise InvalidParameter(
                f"timeout={self.timeout!r} must be longer: sample did not return {stop - start} "
                "draws in time"
            ) from None

    def _calls(self, data: object, side: Side, start: int, stop: int) -> list[object]:
        cuts = [*range(start, stop, _CHUNK), stop]
        tasks = [
            (self.mechanism, data, self.seed, side, a, b, self.timeout) for a, b in pairwise(cuts)
        ]
        runs = map(_chunk, tasks) if self.executor is None else self.executor.map(_chunk, tasks)
        return [output for run in runs for output in run]

    def _with_loss(self, outputs: Outputs, raw: Any) -> Outputs:  # noqa: ANN401
        """Add ln p(output | left) − ln p(output | right): the best events are its thresholds."""
        left = np.asarray(self.mechanism.log_density(raw, self.left), dtype=np.float64)
        right = np.asarray(self.mechanism.log_density(raw, self.right), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            # Beyond this digit the difference shows how it was rounded, which is about bits.
            return outputs.with_column(LOSS, np.round(left - right, 9))


def generator(seed: int, side: Side, index: int) -> np.random.Generator:
    """The generator of one call or block; independent of all others."""
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(side.value, index)))
    )


def _chunk(task: Task) -> list[object]:
    mechanism, data, seed, side, start, stop, timeout = task
    return [_call(mechanism, data, generator(seed, side, i), timeout) for i in range(start, stop)]


def _call(
    mechanism: Callable[..., object],
    data: object,
    rng: np.random.Generator,
    timeout: float | None,
) -> object:
    try:
        with time_limit(timeout):
            return mechanism(data, rng)
    except OutOfTime:
        return TimedOut()
    except Exception as error:  # noqa: BLE001  # what a mechanism raises is one of its outputs
        return Raised(type(error).__name__, str(error))


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the body after so many seconds."""
    if seconds is None:
        yield
        return
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        raise InvalidParameter(
            f"timeout={seconds!r} must be None here: it needs a Unix system and the main thread"
        )

    def ring(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
