"""Attacks: procedures that look at past draws and propose the most promising event.

Each family reduces to one scan: order the outputs by some score, and choose where to cut. Which
cut is best is a matter of the goal. Families that fit many numbers (sets of values, classifiers)
fit on one part of the past and cut on another, so as not to be fooled by their own fit; soundness
does not depend on it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.attacks.classifiers import LEAST_TO_LEARN, boosted, logistic, mean_difference
from dpverify.auditing.attacks.cuts import intervals, most_telling, scanned, thresholds
from dpverify.auditing.attacks.draws import Bound, Draws, Explore, Goal, Proposal
from dpverify.auditing.attacks.events import Between, Event, Linear, Trees
from dpverify.auditing.attacks.sets import reachable, values
from dpverify.auditing.sampling.drawing import LOSS, Side
from dpverify.auditing.sampling.features import BITS, PROJECTIONS, SUMMARIES
from dpverify.auditing.sampling.outputs import ODD, TYPE, WHOLE, Outputs


@dataclass(frozen=True, slots=True, kw_only=True)
class Families:
    """Which families of events are tried."""

    bits: bool = False
    classifiers: bool = True
    only_bits: bool = False


MANY = 72  # numbers of an output beyond which they are not searched one by one
_MANY_TO_LEARN = 256
_MANY_TO_SORT = 2_048
_TREES_SEE = 48
_WITH_BITS = 4  # numbers whose bits are searched one by one
_MOST_WITH_BITS = 1_024
_SCORE = "score"  # a column, for as long as its cuts are chosen
_RATIO, _CUTS = "likelihood ratio", "thresholds and intervals"
_VALUES, _BITS = "single values and sets of values", "bits of floats"

Learner: TypeAlias = Callable[[Outputs, Outputs, Sequence[str]], Linear | Trees | None]
Family: TypeAlias = Callable[[Draws, Goal], Iterable[Proposal]]


def propose(seen: Explore, goal: Goal, families: Families) -> dict[Side, Proposal]:
    """The best event for each side that it may favor.

    The larger a family, the more its best event flatters it. So each proposes from one half of
    what was seen and is counted on the other, both ways; the family that counts best then
    proposes from all. Classifiers, which are slow, are learned on one half; their cuts are then
    chosen and counted within the other.
    """
    _derive(seen)
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


def _derive(seen: Draws) -> None:
    """Find all features now: halves keep what was derived for the whole."""
    for outputs in (seen.left, seen.right):
        for name in numeric_features(seen):
            outputs.column(name)


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
        single, many = names[:MANY], names[MANY:]
        if many:  # by themselves those that sum up the output, and all others by a scan
            single = [name for name in names if not _is_part(name)][:MANY]
            many = [name for name in names if name not in set(single)]
            found.append(partial(scanned, many))
        of_texts = [name for name in single if name.startswith(("ord(", "number "))]
        single = [name for name in single if name not in set(of_texts)]
        found += [partial(thresholds, name) for name in single]
        if LOSS not in names:
            found += [partial(intervals, name) for name in single]
        parts = list(dict.fromkeys([WHOLE, *seen.left.texts, *seen.right.texts]))
        found += [partial(values, name) for name in parts[:MANY]]
        if len(parts) > MANY:
            found.append(partial(_values_of_any, parts[MANY:]))
        # Last, since of two events that promise the same the first is taken.
        found += [partial(cut, name) for cut in (thresholds, intervals) for name in of_texts]
    if wanted.bits or wanted.only_bits:
        bits, more = _bit_features(seen)
        found += [partial(thresholds, name) for name in bits]
        found += [partial(values, name) for name in bits if name.startswith("low_bits")]
        found += [partial(reachable, name) for name in _base_columns(seen)[:_WITH_BITS]]
        found += [partial(values, name) for name in (TYPE, ODD)]
        if more:
            found.append(partial(scanned, more))
    return found


def described(seen: Draws, wanted: Families) -> set[str]:
    """What is looked for in such draws, in words."""
    names, found = numeric_features(seen), {_VALUES}
    if names:
        found.add(_CUTS)
    if len(names) > MANY:
        found.add(f"a scan of all {len(names):,} numbers of an output")
    if LOSS in names:
        found.add(_RATIO)
    if wanted.bits:
        found.add(_BITS)
    if min(seen.left.size, seen.right.size) // 2 >= LEAST_TO_LEARN:
        found |= {_LEARNED[learn] for learn in _learners_for(names, wanted)}
    return found


def in_order(tried: frozenset[str]) -> tuple[str, ...]:
    """What was tried, in the order in which a reader should see it."""
    known = [_RATIO, _CUTS, _VALUES, *_LEARNED.values()]
    scans = sorted(tried - {*known, _BITS})
    return (*(name for name in known if name in tried), *scans, *({_BITS} & tried))


def has_learners(seen: Draws) -> bool:
    """Whether outputs have several numbers, so that classifiers have something to learn."""
    return LOSS not in seen.left.columns and len(numeric_features(seen)) > 1


def _learners(seen: Explore, wanted: Families) -> list[tuple[Learner, list[str]]]:
    names = numeric_features(seen)
    found: list[tuple[Learner, list[str]]] = []
    if not wanted.only_bits:
        found += [(learn, names) for learn in _learners_for(names, wanted)]
    bits, _ = _bit_features(seen)
    if wanted.classifiers and wanted.bits and bits:
        found.append((boosted, bits))
    return found


def _learners_for(names: list[str], wanted: Families) -> tuple[Learner, ...]:
    """All numbers at once where they are few; else their means, and trees on the best of them."""
    if not wanted.classifiers or LOSS in names or len(names) <= 1:
        return ()
    return (logistic, boosted) if len(names) <= _MANY_TO_LEARN else (mean_difference, _few_boosted)


def _few_boosted(left: Outputs, right: Outputs, names: Sequence[str]) -> Trees | None:
    """Boosted trees over the numbers that look most telling on these draws."""
    goal = Bound(delta=0.0, z=1.0, planned=left.size)
    return boosted(left, right, most_telling(names, Draws(left, right), goal, _TREES_SEE))


def _values_of_any(names: Sequence[str], seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Values of many parts, as one family: its best must prove itself on other draws."""
    for name in names:
        yield from values(name, seen, goal)


def _bit_features(seen: Explore) -> tuple[list[str], list[str]]:
    """Columns about the bits of the first numbers, and of those that only a scan looks at."""
    names = _base_columns(seen)
    first, more = (
        [f"{function}({name})" for name in part for function in BITS]
        for part in (names[:_WITH_BITS], names[_WITH_BITS:_MOST_WITH_BITS])
    )
    return first, more


def unexamined_bits(seen: Draws) -> str:
    """What of the bits no event is about, in words; empty if there is nothing."""
    number = len(_base_columns(seen))
    if number <= _MOST_WITH_BITS:
        return ""
    return f"the bits of all but the first {_MOST_WITH_BITS:,} of {number:,} numbers"


def _classified(learn: Learner, names: list[str], seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Cuts of a score that was learned on one half of the draws, like any family on the other."""
    fit, cut = seen.halves()
    score = learn(fit.left, fit.right, names)
    if score is None:
        return
    scored = Draws(
        *(side.with_column(_SCORE, _finite(score, side)) for side in (cut.left, cut.right))
    )
    family = partial(thresholds, _SCORE)
    found = _best_of(family, scored, goal)
    for side, merit in _cross_counted(family, scored.halves(), goal).items():
        if side in found:
            yield replace(found[side], event=_of_score(found[side].event, score), merit=merit)


def _finite(score: Linear | Trees, side: Outputs) -> Floats:
    result: Floats = np.nan_to_num(score.score(side), nan=0.0)
    return result


def _of_score(event: Event, score: Linear | Trees) -> Event:
    """The event about the column of scores, as one about outputs."""
    if not isinstance(event, Between):
        raise TypeError(f"{event!r} is no cut of a score")
    if event.high == np.inf:
        return replace(score, bound=event.low)
    return replace(score.negated(), bound=-event.high)


def numeric_features(seen: Draws) -> list[str]:
    """Columns of either side, and summaries of them where outputs have several parts."""
    names = list(dict.fromkeys([*seen.left.columns, *seen.right.columns]))
    parts = sum(map(_is_part, names))
    summaries = [f for f in SUMMARIES if parts <= _MANY_TO_SORT or f not in {"gap", "jump"}]
    found = names + ([f"{f}({WHOLE})" for f in summaries] if parts > 1 else [])
    return found + ([f"{f}({WHOLE})" for f in PROJECTIONS] if parts > MANY else [])


def _is_part(name: str) -> bool:
    return name.startswith((f"{WHOLE}[", f"{WHOLE}."))


def _base_columns(seen: Draws) -> list[str]:
    names = dict.fromkeys([*seen.left.columns, *seen.right.columns])
    return [name for name in names if name.startswith(WHOLE)]


_LEARNED: dict[Learner, str] = {
    logistic: "logistic regression",
    boosted: "boosted trees",
    mean_difference: "differences of means",
    _few_boosted: "boosted trees on the most telling numbers",
}
