"""Options of a pytest run for its privacy tests, and their findings.

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
class PrivacyFinding:
    """What one test found: the claim in words, and how many draws were spent on it.

    `epsilon_lower` holds at δ = `delta` for some pair that was tried, but for a probability of at
    most `level`; so does a refutation. `samples` counts draws a side, `pairs` the pairs looked at.
    Of a test by "decide", `rung` says who spoke and `said` what a certificate said: where it is
    "certify", what was found holds at no level, and `proved` says that the claim does.
    `note` says what was not looked at as it should be.
    """

    name: str
    claim: str
    refuted: bool
    epsilon_lower: float
    delta: float
    level: float
    samples: int
    pairs: int
    proved: bool = False
    rung: str = ""
    said: str = ""
    note: str = ""


@dataclass(slots=True)
class PytestRun:
    """The options that apply to a test, and what it found."""

    level: float | None = None
    samples: int | None = None
    name: str | None = None
    findings: list[PrivacyFinding] = field(default_factory=list)

    def limits(self, level: float | None, samples: int | None) -> tuple[float, int]:
        """The level and largest number of draws: those given, else the run's options."""
        own_level = self.level if level is None else level
        own_samples = self.samples if samples is None else samples
        return (
            LEVEL if own_level is None else own_level,
            SAMPLES if own_samples is None else int(own_samples),
        )


_current: ContextVar[PytestRun | None] = ContextVar("dpverify_testing_run", default=None)


def current() -> PytestRun:
    """The pytest run of the caller; one without options outside pytest."""
    return _current.get() or PytestRun()


@contextmanager
def running(run: PytestRun) -> Iterator[PytestRun]:
    """Make `run` the current one within the body."""
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)
