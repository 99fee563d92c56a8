"""Generators that are there before a trace begins: what they draw in a run is not seen.

A module's own `random.Random`, a `Generator` in an attribute or a default argument. Nothing stands
in for them; but a generator that draws moves on, and that can be seen afterwards.
"""

# ruff: noqa: ANN401  # states are whatever a generator keeps

import _random
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import compress
from typing import Any

import numpy as np

_KINDS = (_random.Random, np.random.BitGenerator)
_OWN = __name__.partition(".")[0]


class OutsideGenerators:
    """Every generator that is alive when watching begins, and whether one has drawn since then.

    To find them takes as long as a short trace: it is done before something is held against the
    mechanism, and the runs that decide about that come after.
    """

    def __init__(self) -> None:
        self.found: list[Any] = []
        self.before: list[Any] = []
        self.drew = False

    def watch(self) -> None:
        if not self.found:
            self.found = _alive()
            self.before = self._states()

    def _states(self) -> list[Any]:
        return [_state(generator) for generator in self.found]

    def have_drawn(self) -> bool:
        self.drew = self.drew or self._states() != self.before
        return self.drew

    @contextmanager
    def passed_over(self) -> Iterator[None]:
        """While this lasts, they may draw."""
        self.have_drawn()
        try:
            yield
        finally:
            self.before = self._states()


def _alive() -> list[Any]:
    """All generators of numpy, by their bits, and of Python; without those of this library."""
    every = gc.get_objects()
    kinds = {
        kind
        for kind in set(map(type, every))
        if issubclass(kind, _KINDS) and kind.__module__.partition(".")[0] != _OWN
    }
    return list(compress(every, map(kinds.__contains__, map(type, every))))


def _state(generator: Any) -> Any:
    """What a generator will draw next depends on this alone; None where it cannot be read."""
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
