"""Optimal composition of unequal (ε, δ) guarantees: exact when small, a certified bracket beyond.

The law of the privacy loss of all leaky responses that did not leak is built response by response:
n outcomes become 2n. Where there are too many, it is compressed, once so that the attacker can only
gain and once so that he can only lose:

- *spread* (upper end): an outcome between two grid points moves to both, such that both laws keep
  their mass; the original is a post-processing of it;
- *merge* (lower end): the outcomes of a cell become one, which is a post-processing.

Both change δ by the square of the grid step only. Everything is a sum of positive terms, so its
rounding error is a small relative one and is charged to the right end. Computing the value exactly
is #P-hard [MV16 Thm 1.4].
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.accounting.parts import leak
from dpverify.accounting.rules.basic import basic
from dpverify.arrays import Floats
from dpverify.balls import Order, ball, compare, enclose
from dpverify.errors import InvalidParameter, as_between, as_positive, check_nonempty
from dpverify.guarantees import ApproxDP, Bracket, End
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.theorems import UNEQUAL_COMPOSITION

Parts: TypeAlias = tuple[tuple[ApproxDP, int], ...]

_UNIT = 2.0**-53
_MOST_OUTCOMES = 1 << 21  # kept without compression, and the largest grid: some 100 MB
_FINEST = 1 << 20  # cells across the spread of the law: where refinement ends
_SMALLEST = 1e-305  # far above what underflow loses, far below any δ asked for
_TRIMMED = 2.0**-50  # of δ: how much mass of the far tails may be moved aside in all


_WORKING = 1 << 16  # outcomes beyond which a product is compressed first
_FEW = 1 << 8


@dataclass(frozen=True, slots=True)
class ListedLaw:
    """Losses with their masses under P, and what rounding and trimming did so far.

    Each loss is off by at most `drift`, each mass by a factor within 1 ± `growth`; `lost` bounds
    the mass of the outcomes that were left out, whatever their loss.
    """

    losses: Floats
    masses: Floats
    drift: float = 0.0
    growth: float = 0.0
    lost: float = 0.0

    def times(self, other: "ListedLaw") -> "ListedLaw":
        """The distribution of the sum of independent losses."""
        losses = np.add.outer(self.losses, other.losses).ravel()
        masses = np.multiply.outer(self.masses, other.masses).ravel()
        largest = float(np.abs(losses).max(initial=0.0))
        drift = self.drift + other.drift + _UNIT * largest
        growth = self.growth + other.growth + 2 * _UNIT
        return ListedLaw(losses, masses, drift, growth, self.lost + other.lost)

    def trimmed(self, floor: float) -> "ListedLaw":
        """Without outermost outcomes that weigh at most `floor` together at each end."""
        law = self.sorted()
        low = int(np.searchsorted(np.cumsum(law.masses), floor))
        high = law.masses.size - int(np.searchsorted(np.cumsum(law.masses[::-1]), floor))
        if low >= high:
            return law
        kept = slice(low, high)
        lost = law.lost + (law.masses.size > high - low) * 2.5 * floor
        return ListedLaw(law.losses[kept], law.masses[kept], law.drift, law.growth, lost)

    def compressed(self, step: float, end: End) -> "ListedLaw":
        """At most one outcome a cell of width `step`, erring towards `end`."""
        cells = np.floor(self.losses / step).astype(np.int64)
        first = int(cells.min())
        spread = end is End.UPPER
        law = self._spread(step, cells, first) if spread else self._merged(step, cells, first)
        kept = law[1] > 0
        losses, masses = law[0][kept], law[1][kept]
        # A cell edge i·step, a centroid, and a sum over a cell are each a few roundings away.
        drift = self.drift + 16 * _UNIT * (1 + float(np.abs(losses).max(initial=0.0)))
        growth = self.growth + (8 + math.log2(self.masses.size + 1) + self._crowd(cells)) * _UNIT
        return ListedLaw(losses, masses, drift, growth, self.lost)

    def _spread(self, step: float, cells: NDArray[np.int64], first: int) -> tuple[Floats, Floats]:
        ahead = self.losses - cells * step
        share = np.clip(np.expm1(-ahead) / math.expm1(-step), 0.0, 1.0)
        size = int(cells.max()) - first + 2
        masses: Floats = np.bincount(cells - first, self.masses * (1 - share), size).astype(float)
        masses += np.bincount(cells - first + 1, self.masses * share, size)
        return (np.arange(size, dtype=float) + first) * step, masses

    def _merged(self, step: float, cells: NDArray[np.int64], first: int) -> tuple[Floats, Floats]:
        size = int(cells.max()) - first + 1
        ahead = self.losses - cells * step
        masses: Floats = np.bincount(cells - first, self.masses, size).astype(float)
        right = np.bincount(cells - first, self.masses * -np.expm1(-ahead), size)
        inside = masses > 0
        masses, right = masses[inside], right[inside]
        # ln of the merged ratio: the left mass over the right one, relative to the cell's edge.
        return (np.arange(size, dtype=float)[inside] + first) * step - np.log1p(
            -right / masses
        ), masses

    @staticmethod
    def _crowd(cells: NDArray[np.int64]) -> float:
        """The longest plain sum: `bincount` adds one after the other."""
        return float(np.bincount(cells - cells.min()).max())

    def sorted(self) -> "ListedLaw":
        order = np.argsort(self.losses)
        return replace(self, losses=self.losses[order], masses=self.masses[order])

    def excess(self, epsilon: float, end: End) -> float:
        """Σ mass·(1 − e^(ε − loss))₊ for a sorted distribution, rounding charged towards `end`."""
        sign = 1 if end is End.UPPER else -1
        shifted = epsilon - sign * self.drift
        above = slice(int(np.searchsorted(self.losses, shifted)), None)
        total = float(np.sum(self.masses[above] * -np.expm1(shifted - self.losses[above])))
        total *= 1 + sign * (2 * self.growth + 64 * _UNIT)
        return total + self.lost if end is End.UPPER else max(total, 0.0)


@dataclass(frozen=True)
class UnequalComposition:
    """Parts (εᵢ, δᵢ) run kᵢ times, at their worst. [MV16 Thm 1.5]

    >>> parts = tuple((ApproxDP(epsilon=0.1 + i / 1000), 1) for i in range(60))
    >>> UnequalComposition(parts).epsilon(1e-6).width < 1e-4
    True
    """

    parts: Parts

    def __post_init__(self) -> None:
        check_nonempty("parts", self.parts)

    def epsilon(self, delta: float, *, tolerance: float = 1e-4) -> Bracket:
        """Bracket of the smallest ε at δ, no wider than `tolerance`."""
        delta = as_between("delta", delta, 0.0, 1.0)
        tolerance = as_positive("tolerance", tolerance)
        if delta == 1:
            return Bracket(0.0, 0.0, UNEQUAL_COMPOSITION)
        if self._reveals or compare(lambda: leak(self.parts), ball(delta)) is Order.ABOVE:
            return Bracket(math.inf, math.inf, UNEQUAL_COMPOSITION)
        largest = basic((ApproxDP(epsilon=p.epsilon), k) for p, k in self.parts).epsilon
        if compare(lambda: leak(self.parts), ball(delta)) is not Order.BELOW:
            return Bracket(self._largest_below(largest), largest, UNEQUAL_COMPOSITION)

        def at(step: float | None) -> Bracket:
            floor = delta * _TRIMMED
            upper = _crossing(lambda e: self._delta(e, step, End.UPPER, floor) <= delta, largest)
            lower = _crossing(lambda e: self._delta(e, step, End.LOWER, floor) < delta, largest)
            lower = max(math.nextafter(lower, -math.inf), 0.0)
            return Bracket(min(lower, upper), upper, UNEQUAL_COMPOSITION)

        return self._refined(at, lambda found: found.width, tolerance)

    def delta(self, epsilon: float, *, tolerance: float = 1e-3) -> Bracket:
        """Bracket of the smallest δ at ε, no wider than `tolerance` times its upper end."""
        epsilon = as_between("epsilon", epsilon, 0.0, math.inf)
        tolerance = as_positive("tolerance", tolerance)
        if self._reveals:
            return Bracket(1.0, 1.0, UNEQUAL_COMPOSITION)
        if epsilon >= basic((ApproxDP(epsilon=p.epsilon), k) for p, k in self.parts).epsilon:
            lower, upper = enclose(lambda: leak(self.parts))
            return Bracket(max(lower, 0.0), min(upper, 1.0), UNEQUAL_COMPOSITION)

        def at(step: float | None) -> Bracket:
            upper = self._delta(epsilon, step, End.UPPER, _SMALLEST)
            lower = min(self._delta(epsilon, step, End.LOWER, _SMALLEST), upper)
            return Bracket(lower, upper, UNEQUAL_COMPOSITION)

        return self._refined(at, lambda found: found.width / found.upper, tolerance)

    @property
    def _reveals(self) -> bool:
        return any(LeakyResponsePair(part).reveals for part, _ in self.parts)

    def _largest_below(self, largest: float) -> float:
        return 0.0 if largest == 0 else math.nextafter(math.nextafter(largest, 0.0), 0.0)

    def _refined(
        self,
        at: Callable[[float | None], Bracket],
        width: Callable[[Bracket], float],
        tolerance: float,
    ) -> Bracket:
        """The first bracket that is narrow enough, on ever finer grids; widths fall as step²."""
        if _outcomes(self.parts) <= _MOST_OUTCOMES:
            return at(None)
        spread = math.sqrt(sum(p.epsilon**2 * k for p, k in self.parts))
        step, finest = spread / 256, spread / _FINEST
        while True:
            found = at(step)
            if width(found) <= tolerance:
                return found
            if step <= finest:
                raise InvalidParameter(
                    f"tolerance={tolerance!r} must be larger: the narrowest bracket is {found}"
                )
            step = max(finest, step * min(0.5, 0.8 * math.sqrt(tolerance / width(found))))

    def _delta(self, epsilon: float, step: float | None, end: End, floor: float) -> float:
        """δ(ε) of the compressed distribution, rounded towards `end`."""
        excess = _law(self.parts, step, end, floor).excess(epsilon, end)
        least, most = self._leak
        # Three roundings, each of at most one unit, whichever way they go.
        if end is End.UPPER:
            return min((most + (1 - least) * excess) * (1 + 8 * _UNIT) + _SMALLEST, 1.0)
        return max((least + (1 - most) * excess) * (1 - 8 * _UNIT) - _SMALLEST, 0.0)

    @cached_property
    def _leak(self) -> tuple[float, float]:
        lower, upper = enclose(lambda: leak(self.parts))
        return max(lower, 0.0), min(upper, 1.0)


def _outcomes(parts: Parts) -> int:
    return math.prod(times + 1 for _, times in parts)


def _crossing(holds: Callable[[float], bool], largest: float) -> float:
    """A float in [0, largest] where `holds`, with a float just below where it does not."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, largest
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@lru_cache(maxsize=8)
def _law(parts: Parts, step: float | None, end: End, floor: float) -> ListedLaw:
    """The loss of all responses that did not leak, compressed to `step` wherever it grows large."""
    share = floor / (4 * len(parts))
    law = ListedLaw(np.zeros(1), np.ones(1))
    for part, times in sorted(parts, key=lambda item: (item[1], item[0].epsilon)):
        if part.epsilon == 0:
            continue
        one = _binomial(part.epsilon, times).trimmed(share)
        if step is not None and law.losses.size * one.losses.size > _WORKING:
            law = law.compressed(step, end).trimmed(share)
            one = one.compressed(step, end) if one.losses.size > _FEW else one
        law = law.times(one)
    return law.sorted()


def _binomial(epsilon: float, times: int) -> ListedLaw:
    """(2j − k)·ε with the binomial weights of odds e^ε : 1, from the mode outwards.

    Each weight is a product of at most k ratios, each with a handful of roundings; a Fraction ε
    is rounded first, which moves its exponential by ε more.
    """
    epsilon, rounded = float(epsilon), isinstance(epsilon, Fraction)
    counts = np.arange(times + 1)
    truthful = 1 / (1 + math.exp(-epsilon))
    mode = min(int((times + 1) * truthful), times)
    odds = math.exp(min(epsilon, 709.0))
    up = np.cumprod((times - counts[mode:times]) / (counts[mode:times] + 1.0) * odds)
    down = np.cumprod(counts[mode:0:-1] / (times - counts[mode:0:-1] + 1.0) * math.exp(-epsilon))
    relative = np.concatenate([down[::-1], [1.0], up])
    masses = relative / math.fsum(relative)
    losses: Floats = (2.0 * counts.astype(float) - times) * epsilon
    drift = (1 + rounded) * _UNIT * abs(times * epsilon)
    return ListedLaw(
        losses, masses, drift, (8 * times + 16 + 2 * rounded * times * epsilon) * _UNIT
    )
