"""Where the number of values below a point is constant: a finite description of a step function."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpverify.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Stretches:
    """Where the miss is constant: first point, number of points (or length), and how it misses.

    With q·n = whole + rest, 0 ≤ rest < 1, a stretch with a values below and b not above it misses
    by max(0, a − whole − rest, whole − b + rest). `excess` is a − whole and `lack` whole − b, exact
    integers.
    """

    first: Floats
    last: float
    lengths: Floats
    excess: Ints
    lack: Ints
    rest: Fraction

    @property
    def miss(self) -> Floats:
        rest = float(self.rest)
        misses: Floats = np.maximum(0.0, np.maximum(self.excess - rest, self.lack + rest))
        return misses

    @classmethod
    def of_points(cls, values: Floats, first: int, last: int, target: Fraction) -> "Stretches":
        """Whole numbers from `first` to `last`: each value, and the gaps around it."""
        points, counts = np.unique(values, return_counts=True)
        upto = np.cumsum(counts)
        # gap before point 0, point 0, gap, point 1, …, gap after the last point
        starts = np.empty(2 * len(points) + 1)
        starts[1::2] = points
        starts[0], starts[2::2] = first, points + 1.0
        lengths = np.diff(np.append(starts, last + 1.0))
        below = np.empty(len(starts), np.int64)
        below[0], below[1::2], below[2::2] = 0, upto - counts, upto
        not_above = np.empty(len(starts), np.int64)
        not_above[0], not_above[1::2], not_above[2::2] = 0, upto, upto
        return cls._counted((starts, float(last)), lengths, (below, not_above), target)

    @classmethod
    def between(cls, values: Floats, low: float, high: float, target: Fraction) -> "Stretches":
        """The intervals between neighboring values; single points have no length."""
        ends = np.concatenate([[low], values, [high]])
        counts = np.arange(len(values) + 1)
        return cls._counted((ends[:-1], high), np.diff(ends), (counts, counts), target)

    @classmethod
    def _counted(
        cls,
        where: tuple[Floats, float],
        lengths: Floats,
        counts: tuple[Ints, Ints],
        target: Fraction,
    ) -> "Stretches":
        kept = lengths > 0.0
        whole = math.floor(target)
        below, not_above = (count[kept] for count in counts)
        first, last = where
        rest = target - whole
        return cls(first[kept], last, lengths[kept], below - whole, whole - not_above, rest)
