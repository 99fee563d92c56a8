"""Which events to hold against a claim next, from the draws so far."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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

    @property
    def gain(self) -> float:
        """By how much the event seems to break the statement."""
        return self.proposal.merit - self.point.epsilon


def best_choices(
    past: Explore, points: Sequence[Point], goal: Callable[[Point], Bound], families: Families
) -> dict[Side, Chosen]:
    """For each side that an event may favor, the event and the point that it breaks most."""
    best: dict[Side, Chosen] = {}
    for point in points:
        for side, proposal in propose(past, goal(point), families).items():
            chosen = Chosen(proposal=proposal, point=point)
            if side not in best or chosen.gain > best[side].gain:
                best[side] = chosen
    return best


def best_wager(
    points: tuple[Point, ...],
    past: Explore,
    families: Families,
    known: Wager | None,
    ladder: Ladder,
) -> Wager | None:
    """The bet that would have grown fastest: on new events, or on those bet on so far."""

    def goal(point: Point) -> Bound:
        return Bound(delta=point.delta, z=_HOPE, planned=past.left.size)

    found = best_choices(past, points, goal, families)
    best_first = sorted(found.items(), key=lambda item: -item[1].gain)
    options = [
        tuple(
            Stake(event=chosen.proposal.event, favors=side, point=chosen.point)
            for side, chosen in best_first
        )
    ]
    if known is not None:
        options.append(known.bet.stakes)
    return wager(options, past, ladder)


def best_bound(
    points: tuple[Point, ...], past: Explore, families: Families, *, level: float, planned: int
) -> Chosen | None:
    """The event with the largest bound to hope for; None if all outputs are the same."""
    doubt = _CAREFUL if planned >= _MANY else _BOLD

    def goal(point: Point) -> Bound:
        return Bound(delta=point.delta, z=critical(level), planned=planned, doubt=doubt)

    found = best_choices(past, points, goal, families)
    if not found:
        return None
    best = max(found.values(), key=lambda chosen: chosen.gain)
    return replace(best, proposal=simplified(best.proposal, past, goal(best.point)))


def is_ready(chosen: Chosen, past: Explore, *, level: float, planned: int) -> bool:
    """Whether the past assures most of what it lets one hope for; else it is better to wait."""
    hoped = Bound(delta=chosen.point.delta, z=critical(level), planned=planned, doubt=0.0)
    hope = merit_of(chosen.proposal.event, chosen.proposal.favors, past, hoped)
    return chosen.proposal.merit >= _READY * hope
