"""Find counterexamples: two neighbors and an event, with exact probabilities on both sides."""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice, pairwise, product
from typing import Any

from dpverify.certifying.extraction import Extraction
from dpverify.certifying.searching.finite import (
    Distribution,
    as_one,
    distribution,
    excesses,
    paths,
)
from dpverify.certifying.searching.masses import Masses
from dpverify.certifying.symbolic.exact import ZERO, ExactNumber
from dpverify.certifying.symbolic.outputs import (
    is_noisy_number,
    is_number,
    merged,
    shape,
    shown,
    values,
)
from dpverify.certifying.symbolic.reasons import NotUnderstood, OverTime
from dpverify.certifying.symbolic.running import Inequality, Tree
from dpverify.certifying.symbolic.schemas import Rows

SLACK = Fraction(1, 10**9)
"""A claim is refuted only if it is exceeded by this share: readings of floats are closer by far."""

_MOST_EVENTS = 400
_MOST_COMBINED = 20_000
_LARGE = 300.0  # beyond it, squares of exponentials are too large for floats
_STRONG = 0.01
"""Squared standard deviations a draw: ten of them in 10,000 draws, which an audit does not miss."""

_MORE_SECONDS = 3.0  # for a stronger one, once there is one
_PATIENCE = 10  # orders of pairs; where none of the first is understood, the others are not either


@dataclass(frozen=True, slots=True)
class Found:
    """Two neighbors and an event, as patterns of outputs, that is too likely on the left."""

    left: Rows
    right: Rows
    event: tuple[Any, ...]
    mass_left: ExactNumber
    mass_right: ExactNumber


def search(  # noqa: PLR0917, PLR0913
    extraction: Extraction,
    pairs: Iterator[tuple[Rows, Rows]],
    epsilon: Fraction,
    delta: ExactNumber,
    seconds: float,
    more: Iterable[tuple[Rows, Rows]] = (),
) -> Found | None:
    """A pair and event that break the claim, clearly if time allows; None if none is found.

    Where `pairs` show that the claim is broken, `more` may show it better.
    """
    end = time.monotonic() + seconds
    masses, strength = _Laws(extraction), _Strength(extraction, epsilon, delta)
    best: Found | None = None
    patience = _PATIENCE

    def later() -> Iterator[tuple[Rows, Rows]]:
        if best is not None:
            yield from more

    for left, right in chain(pairs, later()):
        for one, other in ((left, right), (right, left)):
            if time.monotonic() > end or patience == 0:
                return best
            try:
                found = compared(extraction, masses, one, other, strength, end)
            except OverTime:
                raise
            except NotUnderstood:
                patience -= 1
                continue
            patience = -1  # endless
            if found is not None and (best is None or strength(found) > strength(best)):
                end = end if best is not None else min(end, time.monotonic() + _MORE_SECONDS)
                best = found
                if strength(best) > _STRONG:
                    return best
    return best


class _Strength:
    """How well an audit's draws would show that an event breaks the claim."""

    def __init__(self, extraction: Extraction, epsilon: Fraction, delta: ExactNumber) -> None:
        self.unit, self.epsilon, self.delta = extraction.unit, epsilon, delta

    def __call__(self, found: Found) -> float:
        p, q, delta = (
            float(self.unit.enclosure(x).mid()) if x else 0.0
            for x in (found.mass_left, found.mass_right, self.delta)
        )
        epsilon = float(self.epsilon) * self.unit.value
        ratio = math.exp(min(epsilon, _LARGE))
        allowed = math.exp(min(math.log(q) + epsilon, _LARGE)) if q > 0.0 else 0.0
        return (p - allowed - delta) ** 2 / (p + ratio * allowed)


class _Laws:
    """The distributions on datasets, each computed once; None if outputs are real numbers."""

    def __init__(self, extraction: Extraction) -> None:
        self._extraction = extraction
        self.paths = Masses(extraction.shared.laws, extraction.unit)
        self._known: dict[Rows, Distribution | None] = {}

    def of(self, rows: Rows) -> Distribution | None:
        if rows not in self._known:
            try:
                tree, whole = self._extraction.on(rows), self._extraction.shared.whole
                self._known[rows] = as_one(distribution(tree, self.paths, whole))
            except OverTime:
                raise
            except NotUnderstood:
                self._known[rows] = None
        return self._known[rows]


def compared(  # noqa: PLR0917, PLR0913
    extraction: Extraction,
    masses: "_Laws",
    left: Rows,
    right: Rows,
    strength: _Strength,
    end: float,
) -> Found | None:
    """An event too likely on the left: sets of outputs, or half-lines if outputs are real."""
    trees = extraction.on(left), extraction.on(right)
    laws = [masses.of(left), masses.of(right)]
    if laws[0] is not None and laws[1] is not None:
        found = excesses(laws[0], laws[1], strength.epsilon, strength.delta, extraction.unit, SLACK)
        shown = [Found(left, right, e.outputs, e.left, e.right) for e in found]
        return max(shown, key=strength, default=None)
    best: Found | None = None
    for event in islice(_events(*trees), _MOST_EVENTS):
        if time.monotonic() > end or (best is not None and strength(best) > _STRONG):
            break
        try:
            p, q = (_mass(tree, masses.paths, event) for tree in trees)
        except OverTime:
            raise
        except NotUnderstood:
            continue  # an event whose probability is not computed; others may be
        if extraction.unit.gap_sign(p * (1 - SLACK), q, strength.epsilon, strength.delta) > 0:
            shown_now = Found(left, right, (event,), p, q)
            if best is None or strength(shown_now) > strength(best):
                best = shown_now
    return best


def _events(left: Tree, right: Tree) -> Iterator[Any]:
    """Patterns in which each real number is at least or at most some value between its centers."""
    centers: dict[Any, list[list[list[Fraction]]]] = {}
    for side, tree in enumerate((left, right)):
        for path in paths(tree):
            key = merged(shape(path.output))
            numbers = [value.constant.fraction() for value in values(path.output)]
            rows = centers.setdefault(key, [[], []])
            if None not in numbers:
                rows[side].append([n for n in numbers if n is not None])
    for key, (mine, other) in centers.items():
        seen = [*mine, *other]
        if not mine:
            continue
        width = len(seen[0])
        options = [
            _half_lines([row[i] for row in mine], [row[i] for row in other]) for i in range(width)
        ]
        for chosen in _combined(options):
            yield _filled(key, iter([pattern for _, pattern in chosen]))


def _combined(options: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    """One option for each number, most promising first; with many numbers only a few."""
    if math.prod(map(len, options)) <= _MOST_COMBINED:
        yield from sorted(product(*options), key=lambda chosen: sum(rank for rank, _ in chosen))
        return
    first = [own[0] for own in options]
    yield tuple(first)
    for i, own in enumerate(options):
        yield tuple(own[0] if i == j else other[-1] for j, other in enumerate(options))
        yield from ((*first[:i], option, *first[i + 1 :]) for option in own[1:])


def _half_lines(mine: list[Fraction], other: list[Fraction]) -> list[tuple[int, Any]]:
    """Half-lines as (rank, pattern), most promising first: away from the other side's center."""
    points = sorted({*mine, *other})
    middle = [(a + b) / 2 for a, b in pairwise(points)]
    down = not other or sum(mine) / len(mine) <= sum(other) / len(other)
    up = not other or sum(mine) / len(mine) >= sum(other) / len(other)
    ends: list[Any] = []
    if down:
        ends += [("atmost", t) for t in (points[0], *middle, points[-1])]
    if up:
        ends += [("atleast", t) for t in (points[-1], *middle, points[0])]
    ends.append(("any",))
    return list(enumerate(ends))


def _filled(key: Any, patterns: Iterator[Any]) -> Any:  # noqa: ANN401
    if isinstance(key, tuple) and key and key[0] == "value":
        return next(patterns)
    return tuple(_filled(part, patterns) for part in key) if isinstance(key, tuple) else key


def _mass(tree: Tree, masses: Masses, event: Any) -> ExactNumber:  # noqa: ANN401
    total = ZERO
    for path in paths(tree):
        more = _matched(path.output, event)
        if more is not None:
            total += path.weight * masses((*path.tests, *more))
    return total


def _matched(output: Any, pattern: Any) -> list[Inequality] | None:  # noqa: ANN401
    """The facts under which an output is in the pattern; None if it never is."""
    if not isinstance(pattern, tuple) or not pattern:
        return [] if merged(output) == pattern else None
    if pattern[0] in {"any", "atleast", "atmost"}:
        if is_noisy_number(output):
            return _rows(output[1][1], pattern)
        if not is_number(output) or isinstance(output[1], str):
            return [] if pattern[0] == "any" and output[0] == "none" else None
        number = Fraction(output[1])
        inside = pattern[0] == "any" or (
            number >= pattern[1] if pattern[0] == "atleast" else number <= pattern[1]
        )
        return [] if inside else None
    if is_noisy_number(output):
        return None
    if pattern[0] != "list":
        return [] if merged(output) == pattern else None
    if output[0] not in {"list", "tuple", "array"} or len(output) != len(pattern):
        return None
    parts = [_matched(a, b) for a, b in zip(output[1:], pattern[1:], strict=True)]
    return None if any(p is None for p in parts) else [row for p in parts for row in p or []]


def _rows(value: Any, pattern: Any) -> list[Inequality]:  # noqa: ANN401
    if pattern[0] == "any":
        return []
    gap = value.constant - pattern[1]
    if pattern[0] == "atleast":
        return [Inequality(value.coefficients, gap, strict=False)]
    return [Inequality(tuple((n, -c) for n, c in value.coefficients), -gap, strict=False)]


def readable(event: Any) -> Any:  # noqa: ANN401
    """The pattern in the form that a reader knows."""
    if isinstance(event, tuple) and event:
        if event[0] == "atleast":
            return f"≥ {float(event[1]):g}"
        if event[0] == "atmost":
            return f"≤ {float(event[1]):g}"
        if event[0] == "any":
            return "any"
        if event[0] == "list":
            return [readable(part) for part in event[1:]]
    return shown(event)
