"""A point on each path: numbers for data and noise with which a run takes that path.

Points are drawn at random first; for paths that none of them takes, a mixed integer program finds
the one that is farthest from all other paths.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy

from dpverify.certifying.symbolic.exact import EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.running import Course, Inequality, SymbolicRun

if TYPE_CHECKING:
    from dpverify.certifying.symbolic.symbols import Symbolic

_MANY = 128
_FAR = 1e6  # for what has no bounds
_FARTHER = 1e3  # times the largest number that anything is compared with
_FARTHEST = 1e14  # for chains of comparisons, each with a factor: floats still tell units apart
_WIDE = 8  # whole numbers are drawn among so many
_MOST_CUTS = 40
_SECONDS = 5.0  # for one point
CLEAR = 1e-6  # so far from other paths, no rounding leads there
Row: TypeAlias = tuple[dict[str, float], float, bool]
"""Coefficients, a constant, and whether all is whole: the sum is ≥ 0."""


@dataclass(frozen=True, slots=True)
class PathPoint:
    """The values of all symbols on a path, and their distance from any other path."""

    values: dict[str, float]
    margin: float

    @property
    def is_clear(self) -> bool:
        return self.margin > CLEAR


def as_float(number: ExactNumber, unit: EpsilonUnit) -> float:
    """An exact number as a float; in a claim for every ε, at ε = 1."""
    return float((EpsilonUnit() if unit.every else unit).enclosure(number).mid())


def point_on(
    course: Course,
    rng: np.random.Generator,
    beyond: Callable[[dict[str, float]], list[Row]] = lambda _: [],
) -> PathPoint | None:
    """A point at which a run takes this path; None if none is found, mostly as there is none.

    `beyond` tells what allowed data fulfill and those of a point do not.
    """
    run = course.run
    tests = [asked[1 + answer] for asked, answer, _ in run.trail if asked[0] == "test"]
    rows = [_row(test, run) for test in tests]
    clamped = any(n in run.clamps for row in rows for n in row[0])
    for more in (_clamped(run, bound=False), _clamped(run, bound=True)) if clamped else ([],):
        wanted = [*rows, *more]
        for _ in range(_MOST_CUTS):
            found = _completed(wanted, run, rng)
            cuts = [] if found is None else beyond(found.values)
            if not cuts:
                break
            wanted += cuts
        if found is not None:
            return found
    return None


def _row(test: Inequality, run: SymbolicRun) -> Row:
    whole = all(n in run.shared.whole for n, _ in test.coefficients)
    return {n: float(c) for n, c in test.coefficients}, as_float(test.constant, run.unit), whole


def _clamped(run: SymbolicRun, *, bound: bool) -> list[Row]:
    """The facts that all clamped numbers are at the bound, or that none is beyond it."""
    made: list[Row] = []
    for name, (operation, value, constant) in run.clamps.items():
        inner, start = {n: float(c) for n, c in value.coefficients}, value.constant
        at, end = as_float(start, run.unit), float(constant)
        sign = 1.0 if (operation == "max") != bound else -1.0
        made.append(({n: sign * c for n, c in inner.items()}, sign * (at - end), False))
        target, level = ({}, end) if bound else (inner, at)
        for way in (1.0, -1.0):
            parts = {name: way} | {n: -way * c for n, c in target.items()}
            made.append((parts, -way * level, True))
    return made


def _solved(rows: list[Row], run: SymbolicRun, rng: np.random.Generator) -> PathPoint | None:
    names = sorted({name for row in rows for name in row[0]})
    if not names:
        return PathPoint({}, 1.0)
    matrix = np.array([[row[0].get(n, 0.0) for n in names] for row in rows])
    constants = np.array([row[1] for row in rows])
    sizes = np.array([0.0 if row[2] else max(map(abs, row[0].values())) for row in rows])
    far = max(_FAR, _FARTHER * float(abs(constants).max()))
    far = max(far, min(far * math.prod(map(_stretch, rows)), _FARTHEST))
    ends = [_ends(n, run, far) for n in names]
    samples = np.array([_samples(n, e, run, rng) for n, e in zip(names, ends, strict=True)])
    over = matrix @ samples + constants[:, None]
    exact = np.where(over >= 0, 1.0, -1.0)
    clear = np.where(sizes > 0, over.T / np.where(sizes, sizes, 1.0), exact.T).min(axis=1)
    best = int(clear.argmax())
    if clear[best] > CLEAR:
        return PathPoint(
            dict(zip(names, samples[:, best].tolist(), strict=True)), float(clear[best])
        )
    whole = [n in run.shared.whole for n in names]
    found = scipy.optimize.milp(
        np.array([*np.zeros(len(names)), -1.0]),
        integrality=np.array([*whole, False], dtype=int),
        bounds=scipy.optimize.Bounds([*(e[0] for e in ends), 0.0], [*(e[1] for e in ends), 1.0]),
        constraints=scipy.optimize.LinearConstraint(
            np.column_stack([matrix, -sizes]), lb=-constants
        ),
        options={"time_limit": _SECONDS},
    )
    if found.x is None:
        return None
    at = [round(x) if w else float(x) for x, w in zip(found.x, whole, strict=False)]
    return PathPoint(dict(zip(names, at, strict=True)), float(found.x[-1]))


def _stretch(row: Row) -> float:
    """How much larger one side of a comparison can be than the other."""
    sizes = [abs(c) for c in row[0].values() if c]
    return max(sizes) / min(sizes) if sizes else 1.0


def _ends(name: str, run: SymbolicRun, far: float = _FAR) -> tuple[float, float]:
    low, high = run.shared.bounds.get(name, (None, None))
    return (-far if low is None else float(low), far if high is None else float(high))


def _samples(
    name: str, ends: tuple[float, float], run: SymbolicRun, rng: np.random.Generator
) -> Any:  # noqa: ANN401
    law, (low, high) = run.shared.laws.get(name), ends
    if law is not None:
        parameter = as_float(law.parameter, run.unit)
        if law.kind == "geometric":
            return rng.geometric(1.0 - parameter, _MANY)
        drawn = rng.laplace(scale=1.5 * parameter, size=_MANY)
        return abs(drawn) if law.kind == "exponential" else drawn
    if name in run.shared.whole:
        low = max(math.ceil(low), math.floor(high) - _WIDE if high < _FAR else -_WIDE)
        return rng.integers(low, min(math.floor(high), low + 2 * _WIDE) + 1, _MANY)
    if low <= -_FAR or high >= _FAR:
        return np.clip(rng.normal(scale=3.0, size=_MANY), low, high)
    return rng.uniform(low, high, _MANY)


def _completed(rows: list[Row], run: SymbolicRun, rng: np.random.Generator) -> PathPoint | None:
    """The point with values for the remaining symbols; released noise makes up for the rest."""
    point = _solved(rows, run, rng)
    if point is None:
        return None
    values, spent = dict(point.values), {noise for _, _, noise in run.releases.values()}
    data = [name for name in run.shared.bounds if name[0] == "x"]
    for name in (*data, *(n for n in run.noises if n not in spent)):
        values.setdefault(name, _samples(name, _ends(name, run), run, rng)[0])
    for name in run.made:
        if name in run.clamps and name not in values:
            operation, value, constant = run.clamps[name]
            choose = max if operation == "max" else min
            values[name] = choose(valued(value, values, run.unit), float(constant))
        elif name in run.releases:
            rest, factor, noise = run.releases[name]
            start = valued(rest, values, run.unit)
            drawn = start + float(factor) * _samples(noise, _ends(noise, run), run, rng)[0]
            values.setdefault(name, drawn)
            values[noise] = (values[name] - start) / float(factor)
    return PathPoint(values, point.margin)


def valued(expression: "Symbolic", values: dict[str, float], unit: EpsilonUnit) -> float:
    parts = (float(c) * values[n] for n, c in expression.coefficients)
    return as_float(expression.constant, unit) + math.fsum(parts)
