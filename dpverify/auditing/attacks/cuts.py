"""Thresholds and intervals of one number, and a quick scan for the few numbers worth cutting.

In a scan every number is cut at some of its quantiles, and all ranges between two cuts are counted
on both sides. The few numbers whose best range promises most are then searched like any other.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from dpverify.auditing.attacks.draws import Draws, Goal, Proposal
from dpverify.auditing.attacks.events import Between, OneOf
from dpverify.auditing.attacks.sets import values
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.outputs import MISSING, WHOLE, Outputs

_CUTS = 256
_BINS = 40


def thresholds(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """The best events feature ≤ t and feature ≥ t, and whether an output has the feature at all."""
    ordered = seen.left.ordered(name), seen.right.ordered(name)
    yield from _presence(name, seen, goal, ordered)
    pooled = _merged(ordered)
    if not pooled.size or pooled[0] == pooled[-1]:
        return
    cuts = _distinct(pooled[ranks_to_cut(len(pooled))])
    below = [np.searchsorted(o, cuts, side="right") for o in ordered]
    above = [len(o) - np.searchsorted(o, cuts, side="left") for o in ordered]
    counts = [np.concatenate(pair).astype(np.float64) for pair in zip(below, above, strict=True)]
    for side, merits in _merits(goal, counts, (seen.left.size, seen.right.size)).items():
        for first, upper in ((0, False), (len(cuts), True)):
            i = int(np.argmax(merits[first : first + len(cuts)]))
            cut = float(cuts[i])
            event = Between(feature=name, low=cut) if upper else Between(feature=name, high=cut)
            yield Proposal(event=event, favors=side, merit=float(merits[first + i]))


def _presence(
    name: str, seen: Draws, goal: Goal, ordered: tuple[Floats, Floats]
) -> Iterator[Proposal]:
    """The events that the feature exists or is missing, where some outputs lack it."""
    sizes = seen.left.size, seen.right.size
    known = np.array([len(o) for o in ordered], np.float64)
    if not known.any() or tuple(known) == sizes:
        return
    counts = [
        np.array([has, size - has - part.set_aside.sum()])
        for has, size, part in zip(known, sizes, (seen.left, seen.right), strict=True)
    ]
    text = "nan" if name == WHOLE else MISSING
    for side, merits in _merits(goal, counts, sizes).items():
        yield Proposal(event=Between(feature=name), favors=side, merit=float(merits[0]))
        if not any(WHOLE in part.texts for part in (seen.left, seen.right)) or name != WHOLE:
            event = OneOf(feature=name, texts=(text,))
            yield Proposal(event=event, favors=side, merit=float(merits[1]))


def intervals(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Events low ≤ feature ≤ high between quantiles of what was seen."""
    ordered = seen.left.ordered(name), seen.right.ordered(name)
    pooled = _merged(ordered)
    if not pooled.size or pooled[0] == pooled[-1]:
        return
    cuts = _interval_cuts(pooled)
    first, last = np.triu_indices(len(cuts))
    counts = [
        (
            np.searchsorted(o, cuts, side="right")[last]
            - np.searchsorted(o, cuts, side="left")[first]
        ).astype(np.float64)
        for o in ordered
    ]
    for side, merits in _merits(goal, counts, (seen.left.size, seen.right.size)).items():
        i = int(np.argmax(merits))
        event = Between(feature=name, low=float(cuts[first[i]]), high=float(cuts[last[i]]))
        yield Proposal(event=event, favors=side, merit=float(merits[i]))


def _interval_cuts(pooled: Floats) -> Floats:
    """Quantiles to cut at; where frequent values make them repeat, more of the other values."""
    cuts = _distinct(pooled[np.linspace(0, len(pooled) - 1, _BINS).astype(int)])
    if len(cuts) == _BINS:
        return cuts
    values = _distinct(pooled)
    more = min(len(values), _BINS - len(cuts) + 2)  # the ends are among the cuts
    result: Floats = np.union1d(cuts, values[np.linspace(0, len(values) - 1, more).astype(int)])
    return result


def _merged(ordered: tuple[Floats, Floats]) -> Floats:
    return np.sort(np.concatenate(ordered), kind="stable")  # fast on two sorted runs


def _distinct(ordered: Floats) -> Floats:
    first: Floats = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return first


def _merits(goal: Goal, counts: Sequence[Floats], sizes: tuple[int, int]) -> dict[Side, Floats]:
    """The merits of all events, for each of the two sides they may favor."""
    left, right = counts
    if sizes[0] != sizes[1]:
        return {
            Side.LEFT: goal.merit(left, sizes[0], right, sizes[1]),
            Side.RIGHT: goal.merit(right, sizes[1], left, sizes[0]),
        }
    both = goal.merit(
        np.concatenate([left, right]), sizes[0], np.concatenate([right, left]), sizes[0]
    )
    return {Side.LEFT: both[: len(left)], Side.RIGHT: both[len(left) :]}


@lru_cache(maxsize=256)
def ranks_to_cut(size: int) -> Ints:
    """Ranks to cut at: all if there are few; else evenly spread, and denser towards both ends."""
    if size <= _CUTS:
        return np.arange(size)
    tail = np.unique(np.geomspace(1, size / 2, _CUTS // 4).astype(np.int64)) - 1
    even = np.linspace(0, size - 1, _CUTS).astype(np.int64)
    return np.unique(np.concatenate([tail, even, size - 1 - tail]))


_AT_ONCE = 256  # numbers at least, or as many as have
_COUNTED_AT_ONCE = 1 << 16  # values on both sides together
_QUANTILES = 8
_GLANCE = 512  # draws a side that quantiles are estimated from
_MOST_LOOKED_AT = 4_096  # draws a side
_NUMBERS = 1 << 21  # looked at on a side, but for so many draws at least:
_LEAST_LOOKED_AT = 1_024
_KEPT = 6


def scanned(
    names: Sequence[str],
    seen: Draws,
    goal: Goal,
    *,
    kept: int = _KEPT,
    glance: int = _MOST_LOOKED_AT,
) -> Iterator[Proposal]:
    """Events about the few among these numbers that tell the sides apart best at a glance."""
    for name in most_telling(names, seen.latest(glance), goal, kept):
        yield from thresholds(name, seen, goal)
        yield from intervals(name, seen, goal)
        yield from values(name, seen, goal)


def most_telling(names: Sequence[str], seen: Draws, goal: Goal, number: int) -> list[str]:
    """Features whose best interval between quantiles tells the sides apart best, in order."""
    most = min(max(_NUMBERS // max(len(names), 1), _LEAST_LOOKED_AT), _MOST_LOOKED_AT)
    sides = [side.between(0, most) for side in (seen.left, seen.right)]
    at_once = max(_COUNTED_AT_ONCE // max(sides[0].size + sides[1].size, 1), _AT_ONCE)
    chunks = (names[start : start + at_once] for start in range(0, len(names), at_once))
    merits = [_range_merits(chunk, sides, goal) for chunk in chunks]
    if not merits:
        return []
    order = np.argsort(-np.concatenate(merits), kind="stable")[:number]
    return [names[int(i)] for i in order]


_MOST_PAIRED = 2_048  # numbers whose pairs are looked at
_PRODUCTS = 1 << 30  # of two numbers, that are summed on a side


def can_be_paired(number: int) -> bool:
    """Whether there are few enough numbers to look at all pairs of them."""
    return number <= _MOST_PAIRED


def most_linked(names: Sequence[str], seen: Draws, number: int) -> list[str]:
    """The numbers in those pairs whose dependence differs most between the two sides.

    A number is reduced to the side of its median that it lies on, and a link of two is the mean
    product of these. So an output whose single numbers tell nothing may tell by two of them.
    """
    most = max(min(_PRODUCTS // len(names) ** 2, _MOST_LOOKED_AT), _GLANCE)
    looked = seen.latest(most)
    rows = [side.rows(names) for side in (looked.left, looked.right)]
    both = np.concatenate(rows, axis=1)
    missing = np.isnan(both)
    filled = np.nan_to_num(both, nan=0.0, posinf=1e300, neginf=-1e300)
    middle = np.median(filled, axis=1, keepdims=True)
    signs = np.where(missing, 0.0, np.sign(filled - middle)).astype(np.float32)
    signs -= signs.mean(axis=1, keepdims=True)
    signs /= np.maximum(signs.std(axis=1, keepdims=True), np.float32(1e-3))
    left, right = signs[:, : rows[0].shape[1]], signs[:, rows[0].shape[1] :]
    weighted = np.concatenate([left / left.shape[1], right / -right.shape[1]], axis=1)
    links = weighted @ np.concatenate([left, right], axis=1).T
    np.abs(links, out=links)
    np.fill_diagonal(links, -1.0)
    rank = 2 * number  # a pair is the best of two numbers at most, so that many are this good
    least = np.partition(links.max(axis=1), -rank)[-rank] if len(links) >= rank else 0.0
    i, j = np.nonzero(links >= least)
    i, j = i[i < j], j[i < j]
    best = np.argsort(-links[i, j], kind="stable")[:number]
    return [names[int(i)] for i in dict.fromkeys(np.column_stack([i, j])[best].ravel().tolist())]


def _range_merits(names: Sequence[str], sides: Sequence[Outputs], goal: Goal) -> Floats:
    rows = [side.rows(names) for side in sides]
    cuts = _quantiles(np.concatenate([part[:, :_GLANCE] for part in rows], axis=1))
    counts = [_below(part, cuts) for part in rows]
    first, last = np.triu_indices(counts[0].shape[1], 1)
    within = [np.maximum(count[:, last] - count[:, first], 0) for count in counts]
    missing = [part.shape[1] - count[:, -1:] for part, count in zip(rows, counts, strict=True)]
    left, right = (np.concatenate(pair, axis=1) for pair in zip(within, missing, strict=True))
    result: Floats = _best_merits(left, right, (rows[0].shape[1], rows[1].shape[1]), goal).max(
        axis=1
    )
    return result


def _best_merits(
    left: NDArray[np.int32], right: NDArray[np.int32], sizes: tuple[int, int], goal: Goal
) -> Floats:
    """The larger of the merits for either side; where few counts are possible, from a table."""
    kinds = (sizes[0] + 1) * (sizes[1] + 1)
    if kinds < left.size:
        every = np.divmod(np.arange(kinds, dtype=np.int32), np.int32(sizes[1] + 1))
        result: Floats = _best_merits(*every, sizes, goal)[left * (sizes[1] + 1) + right]
        return result
    one, other = left.astype(np.float64), right.astype(np.float64)
    return np.maximum(
        goal.merit(one, sizes[0], other, sizes[1]), goal.merit(other, sizes[1], one, sizes[0])
    )


def _quantiles(rows: Floats) -> Floats:
    """Some quantiles of every row; NaN for a row without numbers."""
    ordered = np.sort(rows, axis=1)  # NaN last
    known = np.maximum(np.count_nonzero(~np.isnan(ordered), axis=1), 1)
    shares = np.linspace(0.0, 1.0, _QUANTILES)
    at = np.floor(shares * (known[:, None] - 1)).astype(np.int64)
    return np.take_along_axis(ordered, at, axis=1)


def _below(rows: Floats, cuts: Floats) -> NDArray[np.int32]:
    """For every row, how many numbers lie below each cut and how many at or below it."""
    counts = np.zeros((len(rows), 2 * cuts.shape[1] + 2), np.int32)
    ones = np.ones(rows.shape[1], np.float32)  # sums of up to 2^24 of which are exact, and quick
    for j in range(cuts.shape[1]):
        cut = cuts[:, j : j + 1]
        counts[:, 2 * j + 1] = (rows < cut).astype(np.float32) @ ones
        counts[:, 2 * j + 2] = (rows <= cut).astype(np.float32) @ ones
    counts[:, -1] = (rows == rows).astype(np.float32) @ ones  # noqa: PLR0124  # not NaN
    return counts
