"""Stop a mechanism that does not end: a watcher that raises inside the running thread."""

import ctypes
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dpverify.certifying.symbolic.reasons import OverTime

_EVERY = 0.02  # seconds between two looks
_A_FEW_STEPS = 10  # of Python code
_RAISING = threading.Lock()
"""Held while a watcher starts: before a thread runs, it may get what was sent to its parent."""


@contextmanager
def watched(seconds: float, memory: int) -> Iterator[None]:
    """Raise `OverTime` in the calling thread after so many seconds, or so many more bytes.

    It is raised at the next step of Python code, again and again until the block is left: a
    program that catches everything does not get away.
    """
    thread, done = threading.get_ident(), threading.Event()
    end, most = time.monotonic() + seconds, _peak() + memory

    def watch() -> None:
        while not done.wait(_EVERY):
            if time.monotonic() > end or _peak() > most:
                with _RAISING:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread), ctypes.py_object(OverTime)
                    )

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        with _RAISING:
            watcher.start()
        yield
    finally:
        ended = False
        while not ended:  # what is raised in the last moment must not hit whoever comes next
            try:
                done.set()
                if watcher.ident is not None:
                    watcher.join()
                for _ in range(_A_FEW_STEPS):  # what still waits is raised here: it is never taken
                    pass  # back, which would leave the interpreter waiting for it ever after
                ended = True
            except OverTime:
                continue


def _peak() -> int:
    """The most memory that the process ever held, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
