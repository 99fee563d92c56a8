"""The same event in fewer words: rounded cuts, fewer values, as long as it looks as promising."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dpverify.auditing.attacks.events import Between, Event, OneOf
from dpverify.auditing.attacks.merit import Goal
from dpverify.auditing.attacks.proposals import Explore, Proposal, merit_of

_KEEP = 0.985  # share of the merit that a simpler event must keep
_MOST_TRIED = 24


def simplified(proposal: Proposal, seen: Explore, goal: Goal) -> Proposal:
    """The first of ever less simple variants that keeps nearly all of the merit."""
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
    """The values that happen most often on the favored side, ever more of them."""
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
