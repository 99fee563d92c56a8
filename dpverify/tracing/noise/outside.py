"""Generators that existed before a trace began: their draws in a run are not seen.

A module's own `random.Random`, a `Generator` in an attribute or a default argument. Nothing stands
in for them; but a generator that draws moves on, and that can be seen afterwards.
"""

# ruff: noqa: ANN401  # states are whatever a generator keeps

import _random
import gc
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import compress
from typing import Any

import numpy as np

_KINDS = (_random.Random, np.random.BitGenerator)
_OWN = __name__.partition(".")[0]
_SHARE = 0.05  # of the time that may go into looking for generators
_MOST_HELD = 2000


class OutsideGenerators:
    """Generators that are alive when watching begins, and whether one has drawn since then.

    Those that a mechanism holds are watched from the start. To find all others takes as long as a
    short trace: it is done before something is held against the mechanism, and the runs that decide
    about that come after.
    """

    def __init__(self, held: Iterable[Any] = ()) -> None:
        self.found = {id(bits): bits for bits in _held(held)}
        self.before = self._states()
        self.drew = False
        self.is_watching = False

    def watch(self) -> None:
        if not self.is_watching:
            self.is_watching = True
            self.have_drawn()
            self.found |= {id(bits): bits for bits in _CENSUS.alive()}
            self.before = self._states()

    def _states(self) -> list[Any]:
        return [_state(generator) for generator in self.found.values()]

    def have_drawn(self) -> bool:
        self.drew = self.drew or self._states() != self.before
        return self.drew

    @contextmanager
    def passed_over(self) -> Iterator[None]:
        """A context in which they may draw."""
        self.have_drawn()
        try:
            yield
        finally:
            self.before = self._states()


def _held(values: Iterable[Any]) -> Iterator[Any]:
    """The generators among some values, in their contents and attributes."""
    waiting = [(value, 0) for value in values]
    done: set[int] = set()
    while waiting and len(done) < _MOST_HELD:
        value, depth = waiting.pop()
        if id(value) in done:
            continue
        done.add(id(value))
        if isinstance(value, np.random.Generator):
            value = value.bit_generator
        elif isinstance(value, np.random.RandomState):
            value = value._bit_generator  # noqa: SLF001  # there is no other way to see it
        if _is_outside(type(value)):
            yield value
        elif depth < 3:
            parts = list(value.values()) if type(value) is dict else value
            if type(parts) not in {list, tuple, set}:
                parts = [getattr(value, "__self__", None)]
                parts += list(getattr(value, "__dict__", {}).values())
            waiting += [(part, depth + 1) for part in parts]


def _is_outside(kind: type) -> bool:
    return issubclass(kind, _KINDS) and kind.__module__.partition(".")[0] != _OWN


class _Census:
    """All generators of numpy (by their bits) and of Python, except this library's own.

    Who asks soon again gets the answer from before: generators that were made since then are found
    only if a mechanism holds them.
    """

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.again = 0.0

    def alive(self) -> list[Any]:
        start = time.perf_counter()
        if start >= self.again:
            self.found = list(self._counted())
            end = time.perf_counter()
            self.again = end + (end - start) / _SHARE
        return self.found

    @staticmethod
    def _counted() -> Iterator[Any]:
        every = gc.get_objects()
        kinds = {kind for kind in set(map(type, every)) if _is_outside(kind)}
        names = getattr(tempfile, "_name_sequence", None)
        for generator in compress(every, map(kinds.__contains__, map(type, every))):
            if generator is not getattr(names, "_rng", None):  # it names files, and hides nothing
                yield generator


_CENSUS = _Census()


def _state(generator: Any) -> Any:
    """The state that determines a generator's next draws; None if it cannot be read."""
    if isinstance(generator, _random.Random):
        return _random.Random.getstate(generator)
    try:
        return _frozen(generator.state)
    except NotImplementedError:
        return None


def _frozen(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _frozen(part) for name, part in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
