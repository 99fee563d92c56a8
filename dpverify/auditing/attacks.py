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

from dpverify.auditing.classifiers import boosted, logistic
from dpverify.auditing.cuts import intervals, thresholds
from dpverify.auditing.derived import BITS, SUMMARIES
from dpverify.auditing.draws import Confirm, Draws, Explore, Proposal
from dpverify.auditing.events import Between, Event, Linear, Trees
from dpverify.auditing.goals import Goal
from dpverify.auditing.outputs import WHOLE, Outputs
from dpverify.auditing.sampling import LOSS, Side
from dpverify.auditing.sets import reachable, values

__all__ = ["Confirm", "Draws", "Explore", "Families", "Proposal", "has_learners", "merit_of"]
__all__ += ["intervals", "numeric_features", "propose", "reachable", "thresholds", "values"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Families:
    """Which families of events are tried."""

    bits: bool = False
    classifiers: bool = True
    only_bits: bool = False


_SCORE = "score"  # a column, for as long as its cuts are chosen

Learner: TypeAlias = Callable[[Outputs, Outputs, Sequence[str]], Linear | Trees | None]
Family: TypeAlias = Callable[[Draws, Goal], Iterable[Proposal]]


def propose(seen: Explore, goal: Goal, families: Families) -> dict[Side, Proposal]:
    """The best event for each side that it may favor.

    The larger a family, the more its best event flatters it. So each proposes from one half of
    what was seen and is counted on the other, both ways; the family that counts best then
    proposes from all. Classifiers, which are slow, are learned on one half; their cuts are then
    chosen and counted within the other.
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
    """Cuts of a score that was learned on one half of the draws, like any family on the other."""
    fit, cut = seen.halves()
    score = learn(fit.left, fit.right, names)
    if score is None:
        return
    scored = Draws(*(side.with_column(_SCORE, score.score(side)) for side in (cut.left, cut.right)))
    family = partial(thresholds, _SCORE)
    found = _best_of(family, scored, goal)
    for side, merit in _cross_counted(family, scored.halves(), goal).items():
        if side in found:
            yield replace(found[side], event=_of_score(found[side].event, score), merit=merit)


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
    parts = [name for name in names if name.startswith(f"{WHOLE}[")]
    return names + ([f"{f}({WHOLE})" for f in SUMMARIES] if len(parts) > 1 else [])


def _base_columns(seen: Explore) -> list[str]:
    names = dict.fromkeys([*seen.left.columns, *seen.right.columns])
    return [name for name in names if name.startswith(WHOLE)]
