"""Whether the output determines the releases behind it, so that their loss is its loss.

Two ways are accepted. Either every release became a number only in the output itself: then no line
of the code ever saw a noisy number, every run takes the same path, and the output is the same
function of the noise for all of them. Or some number was used before: then on each of a number of
transcripts, on both datasets, every release that lost something must stand in the output, at the
same place and by the same affine rule (or, where it does not, the output must stand at one of two
constants, as a clamp leaves it). In both cases no other randomness may have had a say.
"""

# ruff: noqa: ANN401  # data are whatever a mechanism takes

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.claims import AuditClaim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.tracing.evidence.steering import alternating, far_out
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Bits, Event, Move, Value, is_settled
from dpverify.tracing.recording.journal import Recording
from dpverify.tracing.recording.outputs import numbers_in
from dpverify.tracing.recording.runs import TracedRun, Twin, record

_CLOSE = 2.0**-32
_MOST_COORDINATES = 400
RUNS = 7  # transcripts on either side
TRIED = "every release stands in the output on"


@dataclass(frozen=True, slots=True)
class Determination:
    """How the output determines the releases, in words; `always` if on every transcript."""

    how: str
    always: bool
    executions: int

    def applies(self, claim: AuditClaim) -> bool:
        """Whether a refutation of this claim may rest on that.

        A pure claim breaks on one transcript that the output gives back. Any other claim allows
        rare transcripts to lose more, so that what the output gives back on some of them is no
        ground: the profile needs them all.
        """
        return self.always or is_pure(claim)


def is_pure(claim: AuditClaim) -> bool:
    """Whether a claim allows no outcome at all to exceed its bound (δ = 0)."""
    return isinstance(claim, PureDP) or (isinstance(claim, ApproxDP) and claim.delta == 0)


def determination(  # noqa: C901  # one condition after the other
    mechanism: Any, left: Any, right: Any, twin: Twin, seed: int
) -> Determination | None:
    """How the output of a twin determines its releases, in words; None if that is not shown."""
    journal: Recording = twin.left.journal
    if journal.opened or any(not isinstance(d, Move) for d in twin.differences):
        return None
    lossy = {d.event for d in twin.differences if isinstance(d, Move)}
    final = all(is_settled(e) for e in journal.events)
    if final and not journal.seeds:
        return Determination("every release is in the output, untouched", always=True, executions=0)
    if not all(_innocent(journal, event, n in lossy) for n, event in enumerate(journal.events)):
        return None
    scripts = _scripts(seed, journal.draws.top)
    runs = [record(mechanism, data, s) for data in (left, right) for s in scripts]
    if any(releases_of(run) != releases_of(twin.left) or run.raised for run in runs):
        return None
    if any(run.journal.puzzles for run in runs):
        return None
    tables = [numbers_in(run.leaves) for run in (twin.left, *runs)]
    if any(paths != tables[0][0] for paths, _ in tables):
        return None
    outputs = np.array([values for _, values in tables])
    clamped = False
    for move in twin.differences:
        if not isinstance(move, Move) or len(move.flat) > _MOST_COORDINATES:
            return None
        event = journal.events[move.event]
        if isinstance(event, Value) and event.final:
            continue
        for flat in move.flat:
            inputs = np.array([_released(run, move.event, int(flat)) for run in (twin.left, *runs)])
            found = _stands_in(inputs, outputs)
            if found is None:
                return None
            clamped |= found
    count = len(runs)
    words = f"{TRIED} {count} further transcripts"
    if clamped:
        words += ", but for a clamp to constants"
    return Determination(words, always=False, executions=count)


def _scripts(seed: int, most: int) -> list[NoiseScript]:
    shaped = [
        NoiseScript(seed + 11, shape=lambda law, z: far_out(law, z, 12.0), until=most),
        NoiseScript(seed + 12, shape=lambda law, z: far_out(law, z, -12.0), until=most),
        NoiseScript(seed + 13, shape=alternating, until=most),
    ]
    return [*shaped, *(NoiseScript(seed + 17 * k) for k in range(1, RUNS - len(shaped) + 1))]


def _innocent(journal: Recording, event: Event, lossy: bool) -> bool:  # noqa: FBT001
    """Whether an event is a release with some loss, or cannot have influenced the output."""
    if is_settled(event):
        return True
    if isinstance(event, Value):
        return lossy
    if isinstance(event, Bits):
        # A comparison of a number that is released as a whole adds nothing to it.
        return bool(np.all(journal.draws.used[event.idx]))
    return False


def releases_of(run: TracedRun) -> list[tuple[str, tuple[int, ...]]]:
    """The releases of a run, by kind and shape; the number of comparisons may vary."""
    return [
        (type(event).__name__, np.shape(event.values))
        for event in run.journal.events
        if isinstance(event, Value)
    ]


def _released(run: TracedRun, number: int, flat: int) -> float:
    """The value of one release, whose event may have another number if comparisons differ."""
    event = run.journal.events[number] if number < len(run.journal.events) else None
    if not isinstance(event, (Value, Bits)):
        return float("nan")
    if 0 < np.ndim(event.offset) < np.ndim(event.idx):
        return float("nan")  # each element adds up several draws
    shape = np.shape(np.atleast_1d(event.idx))
    offset = np.broadcast_to(np.asarray(event.offset, dtype=np.float64), shape).reshape(-1)
    coef = np.broadcast_to(np.asarray(event.coef, dtype=np.float64), shape).reshape(-1)
    draws = np.atleast_1d(event.idx).reshape(-1)
    if flat >= len(draws):
        return float("nan")
    return float(offset[flat] + coef[flat] * run.journal.draws.z[draws[flat]])


def _stands_in(inputs: Floats, outputs: Floats) -> bool | None:
    """Whether some number of the output is an affine function of the input in every run.

    False if it is, True if it is but for two constants at most, None if it is not.
    """
    if not np.all(np.isfinite(inputs)) or np.ptp(inputs) == 0.0:
        return None
    for column in outputs.T:
        kept = np.isfinite(column)
        if not np.all(kept):
            continue
        found = _affine(inputs, column)
        if found is not None:
            return found
    return None


def _affine(inputs: Floats, column: Floats) -> bool | None:
    if np.ptp(column) == 0.0:
        return None
    ends = (column == column.min()) | (column == column.max())
    middle = np.flatnonzero(~ends)
    for chosen, clamped in ((np.arange(len(inputs)), False), (middle, True)):
        if len(chosen) < 5 or (clamped and 0 not in chosen):
            continue  # the witness itself, the first row, must not stand at an end
        x, y = inputs[chosen], column[chosen]
        a, b = int(np.argmin(x)), int(np.argmax(x))
        if x[a] == x[b]:
            continue
        slope = (y[b] - y[a]) / (x[b] - x[a])
        size = np.abs(x * slope) + np.abs(y) + 1e-300
        fits = np.abs(y - y[a] - slope * (x - x[a])) <= _CLOSE * size
        if slope != 0.0 and np.all(fits):
            return clamped
    return None
