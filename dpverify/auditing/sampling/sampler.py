"""Draws on both sides of a pair; a seed gives the same draws whatever the workers and batches.

A callable's draw depends on (seed, side, index) alone, so its calls may be divided among workers
in any way. A vectorized mechanism's draws depend on where blocks begin; that is given by the
audit's stages. Only a block that does not fit into memory is drawn in halves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
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
from dpverify.auditing.sampling.journal import Chapter
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined
from dpverify.auditing.sampling.processes import OutOfTime
from dpverify.auditing.sampling.workers import Runner
from dpverify.errors import InvalidParameter

_TASK = 0.25  # seconds that a task should take
_LARGEST_TASK = 1_024  # calls
_LARGEST_PART = 1 << 23  # numbers
_LEAST_SHARED = 16  # calls of a task for workers, where calls are quick
_DIGITS = 1e-6  # to which draws of the same call agree on all machines
_SHARED_BY = 8  # tasks at least, where there are workers to share them


@dataclass(slots=True)
class Pace:
    """How many calls go into a task, from how long calls took; this does not change any draw."""

    calls: int = 1  # at first, since one may take long
    learned: bool = False

    def learn(self, part: Drawn) -> None:
        if part.size:
            width = max(len(side.columns) for side in part.outputs)
            most = min(_LARGEST_TASK, max(_LARGEST_PART // max(width, 1), 1))
            each = max(part.seconds / part.size / len(part.outputs), 1e-9)
            self.calls = int(min(max(_TASK / (2.0 * each), 1), most))
            self.learned = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """A mechanism on the two datasets of a pair, with a seed.

    `timeout` is the time in seconds after which one call counts as the output "times out".
    `until` is the time (as `time.time` tells it) after which nothing more is drawn. `singly` draws
    a vectorized mechanism one by one, so that exceptions are outputs; `counted` says whether they
    count as outputs, or are set aside. `journal` keeps all draws, those of slow calls after each
    call. `heard` is told how many draws a side there are, after each slow call and each part of a
    block that is drawn as one.
    Samplers with different `key` draw independently, though their seeds be the same.
    """

    mechanism: Target
    left: Any
    right: Any
    seed: int
    timeout: float | None = None
    executor: Runner | None = None
    until: float | None = None
    singly: bool = False
    counted: bool = True
    journal: Chapter | None = None
    key: tuple[int, ...] = ()
    heard: Callable[[int], None] | None = None
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

    @property
    def in_blocks(self) -> bool:
        return self.vectorized and not self.singly

    def draw(self, start: int, stop: int) -> tuple[Outputs, Outputs]:
        """Draws start ≤ index < stop on the left and the right."""
        parts = []
        for part in self.pairs(start, stop):
            parts.append(part)
            self._tell(start + sum(left.size for left, _ in parts))
        left, right = (joined(list(side)) for side in zip(*parts, strict=True))
        return left, right

    def check_stored(self) -> None:
        """Raise if the first draws on disk differ from what this mechanism gives now.

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
            (drawn,) = perform(replace(self._task((side,), 0, size), singly=singly)).outputs
        except (SampleRaised, OutOfTime):
            return  # the audit will say so
        timed_out = drawn.size == 1 and drawn.text(WHOLE)[0] == "times out"
        if drawn.size == size and not timed_out and not _agree(stored.between(0, size), drawn):
            raise InvalidParameter(
                "checkpoint must hold draws of this mechanism: with the same seed it now gives "
                "other draws, so it has changed or uses randomness besides rng"
            )

    def pairs(self, start: int, stop: int) -> Iterator[tuple[Outputs, ...]]:
        """Draws start ≤ index < stop on the left and the right, in parts."""
        while start < stop:
            cuts = [start, *islice(self._cuts(start, stop), self._parts_ahead())]
            yield from self._parts(list(pairwise(cuts)))
            start = cuts[-1]

    def _parts_ahead(self) -> int | None:
        """How many parts to cut before measuring call times again; None for all."""
        if self.executor is None:
            return 1
        return None if self.pace.learned else _LEAST_SHARED

    def _parts(self, parts: list[tuple[int, int]]) -> Iterator[tuple[Outputs, ...]]:
        stored = [{s: part for s in Side if (part := self._known(s, a, b))} for a, b in parts]
        asked = [self._turns(tuple(s for s in Side if s not in known)) for known in stored]
        performed = self._performed(
            [
                self._task(sides, *part)
                for part, turns in zip(parts, asked, strict=True)
                for sides in turns
            ]
        )
        for known, turns, span in zip(stored, asked, parts, strict=True):
            found = dict(known)
            for sides in turns:
                found |= self._kept(sides, *span, next(performed))
                if sides != turns[-1]:
                    self._tell(span[0])
            yield found[Side.LEFT], found[Side.RIGHT]

    def _turns(self, sides: tuple[Side, ...]) -> list[tuple[Side, ...]]:
        """Which sides are drawn and stored together; separately if calls are slow."""
        slow = self.executor is None and not self.in_blocks and self.pace.calls == 1
        return [(side,) for side in sides] if slow else [sides][: len(sides)]

    def _tell(self, drawn: int) -> None:
        if self.heard is not None:
            self.heard(drawn)

    def _cuts(self, start: int, stop: int) -> Iterator[int]:
        """Where parts end: as on disk, then after a block or as many calls as time allows."""
        size = BLOCK if self.in_blocks else self._calls_at_once(start, stop)
        while start < stop:
            known = [self._on_disk(side, start) for side in Side]
            sizes = [part.size for part in known if part is not None]
            start = min(start + min(sizes, default=size), stop)
            yield start

    def _calls_at_once(self, start: int, stop: int) -> int:
        if self.executor is None:
            return self.pace.calls
        return min(self.pace.calls, max((stop - start) // _SHARED_BY, _LEAST_SHARED))

    def _on_disk(self, side: Side, start: int) -> Outputs | None:
        if self.journal is None:
            return None
        stored = self.journal.part if self.in_blocks else self.journal.since
        return stored(side, start, singly=self.singly)

    def _known(self, side: Side, start: int, stop: int) -> Outputs | None:
        part = self._on_disk(side, start)
        if part is None or part.size < stop - start:
            return None
        return part.between(0, stop - start)

    def _task(self, sides: tuple[Side, ...], start: int, stop: int) -> Drawing:
        return Drawing(
            mechanism=self.mechanism,
            left=self.left,
            right=self.right,
            seed=self.seed,
            sides=sides,
            start=start,
            stop=stop,
            timeout=self.timeout,
            until=self.until,
            singly=self.singly,
            counted=self.counted,
            key=self.key,
        )

    def _performed(self, tasks: list[Drawing]) -> Iterator[Drawn]:
        run = map if self.executor is None else self.executor.map
        return iter(run(perform, tasks))

    def _kept(
        self, sides: tuple[Side, ...], start: int, stop: int, part: Drawn
    ) -> dict[Side, Outputs]:
        self.pace.learn(part)
        found = dict(zip(sides, part.outputs, strict=True))
        if self.journal is not None and part.size:
            for side, outputs in found.items():
                self.journal.keep(side, start, outputs, singly=self.singly)
        if part.size < stop - start:
            raise OutOfTime
        return found


def _agree(stored: Outputs, drawn: Outputs) -> bool:
    """Whether draws agree except for their last digits, which depend on the machine."""
    names = {*stored.columns, *drawn.columns}
    alike = all(
        np.allclose(stored.column(n), drawn.column(n), rtol=_DIGITS, atol=_DIGITS, equal_nan=True)
        for n in names
    )
    if not alike or names:
        return alike
    return bool((stored.text(WHOLE) == drawn.text(WHOLE)).all())
