"""Find the line at fault by running both sides again line by line; and list unreached lines."""

# ruff: noqa: ANN401  # data are whatever a mechanism takes

import gc
import inspect
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from types import CodeType, FrameType
from typing import Any

import numpy as np

from dpverify.auditing.sampling.spelling import canonical
from dpverify.tracing.noise.shapes import is_noisy
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Leak
from dpverify.tracing.recording.following import Diverged
from dpverify.tracing.recording.journal import Recording, TraceJournal
from dpverify.tracing.recording.outputs import differing, same_leaf
from dpverify.tracing.recording.places import (
    NOWHERE,
    Place,
    definition,
    is_inside,
    written_function,
)
from dpverify.tracing.recording.replaying import Replaying
from dpverify.tracing.recording.retelling import Retelling
from dpverify.tracing.recording.runs import SeenError, Twin, callable_of, run

_MOST_PARTS = 200
_ENDS = (StopIteration, StopAsyncIteration, GeneratorExit, Diverged)  # no errors of the code
_HELD = {np.ndarray, list, dict, defaultdict, OrderedDict, Counter, deque, set, bytearray}


@dataclass(slots=True)
class WatchedSteps:
    """The lines that a run went through, and the values that each of them produced.

    `last` is the line that returned the output: of the mechanism, or of what it left that to.
    """

    lines: list[Place]
    values: dict[Place, list[Any]]
    last: Place | None = None


class _Watcher:
    def __init__(self, files: Callable[[str], bool], code: CodeType | None) -> None:
        self.files = files
        self.code = code
        self.steps = WatchedSteps([], {})
        self.before: dict[FrameType, tuple[Place, dict[str, Any]]] = {}
        self.first: FrameType | None = None  # of the mechanism itself
        self.stated: dict[FrameType, Place] = {}  # the last line that said what to return
        self.given: dict[FrameType | None, tuple[Place, Any]] = {}  # what a call gave back last

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if not self.files(frame.f_code.co_filename):
            return None
        if self.first is None and self.code in {frame.f_code, None}:
            self.first = frame
        self._made(frame)
        if event == "return":
            place = self.before.pop(frame, (NOWHERE, {}))[0]
            stated = self.stated.pop(frame, place)  # before what `finally` did
            place = place if "return" in place.source else stated
            self.steps.values.setdefault(place, []).append(arg)
            if not frame.f_code.co_flags & inspect.CO_GENERATOR:
                left_to = self.given.pop(frame, None)
                last = left_to[0] if left_to is not None and left_to[1] is arg else place
                self.given[frame.f_back] = (last, arg)
                if frame is self.first:
                    self.steps.last = last
            return self
        place = Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        if event == "line":
            self.steps.lines.append(place)
            if place.source.startswith("return"):
                self.stated[frame] = place
            if frame is self.first:
                self.steps.last = place
        self.before[frame] = (place, {k: _copied(v) for k, v in dict(frame.f_locals).items()})
        return self

    def _made(self, frame: FrameType) -> None:
        """The values assigned by the line before this one."""
        if frame not in self.before:
            return
        place, old = self.before[frame]
        for name, value in dict(frame.f_locals).items():
            if name not in old or not _is_unchanged(old[name], value):
                self.steps.values.setdefault(place, []).append(_copied(value))


def _copied(value: Any) -> Any:
    """A copy of a small container, as later lines may change it in place."""
    return value.copy() if type(value) in _HELD and _size(value) < _MOST_PARTS else value


def _size(value: Any) -> int:
    return value.size if isinstance(value, np.ndarray) else len(value)


def _is_unchanged(old: Any, value: Any) -> bool:
    """Whether a name and its contents still are the same objects."""
    if old is value:
        return True
    if type(old) is not type(value) or type(value) not in _HELD:
        return False
    if isinstance(value, np.ndarray):
        return bool(old.shape == value.shape and old.tobytes() == value.tobytes())
    if isinstance(value, bytearray):
        return bool(old == value)
    one, two = ([*x, *x.values()] if isinstance(x, dict) else list(x) for x in (old, value))
    return len(one) == len(two) and all(a is b for a, b in zip(one, two, strict=True))


class ReachedLines:
    """The lines of one file that no run reached, in functions that were called; and exceptions.

    Nothing is seen while something else, as a debugger or a measurement of coverage, watches lines.
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.missing: dict[tuple[str, int], set[int]] = {}  # by function
        self.busy = False
        self.raised: list[SeenError] = []  # of the last run

    def __enter__(self) -> None:
        self.busy = sys.gettrace() is not None
        self.raised = []
        if not self.busy:
            sys.settrace(self._called)

    def __exit__(self, *_: object) -> None:
        if not self.busy:
            sys.settrace(None)

    def _called(self, frame: FrameType, event: str, arg: object) -> Any:
        del event, arg
        code = frame.f_code
        if code.co_filename != self.filename:
            return None
        function = (code.co_qualname, code.co_firstlineno)
        if function not in self.missing:
            lines = {line for *_, line in code.co_lines() if line is not None}
            self.missing[function] = lines - {code.co_firstlineno, frame.f_lineno}
        if not self.missing[function]:
            frame.f_trace_lines = False
            return self._raising if code.co_exceptiontable else None
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if event == "exception":
            return self._raising(frame, event, arg) and self._stepped
        self.missing[code.co_qualname, code.co_firstlineno].discard(frame.f_lineno)
        return self._stepped

    def _raising(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if event == "exception" and code.co_exceptiontable:  # the function catches something
            kind, error, _ = arg
            place = Place(code.co_filename, frame.f_lineno, code.co_name)
            found = SeenError(place, kind.__name__, f"{kind.__name__}: {error}")
            if not issubclass(kind, _ENDS) and found not in self.raised:
                self.raised.append(found)
        return self._raising

    @property
    def never(self) -> list[Place]:
        """The lines that no run reached, in order."""
        found = {
            Place(self.filename, line, name.rpartition(".")[2])
            for (name, _), lines in self.missing.items()
            for line in lines
        }
        return sorted(found, key=lambda place: place.line)


def watched(mechanism: Any, data: Any, journal: TraceJournal) -> WatchedSteps:
    """Run again and record every line with its values; slow, used only to name a line."""
    code = getattr(written_function(mechanism), "__code__", None)
    watcher = _Watcher(lambda filename: not is_inside(filename), code)
    before = sys.gettrace()
    call = callable_of(mechanism)

    class Watched:
        __module__ = getattr(mechanism, "__module__", __name__)

        @staticmethod
        def sample(given: Any, size: int, *, rng: Any) -> Any:
            del size
            sys.settrace(watcher)
            try:
                return [call(given, rng)]
            finally:
                sys.settrace(before)

    try:
        run(Watched, data, journal)
    finally:
        sys.settrace(before)
    return watcher.steps


@contextmanager
def _no_collection() -> Iterator[None]:
    """Switch garbage collection off, as its callbacks would appear as lines of one run."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def named(mechanism: Any, left: Any, right: Any, script: NoiseScript, twin: Twin) -> list[Leak]:
    """The leaks of a twin with the best line that two more (slow) runs can find."""
    known = twin.left.journal
    journal = Recording(script.again(), eager=known.eager, opened=known.opened)
    with _no_collection():
        one = watched(mechanism, left, journal)
        two = watched(mechanism, right, Replaying(NoiseScript(script.seed + 1), journal))
    found = []
    start = definition(mechanism)
    for leak in twin.leaks:
        place: Place | None = None
        known = leak.kind == "output" and leak.place != start
        if leak.kind in {"output", "exception"} and not known and not twin.right.diverged:
            place = _branch(one, two) or _source(one, two, twin, (left, right))
        if leak.kind == "control flow":
            place = _branch(one, two)
        if place is None and leak.place == start:
            place = one.last
        if leak.kind == "exception" and twin.right.ended != twin.left.ended:
            place = place or leak.place
        found.append(leak if place is None else replace(leak, place=place))
    return list(dict.fromkeys(found))


def parted(mechanism: Any, data: Any, known: Recording) -> Place | None:
    """Where a recorded run and the same run with plain numbers part; takes two executions."""
    again = Recording(known.script.again(), eager=known.eager, opened=known.opened)
    with _no_collection():
        one, two = (watched(mechanism, data, each) for each in (again, Retelling(known)))
    return _branch(one, two)


def _branch(one: WatchedSteps, two: WatchedSteps) -> Place | None:
    """The first line after which the runs differ; how often a loop ran does not count."""
    mine, theirs = _edges(one), _edges(two)
    for start, end in mine:
        if (start, end) not in theirs:
            return start
    for start, end in theirs:
        if (start, end) not in mine:
            return start
    return None


def _edges(steps: WatchedSteps) -> dict[tuple[Place, Place | None], None]:
    """Every step from a line to the next, in order of first appearance."""
    return dict.fromkeys(zip_longest(steps.lines, steps.lines[1:]))


def _source(
    one: WatchedSteps, two: WatchedSteps, twin: Twin, data: tuple[Any, Any]
) -> Place | None:
    """The first line that produced a value in which the outputs differ; else the last line.

    Values that stand in the data themselves are made nowhere: the last line it is. Keys of the data
    are made where something else gets them.
    """
    left, right = twin.left.leaves, twin.right.leaves
    given = [list(_parts(side)) for side in data]
    wanted = []
    for path in differing(left, right):
        a, b = left.get(path), right.get(path)
        plain = _is_given(a, given[0]) or _is_given(b, given[1])
        if _telling(a) and _telling(b) and (path[-1:] == ("keys",) or not plain):
            wanted.append((a, b))
    for place in dict.fromkeys(one.lines):
        mine = [part for value in one.values.get(place, ()) for part in _parts(value)]
        theirs = [part for value in two.values.get(place, ()) for part in _parts(value)]
        for a, b in wanted:
            if _among(a, mine) and _among(b, theirs):
                return place
    return one.last


def _telling(value: Any) -> bool:
    """Whether a value is unlikely by chance: neither a small constant nor a flag."""
    return value is not None and not isinstance(value, (bool, np.bool_))


def _parts(value: Any, depth: int = 0) -> Iterator[Any]:
    if is_noisy(value):
        return
    if isinstance(value, np.generic):
        value = value.item()
    yield bytes(value) if isinstance(value, bytearray) else value
    if isinstance(value, np.ndarray) and value.ndim and value.size < _MOST_PARTS:
        yield from value.reshape(-1).tolist()
    elif depth < 2 and isinstance(value, (list, tuple)) and len(value) < _MOST_PARTS:
        for part in value:
            yield from _parts(part, depth + 1)
    elif depth < 2 and isinstance(value, dict) and len(value) < _MOST_PARTS:
        yield [canonical(key) for key in value]  # as outputs tell them
        for part in value.values():
            yield from _parts(part, depth + 1)


def _is_given(value: Any, given: list[Any]) -> bool:
    """Whether a value occurs in the data, or is an array of such values."""
    if isinstance(value, np.ndarray) and 0 < value.size < _MOST_PARTS:
        return all(_among(part, given) for part in value.reshape(-1).tolist())
    return _among(value, given)


_COMPARED = (int, float, str, bytes, np.ndarray, list)


def _among(value: Any, parts: list[Any]) -> bool:
    plain = value.item() if isinstance(value, np.generic) else value
    for part in parts:
        if type(part) is type(plain) and isinstance(part, _COMPARED):
            try:
                if same_leaf(part, plain):
                    return True
            except (TypeError, ValueError):
                continue
    return False
