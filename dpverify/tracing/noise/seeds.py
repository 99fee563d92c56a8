"""Parameters and seeds by all that they consist of: what a replay compares."""

# ruff: noqa: ANN401  # parameters are whatever the user has

import hashlib
from typing import Any

import numpy as np

from dpverify.tracing.recording.events import Pick, Value
from dpverify.tracing.recording.places import Place

FEW = 2.0**31  # seeds that are drawn from fewer numbers can be tried one by one
_SHORT = 8


def told(value: Any) -> str:
    """A parameter as text that differs if the parameter does: no digit or element is left out."""
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind == "O" or array.size <= _SHORT:
            return f"{array.tolist()!r} ({array.dtype})"
        digest = hashlib.blake2b(array.tobytes(), digest_size=8).hexdigest()
        return f"{array.size} numbers {digest} ({array.dtype}, {array.shape})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(told, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{told(key)}: {told(part)}' for key, part in value.items())}}}"
    return repr(value)


def check_seed_is_secret(journal: Any, seed: Any, place: Place) -> None:
    """Note a seed that was drawn from few numbers: anyone can try what each of them gives."""
    entropy = getattr(seed, "entropy", seed)
    numbers = np.ravel(np.asarray(entropy, dtype=object)).tolist()
    whole = [n for n in numbers if isinstance(n, (int, np.integer))]
    if not whole or any(abs(int(n)) >= FEW for n in whole):
        return
    if any(_is_drawn_from_few(journal, event) for event in journal.events):
        journal.puzzle(place, "a seed is drawn from few numbers: its noise takes few values")


def _is_drawn_from_few(journal: Any, event: Any) -> bool:
    if isinstance(event, Pick):
        return event.key[0] in {"choice", "permutation", "binomial"}
    if not isinstance(event, Value) or not np.size(event.idx):
        return False
    laws = journal.draws.names_of(np.atleast_1d(event.idx))
    return any(law.name == "integers" and law.parameter < FEW for law in laws)
