"""The event of a witness, judged on fresh draws."""

import hashlib
import time
from dataclasses import replace
from typing import Any

from dpverify.auditing.attacks.proposals import Confirm, Draws
from dpverify.auditing.sampling.sampler import Sampler, SampleRaised, Side
from dpverify.auditing.statistics.binomial import epsilon_lower, rejects
from dpverify.auditing.statistics.points import Point, implied_points
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness, counts_of

_REPLAY = 2  # first in the key of a replay; in that of an audit it is a side, 0 or 1


def replay_key(witness: Witness) -> tuple[int, ...]:
    """What sets the draws of a replay apart from all draws that the witness rests on.

    A seed given by mistake a second time must not judge an event on the draws that chose it; nor
    may a witness that a replay has given, so the counts are part of it.
    """
    c = witness.counts
    known = (str(witness.event), c.hits, c.trials, c.other_hits, c.other_trials, witness.seed)
    digest = hashlib.sha256(repr(known).encode("utf-8", "surrogatepass")).digest()
    return (_REPLAY, *(int.from_bytes(digest[i : i + 4], "big") for i in range(0, 16, 4)))


def judge(witness: Witness, sampler: Sampler, *, samples: int, level: float) -> Verdict:
    """The verdict of a witness's event on fresh draws."""
    start = time.perf_counter()
    fresh = Confirm(_drawn(sampler, samples))
    counts = counts_of(witness.event, witness.favors, fresh)
    point = point_of(witness)
    common: dict[str, Any] = {
        "claim": witness.claim,
        "level": level,
        "epsilon_lower": epsilon_lower(counts, delta=point.delta, level=level),
        "delta": point.delta,
        "samples": samples,
        "seconds": time.perf_counter() - start,
        "tried": (str(witness.event),),
    }
    if rejects(counts, epsilon=point.epsilon, delta=point.delta, level=level):
        known = replace(witness, counts=counts, fresh=True)
        again = replace(known, level=level, seed=sampler.seed, delta=point.delta)
        return Refuted(**common, witness=again)
    return NotRefuted(**common)


def point_of(witness: Witness) -> Point:
    """The statement (ε, δ) that the witness is held against."""
    points = implied_points(witness.claim)
    return next((p for p in points if p.delta == witness.delta), points[0])


def _drawn(sampler: Sampler, samples: int) -> Draws:
    """Both sides, in the same manner: one by one if `sample` raises, as an audit does."""
    try:
        return Draws(*(sampler.draw(side, 0, samples) for side in Side))
    except SampleRaised:
        if sampler.singly:
            raise
        return _drawn(replace(sampler, singly=True), samples)
