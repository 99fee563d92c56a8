"""The event of a witness, judged on fresh draws."""

import time
from dataclasses import replace
from typing import Any

from dpverify.auditing.attacks import Confirm, Draws
from dpverify.auditing.confidence import epsilon_lower, rejects
from dpverify.auditing.points import implied_points
from dpverify.auditing.sampling import Sampler, Side
from dpverify.auditing.verdict import NotRefuted, Refuted, Verdict, Witness, counts_of


def judge(witness: Witness, sampler: Sampler, *, samples: int, level: float) -> Verdict:
    """The verdict of a witness's event on fresh draws."""
    start = time.perf_counter()
    fresh = Confirm(Draws(*(sampler.draw(side, 0, samples) for side in Side)))
    counts = counts_of(witness.event, witness.favors, fresh)
    points = [p for p in implied_points(witness.claim) if p.delta == witness.delta]
    point = points[0] if points else implied_points(witness.claim)[0]
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
        again = replace(witness, counts=counts, level=level, seed=sampler.seed, delta=point.delta)
        return Refuted(**common, witness=again)
    return NotRefuted(**common)
