"""The one procedure: draw, bet, learn, and say what was found.

Draws come in stages that grow by about 4/3 each. Every stage is judged with what the stages before
it chose, and then added to the past:

1. *Bets* (`betting`) on the events that look most damning for the claim: as soon as the wealth
   reaches its target the claim is refuted, at whatever pair that was.
2. One block (`confidence`) for the event that promises the largest lower bound on ε. It begins at
   a tenth of the budget, or later if the past does not yet say enough of the best event; its joint
   test speaks once, at the end of the budget. If the bets refuted early it is left aside, since
   when it ended depended on its draws, and a fresh block gives the witness its counts.

Levels, where both are used: the bets have a quarter and the test at the end three quarters, so a
true claim is refuted with probability at most `level`. For `epsilon_lower` the block at the end has
a half and the fresh block after an early stop a quarter: with the bets' quarter, whichever of the
three speaks, the bound exceeds the truth with probability at most `level`.
"""

import math
import time
from bisect import bisect
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from dpverify.auditing.attacks import Confirm, Draws, Explore, Families, Proposal, merit_of, propose
from dpverify.auditing.betting import Stake, Wager, Wealth, grid_above, wager
from dpverify.auditing.confidence import Chain, Counts, critical, epsilon_lower
from dpverify.auditing.floats import BitSearch
from dpverify.auditing.goals import Bound
from dpverify.auditing.outputs import joined
from dpverify.auditing.points import Point, implied_points
from dpverify.auditing.sampling import LOSS, Sampler, Side, Target
from dpverify.auditing.simplify import simplified
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness, counts_of
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_count, check_member, check_positive, check_real
from dpverify.guarantees import Guarantee

Arithmetic: TypeAlias = Literal["real", "float"]
Method: TypeAlias = Literal["both", "anytime", "fixed"]

_BETS_SHARE = {"both": 0.25, "anytime": 1.0, "fixed": 0.0}
_FIRST = 64
_DIFFERENT = 12  # values among 32 draws, beyond which their repetition is no accident
_LEARN_FROM = 16_384  # latest draws a side that attacks look at
_CLASSIFY_AT = (400, 1_500, 5_000, 15_000, 50_000)
_CHOICES = (0.1, 0.2, 0.35)  # of the budget, when the chain's event may be chosen
_READY = 0.8  # share of the bound hoped for that the past must assure for the block to begin
_HOPE = 0.3  # standard errors by which the events of bets are discounted, besides the doubt
_SAMPLES = {True: 100_000, False: 10_000}


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an audit stands: draws a side, log wealth, and the budget."""

    samples: int
    log_wealth: float
    budget: int


def audit(  # noqa: PLR0913  # the contract of the library
    mechanism: Target,
    *,
    left: Any,  # noqa: ANN401  # whatever the mechanism takes
    right: Any,  # noqa: ANN401
    claim: Guarantee | Claim | None = None,
    level: float = 0.01,
    seed: int = 0,
    samples: int | None = None,
    method: Method = "both",
    arithmetic: Arithmetic = "real",
    timeout: float | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Try to refute that `mechanism` keeps `claim` on the neighboring datasets `left`, `right`.

    Parameters
    ----------
    mechanism
        A callable `mechanism(data, rng)`, or an object with `sample(data, size, *, rng)`; with
        `log_density(outputs, data)` the best events are known and the audit is optimal.
    claim
        What is to be refuted; the mechanism's own claim if None.
    level
        Bound on the probability that an honest mechanism is refuted, over all that is tried and
        at any stopping time; and that `epsilon_lower` exceeds the truth.
    samples
        Most draws on each side; 100,000 for a vectorized mechanism and 10,000 for a callable if
        None. Bets stop earlier if they refute.
    method
        "anytime" for bets alone, "fixed" for one test at the end of the budget, "both" (default).
    arithmetic
        "real" judges outputs as real numbers, and a leak through their bits apart from it, as
        `float_leak`; "float" makes it part of the verdict.
    timeout
        Seconds after which one call counts as the output "times out".
    workers, executor
        Processes, or any executor, among which the calls of a callable are divided. They do not
        change the verdict. A vectorized mechanism is drawn from here, in blocks.
    progress
        Called after every stage.

    The draws must be independent given the data: a mechanism that remembers earlier calls is
    outside the theory. One that gives the same draws to different generators is refused.

    >>> from dpverify.guarantees import PureDP
    >>> def flawed(data, rng): return sum(data) + rng.laplace(scale=0.5)
    >>> verdict = audit(flawed, left=[0, 0], right=[0, 1], claim=PureDP(epsilon=1.0), seed=7)
    >>> verdict.refuted
    True
    """
    _check(level, seed, samples, method, arithmetic)
    check_count("workers", workers)
    guarantee = _guarantee(mechanism, claim)
    points = implied_points(guarantee)
    with _pool(workers, executor) as pool:
        sampler = Sampler(
            mechanism=mechanism,
            left=left,
            right=right,
            seed=int(seed),
            timeout=timeout,
            executor=pool,
        )
        run = _Run(
            sampler=sampler,
            claim=guarantee,
            points=points,
            level=float(level),
            budget=int(samples or _SAMPLES[sampler.vectorized]),
            bets_share=_BETS_SHARE[method],
            bits=arithmetic == "float",
            progress=progress,
        )
        return run.verdict()


@contextmanager
def _pool(workers: int, executor: Executor | None) -> Iterator[Executor | None]:
    """The caller's executor, or processes of our own, or none."""
    if executor is not None or workers == 1:
        yield executor
        return
    with ProcessPoolExecutor(workers) as pool:
        yield pool


class _Run:
    """One audit: the draws so far, the wealth, the chain."""

    def __init__(  # noqa: PLR0913  # one call, above
        self,
        *,
        sampler: Sampler,
        claim: Guarantee,
        points: tuple[Point, ...],
        level: float,
        budget: int,
        bets_share: float,
        bits: bool,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.sampler = sampler
        self.claim = claim
        self.points = points
        self.level = level
        self.budget = budget
        self.bets_level = level * bets_share
        self.block_level = level - self.bets_level
        self.bound_level = level / 2 if 0.0 < bets_share < 1.0 else self.block_level
        self.fresh_level = level - self.bets_level - self.bound_level
        self.target = -math.log(self.bets_level) if bets_share else math.inf
        self.bits = bits
        self.progress = progress
        self.blocks: list[Draws] = []
        self.used = 0
        self.wealth = Wealth.start()
        self.wager: Wager | None = None
        self.chosen: tuple[Proposal, Point] | None = None
        self.counts: Counts | None = None
        self.fresh: Draws | None = None
        self.point: Point | None = None
        self.choices = 0

    def verdict(self) -> Verdict:
        start = time.perf_counter()
        refuted = False
        for begin, end in stages(self.budget):
            fresh = self._draw(begin, end)
            if begin == 0:
                _refuse_useless(fresh)
            elif begin == _FIRST:
                _refuse_repeated(self.blocks[0], fresh)
            refuted = self._judge(Confirm(fresh))
            if self.progress is not None:
                self.progress(Progress(self.used, float(self.wealth.logs[0]), self.budget))
            if refuted:
                break
            if end < self.budget:
                self._learn(end)
        verdict = self._early() if refuted else self._at_the_end()
        leak = None if self.bits else self._float_leak(verdict.epsilon_lower)
        notes = _notes(self._past())
        return replace(verdict, seconds=time.perf_counter() - start, float_leak=leak, notes=notes)

    def _float_leak(self, shown: float) -> Witness | None:
        """Bits, judged on draws that neither chose the event nor when to stop.

        Half the level each for an audit that ends early and for one that does not. Bits follow
        magnitudes, so where the real numbers alone break the claim, bits must show clearly more.
        """
        past = self._past()
        explore, confirm = past.halves() if self.fresh is None else (past, self.fresh)
        point = self.point or self.points[0]
        beyond = replace(point, epsilon=max(point.epsilon, shown + 0.5 * (shown > point.epsilon)))
        search = BitSearch(point=beyond, claim=self.claim, level=self.level / 2)
        return search.leak(Explore(explore), Confirm(confirm), self.sampler)

    def _draw(self, begin: int, end: int) -> Draws:
        return Draws(*(self.sampler.draw(side, begin, end) for side in Side))

    def _judge(self, fresh: Confirm) -> bool:
        """Bet on the fresh draws and add them to the chain's block; whether the bets refute."""
        self.wealth, used = self.wealth.after(self.wager, fresh, self.target)
        self.used += used
        self.blocks.append(fresh)
        if self.chosen is not None:
            more = counts_of(self.chosen[0].event, self.chosen[0].favors, fresh)
            self.counts = more if self.counts is None else self.counts + more
        return self.wealth.rejected(self.target) > 0

    def _past(self) -> Explore:
        """The latest draws, as many as attacks look at."""
        kept: list[Draws] = []
        size = 0
        for block in reversed(self.blocks):
            kept.insert(0, block)
            size += block.left.size
            if size >= _LEARN_FROM:
                break
        left, right = (joined([block.on(side) for block in kept]) for side in Side)
        cut = max(0, left.size - _LEARN_FROM)
        return Explore(Draws(left.between(cut, left.size), right.between(cut, right.size)))

    def _learn(self, end: int) -> None:
        past: Explore | None = None
        if self.target < math.inf and _worth_learning(end):
            past = self._past()
            self.wager = self._best_wager(past, end)
        if self.block_level > 0.0 and self.chosen is None and self._may_choose(end):
            past = self._past() if past is None else past
            self.chosen = self._choice(past, end)

    def _choice(self, past: Explore, end: int) -> tuple[Proposal, Point] | None:
        """The event for the block that begins now; None if it is better to wait."""
        planned = self.budget - end
        best = self._best_bound(past, planned)
        if best is None or end >= _CHOICES[-1] * self.budget:
            return best
        proposal, point = best
        z = critical(self.block_level)
        hoped = Bound(delta=point.delta, z=z, planned=planned, doubt=0.0)
        hope = merit_of(proposal.event, proposal.favors, past, hoped)
        return best if proposal.merit >= _READY * hope else None

    def _may_choose(self, end: int) -> bool:
        """Whether this is the first stage beyond one of the shares of the budget."""
        passed = bisect(_CHOICES, end / self.budget)
        found = passed > self.choices
        self.choices = passed
        return found

    def _families(self, end: int) -> Families:
        return Families(bits=self.bits, classifiers=end in _classify_stages(self.budget))

    def _best_wager(self, past: Explore, end: int) -> Wager | None:
        found: dict[Side, tuple[float, Stake]] = {}
        for point in self.points:
            goal = Bound(delta=point.delta, z=_HOPE, planned=end)
            for side, proposal in propose(past, goal, self._families(end)).items():
                gain = proposal.merit - point.epsilon
                if side not in found or gain > found[side][0]:
                    found[side] = gain, Stake(event=proposal.event, favors=side, point=point)
        stakes = [stake for _, stake in found.values()]
        kept = self.wager.bet.stakes if self.wager is not None else ()
        options = [wager(stakes, past), wager(kept, past) if kept else None]
        grown = [option for option in options if option is not None]
        return max(grown, key=lambda option: option.growth) if grown else None

    def _best_bound(self, past: Explore, planned: int) -> tuple[Proposal, Point] | None:
        """The event with the largest bound to hope for; None if all outputs are the same."""
        best: tuple[float, Proposal, Point, Bound] | None = None
        for point in self.points if self.point is None else (self.point,):
            goal = Bound(
                delta=point.delta, z=critical(self.block_level or self.level), planned=planned
            )
            for proposal in propose(past, goal, Families(bits=self.bits)).values():
                gain = proposal.merit - point.epsilon
                if best is None or gain > best[0]:
                    best = (gain, proposal, point, goal)
        if best is None:
            return None
        _, proposal, point, goal = best
        self.point = point
        return simplified(proposal, past, goal), point

    def _at_the_end(self) -> Verdict:
        if self.chosen is None or self.counts is None:
            return self._not_refuted(0.0, self.point or self.points[0])
        proposal, point = self.chosen
        block = Chain((self.counts,), (1.0,))
        lower = block.epsilon_lower(delta=point.delta, level=self.bound_level)
        if block.rejects([(point.epsilon, point.delta)], level=self.block_level):
            return self._refuted(proposal, point, self.counts, max(lower, point.epsilon))
        return self._not_refuted(lower, point)

    def _early(self) -> Verdict:
        """After the bets refuted: a witness, judged on a fresh block."""
        begin = sum(block.left.size for block in self.blocks)
        size = min(max(1_000, self.used), max(self.budget, 1_000))
        best = self._best_bound(self._past(), size)
        if best is None or self.wager is None:  # the bets were on events, so there are some
            raise AssertionError("refuted without an event")
        proposal, point = best
        self.fresh = self._draw(begin, begin + size)
        counts = counts_of(proposal.event, proposal.favors, Confirm(self.fresh))
        steps = self.wealth.rejected(self.target)
        lower = point.epsilon + float(grid_above()[steps - 1])
        if self.fresh_level > 0.0:
            fresh = epsilon_lower(counts, delta=point.delta, level=self.fresh_level)
            lower = max(lower, fresh)
        return self._refuted(proposal, point, counts, lower)

    def _refuted(self, proposal: Proposal, point: Point, counts: Counts, lower: float) -> Refuted:
        witness = Witness(
            claim=self.claim,
            left=self.sampler.left,
            right=self.sampler.right,
            event=proposal.event,
            favors=proposal.favors,
            counts=counts,
            delta=point.delta,
            level=self.level,
            seed=self.sampler.seed,
        )
        return Refuted(**self._common(lower, point), witness=witness)

    def _not_refuted(self, lower: float, point: Point) -> NotRefuted:
        return NotRefuted(**self._common(lower, point))

    def _common(self, lower: float, point: Point) -> dict[str, Any]:
        return {
            "claim": self.claim,
            "level": self.level,
            "epsilon_lower": lower,
            "delta": point.delta,
            "samples": self.used,
            "seconds": 0.0,
            "tried": _tried(self._past(), bits=self.bits),
        }


def judge(witness: Witness, sampler: Sampler, *, samples: int, level: float) -> Verdict:
    """The verdict of a witness's event on fresh draws."""
    start = time.perf_counter()
    fresh = Confirm(Draws(*(sampler.draw(side, 0, samples) for side in Side)))
    counts = counts_of(witness.event, witness.favors, fresh)
    points = [p for p in implied_points(witness.claim) if p.delta == witness.delta]
    point = points[0] if points else implied_points(witness.claim)[0]
    chain = Chain((counts,), (1.0,))
    common: dict[str, Any] = {
        "claim": witness.claim,
        "level": level,
        "epsilon_lower": chain.epsilon_lower(delta=point.delta, level=level),
        "delta": point.delta,
        "samples": samples,
        "seconds": time.perf_counter() - start,
        "tried": (str(witness.event),),
    }
    if chain.rejects([(point.epsilon, point.delta)], level=level):
        again = replace(witness, counts=counts, level=level, seed=sampler.seed, delta=point.delta)
        return Refuted(**common, witness=again)
    return NotRefuted(**common)


def stages(budget: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each stage: 64, 96, 128, 192, 256, … draws in all, up to the budget."""
    begin, end, wide = 0, _FIRST, True
    while begin < budget:
        yield begin, min(end, budget)
        begin, end = end, end * 3 // 2 if wide else end * 4 // 3
        wide = not wide


def _worth_learning(end: int) -> bool:
    """Often while little is known; then when the past has doubled, and later quadrupled."""
    doubled = end & (end - 1) == 0
    return end <= 2_048 or (doubled and (end <= _LEARN_FROM or end.bit_length() % 2 == 1))


def _classify_stages(budget: int) -> set[int]:
    ends = [end for _, end in stages(budget)]
    return {next((e for e in ends if e >= at), ends[-1]) for at in _CLASSIFY_AT}


def _guarantee(mechanism: Target, claim: Guarantee | Claim | None) -> Guarantee:
    if claim is None:
        claim = getattr(mechanism, "claim", None)
        if claim is None:
            raise InvalidParameter(
                "claim=None must be a guarantee, as the mechanism states no claim"
            )
    return claim.guarantee if isinstance(claim, Claim) else claim


def _refuse_useless(first: Draws) -> None:
    """A mechanism that only ever fails says nothing of its claim."""
    texts = [side.text("output") for side in (first.left, first.right) if "output" in side.texts]
    if len(texts) < 2:
        return
    kinds = np.unique(np.concatenate(texts))
    if len(kinds) == 1 and str(kinds[0]).startswith(("raises ", "times out")):
        message = ""
        if "message of output" in first.left.texts:
            message = f": {first.left.text('message of output')[0]}"
        raise InvalidParameter(
            f"mechanism must return an output; on both sides every call {kinds[0]}{message}"
        )


def _refuse_repeated(first: Draws, second: Draws) -> None:
    """The same draws for different generators are no new evidence."""
    for before, now in ((first.left, second.left), (first.right, second.right)):
        size = min(before.size, now.size)
        keys, again = joined([before.between(0, size), now.between(0, size)]).keys("output"), size
        if np.array_equal(keys[:again], keys[again:]) and len(np.unique(keys)) >= _DIFFERENT:
            raise InvalidParameter(
                "mechanism must draw from rng: it gave the same draws for two different generators"
            )


def _notes(past: Explore) -> tuple[str, ...]:
    constant = [
        name
        for name, side in (("left", past.left), ("right", past.right))
        if len(np.unique(side.keys("output"))) == 1 and side.size > 1
    ]
    if not constant:
        return ()
    return (f"every output is the same on {' and '.join(constant)}: does the mechanism use rng?",)


def _tried(past: Explore, *, bits: bool) -> tuple[str, ...]:
    families = ["thresholds and intervals", "single values and sets of values"]
    if LOSS in past.left.columns:
        families.insert(0, "likelihood ratio")
    elif len(past.left.columns) > 1:
        families += ["logistic regression", "boosted trees"]
    return (*families, "bits of floats") if bits else tuple(families)


def _check(
    level: object, seed: object, samples: object, method: object, arithmetic: object
) -> None:
    check_real("level", level)
    check_positive("level", level)
    if not 1e-12 <= float(level) <= 0.5:  # type: ignore[arg-type]  # checked above
        raise InvalidParameter(f"level={level!r} must lie in [1e-12, 0.5]")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidParameter(f"seed={seed!r} must be a whole number, at least 0")
    if samples is not None:
        check_count("samples", samples)
    check_member("method", method, ("both", "anytime", "fixed"))
    check_member("arithmetic", arithmetic, ("real", "float"))
