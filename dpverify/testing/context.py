"""What a run of pytest tells a privacy test, and what the test tells it back.

Only the standard library: the plugin imports this at the start of every run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

LEVEL = 1e-6
SAMPLES = 40_000
FEWEST = 500  # samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one test found: the claim in words, and how hard it was tried.

    `epsilon_lower` holds at δ = `delta` for some pair that was tried, but for a probability of at
    most `level`; so does a refutation. `samples` counts draws a side, `pairs` the pairs looked at.
    """

    name: str
    claim: str
    refuted: bool
    epsilon_lower: float
    delta: float
    level: float
    samples: int
    pairs: int


@dataclass(slots=True)
class Run:
    """The defaults that hold around a test, and the records it left."""

    level: float | None = None
    samples: int | None = None
    name: str | None = None
    records: list[Record] = field(default_factory=list)


_current: ContextVar[Run | None] = ContextVar("dpverify_testing_run", default=None)


def current() -> Run:
    """The run around the caller; an empty one outside of pytest."""
    return _current.get() or Run()


@contextmanager
def running(run: Run) -> Iterator[Run]:
    """Make `run` the one around the body."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


def first(*options: T | None) -> T:
    """The first option that was given; the last always is."""
    return next(option for option in options if option is not None)
