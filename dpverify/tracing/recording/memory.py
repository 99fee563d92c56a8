"""What a mechanism keeps from call to call: attributes, globals, closures, and what these hold.

Code that remembers may be a source of noise that no trace sees, as a generator that is written in
Python is: so nothing is refuted for good whose memory changed while it was traced.
"""

# ruff: noqa: ANN401  # mechanisms and what they hold are whatever the user has

import hashlib
import sys
import types
from itertools import count
from typing import Any

import numpy as np

from dpverify.tracing.recording.meetings import held_by
from dpverify.tracing.recording.places import is_inside

_ATOMS = (int, float, complex, str, bytes, bool, type(None), np.generic)
_CONTAINERS = (list, tuple, set, frozenset)
_DEEPEST = 5
_MOST_PARTS = 2000
_LARGEST = 10_000_000  # bytes of an array


class Memory:
    """Whether what a mechanism holds has changed since this was made."""

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism
        self.before = self._now()

    def _now(self) -> str:
        parts: list[str] = []
        done: set[int] = set()
        waiting = [(value, 0) for value in held_by(self.mechanism)][::-1]
        while waiting and len(parts) < _MOST_PARTS:
            value, depth = waiting.pop()
            spelled, inside = _spelled(value)
            parts.append(spelled)
            if depth < _DEEPEST and id(value) not in done:
                waiting += [(part, depth + 1) for part in reversed(inside)]
            if inside:
                done.add(id(value))
        return hashlib.blake2b("\n".join(parts).encode("utf-8", "replace")).hexdigest()

    def has_changed(self) -> bool:
        return self._now() != self.before


def _spelled(value: Any) -> tuple[str, list[Any]]:
    """A value by what it consists of: in words, and its parts."""
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, _ATOMS) or kind is count:
        return f"{name} {value!r}", []
    if isinstance(value, np.ndarray) and value.dtype != object:
        told = value.tobytes() if value.nbytes <= _LARGEST else b""
        return f"{name} {value.shape} {hashlib.blake2b(told).hexdigest()}", []
    if hasattr(kind, "__length_hint__"):  # an iterator: how much of it is left
        return f"{name} {value.__length_hint__()}", []
    if isinstance(value, dict):
        return f"{name} {len(value)}", [part for item in list(value.items()) for part in item]
    if isinstance(value, _CONTAINERS):
        return f"{name} {len(value)}", list(value)
    held = _attributes(value)
    return f"{name} {sorted(held)}", [held[key] for key in sorted(held)]


def _attributes(value: Any) -> dict[str, Any]:
    """What hangs on an object, a class, a generator or a method."""
    kind = type(value)
    if isinstance(value, types.GeneratorType):
        return {} if value.gi_frame is None else dict(value.gi_frame.f_locals)
    if hasattr(value, "__self__"):
        return {"self": value.__self__}
    if isinstance(value, (types.ModuleType, types.FunctionType, property)):
        return {}
    if isinstance(value, type):
        if value.__module__ in {"builtins", "abc"} or is_inside(_file_of(value)):
            return {}
        return {name: part for name, part in vars(value).items() if not name.startswith("__")}
    held = dict(getattr(value, "__dict__", {}))
    slots = getattr(kind, "__slots__", ())
    for slot in (slots,) if isinstance(slots, str) else tuple(slots):
        if hasattr(value, slot):
            held[slot] = getattr(value, slot)
    return held


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", "") or ""
