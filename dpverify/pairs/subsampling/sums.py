"""How much a sum over all steps shows of a record that takes part in some of them.

Whatever is computed from the outputs bounds the profile from below. Here it is the sum over the
steps of what each would tell if the record took part in it on its own with probability k/t, rounded
to a lattice. Its law does not depend on which steps hold the record: it is the convolution of t−k
laws without the record and k with it. All terms are positive, so that rounding stays relative.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats, Ints
from dpverify.pairs.bounds.ratios import Ratios
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.copies import cell_masses, even_outcomes
from dpverify.pairs.subsampling.shifts import shift_of

_BITS = 160
_POINTS = 4000  # of the lattice on which the sum lies, about
_WIDE = 30.0  # standard deviations of the sum that these cover
_RARE = 1e-30  # outcomes beyond, of one step, count as the last ones before
_TRIMMED = 1e-60  # mass that a convolution may leave out at either end
_LEAST = 1e-40  # masses below are left out: to the others, what was trimmed is next to nothing


@dataclass(frozen=True, slots=True, eq=False)
class _Lattice:
    """Masses at first, first + 1, …; `error` bounds their relative error."""

    first: int
    masses: Floats
    error: float

    def plus(self, other: "_Lattice") -> "_Lattice":
        masses = np.convolve(self.masses, other.masses)
        terms = min(len(self.masses), len(other.masses))
        error = self.error + other.error + UNIT * (terms + 4.0)
        low = int(np.searchsorted(np.cumsum(masses), _TRIMMED))
        high = int(np.searchsorted(np.cumsum(masses[::-1]), _TRIMMED))
        kept = masses[low : len(masses) - high]
        return _Lattice(self.first + other.first + low, kept, error)

    def times(self, count: int) -> "_Lattice":
        if count == 1:
            return self
        half = self.times(count // 2)
        double = half.plus(half)
        return double.plus(self) if count % 2 else double


@lru_cache(maxsize=32)
def sum_ratio(
    base: GaussianPair | LaplacePair,
    steps: int,
    selected: int,
    both: bool,  # noqa: FBT001  # a key of the cache
) -> Ratios:
    """The ratio of the sum's two laws under the second: without the record, or with another."""
    places, (without, present, other) = _one_step(base, selected / steps, both=both)
    spread = _deviation(places, without) * math.sqrt(steps - selected)
    spread = math.hypot(spread, _deviation(places, present) * math.sqrt(selected))
    points = np.rint(places * (_POINTS / max(_WIDE * spread, np.ptp(places)))).astype(np.int64)
    rest = _on_lattice(points, without)

    def whole(part: Floats) -> _Lattice:
        held = _on_lattice(points, part).times(selected)
        return held.plus(rest.times(steps - selected)) if steps > selected else held

    left, right = whole(present), whole(other) if both else rest.times(steps)
    return _ratios(left, right, 4.0 * steps * _TRIMMED / _LEAST)


def _one_step(
    base: GaussianPair | LaplacePair, rate: float, *, both: bool
) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """What cells of outcomes tell, and their masses: no record, the record, another record."""
    shift = shift_of(base)
    with ctx.workprec(_BITS):
        weights = [arb(0), arb(1)]
        outcomes = even_outcomes(base, weights, weights if both else [arb(1)])
        laws = tuple(
            np.array([float(mass.mid()) for mass in cell_masses(shift, outcomes, copies)])
            for copies in (0, 1, -1)
        )
        up = np.array([float(shift.ratio(z, 1).mid()) for z in outcomes])
        down = np.array([float(shift.ratio(-z, 1).mid()) for z in outcomes])
    tells = np.log1p(rate * (up - 1.0)) if rate < 1.0 else np.log(up)
    if both:
        tells -= np.log1p(rate * (down - 1.0)) if rate < 1.0 else np.log(down)
    places = np.concatenate([tells[:1], (tells[1:] + tells[:-1]) / 2.0, tells[-1:]])
    low, high = (
        min(int(np.searchsorted(np.cumsum(law[::way]), _RARE)) for law in laws) for way in (1, -1)
    )
    places = np.clip(places, places[low], places[len(places) - 1 - high])
    return places, laws  # type: ignore[return-value]


def _deviation(places: Floats, masses: Floats) -> float:
    mean = float((places * masses).sum())
    return math.sqrt(float(((places - mean) ** 2 * masses).sum()))


def _on_lattice(points: Ints, masses: Floats) -> _Lattice:
    first = int(points.min())
    found: Floats = np.bincount(points - first, masses).astype(float)
    return _Lattice(first, found, UNIT * (len(masses) + 4.0))


def _ratios(left: _Lattice, right: _Lattice, trimmed: float) -> Ratios:
    """Where both laws are known well; what is left out only makes the bound smaller.

    `trimmed` bounds what all trimming together took off one mass, relatively.
    """
    first = max(left.first, right.first)
    last = min(left.first + len(left.masses), right.first + len(right.masses))
    p = left.masses[first - left.first : last - left.first]
    q = right.masses[first - right.first : last - right.first]
    kept = (p > _LEAST) & (q > _LEAST)
    values, masses = p[kept] / q[kept], q[kept]
    order = np.argsort(values, kind="stable")
    error = left.error + right.error + trimmed + 1e-12
    return Ratios(values[order], masses[order], 0.0, 2.0 * error, error)
