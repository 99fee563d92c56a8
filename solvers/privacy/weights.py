"""The sentence in claims on weighted records."""

from dpverify.theorems import Theorem
from solvers.bounds import Bounds
from solvers.privacy.theorems import WEIGHTED_LOSSES

WEIGHTS_BELONG = "a weight belongs to its record: it is added, removed or replaced with it"


def for_weights(bounds: Bounds, theorem: Theorem) -> tuple[str, ...]:
    """Why a theorem on losses also covers weighted ones; empty if there are no weights."""
    if not bounds.weighted:
        return ()
    return WEIGHTS_BELONG, f"{theorem.name}, with weights: {WEIGHTED_LOSSES.name}"
