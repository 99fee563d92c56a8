"""Time limits, seeds of other processes, and why an audit stopped early."""

import math
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Literal, TypeAlias

import numpy as np

from dpverify.errors import InvalidParameter

Why: TypeAlias = Literal["time", "interrupt", "failure"]
_AT_ONCE = 1e-6  # seconds; a timer of 0 would never ring
_SOON, _PATIENCE = 1e-3, 100  # seconds, and how often a limit waits for a fork


class OutOfTime(BaseException):
    """Raised in work that takes too long; a mechanism's `except Exception` does not catch it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """Why an audit ended before its budget: time, Ctrl-C, or a failure."""

    why: Why
    reason: str

    def __str__(self) -> str:
        return self.reason


def can_interrupt() -> bool:
    """Whether work can be interrupted here; this needs a Unix system and the main thread."""
    main = threading.current_thread() is threading.main_thread()
    return main and hasattr(signal, "setitimer")


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the body after so many seconds; limits may be nested."""
    if seconds is None or seconds == math.inf:
        yield
        return
    if not can_interrupt():
        raise InvalidParameter(
            f"timeout={seconds!r} must be None here: it needs a Unix system and the main thread"
        )

    patience = _PATIENCE

    def ring(_number: int, frame: FrameType | None) -> None:
        nonlocal patience
        if patience and _is_forking(frame):
            patience -= 1
            signal.setitimer(signal.ITIMER_REAL, _SOON)
            return
        raise OutOfTime

    start = time.monotonic()
    outer = signal.getitimer(signal.ITIMER_REAL)[0]
    before = signal.getsignal(signal.SIGALRM)

    def restore() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if outer > 0.0:  # the limit around this one goes on, or rings now if it was the shorter
            left = outer - (time.monotonic() - start)
            signal.setitimer(signal.ITIMER_REAL, max(left, _AT_ONCE))

    try:
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(
            signal.ITIMER_REAL, max(min(seconds, outer) if outer > 0.0 else seconds, _AT_ONCE)
        )
        yield
    finally:
        try:
            restore()
        except BaseException:  # it rang meanwhile, or another thread has raised something here
            restore()
            raise


def _is_forking(frame: FrameType | None) -> bool:
    """Whether `logging` is in its hook around a fork, where Python discards exceptions."""
    if frame is None or frame.f_globals.get("__name__") != "logging":
        return False
    return frame.f_code.co_name in {"_acquireLock", "_releaseLock", "_prepareFork", "_afterFork"}


@contextmanager
def time_limit_if_possible(seconds: float | None) -> Iterator[None]:
    """`time_limit` where work can be interrupted; elsewhere, time is checked between calls."""
    with time_limit(seconds if can_interrupt() else None):
        yield


_seeded: set[int] = set()  # ids of processes; a fork inherits those of others, never its own


def seed_anew_outside(process: int) -> None:
    """Call `seed_anew` once in every process other than the one with this id.

    An executor of the caller may have begun its processes in any way.
    """
    if os.getpid() != process and os.getpid() not in _seeded:
        seed_anew()


def seed_anew() -> None:
    """Reseed the global generators from the system, for mechanisms that draw from them.

    A process that is forked inherits their states, so all workers would draw the same numbers.
    """
    _seeded.add(os.getpid())
    random.seed()
    np.random.seed()  # noqa: NPY002  # the one that mechanisms may use
