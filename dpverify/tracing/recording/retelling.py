"""Repeat a run with its noise as plain numbers, as the code behaves when not traced.

A form passes for a number as well as it can. Where code tells the two apart, as by an exception
that only a form raises and the code then catches, the recorded run is not the run that a user has,
and nothing is to be learned from it. So the noise of a recording is handed out again, as numbers
that know nothing, and the output must be the same but for rounding.
"""

# ruff: noqa: ANN401  # data and outputs are whatever a mechanism takes and returns

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from dpverify.tracing.recording.events import CAST, Call, Event, Pick, Touch
from dpverify.tracing.recording.following import Diverged
from dpverify.tracing.recording.journal import Recording
from dpverify.tracing.recording.laws import TracedLaw
from dpverify.tracing.recording.outputs import Leaves, is_moderate
from dpverify.tracing.recording.places import Place

_CLOSE = 1e-6  # relative: sums of floats in another order
_COARSE = 1e-3  # where shorter floats met noise
_NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_FACTS = {"type", "dtype"}  # of floats: a form has none
_OBJECTS = repr(np.dtype(object))


class Retelling(Recording):
    """Returns the draws, picks and calls of a recording in order, and records nothing."""

    plainly = True

    def __init__(self, told: Recording) -> None:
        super().__init__(told.script.again(), eager=told.eager, opened=told.opened)
        draws = told.draws
        made = [i for i, law in enumerate(draws.laws) if law.name in {"shaped", "bounded"}]
        drawn = ~np.isin(draws.law[: draws.top], made)
        self.noise = draws.z[: draws.top][drawn]
        self.laws = [draws.laws[i] for i in draws.law[: draws.top][drawn]]
        self.picks = iter([e for e in told.events if isinstance(e, Pick) and e.key[0] != CAST])
        self.calls: Iterator[Event] = iter([e for e in told.events if isinstance(e, Call)])

    def draw(self, law: TracedLaw, size: int | None, place: Place) -> int:
        start = self.draws.allot(law, 1 if size is None else size, place)
        if any(known != law for known in self.laws[start : self.draws.top]):
            raise Diverged
        if self.draws.top > len(self.noise):
            raise Diverged
        self.draws.z[start : self.draws.top] = self.noise[start : self.draws.top]
        return start

    def realize(  # noqa: PLR0913  # the parts of a form
        self,
        offset: Any,
        idx: Any,
        coef: Any,
        touches: tuple[Touch, ...],  # noqa: ARG002  # nothing is noted
        place: Place,  # noqa: ARG002
        *,
        final: bool = False,  # noqa: ARG002
    ) -> Any:
        return offset + coef * (self.draws.z.item(idx) if type(idx) is int else self.draws.z[idx])

    def pick(self, key: tuple[Any, ...], weights: Any, sample: Any, place: Place) -> Any:
        del weights, sample, place
        event: Any = next(self.picks, None)
        if event is None or event.key[0] != key[0]:
            raise Diverged
        return event.outcome

    def call(
        self,
        name: str,
        given: Any,
        run: Callable[[], Any],
        cost: Callable[[Any, Any], Any],
        place: Place,
    ) -> Any:
        del given, run, cost, place
        event: Any = next(self.calls, None)
        if event is None or event.name != name:
            raise Diverged
        return deepcopy(event.output)


def same_but_for_rounding(one: Leaves, two: Leaves, *, coarse: bool) -> bool:
    """Whether two outputs are the same, up to the order of floating-point operations."""
    one, two = _but_for_form(one), _but_for_form(two)
    if one.keys() != two.keys():
        return False
    numbers = [x for x in one.values() if type(x) in {int, float} and is_moderate(x)]
    sizes = [abs(float(x)) for x in numbers]
    most = max(sizes, default=1.0)
    close = _COARSE if coarse else _CLOSE
    return all(_like(leaf, two[path], close, most) for path, leaf in one.items())


def _but_for_form(leaves: Leaves) -> Leaves:
    """Leaves without traces of noisy values: rows of objects, and arrays without axes."""
    kept = {p: x for p, x in leaves.items() if not p or p[-1] not in _FACTS}
    kept = {p: x for p, x in kept.items() if not p or p[-1] != "shape" or x != ()}
    for path, leaf in leaves.items():
        if path and path[-1] == "dtype" and leaf == _OBJECTS:
            row = path[:-1]
            names = [(*row, i) for i in range(kept.get((*row, "length"), 0))]
            if names and all(type(kept.get(name)) in {int, float} for name in names):
                parts = [kept.pop(name) for name in names]
                del kept[*row, "length"]
                kept[row] = np.array(parts).reshape(kept.get((*row, "shape"), ()))
    return kept


def _like(one: Any, two: Any, close: float, most: float) -> bool:
    if type(one) is str and type(two) is str:
        if one == two:
            return True
        told = [np.array([float(x) for x in _NUMBER.findall(text)]) for text in (one, two)]
        same_words = _NUMBER.sub("#", one) == _NUMBER.sub("#", two)
        return same_words and _like(told[0], told[1], close, most)
    if isinstance(one, list) and isinstance(two, list):
        pairs = zip(one, two, strict=False)
        return len(one) == len(two) and all(_like(a, b, close, most) for a, b in pairs)
    if all(isinstance(x, (int, float, np.ndarray)) for x in (one, two)):
        a, b = np.asarray(one), np.asarray(two)
        if a.dtype.kind in "iufb" and b.dtype.kind in "iufb" and a.shape == b.shape:
            a, b = a.astype(np.float64), b.astype(np.float64)
            return bool(np.allclose(a, b, rtol=close, atol=1e-9 * most, equal_nan=True))
    return bool(np.array_equal(one, two)) if isinstance(one, np.ndarray) else bool(one == two)
