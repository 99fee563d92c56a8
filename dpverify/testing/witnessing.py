"""A witness for a pair that bets have refuted: an event in few words, and its counts.

Fresh draws need not confirm a refutation to make it valid; but where they do not even softly, calls
are hardly independent, which all that is said here rests on. A test does not fail then: it warns.
"""

import warnings
from collections.abc import Sequence
from typing import NamedTuple

from dpverify.auditing import NotRefuted, Refuted
from dpverify.auditing.attacks.proposals import Confirm, Families, Proposal
from dpverify.auditing.procedure.choice import Chosen, best_bound
from dpverify.auditing.procedure.conclusion import UNCONFIRMED
from dpverify.auditing.procedure.replay import point_of
from dpverify.auditing.sampling.sampler import Sampler, Target
from dpverify.auditing.statistics.binomial import Chain, rejects
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import Witness, counts_of
from dpverify.guarantees import Guarantee
from dpverify.testing.glance import Glance, draws

_BLOCK = 1_000  # draws a side, at least
_SOFTLY = 0.01  # level at which one of the blocks must refute; it is not charged
_TRIES = 3  # blocks, each twice as large


class Counted(NamedTuple):
    """A witness, whether its block refutes at its level, and whether it does at a soft one."""

    witness: Witness
    refutes: bool
    softly: bool


def counted(  # noqa: PLR0913  # what is claimed, what is known, and at what level
    sampler: Sampler,
    claim: Guarantee,
    points: Sequence[Point],
    known: Glance,
    *,
    level: float,
    attempt: int,
) -> Counted:
    """A witness from a fresh block, twice as large at every attempt.

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
    return Counted(
        witness,
        refutes=block.rejects([(point.epsilon, point.delta)], level=level),
        softly=rejects(counts, epsilon=point.epsilon, delta=point.delta, level=_SOFTLY),
    )


def is_confirmed(verdict: Refuted, mechanism: Target) -> bool:
    """Whether the witness's own draws, or one of some fresh blocks, refute softly."""
    witness, point = verdict.witness, point_of(verdict.witness)
    if verdict.stopped is not None:
        return True  # no more can be drawn
    if rejects(witness.counts, epsilon=point.epsilon, delta=point.delta, level=_SOFTLY):
        return True
    size = max(_BLOCK, witness.counts.trials)
    return any(
        witness.replay(mechanism, samples=size * 2**i, seed=i, level=_SOFTLY).refuted
        for i in range(1, _TRIES)
    )


def withdrawn(name: str, verdict: Refuted) -> NotRefuted:
    """The verdict without its refutation, after a warning."""
    warn_unconfirmed(name)
    kept = {field: getattr(verdict, field) for field in NotRefuted.__dataclass_fields__}
    notes = tuple(dict.fromkeys([*verdict.notes, UNCONFIRMED]))
    return NotRefuted(**kept | {"epsilon_lower": 0.0, "notes": notes})


def warn_unconfirmed(name: str) -> None:
    """Warn that a test was about to fail."""
    warnings.warn(f"{name}: bets refute the claim, but {UNCONFIRMED}", stacklevel=2)


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
