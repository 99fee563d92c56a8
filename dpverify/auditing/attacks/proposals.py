"""Attacks: each looks at past draws and proposes the event that tells the two sides apart best.

An attack offers *families*: functions that propose events from draws, for instance all cuts of one
number. The larger a family, the more its best event flatters it. So each proposes from one half of
what was seen and is counted on the other, both ways; the family that counts best then proposes from
all. Whatever is proposed is judged on fresh draws: soundness does not depend on attacks.

To add one, subclass `Attack`, write `name` and `families`, and `dpv.register` an instance. A file
of this folder that does so is found by being here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import ClassVar, Self, TypeAlias

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.attacks.classifiers import LEAST_TO_LEARN, boosted, logistic, mean_difference
from dpverify.auditing.attacks.cuts import (
    can_be_paired,
    intervals,
    most_linked,
    most_telling,
    scanned,
    thresholds,
)
from dpverify.auditing.attacks.draws import (
    MANY,
    WITH_BITS,
    Bound,
    Draws,
    Explore,
    Goal,
    Proposal,
    base_columns,
    bit_features,
    is_part,
    numeric_features,
    searched_features,
    tally,
)
from dpverify.auditing.attacks.events import Between, Event, Linear, Trees
from dpverify.auditing.attacks.sets import reachable, values
from dpverify.auditing.sampling.drawing import LOSS, Side
from dpverify.auditing.sampling.outputs import ODD, TYPE, WHOLE, Outputs
from dpverify.errors import InvalidParameter
from dpverify.registry import Registry

_MANY_TO_LEARN = 256
_NUMBERS_SEARCHED = 1 << 22  # of one side
_LEAST_SEARCHED = 1_024  # draws
_TREES_SEE = 48
_PAIRS_SEEN = 8
_PAIRS = "boosted trees on pairs of numbers"
_SCORE = "score"  # a column, for as long as its cuts are chosen
_RATIO, _CUTS = "likelihood ratio", "thresholds and intervals"
_VALUES, _BITS = "single values and sets of values", "bits of floats"

Learner: TypeAlias = Callable[[Outputs, Outputs, Sequence[str]], Linear | Trees | None]
Family: TypeAlias = Callable[[Draws, Goal], Iterable[Proposal]]
Cut: TypeAlias = Callable[[str, Draws, Goal], Iterable[Proposal]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Families:
    """Which kinds of attacks the caller wants."""

    bits: bool = False
    classifiers: bool = True
    only_bits: bool = False


@dataclass(frozen=True, slots=True)
class Prospect:
    """The merit of a family's best event, and a function that returns the event."""

    favors: Side
    merit: float
    proposal: Callable[[], Proposal | None]


class Attack(ABC):
    """A way to search for events; verdicts give its `name` as what was tried."""

    name: str
    looks_at_all = False  # draws that are held; else no more of long outputs than is cheap

    def __new__(cls, *_args: object, **_options: object) -> Self:
        """Raise if a subclass does not define all that it must, and name what is missing."""
        missing = sorted(cls.__abstractmethods__)
        if not {"name", "__dataclass_fields__"} & set(dir(cls)):
            missing.append("name")
        if missing:
            raise InvalidParameter(f"attack {cls.__name__} must define {' and '.join(missing)}")
        return super().__new__(cls)

    @abstractmethod
    def families(self, seen: Draws) -> Iterable[Family]:
        """The families of events to search in such draws; each proposes its best event."""

    def is_tried(self, wanted: Families) -> bool:
        """Whether the caller wants this attack; by default, unless only bits are wanted."""
        return not wanted.only_bits

    def told(self, seen: Draws) -> set[str]:
        """What the attack searches in such draws, in words."""
        return {self.name} if self.families(seen) else set()

    def found(self, seen: Draws, halves: tuple[Draws, Draws], goal: Goal) -> Iterator[Prospect]:
        """Each family's best event per side; its merit is from draws that did not choose it."""
        for family in self.families(seen):
            for side, merit in _cross_counted(family, halves, goal).items():
                yield Prospect(side, merit, partial(_again, family, seen, goal, side, merit))


class Scan(Attack):
    """For outputs of many numbers: thresholds on summaries, and a quick scan of all others."""

    name = "a scan of all numbers of an output"

    def families(self, seen: Draws) -> list[Family]:
        names = numeric_features(seen)
        kept = set(searched_features(seen))
        many = [name for name in names if name not in kept]
        return [partial(scanned, many)] if many else []

    def told(self, seen: Draws) -> set[str]:
        number = len(numeric_features(seen))
        return {f"a scan of all {number:,} numbers of an output"} if number > MANY else set()


class NumberCuts(Attack):
    """Thresholds and intervals of single numbers, or of the likelihood ratio where it is known."""

    name = _CUTS

    def families(self, seen: Draws) -> list[Family]:
        names = searched_features(seen)
        found: list[Family] = [partial(thresholds, name) for name in names if not _of_text(name)]
        if LOSS not in seen.left.columns and LOSS not in seen.right.columns:
            found += [partial(intervals, name) for name in names if not _of_text(name)]
        return found

    def told(self, seen: Draws) -> set[str]:
        names = numeric_features(seen)
        return ({_CUTS} if names else set()) | ({_RATIO} if LOSS in names else set())


class Values(Attack):
    """Single values and sets of values of the output and of its parts."""

    name = _VALUES

    def families(self, seen: Draws) -> list[Family]:
        parts = list(dict.fromkeys([WHOLE, *seen.left.texts, *seen.right.texts]))
        found: list[Family] = [partial(values, name) for name in parts[:MANY]]
        return found + ([partial(_values_of_any, parts[MANY:])] if len(parts) > MANY else [])


class TextCuts(Attack):
    """Thresholds on the characters of texts and on the numbers written in them.

    After all others, since of two events that promise the same the first is taken.
    """

    name = "thresholds and intervals in texts"

    def families(self, seen: Draws) -> list[Family]:
        names = list(filter(_of_text, searched_features(seen)))
        return [partial(cut, name) for cut in (thresholds, intervals) for name in names]

    def told(self, seen: Draws) -> set[str]:
        del seen
        return set()  # `NumberCuts` tells it


class FloatBits(Attack):
    """Events on the bits of floats, and on how numbers are represented."""

    name = _BITS

    def is_tried(self, wanted: Families) -> bool:
        return wanted.bits or wanted.only_bits

    def families(self, seen: Draws) -> list[Family]:
        bits, more = bit_features(seen)
        found: list[Family] = [partial(thresholds, name) for name in bits]
        found += [partial(values, name) for name in bits if name.startswith("low_bits")]
        found += [partial(reachable, name) for name in base_columns(seen)[:WITH_BITS]]
        found += [partial(values, name) for name in (TYPE, ODD)]
        return found + ([partial(scanned, more)] if more else [])


@dataclass(frozen=True)
class Learned(Attack):
    """Thresholds on a learned score, for outputs of few numbers or (`many`) of many.

    Learning is slow, so it is done on one half of the draws; the cuts are chosen and counted within
    the other.
    """

    name: str
    learn: Learner
    many: bool = False
    cut: ClassVar[Cut] = staticmethod(thresholds)

    def is_tried(self, wanted: Families) -> bool:
        return wanted.classifiers and not wanted.only_bits

    def features(self, seen: Draws) -> list[str]:
        """The numbers that the score may use."""
        names = numeric_features(seen)
        fits = len(names) > 1 and (len(names) > _MANY_TO_LEARN) is self.many
        return names if fits and LOSS not in names else []

    def told(self, seen: Draws) -> set[str]:
        enough = min(seen.left.size, seen.right.size) // 2 >= LEAST_TO_LEARN
        return {self.name} if enough and self.features(seen) else set()

    def families(self, seen: Draws) -> list[Family]:
        """No families, as the learned score is the only candidate."""
        del seen
        return []

    def found(self, seen: Draws, halves: tuple[Draws, Draws], goal: Goal) -> Iterator[Prospect]:
        names = self.features(seen)
        fit, cut = halves
        score = self.learn(fit.left, fit.right, names) if names else None
        if score is None:
            return
        scored = Draws(
            *(side.with_column(_SCORE, _finite(score, side)) for side in (cut.left, cut.right))
        )
        family = partial(type(self).cut, _SCORE)
        best = _best_of(family, scored, goal)
        for side, merit in _cross_counted(family, scored.halves(), goal).items():
            if side in best:
                event = _of_score(best[side].event, score)
                made = replace(best[side], event=event, merit=merit)
                yield Prospect(side, merit, partial(replace, made))


class Means(Learned):
    """Thresholds on differences of means, which cost little and gain from many draws."""

    looks_at_all = True

    def features(self, seen: Draws) -> list[str]:
        names = super().features(seen)
        known = {*seen.left.columns, *seen.right.columns}
        return [name for name in names if name in known]


class LearnedBits(Learned):
    """Thresholds on a score learned from the bits of floats."""

    def is_tried(self, wanted: Families) -> bool:
        return wanted.classifiers and wanted.bits

    def features(self, seen: Draws) -> list[str]:
        return bit_features(seen)[0]

    def told(self, seen: Draws) -> set[str]:
        del seen
        return set()  # `FloatBits` tells it


def _few_boosted(left: Outputs, right: Outputs, names: Sequence[str]) -> Trees | None:
    """Boosted trees on the numbers that tell these draws apart best."""
    if min(left.size, right.size) < LEAST_TO_LEARN:
        return None
    goal = Bound(delta=0.0, z=1.0, planned=left.size)
    return boosted(left, right, most_telling(names, Draws(left, right), goal, _TREES_SEE))


class Pairs(Means):
    """Trees on pairs of numbers that tell the sides apart together, though perhaps not alone."""

    looks_at_all = False

    def features(self, seen: Draws) -> list[str]:
        names = list(filter(is_part, super().features(seen)))
        return names if len(names) > 1 and can_be_paired(len(names)) else []


def _pairs_boosted(left: Outputs, right: Outputs, names: Sequence[str]) -> Trees | None:
    if min(left.size, right.size) < LEAST_TO_LEARN:
        return None
    return boosted(left, right, most_linked(names, Draws(left, right), _PAIRS_SEEN))


def unexamined_relations(seen: Draws, tried: frozenset[str]) -> str:
    """A sentence on relations between numbers that no event covers; empty where trees see all."""
    number = sum(map(is_part, base_columns(seen)))
    if number <= _MANY_TO_LEARN:
        return ""
    fewest = "three" if _PAIRS in tried else "two"
    return f"relations among {fewest} or more of {number:,} numbers, but for sums and extremes"


_OWN: tuple[Attack, ...] = (
    NumberCuts(),
    Values(),
    Scan(),
    TextCuts(),
    FloatBits(),
    Learned("logistic regression", logistic),
    Learned("boosted trees", boosted),
    Means("differences of means", mean_difference, many=True),
    Learned("boosted trees on the most telling numbers", _few_boosted, many=True),
    Pairs(_PAIRS, _pairs_boosted, many=True),
    LearnedBits("boosted trees on bits", boosted),
)
ATTACKS: Registry[Attack] = Registry("attack", needs=("name", "families"))
"""All attacks, in the order in which they are tried; of two equal events the first is taken."""
for _attack in _OWN:
    ATTACKS.add(_attack)
for _file in iter_modules([str(Path(__file__).parent)]):  # those that register themselves
    import_module(f"dpverify.auditing.attacks.{_file.name}")


def propose(seen: Explore, goal: Goal, families: Families) -> dict[Side, Proposal]:
    """The best event for each of the two sides that it may favor; none from a single draw."""
    if seen.left.size < 2:
        return {}
    fewer = seen.latest(_looked_at(seen))
    _derive(fewer)
    few = fewer.halves()
    halves = {False: few, True: few if fewer is seen else seen.halves()}
    best: dict[Side, Prospect] = {}
    for attack in ATTACKS:
        if attack.is_tried(families):
            looked = seen if attack.looks_at_all else fewer
            for found in attack.found(looked, halves[attack.looks_at_all], goal):
                if found.favors not in best or found.merit > best[found.favors].merit:
                    best[found.favors] = found
    proposals = {side: found.proposal() for side, found in best.items()}
    return {side: proposal for side, proposal in proposals.items() if proposal is not None}


def _looked_at(seen: Draws) -> int:
    """How many draws a side to search; fewer if outputs are long."""
    width = max(len(seen.left.columns), len(seen.right.columns), 1)
    return max(_NUMBERS_SEARCHED // width, _LEAST_SEARCHED)


def _derive(seen: Draws) -> None:
    """Compute all features before splitting, so that both halves share them."""
    for outputs in (seen.left, seen.right):
        for name in set(numeric_features(seen)).difference(outputs.columns):
            outputs.column(name)
        if outputs.shape:
            outputs.keys(WHOLE)


def _cross_counted(family: Family, halves: tuple[Draws, Draws], goal: Goal) -> dict[Side, float]:
    """The merit for each side if each half's best event is counted on the other half."""
    found = [_best_of(family, half, goal) for half in halves]
    merits = {}
    for side in Side:
        if all(side in proposals for proposals in found):
            hits, trials, other, other_trials = np.sum(
                [
                    tally(proposals[side].event, side, half)
                    for proposals, half in zip(found, reversed(halves), strict=True)
                ],
                axis=0,
            )
            merit = goal.merit(np.array([hits]), int(trials), np.array([other]), int(other_trials))
            merits[side] = float(merit[0])
    return merits


def _again(family: Family, seen: Draws, goal: Goal, side: Side, merit: float) -> Proposal | None:
    """The family's event chosen from all draws, with the merit that was measured on halves."""
    found = _best_of(family, seen, goal)
    return replace(found[side], merit=merit) if side in found else None


def _best_of(family: Family, draws: Draws, goal: Goal) -> dict[Side, Proposal]:
    best: dict[Side, Proposal] = {}
    for proposal in family(draws, goal):
        known = best.get(proposal.favors)
        if known is None or proposal.merit > known.merit:
            best[proposal.favors] = proposal
    return best


def described(seen: Draws, wanted: Families) -> set[str]:
    """What these attacks search in such draws, in words."""
    return set().union(*(attack.told(seen) for attack in ATTACKS if attack.is_tried(wanted)))


def in_order(tried: frozenset[str]) -> tuple[str, ...]:
    """What was tried, in the order in which verdicts print it."""
    learned = [attack.name for attack in ATTACKS if isinstance(attack, Learned)]
    known = [_RATIO, _CUTS, _VALUES, *learned]
    others = sorted(tried - {*known, _BITS})
    return (*(name for name in known if name in tried), *others, *({_BITS} & tried))


def has_learners(seen: Draws) -> bool:
    """Whether outputs have several numbers, so that a classifier can learn something."""
    several = len(seen.left.columns) > 1  # told without deriving anything
    return LOSS not in seen.left.columns and (several or len(numeric_features(seen)) > 1)


def _values_of_any(names: Sequence[str], seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Values of many parts as one family: only the best of them is counted on other draws."""
    for name in names:
        yield from values(name, seen, goal)


def _finite(score: Linear | Trees, side: Outputs) -> Floats:
    """The scores, with NaN for failures that the caller does not count: no cut counts them."""
    result: Floats = np.where(side.set_aside, np.nan, np.nan_to_num(score.score(side), nan=0.0))
    return result


def _of_score(event: Event, score: Linear | Trees) -> Event:
    """Turn a cut of the score's column into an event about outputs."""
    if not isinstance(event, Between):
        raise TypeError(f"{event!r} is no cut of a score")
    if event.high == np.inf:
        return replace(score, bound=event.low)
    if isinstance(score, Linear) and event.low > -np.inf:
        return replace(score, bound=event.low, high=event.high)
    return replace(score.negated(), bound=-event.high)


def _of_text(name: str) -> bool:
    return name.startswith(("ord(", "number "))
