"""A few pairs that cover all triangles: a mixture of them dominates each triangle.

On the square of (A, B) the worst profile over a box [A₁, A₂] × [B₁, B₂] is that of (A₂, B₁) at
ratios from 1 on and that of (A₁, B₂) below, as the former rises in A and falls in B and the latter
the other way round; where such a corner is no triangle, √A + √B < Δ, the nearest one inside is. So
each box has one pair that dominates it, and a linear program finds a mixture of the choices that
dominates this, with as little as possible of the worst pair, which dominates everything. Boxes that
need most of it are halved. What the last ones need is mixed into all choices: then these suffice.

By symmetry only boxes with A ≥ B somewhere are looked at: the choices come in exchanged twos.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import scipy

from dpverify.accounting import deadline
from dpverify.accounting.adaptive.lattice import Lattice, LatticePair, from_profile
from dpverify.accounting.adaptive.triangles import Triangle
from dpverify.arrays import Floats, Ints
from dpverify.guarantees import End
from dpverify.pairs.bounds.ratios import envelope

EDGE = (0.0, 0.05, 0.14, 0.28, 0.48, 0.72)
"""Where the choices lie on the edge A = Δ²: B in units of Δ². The equilateral one is at 1."""

_ROOM = 1e-7  # by which the choices are raised, far above what rounding costs
_MORE_ROOM = 0.02  # and the worst pair, above what splitting masses of triangles costs
_CERTAIN = 1e-10  # by which boxes are raised, and mixtures lowered, when they are compared
_ENOUGH = 0.02  # of the worst pair
_BOXES = 160
_EVERY = 3  # of the places, one of so many is looked at first
_CLOSE = 0.002  # shares that differ by less are as good as the same
_LEAST = 1e-30  # profiles below are not told apart

Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Triangles:
    """All triangles with sides of at most `size`, in units of the noise, drawn with `rate`.

    With probability `leak` every choice gives its side away: then what lies beyond the lattice need
    not be told apart.
    """

    lattice: Lattice
    size: float
    rate: float
    leak: float = 0.0
    _known: dict[tuple[float, float], Floats] = field(default_factory=dict)

    def half(self, first: float, second: float) -> Floats:
        """The profile of a triangle at ratios from 1 on, rounded up."""
        found = self._known.get((first, second))
        if found is None:
            triangle = Triangle(first, second, self.size)
            found = triangle.calls(self.lattice.ratios, self.rate, End.UPPER)
            self._known[first, second] = found
        return found

    def of_box(self, box: Box) -> tuple[Floats, Floats]:
        """The worst profile over a box, and that of the exchanged pairs, at ratios from 1 on."""
        low, high, least, most = box
        inner = max(least, (1.0 - math.sqrt(high)) ** 2), max(low, (1.0 - math.sqrt(most)) ** 2)
        return self.half(high, inner[0]), self.half(most, inner[1])

    def choice(self, box: Box, room: float = _ROOM) -> LatticePair:
        calls, puts = ((1.0 + room) * values + self.leak for values in self.of_box(box))
        return from_profile(self.lattice, calls, puts, End.UPPER)

    def worst(self) -> LatticePair:
        """One pair that dominates all triangles."""
        return self.choice((0.0, 1.0, 0.0, 1.0), _MORE_ROOM)

    def attained(self) -> tuple[LatticePair, ...]:
        """Pairs that are attained: dominated by removed, added and equilateral triangles."""
        halves = {
            corner: self._lower_half(*corner) for corner in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))
        }
        return tuple(
            from_profile(self.lattice, halves[a, b], halves[b, a], End.LOWER).settled
            for a, b in halves
        )

    def _lower_half(self, first: float, second: float) -> Floats:
        """Points at the lattice's ratios whose chords lie below the profile: from lines below it.

        Of a cell's line only the ends count: points that are below the lines of both of their cells
        have chords below them. A line that falls below 0 within its cell is replaced by a flatter
        one.
        """
        ratios = self.lattice.ratios
        triangle = Triangle(first, second, self.size)
        low, high = ratios[:-1], ratios[1:]
        ends = []
        for at in (np.sqrt(low * high), high):
            left, right = triangle.calls(at, self.rate, End.LOWER)
            ends.append((left - low * right, left - high * right))
        falls = ends[0][1] < 0.0
        starts, stops = (
            np.maximum(np.where(falls, other, line), 0.0)
            for line, other in zip(ends[0], ends[1], strict=True)
        )
        points = np.append(np.minimum(starts, np.append(np.inf, stops[:-1])), 0.0)
        return np.interp(ratios, *envelope(ratios, points)) * (1.0 - _ROOM)

    def cover(self) -> tuple[LatticePair, ...]:
        """A few choices, mixtures of which dominate every triangle."""
        points = [(1.0, 1.0), *((1.0, b) for b in EDGE), *((b, 1.0) for b in EDGE)]
        choices = [self.choice((a, a, b, b)) for a, b in points]
        # The worst pair dominates the choices too, so that more of it never hurts.
        tops = [self.worst(), *choices]
        calls = np.max([pair.calls for pair in tops], axis=0)
        puts = np.max([pair.puts for pair in tops], axis=0)
        worst = from_profile(self.lattice, calls, puts, End.UPPER)
        share = self._share(choices, worst)
        return tuple(pair.mixed(worst, share) for pair in choices)

    def _share(self, choices: Sequence[LatticePair], worst: LatticePair) -> float:
        """A bound on the share of the worst pair that each box needs."""
        mixer = Mixer.of(choices, worst)
        start = (0.0, 1.0, 0.0, 1.0)
        waiting = [(-mixer.share(*self.of_box(start)), start)]
        for _ in range(_BOXES):
            deadline.check()
            need, box = waiting[0]
            if need >= -_ENOUGH:
                break
            heapq.heappop(waiting)
            for half in _halves(box):
                if _is_empty(half):
                    continue
                share = min(mixer.share(*self.of_box(half)), -need)
                heapq.heappush(waiting, (-share, half))
        return min(-waiting[0][0], 1.0)


def _halves(box: Box) -> tuple[Box, Box]:
    low, high, least, most = box
    if high - low >= most - least:
        middle = (low + high) / 2.0
        return (low, middle, least, most), (middle, high, least, most)
    middle = (least + most) / 2.0
    return (low, high, least, middle), (low, high, middle, most)


def _is_empty(box: Box) -> bool:
    """Whether the box has no triangle with A ≥ B; the rest are mirror images."""
    _, high, least, most = box
    return high < least or math.sqrt(high) + math.sqrt(most) < 1.0 - 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Mixer:
    """Profiles of the choices and the worst pair, at the places where they differ."""

    profiles: Floats  # a row for each choice
    worst: Floats
    kept: Ints

    @classmethod
    def of(cls, choices: Sequence[LatticePair], worst: LatticePair) -> "Mixer":
        joined = [np.concatenate([pair.calls, pair.puts]) for pair in choices]
        bound = np.concatenate([worst.calls, worst.puts])
        return cls(np.stack(joined), bound, np.flatnonzero(bound > _LEAST))

    def share(self, calls: Floats, puts: Floats) -> float:
        """Nearly the smallest share of the worst pair with which a mixture dominates these.

        Few places are looked at first, and all of them if that turns out to have been too few.
        """
        wanted = np.concatenate([calls, puts]) * (1.0 + _CERTAIN)
        hoped, found = self._solved(wanted, self.kept[::_EVERY])
        return found if found <= hoped + _CLOSE else min(found, self._solved(wanted, self.kept)[1])

    def _solved(self, wanted: Floats, kept: Ints) -> tuple[float, float]:
        """The least share at some places, and what its mixture needs at all of them."""
        unit, count = self.worst[kept], len(self.profiles)
        scaled = self.profiles[:, kept] / unit
        found = scipy.optimize.linprog(
            np.append(np.zeros(count), 1.0),
            A_ub=-np.append(scaled, np.ones((1, len(unit))), axis=0).T,
            b_ub=-wanted[kept] / unit,
            A_eq=np.ones((1, count + 1)),
            b_eq=[1.0],
            bounds=(0.0, 1.0),
            method="highs",
        )
        if not found.success or found.x is None:
            return 1.0, 1.0
        hoped, weights = float(found.x[count]), np.maximum(found.x[:count], 0.0)
        if not weights.sum() > 0.0:
            return hoped, 1.0
        # Whatever was found, it is judged by its own profile.
        mixture = (weights / weights.sum() @ self.profiles) * (1.0 - _CERTAIN)
        lacking, room = wanted - mixture, self.worst * (1.0 - _CERTAIN) - mixture
        short = lacking > 0.0
        if (lacking[short] >= room[short]).any():
            return hoped, 1.0
        need = float((lacking[short] / room[short]).max(initial=0.0)) * (1.0 + _CERTAIN)
        return hoped, need
