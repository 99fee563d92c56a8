"""Attacks: procedures that look at past draws and propose the most promising event.

Each family reduces to one scan: order the outputs by some score, and choose where to cut. Which
cut is best is a matter of the goal. Families that fit many numbers (sets of values, classifiers)
fit on one part of the past and cut on another, so as not to be fooled by their own fit; soundness
does not depend on it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NewType, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.auditing.classifiers import boosted, logistic
from dpverify.auditing.derived import BITS, SUMMARIES
from dpverify.auditing.events import Between, Event, Linear, OneOf, Trees
from dpverify.auditing.goals import Floats, Goal
from dpverify.auditing.outputs import WHOLE, Outputs, from_array, joined
from dpverify.auditing.sampling import LOSS, Side

Ints: TypeAlias = NDArray[np.int64]

_CUTS = 256
_BINS = 40
_FEW = 64  # values that need no second sample to be ranked
_MOST_VALUES = 4096
_GLANCE = 512
_SEEN = 3  # times that a value must have come


@dataclass(frozen=True, slots=True)
class Draws:
    """Outputs on both sides of a pair."""

    left: Outputs
    right: Outputs

    def on(self, side: Side) -> Outputs:
        return self.left if side is Side.LEFT else self.right

    def halves(self) -> tuple["Draws", "Draws"]:
        return self.split(max(self.left.size, self.right.size))

    def split(self, most: int) -> tuple["Draws", "Draws"]:
        """The first half, but no more than `most` draws of it, and the rest."""
        a, b = min(self.left.size // 2, most), min(self.right.size // 2, most)
        first = Draws(self.left.between(0, a), self.right.between(0, b))
        return first, Draws(
            self.left.between(a, self.left.size), self.right.between(b, self.right.size)
        )


Explore = NewType("Explore", Draws)
"""Draws that events may be chosen from."""
Confirm = NewType("Confirm", Draws)
"""Draws that events are judged on, and that nothing was chosen from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An event, the side on which it is thought too likely, and how promising it looks."""

    event: Event
    favors: Side
    merit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Families:
    """Which families of events are tried."""

    bits: bool = False
    classifiers: bool = True
    only_bits: bool = False


Learner: TypeAlias = Callable[[Outputs, Outputs, Sequence[str]], Linear | Trees | None]
Family: TypeAlias = Callable[[Draws, Goal], Iterable[Proposal]]


def propose(seen: Explore, goal: Goal, families: Families) -> dict[Side, Proposal]:
    """The best event for each side that it may favor.

    The larger a family, the more its best event flatters it. So each proposes from one half of
    what was seen and is counted on the other, both ways; the family that counts best then
    proposes from all. Classifiers, which are slow, are learned on one half and cut on the other.
    """
    halves = seen.halves()
    best: dict[Side, tuple[float, Family | Proposal]] = {}
    for family in _families(seen, families):
        for side, merit in _cross_counted(family, halves, goal).items():
            if side not in best or merit > best[side][0]:
                best[side] = (merit, family)
    for learn, names in _learners(seen, families):
        for proposal in _classified(learn, names, seen, goal):
            if proposal.favors not in best or proposal.merit > best[proposal.favors][0]:
                best[proposal.favors] = (proposal.merit, proposal)
    found: dict[Side, Proposal] = {}
    for side, (merit, winner) in best.items():
        if isinstance(winner, Proposal):
            found[side] = winner
        else:
            again = _best_of(winner, seen, goal)
            if side in again:
                found[side] = replace(again[side], merit=merit)
    return found


def _cross_counted(family: Family, halves: tuple[Draws, Draws], goal: Goal) -> dict[Side, float]:
    """The merit, for each side, of a family's proposals counted where they were not chosen."""
    found = [_best_of(family, half, goal) for half in halves]
    merits = {}
    for side in Side:
        if all(side in proposals for proposals in found):
            hits, trials, other, other_trials = np.sum(
                [
                    _tally(proposals[side].event, side, half)
                    for proposals, half in zip(found, reversed(halves), strict=True)
                ],
                axis=0,
            )
            merit = goal.merit(np.array([hits]), int(trials), np.array([other]), int(other_trials))
            merits[side] = float(merit[0])
    return merits


def _tally(event: Event, favors: Side, draws: Draws) -> tuple[float, int, float, int]:
    favored, other = draws.on(favors), draws.on(favors.other)
    hits, others = (float(np.count_nonzero(event.happens(side))) for side in (favored, other))
    return hits, favored.size, others, other.size


def merit_of(event: Event, favors: Side, draws: Draws, goal: Goal) -> float:
    """How promising the event looks on these draws."""
    hits, trials, other, other_trials = _tally(event, favors, draws)
    return float(goal.merit(np.array([hits]), trials, np.array([other]), other_trials)[0])


def _best_of(family: Family, draws: Draws, goal: Goal) -> dict[Side, Proposal]:
    best: dict[Side, Proposal] = {}
    for proposal in family(draws, goal):
        known = best.get(proposal.favors)
        if known is None or proposal.merit > known.merit:
            best[proposal.favors] = proposal
    return best


def _families(seen: Explore, wanted: Families) -> list[Family]:
    found: list[Family] = []
    if not wanted.only_bits:
        names = numeric_features(seen)
        found += [partial(thresholds, name) for name in names]
        if LOSS not in names:
            found += [partial(intervals, name) for name in names]
        parts = dict.fromkeys([WHOLE, *seen.left.texts, *seen.right.texts])
        found += [partial(values, name) for name in parts]
    if wanted.bits or wanted.only_bits:
        bits = _bit_features(seen)
        found += [partial(thresholds, name) for name in bits]
        found += [partial(values, name) for name in bits if name.startswith("low_bits")]
        found += [partial(reachable, name) for name in _base_columns(seen)[:4]]
    return found


def has_learners(seen: Draws) -> bool:
    """Whether outputs have several numbers, so that classifiers have something to learn."""
    return LOSS not in seen.left.columns and len(numeric_features(seen)) > 1


def _learners(seen: Explore, wanted: Families) -> list[tuple[Learner, list[str]]]:
    names = numeric_features(seen)
    found: list[tuple[Learner, list[str]]] = []
    if not wanted.classifiers:
        return found
    if LOSS not in names and len(names) > 1 and not wanted.only_bits:
        found += [(logistic, names), (boosted, names)]
    if wanted.bits and _bit_features(seen):
        found.append((boosted, _bit_features(seen)))
    return found


def _bit_features(seen: Explore) -> list[str]:
    return [f"{function}({name})" for name in _base_columns(seen)[:4] for function in BITS]


def _classified(learn: Learner, names: list[str], seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Cuts of a score that was learned on one part of the draws, chosen on the other."""
    fit, cut = seen.halves()
    score = learn(fit.left, fit.right, names)
    if score is not None:
        yield from _cut_score(cut, score, goal)


def numeric_features(seen: Draws) -> list[str]:
    """Columns of either side, and summaries of them where outputs have several parts."""
    names = list(dict.fromkeys([*seen.left.columns, *seen.right.columns]))
    parts = [name for name in names if name.startswith(f"{WHOLE}[")]
    return names + ([f"{f}({WHOLE})" for f in SUMMARIES] if len(parts) > 1 else [])


def _base_columns(seen: Explore) -> list[str]:
    names = dict.fromkeys([*seen.left.columns, *seen.right.columns])
    return [name for name in names if name.startswith(WHOLE)]


def thresholds(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Events feature ≤ t and feature ≥ t, for all t worth trying."""
    ordered = seen.left.ordered(name), seen.right.ordered(name)
    yield from _scan(ordered, (seen.left.size, seen.right.size), name, goal)


def _scan(
    ordered: tuple[Floats, Floats], sizes: tuple[int, int], name: str, goal: Goal
) -> Iterator[Proposal]:
    pooled = _merged(ordered)
    if not pooled.size or pooled[0] == pooled[-1]:
        return
    cuts = _distinct(pooled[_spread(len(pooled))])
    below = [np.searchsorted(o, cuts, side="right") for o in ordered]
    above = [len(o) - np.searchsorted(o, cuts, side="left") for o in ordered]
    counts = [np.concatenate(pair).astype(np.float64) for pair in zip(below, above, strict=True)]
    for side, merits in _merits(goal, counts, sizes).items():
        for first, upper in ((0, False), (len(cuts), True)):
            i = int(np.argmax(merits[first : first + len(cuts)]))
            cut = float(cuts[i])
            event = Between(feature=name, low=cut) if upper else Between(feature=name, high=cut)
            yield Proposal(event=event, favors=side, merit=float(merits[first + i]))


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


def values(name: str, seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Single values and sets of values of the output or a part of it."""
    if _all_differ(name, seen):
        return
    both = joined([seen.left, seen.right])
    coded = _coded(both.keys(name))
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
    heads = joined([side.between(0, min(side.size, _GLANCE)) for side in (seen.left, seen.right)])
    keys = np.sort(heads.keys(name))
    return bool((keys[1:] != keys[:-1]).all())


def _coded(keys: NDArray[np.uint64]) -> tuple[Ints, Ints] | None:
    """A code for each draw, and where each code comes first; None if there is nothing to code.

    Values that hardly ever came share one last code, which has no place in the second list.
    """
    _, first, codes, totals = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    kept = np.flatnonzero(totals >= _SEEN)[:_MOST_VALUES]
    if len(totals) < 2 or not kept.size:
        return None
    rank = np.full(len(totals), len(kept))
    rank[kept] = np.arange(len(kept))
    return rank[codes], first[kept]


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


def _cut_score(cut: Draws, score: Linear | Trees, goal: Goal) -> Iterator[Proposal]:
    """Events score ≥ t for the left side, and for the right with all signs changed."""
    values = score.score(cut.left), score.score(cut.right)
    for side, signed in ((Side.LEFT, score), (Side.RIGHT, score.negated())):
        sign = 1.0 if side is Side.LEFT else -1.0
        ordered = np.sort(sign * values[0]), np.sort(sign * values[1])
        for found in _scan(ordered, (cut.left.size, cut.right.size), "", goal):
            if (
                found.favors is side
                and isinstance(found.event, Between)
                and found.event.high == np.inf
            ):
                yield replace(found, event=replace(signed, bound=found.event.low))


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


def _best(
    goal: Goal, counts: Sequence[Floats], sizes: tuple[int, int], side: Side
) -> tuple[int, float]:
    merits = goal.merit(
        counts[side.value], sizes[side.value], counts[side.other.value], sizes[side.other.value]
    )
    i = int(np.argmax(merits))
    return i, float(merits[i])


@lru_cache(maxsize=256)
def _spread(size: int) -> Ints:
    """Ranks to cut at: all of them if few; else evenly spread, and denser towards both ends."""
    if size <= _CUTS:
        return np.arange(size)
    tail = np.unique(np.geomspace(1, size / 2, _CUTS // 4).astype(np.int64)) - 1
    even = np.linspace(0, size - 1, _CUTS).astype(np.int64)
    return np.unique(np.concatenate([tail, even, size - 1 - tail]))
