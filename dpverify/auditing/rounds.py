"""The rounds of an audit: draw a stage, judge it with what the past chose, learn from it.

What is known after a stage is one frozen `State`, replaced as a whole: whenever an audit is cut
short, the state at hand is that of a finished stage.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pickle import PicklingError

from dpverify.auditing.attacks import Confirm, Draws, Explore, Families, has_learners
from dpverify.auditing.betting import Ladder, Wager, Wealth, wager
from dpverify.auditing.choice import Chosen, best_bound, best_wager, is_ready
from dpverify.auditing.confidence import Counts
from dpverify.auditing.levels import Levels
from dpverify.auditing.limits import OutOfTime, Stopped, time_limit_if_possible
from dpverify.auditing.outputs import Outputs, joined
from dpverify.auditing.points import Point
from dpverify.auditing.progress import Progress
from dpverify.auditing.refusals import refuse_repeated, refuse_useless
from dpverify.auditing.sampling import Sampler, SampleRaised, Side
from dpverify.auditing.stages import (
    FIRST,
    LAST_CHOICE,
    LEARN_FROM,
    choices_passed,
    classifies,
    searches,
    stages,
    tunes,
)
from dpverify.auditing.verdict import counts_of
from dpverify.errors import DPVerifyError, InvalidParameter
from dpverify.guarantees import Guarantee


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is audited, and how hard."""

    claim: Guarantee
    points: tuple[Point, ...]
    levels: Levels
    budget: int
    bits: bool

    @property
    def target(self) -> float:
        """The log wealth at which the bets refute."""
        return -math.log(self.levels.bets) if self.levels.bets > 0.0 else math.inf

    @property
    def ladder(self) -> Ladder:
        return Ladder.of(self.points)

    def shown_by_bets(self, wealth: Wealth) -> float:
        """The lower bound on ε that the bets have reached, whenever it is looked at."""
        if len(self.points) > 1 or self.levels.bets == 0.0:
            return 0.0
        targets = self.target, -math.log(self.levels.below)
        return wealth.epsilon_lower(self.ladder, self.points[0].epsilon, targets)

    def families(self, *, classifiers: bool = True) -> Families:
        return Families(bits=self.bits, classifiers=classifiers)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is known after a stage.

    `latest` are the latest draws, at least as many as attacks look at; `drawn` is how many there
    were in all on each side and `used` how many until the bets refuted. `chosen` is the event of
    the block, `counts` what the block has counted of it since.
    """

    wealth: Wealth
    latest: tuple[Draws, ...] = ()
    drawn: int = 0
    used: int = 0
    refuted: bool = False
    wager: Wager | None = None
    chosen: Chosen | None = None
    counts: Counts | None = None
    choices: int = 0

    def past(self) -> Explore:
        """The latest draws, as many as attacks look at."""
        left, right = (joined([block.on(side) for block in self.latest]) for side in Side)
        cut = max(0, left.size - LEARN_FROM)
        return Explore(Draws(left.between(cut, left.size), right.between(cut, right.size)))


class Run:
    """An audit under way: its state, and how to draw more."""

    def __init__(
        self, plan: Plan, sampler: Sampler, progress: Callable[[Progress], None] | None
    ) -> None:
        self.plan = plan
        self.sampler = sampler
        self.progress = progress
        self.state = State(wealth=Wealth.start(plan.ladder))

    def go(self) -> Stopped | None:
        """Draw all stages, or those until the bets refute; say why if it ended before.

        Where nothing at all was drawn there is no partial result, and what stopped it is raised.
        """
        until = self.sampler.until
        try:
            with time_limit_if_possible(None if until is None else max(until - time.time(), 0.0)):
                self._rounds()
        except KeyboardInterrupt:
            if not self.state.drawn:
                raise
            return Stopped(why="interrupt", reason="interrupted")
        except OutOfTime:
            if not self.state.drawn:
                raise InvalidParameter(
                    "seconds must be more: not one pair of draws was finished in time (with "
                    "timeout, a call that takes too long is an output)"
                ) from None
            return Stopped(why="time", reason="its time was over")
        except DrawingFailed as failure:
            if not self.state.drawn:
                raise
            return Stopped(why="failure", reason=str(failure))
        except MemoryError:
            if not self.state.drawn:
                raise InvalidParameter("mechanism must fit into memory: MemoryError") from None
            return Stopped(why="failure", reason="there was not enough memory")
        return None

    def _rounds(self) -> None:
        for begin, end in stages(self.plan.budget):
            fresh = self._stage(begin, end)
            if begin == FIRST:
                refuse_repeated(self.state.latest[0], fresh)
            self.state = judged(self.plan, self.state, Confirm(fresh))
            if self.progress is not None:
                self.progress(self._standing())
            if self.state.refuted:
                return
            if end < self.plan.budget:
                self.state = learned(self.plan, self.state)

    def _standing(self) -> Progress:
        state, plan = self.state, self.plan
        shown = plan.shown_by_bets(state.wealth)
        return Progress(state.used, float(state.wealth.logs[0]), plan.budget, shown)

    def _stage(self, begin: int, end: int) -> Draws:
        """A stage; if drawing ends before it does, what there is of it is judged."""
        parts: list[tuple[Outputs, ...]] = []
        try:
            self._draw(parts, begin, end)
        except MemoryError:
            self._judge(parts)
            raise
        except Exception as error:
            if begin == 0:
                raise InvalidParameter(_sentence(error)) from error
            self._judge(parts)
            raise DrawingFailed(_sentence(error)) from error
        except BaseException:
            self._judge(parts)
            raise
        return _side_by_side(parts)

    def _judge(self, parts: list[tuple[Outputs, ...]]) -> None:
        if parts:
            self.state = judged(self.plan, self.state, Confirm(_side_by_side(parts)))

    def _draw(self, parts: list[tuple[Outputs, ...]], begin: int, end: int) -> None:
        try:
            for part in self.sampler.pairs(begin, end):
                parts.append(part)
                if begin == 0:
                    refuse_useless(_side_by_side(parts))
        except SampleRaised:
            if begin > 0 or self.sampler.singly:
                raise
            # Which draw failed is not known, and a failure is an output: so draw one by one.
            self.sampler = replace(self.sampler, singly=True)
            parts.clear()
            self._draw(parts, begin, end)


class DrawingFailed(Exception):
    """No more could be drawn, after some draws were."""


def _side_by_side(parts: list[tuple[Outputs, ...]]) -> Draws:
    left, right = (joined(list(side)) for side in zip(*parts, strict=True))
    return Draws(left, right)


def _sentence(error: Exception) -> str:
    if isinstance(error, DPVerifyError):
        return str(error)
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, PicklingError) or "pickle" in str(error):
        return f"mechanism must be picklable for workers or an executor: {what}"
    return f"mechanism must be drawn from without failures of what runs it: {what}"


def judged(plan: Plan, state: State, fresh: Confirm) -> State:
    """After bets on the fresh draws, and with them added to the block."""
    wealth, used = state.wealth.after(state.wager, fresh, plan.target)
    counts = state.counts
    if state.chosen is not None:
        proposal = state.chosen.proposal
        more = counts_of(proposal.event, proposal.favors, fresh)
        counts = more if counts is None else counts + more
    return replace(
        state,
        wealth=wealth,
        latest=_recent((*state.latest, fresh)),
        drawn=state.drawn + fresh.left.size,
        used=state.used + used,
        refuted=wealth.rejects(plan.target),
        counts=counts,
    )


def learned(plan: Plan, state: State) -> State:
    """With events chosen anew for the bets, and for the block if it is time for that."""
    end, known, chosen = state.drawn, state.wager, state.chosen
    past: Explore | None = None
    classifiers = has_learners(state.latest[-1]) and classifies(end, plan.budget)
    if plan.target < math.inf and (searches(end) or classifiers):
        past = state.past()
        families = plan.families(classifiers=classifiers)
        known = best_wager(plan.points, past, families, known, plan.ladder)
    elif known is not None and known.growth > 0.0 and tunes(end):
        past = state.past()
        known = wager([known.bet.stakes], past, plan.ladder)
    passed = choices_passed(end, plan.budget)
    if plan.levels.block > 0.0 and chosen is None and passed > state.choices:
        chosen = _block_event(plan, state.past() if past is None else past, end)
    return replace(state, wager=known, chosen=chosen, choices=passed)


def _block_event(plan: Plan, past: Explore, end: int) -> Chosen | None:
    """The event for the block that begins now; None if it is better to wait."""
    level, planned = plan.levels.block, plan.budget - end
    best = best_bound(plan.points, past, plan.families(), level=level, planned=planned)
    if best is None or end >= LAST_CHOICE * plan.budget:
        return best
    return best if is_ready(best, past, level=level, planned=planned) else None


def _recent(blocks: tuple[Draws, ...]) -> tuple[Draws, ...]:
    """The last blocks, as few as hold what attacks look at."""
    size, first = 0, len(blocks)
    while first > 0 and size < LEARN_FROM:
        first -= 1
        size += blocks[first].left.size
    return blocks[first:]
