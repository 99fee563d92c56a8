"""Pairs with losses on a lattice, and games in which each step may be any of several pairs.

A game of k steps: before each step the player chooses a pair, knowing all outcomes so far. With
V₀(x) = (1 − x)₊ and x = e^s, the best profile after j steps is

    V_j(s) = the largest Σᵢ pᵢ·V_{j−1}(s − lᵢ) over the pairs, pᵢ the mass under P of the loss lᵢ,

for a running loss may be taken off the threshold. Where all losses are multiples of one step, V is
needed on that lattice alone, and no interpolation enters. All terms are positive; what lies beyond
the board is bounded by V falling, and by its slope in x, which is at least −1. Players who choose
among more pairs do no better if each is dominated by a mixture of these: V is convex in x, and E[V]
linear in the mixture, so that one of its members is at least as good.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dpverify.accounting import deadline
from dpverify.accounting.numerical.convolution import TRANSFORM_ROUNDINGS, window_length
from dpverify.arrays import Floats, Ints
from dpverify.guarantees import End
from dpverify.pairs.ramps import UNIT

_DENSE = 60  # nodes next to 0 that are all kept
_GROWTH = 0.035  # of the gaps between nodes further out
_ROUNDING = 1e-12  # of one step, beyond that of the transform


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """The losses a pair may have: multiples of `step`, all near 0 and fewer further out."""

    step: float
    offsets: Ints  # 0 and above, in rising order

    @classmethod
    def reaching(cls, step: float, reach: float) -> "Lattice":
        found, most = list(range(_DENSE)), math.ceil(reach / step)
        while found[-1] < most:
            found.append(found[-1] + max(1, int(found[-1] * _GROWTH)))
        return cls(step, np.array(found))

    @property
    def last(self) -> int:
        """The greatest multiple."""
        return int(self.offsets[-1])

    @property
    def ratios(self) -> Floats:
        """e^l of the losses from 0 on."""
        found: Floats = np.exp(self.step * self.offsets)
        return found

    @property
    def both(self) -> Ints:
        """Multiples from the least loss to the greatest."""
        return np.concatenate([-self.offsets[:0:-1], self.offsets])


@dataclass(frozen=True, slots=True, eq=False)
class LatticePair:
    """Masses of losses on a lattice.

    `above` are masses under Q at losses from 0 on, `below` those under P at losses from 0 down, as
    the exchanged pair has them above; both are 0 at loss 0 itself, which takes what is left.
    `infinite` is P of what Q never shows, `absent` Q of what P never shows.
    """

    lattice: Lattice
    above: Floats
    below: Floats
    infinite: float
    absent: float

    @property
    def calls(self) -> Floats:
        """The profile at ratios from 1 on, by sums of positive terms."""
        return _calls(self.lattice.ratios, self.above, self.infinite)

    @property
    def puts(self) -> Floats:
        """The profile of the exchanged pair at ratios from 1 on."""
        return _calls(self.lattice.ratios, self.below, self.absent)

    @property
    def left(self) -> Floats:
        """Masses under P at all multiples, from the least loss to the greatest."""
        risen = self.above * self.lattice.ratios
        rest = 1.0 - self.infinite - math.fsum([*risen, *self.below])
        return np.concatenate([self.below[:0:-1], [rest], risen[1:]])

    @property
    def settled(self) -> "LatticePair":
        """The pair, made valid by mixing if more than all of the mass is away from loss 0."""
        away = 1.0 - float(self.left[len(self.lattice.offsets) - 1])
        if away <= 1.0:
            return self
        kept = (1.0 - 1e-12) / away
        return LatticePair(
            self.lattice,
            kept * self.above,
            kept * self.below,
            kept * self.infinite,
            kept * self.absent,
        )

    def mixed(self, other: "LatticePair", share: float) -> "LatticePair":
        """The mixture with this share of another pair."""
        kept = 1.0 - share
        return LatticePair(
            self.lattice,
            kept * self.above + share * other.above,
            kept * self.below + share * other.below,
            kept * self.infinite + share * other.infinite,
            kept * self.absent + share * other.absent,
        )


def _calls(ratios: Floats, masses: Floats, infinite: float) -> Floats:
    """Σ (r − x)₊·m, as Σ of gaps times the mass beyond each."""
    beyond = np.cumsum(masses[::-1])[::-1]
    gaps = np.diff(ratios) * beyond[1:]
    return np.append(np.cumsum(gaps[::-1])[::-1], 0.0) + infinite


def from_profile(lattice: Lattice, calls: Floats, puts: Floats, end: End) -> LatticePair:
    """The pair whose profile joins these points, at ratios from 1 on, and those of its exchange.

    Both start with the total variation distance; where they do not, the side that errs is scaled.
    """
    sides = [_masses(lattice.ratios, values, end) for values in (calls, puts)]
    at_one = [float(_calls(lattice.ratios, *side)[0]) for side in sides]
    wanted = max(at_one) if end is End.UPPER else min(at_one)
    (above, infinite), (below, absent) = (
        (masses * (wanted / found), rest * (wanted / found)) if found else (masses, rest)
        for (masses, rest), found in zip(sides, at_one, strict=True)
    )
    return LatticePair(lattice, above, below, infinite, absent)


def _masses(ratios: Floats, values: Floats, end: End) -> tuple[Floats, float]:
    """What the slope of a falling convex function rises by at each ratio, and its limit.

    Whatever rounding did, the profile of these masses is on the safe side of the values.
    """
    slopes = np.append(np.diff(values) / np.diff(ratios), 0.0)
    masses, rest = np.zeros(len(ratios)), float(values[-1])
    masses[1:] = np.maximum(np.diff(slopes), 0.0)
    counts = values > 0.0
    if not counts.any():
        return masses, rest
    off = values[counts] / _calls(ratios, masses, rest)[counts]
    factor = max(float(off.max()), 1.0) if end is End.UPPER else min(float(off.min()), 1.0)
    return masses * factor, rest * factor


@dataclass(frozen=True, slots=True)
class Board:
    """The running losses that a game is played on: from `first` ≤ 0 to `last` steps of a lattice.

    V is kept as V(s)·e^(tilt·s), so that values that differ by orders of magnitude survive a
    Fourier transform, whose error is relative to the largest.
    """

    step: float
    first: int
    last: int
    tilt: float

    def play(self, pairs: Sequence[LatticePair], times: int, end: End) -> Floats:
        """V after `times` steps at losses from 0 on, bounded towards `end`."""
        reach, count = pairs[0].lattice.last, self.last - self.first + 1
        losses = self.step * np.arange(self.first - reach, self.last + 1)
        tilts, certain = np.exp(self.tilt * losses), -np.expm1(losses)  # e^(tilt·s) and 1 − x
        ahead, inside = slice(0, reach), slice(reach, reach + count)
        padded = np.zeros(window_length(count + 2 * reach))
        transforms, error = self._transforms(pairs, len(padded))
        # What leads above the board finds V no larger than at its end; what gives the side away, 1.
        over = np.stack([self._over(pair) for pair in pairs])
        leaks = np.array([[pair.infinite] for pair in pairs])
        least = np.maximum(certain[inside], 0.0)
        values = least
        for _ in range(times):
            deadline.check()
            if end is End.UPPER:
                padded[ahead] = np.minimum(values[0] + (certain[ahead] - certain[reach]), 1.0)
            else:
                padded[ahead] = np.maximum(values[0], certain[ahead])
            padded[inside] = values
            padded[: reach + count] *= tilts
            wrong = error * math.sqrt(float(np.square(padded).sum()))
            seen = scipy.fft.irfft(scipy.fft.rfft(padded) * transforms, len(padded))[:, inside]
            if end is End.UPPER:
                seen = (seen + wrong) / tilts[inside] + (over * values[-1] + leaks)
                values = seen.max(axis=0) * (1.0 + _ROUNDING)
            else:
                values = (seen.max(axis=0) - wrong) / tilts[inside] * (1.0 - _ROUNDING)
            values = np.clip(values, least, 1.0)
        found: Floats = values[-self.first :]
        return found

    def _transforms(
        self, pairs: Sequence[LatticePair], length: int
    ) -> tuple[NDArray[np.complex128], float]:
        """Transforms of tilted masses; the ℓ2 error of what they give, over the norm of the input.

        A transform of length n is taken to be off as `accounting.numerical.convolution` has it:
        that of the masses by at most t·√n times their norm at every frequency, that of V and the
        one back by t times the norm of what they transform.
        """
        masses = np.zeros((len(pairs), length))
        offsets = pairs[0].lattice.both
        for row, pair in zip(masses, pairs, strict=True):
            row[offsets % length] = pair.left * np.exp(self.tilt * self.step * offsets)
        unit = TRANSFORM_ROUNDINGS * math.log2(length) * UNIT
        largest = float(masses.sum(axis=1).max())
        norm = math.sqrt(float(np.square(masses).sum(axis=1).max()))
        error = unit * (2.0 * largest + math.sqrt(length) * norm) + 4.0 * UNIT * largest
        return scipy.fft.rfft(masses), 1.01 * error

    def _over(self, pair: LatticePair) -> Floats:
        """For every place, the mass of losses that lead above the board."""
        offsets, masses = pair.lattice.both, pair.left
        below = np.append(0.0, np.cumsum(masses))
        places = np.arange(self.first - self.last, 1)  # s − l > last: l below s − last
        return below[np.searchsorted(offsets, places, side="left")]
