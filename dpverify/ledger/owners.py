"""Filters and odometers in memory, which must not be copied or used by another process."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, SupportsIndex

from dpverify.errors import InvalidParameter


class InMemory:
    """A value that must not be copied, as each copy would spend the same budget again.

    Copies and pickles are refused, and so is a child of a process that was forked since.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = os.getpid()

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """Allow one thread of the owning process at a time."""
        if os.getpid() != self._process:
            raise InvalidParameter(
                f"process={os.getpid()} must be {self._process}, which made this "
                f"{type(self).__name__}: what a forked child spends is not seen by others; a "
                "Ledger serves many processes"
            )
        with self._lock:
            yield

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise InvalidParameter(
            f"{type(self).__name__} must not be copied: nothing would see what both spend; a "
            "Ledger serves many processes"
        )
