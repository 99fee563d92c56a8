"""The cost of several transcripts together, if noisy values choose the cost of later releases.

One transcript has one pair a release. δ is a sum over all transcripts, and code that spends its
budget one way after some outputs and another way after others may need more of it than each of
them. Path by path is enough for a pure claim, for Rényi and zCDP (`renyi-filter`, `zcdp-filter`)
and for Gaussian claims (`gaussian-filter`). For any other, the k-th release that costs something is
bounded by the worst of what was seen there (`adaptive-domination`). It may also be counted by its
line and turn: with slots left that bound whatever comes, the next release takes one of them and is
bounded by it, and what remains bounds the rest; by induction the product of all slots is a bound.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from dpverify.claims import AuditClaim, ProfileClaim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.largest import LargestPair, largest_finite
from dpverify.pairs.finite import FinitePair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.tracing.evidence.judging import squared_mu, within
from dpverify.tracing.evidence.spending import Spending, Upper
from dpverify.tracing.recording.laws import NOTHING
from dpverify.tracing.recording.places import Place

_MOST_FINITE = 12  # finite pairs in one slot

Slots = dict[Any, Pair]
"""What a transcript spent, by the slot that it is counted in."""


def worst_together(claim: AuditClaim, transcripts: Sequence[Spending]) -> Upper | None:
    """Pairs whose composition bounds all transcripts at once and keeps the claim; else None.

    Empty where nothing was spent, or where the claim needs no more than each transcript did.
    """
    if not _adds_up(claim) or len({spent.judged for spent in transcripts}) < 2:
        return ()
    if isinstance(claim, ApproxDP):
        pure = PureDP(epsilon=claim.epsilon)
        if all(any(within(pure, pairs) for pairs in spent.judged) for spent in transcripts):
            return ()
    most = max(min(map(squared_mu, spent.judged)) for spent in transcripts)
    bounds: Iterable[Upper | None] = (
        (GaussianPair(Fraction(math.nextafter(most, math.inf))),) if most < math.inf else None,
        _composed([_by_line(spent) for spent in transcripts]),
        *(
            _composed([dict(enumerate(spent.judged[which])) for spent in transcripts])
            for which in (0, -1)
        ),
    )
    for pairs in bounds:
        if pairs is not None and within(claim, pairs):
            return pairs
    return None


def differs_at(transcripts: Sequence[Spending]) -> Place | None:
    """The first line whose cost differs between transcripts."""
    seen: dict[Place, set[Pair]] = defaultdict(set)
    for spent in transcripts:
        for (place, *_), pair in _by_line(spent).items():
            seen[place].add(pair)
    places = [release.place for spent in transcripts for release in spent.releases]
    missing = {p for p in seen for s in transcripts if p not in {r.place for r in s.releases}}
    return next((p for p in places if len(seen[p]) > 1 or p in missing), None)


def _adds_up(claim: AuditClaim) -> bool:
    """Whether a claim can fail although it holds on every path (δ > 0)."""
    return isinstance(claim, ProfileClaim) or (isinstance(claim, ApproxDP) and claim.delta > 0)


def _by_line(spent: Spending) -> Slots:
    """Pairs by line, and by how often the line released before."""
    found: Slots = {}
    turns: Counter[Place] = Counter()
    for item in spent.items:
        for cost in item.judged:
            if cost.above is not NOTHING:
                place = item.release.place
                found[place, turns[place]] = cost.above
                turns[place] += 1
    return found


def _composed(transcripts: list[Slots]) -> Upper | None:
    """The worst pair for every slot; None if a slot has no known one."""
    found: list[Pair] = []
    for slot in dict.fromkeys(slot for spent in transcripts for slot in spent):
        worst = _worst({spent[slot] for spent in transcripts if slot in spent})
        if worst is None:
            return None
        found.append(worst)
    return tuple(found)


def _worst(pairs: set[Pair]) -> Pair | None:
    """One pair that dominates all of these; None if computing with it would take too long."""
    kept: list[Pair] = []
    gaussian = [pair for pair in pairs if isinstance(pair, GaussianPair)]
    if gaussian:
        kept.append(max(gaussian, key=lambda pair: pair.squared_mu))
    laplace = [pair for pair in pairs if isinstance(pair, LaplacePair)]
    if laplace:  # of two shifts the larger one dominates
        kept.append(max(laplace, key=_size))
    finite = [pair for pair in pairs if isinstance(pair, FinitePair)]
    if len(finite) > _MOST_FINITE:
        return None
    if finite:
        kept.append(finite[0] if len(finite) == 1 else largest_finite(finite))
    others = pairs.difference(gaussian, laplace, finite)
    pure = [p for p in others if isinstance(p, LeakyResponsePair) and not p.worst.delta]
    if pure:
        kept.append(max(pure, key=lambda pair: pair.worst.epsilon))
    kept += others.difference(pure)
    if len(kept) == 1:
        return kept[0]
    return None if finite else LargestPair(tuple(kept))


def _size(pair: LaplacePair) -> Fraction:
    return Fraction(pair.sensitivity) / Fraction(pair.scale)
