"""Released seeds: anyone who knows a seed can subtract the noise made from it.

The number that a generator was seeded with is changed, and all noise is left as it was. If the
output changes with it, as the number does, it tells the seed.
"""

# ruff: noqa: ANN401  # outputs are whatever a mechanism returns

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.evidence.understanding import Runner
from dpverify.tracing.noise.generator import told
from dpverify.tracing.recording.events import Pick, Puzzle, Value
from dpverify.tracing.recording.outputs import differing
from dpverify.tracing.recording.runs import TracedRun

_MOST = 4  # seeds of a run that are looked at


def told_seeds(runner: Runner, base: TracedRun) -> frozenset[int] | Puzzle:
    """Seeds that the output on the left reveals; else a line whose result depends on a seed.

    Takes an execution for every seed that was drawn.
    """
    known = set()
    if base.journal.puzzles:
        return frozenset()
    for number, (place, name) in enumerate(base.journal.seeds[:_MOST]):
        found = _drawn(base, name)
        if found is None:
            continue
        event, seed = found
        other = np.asarray(seed // 2 + 3)
        forced = other if seed.ndim else int(other)
        changed = runner.record(runner.left, base.journal.script.turned({event: forced}, {}))
        if changed.raised != base.raised:
            continue
        paths = differing(base.leaves, changed.leaves)
        parts = [(base.leaves.get(path), changed.leaves.get(path)) for path in paths]
        steps = zip(seed.ravel().tolist(), other.ravel().tolist(), strict=True)
        if any(_moves_with(*part, *step) for step in steps for part in parts):
            known.add(number)
        elif paths:
            return Puzzle(place, "the output depends on the seed of this generator itself")
    return frozenset(known)


def _drawn(run: TracedRun, name: str) -> tuple[int, NDArray[Any]] | None:
    """The number of the event that drew a seed, and the seed."""
    for number, event in enumerate(run.journal.events):
        if isinstance(event, (Pick, Value)):
            drawn = np.asarray(event.outcome if isinstance(event, Pick) else event.values)
            large = type(drawn.item()) is int if drawn.dtype == object and not drawn.ndim else False
            if large or (drawn.dtype.kind in "iuf" and np.all(drawn == np.floor(drawn))):
                whole = drawn if large else drawn.astype(np.int64)
                names = {str(whole), told(whole), told(whole.tolist())}
                if name in names or f"entropy={whole}," in name:
                    return number, whole
    return None


def _moves_with(one: Any, two: Any, seed: int, other: int) -> bool:
    """Whether part of the output is the seed up to a constant, or contains it as text."""
    if isinstance(one, str) and isinstance(two, str):
        return str(seed) in one and one.replace(str(seed), str(other)) == two
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray) and one.shape == two.shape:
        if one.dtype.kind not in "iuf":
            return False
        pairs = zip(one.ravel().tolist(), two.ravel().tolist(), strict=True)
        return any(_moves_with(a, b, seed, other) for a, b in pairs if a != b)
    numbers = (int, float, np.integer, np.floating)
    if isinstance(one, numbers) and isinstance(two, numbers):
        apart = abs(float(two) - float(one)) / abs(other - seed)
        return abs(apart - 1.0) < 1e-9
    return False
