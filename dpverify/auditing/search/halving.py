"""Find the pairs of a schema that look worst for a claim, by successive halving.

Many pairs get few draws each; the better ones are kept, joined by variants of the best, and get
more. Where there is a limit in time, each pair has one of its own. Nothing is judged here: these
draws choose the pairs that fresh draws will judge, so they cost nothing of the level, however many
pairs are tried.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from dpverify.auditing.attacks.draws import Bound, Explore
from dpverify.auditing.attacks.proposals import Families
from dpverify.auditing.procedure.choice import best_choices
from dpverify.auditing.search.trials import PairTrial, Pass, Search, derived
from dpverify.auditing.statistics.binomial import critical
from dpverify.auditing.statistics.points import Point
from dpverify.schema import Candidate, Schema

_RANDOM_SHARE = 0.25  # of the first pairs
_UNIT = 300  # first draws of a pair times this are the whole exploration
_LEAST = 32
_DOUBT = 1.0  # standard errors by which a pair's promise is discounted
_POINTS = 3
_SLOW = 3.0  # times its even share of the time, that one pair may take in one round


@dataclass(frozen=True, slots=True)
class _Round:
    """One round: how many pairs to keep, how many variants to add, and how many draws for each."""

    keep: int
    variants: int
    units: int


_ROUNDS = (_Round(0, 0, 1), _Round(16, 16, 3), _Round(8, 4, 10), _Round(3, 0, 30))


class Halving(Pass):
    """Successive halving over the pairs of a schema; `ranked` lists them, worst first.

    `patterns` are the names of the first pairs, `unseen` is how many had no time for one draw.
    `budget` is about the draws a side of all rounds.
    The search's `samples` and `level` are those that the pair is to be judged with: what is worst
    depends on them. With `bits`, events about the bits of outputs count too.
    """

    def __init__(
        self, search: Search, schema: Schema, *, budget: int, pairs: int, bits: bool = False
    ) -> None:
        super().__init__(search)
        self.schema = schema
        self.bits = bits
        self.seed = derived(search.seed, 0)
        self.ranked: list[PairTrial] = []
        self.patterns: tuple[str, ...] = ()
        self.unseen = 0
        self._rng = np.random.default_rng([self.seed, 0])
        self._unit = max(_LEAST, budget // _UNIT)
        self._share = min(1.0, budget / (self._unit * _UNIT))  # of all numbers of pairs
        self._first = max(4, round(pairs * self._share))
        self._rounds = list(_ROUNDS)

    def step(self) -> bool:
        """Run one round."""
        now = self._rounds.pop(0)
        last = not self._rounds
        kept = self.ranked[: max(2, round(now.keep * self._share))]
        new = self._variants(round(now.variants * self._share)) if kept else self._beginning()
        due = [*kept, *(self._started(candidate) for candidate in new)]
        size = self._unit * now.units
        trials = [
            self._more(trial, size, last=last, share=len(due) - i) for i, trial in enumerate(due)
        ]
        self.ranked = sorted(trials, key=lambda trial: -trial.score)  # stable: patterns first
        self.unseen += sum(trial.seen is None for trial in self.ranked)
        return not last

    def _beginning(self) -> list[Candidate]:
        """The first pairs: patterns, and random pairs for the rest."""
        known = list(islice(self.schema.patterns(), round(self._first * (1.0 - _RANDOM_SHARE))))
        drawn = [self.schema.draw_pair(self._rng) for _ in range(self._first - len(known))]
        first = list(dict.fromkeys([*known, *drawn]))
        self.patterns = tuple(dict.fromkeys(candidate.pattern for candidate in first))
        return first

    def _variants(self, number: int) -> Iterable[Candidate]:
        """Mutations of the best pairs that are not yet among the candidates."""
        best = self.ranked[:8]
        parents = [best[i % len(best)].candidate for i in range(number)]
        known = {trial.candidate for trial in self.ranked}
        made = dict.fromkeys(self.schema.mutate(parent, self._rng) for parent in parents)
        return [candidate for candidate in made if candidate not in known]

    def _started(self, candidate: Candidate) -> PairTrial:
        number = len(self.search.tried)
        trial = self.search.trial(candidate, derived(self.seed, 1, number))
        self.search.tried[number] = trial
        return trial

    def _more(self, trial: PairTrial, size: int, *, last: bool, share: int) -> PairTrial:
        after = self._boxed(trial, share).drawn(size)
        after = replace(after, sampler=replace(after.sampler, until=self.search.until))
        self.search.used += after.size - trial.size
        return after if after.seen is None else replace(after, score=self._score(after, last=last))

    def _boxed(self, trial: PairTrial, share: int) -> PairTrial:
        """Limit the pair's time, if the search has a limit, to some times its even share.

        So one pair on which the mechanism is slow does not take the time of all others.
        """
        if self.search.until is None:
            return trial
        left = max(self.search.until - time.time(), 0.0)
        rounds = 1 + len(self._rounds)
        return trial.within(_SLOW * left / (share * rounds))

    def _score(self, trial: PairTrial, *, last: bool) -> float:
        families = Families(bits=self.bits, classifiers=last)
        z, planned = critical(self.search.level), self.search.samples

        def goal(point: Point) -> Bound:
            return Bound(delta=point.delta, z=z, planned=planned, doubt=_DOUBT)

        found = best_choices(Explore(trial.seen), self._points(last=last), goal, families)  # type: ignore[arg-type]  # drawn above
        return max((choice.gain for choice in found.values()), default=-np.inf)

    def _points(self, *, last: bool) -> tuple[Point, ...]:
        """All of the claim's points in the last round, some of them before."""
        points = self.search.points
        if last or len(points) <= _POINTS:
            return points
        return points[:: -(-len(points) // _POINTS)]
