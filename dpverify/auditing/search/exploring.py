"""Which neighboring pair looks worst for a claim: successive halving over candidates.

Many pairs get few draws each; the better ones are kept, joined by variants of the best, and get
more. Nothing is judged here: these draws choose the pairs that fresh draws will judge, so they
cost nothing of the level, however many pairs are tried.
"""

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from dpverify.auditing.attacks.merit import Bound
from dpverify.auditing.attacks.proposals import Draws, Explore, Families, propose
from dpverify.auditing.sampling.limits import OutOfTime
from dpverify.auditing.sampling.outputs import WHOLE, joined
from dpverify.auditing.sampling.sampler import Sampler, Side, Target
from dpverify.auditing.statistics.binomial import critical
from dpverify.auditing.statistics.points import Point
from dpverify.schema import Candidate, Schema

_RANDOM_SHARE = 0.25  # of the first pairs
_UNIT = 300  # first draws of a pair times this are the whole exploration
_LEAST = 32
_DOUBT = 1.0  # standard errors by which a pair's promise is discounted
_POINTS = 3


@dataclass(frozen=True, slots=True)
class _Round:
    """Keep so many pairs, add so many variants of the best, draw up to so many units each."""

    keep: int
    variants: int
    units: int


_ROUNDS = (_Round(16, 16, 3), _Round(8, 4, 10), _Round(3, 0, 30))


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A candidate, the draws on it so far, and by how much it seems to break the claim.

    `broken` says what a vectorized mechanism raised on it: draws are then made one by one, so that
    an exception is an output like any other.
    """

    candidate: Candidate
    mechanism: Target
    seed: int
    draws: Draws | None = None
    promise: float = -np.inf
    broken: str = ""

    @property
    def only_raises(self) -> bool:
        """Whether the mechanism does not take the data of this pair, on either side."""
        if not self.broken or self.draws is None:
            return False
        texts = [side.text(WHOLE) for side in (self.draws.left, self.draws.right)]
        return all(bool(np.char.startswith(side, "raises ").all()) for side in texts)

    @property
    def size(self) -> int:
        return 0 if self.draws is None else self.draws.left.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """The pairs that look worst, the worst first; and what was tried to find them."""

    best: tuple[Arm, ...]
    pairs: int
    patterns: tuple[str, ...]
    draws: int


class OneByOne:
    """A vectorized mechanism as a callable, so that what a draw raises is an output."""

    def __init__(self, mechanism: Target) -> None:
        self.mechanism = mechanism

    def __call__(self, data: object, rng: np.random.Generator) -> object:
        return self.mechanism.sample(data, 1, rng=rng)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explorer:
    """A search for the worst pairs within a budget of draws a side.

    `planned` is the number of draws a side, and `level` the level, that the pair is to be judged
    with: what is worst depends on them. After `until`, as `time.time` tells it, no further draws
    are made, and the pairs are ranked by those that there are.
    """

    mechanism: Target
    schema: Schema
    points: tuple[Point, ...]
    level: float
    planned: int
    budget: int
    pairs: int
    seed: int
    bits: bool = False
    timeout: float | None = None
    executor: Executor | None = None
    until: float | None = None

    def run(self) -> Explored:
        rng = np.random.default_rng([self.seed, 0])
        unit = max(_LEAST, self.budget // _UNIT)
        share = min(1.0, self.budget / (unit * _UNIT))  # of all numbers of pairs
        arms = self._arms(self._first(max(4, round(self.pairs * share)), rng), 0)
        tried = len(arms)
        names = [arm.candidate.pattern for arm in arms]
        arms = self._ranked(self._more(arms, unit))
        drawn = sum(arm.size for arm in arms)
        for step in _ROUNDS:
            kept = arms[: max(2, round(step.keep * share))]
            variants = self._variants(arms, round(step.variants * share), rng)
            fresh = self._arms(variants, tried)
            tried += len(fresh)
            before = sum(arm.size for arm in kept)
            last = step is _ROUNDS[-1]
            arms = self._ranked(self._more([*kept, *fresh], unit * step.units, last=last))
            drawn += sum(arm.size for arm in arms) - before
        patterns = tuple(dict.fromkeys(names))
        return Explored(best=tuple(arms), pairs=tried, patterns=patterns, draws=drawn)

    def _first(self, number: int, rng: np.random.Generator) -> list[Candidate]:
        """Patterns, and pairs at random for the rest."""
        known = list(islice(self.schema.patterns(), round(number * (1.0 - _RANDOM_SHARE))))
        drawn = [self.schema.draw_pair(rng) for _ in range(number - len(known))]
        return list(dict.fromkeys([*known, *drawn]))

    def _variants(self, arms: list[Arm], number: int, rng: np.random.Generator) -> list[Candidate]:
        """Mutations of the best pairs, none of them among these."""
        if not number:
            return []
        parents = [arms[i % min(8, len(arms))].candidate for i in range(number)]
        known = {arm.candidate for arm in arms}
        made = dict.fromkeys(self.schema.mutate(parent, rng) for parent in parents)
        return [candidate for candidate in made if candidate not in known]

    def _arms(self, candidates: Iterable[Candidate], start: int) -> list[Arm]:
        return [
            Arm(candidate=c, mechanism=self.mechanism, seed=derived(self.seed, 1, start + i))
            for i, c in enumerate(candidates)
        ]

    def _more(self, arms: list[Arm], size: int, *, last: bool = False) -> list[Arm]:
        return [self._scored(self._drawn(arm, size), last=last) for arm in arms]

    def _ranked(self, arms: list[Arm]) -> list[Arm]:
        return sorted(arms, key=lambda arm: -arm.promise)  # stable: known patterns first

    def _drawn(self, arm: Arm, size: int) -> Arm:
        if arm.size >= size:
            return arm
        sampler = Sampler(
            mechanism=arm.mechanism,
            left=arm.candidate.left,
            right=arm.candidate.right,
            seed=arm.seed,
            timeout=self.timeout,
            executor=self.executor,
            until=self.until,
        )
        try:
            sides = [sampler.draw(side, arm.size, size) for side in Side]
        except OutOfTime:
            return arm
        except Exception as error:
            if not sampler.vectorized:
                raise
            one_by_one = replace(arm, mechanism=OneByOne(arm.mechanism), draws=None)
            cause = error.__cause__ or error
            reason = f"{type(cause).__name__}: {cause}"
            return self._drawn(replace(one_by_one, broken=reason), size)
        if arm.draws is not None:
            sides = [joined([arm.draws.on(side), sides[side.value]]) for side in Side]
        return replace(arm, draws=Draws(*sides))

    def _scored(self, arm: Arm, *, last: bool) -> Arm:
        if arm.draws is None:
            return arm
        families = Families(bits=self.bits, classifiers=last)
        promise = -np.inf
        for point in self._points(last=last):
            goal = Bound(
                delta=point.delta, z=critical(self.level), planned=self.planned, doubt=_DOUBT
            )
            for proposal in propose(Explore(arm.draws), goal, families).values():
                promise = max(promise, proposal.merit - point.epsilon)
        return replace(arm, promise=promise)

    def _points(self, *, last: bool) -> tuple[Point, ...]:
        """All points at the end, and some of them before."""
        if last or len(self.points) <= _POINTS:
            return self.points
        return self.points[:: -(-len(self.points) // _POINTS)]


def derived(seed: int, *key: int) -> int:
    """A seed of its own for one part of a search."""
    words = np.random.SeedSequence(seed, spawn_key=key).generate_state(2, np.uint64)
    return int(words[0])
