"""Stop a mechanism that does not end, by raising an exception in its thread."""

import ctypes
import faulthandler
import gc
import os
import re
import resource
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpverify.auditing.sampling.processes import OutOfTime, time_limit_if_possible
from dpverify.certifying.symbolic.reasons import OverTime

_GRACE = 1.0  # second
_OFTEN = 8
_EVERY = 0.02  # seconds between two looks
_EVERY_TRACED = 0.5  # under a debugger or coverage, whose own steps and locks it interrupts too
_A_FEW_STEPS = 10  # of Python code
_RAISING = threading.Lock()
"""Held while a watcher starts: before a thread runs, it may get what was sent to its parent."""


@contextmanager
def watched(seconds: float, memory: int) -> Iterator[None]:
    """Raise `OverTime` in the calling thread after so many seconds or additional bytes.

    It is raised at the next step of Python code, again and again until the block is left: a
    program that catches everything does not get away.
    """
    with _lost_quietly():
        yield from _watched(seconds, memory)


def _watched(seconds: float, memory: int) -> Iterator[None]:  # noqa: C901  # ways to end
    thread, done = threading.get_ident(), threading.Event()
    end, most = time.monotonic() + seconds, _peak() + memory
    every = _EVERY if sys.gettrace() is None else _EVERY_TRACED

    def watch() -> None:
        while not done.wait(every):
            if time.monotonic() <= end and _peak() <= most:
                continue
            with _RAISING:
                if not done.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(thread), ctypes.py_object(OverTime)
                    )

    watcher = threading.Thread(target=watch, daemon=True)
    try:
        with _RAISING:
            watcher.start()
        with time_limit_if_possible(seconds + _GRACE):  # for long calls into C
            yield
    except OutOfTime:
        raise OverTime from None
    except SystemError:
        if time.monotonic() <= end:
            raise
        raise OverTime from None  # as CPython 3.11 says it where it is raised within its parser
    finally:
        ended = False
        while not ended:  # what is raised in the last moment must not hit whoever comes next
            try:
                with _RAISING:
                    done.set()
                while watcher.is_alive():  # never long: an outer watcher may raise meanwhile, and
                    watcher.join(_EVERY)  # a traced thread of CPython 3.11 waits until it is taken
                for _ in range(_A_FEW_STEPS):  # what still waits is raised here: it is never taken
                    pass  # back, which would leave the interpreter waiting for it ever after
                ended = True
            except OverTime:
                continue


@contextmanager
def _lost_quietly() -> Iterator[None]:
    """Silence an `OverTime` that Python discards, as in the callback of a weak reference.

    Python tells of every exception that it has to drop; this one is raised again soon.
    """
    tell = sys.unraisablehook

    def tell_others(lost: "sys.UnraisableHookArgs") -> None:
        if not issubclass(lost.exc_type, OverTime | OutOfTime):
            tell(lost)

    sys.unraisablehook = tell_others
    try:
        yield
    finally:
        sys.unraisablehook = tell


class _Returns:
    """End the process once a stuck run returns to Python, whatever it catches.

    Python calls this between two of its own steps alone. Other processes may have kept the run from
    getting anywhere, so it must have worked for a while, or have come back often.
    """

    def __init__(self) -> None:
        self.calls, self.start = 0, time.process_time()

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if time.process_time() - self.start >= _GRACE / 2 or self.calls >= _OFTEN:
            os._exit(0)


def endless_at(run: Callable[[], object], seconds: float, memory: int) -> str | None:
    """The line where a run is stuck in a C call; only its whole process can then be stopped.

    It is tried in a process of its own. None if it came to an end, or back to Python after a
    second: such a run can be stopped.
    """
    if not hasattr(os, "fork"):  # pragma: no cover  # elsewhere the user has to stop it
        return None
    read, write = os.pipe()
    with warnings.catch_warnings():  # of a fork beside threads: this one runs for a moment
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:  # pragma: no cover  # in the other process
        try:
            gc.disable()  # going through all that the parent holds would take its time
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(silent, stream)
            signal.signal(signal.SIGALRM, _Returns())
            signal.setitimer(signal.ITIMER_REAL, _GRACE, _GRACE / 4)
            faulthandler.dump_traceback_later(seconds, exit=True, file=write)
            with memory_limit(memory):
                run()
        finally:
            os._exit(0)
    os.close(write)
    try:
        waiting = select.poll()
        waiting.register(read, select.POLLIN)
        stuck = not waiting.poll(1000.0 * (seconds + _GRACE))
        told = b""
        # It tells in pieces, and the first ones do not name the line.
        while not stuck and waiting.poll(1000.0 * _GRACE) and (piece := os.read(read, 1 << 16)):
            told += piece
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    lines = re.findall(r'File "(.*)", line (\d+)', told.decode(errors="replace"))
    if lines:
        return f"{Path(lines[0][0]).name}:{lines[0][1]}"
    return "" if stuck or told else None


@contextmanager
def memory_limit(most: int) -> Iterator[None]:
    """Within the block, raise MemoryError beyond so many additional bytes.

    A single call into C cannot be stopped by `watched`: a list of 10¹⁰ numbers is made in one step.
    Where the system does not tell how much is held, there is no limit.
    """
    held = _held()
    if held is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = held + most if soft == resource.RLIM_INFINITY else min(soft, held + most)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _held() -> int | None:
    """The size of the process's address space, in bytes."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return None
    return int(pages) * resource.getpagesize()


def _peak() -> int:
    """The peak memory of the process, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
