"""The cost of a replay's differences: releases by line, and brackets around ε and δ.

By frozen replay every difference is a pair of conditional laws, given all that was released before,
so the composition of the pairs bounds the loss of the whole transcript (`adaptive-domination`), and
with it the loss of any output that is computed from it (`post-processing`).
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from dpverify.accounting.accountant import Accountant
from dpverify.guarantees import Bracket
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.evidence.outcomes import drawn, largest, paid, tossed, turned
from dpverify.tracing.evidence.releases import ROUNDING, Item, Release
from dpverify.tracing.evidence.shifts import moved
from dpverify.tracing.recording.events import Coin, Difference, LargestOf, Move, Odds, Paid
from dpverify.tracing.recording.laws import NOTHING, Cost

Upper = tuple[Pair, ...]
"""Pairs whose composition is an upper bound."""


@dataclass(frozen=True)
class Spending:
    """The total cost of a transcript.

    `together` are pairs that bound other transcripts as well, where what is spent depends on noisy
    values: then these give ε at a δ, and nothing is known from below.
    """

    items: tuple[Item, ...] = field(default=())
    together: Upper = ()

    @property
    def releases(self) -> tuple[Release, ...]:
        return tuple(item.release for item in self.items)

    @property
    def exact(self) -> bool:
        """Whether the pairs are exactly what was released, not only bounds on it."""
        return all(cost.exact for item in self.items for cost in item.judged)

    @property
    def realized(self) -> float:
        """ln p/p′ of the transcript itself."""
        return math.fsum(item.release.realized for item in self.items)

    @cached_property
    def above(self) -> tuple[Upper, ...]:
        """Upper bounds on the cost of what was seen; each is valid."""
        return _uppers([cost for item in self.items for cost in item.seen])

    @cached_property
    def judged(self) -> tuple[Upper, ...]:
        """The same bounds, minus what rounding explains."""
        return _uppers([cost for item in self.items for cost in item.judged])

    @cached_property
    def below(self) -> tuple[Pair, ...]:
        return _kept(cost.below for item in self.items for cost in item.judged)

    @cached_property
    def below_apart(self) -> tuple[Pair, ...]:
        """Another lower bound, coordinate by coordinate, which is better for δ > 0."""
        every = [cost for item in self.items for cost in item.judged]
        return _kept(pair for cost in every for pair in cost.apart_below or (cost.below,))

    def epsilon(self, delta: float) -> Bracket:
        """A bracket around the ε that the releases cost together at δ."""
        if self.together and delta > 0:
            return Bracket(0.0, composed_epsilon(self.together, delta).upper)
        lower = max(composed_epsilon(p, delta).lower for p in {self.below, self.below_apart})
        ends = [composed_epsilon(pairs, delta) for pairs in self.above]
        return _closed(lower, min(ends, key=lambda end: end.upper))

    def delta(self, epsilon: float) -> Bracket:
        """A bracket around the δ that the releases cost together at ε."""
        if self.together:
            return Bracket(0.0, composed_delta(self.together, epsilon).upper)
        lower = max(composed_delta(p, epsilon).lower for p in {self.below, self.below_apart})
        ends = [composed_delta(pairs, epsilon) for pairs in self.above]
        return _closed(lower, min(ends, key=lambda end: end.upper))


def _closed(lower: float, bracket: Bracket) -> Bracket:
    return Bracket(min(lower, bracket.upper), bracket.upper, bracket.theorem)


def _uppers(costs: list[Cost]) -> tuple[Upper, ...]:
    """One bound, or two if some costs also have a bound coordinate by coordinate."""
    together = _kept(cost.above for cost in costs)
    if not any(cost.apart for cost in costs):
        return (together,)
    return together, _kept(pair for cost in costs for pair in cost.apart or (cost.above,))


def _kept(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    return tuple(pair for pair in pairs if pair is not NOTHING)


def hides_nothing(pairs: tuple[Pair, ...]) -> bool:
    return any(isinstance(pair, LeakyResponsePair) and pair.reveals for pair in pairs)


def _accountant(pairs: tuple[Pair, ...]) -> Accountant:
    spent = Accountant(relation=Relation.ADD_REMOVE)
    for pair, times in Counter(pairs).items():
        spent = spent.compose(pair, times=times)
    return spent


@lru_cache(maxsize=256)
def composed_epsilon(pairs: tuple[Pair, ...], delta: float) -> Bracket:
    """ε of the composition, in the worse direction."""
    if hides_nothing(pairs):
        return Bracket(0.0, math.inf) if delta < 1 else Bracket(0.0, 0.0)
    forth = _accountant(pairs).epsilon(delta)
    back = _accountant(tuple(pair.reversed for pair in pairs)).epsilon(delta)
    return forth if forth.upper >= back.upper else back


@lru_cache(maxsize=256)
def composed_delta(pairs: tuple[Pair, ...], epsilon: float) -> Bracket:
    """δ of the composition, in the worse direction."""
    if hides_nothing(pairs):
        return Bracket(0.0, 1.0)
    forth = _accountant(pairs).delta(epsilon)
    back = _accountant(tuple(pair.reversed for pair in pairs)).delta(epsilon)
    return forth if forth.upper >= back.upper else back


def spending(differences: list[Difference]) -> Spending:
    """The releases behind the differences, each with its cost."""
    tosses: dict[int, list[Coin]] = {}
    for each in differences:
        if isinstance(each, Coin) and not each.flipped:
            tosses.setdefault(each.draw, []).append(each)
    items = []
    for each in differences:
        if isinstance(each, Coin) and not each.flipped:
            group = tosses.pop(each.draw, None)
            items += [] if group is None else [tossed(group)]
        else:
            items.append(_item(each))
    return Spending(tuple(items))


def compared_again(differences: list[Difference]) -> dict[int, list[Coin]]:
    """Comparisons that differ, for draws with more than one comparison."""
    groups: dict[int, list[Coin]] = {}
    for each in differences:
        if isinstance(each, Coin) and not each.flipped:
            groups.setdefault(each.draw, []).append(each)
    return {draw: group for draw, group in groups.items() if len(group) > 1}


def told_whole(differences: list[Difference]) -> Spending | None:
    """An upper bound: the cost of releasing every number that was compared more than once.

    One transcript shows one path of comparisons, and δ is a sum over all paths. All of them are
    computed from the number itself, where it is shifted alike in each; None where it is not.
    """
    groups = compared_again(differences)
    kept = [d for d in differences if not isinstance(d, Coin) or d.flipped or d.draw not in groups]
    for first, *others in groups.values():
        shift = first.cut - first.cut_other
        size = max(abs(c) for toss in (first, *others) for c in (toss.cut, toss.cut_other))
        if any(abs(t.cut - t.cut_other - shift) > ROUNDING * size for t in others):
            return None
        if any(toss.up != toss.up_other for toss in (first, *others)):
            return None
        one, none = np.ones(1), np.zeros(1)
        gap = np.array([shift])
        flat = np.zeros(1, dtype=np.intp)
        move = Move(
            first.event, first.place, first.law, -gap, one, one, none, -gap, none, none, flat
        )
        kept.append(move)
    return spending(kept)


def _item(difference: Difference) -> Item:
    match difference:
        case Move():
            return moved(difference)
        case Coin():
            return turned(difference)
        case Odds():
            return drawn(difference)
        case LargestOf():
            return largest(difference)
        case Paid():
            return paid(difference)
