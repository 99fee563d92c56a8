"""Decisions out of sight: noise that became a plain number, and is compared with data after that.

A plain number has no memory, so `float(rng.random()) < x` is not seen as a comparison. But as noise
moves, some transcript is the last on which a side decides as before; if the other side has another
threshold, the two decide differently near it. So the noise is moved to either end of its range, and
where that changes what a side does, the change is bisected, with a replay at every step.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.auditing.sampling.spelling import canonical
from dpverify.tracing.evidence.judging import Judged, judge
from dpverify.tracing.evidence.spending import spending
from dpverify.tracing.evidence.steering import far_out
from dpverify.tracing.evidence.understanding import Runner
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Value
from dpverify.tracing.recording.runs import TracedRun, Twin

_STEPS = 9  # of a bisection: to 1/512 of the way to the end of the range
_COST = 2 + 2 * _STEPS
_MOST_NUMBERS = 2000
_MOST_DRAWS = 20_000


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
    return None


def _bisected(runner: Runner, twin: Twin, draws: NDArray[np.intp], to: float) -> Twin | None:
    def run(share: float) -> TracedRun:
        script = NoiseScript(runner.seed, fixed=_moved(twin.left, draws, to, share))
        return runner.record(runner.left, script, eager=twin.left.journal.eager)

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
