"""Run a mechanism on plain numbers and on symbols with the same draws, and compare the outputs.

What a step of the language does to symbols is what Python does to numbers; should the interpreter
of the language be wrong, a rehearsal may find it. It is a test of the symbolic run, not a proof.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.certifying.any_length.automaton import Automaton
from dpverify.certifying.extraction import Extraction
from dpverify.certifying.language.functions import DRAWS
from dpverify.certifying.symbolic.exact import ExactNumber
from dpverify.certifying.symbolic.generator import SymbolicGenerator, check_plain
from dpverify.certifying.symbolic.outputs import filled, is_number, merged
from dpverify.certifying.symbolic.outputs import values as values_of
from dpverify.certifying.symbolic.points import PathPoint, Row, as_float, point_on, valued
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Course, NoiseLaw, Shared, SymbolicRun, once
from dpverify.certifying.symbolic.schemas import Rows, concrete, lengths, rows_of, same_length
from dpverify.certifying.symbolic.symbols import PER_RECORD, Symbolic
from dpverify.errors import InvalidParameter
from dpverify.schema import Schema, Vector

_RUNS = 12
_TOLERANCE = 1e-9
_ROUNDING = Fraction(1, 10**12)  # of a number
_OTHERWISE = "it returns something else on plain numbers than on symbols"
_TOO_CLOSE = "it compares numbers that are too close for floats, which then compute something else"


class DrawScript:
    """A fixed sequence of draws, which both runs get in the order in which they ask."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.rewind()

    def rewind(self) -> None:
        self._rng = np.random.default_rng(self._seed)

    def noise(self, kind: str, parameter: float) -> float:
        """A noise of that scale or ratio."""
        draws: dict[str, Callable[[], float]] = {
            "laplace": self._rng.laplace,
            "exponential": self._rng.exponential,
            "gaussian": self._rng.normal,
        }
        if kind == "geometric":
            return int(self._rng.geometric(1.0 - parameter))
        return parameter * float(draws[kind]())

    def uniform(self) -> float:
        return float(self._rng.random())

    def outcome(self, weights: Sequence[float]) -> int:
        """One of finitely many outcomes."""
        shares = np.cumsum(weights)
        return int(np.searchsorted(shares, self.uniform() * float(shares[-1]), side="right"))


class CourseScript(DrawScript):
    """The draws that lead along one path, and random ones if more are asked for."""

    def __init__(self, course: Course, point: PathPoint) -> None:
        self._run, self._point = course.run, point
        super().__init__(0)

    def rewind(self) -> None:
        super().rewind()
        run = self._run
        ends = ((as_float(a, run.unit), as_float(b, run.unit)) for a, b in run.coins)
        self._noises = iter([self._point.values[name] for name in run.noises])
        self._uniforms, self._outcomes = iter([(a + b) / 2 for a, b in ends]), iter(run.outcomes)

    def noise(self, kind: str, parameter: float) -> float:
        found = next(self._noises, None)
        return super().noise(kind, parameter) if found is None else float(found)

    def uniform(self) -> float:
        found = next(self._uniforms, None)
        return super().uniform() if found is None else found

    def outcome(self, weights: Sequence[float]) -> int:
        found = next(self._outcomes, len(weights))
        return found if found < len(weights) else super().outcome(weights)


class GuidedRun(SymbolicRun):
    """A symbolic run whose comparisons are decided by given values of the symbols."""

    def __init__(self, shared: Shared, script: DrawScript, data: dict[str, float]) -> None:
        super().__init__(shared, [])
        self._script, self.known, self.records = script, dict(data), 1
        self._uniform: list[float] = []
        self.close = False  # whether a comparison was decided by less than floats can tell

    def value(self, expression: Symbolic) -> float:
        parts = (float(c) * self._value_of(n) for n, c in expression.coefficients)
        return as_float(expression.constant, self.unit) + math.fsum(parts)

    def _value_of(self, name: str) -> float:
        if name[0] != PER_RECORD:
            return self.known[name]
        return (self.known[name[1:]] if name[1:] else 1.0) / self.records

    def noise(self, law: NoiseLaw) -> str:
        name = super().noise(law)
        self.known[name] = self._script.noise(law.kind, as_float(law.parameter, self.unit))
        return name

    def uniform(self) -> int:
        self._uniform.append(self._script.uniform())
        return len(self._uniform) - 1

    def coin(self, index: int, bound: ExactNumber) -> bool:
        return self._uniform[index] < as_float(bound, self.unit)

    def draw(self, weights: tuple[ExactNumber, ...]) -> int:
        return self._script.outcome([as_float(w, self.unit) for w in weights])

    def decide(self, gap: Symbolic, *, strict: bool) -> bool:
        value = self.value(gap)
        size = math.fsum(abs(float(c) * self._value_of(n)) for n, c in gap.coefficients)
        self.close = self.close or (size > 0.0 and abs(value) <= _TOLERANCE * size)
        return value > 0.0 if strict else value >= 0.0


class PlainGenerator(SymbolicGenerator):
    """A generator that returns the same draws as plain numbers of NumPy's types."""

    def __init__(self, run: GuidedRun) -> None:
        super().__init__(run)
        self._guided = run

    def _symbol(self, kind: str, parameter: ExactNumber) -> Any:  # noqa: ANN401
        value = self._guided.known[self._guided.noise(NoiseLaw(kind, parameter))]
        return int(value) if kind == "geometric" else float(value)

    def _centered(self, center: Any) -> float:  # noqa: ANN401
        return float(center)

    def random(self, size: Any = None, **more: Any) -> Any:  # noqa: ANN401
        check_plain("random", more)
        draws = [self._guided._script.uniform() for _ in range(math.prod(_shape(size)))]  # noqa: SLF001
        return draws[0] if size is None else np.array(draws).reshape(_shape(size))


def _plainly(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def draw(self: PlainGenerator, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        found = method(self, *given, **named)
        if isinstance(found, np.ndarray) and found.dtype == object:
            return found.astype(np.int64 if name in {"geometric", "integers"} else np.float64)
        return float(found) if isinstance(found, np.floating) and name != "choice" else found

    return draw


for _name in DRAWS:
    setattr(PlainGenerator, _name, _plainly(_name, getattr(PlainGenerator, _name)))


def _shape(size: Any) -> tuple[int, ...]:  # noqa: ANN401
    if size is None:
        return ()
    return tuple(size) if isinstance(size, (tuple, list)) else (int(size),)


def rehearse(extraction: Extraction, datasets: Sequence[Rows] | None = None) -> None:
    """Raise if the mechanism's output on plain numbers differs from that on symbols.

    It is run at a point of each path, and at random. Data and noise are symbols, on data of the
    schema; on given datasets, the noise alone.
    """
    rng = np.random.default_rng(7)
    keys = lengths(extraction.schema) if datasets is None else datasets
    _rehearse_paths(extraction, keys, rng)
    for seed in range(_RUNS):
        if datasets is None:
            data = extraction.schema.draw(rng)
            known, symbols = extraction.named(data)
        else:
            rows = datasets[int(rng.integers(len(datasets)))]
            data, symbols = (concrete(extraction.schema, rows) for _ in range(2))
            known = {}
        _both(extraction, data, symbols, DrawScript(seed), known)


def _both(
    extraction: Extraction,
    data: Any,  # noqa: ANN401
    symbols: Any,  # noqa: ANN401
    script: DrawScript,
    known: dict[str, float],
) -> Any:  # noqa: ANN401
    """The output on plain numbers, if the output on symbols is the same."""
    found = _plainly_run(extraction, data, script)
    script.rewind()
    run = GuidedRun(extraction.fresh_shared(symbols=bool(known)), script, known)
    output = once(lambda: extraction.call(symbols, SymbolicGenerator(run)), run)
    if not _agree(found, _with_values(output, run.value)):
        raise NotUnderstood(_TOO_CLOSE if run.close else _OTHERWISE, run.where())
    return found


def _rehearse_paths(
    extraction: Extraction, keys: Sequence[Rows | int], rng: np.random.Generator
) -> None:
    for key, course in ((k, course) for k in keys for course in extraction.courses[k]):
        point = point_on(course, rng, lambda values: _beyond(extraction.schema, values))
        data = None if point is None else _dataset(extraction.schema, key, point)
        if point is None or data is None:
            continue
        expected = _with_values(course.output, lambda v: valued(v, point.values, extraction.unit))  # noqa: B023
        again = _dataset(extraction.schema, key, point)
        known, symbols = extraction.named(again) if isinstance(key, int) else ({}, again)
        script = CourseScript(course, point)
        found = _both(extraction, data, symbols, script, known)
        if _agree(found, expected) or not point.is_clear:
            continue  # where it is not clear, floats decide on another path
        last = course.run.trail[-1][0][-1] if course.run.trail else None
        raise NotUnderstood(_OTHERWISE, last)


def _beyond(schema: Schema, values: dict[str, float]) -> list[Row]:
    """A fact that holds for all allowed records but fails for these values of x0, x1, …."""
    domain = getattr(schema, "record", None)
    if not isinstance(domain, Vector):
        return []
    made, width = list[Row](), domain.dimension
    for start in range(0, len(values), width):
        names = [f"x{i}" for i in range(start, start + width)]
        at = np.array([values.get(n, 0.0) for n in names])
        if domain.norm != math.inf and np.linalg.norm(at, domain.norm) > domain.radius:
            slope = np.sign(at) if domain.norm == 1 else at / np.linalg.norm(at)
            made.append((dict(zip(names, (-slope).tolist(), strict=True)), domain.radius, False))
    return made


def _dataset(schema: Schema, key: Rows | int, point: PathPoint) -> Any:  # noqa: ANN401
    """The data at a point; None if the schema does not allow them."""
    rows = key if isinstance(key, tuple) else rows_of(schema, key, point.values)
    try:
        data = concrete(schema, rows)
        schema.check(data)
    except InvalidParameter:
        return None
    return data


def _plainly_run(extraction: Extraction, data: Any, script: DrawScript) -> Any:  # noqa: ANN401
    script.rewind()
    run = GuidedRun(extraction.fresh_shared(symbols=False), script, {})
    return once(lambda: extraction.call_plainly(data, PlainGenerator(run)), run)


def _with_values(output: Any, value: Callable[[Symbolic], float]) -> Any:  # noqa: ANN401
    found = [value(v) for v in values_of(output)]
    if not all(map(math.isfinite, found)):
        raise NotUnderstood("its numbers may be too large for floats")
    return filled(output, iter(map(Fraction, found)))


def _agree(plain: Any, symbolic: Any) -> bool:  # noqa: ANN401
    return _close(merged(plain), merged(symbolic)) and _alike(plain, symbolic)


def rehearse_steps(automaton: Automaton) -> None:
    """Raise if the automaton, step by step, returns something else than the mechanism."""
    rng = np.random.default_rng(11)
    extraction = automaton.extraction
    for seed in range(_RUNS):
        data, script = extraction.schema.draw(rng), DrawScript(seed)
        if not len(data) and same_length(extraction.schema):
            continue  # no neighbors
        known, symbols = extraction.named(data) if automaton.values is None else ({}, data)
        records = list(data)
        plain = _both(extraction, data, symbols, script, known)
        script.rewind()
        walked = _walked(automaton, records, script)
        if not _agree(plain, walked):
            raise NotUnderstood("it returns something else at once than record by record")


def _walked(automaton: Automaton, records: list[Any], script: DrawScript) -> Any:  # noqa: ANN401
    """The automaton's output on these records, with grown lists filled in."""
    at, known, left, lists = 0, dict[str, float](), list(records), dict[str, list[Any]]()
    finite = automaton.values
    while True:
        place, item = automaton.places[at], None
        looping = place[0] == "loop"
        if looping and not left:
            _, at, (_, *values), _ = automaton.ended(place)
            known = {f"s{i}": known[v] for i, v in enumerate(values)}
            continue
        if looping:
            record, *left = left
            item = automaton.items()[0 if finite is None else finite.index(record)]
            numbers: list[Any] = [] if finite is not None else list(np.ravel(record))
            known |= {f"x{i}": float(x) for i, x in enumerate(numbers)}
        run = GuidedRun(
            Shared(automaton.extraction.unit, automaton.extraction.limits), script, known
        )
        run.records = len(records)
        end = once(lambda p=place, i=item: automaton.run(p, i), run)  # type: ignore[misc]
        end = _with_values(end, run.value)
        if end[0] == "return":
            return _with_lists(end[1], lists)
        _, after, (_, *state), (_, *told) = end
        for _, token, *added in told:
            lists.setdefault(token, []).extend(added)
        known = {f"s{i}": float(number) for i, number in enumerate(state)}
        if not looping or automaton.places[after][0] == "code":  # the next loop begins anew
            left = list(records)
        at = after


def _with_lists(output: Any, lists: dict[str, list[Any]]) -> Any:  # noqa: ANN401
    if isinstance(output, tuple) and output and output[0] == "grown":
        return ("list", *lists.get(output[1], []), *output[2:])
    return (
        tuple(_with_lists(part, lists) for part in output) if isinstance(output, tuple) else output
    )


def _alike(a: Any, b: Any) -> bool:  # noqa: ANN401
    """Whether two outputs have the same types, as far as a symbolic run knows them."""
    if is_number(a) and is_number(b):
        same = a[0] == b[0] or "numeric" in {a[0], b[0]}
        return same and (a[1] == "-0.0") == (b[1] == "-0.0")
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return isinstance(a, tuple) == isinstance(b, tuple)
    return len(a) == len(b) and a[:1] == b[:1] and all(map(_alike, a[1:], b[1:]))


def _close(a: Any, b: Any) -> bool:  # noqa: ANN401
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_close(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return abs(a - b) <= _ROUNDING * max(abs(a), abs(b))  # however small or large they are
    return bool(a == b)
