"""Sums and products of independent likelihood ratios, bounded from above and from below.

A pair is known by the distribution of its ratio dP/dQ under Q, and dominates another if its ratio
is larger in the convex order: E(R − x)₊ at every x ≥ 0. Splitting a mass between two neighbors so
that the mean stays raises a ratio in that order, merging masses in their mean lowers it, and sums
and products of independent ones keep it. [Shaked, Shanthikumar, Stochastic Orders, 2007, Thm
3.A.12] So a sum or product of many ratios is computed by doubling, on a grid, from both sides;
either error is of second order in the spacing. All terms are positive, so rounding is relative to
each mass and each value.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpverify.arrays import Floats, Ints
from dpverify.guarantees import End
from dpverify.pairs.ramps import UNIT

_NODES = 2560  # of a grid
_ROWS = 64  # that are added to all others at once
_COARSE = 512  # points of the rough picture that a grid is chosen by
_BULK = 1e-12  # what either tail holds beyond the part of the grid that is fine
_TAIL = 1e-44  # and beyond the grid itself


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """Ratios in rising order with their masses under Q, and the part of the mean at ∞.

    Each value and each mass may be off by a factor of up to 1 + `value_error` and 1 + `mass_error`.
    """

    values: Floats
    masses: Floats
    infinite: float
    value_error: float
    mass_error: float

    def times(self, count: int, end: End) -> "Ratios":
        """The sum of `count` independent ratios, or a bound on it towards `end`."""
        return self._repeated(count, end, np.add)

    def power(self, count: int, end: End) -> "Ratios":
        """The product of `count` independent ratios."""
        return self._repeated(count, end, np.multiply)

    def product(self, other: "Ratios", end: End) -> "Ratios":
        return _joined(self, other, end, np.multiply)

    def _repeated(self, count: int, end: End, join: np.ufunc) -> "Ratios":
        if count == 1:
            return self
        half = self._repeated(count // 2, end, join)
        double = _joined(half, half, end, join)
        return _joined(double, self, end, join) if count % 2 else double

    def profile(self, at: Floats) -> Floats:
        """E(R − x)₊ at these x, with the part at ∞, to limited accuracy, summed from the top."""
        order = np.argsort(self.values, kind="stable")
        values, masses = self.values[order], self.masses[order]
        first = np.searchsorted(values, at, side="right")
        # Σ (v − x)·m over v > x, as Σ of gaps times the mass beyond each: no cancellation.
        beyond = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        rest = np.append(np.cumsum((np.diff(values) * beyond[1:-1])[::-1])[::-1], [0.0, 0.0])
        near = np.append(values, values[-1])[first] - at
        found: Floats = np.where(first < len(values), near * beyond[first], 0.0) + rest[first]
        return found + self.infinite

    def leaking(self, share: float, *, both: bool) -> "Ratios":
        """The ratios if this much more of P, or of both laws, is on revealing outcomes."""
        found = replace(self, infinite=self.infinite + share)
        if not both:
            return found
        return replace(
            found,
            values=np.concatenate([[0.0], self.values]),
            masses=np.concatenate([[share], self.masses]),
        )

    def over(self, count: int) -> "Ratios":
        """Every value divided by a count."""
        return replace(
            self,
            values=self.values / count,
            infinite=self.infinite / count,
            value_error=self.value_error + UNIT,
        )


def from_cells(edges: Floats, left: Floats, right: Floats, error: float, end: End) -> Ratios:
    """Bounds on a ratio, from P and Q of the cells between edges.

    `edges` are ratios from 0 to ∞; `error` bounds the relative error of edges and masses.
    """
    kept = right > 0.0
    means = np.divide(left, right, out=np.zeros_like(left), where=kept)
    finite = edges[:-1]
    for edge in (finite, edges[1:]):  # what rounding alone keeps off an edge lies on it
        means = np.where(np.abs(means - edge) <= 4.0 * error * means, edge, means)
    means = np.clip(means, finite, edges[1:])
    if end is End.LOWER:
        return Ratios(means[kept], right[kept], 0.0, 8.0 * error, 2.0 * error)
    masses, infinite = _split(finite, means[kept], right[kept], np.flatnonzero(kept))
    return Ratios(finite, masses, infinite, 10.0 * error, 6.0 * error)


def envelope(nodes: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The points of the largest convex function that is nowhere above these."""
    kept: list[int] = []
    for i in range(len(nodes)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            ahead = (values[i] - values[a]) * (nodes[b] - nodes[a])
            if (values[b] - values[a]) * (nodes[i] - nodes[a]) < ahead:
                break
            kept.pop()
        kept.append(i)
    return nodes[kept], values[kept]


def mirrored(nodes: Floats, values: Floats) -> Ratios:
    """The symmetric pair whose profile has these values at ratios from 1 on.

    The envelope of the values above ratio 1, its mirror image below, and an atom at 1.
    """
    nodes, values = envelope(nodes, values)
    slopes = np.diff(values) / np.diff(nodes)
    masses = np.diff(np.append(slopes, 0.0))  # under Q, at all nodes but the first
    ratio, infinite = nodes[1:], float(values[-1])
    same = max(1.0 + 2.0 * float(slopes[0]) - float(values[0]), 0.0)
    return Ratios(
        np.concatenate([[0.0], 1.0 / ratio[::-1], [1.0], ratio]),
        np.concatenate([[infinite], (ratio * masses)[::-1], [same], masses]),
        infinite,
        16.0 * UNIT,
        1e-8,
    )


def _joined(first: Ratios, second: Ratios, end: End, join: np.ufunc) -> Ratios:
    """The sum or product of two independent ratios, on a grid."""
    nodes = _grid(first, second, join)
    cells, infinite = len(nodes), 0.0
    lifts, drops, counts = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    for values, masses in _blocks(first, second, join):
        cell = np.searchsorted(nodes, values, side="right") - 1
        if end is End.LOWER:
            lifts += np.bincount(cell, masses, cells)
            drops += np.bincount(cell, masses * values, cells)
        else:
            up, down, beyond = _shares(nodes, values, masses, cell)
            lifts += np.bincount(cell, up, cells)
            drops += np.bincount(cell, down, cells)
            infinite += beyond
        counts += np.bincount(cell, minlength=cells)
    rounding = UNIT * (8.0 + float(counts.max()))
    errors = first.value_error, second.value_error
    value_error = (max(errors) if join is np.add else sum(errors)) + 2.0 * UNIT
    mass_error = first.mass_error + second.mass_error + 2.0 * first.mass_error * second.mass_error
    if end is End.LOWER:
        kept = lifts > 0.0
        return Ratios(
            drops[kept] / lifts[kept],
            lifts[kept],
            0.0,
            value_error + 3.0 * rounding,
            mass_error + rounding,
        )
    masses = drops + np.concatenate([[0.0], lifts[:-1]])
    at_infinity = first.infinite + second.infinite + infinite  # as do means; of products, at most
    return Ratios(nodes, masses, at_infinity, value_error, mass_error + rounding)


def _blocks(first: Ratios, second: Ratios, join: np.ufunc) -> Iterator[tuple[Floats, Floats]]:
    """All pairs of values, joined, with the products of their masses, some rows at a time.

    Of two equal ratios each unordered pair beyond the block on the diagonal is listed once.
    """
    same = first is second
    for start in range(0, len(first.values), _ROWS):
        rows, columns = slice(start, start + _ROWS), slice(start if same else 0, None)
        weights = second.masses[columns].copy()
        if same:
            weights[_ROWS:] *= 2.0
        yield (
            join.outer(first.values[rows], second.values[columns]).ravel(),
            np.multiply.outer(first.masses[rows], weights).ravel(),
        )


def _split(nodes: Floats, values: Floats, masses: Floats, cell: Ints) -> tuple[Floats, float]:
    """Masses at the nodes when each value is split between its neighbors, and what goes to ∞."""
    up, down, beyond = _shares(nodes, values, masses, cell)
    count = len(nodes)
    lifts, drops = np.bincount(cell, up, count), np.bincount(cell, down, count)
    return drops + np.concatenate([[0.0], lifts[:-1]]), beyond


def _shares(
    nodes: Floats, values: Floats, masses: Floats, cell: Ints
) -> tuple[Floats, Floats, float]:
    """What each mass puts on the node above and on the node below it, and P of what is at ∞.

    Above the last node all of the mass stays there, and the rest of the mean goes to ∞.
    """
    top = len(nodes) - 1
    above, below = nodes[np.minimum(cell + 1, top)], nodes[cell]
    wide = above > below  # not above the last node, nor where nodes are the same float
    width = np.where(wide, above - below, 1.0)
    up = np.where(wide, masses * ((values - below) / width), 0.0)
    down = np.where(wide, masses * ((above - values) / width), masses)
    outside = cell == top
    beyond = float((masses[outside] * (values[outside] - nodes[-1])).sum())
    return up, down, beyond * (1.0 + 1e-9)


def _grid(first: Ratios, second: Ratios, join: np.ufunc) -> Floats:
    """0, and nodes spaced evenly in the logarithm: half of them in the bulk, half all over."""
    lows, highs, masses = (
        ufunc.outer(one, other).ravel()
        for ufunc, one, other in zip(
            (join, join, np.multiply), _coarse(first), _coarse(second), strict=True
        )
    )
    rising, falling = np.argsort(lows), np.argsort(-highs)
    lows, below = lows[rising], np.cumsum(masses[rising])
    highs, above = highs[falling], np.cumsum((masses * highs)[falling])

    def ends(tail: float) -> tuple[float, float]:
        """About the values below which Q, and above which P has this little."""
        low = lows[min(int(np.searchsorted(below, tail)), len(lows) - 1)]
        high = highs[min(int(np.searchsorted(above, tail * above[-1])), len(highs) - 1)]
        return float(low), float(max(high, low))

    pieces = [np.geomspace(*ends(tail), _NODES // 2) for tail in (_BULK, _TAIL)]
    least, most = ends(_TAIL)
    return np.unique(np.concatenate([[0.0], [least], *pieces, [most]]))


def _coarse(ratios: Ratios) -> tuple[Floats, Floats, Floats]:
    """Some hundred groups of neighboring values above 0: least and greatest value, and mass."""
    kept = (ratios.values > 0.0) & (ratios.masses > 0.0)
    values, masses = ratios.values[kept], ratios.masses[kept]
    starts = np.unique(np.linspace(0, len(values) - 1, min(_COARSE, len(values))).astype(int))
    ends = np.append(starts[1:], len(values)) - 1
    return values[starts], values[ends], np.add.reduceat(masses, starts)
