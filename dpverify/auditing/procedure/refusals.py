"""Mechanisms that no audit can judge, and what else a reader of a verdict should know."""

import numpy as np

from dpverify.auditing.attacks.proposals import Draws, Explore
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined
from dpverify.errors import InvalidParameter

_DIFFERENT = 12  # values among 32 draws, beyond which their repetition is no accident


def refuse_useless(first: Draws) -> None:
    """Raise if the mechanism only ever failed: this says nothing of its claim."""
    texts = [side.text(WHOLE) for side in (first.left, first.right) if WHOLE in side.texts]
    if len(texts) < 2:
        return
    kinds = np.unique(np.concatenate(texts))
    if len(kinds) == 1 and str(kinds[0]).startswith(("raises ", "times out")):
        told = [side.text(f"message of {WHOLE}") for side in (first.left, first.right)]
        if any(len(np.unique(side)) > 1 for side in told):
            return  # what the messages say may depend on the data
        message = f": {told[0][0]}" if told[0][0] else ""
        raise InvalidParameter(
            f"mechanism must return an output; on both sides every call {kinds[0]}{message}"
        )


def refuse_repeated(first: Draws, second: Draws) -> None:
    """Raise if different generators gave the same draws: these are no new evidence."""
    for before, now in ((first.left, second.left), (first.right, second.right)):
        size = min(before.size, now.size)
        keys = joined([before.between(0, size), now.between(0, size)]).keys(WHOLE)
        if np.array_equal(keys[:size], keys[size:]) and len(np.unique(keys)) >= _DIFFERENT:
            raise InvalidParameter(
                "mechanism must draw from rng: it gave the same draws for two different generators"
            )


def unusable(past: Explore) -> tuple[str, ...]:
    """Why the outputs could not have shown anything: they are all the same, on both sides."""
    if not (_is_constant(past.left) and _is_constant(past.right)):
        return ()
    if not _is_constant(joined([past.left, past.right])):
        return ()
    return ("every output is the same on left and right: does the mechanism use rng?",)


def _is_constant(side: Outputs) -> bool:
    keys = side.keys(WHOLE)
    return bool((keys == keys[0]).all())


def notes(past: Explore) -> tuple[str, ...]:
    """What else the reader should know."""
    sides = (("left", past.left), ("right", past.right))
    constant = [name for name, side in sides if side.size > 1 and _is_constant(side)]
    if not constant or unusable(past):
        return ()
    return (f"every output is the same on {' and '.join(constant)}: does the mechanism use rng?",)
