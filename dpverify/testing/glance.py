"""One pair: a cheap look at it, and a test that may be stopped at any time.

The look proposes events from a few draws (`auditing.attacks`). The test bets on them
(`auditing.betting`) with fresh draws in stages that double, learns from each stage after it was
judged, and gives up when what was seen no longer promises to reach the target.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from dpverify.auditing.attacks.merit import Bound
from dpverify.auditing.attacks.proposals import (
    Confirm,
    Draws,
    Explore,
    Families,
    Proposal,
    merit_of,
    numeric_features,
    propose,
    thresholds,
    values,
)
from dpverify.auditing.sampling.outputs import WHOLE, joined
from dpverify.auditing.sampling.sampler import Sampler, Side
from dpverify.auditing.statistics.betting import Ladder, Stake, Wager, Wealth, wager
from dpverify.auditing.statistics.points import Point

_HOPE = 0.3  # standard errors by which events are discounted, besides the doubt
_DOUBT = 1.5  # standard errors of what was seen that are charged for
_POINTS = 3  # of a claim's many, that a look tries
_PATIENCE = 4.0  # times the draws left, that a test may seem to need
_RUIN = -5.0  # log wealth at which a test gives up
_FAR = -20.0  # score where nothing happened often enough


class Choice(NamedTuple):
    """An event held against a point, and by how much it seems to break it."""

    gain: float
    proposal: Proposal
    point: Point


@dataclass(frozen=True, slots=True)
class Glance:
    """What some draws suggest: by how much a pair seems to break the claim, and what to bet on.

    `score` estimates the excess of ln((P(E) − δ)/Q(E)) over the claimed ε, for the best event;
    `point` is what of the claim it breaks most.
    """

    seen: Explore
    score: float
    point: Point
    wager: Wager | None

    @property
    def size(self) -> int:
        return self.seen.left.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a test of one pair ended; and which ε its bets refuted, where they say."""

    refuted: bool
    glance: Glance
    level: float
    epsilon_lower: float = 0.0


def draws(sampler: Sampler, begin: int, end: int) -> Draws:
    return Draws(*(sampler.draw(side, begin, end) for side in Side))


def few(points: Sequence[Point]) -> tuple[Point, ...]:
    """Up to three of a claim's points, spread evenly; the first and the last among them."""
    if len(points) <= _POINTS:
        return tuple(points)
    step = (len(points) - 1) / (_POINTS - 1)
    return tuple(points[round(i * step)] for i in range(_POINTS))


def glimpse(seen: Draws, points: Sequence[Point]) -> Glance:
    """A cheap look: events cut on one half of the draws, and counted on the other."""
    explore = Explore(seen)
    choose, count = seen.halves()
    found: dict[Side, Choice] = {}
    for point in points:
        goal = Bound(delta=point.delta, z=_HOPE, planned=choose.left.size, doubt=_DOUBT)
        for side, proposal in _best_cuts(choose, explore, goal).items():
            merit = merit_of(proposal.event, side, count, goal)
            _keep_better(found, side, Choice(merit - point.epsilon, proposal, point))
    glance = _summed_up(explore, found, points[0], None)
    # Judging costs a share of the level: only what was counted where it was not chosen counts.
    return glance if glance.score > 0.0 else replace(glance, wager=None)


def look(
    seen: Draws, points: Sequence[Point], *, before: Wager | None = None, classify: bool
) -> Glance:
    """The best events of all families; or the bet from `before`, if it would have grown faster."""
    explore = Explore(seen)
    found: dict[Side, Choice] = {}
    for point in points:
        goal = Bound(delta=point.delta, z=_HOPE, planned=seen.left.size, doubt=_DOUBT)
        for side, proposal in propose(explore, goal, Families(classifiers=classify)).items():
            _keep_better(found, side, Choice(proposal.merit - point.epsilon, proposal, point))
    return _summed_up(explore, found, points[0], before)


def _best_cuts(choose: Draws, seen: Explore, goal: Bound) -> dict[Side, Proposal]:
    best: dict[Side, Proposal] = {}
    texts = dict.fromkeys([WHOLE, *seen.left.texts, *seen.right.texts])
    for proposal in chain(
        *(thresholds(name, choose, goal) for name in numeric_features(seen)),
        *(values(name, choose, goal) for name in texts),
    ):
        if proposal.favors not in best or proposal.merit > best[proposal.favors].merit:
            best[proposal.favors] = proposal
    return best


def _keep_better(found: dict[Side, Choice], side: Side, choice: Choice) -> None:
    if side not in found or choice.gain > found[side].gain:
        found[side] = choice


def _summed_up(
    seen: Explore, found: dict[Side, Choice], first: Point, before: Wager | None
) -> Glance:
    if not found:  # every output is the same
        return Glance(seen, _FAR, first, None)
    stakes = tuple(
        Stake(event=choice.proposal.event, favors=side, point=choice.point)
        for side, choice in found.items()
    )
    ladder = _ladder([choice.point for choice in found.values()])
    options = [stakes] if before is None else [stakes, before.bet.stakes]
    chosen = wager(options, seen, ladder)
    best = max(found.values(), key=lambda choice: choice.gain)
    return Glance(seen, max(_FAR, best.gain), best.point, chosen)


def judge(  # noqa: PLR0913  # a pair, what is known of it, and how hard to try
    sampler: Sampler,
    first: Glance,
    points: Sequence[Point],
    *,
    level: float,
    most: int,
    classify: bool = False,
) -> Outcome:
    """Bet on fresh draws until the claim is refuted, or it is no longer worth while.

    If the claim holds for the pair, it is refuted with probability at most `level`. [Ville 1939]
    `most` bounds the draws on each side, the first look included; with `classify`, classifiers
    learn from the draws too, which is slow.
    """
    target = -math.log(level)
    ladder = _ladder(points)
    glance, wealth = first, Wealth.start(ladder)
    while glance.size < most and glance.wager is not None:
        begin, end = glance.size, min(2 * glance.size, most)
        fresh = draws(sampler, begin, end)
        wealth, _ = wealth.after(glance.wager, Confirm(fresh), target)
        seen = Draws(*(joined([glance.seen.on(side), fresh.on(side)]) for side in Side))
        if wealth.rejects(target):
            # Bets against several points refute some of them, and do not say which.
            shown = wealth.epsilon_lower(ladder, points[0].epsilon, (target, math.inf))
            return Outcome(
                refuted=True,
                glance=replace(glance, seen=Explore(seen)),
                level=level,
                epsilon_lower=shown if len(points) == 1 else 0.0,
            )
        glance = look(seen, points, before=glance.wager, classify=classify)
        if _futile(glance, float(wealth.logs[0]), target, most - end):
            break
    return Outcome(refuted=False, glance=glance, level=level)


def _ladder(points: Sequence[Point]) -> Ladder:
    """The claim's ε and larger ones; tests of smaller ones would not refute the claim."""
    full = Ladder.of(points)
    return Ladder(full.more[: full.below], full.below)


def _futile(glance: Glance, log_wealth: float, target: float, left: int) -> bool:
    """Whether the target seems out of reach; a matter of power alone."""
    if glance.wager is None or log_wealth < _RUIN:
        return True
    return (target - log_wealth) / glance.wager.growth > _PATIENCE * left
