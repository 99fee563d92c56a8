"""A quick test of one pair: look at some draws, bet on fresh ones, then name one simple event.

The look proposes events from a few draws (`attacks`). The test bets on them (`statistics.betting`)
with fresh draws in stages that double, learns from each stage after it was judged, and gives up
when what was seen no longer promises to reach the target. `counted` gives a pair that bets have
refuted its witness: an event, and its counts on draws of its own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from dpverify.auditing.attacks.cuts import thresholds
from dpverify.auditing.attacks.draws import (
    Bound,
    Confirm,
    Draws,
    Explore,
    Proposal,
    merit_of,
    numeric_features,
)
from dpverify.auditing.attacks.proposals import Families
from dpverify.auditing.attacks.sets import values
from dpverify.auditing.procedure.choice import Chosen, best_bound, best_choices
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.statistics.betting import Ladder, Stake, Wager, Wealth, wager
from dpverify.auditing.statistics.binomial import Chain, rejects
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import Witness, counts_of
from dpverify.claims import AuditClaim

_HOPE = 0.3  # standard errors by which events are discounted, besides the doubt
_DOUBT = 1.5  # standard errors of what was seen that are charged for
_POINTS = 3  # of a claim's many, that a look tries
_PATIENCE = 4.0  # times the draws left, that a test may seem to need
_RUIN = -5.0  # log wealth at which a test gives up
_FAR = -20.0  # score where nothing happened often enough
BLOCK = 1_000  # draws a side that confirm a refutation, at least
SOFTLY = 0.01  # level at which one of the blocks must refute; it is not charged


@dataclass(frozen=True, slots=True)
class Look:
    """What some draws suggest: by how much a pair seems to exceed the claim, and what to bet on.

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
    """The result of testing one pair, and the lower bound on ε from its bets."""

    refuted: bool
    look: Look
    level: float
    epsilon_lower: float = 0.0


class Counted(NamedTuple):
    """A witness, and whether its block refutes at its own level and at a looser one."""

    witness: Witness
    refutes: bool
    softly: bool


def silence(first: Draws) -> str | None:
    """What every call did instead of returning an output; None if one returned something."""
    sides = (first.left, first.right)
    if not all("output" in side.texts for side in sides):
        return None
    kinds = np.unique(np.concatenate([side.text("output") for side in sides]))
    if len(kinds) > 1:
        return None
    if kinds[0] == "None":
        return "returned None"
    if not str(kinds[0]).startswith("raises "):
        return None
    message = first.left.text("message of output")[0]
    return f"raised {str(kinds[0]).removeprefix('raises ')}: {message}"


def few(points: Sequence[Point]) -> tuple[Point, ...]:
    """Up to three of a claim's points, evenly spread, with the first and the last among them."""
    if len(points) <= _POINTS:
        return tuple(points)
    step = (len(points) - 1) / (_POINTS - 1)
    return tuple(points[round(i * step)] for i in range(_POINTS))


def glimpse(seen: Draws, points: Sequence[Point]) -> Look:
    """A cheap look: choose events on one half of the draws and count them on the other."""
    choose, count = seen.halves()
    found: dict[Side, Chosen] = {}
    for point in points:
        goal = _goal(point, choose)
        for side, cut in _best_cuts(choose, Explore(seen), goal).items():
            proposal = replace(cut, merit=merit_of(cut.event, side, count, goal))
            chosen = Chosen(proposal=proposal, point=point)
            if side not in found or chosen.gain > found[side].gain:
                found[side] = chosen
    seems = _summed_up(Explore(seen), found, points[0], None)
    # Judging costs a share of the level: only what was counted where it was not chosen counts.
    return seems if seems.score > 0.0 else replace(seems, wager=None)


def look(
    seen: Draws, points: Sequence[Point], *, before: Wager | None = None, classify: bool
) -> Look:
    """A full look: the best events of all families, or the bet `before` if that would do better."""
    families = Families(classifiers=classify)
    found = best_choices(Explore(seen), points, lambda point: _goal(point, seen), families)
    return _summed_up(Explore(seen), found, points[0], before)


def judge(  # noqa: PLR0913  # a pair, what is known of it, and how hard to try
    sampler: Sampler,
    first: Look,
    points: Sequence[Point],
    *,
    level: float,
    most: int,
    classify: bool = False,
) -> Outcome:
    """Bet on fresh draws until the claim is refuted or success looks unlikely.

    If the claim holds for the pair, it is refuted with probability at most `level`. [Ville 1939]
    `most` bounds the draws on each side, the first look included; with `classify`, classifiers
    learn from the draws too, which is slow.
    """
    target = -math.log(level)
    ladder = _ladder(points)
    now, wealth = first, Wealth.start(ladder)
    while now.size < most and now.wager is not None:
        end = min(2 * now.size, most)
        fresh = Draws.of(sampler, now.size, end)
        wealth, _ = wealth.after(now.wager, Confirm(fresh), target)
        seen = now.seen.followed_by(fresh)
        if wealth.rejects(target):
            # Bets against several points refute some of them, and do not say which.
            shown = wealth.epsilon_lower(ladder, points[0].epsilon, (target, math.inf))
            return Outcome(
                refuted=True,
                look=replace(now, seen=Explore(seen)),
                level=level,
                epsilon_lower=shown if len(points) == 1 else 0.0,
            )
        now = look(seen, points, before=now.wager, classify=classify)
        if _futile(now, float(wealth.logs[0]), target, most - end):
            break
    return Outcome(refuted=False, look=now, level=level)


def counted(  # noqa: PLR0913  # what is claimed, what is known, and at what level
    sampler: Sampler,
    claim: AuditClaim,
    points: Sequence[Point],
    known: Look,
    *,
    level: float,
    attempt: int,
) -> Counted:
    """A witness from fresh draws, twice as many at every attempt.

    The block is drawn from `sampler`, which must not have been drawn from before.
    """
    size = max(BLOCK, 2 * known.size) * 2**attempt
    chosen = _best_event(known, points, level, size)
    event, favors, point = chosen.proposal.event, chosen.proposal.favors, chosen.point
    counts = counts_of(event, favors, Confirm(Draws.of(sampler, 0, size)))
    witness = Witness(
        claim=claim,
        left=sampler.left,
        right=sampler.right,
        event=event,
        favors=favors,
        counts=counts,
        delta=point.delta,
        level=level,
        seed=sampler.seed,
    )
    block = Chain((counts,), (1.0,))
    return Counted(
        witness,
        refutes=block.rejects([(point.epsilon, point.delta)], level=level),
        softly=rejects(counts, epsilon=point.epsilon, delta=point.delta, level=SOFTLY),
    )


def _goal(point: Point, seen: Draws) -> Bound:
    return Bound(delta=point.delta, z=_HOPE, planned=seen.left.size, doubt=_DOUBT)


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


def _summed_up(
    seen: Explore, found: dict[Side, Chosen], first: Point, before: Wager | None
) -> Look:
    if not found:  # every output is the same
        return Look(seen, _FAR, first, None)
    stakes = tuple(
        Stake(event=chosen.proposal.event, favors=side, point=chosen.point)
        for side, chosen in found.items()
    )
    ladder = _ladder([chosen.point for chosen in found.values()])
    options = [stakes] if before is None else [stakes, before.bet.stakes]
    best = max(found.values(), key=lambda chosen: chosen.gain)
    return Look(seen, max(_FAR, best.gain), best.point, wager(options, seen, ladder))


def _ladder(points: Sequence[Point]) -> Ladder:
    """The claimed ε and larger ones; rejecting a smaller one would not refute the claim."""
    return Ladder.of(points).without_grid()


def _futile(seems: Look, log_wealth: float, target: float, left: int) -> bool:
    """Whether refutation seems out of reach; a wrong answer costs power, never soundness."""
    if seems.wager is None or log_wealth < _RUIN:
        return True
    return (target - log_wealth) / seems.wager.growth > _PATIENCE * left


def _best_event(known: Look, points: Sequence[Point], level: float, planned: int) -> Chosen:
    """The simple event most likely to confirm the refutation on a block; else the bets' own."""
    simple = Families(classifiers=False)
    best = best_bound(tuple(points), known.seen, simple, level=level, planned=planned)
    if known.wager is not None and (best is None or best.gain <= 0.0):
        stake = known.wager.bet.stakes[0]
        kept = Proposal(event=stake.event, favors=stake.favors, merit=known.wager.growth)
        return Chosen(proposal=kept, point=stake.point)
    if best is None:
        raise AssertionError("a claim was refuted without an event")
    return best
