"""Decisions out of sight: noise that became a plain number, and is compared with data after that.

A plain number has no memory, so `float(rng.random()) < x` is not seen as a comparison. But as noise
moves, some transcript is the last on which a side decides as before; if the other side has another
threshold, the two decide differently near it. So the noise is moved to either end of its range, and
where that changes what a side does, the change is bisected, with a replay at every step. A decision
that is taken back before the end, as `2.9 < v < 3.0` is, does not show so: therefore noise is first
moved to where a number that came of it passes one that stands in the code.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.auditing.sampling.spelling import canonical
from dpverify.tracing.evidence.constants import spots_of
from dpverify.tracing.evidence.judging import Judged, judge
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.evidence.steering import far_out, plain_draws
from dpverify.tracing.evidence.understanding import Runner
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Value
from dpverify.tracing.recording.journal import Recording
from dpverify.tracing.recording.lines import watched
from dpverify.tracing.recording.places import Place
from dpverify.tracing.recording.runs import TracedRun, Twin

Made = dict[tuple[Place, int], float]

_STEPS = 9  # of a bisection: to 1/512 of the way to the end of the range
_COST = 2 + 2 * _STEPS
_MOST_NUMBERS = 2000
_MOST_DRAWS = 20_000
_MOST_POINTS = 6  # to which noise is moved in either direction, for a number to pass one
_HUGE = 1e300
_GRID = (1 / 12, 2 / 12, 1 / 4, 1 / 2)


@dataclass(slots=True)
class _Decided:
    """What a run did: in which order, what came out that is no float, and all floats."""

    order: str
    floats: Floats

    def differs(self, other: "_Decided", kept: NDArray[np.bool_] | None) -> bool:
        if self.order != other.order or len(self.floats) != len(other.floats):
            return True
        if kept is None or len(kept) != len(self.floats):
            return False
        return not np.array_equal(self.floats[kept], other.floats[kept], equal_nan=True)


def crossed(runner: Runner, twin: Twin, reach: float) -> Twin | None:
    """A replay near a change of mind of the left side, on which the right decides differently.

    That may be a leak, or a loss beyond the claim.
    """
    events = twin.left.journal.events
    loose = {n: e for n, e in enumerate(events) if isinstance(e, Value) and not e.final}
    if not loose or twin.left.journal.draws.top > _MOST_DRAWS:
        return None  # no line of the code saw a noisy number
    moved = {difference.event for difference in twin.differences}
    every = list(loose.values())
    quiet = [event for number, event in loose.items() if number not in moved]
    groups = [quiet, every] if quiet and len(quiet) < len(every) else [every]
    found = _passing(runner, twin, reach)
    if found is not None:
        return found
    for group in groups:
        draws = np.unique(np.concatenate([np.ravel(event.idx) for event in group]))
        for to in (reach, -reach):
            if runner.used + _COST > runner.budget:
                return None
            found = _bisected(runner, twin, draws, to)
            if found is not None:
                return found
    return None


def _passing(runner: Runner, twin: Twin, reach: float) -> Twin | None:
    """A replay on which a number that came of noise passes one of the code, if the sides differ.

    Any number that a line made is looked at, so `i = int(2 * v + 1)` is put where it equals 15.
    """
    known = spots_of(runner.mechanism)
    draws = plain_draws(twin.left)
    if not len(draws) or runner.used + 4 + _COST > runner.budget:
        return None
    start = _made(runner, _moved(twin.left, draws, reach, 0.0), twin)
    for to in (reach, -reach):
        if runner.used + 3 + _COST > runner.budget:
            break
        end = _made(runner, _moved(twin.left, draws, to, 1.0), twin)
        shares = _shares(start, end, known)
        for share in dict.fromkeys([*islice(shares, _MOST_POINTS), *_GRID]):
            if runner.used + 2 + _COST > runner.budget:
                break
            found = runner.replay(runner.right, _run(runner, twin, draws, to, share))
            if found.leaks or not _keeps(runner, found):
                return found
    return None


def _shares(start: Made, end: Made, known: list[float]) -> Iterator[float]:
    """How far to move noise for numbers to pass each known one."""
    ends = [(start[key], end[key]) for key in start if start[key] != end.get(key, start[key])]
    for spot in known:
        for one, two in ends[:_MOST_NUMBERS]:
            share = (spot - one) / (two - one)
            if 0.0 < share < 1.0:
                yield round(share, 12)


def _made(runner: Runner, fixed: dict[int, float], twin: Twin) -> Made:
    """Every number that a line made in a run on the left, by line and turn."""
    runner.used += 1
    journal = Recording(NoiseScript(runner.seed, fixed=fixed), eager=twin.left.journal.eager)
    steps = watched(runner.mechanism, runner.left, journal)
    return {
        (place, turn): float(value)
        for place, values in steps.values.items()
        for turn, value in enumerate(values)
        if type(value) in {int, float, np.float64, np.int64} and abs(value) < _HUGE
    }


def _run(runner: Runner, twin: Twin, draws: NDArray[np.intp], to: float, share: float) -> TracedRun:
    script = NoiseScript(runner.seed, fixed=_moved(twin.left, draws, to, share))
    return runner.record(runner.left, script, eager=twin.left.journal.eager)


def _bisected(runner: Runner, twin: Twin, draws: NDArray[np.intp], to: float) -> Twin | None:
    run: Callable[[float], TracedRun] = partial(_run, runner, twin, draws, to)
    ends = [_decided(twin.left), _decided(run(1.0))]
    half = _decided(run(0.5))
    kept = None
    if ends[0].order == ends[1].order == half.order:
        # A number that is neither of two constants half-way moves with the noise: no decision.
        sizes = {len(decided.floats) for decided in (*ends, half)}
        if len(sizes) == 1:
            kept = (half.floats == ends[0].floats) | (half.floats == ends[1].floats)
    if not ends[0].differs(ends[1], kept):
        return None
    low, high, before = 0.0, 1.0, ends[0]
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = runner.replay(runner.right, run(middle))
        if found.leaks or not _keeps(runner, found):
            return found
        now = _decided(found.left)
        if now.differs(before, kept):
            high = middle
        else:
            low, before = middle, now
    return None


def _keeps(runner: Runner, twin: Twin) -> bool:
    return judge(runner.claim, spending(twin.differences)) is Judged.WITHIN


def _moved(base: TracedRun, draws: NDArray[np.intp], to: float, share: float) -> dict[int, float]:
    """All draws of a run as they were; those given, a share of the way to an end of their range."""
    known = base.journal.draws
    fixed = {j: float(z) for j, z in enumerate(known.z[: known.top])}
    for j in draws.tolist():
        law = known.law_of(j)
        if law.name in {"shaped", "bounded"}:
            continue
        z = fixed[j] + share * (float(far_out(law, fixed[j], to)) - fixed[j])
        fixed[j] = float(round(z)) if law.is_discrete else z
    return fixed


def _decided(run: TracedRun) -> _Decided:
    order: list[Any] = [(type(e).__name__, str(e.place)) for e in run.journal.events]
    values = [event for event in run.journal.events if isinstance(event, Value)]
    floats = [np.ravel(np.asarray(event.offset, dtype=np.float64)) for event in values]
    for path, leaf in run.leaves.items():
        if isinstance(leaf, float) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f"):
            floats.append(np.ravel(np.asarray(leaf, dtype=np.float64)))
        else:
            order.append((repr(path), canonical(leaf)))
    every = np.concatenate(floats) if floats else np.zeros(0)
    return _Decided(canonical(order), every[:_MOST_NUMBERS])
