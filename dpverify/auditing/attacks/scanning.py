"""Outputs of many numbers: which of them tell the two sides apart, found by a quick look at all.

Every number is cut at some of its quantiles, and all ranges between two cuts are counted on both
sides. The few numbers whose best range promises most are then searched as carefully as any.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.attacks.cuts import intervals, thresholds
from dpverify.auditing.attacks.draws import Draws, Proposal
from dpverify.auditing.attacks.merit import Goal
from dpverify.auditing.attacks.sets import values
from dpverify.auditing.sampling.outputs import Outputs

_AT_ONCE = 256  # numbers
_QUANTILES = 12
_GLANCE = 512  # draws a side that quantiles are estimated from
_MOST_LOOKED_AT = 4_096  # draws a side
_KEPT = 6


def scanned(names: Sequence[str], seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Events about the few among these numbers that tell the sides apart best."""
    for name in most_telling(names, seen, goal, _KEPT):
        yield from thresholds(name, seen, goal)
        yield from intervals(name, seen, goal)
        yield from values(name, seen, goal)


def most_telling(names: Sequence[str], seen: Draws, goal: Goal, number: int) -> list[str]:
    """The names whose best range between quantiles promises most, the best first."""
    sides = [side.between(0, _MOST_LOOKED_AT) for side in (seen.left, seen.right)]
    merits = [_merits(chunk, sides, goal) for chunk in _chunks(names)]
    if not merits:
        return []
    order = np.argsort(-np.concatenate(merits), kind="stable")[:number]
    return [names[int(i)] for i in order]


def _chunks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), _AT_ONCE):
        yield names[start : start + _AT_ONCE]


def _merits(names: Sequence[str], sides: Sequence[Outputs], goal: Goal) -> Floats:
    rows = [np.array([side.column(name) for name in names]) for side in sides]
    cuts = _quantiles(np.concatenate([part[:, :_GLANCE] for part in rows], axis=1))
    counts = [_below(part, cuts) for part in rows]
    first, last = np.triu_indices(counts[0].shape[1], 1)
    within = [np.maximum(count[:, last] - count[:, first], 0.0) for count in counts]
    missing = [part.shape[1] - count[:, -1:] for part, count in zip(rows, counts, strict=True)]
    left, right = (np.concatenate(pair, axis=1) for pair in zip(within, missing, strict=True))
    sizes = rows[0].shape[1], rows[1].shape[1]
    best = np.maximum(
        goal.merit(left, sizes[0], right, sizes[1]), goal.merit(right, sizes[1], left, sizes[0])
    )
    result: Floats = best.max(axis=1)
    return result


def _quantiles(rows: Floats) -> Floats:
    """For every row some of its quantiles; NaN for one without numbers."""
    ordered = np.sort(rows, axis=1)  # NaN last
    known = np.maximum(np.count_nonzero(~np.isnan(ordered), axis=1), 1)
    shares = np.linspace(0.0, 1.0, _QUANTILES)
    at = np.floor(shares * (known[:, None] - 1)).astype(np.int64)
    return np.take_along_axis(ordered, at, axis=1)


def _below(rows: Floats, cuts: Floats) -> Floats:
    """How many numbers of a row lie below each cut, and up to it; none first, and all last."""
    columns = [np.zeros(len(rows))]
    for j in range(cuts.shape[1]):
        cut = cuts[:, j : j + 1]
        columns += [np.count_nonzero(rows < cut, axis=1), np.count_nonzero(rows <= cut, axis=1)]
    columns.append(np.count_nonzero(~np.isnan(rows), axis=1))
    return np.column_stack(columns).astype(np.float64)
