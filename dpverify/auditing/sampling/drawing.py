"""One task of draws, which can run in any process.

A callable gets one generator per call, derived from (seed, side, index of the call). A vectorized
mechanism gets one per block of `BLOCK` draws, derived from (seed, side, start of the block). Each
call or block also gets a copy of the data, and what it returns is copied at once (`copies`). Calls
on the two sides take turns, in an order that is drawn, so that whatever changes with time or from
call to call changes for both.
"""

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.sampling.copies import copier, detached
from dpverify.auditing.sampling.outputs import Outputs, joined
from dpverify.auditing.sampling.parts import FAILURES, Died, Raised, SetAside, TimedOut
from dpverify.auditing.sampling.processes import (
    OutOfTime,
    can_interrupt,
    seed_anew_outside,
    time_limit,
    time_limit_if_possible,
)
from dpverify.auditing.sampling.reading import raised
from dpverify.auditing.sampling.tabulating import from_array, from_objects
from dpverify.errors import DPVerifyError, InvalidParameter, NotSupported

LOSS = "privacy loss"
BLOCK = 16_384  # draws of a vectorized mechanism at a time
_SMALLEST = 64  # draws at a time when memory is short

Target: TypeAlias = Any
"""A callable `mechanism(data, rng)`, or an object with `sample(data, size, *, rng)`."""


class Side(Enum):
    """The two sides of a pair of datasets."""

    LEFT = 0
    RIGHT = 1

    @property
    def other(self) -> "Side":
        return Side.RIGHT if self is Side.LEFT else Side.LEFT


class SampleRaised(DPVerifyError):
    """Raised if `sample` of a vectorized mechanism raises: which draw failed is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A task: draws start ≤ index < stop on one side, or on both.

    `singly` draws a vectorized mechanism one at a time. `counted` says whether exceptions are
    outputs. Nothing is begun after `until`. Draws with another `key` are independent of these.
    `process` is the one that asks for the draws.
    """

    mechanism: Target
    left: Any
    right: Any
    seed: int
    sides: tuple[Side, ...]
    start: int
    stop: int
    timeout: float | None = None
    until: float | None = None
    singly: bool = False
    counted: bool = True
    key: tuple[int, ...] = ()
    process: int = field(default_factory=os.getpid)

    def data(self, side: Side) -> Any:  # noqa: ANN401  # whatever the mechanism takes
        return self.left if side is Side.LEFT else self.right

    @property
    def size(self) -> int:
        return self.stop - self.start

    @property
    def width(self) -> int:
        """How many sides are drawn: one or two."""
        return len(self.sides)

    @property
    def in_blocks(self) -> bool:
        return is_vectorized(self.mechanism) and not self.singly

    def generator(self, side: Side, index: int) -> np.random.Generator:
        return generator(self.seed, side, index, key=self.key)

    def failure(self, failed: Raised | Died) -> object:
        """The output that is recorded for a failed call."""
        return failed if self.counted else SetAside()

    @property
    def time_left(self) -> float | None:
        return None if self.until is None else max(self.until - time.time(), 0.0)

    @property
    def is_over(self) -> bool:
        return self.until is not None and time.time() >= self.until


@dataclass(frozen=True, slots=True)
class Drawn:
    """The draws of a task, one block a side, and the seconds that they took.

    All sides have equally many draws: fewer than asked if time was over.
    """

    outputs: tuple[Outputs, ...]
    seconds: float

    @property
    def size(self) -> int:
        return self.outputs[0].size


def perform(task: Drawing, begin: Callable[[int], None] | None = None) -> Drawn:
    """Perform a task; `begin` receives the number of each call before the call is made."""
    seed_anew_outside(task.process)
    start = time.perf_counter()
    if task.in_blocks:
        with time_limit_if_possible(task.time_left):
            outputs = tuple(_block(task, side) for side in task.sides)
    else:
        turns = list(_turns(task, begin))
        outputs = tuple(_one_side(task, [turn[i] for turn in turns]) for i in range(task.width))
    return Drawn(outputs, time.perf_counter() - start)


def is_vectorized(mechanism: Target) -> bool:
    return callable(getattr(mechanism, "sample", None))


def generator(
    seed: int, side: Side, index: int, *, key: tuple[int, ...] = ()
) -> np.random.Generator:
    """The random generator of one call or block, independent of all others."""
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(*key, side.value, index)))
    )


def _turns(task: Drawing, begin: Callable[[int], None] | None) -> Iterator[list[object]]:
    """Call the mechanism on each side in turn until time is over; yield the outputs.

    Which side goes first is a coin toss, so that state which alternates from call to call is not
    taken for a difference between the sides. A turn that is cut short is left out.
    """
    if task.timeout is not None and not can_interrupt():
        raise InvalidParameter(
            f"timeout={task.timeout!r} must be None here: it needs a Unix system, and calls that "
            "run in the main thread of a process"
        )
    fresh = [copier(task.data(side)) for side in task.sides]
    try:
        with time_limit_if_possible(task.time_left):
            for turn in range(task.size):
                outputs: list[object] = [None] * task.width
                for which in _order(task, task.start + turn):
                    if task.is_over:
                        return
                    if begin is not None:
                        begin(turn * task.width + which)
                    side = task.sides[which]
                    outputs[which] = _call(task, side, task.start + turn, fresh[which]())
                yield outputs
    except OutOfTime:
        if not task.is_over:
            raise  # the limit of someone further out


def _order(task: Drawing, index: int) -> Iterable[int]:
    """Which side is called first in this turn."""
    coin = hashlib.blake2b(f"{task.seed} {task.key} {index}".encode(), digest_size=1).digest()[0]
    return range(task.width) if coin % 2 else reversed(range(task.width))


def _call(task: Drawing, side: Side, index: int, data: Any) -> object:  # noqa: ANN401
    rng = task.generator(side, index)
    try:
        with time_limit(task.timeout):
            if task.singly:
                return detached(task.mechanism.sample(data, 1, rng=rng)[0])
            return detached(task.mechanism(data, rng))
    except OutOfTime:
        if task.timeout is None or task.is_over:
            raise  # not this call's limit
        return TimedOut()
    except BaseException as error:
        if not _is_its_own(error, task):
            raise
        return task.failure(raised(error))


def _is_its_own(error: BaseException, task: Drawing) -> bool:
    """Whether an exception counts as an output of the mechanism.

    In the caller's process one that is no `Exception` may be the caller's, raised by a signal; but
    what ends a generator or cancels a task is never raised from outside. Where Ctrl-C ends the
    process at once, as in our workers, the mechanism alone raises `KeyboardInterrupt`.
    """
    if isinstance(error, KeyboardInterrupt):
        return signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    if isinstance(error, (Exception, SystemExit, GeneratorExit)) or os.getpid() != task.process:
        return True
    return type(error).__module__ == "asyncio.exceptions"


def _block(task: Drawing, side: Side) -> Outputs:
    """Draw one block, in halves if it does not fit into memory."""
    try:
        return _whole_block(task, side)
    except MemoryError:
        if task.size <= _SMALLEST:
            raise InvalidParameter(
                f"mechanism must fit into memory: sample(data, {task.size}) raises MemoryError"
            ) from None
    middle = (task.start + task.stop) // 2
    halves = replace(task, stop=middle), replace(task, start=middle)
    return joined([_block(half, side) for half in halves])


def _whole_block(task: Drawing, side: Side) -> Outputs:
    rng = task.generator(side, task.start)
    data = copier(task.data(side))()
    try:
        with time_limit(None if task.timeout is None else task.timeout * task.size):
            raw = task.mechanism.sample(data, task.size, rng=rng)
    except OutOfTime:
        if task.timeout is None or task.is_over:
            raise
        raise SampleRaised(
            f"timeout={task.timeout!r} must be longer: sample did not return {task.size} draws "
            "in time"
        ) from None
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise SampleRaised(
            f"mechanism must return outputs: sample raises {type(error).__name__}: {error}"
        ) from error
    if isinstance(raw, np.ndarray):
        raw = raw.copy()  # the next block may be written to the same place
    outputs = _rows(task, raw)
    if outputs.size != task.size:
        raise InvalidParameter(
            f"mechanism must return size={task.size} outputs from sample, got {outputs.size}"
        )
    losses = _losses(task, raw) if _has_density(task.mechanism) else None
    return outputs if losses is None else outputs.with_column(LOSS, losses)


def _rows(task: Drawing, raw: Any) -> Outputs:  # noqa: ANN401  # whatever sample returned
    if isinstance(raw, np.ndarray) and raw.ndim > 0:
        return from_array(raw)
    try:
        return from_objects(list(raw))
    except TypeError:
        raise InvalidParameter(
            f"mechanism must return size={task.size} outputs from sample, got {raw!r}"
        ) from None


def _has_density(mechanism: Target) -> bool:
    return callable(getattr(mechanism, "log_density", None))


def _losses(task: Drawing, raw: Any) -> Floats | None:  # noqa: ANN401
    """ln p(output | left) − ln p(output | right), whose thresholds are the best events.

    None where the mechanism has no density in closed form for data like these.
    """

    def density(data: Any) -> Floats:  # noqa: ANN401
        return np.array(task.mechanism.log_density(raw, copier(data)()), dtype=np.float64)

    try:
        left, right = density(task.left), density(task.right)
    except NotSupported:
        return None
    with np.errstate(invalid="ignore"):
        # Beyond this digit the difference shows how it was rounded, which is about bits.
        return np.round(left - right, 9)


def _one_side(task: Drawing, calls: Sequence[object]) -> Outputs:
    """Draw one side call by call; a failed call has no density."""
    outputs = from_objects(calls)
    fine = [i for i, call in enumerate(calls) if not isinstance(call, FAILURES)]
    if not task.singly or not _has_density(task.mechanism) or not fine:
        return outputs
    known = _losses(task, np.array([calls[i] for i in fine]))
    if known is None:
        return outputs
    losses = np.full(len(calls), np.nan)
    losses[fine] = known
    return outputs.with_column(LOSS, losses)
