"""Events that list values: single ones, sets of them, and those seen on only one side."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints, Mask
from dpverify.auditing.attacks.draws import Draws, Goal, Proposal
from dpverify.auditing.attacks.events import OneOf
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined_part
from dpverify.auditing.sampling.tabulating import from_array

_FEW = 64  # values that need no second sample to be ranked
_MOST_VALUES = 4096
_GLANCE = 512
_SEEN = 3  # times that a value must have come
_PARTS = 4  # of the draws, each counted by ratios that the others show


def values(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Single values and sets of values, of the output or of a part of it."""
    if _all_differ(name, seen):
        return
    both = joined_part(name, [seen.left, seen.right])
    aside = np.concatenate([seen.left.set_aside, seen.right.set_aside])
    coded = _coded(both.keys(name), aside)
    if coded is None:
        return
    codes, first = coded
    sides = codes[: seen.left.size], codes[seen.left.size :]
    counts = [_per_value(side, len(first)) for side in sides]
    for side in Side:
        i, merit = _best(goal, counts, (len(sides[0]), len(sides[1])), side)
        event = OneOf(feature=name, texts=_texts(both, name, first[[i]]))
        yield Proposal(event=event, favors=side, merit=merit)
        order, merit = _best_set(sides, len(first), goal, side)
        event = OneOf(feature=name, texts=_texts(both, name, first[order]))
        yield Proposal(event=event, favors=side, merit=merit)


def reachable(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Values that the first half of one side's draws has and the other side's does not.

    Noise from few random bits reaches few floats, and others from other data. [Mironov, CCS 2012]
    """
    first, second = seen.halves()
    for side in Side:
        known = first.on(side).ordered(name)
        own = np.setdiff1d(known[np.isfinite(known)], first.on(side.other).column(name))
        fresh = second.on(side).column(name), second.on(side.other).column(name)
        again = [np.isin(values, own) for values in fresh]
        hits, others = (np.array([float(np.count_nonzero(found))]) for found in again)
        if hits[0] < _SEEN:
            continue
        merit = goal.merit(hits, len(fresh[0]), others, len(fresh[1]))
        texts = from_array(own[:_MOST_VALUES]).text(WHOLE)
        event = OneOf(feature=name, texts=tuple(map(str, texts)))
        yield Proposal(event=event, favors=side, merit=float(merit[0]))


def _all_differ(name: str, seen: Draws) -> bool:
    """Whether no value comes twice among the first draws, so that none is worth counting."""
    both = seen.left, seen.right
    if name == WHOLE and all(side.shape == () for side in both):  # numbers
        numbers = np.sort(np.concatenate([side.column(name)[:_GLANCE] for side in both]))
        return bool((numbers[1:] != numbers[:-1]).all()) and not np.isnan(numbers[-2:]).all()
    if name == WHOLE and both[0].shape and both[0].shape == both[1].shape:
        keys = np.sort(np.concatenate([side.keys(name)[:_GLANCE] for side in both]))
    else:
        keys = np.sort(joined_part(name, both, _GLANCE).keys(name))
    return bool((keys[1:] != keys[:-1]).all())


def _coded(keys: NDArray[np.uint64], aside: Mask) -> tuple[Ints, Ints] | None:
    """A code for each draw, and where each code comes first; None if there is nothing to code.

    Values that hardly ever came, and draws that are set aside, share one last code, which has no
    place in the second list.
    """
    _, first, codes, totals = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    kept = np.flatnonzero((totals >= _SEEN) & ~aside[first])[:_MOST_VALUES]
    if len(totals) < 2 or not kept.size:
        return None
    rank = np.full(len(totals), len(kept))
    rank[kept] = np.arange(len(kept))
    return np.where(aside, len(kept), rank[codes]), first[kept]


def _per_value(codes: Ints, number: int) -> Floats:
    return np.bincount(codes, minlength=number)[:number].astype(np.float64)


def _best_set(sides: tuple[Ints, Ints], number: int, goal: Goal, side: Side) -> tuple[Ints, float]:
    """The best set of values, when values are added in the order of their likelihood ratio."""
    if number > _FEW:
        return _pooled(sides, number, goal, side)
    counts = [_per_value(codes, number) for codes in sides]
    order = np.argsort(-_ratios(counts, side), kind="stable")
    i, merit = _best(goal, [np.cumsum(c[order]) for c in counts], _sizes(sides), side)
    return order[: i + 1], merit


def _pooled(sides: tuple[Ints, Ints], number: int, goal: Goal, side: Side) -> tuple[Ints, float]:
    """The best set where values are many and rare: how many to take is cross-validated.

    Ratios that are estimated from few draws flatter what they rank first. So how many values to
    take is counted on draws that did not rank them, part by part; the ranking itself is that of
    all draws.
    """
    cut = [np.arange(_PARTS + 1) * len(codes) // _PARTS for codes in sides]
    parts = [
        [_per_value(codes[a:b], number) for codes, (a, b) in zip(sides, ends, strict=True)]
        for ends in zip(*(pairwise(ends) for ends in cut), strict=True)
    ]
    whole = [np.sum(one, axis=0) for one in zip(*parts, strict=True)]
    counts = np.zeros((2, number))
    for part in parts:
        rest = [one - own for one, own in zip(whole, part, strict=True)]
        order = np.argsort(-_ratios(rest, side), kind="stable")
        counts += [np.cumsum(own[order]) for own in part]
    i, merit = _best(goal, list(counts), _sizes(sides), side)
    return np.argsort(-_ratios(whole, side), kind="stable")[: i + 1], merit


def _sizes(sides: tuple[Ints, Ints]) -> tuple[int, int]:
    return len(sides[0]), len(sides[1])


def _ratios(counts: Sequence[Floats], side: Side) -> Floats:
    """The estimated log likelihood ratio of every value, shrunk towards 0 for rare ones."""
    favored, other = counts[side.value], counts[side.other.value]
    result: Floats = np.log((favored + 0.5) / (other + 0.5))
    return result


def _texts(both: Outputs, name: str, where: Ints) -> tuple[str, ...]:
    return tuple(str(t) for t in both.pick(where).text(name))


def _best(
    goal: Goal, counts: Sequence[Floats], sizes: tuple[int, int], side: Side
) -> tuple[int, float]:
    merits = goal.merit(
        counts[side.value], sizes[side.value], counts[side.other.value], sizes[side.other.value]
    )
    i = int(np.argmax(merits))
    return i, float(merits[i])
