"""Floating-point errors: the arithmetic of a trace is quiet, the code that is traced is as called.

What is infinite or no number is compared like any other value, so numpy's warnings are off while a
trace computes. But code may catch them, or have them raised; so it runs under the settings under
which the trace was called.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

_CALLED: ContextVar[dict[str, Any] | None] = ContextVar("floating-point errors", default=None)

_OVERFLOWS = {"over": "ignore", "under": "ignore"}


@contextmanager
def quiet() -> Iterator[None]:
    """No floating-point error is told, but in what runs `as_called`."""
    token = _CALLED.set(_CALLED.get() or {**np.geterr()})
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _CALLED.reset(token)


@contextmanager
def as_called(*, chosen: bool = False) -> Iterator[None]:
    """Floating-point errors as the caller of the trace has set them.

    Noise that is `chosen` far out makes floats overflow, as they hardly ever do: that is no error.
    A warning that would be printed is dropped. One that is raised or caught is, as ever.
    """
    state = {**(_CALLED.get() or {}), **(_OVERFLOWS if chosen else {})}
    with warnings.catch_warnings(record=True), np.errstate(**state):
        yield
