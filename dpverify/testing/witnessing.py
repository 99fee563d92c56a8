"""A witness for a pair that bets have refuted: an event in few words, and its counts."""

from collections.abc import Sequence

from dpverify.auditing.attacks import Confirm, Families, Proposal
from dpverify.auditing.choice import Chosen, best_bound
from dpverify.auditing.confidence import Chain
from dpverify.auditing.points import Point
from dpverify.auditing.sampling import Sampler
from dpverify.auditing.verdict import Witness, counts_of
from dpverify.guarantees import Guarantee
from dpverify.testing.glance import Glance, draws

_BLOCK = 1_000  # draws a side, at least


def counted(  # noqa: PLR0913  # what is claimed, what is known, and at what level
    sampler: Sampler,
    claim: Guarantee,
    points: Sequence[Point],
    known: Glance,
    *,
    level: float,
    attempt: int,
) -> tuple[Witness, bool]:
    """A witness from a fresh block, twice as large at every attempt; whether the block refutes.

    The block is drawn from `sampler`, which must not have been drawn from before.
    """
    size = max(_BLOCK, 2 * known.size) * 2**attempt
    chosen = _best_event(known, points, level, size)
    event, favors, point = chosen.proposal.event, chosen.proposal.favors, chosen.point
    counts = counts_of(event, favors, Confirm(draws(sampler, 0, size)))
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
    return witness, block.rejects([(point.epsilon, point.delta)], level=level)


def _best_event(known: Glance, points: Sequence[Point], level: float, planned: int) -> Chosen:
    """The simple event that a block can be expected to confirm; or the bets' own."""
    simple = Families(classifiers=False)
    best = best_bound(tuple(points), known.seen, simple, level=level, planned=planned)
    if known.wager is not None and (best is None or best.proposal.merit <= best.point.epsilon):
        stake = known.wager.bet.stakes[0]
        kept = Proposal(event=stake.event, favors=stake.favors, merit=known.wager.growth)
        return Chosen(proposal=kept, point=stake.point)
    if best is None:
        raise AssertionError("a claim was refuted without an event")
    return best
