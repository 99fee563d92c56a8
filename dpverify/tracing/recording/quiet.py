"""Silence in a trace: no floating-point warnings of its own, and rare garbage collection.

What is infinite or no number is compared like any other value, so numpy's warnings are off while a
trace computes. But code may catch them, or have them raised; so it runs under the settings under
which the trace was called.
"""

import gc
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_CALLED: ContextVar[dict[str, Any] | None] = ContextVar("floating-point errors", default=None)

_OFTEN = 50_000  # things that are made between two collections
_OVERFLOWS = {"over": "ignore", "under": "ignore"}


@contextmanager
def quiet() -> Iterator[None]:
    """Silence floating-point errors, except in code that runs `as_called`."""
    token = _CALLED.set(_CALLED.get() or {**np.geterr()})
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _CALLED.reset(token)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Make garbage collection rare, as a run keeps many small objects until its end."""
    usual = gc.get_threshold()
    rare = (max(usual[0], _OFTEN) if usual[0] else 0, *usual[1:])
    gc.set_threshold(*rare)
    try:
        yield
    finally:
        if gc.get_threshold() == rare:  # and the code has not set another
            gc.set_threshold(*usual)


@contextmanager
def as_called(*, chosen: bool = False) -> Iterator[None]:
    """Restore the floating-point error settings of the caller of the trace.

    Noise that is `chosen` far out makes floats overflow, as they hardly ever do: that is no error.
    A warning that would be printed is dropped. One that is raised or caught is, as ever.
    """
    state = {**(_CALLED.get() or {}), **(_OVERFLOWS if chosen else {})}
    with warnings.catch_warnings(record=True), np.errstate(**state):
        yield
