"""One run of a mechanism with a journal: recorded on one dataset, replayed on the other."""

# ruff: noqa: ANN401  # data and outputs are whatever a mechanism takes and returns

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from dpverify.auditing.sampling.copies import copier
from dpverify.errors import InvalidParameter
from dpverify.tracing.noise.generator import NotTraceable
from dpverify.tracing.noise.sources import installed
from dpverify.tracing.noise.standins import AnyGenerator
from dpverify.tracing.recording.draws import NoiseScript
from dpverify.tracing.recording.events import Difference, Leak
from dpverify.tracing.recording.following import Diverged
from dpverify.tracing.recording.journal import Recording, TraceJournal
from dpverify.tracing.recording.outputs import OPAQUE, Leaves, differing, leaves_of, settle, shown
from dpverify.tracing.recording.places import OWN, Place, definition, is_inside
from dpverify.tracing.recording.quiet import as_called, rarely_collected
from dpverify.tracing.recording.replaying import Replaying
from dpverify.tracing.recording.retelling import Retelling

_MOST_CAUSES = 5


@dataclass(frozen=True, slots=True)
class SeenError:
    """An exception that reached a line of the code."""

    place: Place
    kind: str
    what: str


@dataclass(slots=True)
class TracedRun:
    """The result of one run; `raised` is the exception that it ended with, as an output."""

    journal: Any
    leaves: Leaves
    ended: Place
    raised: str = ""
    diverged: bool = False
    in_tracer: bool = False  # whether the exception came out of the tracer's own code
    caught: tuple[SeenError, ...] = ()  # exceptions that the code saw, where lines are watched


def callable_of(mechanism: Any) -> Callable[[Any, Any], Any]:
    """The mechanism as a function of data and generator; vectorized ones draw once."""
    if callable(getattr(mechanism, "sample", None)):
        return lambda data, rng: mechanism.sample(data, 1, rng=rng)[0]
    if callable(mechanism):
        return mechanism  # type: ignore[no-any-return]
    raise InvalidParameter(
        f"mechanism={mechanism!r} must be callable as mechanism(data, rng), or have sample"
    )


def run(mechanism: Any, data: Any, journal: TraceJournal) -> TracedRun:
    """Call the mechanism once on a copy of the data, with its noise in the journal."""
    call, copy = callable_of(mechanism), copier(data)
    start = definition(mechanism)
    result = TracedRun(journal, {}, start)
    rng = AnyGenerator(journal)
    with rarely_collected(), installed(journal, mechanism):
        try:
            with as_called(chosen=journal.chosen):
                output = call(copy(), rng)
                settled = settle(output, start)
            result.leaves = leaves_of(output, settled)
            del output, settled  # what is gone before collections are usual again is not looked at
            for path, kind in result.leaves.items():
                if path and path[-1] == OPAQUE:
                    journal.puzzle(start, f"an output of type {kind} cannot be looked into")
        except Diverged:
            result.diverged = True
        except (KeyboardInterrupt, NotTraceable):
            raise
        except BaseException as error:  # noqa: BLE001  # an exception is an output
            result.raised = f"{type(error).__name__}: {error}"
            result.ended = _raised_at(error.__traceback__) or start
            result.in_tracer = _is_ours(error.__traceback__)
            told = _told(error)
            result.leaves = {("raises",): result.raised, **leaves_of(told, settle(told, start))}
    if isinstance(journal, Replaying) and not result.diverged:
        journal.finish()
    return result


def _told(error: BaseException, depth: int = 0) -> dict[str, Any]:
    """What an exception holds besides its text: notes, attributes and causes."""
    context = None if error.__suppress_context__ else error.__context__
    cause = error.__cause__ or context
    found = dict(vars(error))
    if cause is not None and depth < _MOST_CAUSES:
        found |= {"cause": f"{type(cause).__name__}: {cause}", **_told(cause, depth + 1)}
    return {f"{'of its cause: ' * bool(depth)}{name}": part for name, part in found.items()}


def _raised_at(traceback: TracebackType | None) -> Place | None:
    """The innermost line of user code that an exception passed through."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_inside(code.co_filename):
            found = Place(code.co_filename, traceback.tb_lineno, code.co_name)
        traceback = traceback.tb_next
    return found


def _is_ours(traceback: TracebackType | None) -> bool:
    """Whether an exception came from the tracer, or from numpy code that the tracer called."""
    ours = False
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        ours = filename.startswith(OWN) or (ours and is_inside(filename))
        traceback = traceback.tb_next
    return ours


def record(
    mechanism: Any,
    data: Any,
    script: NoiseScript,
    *,
    eager: int = 0,
    opened: frozenset[int] = frozenset(),
) -> TracedRun:
    """Record the run that a replay will follow."""
    return run(mechanism, data, Recording(script.again(), eager=eager, opened=opened))


def retell(mechanism: Any, data: Any, recorded: TracedRun) -> TracedRun:
    """Repeat the recorded run with its noise as plain numbers."""
    return run(mechanism, data, Retelling(recorded.journal))


def runs_plainly(mechanism: Any, data: Any, seed: int) -> str:
    """What a call without tracing raises; empty if it returns."""
    try:
        with as_called():
            callable_of(mechanism)(copier(data)(), np.random.default_rng(seed))
    except (Exception, SystemExit) as error:  # noqa: BLE001  # an exception is an output
        return f"{type(error).__name__}: {error}"
    return ""


@dataclass(slots=True)
class Twin:
    """A recording on the left and its replay on the right."""

    left: TracedRun
    right: TracedRun
    differences: list[Difference]
    leaks: list[Leak]


def replay(  # noqa: PLR0913  # which run, and how it may differ
    mechanism: Any,
    data: Any,
    recorded: TracedRun,
    *,
    flips: dict[int, Any] | None = None,
    skips: frozenset[int] = frozenset(),
    extras: tuple[int, ...] = (),
) -> Twin:
    """Replay the run on other data, and note the differences at equal released values.

    `flips` are coins that fall the other way here; `skips` and `extras` comparisons that only the
    recording makes, and before which of its events this side makes one alone.
    """
    journal = Replaying(
        NoiseScript(recorded.journal.script.seed + 1), recorded.journal, flips, skips, extras
    )
    other = run(mechanism, data, journal)
    leaks = list(journal.leaks)
    if not other.diverged:
        leaks += _output_leaks(recorded, other, definition(mechanism))
    if recorded.journal.seeds != journal.seeds:
        leaks += [
            Leak("seed", place, "a generator's seed depends on the data")
            for place, _ in dict.fromkeys([*journal.seeds, *recorded.journal.seeds])
        ][:1]
    return Twin(recorded, other, journal.differences, leaks)


def _output_leaks(left: TracedRun, right: TracedRun, start: Place) -> list[Leak]:
    if left.raised != right.raised:
        one, two = left.raised or "an output", right.raised or "an output"
        place = left.ended if left.raised else right.ended
        return [Leak("exception", place, f"{one} on one side, {two} on the other")]
    paths = differing(left.leaves, right.leaves)
    found = []
    for path in paths[:5]:
        name = "/".join(str(part) for part in path) or "the output"
        one, two = shown(left.leaves, path), shown(right.leaves, path)
        parts = [side.leaves.get(path) for side in (left, right)]
        if all(isinstance(part, (int, float)) for part in parts) and parts[0] == parts[1]:
            one, two = (f"{part} ({type(part).__name__})" for part in parts)
        what = f"{name} is {one} on one side, {two} on the other"
        place = right.ended if right.raised else start
        found.append(Leak("exception" if right.raised else "output", place, what))
    return found
