"""The end of an audit: its verdict, and the search for leaks through bits."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.attacks.draws import (
    MANY,
    Bound,
    Confirm,
    Draws,
    Explore,
    Proposal,
    unexamined_bits,
)
from dpverify.auditing.attacks.proposals import (
    Families,
    in_order,
    propose,
    unexamined_relations,
)
from dpverify.auditing.procedure.choice import Chosen, best_bound
from dpverify.auditing.procedure.rounds import notes, unusable
from dpverify.auditing.procedure.state import Plan, State, most_held
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.processes import OutOfTime, Stopped
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.statistics.binomial import Counts, critical, epsilon_lower, rejects
from dpverify.auditing.statistics.independence import dependence
from dpverify.auditing.statistics.points import Point
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness, counts_of
from dpverify.claims import AuditClaim

_LEARN_BITS = 4_096  # draws a side that events about bits are chosen from, if there are enough
_LOOSER = 0.05  # level at which the fresh block should confirm what the bets refuted
DEPENDENT = "calls are not independent"
UNCONFIRMED = "a fresh block does not confirm it: are the calls independent?"
NOTHING_YET = "method='fixed' tests once, at the end of the budget: a stopped audit shows nothing"
_LEAST_FRESH = 1_000  # draws a side of the block after an early refutation, if so many are allowed


def conclude(plan: Plan, state: State, sampler: Sampler, stopped: Stopped | None) -> Verdict:
    """The verdict, except for the time it took.

    Of an audit that was stopped only the bets speak: when the block's test would have been made
    is then no longer a matter of the plan.
    """
    past = state.past()
    fresh: Draws | None = None
    if state.refuted:
        fresh, stopped = _fresh_block(plan, state, sampler, stopped)
        verdict = _early(plan, state, sampler, fresh)
    elif stopped is not None:
        shown = plan.shown_by_bets(state.wealth)
        told = () if plan.levels.bets > 0.0 else (NOTHING_YET,)
        verdict = NotRefuted(**_common(plan, state, shown, plan.watched), notes=told)
    else:
        verdict = _at_the_end(plan, state, sampler)
    linked = dependence(past if fresh is None else past.followed_by(fresh))
    if linked is not None:
        note = f"{DEPENDENT}: {linked}; no test of the claim applies to such draws"
        return NotRefuted(**_common(plan, state, 0.0), unusable=(note,), stopped=stopped)
    leak = None
    fewest = FEWEST_FOR_BITS if fresh is not None else 2 * FEWEST_FOR_BITS
    looked = not plan.bits and stopped is None and state.drawn >= fewest
    if not plan.bits and stopped is None:
        leak = _float_leak(plan, verdict, sampler, state, fresh)
    verdict = replace(
        verdict,
        notes=(*verdict.notes, *notes(past), *_unexamined(plan, state, looked_at_bits=looked)),
        unusable=unusable(past, bits=plan.bits),
    )
    return replace(verdict, float_leak=leak, stopped=stopped)


def _unexamined(plan: Plan, state: State, *, looked_at_bits: bool) -> tuple[str, ...]:
    """A note on what parts of the outputs no event covered."""
    found = [f"not examined: {what}" for what in sorted(state.unread)]
    if relations := unexamined_relations(state.latest[-1], state.tried):
        found.append(f"not examined: {relations}")
    if plan.bits and (bits := unexamined_bits(state.latest[-1])):
        found.append(f"not examined: {bits}")
    if not plan.bits and not looked_at_bits and has_fractions(state.latest[-1]):
        found.append("not examined: the bits of floats (float_leak was not looked for)")
    if not state.tried:
        found.append("nothing was looked for: too few draws to choose an event from")
    return tuple(found)


def _at_the_end(plan: Plan, state: State, sampler: Sampler) -> Verdict:
    if state.chosen is None or state.counts is None:
        return NotRefuted(**_common(plan, state, plan.shown_by_bets(state.wealth), plan.watched))
    point, counts = state.chosen.point, state.counts
    shown = _shown_at(plan, state, point)
    lower = max(shown, epsilon_lower(counts, delta=point.delta, level=plan.levels.bound))
    if rejects(counts, epsilon=point.epsilon, delta=point.delta, level=plan.levels.block):
        witness = _witness(plan, sampler, state.chosen, counts)
        common = _common(plan, state, max(lower, point.epsilon), point)
        return Refuted(**common, witness=witness)
    return NotRefuted(**_common(plan, state, lower, point))


def _fresh_block(
    plan: Plan, state: State, sampler: Sampler, stopped: Stopped | None
) -> tuple[Draws | None, Stopped | None]:
    """Fresh draws for the witness of an early refutation; None if they cannot be had."""
    if stopped is not None:
        return None, stopped
    size = min(max(_LEAST_FRESH, state.used), plan.budget)
    size = min(size, most_held(state.width)) if state.width > MANY else size
    try:
        left, right = sampler.draw(state.drawn, state.drawn + size)
    except KeyboardInterrupt:
        return None, Stopped(why="interrupt", reason="interrupted")
    except OutOfTime:
        return None, Stopped(why="time", reason="its time was over")
    except Exception as error:  # noqa: BLE001  # the claim is refuted, whatever failed after that
        return None, Stopped(why="failure", reason=f"{type(error).__name__}: {error}")
    return Draws(left, right), None


def _early(plan: Plan, state: State, sampler: Sampler, fresh: Draws | None) -> Verdict:
    """The verdict after the bets refuted, with a witness judged on fresh draws if there are any."""
    if fresh is None:
        shown = plan.shown_by_bets(state.wealth)
        chosen = _last_bet(state)
        counts = counts_of(chosen.proposal.event, chosen.proposal.favors, state.latest[-1])
        witness = replace(_witness(plan, sampler, chosen, counts), fresh=False)
        return Refuted(**_common(plan, state, shown, plan.watched), witness=witness)
    points = plan.points if state.chosen is None else (state.chosen.point,)
    level, planned = plan.levels.block or plan.levels.whole, fresh.left.size
    best = best_bound(points, state.past(), plan.families(), level=level, planned=planned)
    if best is None:  # the bets were on events, so there are some
        raise AssertionError("refuted without an event")
    proposal = best.proposal
    counts = counts_of(proposal.event, proposal.favors, Confirm(fresh), also=best.also)
    lower = epsilon_lower(counts, delta=best.point.delta, level=plan.levels.fresh)
    witness = _witness(plan, sampler, best, counts)
    doubts = () if _confirms(counts, best.point, plan.levels.whole) else (UNCONFIRMED,)
    common = _common(plan, state, max(_shown_at(plan, state, best.point), lower), best.point)
    return Refuted(**common, witness=witness, notes=doubts)


def _shown_at(plan: Plan, state: State, point: Point) -> float:
    """The lower bound from the bets, if they bound ε at the δ of this point; else 0."""
    return plan.shown_by_bets(state.wealth) if point.delta == plan.watched.delta else 0.0


def _confirms(counts: Counts, point: Point, level: float) -> bool:
    """Whether the fresh block also rejects the claim, at a looser level."""
    looser = max(level, _LOOSER)
    return rejects(counts, epsilon=point.epsilon, delta=point.delta, level=looser)


def _last_bet(state: State) -> Chosen:
    """The first event of the bet that refuted, which earlier draws ranked highest."""
    if state.wager is None:
        raise AssertionError("refuted without a bet")
    stake = state.wager.bet.stakes[0]
    proposal = Proposal(event=stake.event, favors=stake.favors, merit=0.0)
    return Chosen(proposal=proposal, point=stake.point)


def _float_leak(
    plan: Plan, verdict: Verdict, sampler: Sampler, state: State, fresh: Draws | None
) -> Witness | None:
    """A leak through bits, judged on draws that did not choose the event, point or stopping time.

    Half the level each for an audit that ends early and for one that does not. Bits follow
    magnitudes, so where the real numbers alone break the claim, bits must show clearly more.
    """
    explore, confirm = (state.past(), fresh) if fresh is not None else _bit_draws(plan, state)
    point = next(p for p in plan.points if p.delta == verdict.delta)
    shown = verdict.epsilon_lower
    beyond = replace(point, epsilon=max(point.epsilon, shown + 0.5 * (shown > point.epsilon)))
    search = BitSearch(point=beyond, claim=plan.claim, level=plan.levels.whole / 2)
    return search.leak(Explore(explore), Confirm(confirm), sampler)


def _bit_draws(plan: Plan, state: State) -> tuple[Draws, Draws]:
    """Past draws, split into those that choose events about bits and those that judge them.

    Where the point was chosen among several, the latter are no more than were drawn since.
    """
    past = state.past()
    explore, confirm = past.split(_LEARN_BITS)
    if len(plan.points) == 1 or state.counts is None:
        return explore, confirm
    size = past.left.size
    cut = max(explore.left.size, size - state.counts.trials)
    explore, confirm = (
        Draws(past.left.between(a, b), past.right.between(a, b)) for a, b in ((0, cut), (cut, size))
    )
    return explore, confirm


def _witness(plan: Plan, sampler: Sampler, chosen: Chosen, counts: Counts) -> Witness:
    return Witness(
        claim=plan.claim,
        left=sampler.left,
        right=sampler.right,
        event=chosen.proposal.event,
        favors=chosen.proposal.favors,
        also=chosen.also,
        counts=counts,
        delta=chosen.point.delta,
        level=plan.levels.whole,
        seed=sampler.seed,
    )


def _common(plan: Plan, state: State, lower: float, point: Point | None = None) -> dict[str, Any]:
    return {
        "claim": plan.claim,
        "level": plan.levels.whole,
        "epsilon_lower": lower,
        "delta": (point or plan.points[0]).delta,
        "samples": state.used,
        "seconds": 0.0,
        "tried": in_order(state.tried),
    }


FEWEST_FOR_BITS = 128  # draws a side


@dataclass(frozen=True, slots=True, kw_only=True)
class BitSearch:
    """The search for a leak through bits: the claim to refute, and the level."""

    point: Point
    claim: AuditClaim
    level: float

    def leak(self, explore: Explore, confirm: Confirm, sampler: Sampler) -> Witness | None:
        """A witness about bits that refutes the claim, or None.

        Whole numbers have no bits to leak, so outputs must have fractions.
        """
        size = min(explore.left.size, confirm.left.size)
        if size < FEWEST_FOR_BITS or not has_fractions(explore):
            return None
        point = self.point
        goal = Bound(delta=point.delta, z=critical(self.level), planned=confirm.left.size)
        found = propose(explore, goal, Families(only_bits=True)).values()
        best = max(found, key=lambda proposal: proposal.merit, default=None)
        if best is None:
            return None
        counts = counts_of(best.event, best.favors, confirm)
        if not rejects(counts, epsilon=point.epsilon, delta=point.delta, level=self.level):
            return None
        return Witness(
            claim=self.claim,
            left=sampler.left,
            right=sampler.right,
            event=best.event,
            favors=best.favors,
            counts=counts,
            delta=point.delta,
            level=self.level,
            seed=sampler.seed,
        )


def has_fractions(draws: Draws) -> bool:
    """Whether outputs hold numbers that are not whole."""
    names = [name for name in draws.left.columns if name.startswith(WHOLE)]
    return any(_fractional(draws.left.column(name)) for name in names)


def _fractional(column: Floats) -> bool:
    finite = column[np.isfinite(column)]
    return bool(finite.size) and bool((finite != np.floor(finite)).any())
