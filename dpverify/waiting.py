"""Say on standard error what is being computed, once it has taken two seconds.

A terminal gets one live line with the seconds. What is not a terminal gets nothing, unless it is
asked for: by `DPVERIFY_PROGRESS=1`, or by the command line, which then writes a plain line now and
then. `DPVERIFY_PROGRESS=0` is silence everywhere.
"""

import functools
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 2.0  # seconds before anything is said
_REMINDER = 10.0
_telling = threading.Lock()  # who tells first tells for all that it calls


def is_live() -> bool:
    """Whether standard error is a terminal that can write over a line."""
    stream = sys.stderr
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def waiting(what: str | Callable[[], str] | None, *, always: bool = False) -> Iterator[None]:
    """Say what is being computed while the block runs; `what` may change while it does.

    With None nothing is told, by what the block calls neither: it has a line of its own.
    """
    asked = os.environ.get("DPVERIFY_PROGRESS")
    wanted = asked != "0" and (always or asked == "1" or is_live())
    if not wanted or not _telling.acquire(blocking=False):
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, done, is_live()), daemon=True)
    if what is not None:
        teller.start()
    try:
        yield
    finally:
        done.set()
        if what is not None:
            teller.join()
        _telling.release()


def telling(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorator: the function says while it works what it does: "auditing", "composing"."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def told(*args: P.args, **kwargs: P.kwargs) -> T:
            with waiting(what):
                return function(*args, **kwargs)

        return told

    return decorate


def _tell(what: str | Callable[[], str], done: threading.Event, live: bool) -> None:  # noqa: FBT001
    start = time.monotonic()
    shown = False
    wait = _PATIENCE
    while not done.wait(wait):
        now = what if isinstance(what, str) else what()
        passed = f", {time.monotonic() - start:.0f} s"
        room = max(shutil.get_terminal_size().columns - len(passed) - 2, 10)
        text = f"dpverify: {now}"
        # A line that wraps could not be written over.
        sys.stderr.write(f"\r\x1b[2K{text[:room]}{passed} " if live else f"{text}{passed}\n")
        sys.stderr.flush()
        shown, wait = True, 0.5 if live else _REMINDER
    if shown and live:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
