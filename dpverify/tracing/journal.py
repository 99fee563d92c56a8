"""The recording run: every draw, and every moment at which a noisy value becomes a number."""

import operator
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.events import (
    Bits,
    Call,
    Event,
    Pick,
    Puzzle,
    Select,
    Touch,
    Value,
    only_noise,
)
from dpverify.tracing.laws import Law
from dpverify.tracing.places import NOWHERE, Place

Floats = NDArray[np.float64]
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
}
_FIRST = 256
_GENERATOR = np.random.Generator  # numpy's own, whatever stands in its place during a run

CURRENT: ContextVar[Any] = ContextVar("journal", default=None)
"""The journal of the run that is being traced, if any."""


def span(idx: Any) -> Any:  # noqa: ANN401  # draws by number, as an index takes them
    """A slice for draws that follow each other, which is what a fresh array of noise has."""
    if type(idx) is not np.ndarray or not idx.size:
        return idx
    flat = idx.reshape(-1)
    first, last = int(flat[0]), int(flat[-1])
    if last - first + 1 != flat.size or not np.all(flat[1:] > flat[:-1]):
        return idx
    return slice(first, last + 1)


def _at(values: Any, where: Any, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
    found = values[where]
    return found.reshape(shape) if type(where) is slice else found


class Coordinates:
    """The draws of one run, numbered; with the law and the value of each."""

    def __init__(self) -> None:
        self.laws: list[Law] = []
        self._ids: dict[Law, int] = {}
        self._law: Law | None = None
        self._last = 0
        self.top = 0
        self.law = np.zeros(_FIRST, dtype=np.int16)
        self.z = np.zeros(_FIRST)
        self.used = np.zeros(_FIRST, dtype=np.bool_)
        self.low: Floats | None = None
        self.high: Floats | None = None
        self.places: list[tuple[int, Place]] = []

    def allot(self, law: Law, size: int, place: Place) -> int:
        """Room for `size` more draws; returns the number of the first."""
        start = self.top
        self.top = start + size
        if self.top > len(self.z):
            self._grow(max(2 * len(self.z), self.top))
        known = self._last if law is self._law else self._number(law)
        if size == 1:
            self.law[start] = known
        else:
            self.law[start : self.top] = known
        self.places.append((start, place))
        return start

    def _number(self, law: Law) -> int:
        known = self._ids.get(law)
        if known is None:
            known = self._ids[law] = len(self.laws)
            self.laws.append(law)
        self._law, self._last = law, known
        return known

    def law_of(self, index: int) -> Law:
        return self.laws[int(self.law[index])]

    def names_of(self, idx: Any) -> list[Law]:  # noqa: ANN401  # an array of draws
        """The laws of these draws, each once."""
        return [self.laws[i] for i in np.unique(self.law[idx])]

    def windows(self) -> tuple[Floats, Floats]:
        """For every draw what comparisons have shown so far: low < z ≤ high."""
        if self.low is None or self.high is None:
            self.low = np.full(len(self.z), -np.inf)
            self.high = np.full(len(self.z), np.inf)
        return self.low, self.high

    def place_of(self, index: int) -> Place:
        """The line that made a draw."""
        best = NOWHERE
        for start, place in self.places:
            if start > index:
                break
            best = place
        return best

    def _grow(self, size: int) -> None:
        more = size - len(self.z)
        self.law = np.concatenate([self.law, np.zeros(more, dtype=np.int16)])
        self.z = np.concatenate([self.z, np.zeros(more)])
        self.used = np.concatenate([self.used, np.zeros(more, dtype=np.bool_)])
        if self.low is not None and self.high is not None:
            self.low = np.concatenate([self.low, np.full(more, -np.inf)])
            self.high = np.concatenate([self.high, np.full(more, np.inf)])


class Script:
    """Where noise comes from: a seed, and what is set by hand.

    `fixed` gives single draws their value (by number), `shape` turns a whole draw into another,
    `outcomes` sets the outcome of a pick or of a comparison (by number of the event). Draws from
    number `until` on are left as they come, so that loops which wait for a draw do end.
    """

    def __init__(
        self,
        seed: int,
        *,
        fixed: dict[int, float] | None = None,
        shape: Callable[[Law, Any], Any] | None = None,
        outcomes: dict[int, Any] | None = None,
        until: int = 1 << 62,
    ) -> None:
        self.seed = seed
        self.rng = _GENERATOR(np.random.PCG64(seed))
        self.fixed = fixed or {}
        self.shape = shape
        self.outcomes = outcomes or {}
        self.until = until

    def draw(self, law: Law, size: int | None, start: int) -> Any:  # noqa: ANN401  # float or array
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


def _standard(rng: np.random.Generator, law: Law, size: int | None) -> Any:  # noqa: ANN401
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


class Journal:
    """What a run did, in order. The base of the recording and of the replay."""

    def __init__(self, script: Script, *, eager: bool = False) -> None:
        self.script = script
        self.eager = eager
        self.draws = Coordinates()
        self.events: list[Event] = []
        self.puzzles: list[Puzzle] = []
        self.seeds: list[tuple[Place, Any]] = []
        self.tapes: dict[str, list[Any]] = {}
        self.thread = threading.get_ident()
        self.closed = False
        self.inner = False

    def puzzle(self, place: Place, what: str) -> None:
        """Note a use that is not understood; each line once."""
        found = Puzzle(place, what)
        if found not in self.puzzles:
            self.puzzles.append(found)

    def in_thread(self, place: Place) -> None:
        if threading.get_ident() != self.thread:
            self.puzzle(place, "noise is drawn in a thread: the order of draws is not fixed")


class Recording(Journal):
    """The run that is recorded: noise as the script has it."""

    def draw(self, law: Law, size: int | None, place: Place) -> int:
        self.in_thread(place)
        draws = self.draws
        start = draws.allot(law, 1 if size is None else size, place)
        value = self.script.draw(law, size, start)
        if size is None:
            draws.z[start] = value
        else:
            draws.z[start : start + size] = value
        return start

    def realize(  # noqa: PLR0913  # the parts of a form
        self,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        place: Place,
        *,
        final: bool = False,
    ) -> Any:  # noqa: ANN401
        """The numbers that a form stands for; from now on they are known."""
        draws = self.draws
        forced = self.script.outcomes.get(len(self.events))
        if forced is not None and not np.any(draws.used[idx]):
            draws.z[idx] = (forced - np.asarray(offset)) / coef
        if type(idx) is int:
            values = offset + coef * float(draws.z[idx])
            fresh: Any = not draws.used[idx]
            draws.used[idx] = True
        else:
            where, shape = span(idx), np.shape(idx)
            products = coef * _at(draws.z, where, shape)
            many = np.ndim(idx) > np.ndim(offset)
            values = offset + (products.sum(axis=-1) if many else products)
            fresh = ~_at(draws.used, where, shape)
            draws.used[where] = True
        raw = only_noise(touches)
        self.events.append(Value(place, touches, offset, idx, coef, values, fresh, raw, final))
        return values

    def shaped(self, law: Law, values: Any, place: Place) -> int:  # noqa: ANN401
        """New noise, made from raw noise by a function that is not linear."""
        start = self.draws.allot(law, np.size(values), place)
        self.draws.z[start : start + np.size(values)] = np.ravel(values)
        return start

    def compare(  # noqa: PLR0913, PLR0917
        self,
        op: str,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        place: Place,
    ) -> Any:  # noqa: ANN401
        """How offset + coef·z compares with 0; only the outcome is used."""
        draws = self.draws
        low, high = draws.windows()
        forced = self.script.outcomes.get(len(self.events))
        scalar = type(idx) is int
        if scalar and forced is None:
            return self._compare_one(op, offset, idx, coef, touches, place)
        if forced is not None:
            self._force(op, forced, offset, idx, coef)
        gap = offset + coef * draws.z[idx]
        outcome = COMPARE[op](gap, 0.0)
        raised = gap > 0.0 if op in {"greater", "less_equal"} else gap >= 0.0
        window = (low[idx], high[idx])
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = np.divide(-np.asarray(offset, dtype=np.float64), coef)
        up = raised == (np.asarray(coef) > 0)
        low[idx] = np.where(up, np.maximum(low[idx], cut), low[idx])
        high[idx] = np.where(up, high[idx], np.minimum(high[idx], cut))
        if scalar:
            outcome, raised = bool(outcome), bool(raised)
        self.events.append(Bits(place, touches, offset, idx, coef, outcome, raised, window))
        return outcome

    def _compare_one(  # noqa: PLR0913, PLR0917
        self,
        op: str,
        offset: float,
        idx: int,
        coef: float,
        touches: tuple[Touch, ...],
        place: Place,
    ) -> bool:
        """One number: the common case, in plain Python."""
        draws = self.draws
        low, high = draws.windows()
        gap = offset + coef * float(draws.z[idx])
        raised = gap > 0.0 if op in {"greater", "less_equal"} else gap >= 0.0
        outcome = raised if op in {"greater", "greater_equal"} else not raised
        window = (float(low[idx]), float(high[idx]))
        cut = -offset / coef
        if raised == (coef > 0):
            if cut > window[0]:
                low[idx] = cut
        elif cut < window[1]:
            high[idx] = cut
        self.events.append(Bits(place, touches, offset, idx, coef, outcome, raised, window))
        return outcome

    def _force(self, op: str, forced: Any, offset: Any, idx: Any, coef: Any) -> None:  # noqa: ANN401
        """Move noise across the threshold where that gives the outcome that is wanted."""
        draws = self.draws
        low, high = draws.windows()
        gap = offset + coef * draws.z[idx]
        wrong = COMPARE[op](gap, 0.0) != forced
        cut = -np.asarray(offset, dtype=np.float64) / coef
        up = (gap > 0.0) == (np.asarray(coef) > 0)
        unknown = ~draws.used[idx]
        for at in np.ndindex(np.shape(idx)):
            if np.asarray(wrong)[at] and np.asarray(unknown)[at]:
                j = int(np.asarray(idx)[at])
                bound = float(np.broadcast_to(cut, np.shape(idx))[at])
                window = (float(low[j]), float(high[j]))
                to = not bool(np.broadcast_to(up, np.shape(idx))[at])
                found = _beyond(draws.law_of(j), bound, window, up=to)
                if found is not None:
                    draws.z[j] = found

    def select(
        self,
        offset: Any,  # noqa: ANN401
        idx: Any,  # noqa: ANN401
        coef: Any,  # noqa: ANN401
        touches: tuple[Touch, ...],
        place: Place,
    ) -> int:
        outcome = int(np.argmax(offset + coef * self.draws.z[idx]))
        self.events.append(Select(place, touches, offset, idx, coef, outcome))
        return outcome

    def pick(
        self,
        key: tuple[Any, ...],
        weights: Floats | None,
        sample: Callable[[np.random.Generator], Any],
        place: Place,
    ) -> Any:  # noqa: ANN401
        """An outcome drawn by `sample`; `weights` are its probabilities where they are known."""
        self.in_thread(place)
        outcome = sample(self.script.rng)
        forced = self.script.outcomes.get(len(self.events))
        if forced is not None:
            outcome = forced
        self.events.append(Pick(place, key, weights, outcome))
        return outcome

    def call(
        self,
        name: str,
        given: Any,  # noqa: ANN401
        run: Callable[[], Any],
        cost: Callable[[Any, Any], Any],  # noqa: ARG002  # the replay needs it
        place: Place,
    ) -> Any:  # noqa: ANN401
        self.in_thread(place)
        # What the mechanism draws inside is not looked at: it goes to a journal of its own.
        inner = Recording(Script(int(self.script.rng.integers(2**62))))
        inner.inner = True
        token = CURRENT.set(inner)
        try:
            output = run()
            if hasattr(output, "realize"):
                output = output.realize(place)
        finally:
            CURRENT.reset(token)
        self.events.append(Call(place, name, given, output))
        return output


def _beyond(law: Law, cut: float, window: tuple[float, float], *, up: bool) -> float | None:
    """A value of the law's support on the wanted side of a threshold, if there is one."""
    low, high = window
    if law.name in {"uniform", "exponential"}:
        low = max(low, 0.0)
    if law.name == "uniform":
        high = min(high, 1.0)
    low, high = (max(cut, low), high) if up else (low, min(cut, high))
    if not low < high:
        return None
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2.0
    return low + 1.0 if np.isfinite(low) else high - 1.0
