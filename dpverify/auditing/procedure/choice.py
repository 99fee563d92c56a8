"""Which events to hold against a claim next, from the draws so far."""

from dataclasses import dataclass

from dpverify.auditing.attacks.merit import Bound
from dpverify.auditing.attacks.proposals import Explore, Families, Proposal, merit_of, propose
from dpverify.auditing.attacks.simplify import simplified
from dpverify.auditing.sampling.sampler import Side
from dpverify.auditing.statistics.betting import Ladder, Stake, Wager, wager
from dpverify.auditing.statistics.binomial import critical
from dpverify.auditing.statistics.points import Point

_READY = 0.8  # share of the bound hoped for that the past must assure for the block to begin
_MANY = 30_000  # draws of a block, from which on caution costs it little
_BOLD, _CAREFUL = 1.75, 2.5  # standard errors of the past that its event is discounted by
_HOPE = 0.3  # standard errors by which the events of bets are discounted, besides the doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An event, and the statement (ε, δ) that it is held against."""

    proposal: Proposal
    point: Point


def best_wager(
    points: tuple[Point, ...],
    past: Explore,
    families: Families,
    known: Wager | None,
    ladder: Ladder,
) -> Wager | None:
    """The bet that would have grown fastest: on new events, or on those bet on so far."""
    found: dict[Side, tuple[float, Stake]] = {}
    for point in points:
        goal = Bound(delta=point.delta, z=_HOPE, planned=past.left.size)
        for side, proposal in propose(past, goal, families).items():
            gain = proposal.merit - point.epsilon
            if side not in found or gain > found[side][0]:
                found[side] = gain, Stake(event=proposal.event, favors=side, point=point)
    best_first = sorted(found.values(), key=lambda pair: -pair[0])
    options = [tuple(stake for _, stake in best_first)]
    if known is not None:
        options.append(known.bet.stakes)
    return wager(options, past, ladder)


def best_bound(
    points: tuple[Point, ...], past: Explore, families: Families, *, level: float, planned: int
) -> Chosen | None:
    """The event with the largest bound to hope for; None if all outputs are the same."""
    best: tuple[float, Proposal, Point, Bound] | None = None
    for point in points:
        doubt = _CAREFUL if planned >= _MANY else _BOLD
        goal = Bound(delta=point.delta, z=critical(level), planned=planned, doubt=doubt)
        for proposal in propose(past, goal, families).values():
            gain = proposal.merit - point.epsilon
            if best is None or gain > best[0]:
                best = (gain, proposal, point, goal)
    if best is None:
        return None
    _, proposal, point, goal = best
    return Chosen(proposal=simplified(proposal, past, goal), point=point)


def is_ready(chosen: Chosen, past: Explore, *, level: float, planned: int) -> bool:
    """Whether the past assures most of what it lets one hope for; else it is better to wait."""
    hoped = Bound(delta=chosen.point.delta, z=critical(level), planned=planned, doubt=0.0)
    hope = merit_of(chosen.proposal.event, chosen.proposal.favors, past, hoped)
    return chosen.proposal.merit >= _READY * hope
