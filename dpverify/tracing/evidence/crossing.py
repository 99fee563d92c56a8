"""Decisions out of sight: noise that became a plain number, and is compared with data after that.

A plain number has no memory, so `float(rng.random()) < x` is not seen as a comparison. But as noise
moves, some transcript is the last on which a side decides as before; if the other side has another
threshold, the two decide differently near it. So the noise is moved to either end of its range, and
where that changes what a side does, the change is bisected, with a replay at every step. A decision
that is taken back before the end, as `2.9 < v < 3.0` is, does not show so: therefore noise is also
put where a number that came of it equals one that stands in the code, and between two of these.
"""

import dis
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.auditing.sampling.spelling import canonical
from dpverify.tracing.evidence.judging import Judged, judge
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.evidence.steering import far_out, plain_draws
from dpverify.tracing.evidence.understanding import Runner
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Value
from dpverify.tracing.recording.places import is_inside
from dpverify.tracing.recording.runs import TracedRun, Twin

Floats = NDArray[np.float64]

_STEPS = 9  # of a bisection: to 1/512 of the way to the end of the range
_COST = 2 + 2 * _STEPS
_MOST_NUMBERS = 2000
_MOST_DRAWS = 20_000
_MOST_POINTS = 12  # at which a number equals one of the code
_MOST_SPOTS = 8  # numbers that are put there
_CODES = 20  # functions that are looked into for numbers


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
    for group in groups:
        draws = np.unique(np.concatenate([np.ravel(event.idx) for event in group]))
        for to in (reach, -reach):
            if runner.used + _COST > runner.budget:
                return None
            found = _bisected(runner, twin, draws, to)
            if found is not None:
                return found
    return _at_numbers_of_the_code(runner, twin, reach)


def _at_numbers_of_the_code(runner: Runner, twin: Twin, reach: float) -> Twin | None:
    """A replay on which a noisy number equals one that stands in the code, if the sides differ."""
    known = numbers_of(runner.mechanism)
    draws = plain_draws(twin.left)
    tried = 0
    for to in (reach, -reach) if known and len(draws) else ():
        if runner.used + 3 > runner.budget:
            break
        end = _run(runner, twin, draws, to, 1.0)
        for share in _shares(_seen(twin.left), _seen(end), known):
            if tried == _MOST_POINTS or runner.used + 2 > runner.budget:
                break
            tried += 1
            found = runner.replay(runner.right, _run(runner, twin, draws, to, share))
            if found.leaks or not _keeps(runner, found):
                return found
    return None


def _shares(start: Floats, end: Floats, known: list[float]) -> Iterator[float]:
    """How far to move noise for numbers to pass each known one, or to stand between two."""
    ranked = np.unique(known)
    spots = [*(k + 1e-9 * max(1.0, abs(k)) for k in known), *((ranked[1:] + ranked[:-1]) / 2)]
    done: set[float] = set()
    for spot in spots:
        for one, two in list(zip(start, end, strict=False))[:_MOST_SPOTS]:
            share = (spot - one) / (two - one) if one != two else 0.0
            if 0.0 < share < 1.0 and round(share, 12) not in done:
                done.add(round(share, 12))
                yield float(share)


def _seen(run: TracedRun) -> Floats:
    """Noisy numbers that code saw, and those of the output."""
    values = [e.values for e in run.journal.events if isinstance(e, Value) and not e.final]
    leaves = [leaf for leaf in run.leaves.values() if isinstance(leaf, (float, np.floating))]
    parts = [np.ravel(np.asarray(value, dtype=np.float64)) for value in (*values, *leaves)]
    return np.concatenate(parts) if parts else np.zeros(0)


def numbers_of(mechanism: Any) -> list[float]:
    """Numbers that stand in a function or in those that it calls; those compared come first."""
    held = [getattr(mechanism, "args", ()), getattr(mechanism, "keywords", {})]  # of a partial
    function = getattr(mechanism, "func", mechanism)
    owner = getattr(function, "__self__", function)
    if not hasattr(function, "__code__") and not hasattr(function, "__func__"):
        kind = type(function)
        function = getattr(kind, "sample", None) or getattr(kind, "__call__", None)
    function = getattr(function, "__func__", function)
    waiting = [(getattr(function, "__code__", None), getattr(function, "__globals__", {}))]
    held += [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    held += [getattr(owner, "__dict__", {}), _cells(function)]
    compared: dict[float, None] = {}
    others: dict[float, None] = dict.fromkeys(n for part in held for n in _numbers(part or ()))
    done = set()
    while waiting and len(done) < _CODES:
        code, names = waiting.pop(0)
        if code is None or code in done or is_inside(code.co_filename):
            continue
        done.add(code)
        recent: list[float] = []
        for step in dis.get_instructions(code):
            value = names.get(step.argval) if step.opname == "LOAD_GLOBAL" else step.argval
            if step.opname in {"LOAD_CONST", "LOAD_GLOBAL"}:
                if hasattr(value, "co_code"):
                    waiting.append((value, names))
                elif hasattr(value, "__code__"):
                    waiting.append((value.__code__, value.__globals__))
                else:
                    recent = [*recent[-1:], *_numbers(value)]
                    others.update(dict.fromkeys(_numbers(value)))
            elif step.opname in {"COMPARE_OP", "CONTAINS_OP"}:
                compared.update(dict.fromkeys(recent))
                recent = []
    return list({**compared, **others})


def _cells(function: Any) -> list[Any]:
    """What a function closes over."""
    cells = getattr(function, "__closure__", None) or ()
    return [cell.cell_contents for cell in cells if cell != types.CellType()]


def _numbers(value: Any) -> list[float]:
    value = tuple(value.values()) if isinstance(value, dict) else value
    parts = value if isinstance(value, (tuple, frozenset, list, set)) else (value,)
    return [
        float(part)
        for part in parts
        if isinstance(part, (int, float)) and not isinstance(part, bool) and abs(part) < 1e300
    ]


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
