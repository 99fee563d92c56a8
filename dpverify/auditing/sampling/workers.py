"""Processes that draw: their own, and what every process must do before it does."""

import os
import pickle
import random
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

import numpy as np

from dpverify.errors import InvalidParameter, check_count

_seeded: set[int] = set()  # ids of processes; a fork inherits those of others, never its own


@contextmanager
def pool(workers: int, executor: Executor | None, sent: object) -> Iterator[Executor | None]:
    """The caller's executor, or processes of our own, or none."""
    check_count("workers", workers)
    if executor is not None or workers == 1:
        yield executor
        return
    try:
        pickle.dumps(sent)
    except Exception as error:
        raise InvalidParameter(
            f"mechanism must be picklable for workers={workers}: {type(error).__name__}: {error}"
        ) from error
    made = ProcessPoolExecutor(workers, initializer=_begin)
    try:
        yield made
    finally:
        made.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    # Ctrl-C reaches the workers too: they end without a word, and the audit tells what it has.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    seed_anew()


def seed_anew_outside(process: int) -> None:
    """Once in every process but the one with this id: see `seed_anew`.

    An executor of the caller may have begun its processes in any way.
    """
    if os.getpid() != process and os.getpid() not in _seeded:
        seed_anew()


def seed_anew() -> None:
    """Seed the global generators from the system, for mechanisms that draw from them.

    A process that is forked inherits their states, so all workers would draw the same numbers.
    """
    _seeded.add(os.getpid())
    random.seed()
    np.random.seed()  # noqa: NPY002  # the one that mechanisms may use
