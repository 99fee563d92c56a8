"""The plan of an audit, its state after each stage, and how a stage changes that state.

When to draw, learn, classify and choose are functions of the budget alone; `Levels` says how the
parts of an audit share its level.

What is known is one frozen `State`, replaced as a whole: whenever an audit is cut short, the state
at hand is that after some number of whole pairs.
"""

import math
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dpverify.auditing.attacks.draws import Confirm, Draws, Explore, joined_draws
from dpverify.auditing.attacks.proposals import Families, described, has_learners
from dpverify.auditing.procedure.choice import Chosen, best_bound, best_wager, is_ready
from dpverify.auditing.statistics.betting import Ladder, Wager, Wealth, wager, watched
from dpverify.auditing.statistics.binomial import Counts
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import counts_of
from dpverify.claims import AuditClaim

FIRST = 64
LEARN_FROM = 16_384  # latest draws a side that attacks look at
_MOST_NUMBERS = 1 << 24  # of one side that are held in memory
_LEAST_HELD = 256  # draws a side
_LAST_CHOICE = 0.35  # of the budget
_CHOICES = (0.1, 0.2, _LAST_CHOICE)  # when the block's event may be chosen
_CLASSIFY_AT = (400, 1_500, 5_000, 15_000, 50_000)

Method: TypeAlias = Literal["both", "anytime", "fixed"]

_SHARES = {
    "both": {"bets": 0.25, "below": 0.125, "block": 0.625, "bound": 0.5, "fresh": 0.25},
    "anytime": {"bets": 0.875, "below": 0.125, "block": 0.0, "bound": 0.0, "fresh": 0.125},
    "fixed": {"bets": 0.0, "below": 0.0, "block": 1.0, "bound": 1.0, "fresh": 0.0},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """How an audit's level is split between its tests.

    *Refuting.* The bets refute the claim, or the block at the end does: `bets` + `block` ≤ level.

    *The lower bound.* It comes from the bets above the claimed ε (`bets`), from those below
    (`below`), from the block at the end (`bound`, and `block` if that refutes), or from a fresh
    block after the bets refuted (`fresh`). Where the truth is at least the claimed ε, it is
    exceeded only by an error of the bets above, the block's bound or the fresh block:
    `bets` + `bound` + `fresh` ≤ level. Where it is less, then only by an error of the bets below,
    or if the claim itself is wrongly refuted, or by the block's bound; which, as
    `bound` ≤ `block`, errs only where a test at level `block` would:
    `below` + `bets` + `block` ≤ level.

    Of a claim that implies many points, the bound is about one δ: that of the block's point, or
    the one that the bets watch (`below`), which is told where no block speaks.
    """

    whole: float
    bets: float
    below: float
    block: float
    bound: float
    fresh: float

    @classmethod
    def of(cls, level: float, method: Method) -> "Levels":
        shares = {name: level * share for name, share in _SHARES[method].items()}
        return cls(whole=level, **shares)


def stages(budget: int) -> Iterator[tuple[int, int]]:
    """Begin and end of each stage: 64, 96, 128, 192, 256, … draws in all, up to the budget."""
    begin, end, wide = 0, FIRST, True
    while begin < budget:
        yield begin, min(end, budget)
        begin, end = end, end * 3 // 2 if wide else end * 4 // 3
        wide = not wide


def most_held(width: int) -> int:
    """How many draws a side are held in memory, for outputs of so many numbers."""
    return min(LEARN_FROM, max(_LEAST_HELD, _MOST_NUMBERS // max(width, 1)))


def pieces(begin: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    """Split a stage into pieces, so that long outputs fit into memory."""
    step = end - begin if width * (end - begin) <= _MOST_NUMBERS else most_held(width)
    for start in range(begin, end, step):
        yield start, min(start + step, end)


def searches(end: int) -> bool:
    """Whether to search new events to bet on after this stage: each time the draws quadruple.

    Twice as often at first, where one search more may spare many draws; and never once there are
    more draws than attacks look at, since no more is known then.
    """
    power = end & (end - 1) == 0 and end <= LEARN_FROM
    return power and (end <= 1_024 or end.bit_length() % 2 == FIRST.bit_length() % 2)


def tunes(end: int) -> bool:
    """Whether to tune the stakes on the current events after this stage."""
    return end & (end - 1) == 0 or end <= 1_024


def classifies(end: int, budget: int) -> bool:
    """Whether to train classifiers, which are slow, after this stage."""
    ends = [stop for _, stop in stages(budget)]
    return end in {next((e for e in ends if e >= at), ends[-1]) for at in _CLASSIFY_AT}


def choices_passed(end: int, budget: int) -> int:
    """How many of the scheduled times for choosing the block's event have passed."""
    return bisect(_CHOICES, end / budget)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is audited, at which level, and with how many draws."""

    claim: AuditClaim
    points: tuple[Point, ...]
    levels: Levels
    budget: int
    bits: bool

    @property
    def stages(self) -> Iterator[tuple[int, int]]:
        """Begin and end of each stage."""
        return stages(self.budget)

    @property
    def target(self) -> float:
        """The log wealth at which the bets refute."""
        return -math.log(self.levels.bets) if self.levels.bets > 0.0 else math.inf

    @property
    def ladder(self) -> Ladder:
        return Ladder.of(self.points)

    def shown_by_bets(self, wealth: Wealth) -> float:
        """The lower bound on ε from the bets at the watched δ, valid at any stopping time."""
        if self.levels.bets == 0.0:
            return 0.0
        below = -math.log(self.levels.below)
        if len(self.points) > 1:
            return wealth.watched_lower(self.ladder, below)
        return wealth.epsilon_lower(self.ladder, self.points[0].epsilon, (self.target, below))

    @property
    def watched(self) -> Point:
        """The point at whose δ the bets bound ε."""
        return watched(self.points)

    def families(self, *, classifiers: bool = True) -> Families:
        return Families(bits=self.bits, classifiers=classifiers)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of an audit after a stage.

    `latest` are the latest draws, at least as many as attacks look at; `drawn` is how many there
    were in all on each side and `used` how many until the bets refuted. `chosen` is the event of
    the block, `counts` what the block has counted of it since. `tried` says in words what events
    were looked for, `unread` what of the outputs was not examined.
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
    tried: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()

    @property
    def width(self) -> int:
        """How many numbers an output has, at most."""
        return max((len(block.left.columns) for block in self.latest[-1:]), default=0)

    def past(self) -> Explore:
        """The latest draws, as many as attacks look at."""
        most = most_held(self.width)
        older = sum(block.left.size for block in self.latest[1:])
        first = [block.latest(max(most - older, 0)) for block in self.latest[:1]]
        return Explore(joined_draws([*first, *self.latest[1:]]).latest(most))


def judged(plan: Plan, state: State, fresh: Confirm) -> State:
    """Bet on fresh draws and add them to the block's counts; return the new state."""
    wealth, used = state.wealth.after(state.wager, fresh, plan.target)
    counts = state.counts
    if state.chosen is not None:
        proposal = state.chosen.proposal
        more = counts_of(proposal.event, proposal.favors, fresh, also=state.chosen.also)
        counts = more if counts is None else counts + more
    return replace(
        state,
        wealth=wealth,
        latest=_recent((*state.latest, fresh)),
        drawn=state.drawn + fresh.left.size,
        used=state.used + used,
        refuted=wealth.rejects(plan.target),
        counts=counts,
        unread=state.unread.union(*(side.unexamined for side in (fresh.left, fresh.right))),
    )


def learned(plan: Plan, state: State) -> State:
    """Choose new events for the bets and, if it is time, for the block; return the new state."""
    end, known, chosen = state.drawn, state.wager, state.chosen
    past: Explore | None = None
    tried = state.tried
    classifiers = has_learners(state.latest[-1]) and classifies(end, plan.budget)
    if plan.target < math.inf and (searches(end) or classifiers):
        past = state.past()
        families = plan.families(classifiers=classifiers)
        known = best_wager(plan.points, past, families, known, plan.ladder)
        tried |= described(past, families)
    elif known is not None and known.growth > 0.0 and tunes(end):
        past = state.past()
        known = wager([known.bet.stakes], past, plan.ladder)
    passed = choices_passed(end, plan.budget)
    if plan.levels.block > 0.0 and chosen is None and passed > state.choices:
        past = state.past() if past is None else past
        chosen = _block_event(plan, past, end)
        tried |= described(past, plan.families())
    return replace(state, wager=known, chosen=chosen, choices=passed, tried=tried)


def _block_event(plan: Plan, past: Explore, end: int) -> Chosen | None:
    """The event for the block that begins now; None if it is better to wait."""
    level, planned = plan.levels.block, plan.budget - end
    best = best_bound(plan.points, past, plan.families(), level=level, planned=planned)
    if best is None or end >= _LAST_CHOICE * plan.budget:
        return best
    return best if is_ready(best, past, level=level, planned=planned) else None


def _recent(blocks: tuple[Draws, ...]) -> tuple[Draws, ...]:
    """The latest blocks, just as many as attacks look at."""
    size, first = 0, len(blocks)
    most = most_held(len(blocks[-1].left.columns))
    while first > 0 and size < most:
        first -= 1
        size += blocks[first].left.size
    return blocks[first:]
