"""Time limits: when time is up, the best bracket found so far is the answer.

    with time_limit(5.0):
        accountant.epsilon(1e-6)

Long work asks `is_over` where it can stop with what it has, or calls `check`, which raises
`DeadlinePassed` for the nearest loop above to catch. What is short is done even when time is over;
but within `giving_up`, formulas too are given up where they take longer than the limit once more.
Within `ended_by_interrupt`, Ctrl-C ends the time, and not the work.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpverify.balls import patience
from dpverify.errors import as_between

OUT_OF_TIME = "the time that was given ran out, which limits the width"

_GRACE = 1.0  # seconds for what is short

_end: ContextVar[float] = ContextVar("end", default=math.inf)
_last: ContextVar[float] = ContextVar("last", default=math.inf)
_stopped = [math.inf]  # when the user interrupted; a signal has no context of its own


class DeadlinePassed(Exception):  # never leaves the library
    """Raised if the limit passes within a step that has nothing to return yet."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the time of questions inside; None sets no limit, and outer limits stay in force."""
    if seconds is None:
        yield
        return
    allowed = as_between("seconds", seconds, 0.0, math.inf)
    now = time.monotonic()
    end = _end.set(min(_end.get(), now + allowed))
    last = _last.set(min(_last.get(), now + 2.0 * allowed + _GRACE))
    try:
        yield
    finally:
        _end.reset(end)
        _last.reset(last)


@contextmanager
def ended_by_interrupt() -> Iterator[Callable[[], bool]]:
    """A context in which the first interrupt ends all questions, and a second one raises.

    Yields a function that says whether there was one. Signals reach the main thread alone: in
    another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def stop(*_: object) -> None:
        _stopped[0] = time.monotonic()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: _stopped[0] < math.inf
    finally:
        _stopped[0] = math.inf
        signal.signal(signal.SIGINT, before)


@contextmanager
def giving_up() -> Iterator[None]:
    """A context in which formulas raise `DeadlinePassed` once twice the limit has passed."""
    token = patience.set(_give_up)
    try:
        yield
    finally:
        patience.reset(token)


def _give_up() -> None:
    if time.monotonic() >= min(_last.get(), _stopped[0] + _GRACE):
        raise DeadlinePassed


def is_limited() -> bool:
    """Whether a limit is set, so that answers may be wider than necessary."""
    return min(_end.get(), _stopped[0]) < math.inf


def is_over() -> bool:
    """Whether the limit has passed."""
    return time.monotonic() >= min(_end.get(), _stopped[0])


def check() -> None:
    """Raise if the limit has passed."""
    if is_over():
        raise DeadlinePassed
