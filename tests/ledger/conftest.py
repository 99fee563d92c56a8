"""Folders in memory, where there are any: every entry of a ledger is flushed to its disk."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

MEMORY = Path("/dev/shm")  # noqa: S108  # a folder of Linux, not a name that others may guess


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder of the test's own."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)
