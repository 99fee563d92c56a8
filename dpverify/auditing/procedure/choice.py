"""Choose from the draws so far which events to test next, in a form that prints in few words."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpverify.auditing.attacks.draws import Bound, Explore, Goal, Proposal, merit_of
from dpverify.auditing.attacks.events import Between, Event, OneOf
from dpverify.auditing.attacks.proposals import Families, propose
from dpverify.auditing.attacks.smoothing import smoothed
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.statistics.betting import Ladder, Stake, Wager, wager, watched
from dpverify.auditing.statistics.binomial import critical
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import counts_of

_READY = 0.8  # share of the bound hoped for that the past must assure for the block to begin
_MANY = 30_000  # draws of a block, from which on caution costs it little
_BOLD, _CAREFUL = 1.75, 2.5  # standard errors of the past that its event is discounted by
_HOPE = 0.3  # standard errors by which the events of bets are discounted, besides the doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An event, and the statement (ε, δ) that it is tested against.

    `also` is a second event, which favors the other side: the outputs of it that are not in the
    first are counted too.
    """

    proposal: Proposal
    point: Point
    also: Event | None = None

    @property
    def gain(self) -> float:
        """By how much the event seems to break the statement."""
        return self.proposal.merit - self.point.epsilon


def best_choices(
    past: Explore, points: Sequence[Point], goal: Callable[[Point], Bound], families: Families
) -> dict[Side, Chosen]:
    """For each side that an event may favor, the event and the point (ε, δ) it exceeds most."""
    return _most_broken(_choices(past, points, goal, families))


def _choices(
    past: Explore, points: Sequence[Point], goal: Callable[[Point], Bound], families: Families
) -> list[tuple[Side, Chosen]]:
    """For each point and each side, the best event."""
    return [
        (side, Chosen(proposal=proposal, point=point))
        for point in points
        for side, proposal in propose(past, goal(point), families).items()
    ]


def _most_broken(choices: Iterable[tuple[Side, Chosen]]) -> dict[Side, Chosen]:
    best: dict[Side, Chosen] = {}
    for side, chosen in choices:
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
    """The bet that would have grown fastest, on new events or on those already bet on.

    If none would have, the best event for the point that is watched.
    """

    def goal(point: Point) -> Bound:
        return Bound(delta=point.delta, z=_HOPE, planned=past.left.size)

    found = _choices(past, points, goal, families)
    options = [_stakes(_most_broken(found))]
    if known is not None:
        options.append(known.bet.stakes)
    seen = _stakes(_most_broken(item for item in found if item[1].point == watched(points)))
    return wager(options, past, ladder, idle=seen[:1])


def _stakes(found: dict[Side, Chosen]) -> tuple[Stake, ...]:
    """Bets on these events, the best first."""
    best_first = sorted(found.items(), key=lambda item: -item[1].gain)
    return tuple(
        Stake(event=chosen.proposal.event, favors=side, point=chosen.point)
        for side, chosen in best_first
    )


def best_bound(
    points: tuple[Point, ...], past: Explore, families: Families, *, level: float, planned: int
) -> Chosen | None:
    """The event with the largest expected lower bound on ε; None if all outputs are equal.

    With a second one that favors the other side, where both together promise more.
    """
    doubt = _CAREFUL if planned >= _MANY else _BOLD

    def goal(point: Point) -> Bound:
        return Bound(delta=point.delta, z=critical(level), planned=planned, doubt=doubt)

    found = best_choices(past, points, goal, families)
    if not found:
        return None
    best = max(found.values(), key=lambda chosen: chosen.gain)
    aim = goal(best.point)
    first = _stated(best.proposal, past, aim)
    other = found.get(first.favors.other)
    if other is None or other.point != best.point:
        return replace(best, proposal=first)
    second = _stated(other.proposal, past, aim)
    known = second.expected is not None or _as_sure(second, first, past, aim)
    also = second.event if known and _tell_more(first, second, past, aim) else None
    return replace(best, proposal=first, also=also)


def _stated(proposal: Proposal, past: Explore, goal: Bound) -> Proposal:
    """The event as it will be tested: its cut smoothed if that helps, else simplified."""
    placed = smoothed(proposal, past, goal)
    return simplified(proposal, past, goal) if placed is None else placed


_SPLITS = np.linspace(0.3, 0.7, 9)


def _tell_more(first: Proposal, second: Proposal, past: Explore, goal: Bound) -> bool:
    """Whether two events, one for each side, promise a larger bound than the first alone.

    Both are judged by the sum of their scores over √2 (see `binomial`), so some bound is reached
    by z·√2·s from one and z·√2·(1 − s) from the other.
    """
    counts = counts_of(first.event, first.favors, past, also=second.event)
    also = counts.also
    if also is None:
        return False
    own = first.expected or (counts.hits, counts.other_hits)
    back = second.expected or (also.hits, also.other_hits)

    def merit(hits: tuple[float, float], sizes: tuple[int, int], gone: float, s: float) -> float:
        size, rest = math.sqrt(2.0) * s, 1.0 - gone / sizes[1]
        if rest <= 0.0:
            return -math.inf
        part = replace(goal, z=goal.z * size, doubt=goal.doubt * size)
        # Hits on the other side are counted among fewer draws, so each weighs more.
        on, off = np.array([hits[0]]), np.array([(hits[1] + 1.0) / rest - 1.0])
        return float(part.merit(on, sizes[0], off, sizes[1])[0])

    sizes = counts.trials, counts.other_trials
    alone = merit(own, sizes, 0.0, math.sqrt(0.5))
    together = max(
        min(merit(own, sizes, back[0], s), merit(back, sizes[::-1], own[0], 1.0 - s))
        for s in _SPLITS.tolist()
    )
    return together > alone


def is_ready(chosen: Chosen, past: Explore, *, level: float, planned: int) -> bool:
    """Whether earlier draws already guarantee 80 % of the bound they suggest; else wait."""
    goal = Bound(delta=chosen.point.delta, z=critical(level), planned=planned)
    return _assured(chosen.proposal, past, goal)


def _assured(proposal: Proposal, past: Explore, goal: Bound) -> bool:
    """Whether the event's cautious merit is most of what counts without error would give."""
    hope = merit_of(proposal.event, proposal.favors, past, replace(goal, doubt=0.0))
    return proposal.merit >= _READY * hope


def _as_sure(second: Proposal, first: Proposal, past: Explore, goal: Bound) -> bool:
    """Whether the second event is nearly as promising as the first, and as well supported."""
    alike = second.merit >= _READY * first.merit
    return alike and (_assured(second, past, goal) or not _assured(first, past, goal))


_KEEP = 0.985  # share of the merit that a simpler event must keep
_MOST_TRIED = 24


def simplified(proposal: Proposal, seen: Explore, goal: Goal) -> Proposal:
    """The simplest variant of the event that keeps nearly all of its merit."""
    own = merit_of(proposal.event, proposal.favors, seen, goal)
    enough = own - (1.0 - _KEEP) * abs(own)
    for event in _simpler(proposal.event, proposal, seen):
        merit = merit_of(event, proposal.favors, seen, goal)
        if merit >= enough:
            return replace(proposal, event=event, merit=merit)
    return proposal


def _simpler(event: Event, proposal: Proposal, seen: Explore) -> Iterator[Event]:
    match event:
        case Between(low=low, high=high):
            for digits in (1, 2, 3, 4):
                yield replace(event, low=_rounded(low, digits), high=_rounded(high, digits))
        case OneOf(texts=texts) if len(texts) > 1:
            yield from _fewer(event, proposal, seen)
        case _:
            return


def _fewer(event: OneOf, proposal: Proposal, seen: Explore) -> Iterator[Event]:
    """Sets of the most frequent values on the favored side, of growing size."""
    column = seen.on(proposal.favors).text(event.feature)
    found, counts = np.unique(column, return_counts=True)
    often = dict(zip(found.tolist(), counts.tolist(), strict=True))
    order = sorted(event.texts, key=lambda text: -often.get(text, 0))
    sizes = np.unique(np.geomspace(1, len(order), _MOST_TRIED).astype(int))
    for size in sizes[:-1]:
        yield replace(event, texts=tuple(order[:size]))


def _rounded(value: float, digits: int) -> float:
    if not math.isfinite(value) or value == 0.0:
        return value
    return float(f"{value:.{digits}g}")
