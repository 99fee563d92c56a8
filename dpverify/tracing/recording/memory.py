"""State that a mechanism keeps between calls: attributes, globals, closures and their contents.

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

_ATOMS = (float, complex, str, bytes, bool, type(None), np.generic, count)
_CONTAINERS = (list, tuple)
_DEEPEST = 5
_MOST_PARTS = 1000
_LARGEST = 10_000_000  # bytes of an array
_STEPS = 1000  # by which a number that counts calls may have gone on
Path = tuple[Any, ...]


class Memory:
    """Detects whether the state of a mechanism changed since this was created.

    Counts of calls, and lists and caches to which something was added, are no noise.
    """

    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism
        self.before = self._now()

    def _now(self) -> dict[Path, Any]:
        found: dict[Path, Any] = {}
        done: set[int] = set()
        waiting: list[tuple[Path, Any]] = [((n,), x) for n, x in enumerate(held_by(self.mechanism))]
        waiting.reverse()
        while waiting and len(found) < _MOST_PARTS:
            path, value = waiting.pop()
            found[path] = _spelled(value)
            inside = _inside(value) if len(path) <= _DEEPEST and id(value) not in done else {}
            if inside:
                done.add(id(value))
                waiting += [((*path, name), part) for name, part in inside.items()][::-1]
        return found

    def has_changed(self) -> bool:
        now = self._now()
        return any(not _goes_on(x, now.get(path)) for path, x in self.before.items())


def _goes_on(before: Any, now: Any) -> bool:
    """Whether two texts are equal, or a counter went up."""
    if type(before) is int and type(now) is int:
        return 0 <= now - before <= _STEPS
    return bool(before == now)


def _spelled(value: Any) -> Any:
    """A value without its parts: a whole number as it is, otherwise a description."""
    kind = type(value)
    if kind is int:
        return value
    name = f"{kind.__module__}.{kind.__qualname__}"
    if is_inside(_file_of(kind)):  # as noise of a call is, which may not be looked at
        return name
    if isinstance(value, _ATOMS):
        return f"{name} {value!r}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        told = value.tobytes() if value.nbytes <= _LARGEST else b""
        return f"{name} {value.shape} {hashlib.blake2b(told).hexdigest()}"
    if isinstance(value, types.GeneratorType):
        return f"{name} {None if value.gi_frame is None else value.gi_frame.f_lasti}"
    if hasattr(kind, "__length_hint__"):  # an iterator: how much of it is left
        return f"{name} {value.__length_hint__()}"
    return name


def _inside(value: Any) -> dict[Any, Any]:
    """The parts of a value by name; for a container, the items it had at first."""
    if isinstance(value, dict):
        return {repr(key): part for key, part in list(value.items())}
    if isinstance(value, _CONTAINERS):
        return dict(enumerate(value))
    return _attributes(value)


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object, class, generator or method."""
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
    if is_inside(_file_of(kind)):
        return {}
    held = dict(getattr(value, "__dict__", {}))
    slots = getattr(kind, "__slots__", ())
    for slot in (slots,) if isinstance(slots, str) else tuple(slots):
        if hasattr(value, slot):
            held[slot] = getattr(value, slot)
    return held


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", "") or ""
