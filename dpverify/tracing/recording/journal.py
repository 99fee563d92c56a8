"""The recorded run: every draw, and every moment when a noisy value becomes a number."""

# ruff: noqa: ANN401  # operands are whatever the user has

import math
import operator
import threading
from collections.abc import Callable
from contextvars import ContextVar
from copy import deepcopy
from math import isfinite  # Python's own, whatever stands in its place during a run
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.tracing.recording.draws import ONE_DRAW, Coordinates, NoiseScript, span
from dpverify.tracing.recording.events import (
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
from dpverify.tracing.recording.laws import TracedLaw
from dpverify.tracing.recording.places import Place

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
}


CURRENT: ContextVar[Any] = ContextVar("journal", default=None)
"""The journal of the run that is being traced, if any."""

_MOST_BOUNDS = 256


class KnownBound(NamedTuple):
    """A number offset + coef·z that is already known, and what it is compared with."""

    draw: int
    offset: float
    coef: float
    by: float


class Tie(NamedTuple):
    """Noisy numbers that the code tests for equality with others, and their distances.

    Each number is gap + coef·z short of being so, by its draws, which stand in one row a number.
    """

    place: Place
    draws: NDArray[np.intp]
    coefs: Floats
    gaps: Floats


def _at(values: Any, where: Any, shape: tuple[int, ...]) -> Any:
    found = values[where]
    return found.reshape(shape) if type(where) is slice else found


_thread = threading.get_ident


class TraceJournal:
    """What a run did, in order; the base class of the recording and the replay."""

    plainly = False  # whether noise is handed out as plain numbers

    def __init__(self, script: NoiseScript, *, eager: int = 0) -> None:
        self.script = script
        self.origin = script.seed  # of the recording, for a replay as well
        self.eager = eager
        self.draws = Coordinates()
        self.events: list[Event] = []
        self.puzzles: list[Puzzle] = []
        self.seeds: list[tuple[Place, Any]] = []
        self.tapes: dict[str, Any] = {}
        self.opened: frozenset[int] = frozenset()  # which of the seeds the output tells
        self.thread = _thread()
        self.coarse = 1.0  # the last place of the shortest floats that met noise, in doubles
        self.closed = False
        self.imported = False  # whether the code had to import something
        self.inner = False
        self.bounds: list[KnownBound] = []  # of numbers that were known before they were compared
        self.ties: list[Tie] = []
        self.beside: list[tuple[Place, Any]] = []  # what functions got beside noisy numbers
        self.ambient: dict[Any, Any] = {}  # what np.random.* and random.* stand for in this run

    @property
    def chosen(self) -> bool:
        """Whether some noise of the run was chosen rather than drawn."""
        return self.script.steered

    def puzzle(self, place: Place, what: str) -> None:
        """Note a use that is not understood, once per line."""
        found = Puzzle(place, what)
        if found not in self.puzzles:
            self.puzzles.append(found)

    def met(self, last_place: float) -> None:
        """Note the relative spacing of floats that met noise: shifts are no more precise."""
        self.coarse = max(self.coarse, last_place * 2.0**52)

    def bounded(self, offset: Any, idx: Any, coef: Any, by: Any) -> None:
        """Note what known numbers are compared with, as data may decide there."""
        parts = [np.ravel(part) for part in np.broadcast_arrays(idx, offset, coef, by)]
        rows = zip(*(part[:_MOST_BOUNDS].tolist() for part in parts), strict=True)
        if len(self.bounds) < _MOST_BOUNDS:
            every = (KnownBound(int(j), float(v), float(c), float(b)) for j, v, c, b in rows)
            self.bounds += [bound for bound in every if bound.coef]

    def tied(self, offset: Any, idx: Any, coef: Any, to: Any, place: Place) -> None:
        """Note that noisy numbers are tested for equality with plain ones."""
        if len(self.ties) >= _MOST_BOUNDS or np.size(idx) > _MOST_BOUNDS:
            return
        gaps = np.atleast_1d(np.asarray(offset, dtype=np.float64) - to)
        shape = (gaps.size, -1) if np.size(idx) % max(gaps.size, 1) == 0 and gaps.size else None
        if shape is not None:
            draws, coefs = (np.asarray(x).reshape(shape) for x in np.broadcast_arrays(idx, coef))
            self.ties.append(Tie(place, draws, coefs.astype(np.float64), gaps.reshape(-1)))

    def in_thread(self, place: Place) -> None:
        if _thread() != self.thread:
            self.puzzle(place, "noise is drawn in a thread: the order of draws is not fixed")


class Recording(TraceJournal):
    """The recorded run, whose noise comes from the script."""

    def __init__(
        self, script: NoiseScript, *, eager: int = 0, opened: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(script, eager=eager)
        self.opened = opened
        self.chosen_from: list[Any] = []  # draws of each choice of the largest

    def as_drawn(self, nudge: float = 1.0) -> NoiseScript:
        """A script with the noise of this run, moved up a little if it is not whole."""
        draws = self.draws
        z = draws.z[: draws.top]
        if nudge != 1.0:
            whole = [i for i, law in enumerate(draws.laws) if law.is_discrete]
            z = np.where(np.isin(draws.law[: draws.top], whole), z, nudge * z)
        return NoiseScript(self.script.seed, fixed=dict(enumerate(z.tolist())))

    def _expose(self, idx: Any) -> None:
        """Count all draws of a choice as released if some of them are compared as well.

        The index of the largest alone has a law that is known; together with anything else about
        the same draws it has not, and the noisy numbers themselves are charged.
        """
        for group in self.chosen_from:
            if np.intersect1d(group, idx).size:
                self.draws.used[group] = True
                self.draws.used[idx] = True

    def draw(self, law: TracedLaw, size: int | None, place: Place) -> int:
        if _thread() != self.thread:
            self.in_thread(place)
        draws, script = self.draws, self.script
        if size is None:
            start = draws.allot_one(law, place)
            if script.steered:
                draws.z[start] = float(script.draw(law, None, start))
            else:
                draws.z[start] = ONE_DRAW[law.name](script.rng, law.parameter)
        else:
            start = draws.allot(law, size, place)
            draws.z[start : start + size] = script.draw(law, size, start)
        return start

    def realize(  # noqa: PLR0913  # the parts of a form
        self,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
        place: Place,
        *,
        final: bool = False,
    ) -> Any:
        """The numbers of a form, which are known from now on."""
        draws = self.draws
        outcomes = self.script.outcomes
        forced = outcomes.get(len(self.events)) if outcomes else None
        if forced is not None and not np.any(draws.used[idx]):
            draws.z[idx] = (forced - np.asarray(offset)) / coef
        if type(idx) is int:
            values = offset + coef * draws.z.item(idx)
            fresh: Any = not draws.used.item(idx)
            if isfinite(offset):  # beside infinity nothing of the noise is told
                draws.used[idx] = True
        else:
            where, shape = span(idx), np.shape(idx)
            products = coef * _at(draws.z, where, shape)
            many = np.ndim(idx) > np.ndim(offset)
            values = offset + (products.sum(axis=-1) if many else products)
            fresh = ~_at(draws.used, where, shape)
            told = np.isfinite(offset)
            if not np.all(told) or (many and not np.all(coef)):
                told = np.broadcast_to(told[..., None] if many else told, shape)
                counts = np.broadcast_to(coef, shape) != 0.0 if many else True
                draws.used[np.asarray(idx)[told & counts]] = True
            else:
                draws.used[where] = True
        raw = only_noise(touches)
        self.events.append(Value(place, touches, offset, idx, coef, values, fresh, raw, final))
        return values

    def shaped(self, law: TracedLaw, values: Any, place: Place) -> int:
        """New noise, made from raw noise by a function that is not linear."""
        start = self.draws.allot(law, np.size(values), place)
        self.draws.z[start : start + np.size(values)] = np.ravel(values)
        return start

    def compare(  # noqa: PLR0913, PLR0917
        self,
        op: str,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
        place: Place,
    ) -> Any:
        """Whether offset + coef·z is above 0; only this outcome is used."""
        scalar = type(idx) is int
        outcomes = self.script.outcomes
        forced = outcomes.get(len(self.events)) if outcomes else None
        if scalar and forced is None:
            return self._compare_one(op, offset, idx, coef, touches, place)
        draws = self.draws
        low, high = draws.windows()
        if forced is not None:
            self._force(op, forced, offset, idx, coef)
        gap = offset + coef * draws.z[idx]
        outcome = COMPARE[op](gap, 0.0)
        raised = gap > 0.0 if op in {"greater", "less_equal"} else gap >= 0.0
        window = (low[idx], high[idx])
        with np.errstate(all="ignore"):
            cut = np.divide(-np.asarray(offset, dtype=np.float64), coef)
        up = raised == (np.asarray(coef) > 0)
        low[idx] = np.where(up, np.maximum(low[idx], cut), low[idx])
        high[idx] = np.where(up, high[idx], np.minimum(high[idx], cut))
        if scalar:
            outcome, raised = bool(outcome), bool(raised)
        self.events.append(Bits(place, touches, offset, idx, coef, outcome, raised, window))
        if self.chosen_from:
            self._expose(idx)
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
        """The same for one number: the common case, in plain Python."""
        draws = self.draws
        low, high = draws.windows()
        gap = offset + coef * draws.z.item(idx)
        raised = gap > 0.0 if op in {"greater", "less_equal"} else gap >= 0.0
        outcome = raised if op in {"greater", "greater_equal"} else not raised
        window = (low.item(idx), high.item(idx))
        cut = -offset / coef
        if raised == (coef > 0):
            if cut > window[0]:
                low[idx] = cut
        elif cut < window[1]:
            high[idx] = cut
        self.events.append(Bits(place, touches, offset, idx, coef, outcome, raised, window))
        if self.chosen_from:
            self._expose(idx)
        return outcome

    @np.errstate(all="ignore")
    def _force(self, op: str, forced: Any, offset: Any, idx: Any, coef: Any) -> None:
        """Move noise across the threshold, if that gives the wanted outcome."""
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
                found = beyond(draws.law_of(j), bound, window, up=to)
                if found is not None:
                    draws.z[j] = found

    def select(
        self,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],
        place: Place,
    ) -> int:
        draws = self.draws
        outcome = int(np.argmax(offset + coef * draws.z[idx]))
        self.events.append(Select(place, touches, offset, idx, coef, outcome))
        self._expose(idx)
        self.chosen_from.append(idx)
        low, high = draws.windows()
        if np.any(np.isfinite(low[idx]) | np.isfinite(high[idx])):
            draws.used[idx] = True  # they were compared before
        return outcome

    def pick(
        self,
        key: tuple[Any, ...],
        weights: Floats | None,
        sample: Callable[[np.random.Generator], Any],
        place: Place,
    ) -> Any:
        """An outcome drawn by `sample`; `weights` are its probabilities if known."""
        self.in_thread(place)
        outcome = sample(self.script.rng)
        forced = self.script.outcomes.get(len(self.events))
        if forced is not None:
            outcome = forced
        self.events.append(Pick(place, key, weights, outcome, sample))
        return outcome

    def call(
        self,
        name: str,
        given: Any,
        run: Callable[[], Any],
        cost: Callable[[Any, Any], Any],  # noqa: ARG002  # the replay needs it
        place: Place,
    ) -> Any:
        self.in_thread(place)
        # What the mechanism draws inside is not looked at: it goes to a journal of its own.
        inner = Recording(NoiseScript(int(self.script.rng.integers(2**62))))
        inner.inner = True
        kept = deepcopy(given)
        token = CURRENT.set(inner)
        try:
            output = run()
            if hasattr(output, "realize"):
                output = output.realize(place)
        finally:
            CURRENT.reset(token)
        # The code may change in place what it gave and got.
        self.events.append(Call(place, name, kept, deepcopy(output)))
        return output


def beyond(law: TracedLaw, cut: float, window: tuple[float, float], *, up: bool) -> float | None:
    """A value in the law's support on the wanted side of a threshold, if there is one."""
    low, high = window
    if law.name in {"uniform", "exponential"}:
        low = max(low, 0.0)
    if law.name == "uniform":
        high = min(high, 1.0)
    if law.is_discrete:
        return _whole_beyond(law, cut, window, up=up)
    low, high = (max(cut, low), high) if up else (low, min(cut, high))
    if not low < high:
        return None
    if np.isfinite(low) and np.isfinite(high):
        return (low + high) / 2.0
    return low + 1.0 if np.isfinite(low) else high - 1.0


def _whole_beyond(
    law: TracedLaw, cut: float, window: tuple[float, float], *, up: bool
) -> float | None:
    """The whole number next to a threshold, with low < z ≤ high."""
    least = max(math.floor(max(window[0], -1.0)) + 1.0, 1.0 if law.name == "geometric" else 0.0)
    most = min(window[1], law.parameter - 1.0 if law.name == "integers" else math.inf)
    z = math.floor(cut) + 1.0 if up else math.floor(min(cut, most))
    return z if least <= z <= most else None
