"""The exact probability of a path: that independent noises satisfy linear inequalities.

Noises that occur only in one combination, as the difference of two geometric draws, are one noise
whose law is a convolution. What is left is a graph, an edge for each inequality in two noises; if
it is a forest, each leaf is summed out: it leaves a function of its neighbor, piece by piece.
[proofs/path_masses.py]
"""

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from math import ceil, floor

from dpverify.certifying.searching.lines import AffineBound, End, NumberLine, Piece
from dpverify.certifying.symbolic.exact import ONE, ZERO, EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Inequality, NoiseLaw

Row = tuple[dict[str, Fraction], Fraction]
"""Σ coefficient·noise + constant ≥ 0."""


_MOST_ROWS = 300


class Masses:
    """Computes probabilities of paths under given laws of the noises."""

    def __init__(self, laws: dict[str, NoiseLaw], unit: EpsilonUnit) -> None:
        self.laws, self.unit = laws, unit
        self._known: dict[
            frozenset[tuple[frozenset[tuple[str, Fraction]], Fraction]], ExactNumber
        ] = {}

    def __call__(self, path: Iterable[Inequality]) -> ExactNumber:
        rows = _irredundant([_row(test) for test in path])
        if rows is not None and _has_circle(rows):
            rows = _untied(rows)
        if rows is None:
            return ZERO
        key = frozenset((frozenset(row.items()), c) for row, c in rows)
        if key not in self._known:
            self._known[key] = self._mass(rows)
        return self._known[key]

    def _mass(self, rows: list[Row]) -> ExactNumber:
        names = sorted({name for row, _ in rows for name in row})
        lines = {name: NumberLine(self.unit, self.laws[name].kind == "geometric") for name in names}
        densities = {n: lines[n].density(self.laws[n].kind, self.laws[n].parameter) for n in names}
        rows = _combined(rows, lines, densities)
        result = ONE
        left = {name for row, _ in rows for name in row}
        while left:
            root = max(sorted(left), key=lambda n: sum(n in row for row, _ in rows))
            group = _component(root, rows)
            left -= group
            function, low, high = self._gathered(root, None, rows, lines, densities, set())
            result *= lines[root].mass(function, low, high)
        return result

    def _gathered(  # noqa: PLR0917, PLR0913
        self,
        name: str,
        parent: str | None,
        rows: list[Row],
        lines: dict[str, NumberLine],
        densities: dict[str, list[Piece]],
        seen: set[str],
    ) -> tuple[list[Piece], End, End]:
        """The density of a noise times the contributions of its children, and its bounds."""
        if name in seen:
            raise NotUnderstood("the comparisons on one path relate its noises in a cycle")
        seen.add(name)
        line, function = lines[name], densities[name]
        low, high = _interval([row for row in rows if set(row[0]) == {name}], name, line)
        around = {n for row, _ in rows if name in row for n in row} - {name}
        for child in sorted(around - ({parent} if parent is not None else set())):
            inner, inner_low, inner_high = self._gathered(child, name, rows, lines, densities, seen)
            edges = [row for row in rows if set(row[0]) == {name, child}]
            above, below = _bounds(edges, child, name, lines[child], line)
            above += [] if inner_high is None else [AffineBound(Fraction(0), inner_high)]
            below += [] if inner_low is None else [AffineBound(Fraction(0), inner_low)]
            left: list[Piece] = []
            for piece in inner:
                left = line.total(left, lines[child].swept(piece, above, below))
            function = line.product(function, left)
        return function, low, high


def _row(test: Inequality) -> Row:
    constant = test.constant.fraction()
    if constant is None:
        raise NotUnderstood("noise is compared with a number that is not rational")
    return dict(test.coefficients), constant


def _irredundant(rows: list[Row]) -> list[Row] | None:
    """The rows without those implied by one or two others; None if they contradict."""
    best: dict[frozenset[tuple[str, Fraction]], Row] = {}
    for row, c in rows:
        if not row:
            if c < 0:
                return None
            continue
        key = frozenset(row.items())
        if key not in best or c < best[key][1]:
            best[key] = (row, c)
    kept = list(best.values())
    for row, c in list(kept):
        others = [r for r in kept if r[0] is not row]
        for (a, s), (b, t) in combinations(others, 2):
            if _sum(a, b) == row and s + t <= c:
                kept = others
                break
    for (a, s), (b, t) in combinations(kept, 2):
        if not _sum(a, b) and s + t < 0:
            return None
    return kept


def _has_circle(rows: list[Row]) -> bool:
    """Whether inequalities in two noises each form a cycle."""
    root: dict[str, str] = {}

    def top(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    for edge in {frozenset(row) for row, _ in rows if len(row) > 1}:
        tops = {top(name) for name in edge}
        if len(tops) < len(edge):
            return True
        first, *others = tops
        for other in others:
            root[other] = first
    return False


def _untied(rows: list[Row]) -> list[Row] | None:
    """The rows without those implied by all the others; None if they contradict."""
    if _closure(rows) is None:
        return None
    kept = list(rows)
    for row in rows:
        others = [r for r in kept if r is not row]
        found = _closure(others) or {}
        known = found.get(frozenset(row[0].items()))
        if known is not None and known <= row[1]:
            kept = others
    return kept


def _closure(rows: list[Row]) -> dict[frozenset[tuple[str, Fraction]], Fraction] | None:
    """The tightest constants over sums of rows in at most two noises; None on a contradiction."""
    best = {frozenset(row.items()): c for row, c in rows}
    fresh = list(best)
    while fresh and len(best) <= _MOST_ROWS:
        new = []
        for a in fresh:
            for b in list(best):
                total = _sum(dict(a), dict(b))
                key, c = frozenset(total.items()), best[a] + best[b]
                if not total:
                    if c < 0:
                        return None
                    continue
                shorter = len(total) <= 2 and len(total) < len({n for n, _ in (*a, *b)})
                if shorter and (key not in best or c < best[key]):
                    best[key] = c
                    new.append(key)
        fresh = new
    return best


def _sum(a: dict[str, Fraction], b: dict[str, Fraction]) -> dict[str, Fraction]:
    total = {n: a.get(n, Fraction()) + b.get(n, Fraction()) for n in {*a, *b}}
    return {n: c for n, c in total.items() if c}


def _combined(
    rows: list[Row], lines: dict[str, NumberLine], densities: dict[str, list[Piece]]
) -> list[Row]:
    """Merge noises that occur only in one fixed combination."""
    while True:
        names = sorted({name for row, _ in rows for name in row})
        columns = {n: [row.get(n, Fraction()) for row, _ in rows] for n in names}
        for kept, gone in combinations(names, 2):
            ratio = _ratio(columns[gone], columns[kept])
            if ratio is None or lines[kept].whole != lines[gone].whole:
                continue
            if lines[kept].whole and abs(ratio) != 1:
                continue
            line = lines[kept]
            moved = line.flipped(densities[gone], ratio)
            if _primitive(moved):
                densities[kept] = _convolved(line, densities[kept], moved)
            elif _primitive(densities[kept]):
                densities[kept] = _convolved(line, moved, densities[kept])
            else:
                raise NotUnderstood("a sum of many noises is compared at once")
            rows = [({n: c for n, c in row.items() if n != gone}, c) for row, c in rows]
            break
        else:
            if any(len(row) > 2 for row, _ in rows):
                raise NotUnderstood("more than two noises are compared at once")
            return rows


def _primitive(f: list[Piece]) -> bool:
    return all(j == 0 for p in f for j, _ in p.terms)


def _convolved(line: NumberLine, f: list[Piece], g: list[Piece]) -> list[Piece]:
    """The law of s + t for independent s ~ f and t ~ g, if g has no powers of t."""
    one = Fraction(1)
    total: list[Piece] = []
    for q in g:
        above = [] if q.low is None else [AffineBound(one, -q.low)]  # t = w − s ≥ low
        below = [] if q.high is None else [AffineBound(one, -q.high)]
        for (_, base), c in q.terms.items():
            inverse = -base if isinstance(base, Fraction) else base.inverse()
            for p in line.times_power(f, inverse):
                part = line.times_power(line.swept(p, above, below), base)
                scaled = [
                    Piece(r.low, r.high, {k: v * c for k, v in r.terms.items()}) for r in part
                ]
                total = line.total(total, scaled)
    return total


def _ratio(a: list[Fraction], b: list[Fraction]) -> Fraction | None:
    """The r with a = r·b, if it exists and is not 0."""
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x or y]
    if not pairs or not all(x and y for x, y in pairs):
        return None
    ratios = {x / y for x, y in pairs}
    return ratios.pop() if len(ratios) == 1 else None


def _component(root: str, rows: list[Row]) -> set[str]:
    found, todo = {root}, [root]
    while todo:
        name = todo.pop()
        near = {n for row, _ in rows if name in row for n in row} - found
        found |= near
        todo.extend(near)
    return found


def _interval(rows: list[Row], name: str, line: NumberLine) -> tuple[End, End]:
    low: End = None
    high: End = None
    for row, c in rows:
        end = -c / row[name]
        if row[name] > 0:
            end = Fraction(ceil(end)) if line.whole else end
            low = end if low is None else max(low, end)
        else:
            end = Fraction(floor(end)) if line.whole else end
            high = end if high is None else min(high, end)
    return low, high


def _bounds(
    rows: list[Row], child: str, parent: str, line: NumberLine, parent_line: NumberLine
) -> tuple[list[AffineBound], list[AffineBound]]:
    """Upper and lower bounds on one noise in terms of another."""
    if line.whole != parent_line.whole:
        raise NotUnderstood("integer noise is compared with continuous noise")
    above: list[AffineBound] = []
    below: list[AffineBound] = []
    for row, c in rows:
        slope, offset = -row[parent] / row[child], -c / row[child]
        if line.whole:
            if abs(slope) != 1:
                raise NotUnderstood("multiples of integer noise are compared")
            offset = Fraction(ceil(offset) if row[child] > 0 else floor(offset))
        (below if row[child] > 0 else above).append(AffineBound(slope, offset))
    return above, below
