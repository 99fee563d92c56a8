"""A time limit on a question: when it is over, whoever works returns the best that is known.

    with time_limit(5.0):
        accountant.epsilon(1e-6)

Long work asks `is_over` where it can stop with what it has, or calls `check`, which raises
`DeadlinePassed` for the nearest loop above to catch.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dpverify.errors import as_between

OUT_OF_TIME = "the time that was given ran out, which limits the width"

_end: ContextVar[float] = ContextVar("end", default=math.inf)


class DeadlinePassed(Exception):  # never leaves the library
    """The limit passed in the middle of a step that has nothing to return yet."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let questions inside take this long; None sets no limit, and an outer one stays in force."""
    if seconds is None:
        yield
        return
    allowed = as_between("seconds", seconds, 0.0, math.inf)
    token = _end.set(min(_end.get(), time.monotonic() + allowed))
    try:
        yield
    finally:
        _end.reset(token)


def is_limited() -> bool:
    """Whether a limit is set, so that answers may be wider than they could be."""
    return _end.get() < math.inf


def is_over() -> bool:
    """Whether the limit has passed."""
    return time.monotonic() >= _end.get()


def check() -> None:
    """Raise if the limit has passed."""
    if is_over():
        raise DeadlinePassed
