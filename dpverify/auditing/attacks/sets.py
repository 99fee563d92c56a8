"""Events that name values: single ones, sets of them, and those that only one side reaches."""

from collections.abc import Iterator, Sequence

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


def values(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Single values and sets of values of the output or a part of it."""
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
    """Values that one side has shown in its first half and the other has not.

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
    sides = [side.between(0, min(side.size, _GLANCE)) for side in (seen.left, seen.right)]
    heads = joined_part(name, sides)
    keys = np.sort(heads.keys(name))
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
    """Codes of the best set among those that collect values in the order of their ratio.

    If there are many values they are ordered on one half of the draws and cut on the other.
    """
    halves = [0 if number <= _FEW else len(codes) // 2 for codes in sides]
    cut = [_per_value(codes[half:], number) for codes, half in zip(sides, halves, strict=True)]
    ranked = (
        cut
        if number <= _FEW
        else [_per_value(codes[:half], number) for codes, half in zip(sides, halves, strict=True)]
    )
    order = _ranking(ranked, side)
    sizes = len(sides[0]) - halves[0], len(sides[1]) - halves[1]
    i, merit = _best(goal, [np.cumsum(c[order]) for c in cut], sizes, side)
    return order[: i + 1], merit


def _ranking(counts: Sequence[Floats], side: Side) -> Ints:
    """Values by their estimated ratio, the most telling first; rare ones lean to 1."""
    favored, other = counts[side.value], counts[side.other.value]
    return np.argsort(-np.log((favored + 0.5) / (other + 0.5)), kind="stable")


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
