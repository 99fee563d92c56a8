"""Hidden decisions: noise that became a plain number and is later compared with data.

A plain number has no memory, so `float(rng.random()) < x` is not seen as a comparison. But as noise
moves, some transcript is the last on which a side decides as before; if the other side has another
threshold, the two decide differently near it. So the noise is moved to either end of its range, and
where that changes what a side does, the change is bisected, with a replay at every step. A decision
that is taken back before the end, as `2.9 < v < 3.0` is, does not show so: therefore noise is first
moved to where a number that came of it passes another one that it meets in the code.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.auditing.sampling.spelling import canonical
from dpverify.tracing.evidence.judging import Judged, judge
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.evidence.steering import (
    FAR,
    far_out,
    first_swept,
    is_whole,
    plain_draws,
    swept,
)
from dpverify.tracing.evidence.understanding import Runner
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import BESIDE_DATA, Puzzle, Value
from dpverify.tracing.recording.meetings import (
    RANKS,
    Gaps,
    Meeting,
    Met,
    decisions,
    meeting_place,
    meetings,
    side_by_side,
)
from dpverify.tracing.recording.places import Place
from dpverify.tracing.recording.runs import TracedRun, Twin

_STEPS = 9  # of a bisection: to 1/512 of the way to the end of the range
_COST = 2 + 2 * _STEPS
_AFTER = 6  # executions that are left for what follows a sweep
_MOST_NUMBERS = 2000
_MOST_DRAWS = 20_000
_MOST_DRAWN = 20  # draws that tell one spot from another
_MOST_PASSES = 12  # numbers that are put where they pass another
_SHARPENING = 20
_FEW = 8  # values of a whole number that is decided on
_SHARP = 2.0**-44  # of the way to an end of the noise's range
_TOO_FEW = "noisy numbers meet data here: the executions were too few to make the two equal"
_UNTAKEN = "noisy numbers decide here; no run came to where the other way tells data"
_MOST_UNTAKEN = 6
_GRID = (1 / 12, 2 / 12, 1 / 4, 1 / 2)


@dataclass(slots=True)
class _Decided:
    """What a run did: its order of steps, its output without numbers, and all its numbers."""

    order: str
    numbers: Floats
    is_whole: NDArray[np.bool_]

    def kept(self, half: "_Decided", end: "_Decided") -> NDArray[np.bool_] | None:
        """Which numbers tell a decision, on the way to an end; None if the order of things does.

        A number that is neither of two constants half-way moves with the noise: no decision. Nor is
        a whole number that goes through many values.
        """
        one, two, three = self.numbers, half.numbers, end.numbers
        if not self.order == half.order == end.order or not len(one) == len(two) == len(three):
            return None
        few = self.is_whole & (np.abs(three - one) <= _FEW)
        return np.asarray((two == one) | (two == three) | few)

    def differs(self, other: "_Decided", kept: NDArray[np.bool_] | None) -> bool:
        if self.order != other.order or len(self.numbers) != len(other.numbers):
            return True
        if kept is None or len(kept) != len(self.numbers):
            return False
        return not np.array_equal(self.numbers[kept], other.numbers[kept], equal_nan=True)


def crossed(runner: Runner, twin: Twin, reach: float) -> Twin | Puzzle | None:
    """A replay near a point where the left side decides otherwise and the right side differs.

    That may be a leak, a loss beyond the claim, or something that is not understood. A puzzle where
    there is none, and data met noisy numbers in a way that may hide one.
    """
    events = twin.left.journal.events
    loose = {n: e for n, e in enumerate(events) if isinstance(e, Value) and not e.final}
    if not loose or twin.left.journal.draws.top > _MOST_DRAWS:
        return None  # no line of the code saw a noisy number
    moved = {difference.event for difference in twin.differences}
    every = list(loose.values())
    quiet = [event for number, event in loose.items() if number not in moved]
    groups = [quiet, every] if quiet and len(quiet) < len(every) else [every]
    look = _Look(runner, twin)
    puzzle = _data_met(look, reach)
    found = _passing(look, reach) or _swept(runner, twin, reach)
    if found is not None:
        return found
    if look.waiting:  # the budget ended before any of them was looked at
        puzzle = puzzle or Puzzle(next(iter(look.waiting)), _TOO_FEW)
    for group in groups:
        draws = np.unique(np.concatenate([np.ravel(event.idx) for event in group]))
        for to in (reach, -reach):
            if runner.used + _COST > runner.budget:
                return puzzle
            found = _bisected(runner, twin, draws, to)
            if found is not None:
                return found
    return puzzle or _untaken(look)


def _untaken(look: "_Look") -> Puzzle | None:
    """A noisy decision with one outcome in all runs, whose other outcome would show data.

    So a branch is looked at for which no noise was found, as it takes a remainder or two numbers at
    once. A claim with δ may allow it.
    """
    runner = look.runner
    if not look.known or float(getattr(runner.claim, "delta", 0.0)) > 0:
        return None
    runs = [*look.known.values()]
    fell = {n: {each for met in runs for each in met.truths.get(n, ())} for n in runs[0].truths}
    one_way = (n for n in decisions(look.right, *runs) if len(fell[n]) == 1)
    for number in islice(one_way, _MOST_UNTAKEN):
        if runner.used + 2 + _AFTER > runner.budget:
            return None
        with meetings(runner.mechanism, inverted=number) as met:
            base = _run(runner, look.twin, _as_drawn(look.twin.left))
        if base.raised:
            continue
        with meetings(runner.mechanism, inverted=number):
            found = runner.replay(runner.right, base)
        if found.leaks:
            return Puzzle(met.lines[number], _UNTAKEN)
    return None


def _data_met(look: "_Look", reach: float) -> Puzzle | None:
    """The line where a noisy number that the code saw meets data in a way not understood.

    Numbers that are compared or subtracted are moved to where they are equal. What else a function
    does with both, as a lookup or a join, may come true for a single value of the noise.
    """
    runner, draws = look.runner, look.draws
    if not len(draws) or runner.used + 3 > runner.budget:
        return None
    ends = reach * _signs(look.twin.left, draws)
    here, moved = look.at(ends, 0.0), look.at(ends, 1.0)
    with meetings(runner.mechanism) as look.right:
        runner.replay(runner.right, look.first)
    look.waiting = dict.fromkeys(side_by_side(here, look.right, moved))
    place = meeting_place(here, look.right, moved)
    return None if place is None else Puzzle(place, BESIDE_DATA)


class _Look:
    """What met in runs whose noise is moved towards an end; each is run once per side."""

    def __init__(self, runner: Runner, twin: Twin) -> None:
        self.runner, self.twin = runner, twin
        self.draws = plain_draws(twin.left)
        self.known: dict[tuple[float, ...], Met] = {}
        self.known_right: dict[tuple[float, ...], Met] = {}
        self.first = twin.left  # the run with the noise of the twin
        self.right = Met()  # of its replay
        self.waiting: dict[Place, None] = {}  # where numbers would pass that data have moved

    def at(self, ends: Floats, share: float) -> Met:
        fixed = _moved(self.twin.left, self.draws, ends, share)
        key = tuple(fixed.values())
        if key not in self.known:
            with meetings(self.runner.mechanism) as self.known[key]:
                run = _run(self.runner, self.twin, fixed)
            self.first = run if not share else self.first
        return self.known[key]

    def right_at(self, ends: Floats, share: float) -> Met:
        """What met in the same replays on the right side, which may meet more."""
        fixed = _moved(self.twin.left, self.draws, ends, share)
        key = tuple(fixed.values())
        if key not in self.known_right:
            base = _run(self.runner, self.twin, fixed)
            with meetings(self.runner.mechanism) as self.known_right[key]:
                self.runner.replay(self.runner.right, base)
        return self.known_right[key]


def _swept(runner: Runner, twin: Twin, reach: float) -> Twin | None:
    """A replay on which the sides differ, as whole numbers are set to one value after another."""
    delta = float(getattr(runner.claim, "delta", 0.0))
    amounts, sweep = swept(twin.left, runner.seed, reach, delta)
    done = first_swept(amounts) if is_whole(twin.left) else 0  # those were tried before
    for tried, script in islice(enumerate(sweep), done, None):
        if runner.used + 2 + _AFTER > runner.budget:
            runner.untried[
                f"of whole numbers that the code saw, {tried} of {amounts} amounts of noise were "
                "tried one by one"
            ] = None
            return None
        base = runner.record(runner.left, script, eager=twin.left.journal.eager)
        found = runner.replay(runner.right, base)
        if not _keeps(runner, found):
            return found
    return None


def _passing(look: _Look, reach: float) -> Twin | None:
    """A replay in which a noise-dependent number passes another, if the sides differ there."""
    runner, twin, draws = look.runner, look.twin, look.draws
    tried: set[tuple[float, ...]] = set()
    for ends, share in _spots(look, reach):
        fixed = _moved(twin.left, draws, ends, share)
        place = tuple(round(fixed[j], 13) for j in draws.tolist()[:_MOST_DRAWN])
        if place in tried:
            continue
        if runner.used + 2 + _COST > runner.budget:
            return None
        tried.add(place)
        found = runner.replay(runner.right, _run(runner, twin, fixed))
        if not _keeps(runner, found):
            return found
    return None


def _spots(look: _Look, reach: float) -> Iterator[tuple[Floats, float]]:
    """Where to move noise, most promising first: directions, and how far to go."""
    runner, twin, draws = look.runner, look.twin, look.draws
    if not len(draws) or runner.used + 6 + _COST > runner.budget:
        return
    up = reach * _signs(twin.left, draws)
    start = look.at(up, 0.0).gaps
    passes: list[_Pass] = []
    for ends in _ways(up):
        met: set[Meeting] = set()
        for way in ends:
            if runner.used + 4 + _COST > runner.budget:
                break
            end = look.at(way, 1.0).gaps
            if end.keys() != start.keys():  # the code goes another way there
                yield way, 1.0
            new = [k for k in start if k in end and k not in met and _passed(start[k], end[k])]
            passes += [_Pass(way, key, start[key], end[key], look.at) for key in new]
            met.update(new)
    other = look.right.gaps
    passes += _passes_right(look, up, {k: gap for k, gap in other.items() if k not in start})
    by_data = {key for key in {*start, *other} if start.get(key) != other.get(key)}
    for found in _ranked(passes, by_data):
        look.waiting.clear()
        yield from ((found.way, share) for share in _sharpened(look, found))
    yield from product((up, -up), _GRID)


def _passes_right(look: _Look, up: Floats, start: Gaps) -> list["_Pass"]:
    """Numbers that meet on the right side only, such as those of an additional record."""
    found = []
    for way in (up, -up) if start else ():
        if look.runner.used + 4 + _COST > look.runner.budget:
            break
        end = look.right_at(way, 1.0).gaps
        passed = [key for key in start if key in end and _passed(start[key], end[key])]
        found += [_Pass(way, key, start[key], end[key], look.right_at) for key in passed]
    return found


def _ways(up: Floats) -> list[list[Floats]]:
    """Directions for all draws at once, each with targets, near ones first."""
    turning = up * np.where(np.arange(len(up)) % 2 == 0, 1.0, -1.0)
    # Nothing is too rare where there is no δ.
    further = [1.0, 100.0] if abs(up[0]) == FAR else [1.0]
    straight = [[to * way for to in further] for way in (up, -up)]
    return straight + ([[0.0 * up], [turning], [-turning]] if len(up) > 1 else [])


def _signs(base: TracedRun, draws: NDArray[np.intp]) -> Floats:
    """The sign by which each draw increases the numbers that the code saw."""
    signs = dict.fromkeys(draws.tolist(), 1.0)
    for event in base.journal.events:
        if isinstance(event, Value) and not event.final:
            factors = np.broadcast_to(event.coef, np.shape(event.idx)).reshape(-1)
            pairs = zip(np.ravel(event.idx).tolist(), factors.tolist(), strict=True)
            signs |= {j: -1.0 for j, factor in pairs if factor < 0 and j in signs}
    return np.array(list(signs.values()))


def _passed(start: float, end: float) -> bool:
    return start * end <= 0.0 and start != end


class _Pass(NamedTuple):
    """Two numbers that pass each other as noise moves to an end, with their gap at both ends."""

    way: Floats
    key: Meeting
    start: float
    end: float
    at: Callable[[Floats, float], Met]


def _ranked(passes: list[_Pass], by_data: set[Meeting]) -> list[_Pass]:
    """Comparisons first, then differences, then arguments; each line once before any twice.

    Of each kind, those first in which the sides are not equally far from each other.
    """
    turns: Counter[Any] = Counter()
    ranks = []
    for each in passes:
        kind, moved = each.key[0], each.key in by_data
        turns[each.key[:3], moved] += 1
        often = turns[each.key[:3], moved]
        ranks.append((often > 2, RANKS.index(kind), not moved, often))
    order = sorted(range(len(passes)), key=ranks.__getitem__)
    return [passes[i] for i in order[:_MOST_PASSES]]


def _sharpened(look: _Look, passed: _Pass) -> Iterator[float]:
    """Two points where two numbers are almost equal: just above and just below each other."""
    known = {0.0: passed.start, 1.0: passed.end}

    def gap_at(share: float) -> float:
        if share in known:
            return known[share]
        if look.runner.used + 4 + _COST > look.runner.budget:
            raise _LostSight
        gaps = passed.at(passed.way, share).gaps
        if passed.key not in gaps:
            raise _LostSight  # they do not meet here
        known[share] = gaps[passed.key]
        return known[share]

    try:
        share = scipy.optimize.brentq(
            gap_at, 0.0, 1.0, xtol=_SHARP, rtol=_SHARP, maxiter=_SHARPENING
        )
    except (_LostSight, RuntimeError):  # a gap that jumps: both sides of the jump, as far as known
        sides = ([x for x in known if known[x] * passed.end > 0], [*known])
        yield from dict.fromkeys((min(sides[0]), max(set(sides[1]) - set(sides[0]))))
        return
    step = 4 * _SHARP
    yield from (share + step, share - step)
    with suppress(_LostSight):
        while known.get(share) == 0.0 and step < 1.0 / 16.0:  # rounded numbers are equal for long
            step *= 16
            if gap_at(share + step):
                yield from (share + step, share - step)
                return


class _LostSight(Exception):
    """Raised if two numbers are no longer seen to meet."""


def _run(runner: Runner, twin: Twin, fixed: dict[int, float]) -> TracedRun:
    script = NoiseScript(runner.seed, fixed=fixed)
    return runner.record(runner.left, script, eager=twin.left.journal.eager)


def _bisected(runner: Runner, twin: Twin, draws: NDArray[np.intp], to: float) -> Twin | None:
    ends_of = np.full(len(draws), to)

    def run(share: float) -> TracedRun:
        return _run(runner, twin, _moved(twin.left, draws, ends_of, share))

    before, half, end = _decided(twin.left), _decided(run(0.5)), _decided(run(1.0))
    kept = before.kept(half, end)
    if not before.differs(end, kept):
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        found = runner.replay(runner.right, run(middle))
        if not _keeps(runner, found):
            return found
        now = _decided(found.left)
        if now.differs(before, kept):
            high = middle
        else:
            low, before = middle, now
    return None


def _keeps(runner: Runner, twin: Twin) -> bool:
    if twin.leaks or twin.right.journal.puzzles:
        return False
    return judge(runner.claim, spending(twin.differences)) is Judged.WITHIN


def _moved(
    base: TracedRun, draws: NDArray[np.intp], ends: Floats, share: float
) -> dict[int, float]:
    """All draws of a run, with the given ones moved some of the way to an end of their range."""
    known, fixed = base.journal.draws, _as_drawn(base)
    for j, to in zip(draws.tolist(), ends.tolist(), strict=True):
        law = known.law_of(j)
        if law.name in {"shaped", "bounded"}:
            continue
        z = fixed[j] + share * (float(far_out(law, fixed[j], to)) - fixed[j])
        fixed[j] = float(round(z)) if law.is_discrete else z
    return fixed


def _as_drawn(base: TracedRun) -> dict[int, float]:
    draws = base.journal.draws
    return {j: float(z) for j, z in enumerate(draws.z[: draws.top])}


def _decided(run: TracedRun) -> _Decided:
    order: list[Any] = [(type(e).__name__, str(e.place)) for e in run.journal.events]
    values = [event for event in run.journal.events if isinstance(event, Value)]
    numbers = [np.ravel(np.asarray(event.offset, dtype=np.float64)) for event in values]
    whole = [np.zeros(part.size, dtype=np.bool_) for part in numbers]
    for path, leaf in run.leaves.items():
        kind = np.asarray(leaf).dtype.kind if type(leaf) in {int, float, np.ndarray} else ""
        if kind and kind in "iuf":
            numbers.append(np.ravel(np.asarray(leaf).astype(np.float64)))
            whole.append(np.full(numbers[-1].size, kind != "f"))
        else:
            order.append((repr(path), canonical(leaf)))
    every = np.concatenate(numbers) if numbers else np.zeros(0)
    is_whole = np.concatenate(whole) if whole else np.zeros(0, dtype=np.bool_)
    return _Decided(canonical(order), every[:_MOST_NUMBERS], is_whole[:_MOST_NUMBERS])
