"""The numbered draws of a run, and the script that determines their values."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.tracing.recording.laws import TracedLaw
from dpverify.tracing.recording.places import NOWHERE, Place

_FIRST = 256


_GENERATOR = np.random.Generator  # numpy's own, whatever stands in its place during a run


class ScriptBits(np.random.PCG64):
    """The bit generator behind a script, to be told apart from those of the traced code."""


def span(idx: Any) -> Any:  # draws by number, as an index takes them
    """A slice for consecutive draws, as in a fresh array of noise."""
    if type(idx) is not np.ndarray or not idx.size:
        return idx
    flat = idx.reshape(-1)
    first, last = int(flat[0]), int(flat[-1])
    if last - first + 1 != flat.size or not np.all(flat[1:] > flat[:-1]):
        return idx
    return slice(first, last + 1)


class Coordinates:
    """The draws of one run, by number, with the law and value of each."""

    def __init__(self) -> None:
        self.laws: list[TracedLaw] = []
        self._ids: dict[TracedLaw, int] = {}
        self._law: TracedLaw | None = None
        self._last = 0
        self.top = 0
        self.law = np.zeros(_FIRST, dtype=np.int32)
        self.z = np.zeros(_FIRST)
        self.room = _FIRST
        self.used = np.zeros(_FIRST, dtype=np.bool_)
        self.low: Floats | None = None
        self.high: Floats | None = None
        self.places: list[tuple[int, Place]] = []  # from which draw on a line drew
        self._place: Place | None = None

    def allot(self, law: TracedLaw, size: int, place: Place) -> int:
        """Reserve numbers for `size` more draws; return the first."""
        start = self.top
        self.top = top = start + size
        if top > self.room:
            self._grow(max(2 * self.room, top))
        known = self._last if law is self._law else self._number(law)
        self.law[start:top] = known
        if place is not self._place:
            self._came_to(start, place)
        return start

    def allot_one(self, law: TracedLaw, place: Place) -> int:
        """Reserve a number for one more draw: the common case."""
        start = self.top
        if start == self.room:
            self._grow(2 * self.room)
        self.top = start + 1
        self.law[start] = self._last if law is self._law else self._number(law)
        if place is not self._place:
            self._came_to(start, place)
        return start

    def _came_to(self, start: int, place: Place) -> None:
        self._place = place
        self.places.append((start, place))

    def _number(self, law: TracedLaw) -> int:
        known = self._ids.get(law)
        if known is None:
            known = self._ids[law] = len(self.laws)
            self.laws.append(law)
        self._law, self._last = law, known
        return known

    def law_of(self, index: int) -> TracedLaw:
        return self.laws[self.law.item(index)]

    def names_of(self, idx: Any) -> list[TracedLaw]:  # an array of draws
        """The laws of these draws, each once."""
        return [self.laws[i] for i in np.unique(self.law[idx])]

    def windows(self) -> tuple[Floats, Floats]:
        """For every draw, what comparisons have shown so far: low < z ≤ high."""
        if self.low is None or self.high is None:
            self.low = np.full(len(self.z), -np.inf)
            self.high = np.full(len(self.z), np.inf)
        return self.low, self.high

    def place_of(self, index: int) -> Place:
        """The line of code that made a draw."""
        best = NOWHERE
        for start, place in self.places:
            if start > index:
                break
            best = place
        return best

    def _grow(self, size: int) -> None:
        self.room = size
        more = size - len(self.z)
        self.law = np.concatenate([self.law, np.zeros(more, dtype=np.int32)])
        self.z = np.concatenate([self.z, np.zeros(more)])
        self.used = np.concatenate([self.used, np.zeros(more, dtype=np.bool_)])
        if self.low is not None and self.high is not None:
            self.low = np.concatenate([self.low, np.full(more, -np.inf)])
            self.high = np.concatenate([self.high, np.full(more, np.inf)])


class NoiseScript:
    """Where the noise of a run comes from: a seed, and values set by hand.

    `fixed` gives single draws their value (by number), `shape` turns a whole draw into another,
    `outcomes` sets the outcome of a pick or of a comparison (by number of the event). Draws from
    number `until` on are left as they come, so that loops which wait for a draw do end.
    """

    def __init__(
        self,
        seed: int,
        *,
        fixed: dict[int, float] | None = None,
        shape: Callable[[TracedLaw, Any], Any] | None = None,
        outcomes: dict[int, Any] | None = None,
        until: int = 1 << 62,
    ) -> None:
        self.seed = seed
        self.fixed = fixed or {}
        self.shape = shape
        self.outcomes = outcomes or {}
        self.until = until
        self.steered = shape is not None or bool(fixed)

    @cached_property
    def rng(self) -> np.random.Generator:
        """The generator of draws, created when the first one is needed."""
        return _GENERATOR(ScriptBits(self.seed))

    def again(self) -> "NoiseScript":
        """The same script, from its start."""
        return self.turned({}, {})

    def turned(self, outcomes: dict[int, Any], fixed: dict[int, float]) -> "NoiseScript":
        """The same script with more values set by hand."""
        return NoiseScript(
            self.seed,
            fixed={**self.fixed, **fixed},
            shape=self.shape,
            outcomes={**self.outcomes, **outcomes},
            until=self.until,
        )

    def shaped(self, shape: Callable[[TracedLaw, Any], Any], until: int) -> "NoiseScript":
        """The same script with all other draws in another shape."""
        return NoiseScript(
            self.seed, fixed=self.fixed, shape=shape, outcomes=self.outcomes, until=until
        )

    def draw(self, law: TracedLaw, size: int | None, start: int) -> Any:  # float or array
        value = _standard(self.rng, law, size)
        if self.shape is not None and start < self.until:
            value = self.shape(law, value)
        if self.fixed:
            if size is None:
                return self.fixed.get(start, value)
            for place in range(size) if size < len(self.fixed) else self.fixed:
                at = place if size < len(self.fixed) else place - start
                if 0 <= at < size and start + at in self.fixed:
                    value[at] = self.fixed[start + at]
        return value


ONE_DRAW: dict[str, Callable[[np.random.Generator, float], float]] = {
    "laplace": lambda rng, _: rng.laplace(),
    "normal": lambda rng, _: rng.standard_normal(),
    "uniform": lambda rng, _: rng.random(),
    "exponential": lambda rng, _: rng.standard_exponential(),
    "gumbel": lambda rng, _: rng.gumbel(),
    "logistic": lambda rng, _: rng.logistic(),
    "cauchy": lambda rng, _: rng.standard_cauchy(),
    "geometric": lambda rng, p: float(rng.geometric(p)),
    "integers": lambda rng, n: float(rng.integers(int(n))),
}
"""One draw of a standard law, the fast way."""


def _standard(rng: np.random.Generator, law: TracedLaw, size: int | None) -> Any:
    match law.name:
        case "laplace":
            return rng.laplace(size=size)
        case "normal":
            return rng.standard_normal(size)
        case "uniform":
            return rng.random(size)
        case "exponential":
            return rng.standard_exponential(size)
        case "gumbel":
            return rng.gumbel(size=size)
        case "logistic":
            return rng.logistic(size=size)
        case "cauchy":
            return rng.standard_cauchy(size)
        case "geometric":
            drawn = rng.geometric(law.parameter, size)
            return float(drawn) if size is None else drawn.astype(np.float64)
        case "integers":
            drawn = rng.integers(int(law.parameter), size=size)
            return float(drawn) if size is None else drawn.astype(np.float64)
        case _:
            raise KeyError(law.name)
