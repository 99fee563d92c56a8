"""What a run of pytest tells a privacy test, and what the test tells it back.

Only the standard library: the plugin imports this at the start of every run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

LEVEL = 1e-6
SAMPLES = 40_000
LEVELS = (1e-12, 0.5)  # smallest and largest
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

    def limits(self, level: float | None, samples: int | None) -> tuple[float, int]:
        """The level and the most draws of a test: its own if given, else those around it."""
        own_level = self.level if level is None else level
        own_samples = self.samples if samples is None else samples
        return (
            LEVEL if own_level is None else own_level,
            SAMPLES if own_samples is None else int(own_samples),
        )


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
