"""The pair of a refutation, with fewer records and simpler values, while it still refutes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from dpverify.auditing.attacks.events import Between
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.sampler import Target
from dpverify.auditing.search.exploring import derived
from dpverify.auditing.verdict import Refuted, Verdict, Witness
from dpverify.schema import Candidate, Schema

Judge: TypeAlias = Callable[[Candidate, int, int], Verdict]
"""Audits a pair with a seed and so many draws a side."""

_MORE = 2  # times as many draws as the refutation took may each attempt have
_LEAST = 500
_MOST_ATTEMPTS = 60
_QUICK = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimized:
    """The simplest pair found, its witness, and the draws a side that it took."""

    candidate: Candidate
    witness: Witness
    draws: int


def minimized(  # noqa: PLR0913  # what is made simpler, and with what
    found: Refuted,
    candidate: Candidate,
    *,
    schema: Schema,
    mechanism: Target,
    judge: Judge,
    budget: int,
    seed: int,
) -> Minimized:
    """Simpler pairs as long as fresh draws refute the claim on them.

    Which pair comes out depends on the draws of these attempts, so its event is judged once more
    on draws that had no part in it; if they do not refute, the first witness stands.
    """
    each = max(_LEAST, _MORE * found.samples)
    now, witness, spent, attempts = candidate, found.witness, 0, 0
    options = schema.simpler(now)
    while spent < budget and attempts < _MOST_ATTEMPTS:
        option = next(options, None)
        if option is None:
            break
        attempts += 1
        judged = _judged(option, witness, mechanism, judge, each, derived(seed, attempts))
        spent += judged.samples
        if isinstance(judged, Refuted):
            now, witness = option, judged.witness
            options = schema.simpler(now)
    size = max(each, 2 * witness.counts.trials)
    again = witness.replay(mechanism, samples=size, seed=derived(seed, 0))
    if not isinstance(again, Refuted):
        return Minimized(candidate=candidate, witness=found.witness, draws=spent + size)
    return Minimized(candidate=now, witness=again.witness, draws=spent + size)


def _judged(  # noqa: PLR0913, PLR0917  # private, called once
    option: Candidate, known: Witness, mechanism: Target, judge: Judge, size: int, seed: int
) -> Verdict:
    """The event that is known, on the simpler pair; if it does not refute, a search for another.

    A search is worth it only where it is quick: for few draws, or for single numbers.
    """
    moved = replace(known, left=option.left, right=option.right)
    same = moved.replay(mechanism, samples=size, seed=seed)
    scalar = isinstance(known.event, Between) and known.event.feature == WHOLE
    if isinstance(same, Refuted) or (size > _QUICK and not scalar):
        return same
    searched = judge(option, derived(seed, 0), size)
    return replace(searched, samples=size + searched.samples)
