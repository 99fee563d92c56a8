"""Transcripts with other winners: each outcome of a choice, each candidate of a selection.

A release that selects by noise, and then says too much about what was selected, loses nothing as
long as the record that differs is not behind the winner. So noise is chosen under which each
candidate wins once: what differs between the datasets first, all of it together and one by one;
then the others. What a transcript is the first to come to is looked at in the same way, so that
rounds of a selection follow each other.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpverify.tracing.evidence.releases import EDGE
from dpverify.tracing.evidence.steering import FAR, far_of, flipped, plain_draws
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import (
    CAST,
    Coin,
    LargestOf,
    Move,
    Pick,
    Select,
    Value,
)
from dpverify.tracing.recording.runs import TracedRun, Twin

_MOST_WINNERS = 12  # of one choice
_MOST_ALONE = 8  # draws of one run that are moved alone
_MOST_COINS = 6
_SAMPLES = 600  # in search of the rarest outcome of a law that has no table
_MOST_PARTS = 4  # of an outcome with several numbers


@dataclass(slots=True)
class Winners:
    """Which outcomes and draws were tried, and what to try after a new transcript."""

    reach: float
    delta: float
    spot: int | None
    done: set[Any] = field(default_factory=set)
    untried: dict[str, None] = field(default_factory=dict)  # in words, what was too much
    moved: set[int] = field(default_factory=set)

    def new(self, twin: Twin) -> Iterator[tuple[int, NoiseScript]]:
        """Scripts with their rank, smallest first."""
        run = twin.left
        yield from ((0, script) for script in self._together(twin))
        yield from ((1, script) for script in self._coins(twin))
        yield from self._chosen(twin)
        yield from ((3, script) for script in self._alone(run))

    def _together(self, twin: Twin) -> Iterator[NoiseScript]:
        """All noise that met differing data, moved far up, and far down."""
        run = twin.left
        draws = {j for j in _moved(twin) if _can_move(run, j)}
        if draws <= self.moved:
            return
        self.moved |= draws
        self.done |= {("alone", j) for j in draws} if len(draws) == 1 else set()
        for up in (True, False):
            ends = {j: self._end(run, j, up=up, among=len(draws)) for j in sorted(draws)}
            yield run.journal.script.turned({}, ends)

    def _coins(self, twin: Twin) -> Iterator[NoiseScript]:
        """Comparisons with differing data, with the other outcome."""
        run, turns = twin.left, _turns(twin.left)
        events = dict.fromkeys(d.event for d in twin.differences if isinstance(d, Coin))
        for number in list(events)[:_MOST_COINS]:
            event = run.journal.events[number]
            key = ("coin", *turns[number], bool(np.all(event.outcome)))
            if key not in self.done:
                self.done.add(key)
                script = flipped(run, number, self.delta)
                if script is not None:
                    yield script

    def _chosen(self, twin: Twin) -> Iterator[tuple[int, NoiseScript]]:
        """Each outcome of a choice; those whose probabilities differ come first."""
        run, turns = twin.left, _turns(twin.left)
        differing = {d.event for d in twin.differences}
        for number, event in enumerate(run.journal.events):
            if not isinstance(event, (Select, Pick)) or ("chosen", *turns[number]) in self.done:
                continue
            self.done.add(("chosen", *turns[number]))
            rank = 1 if number in differing else 2
            if isinstance(event, Select):
                order = _ranked(event, twin, number, self.spot)
                self._leave_out(event, len(order) + 1, _MOST_WINNERS + 1)
                for i in order[:_MOST_WINNERS]:
                    j, z = int(event.idx[i]), _winning(run, event, i)
                    if self._happens(run, j, z):
                        yield rank, run.journal.script.turned({}, {j: z})
            else:
                size = np.size(event.weights) if event.weights is not None else 0
                self._leave_out(event, size, _MOST_WINNERS + 1)
                for outcome in self._outcomes(event):
                    yield rank, run.journal.script.turned({number: outcome}, {})

    def _leave_out(self, event: Select | Pick, size: int, most: int) -> None:
        """Note a choice with too many candidates to try them all."""
        if size > most:
            said = f"{event.place.where}: {most} of {size} candidates won in a run, at most"
            self.untried[said] = None

    def _outcomes(self, event: Pick) -> Iterator[Any]:
        """Other outcomes that a pick can have."""
        if event.weights is not None:
            if np.ndim(event.outcome):
                return
            every = np.flatnonzero(np.asarray(event.weights) > self.delta * (1 + EDGE))
        elif event.key[0] == "choice" and np.ndim(event.outcome) == 0:
            every = np.arange(event.key[2]) if isinstance(event.key[2], int) else np.arange(0)
        elif event.key[0] not in {CAST, "permutation", "choice"} and event.sample is not None:
            yield from _extremes(event, rarely=not self.delta)
            return
        else:
            return
        others = [k for k in every.tolist() if k != event.outcome]
        near = [k for k in others if k == self.spot]
        ends = [*near, *others[-1:], *others]
        kind = type(event.outcome)
        yield from (kind(k) for k in list(dict.fromkeys(ends))[:_MOST_WINNERS])

    def _alone(self, run: TracedRun) -> Iterator[NoiseScript]:
        """Single noise draws that the code saw as plain numbers; if many, those that met data."""
        every = plain_draws(run).tolist()
        few = len(every) <= _MOST_ALONE
        if not few:
            said = f"of {len(every)} noisy numbers that the code saw only some were moved alone"
            self.untried.setdefault(said)
        new = [j for j in every if ("alone", j) not in self.done and (few or j in self.moved)]
        for j in sorted(new, key=lambda j: (j not in self.moved, j))[:_MOST_ALONE]:
            self.done.add(("alone", j))
            for up in (True, False):
                yield run.journal.script.turned({}, {j: self._end(run, j, up=up)})

    def _end(self, run: TracedRun, j: int, *, up: bool, among: int = 1) -> float:
        """Noise as extreme as δ allows; for δ = 0, beyond all other numbers of the run."""
        law = run.journal.draws.law_of(j)
        if self.delta:
            return far_of(law, (self.reach if up else -self.reach) / among)
        return far_of(law, FAR + _beyond(run, j) if up else -FAR - _beyond(run, j))

    def _happens(self, run: TracedRun, j: int, z: float) -> bool:
        """Whether noise can take this value, with probability above δ."""
        far = self.reach if self.delta else 1e9
        law = run.journal.draws.law_of(j)
        return far_of(law, -far) <= z <= far_of(law, far)


def _turns(run: TracedRun) -> list[tuple[Any, int]]:
    """For every event its line, and how often that line occurred before."""
    counts: dict[Any, int] = {}
    found = []
    for event in run.journal.events:
        counts[event.place] = counts.get(event.place, -1) + 1
        found.append((event.place, counts[event.place]))
    return found


def _moved(twin: Twin) -> Iterator[int]:
    """Draws that were added to differing data, where the code saw the result."""
    for move in twin.differences:
        event = twin.left.journal.events[move.event]
        if isinstance(move, Move) and isinstance(event, Value) and not event.final:
            draws = np.ravel(event.idx)
            if np.size(event.values) == len(draws) and len(draws) > int(move.flat.max(initial=0)):
                yield from draws[move.flat].tolist()


def _can_move(run: TracedRun, j: int) -> bool:
    return run.journal.draws.law_of(j).name not in {"shaped", "bounded"}


def _beyond(run: TracedRun, j: int) -> float:
    """The range of all numbers that the code saw, in units of one draw's noise."""
    ends, unit = [0.0], math.inf
    for event in run.journal.events:
        if isinstance(event, Value) and not event.final:
            values = np.ravel(event.values)[np.isfinite(np.ravel(event.values))]
            ends += [float(np.max(values, initial=0.0)), float(np.min(values, initial=0.0))]
            where = np.flatnonzero(np.ravel(event.idx) == j)
            if where.size:
                factors = np.abs(np.broadcast_to(event.coef, np.shape(event.idx))).reshape(-1)
                unit = min(unit, float(factors[where[0]]))
    found = (max(ends) - min(ends)) / unit if unit else 0.0
    return found if math.isfinite(found) and found < 1e9 else 0.0


def _ranked(event: Select, twin: Twin, number: int, spot: int | None) -> list[int]:
    """Candidates by index: those with differing scores first, then the others."""
    every: list[int] = []
    for found in twin.differences:
        if isinstance(found, LargestOf) and found.event == number:
            every += np.flatnonzero(found.left != found.right).tolist()
    size = int(np.size(event.idx))
    every += [spot] if spot is not None and spot < size else []
    every += [size - 1, *range(size)]
    return [i for i in dict.fromkeys(every) if i != event.outcome]


def _winning(run: TracedRun, event: Select, i: int) -> float:
    """Noise with which one candidate wins by one unit."""
    shape = np.shape(event.idx)
    offset, coef = (np.broadcast_to(x, shape).reshape(-1) for x in (event.offset, event.coef))
    scores = offset + coef * run.journal.draws.z[np.ravel(event.idx)]
    return float((np.max(scores) - offset[i]) / coef[i] + 1.0)


def _extremes(event: Pick, *, rarely: bool) -> Iterator[Any]:
    """The largest and the smallest of many whole-number outcomes, by each component.

    `rarely` adds outcomes that are too rare to be drawn.
    """
    outcome = np.asarray(event.outcome)
    if outcome.dtype.kind not in "iu" or event.sample is None or outcome.size > _MOST_PARTS:
        return
    rng = np.random.Generator(np.random.PCG64(0))
    drawn = [event.sample(rng) for _ in range(_SAMPLES)]
    table = np.array([np.ravel(each) for each in drawn])
    best = [int(f(column)) for column in table.T for f in (np.argmax, np.argmin)]
    for k in dict.fromkeys(best):
        if not np.array_equal(drawn[k], event.outcome):
            yield drawn[k]
    if rarely and event.key[0] == "multinomial" and outcome.ndim == 1:
        for part in np.flatnonzero(table.any(axis=0)).tolist():
            yield np.where(np.arange(outcome.size) == part, outcome.sum(), 0)
