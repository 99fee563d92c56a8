"""Draws on both sides of a pair, the same for a seed whatever the workers and the batching.

A callable's draw depends on (seed, side, index) alone, so its calls may be divided among workers
in any way. A vectorized mechanism's draws depend on where blocks begin; that is given by the
audit's stages. Only a block that does not fit into memory is drawn in halves.
"""

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dpverify.auditing.sampling.drawing import (
    BLOCK,
    Drawing,
    Drawn,
    SampleRaised,
    Side,
    Target,
    is_vectorized,
    perform,
)
from dpverify.auditing.sampling.journal import Journal
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined
from dpverify.auditing.sampling.processes import OutOfTime
from dpverify.errors import InvalidParameter

_TASK = 0.25  # seconds that a task should take
_LARGEST_TASK = 1_024  # calls
_LARGEST_PART = 1 << 23  # numbers
_FIRST_TASK = 16
_DIGITS = 1e-6  # to which draws of the same call agree on all machines
_SHARED_BY = 8  # tasks at least, where there are workers to share them


@dataclass(slots=True)
class Pace:
    """Calls per task, from how long calls took; no draw depends on it."""

    calls: int = _FIRST_TASK

    def learn(self, part: Drawn) -> None:
        if part.outputs.size:
            most = min(_LARGEST_TASK, max(_LARGEST_PART // max(len(part.outputs.columns), 1), 1))
            each = max(part.seconds / part.outputs.size, 1e-9)
            self.calls = int(min(max(_TASK / each, 1), most))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """A mechanism on the two datasets of a pair, with a seed.

    `timeout` is the time in seconds after which one call counts as the output "times out".
    `until` is the time (as `time.time` tells it) after which nothing more is drawn. `singly` draws
    a vectorized mechanism one by one, so that exceptions are outputs. `journal` keeps all draws.
    Samplers with different `key` draw independently, though their seeds be the same.
    """

    mechanism: Target
    left: Any
    right: Any
    seed: int
    timeout: float | None = None
    executor: Executor | None = None
    until: float | None = None
    singly: bool = False
    journal: Journal | None = None
    key: tuple[int, ...] = ()
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        if not self.vectorized and not callable(self.mechanism):
            raise InvalidParameter(
                f"mechanism={self.mechanism!r} must be a callable mechanism(data, rng) or have "
                "sample(data, size, *, rng)"
            )

    @property
    def vectorized(self) -> bool:
        return is_vectorized(self.mechanism)

    def draw(self, side: Side, start: int, stop: int) -> Outputs:
        """Draws start ≤ index < stop on one side."""
        return joined([part for (part,) in self._parts((side,), start, stop)])

    def pairs(self, start: int, stop: int) -> Iterator[tuple[Outputs, ...]]:
        """Draws start ≤ index < stop on the left and the right, in parts of equal size."""
        return self._parts((Side.LEFT, Side.RIGHT), start, stop)

    def check_stored(self) -> None:
        """Raise if the first draws on disk are not those that this mechanism gives now.

        One call a side of a callable, the first block of a vectorized mechanism. What takes longer
        than its `timeout` may do so today and not tomorrow, so time-outs are not compared.
        """
        for side in Side:
            for singly in (False, True):
                if self.journal is None:
                    return
                stored = self.journal.part(side, 0, singly=singly)
                if stored is not None:
                    self._check_first(side, stored, singly=singly)

    def _check_first(self, side: Side, stored: Outputs, *, singly: bool) -> None:
        block = self.vectorized and not singly
        size = stored.size if block else 1
        if not block and stored.between(0, 1).text(WHOLE)[0] == "times out":
            return
        try:
            drawn = perform(replace(self._task(side, 0, size), singly=singly)).outputs
        except (SampleRaised, OutOfTime):
            return  # the audit will say so
        timed_out = drawn.size == 1 and drawn.text(WHOLE)[0] == "times out"
        if drawn.size == size and not timed_out and not _agree(stored.between(0, size), drawn):
            raise InvalidParameter(
                "checkpoint must hold draws of this mechanism: with the same seed it now gives "
                "other draws, so it has changed or uses randomness besides rng"
            )

    def _parts(
        self, sides: tuple[Side, ...], start: int, stop: int
    ) -> Iterator[tuple[Outputs, ...]]:
        cuts = self._cuts(sides, start, stop)
        asked = [(side, a, b) for a, b in pairwise(cuts) for side in sides]
        fresh = self._performed([self._task(*one) for one in asked if self._known(*one) is None])
        found: list[Outputs] = []
        for side, a, b in asked:
            known = self._known(side, a, b)
            found.append(self._kept(side, a, b, next(fresh)) if known is None else known)
            if len(found) == len(sides):
                yield tuple(found)
                found = []

    def _cuts(self, sides: tuple[Side, ...], start: int, stop: int) -> list[int]:
        """Where parts begin: as they are on disk, then blocks or as many calls as are due."""
        size = BLOCK if self.vectorized and not self.singly else self._calls_at_once(start, stop)
        cuts = [start]
        while cuts[-1] < stop:
            known = [self._on_disk(side, cuts[-1]) for side in sides]
            sizes = [part.size for part in known if part is not None]
            cuts.append(min(cuts[-1] + min(sizes, default=size), stop))
        return cuts

    def _calls_at_once(self, start: int, stop: int) -> int:
        if self.executor is None:
            return self.pace.calls
        return min(self.pace.calls, max((stop - start) // _SHARED_BY, _FIRST_TASK))

    def _on_disk(self, side: Side, start: int) -> Outputs | None:
        return None if self.journal is None else self.journal.part(side, start, singly=self.singly)

    def _known(self, side: Side, start: int, stop: int) -> Outputs | None:
        part = self._on_disk(side, start)
        if part is None or part.size < stop - start:
            return None
        return part.between(0, stop - start)

    def _task(self, side: Side, start: int, stop: int) -> Drawing:
        return Drawing(
            mechanism=self.mechanism,
            left=self.left,
            right=self.right,
            seed=self.seed,
            side=side,
            start=start,
            stop=stop,
            timeout=self.timeout,
            until=self.until,
            singly=self.singly,
            key=self.key,
        )

    def _performed(self, tasks: list[Drawing]) -> Iterator[Drawn]:
        run = map if self.executor is None else self.executor.map
        return iter(run(perform, tasks))

    def _kept(self, side: Side, start: int, stop: int, part: Drawn) -> Outputs:
        self.pace.learn(part)
        if self.journal is not None and part.outputs.size:
            self.journal.keep(side, start, part.outputs, singly=self.singly)
        if part.outputs.size < stop - start:
            raise OutOfTime
        return part.outputs


def _agree(stored: Outputs, drawn: Outputs) -> bool:
    """Whether draws are the same but for the last digits, which depend on the machine."""
    names = {*stored.columns, *drawn.columns}
    alike = all(
        np.allclose(stored.column(n), drawn.column(n), rtol=_DIGITS, atol=_DIGITS, equal_nan=True)
        for n in names
    )
    if not alike or names:
        return alike
    return bool((stored.text(WHOLE) == drawn.text(WHOLE)).all())
