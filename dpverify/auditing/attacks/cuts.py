"""Events that cut a number in two or out a range of it: thresholds and intervals."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from dpverify.arrays import Floats, Ints
from dpverify.auditing.attacks.draws import Draws, Proposal
from dpverify.auditing.attacks.events import Between, OneOf
from dpverify.auditing.attacks.merit import Goal
from dpverify.auditing.sampling.outputs import MISSING, WHOLE
from dpverify.auditing.sampling.sampler import Side

_CUTS = 256
_BINS = 40


def thresholds(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Events feature ≤ t and feature ≥ t for all t worth trying, and whether there is a number."""
    ordered = seen.left.ordered(name), seen.right.ordered(name)
    yield from _presence(name, seen, goal, ordered)
    pooled = _merged(ordered)
    if not pooled.size or pooled[0] == pooled[-1]:
        return
    cuts = _distinct(pooled[_spread(len(pooled))])
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
    """Whether there is such a number, where outputs differ in that."""
    sizes = seen.left.size, seen.right.size
    known = np.array([len(o) for o in ordered], np.float64)
    if not known.any() or tuple(known) == sizes:
        return
    counts = [np.array([has, size - has]) for has, size in zip(known, sizes, strict=True)]
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
    cuts = _distinct(pooled[np.linspace(0, len(pooled) - 1, _BINS).astype(int)])
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


def _merged(ordered: tuple[Floats, Floats]) -> Floats:
    return np.sort(np.concatenate(ordered), kind="stable")  # fast on two sorted runs


def _distinct(ordered: Floats) -> Floats:
    first: Floats = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return first


def _merits(goal: Goal, counts: Sequence[Floats], sizes: tuple[int, int]) -> dict[Side, Floats]:
    """The merit of every event for either side that it may favor."""
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
def _spread(size: int) -> Ints:
    """Ranks to cut at: all of them if few; else evenly spread, and denser towards both ends."""
    if size <= _CUTS:
        return np.arange(size)
    tail = np.unique(np.geomspace(1, size / 2, _CUTS // 4).astype(np.int64)) - 1
    even = np.linspace(0, size - 1, _CUTS).astype(np.int64)
    return np.unique(np.concatenate([tail, even, size - 1 - tail]))
