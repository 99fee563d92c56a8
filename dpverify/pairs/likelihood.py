"""The most telling events: outcomes whose likelihood ratio P/Q lies above a threshold.

By the Neyman–Pearson lemma no other events matter: the profile, its inverse and the trade-off
curve of a finite pair are piecewise linear with corners at these. A *cut* is the mass that both
laws give to one such event. Cuts are exact rationals here, for tables of Fractions and of floats
alike, so what is built on them is exact as well.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats

_MARGIN = 2.0**-51  # three roundings of 2^-53 each decide a comparison outside of this margin
_FINE_MARGIN = 2.0**-98  # numbers below 4, relative gap 2^-50, a rounding of 2^-53: error 2^-100
_HALF_BITS = 26


class Cut(NamedTuple):
    """The masses P(E) and Q(E) of an event E."""

    left: Fraction
    right: Fraction

    def excess(self, ratio: Fraction) -> Fraction:
        """P(E) − ratio·Q(E)."""
        return self.left - ratio * self.right


class Likelihood(Protocol):
    """Two distributions in terms of the ratio of their probabilities."""

    @property
    def singular(self) -> Fraction:
        """P of the outcomes that are impossible under Q."""

    @property
    def top(self) -> Fraction:
        """The largest ratio among outcomes that are possible under Q."""

    @property
    def bottom(self) -> Fraction:
        """A positive lower bound on all positive ratios."""

    def cut(self, ratio: Fraction) -> Cut:
        """Masses of the outcomes with P > ratio·Q."""

    def steepest(self, delta: Fraction) -> Fraction:
        """A guess at the largest (P(E) − δ)/Q(E), over cuts E with Q(E) > 0; 1 if it finds none."""

    def straddle(self, false_alarm: Fraction) -> tuple[Cut, Cut]:
        """Two near cuts, the first with more Q-mass than `false_alarm`, the second with no more."""


@dataclass(frozen=True)
class ExactLikelihood:
    """A table of Fractions, outcomes of equal likelihood ratio merged, largest ratio first."""

    singular: Fraction
    ratios: Sequence[Fraction]
    cuts: Sequence[Cut]

    @classmethod
    def of(cls, masses: Iterable[tuple[Fraction, Fraction]]) -> "ExactLikelihood":
        merged = merge_by_ratio(masses)
        singular = merged.pop(math.inf, Cut(Fraction(0), Fraction(0)))
        ratios = sorted((Fraction(ratio) for ratio in merged), reverse=True)
        cuts = accumulate((merged[ratio] for ratio in ratios), _joined, initial=singular)
        return cls(singular.left, ratios, list(cuts))

    @property
    def top(self) -> Fraction:
        return self.ratios[0]

    @property
    def bottom(self) -> Fraction:
        return min((ratio for ratio in self.ratios if ratio), default=Fraction(1))

    @cached_property
    def _descending(self) -> list[Fraction]:
        return [-ratio for ratio in self.ratios]

    @cached_property
    def _right_masses(self) -> list[Fraction]:
        return [cut.right for cut in self.cuts]

    def cut(self, ratio: Fraction) -> Cut:
        return self.cuts[bisect_left(self._descending, -ratio)]

    def steepest(self, delta: Fraction) -> Fraction:
        return max((cut.left - delta) / cut.right for cut in self.cuts if cut.right)

    def straddle(self, false_alarm: Fraction) -> tuple[Cut, Cut]:
        index = bisect_right(self._right_masses, false_alarm)
        return self.cuts[index], self.cuts[index - 1]


def merge_by_ratio(masses: Iterable[tuple[Fraction, Fraction]]) -> dict[Fraction | float, Cut]:
    """Total masses of the outcomes of each likelihood ratio; the ratio is ∞ where Q is 0.

    Merging is lossless: within a class, P and Q agree on which outcome it was.
    """
    merged: dict[Fraction | float, Cut] = {}
    for p, q in masses:
        if p or q:
            ratio = p / q if q else math.inf
            merged[ratio] = _joined(merged.get(ratio, Cut(Fraction(0), Fraction(0))), Cut(p, q))
    return merged


def _joined(first: Cut, second: Cut) -> Cut:
    return Cut(first.left + second.left, first.right + second.right)


class DyadicSums:
    """Exact sums over parts of a vector of non-negative floats, without a loop over entries.

    Every float is an integer of 53 bits times a power of two. The integers, halved to stay below
    2^27, are added per power of two in float64, which is exact for up to 2^26 entries.
    """

    def __init__(self, values: Floats) -> None:
        mantissas, exponents = np.frexp(values)
        integers = np.ldexp(mantissas, 53).astype(np.int64)
        self._lowest = int(exponents.min())
        self._places = exponents - self._lowest
        self._high = (integers >> _HALF_BITS).astype(np.float64)
        self._low = (integers & ((1 << _HALF_BITS) - 1)).astype(np.float64)

    def total(self, where: NDArray[np.bool_]) -> Fraction:
        """The exact sum of the entries `where` it is true."""
        places = self._places[where]
        high = np.bincount(places, self._high[where])
        low = np.bincount(places, self._low[where])
        units = 0
        for place in np.flatnonzero(high + low).tolist():
            units += ((int(high[place]) << _HALF_BITS) + int(low[place])) << place
        return units * Fraction(2) ** (self._lowest - 53)


class FloatLikelihood:
    """A table of floats; each distribution is its vector divided by its exact sum."""

    def __init__(self, left: Floats, right: Floats) -> None:
        used = (left > 0.0) | (right > 0.0)
        self._left, self._right = left[used], right[used]
        self._left_sums, self._right_sums = DyadicSums(self._left), DyadicSums(self._right)
        everything = np.ones(len(self._left), dtype=np.bool_)
        self.left_total = self._left_sums.total(everything)
        self.right_total = self._right_sums.total(everything)
        self.singular = self._left_sums.total(self._right == 0.0) / self.left_total

    bottom = Fraction(1, 1 << 1100)  # no float is below 2^-1074, and no entry above 1

    @cached_property
    def top(self) -> Fraction:
        ratio = self._ratio(self._order[0])
        while (above := self.cut(ratio)).right:
            # The order is a guess. The mean ratio above the current one is strictly larger.
            ratio = (above.left - self.singular) / above.right
        return ratio

    def cut(self, ratio: Fraction) -> Cut:
        inside = self._above(ratio * self.left_total / self.right_total)
        return Cut(
            self._left_sums.total(inside) / self.left_total,
            self._right_sums.total(inside) / self.right_total,
        )

    def _above(self, ratio: Fraction) -> NDArray[np.bool_]:
        """Where left > ratio·right, exactly: floats decide most cases, longer numbers the rest."""
        if not ratio:
            return self._left > 0.0
        p, shift, q = self._split
        exponent = ratio.numerator.bit_length() - ratio.denominator.bit_length()
        scaled = ratio / Fraction(2) ** exponent
        threshold = float(scaled) * q
        # The threshold is below 2 and positive mantissas are at least 1/2, so 2^±8 decides as
        # well as any larger power would.
        own = np.ldexp(p, np.clip(shift - exponent, -8, 8))
        inside = own > threshold * (1.0 + _MARGIN)
        close = np.flatnonzero(~inside & (own >= threshold * (1.0 - _MARGIN)))
        if close.size:
            inside[close] = exceeds(own[close], scaled, q[close])
        return inside

    @cached_property
    def _split(self) -> tuple[Floats, NDArray[np.int32], Floats]:
        """Mantissas of P, exponents of P/Q, mantissas of Q: no ratio over- or underflows."""
        (p, up), (q, down) = np.frexp(self._left), np.frexp(self._right)
        return p, up - down, q

    def steepest(self, delta: Fraction) -> Fraction:
        left, right = self._sums
        with np.errstate(over="ignore"):
            slopes = (left - float(delta)) / right
        best = float(slopes.max())
        return Fraction(best) if 1.0 < best < math.inf else Fraction(1)

    def straddle(self, false_alarm: Fraction) -> tuple[Cut, Cut]:
        order, (_, right) = self._order, self._sums
        index = int(np.searchsorted(right, float(false_alarm * self.right_total), side="right"))
        low, high = self.cut(Fraction(0)), Cut(self.singular, Fraction(0))
        reach = 1
        while reach < len(order):
            # The guess is off by a few outcomes at most; the extremes are the fallback.
            after = self.cut(self._ratio(order[min(index + reach, len(order) - 1)]))
            before = self.cut(self._ratio(order[max(index - reach, 0)]))
            low = after if after.right > false_alarm else low
            high = before if before.right <= false_alarm else high
            if low is after and high is before:
                break
            reach *= 16
        return low, high

    def _ratio(self, index: int) -> Fraction:
        scale = self.right_total / self.left_total
        return Fraction(float(self._left[index])) / Fraction(float(self._right[index])) * scale

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """Outcomes possible under Q, by falling ratio as far as two words of it can tell."""
        possible = np.flatnonzero(self._right > 0.0)
        mantissas, shifts, divisors = self._split
        p, shift, q = mantissas[possible], shifts[possible], divisors[possible]
        first = p / q
        product, error = two_product(first, q)
        rest = ((p - product) - error) / q
        with np.errstate(over="ignore", under="ignore"):
            first = np.ldexp(first, shift)
        return possible[np.lexsort((-rest, -first))]

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Masses of the first outcomes in `_order`, to float accuracy."""
        start = float(self.singular * self.left_total)
        return start + np.cumsum(self._left[self._order]), np.cumsum(self._right[self._order])


def exceeds(p: Floats, ratio: Fraction, q: Floats) -> NDArray[np.bool_]:
    """Where p > ratio·q, for floats of moderate size that are within 2^-50 of a tie.

    A tie needs a ratio of two floats, and then p·down and up·q are compared as exact sums of two
    floats each. Otherwise the ratio as a sum of two floats decides all but freak cases, and
    integers decide those.
    """
    up, down = ratio.numerator, ratio.denominator
    if max(up, down) < 1 << 53:
        scale = 0.5 ** max(up.bit_length(), down.bit_length())
        mine, mine_rest = two_product(p, np.float64(down * scale))
        other, other_rest = two_product(np.float64(up * scale), q)
        # The gap is exact (Sterbenz) and rounding the rest is monotone, so only equality is open.
        gap, rest = mine - other, other_rest - mine_rest
        result, open_cases = gap > rest, np.flatnonzero((gap == rest) & (gap != 0.0))
    else:
        first = float(ratio)
        product, error = two_product(np.float64(first), q)
        gap = (p - product) - error - float(ratio - Fraction(first)) * q
        result, open_cases = gap > 0.0, np.flatnonzero(np.abs(gap) < _FINE_MARGIN)
    for index in open_cases.tolist():
        a, b = float(p[index]).as_integer_ratio()
        c, d = float(q[index]).as_integer_ratio()
        result[index] = a * d * down > up * c * b
    return result


def two_product(a: Floats | np.float64, b: Floats | np.float64) -> tuple[Floats, Floats]:
    """The rounded product and its exact error. [Dekker, Numer. Math. 18, 1971]"""
    product = np.asarray(a * b)
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, np.asarray(error)


def _halves(value: Floats | np.float64) -> tuple[Floats | np.float64, Floats | np.float64]:
    spread = value * (2.0**27 + 1.0)
    high = spread - (spread - value)
    return high, value - high
