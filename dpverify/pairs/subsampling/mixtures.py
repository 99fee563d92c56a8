"""Mixtures of Gaussians: Gaussian noise with a random shift against no shift.

The likelihood ratio is R = Σ wᵢ·Yᵢ, with Yᵢ that of N(cᵢ, 1) to N(0, 1). Of all shifts in space
whose lengths are at most cᵢ, those along one line are the worst, in both directions: there the Yᵢ
rise together, and of all sums with the same terms one that does so is the largest in the convex
order, which also grows with every cᵢ. [Dhaene et al., Insurance: Math. Econ. 31, 2002, Thm 7]
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats
from dpverify.balls import ball, wait
from dpverify.errors import InvalidParameter, as_between, settle
from dpverify.guarantees import End
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.bounded import RatioPair
from dpverify.pairs.bounds.group import group_bound
from dpverify.pairs.bounds.ratios import from_cells
from dpverify.pairs.gaussian import GaussianPair, upper_tail
from dpverify.pairs.loss_law import LossLaw
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.poisson import falling_root

_CELLS = 4096
_REACH = 14.0  # standard deviations that are divided into cells
_BITS = 192
_FAR = 200  # standard deviations beyond the largest shift, where less than e^(−20,000) is left
_LARGEST = 1e308  # ratios beyond are one
_STEPS = 12  # of Newton, in floats
_RADIUS = 1e-6  # around where they end


@dataclass(frozen=True, slots=True)
class GaussianMixturePair(Pair):
    """Left Σ wᵢ·N(cᵢ, 1), right N(0, 1); exchanged if `is_reversed`.

    `shifts` are ≥ 0, in units of the noise, and `weights` sum to 1: both are taken as exact, the
    weights divided by their sum.

    >>> pair = GaussianMixturePair((0.0, 1.0), (0.5, 0.5))
    >>> round(pair.delta(0.0), 12)
    0.191462461274
    """

    shifts: tuple[float, ...]
    weights: tuple[float, ...]
    is_reversed: bool = False

    def __post_init__(self) -> None:
        if not self.shifts or len(self.shifts) != len(self.weights):
            raise InvalidParameter(
                f"weights={self.weights!r} must be as many as shifts={self.shifts!r}, at least one"
            )
        shifts = tuple(as_between("shifts", shift, 0.0, 1e100) for shift in self.shifts)
        weights = tuple(as_between("weights", weight, 0.0, 1.0) for weight in self.weights)
        total = sum(map(Fraction, weights), Fraction(0))
        if abs(total - 1) > len(weights) * Fraction(1, 2**50):
            raise InvalidParameter(f"sum(weights)={float(total)!r} must be 1")
        settle(self, shifts=shifts, weights=weights)

    @property
    def reversed(self) -> "GaussianMixturePair":
        return replace(self, is_reversed=not self.is_reversed)

    @property
    def simplest(self) -> Pair:
        """Without a mixture if there is one shift."""
        kept = {shift for shift, weight in zip(self.shifts, self.weights, strict=True) if weight}
        return GaussianPair(Fraction(kept.pop()) ** 2) if len(kept) == 1 else self

    @property
    def upper(self) -> RatioPair:
        return _bounded(self, End.UPPER)

    @property
    def lower(self) -> RatioPair:
        return _bounded(self, End.LOWER)

    @property
    def attained(self) -> tuple[Pair, Pair]:
        return self.lower, self.lower

    @property
    def is_limit_known(self) -> bool:
        return False

    def singular_mass_ball(self) -> arb:
        if self.largest == 0.0:
            return arb(0)
        return arb(0).union(ball(self.upper.singular_mass))

    @property
    def max_loss(self) -> float:
        """∞, but if the sides are exchanged and no shift has a probability: −ln of that."""
        still = self._still
        if not self.is_reversed or still == 0:
            return math.inf if self.largest > 0.0 else 0.0
        return math.nextafter(-math.log(still) * (1.0 + 1e-12), math.inf) if still < 1 else 0.0

    @property
    def largest(self) -> float:
        """The largest shift, as a float."""
        return max(map(float, self.shifts))

    @property
    def _still(self) -> Fraction:
        """The probability of no shift at all."""
        total = sum(map(Fraction, self.weights), Fraction(0))
        none = (w for c, w in zip(self.shifts, self.weights, strict=True) if c == 0)
        return sum(map(Fraction, none), Fraction(0)) / total

    def _terms(self) -> tuple[tuple[arb, arb], ...]:
        return _terms(self.shifts, self.weights, ctx.prec)

    def ratio(self, outcome: arb) -> arb:
        """Σ wᵢ·e^(cᵢ·z − cᵢ²/2), which rises with z."""
        return sum((w * (c * outcome - c * c / 2).exp() for c, w in self._terms()), arb(0))

    def tail(self, outcome: arb) -> arb:
        """The probability that the mixture exceeds z."""
        return sum((w * upper_tail(outcome - c) for c, w in self._terms()), arb(0))

    def profile_ball(self, epsilon: arb) -> arb:
        """P(z > t) − e^ε·Q(z > t) where the ratio is e^ε at t; what lies below it if exchanged."""
        if self.largest == 0.0:
            return (-epsilon.expm1()).max(arb(0))
        far = ball(self.largest) * (_FAR + ball(self.largest) / 2)
        if not self.is_reversed and epsilon > far:  # where the ratio is e^ε, the tail is no float
            return arb(0).union(arb((1, -28_000)))
        x = epsilon.exp()
        if self.is_reversed:
            if 1 / x <= ball(self._still):
                return arb(0)
            cut = self._outcome(-epsilon)
            return (upper_tail(-cut) - x * (1 - self.tail(cut))).max(arb(0))
        cut = self._outcome(epsilon)
        return (self.tail(cut) - x * upper_tail(cut)).max(arb(0))

    def _outcome(self, loss: arb) -> arb:
        """Where the ratio is e^loss; between what the largest shift alone and its weight allow."""
        c, w = max(((c, w) for c, w in self._terms()), key=lambda term: float(term[0]))
        high = (loss - w.log()) / c + c / 2  # there the largest shift alone reaches the ratio
        near = self._newton(loss.exp(), float(high.mid()))
        if near is not None:
            return near
        low = high.min(loss / c)
        while not self.ratio(low.mid()) < loss.exp():
            wait()
            low -= 1 + abs(low)
        return falling_root(lambda z: -self.ratio(z), -loss.exp(), low, high + 1)

    def _newton(self, target: arb, start: float) -> arb | None:
        """Where the ratio is `target`, by interval Newton steps from what floats guess."""
        guess = start
        for _ in range(_STEPS):  # the ratio is convex: from the right, steps never pass the root
            value, slope = (float(part.mid()) for part in self._value_and_slope(ball(guess)))
            if not 0.0 < slope < math.inf:
                return None
            guess -= (value - float(target.mid())) / slope
        around = arb(guess, _RADIUS)
        while True:
            center = around.mid()
            root = center - (self.ratio(center) - target) / self._value_and_slope(around)[1]
            if not around.contains(root):
                return None
            if 2 * root.rad() >= around.rad():
                return around
            around = root

    def _value_and_slope(self, outcome: arb) -> tuple[arb, arb]:
        """The ratio and its derivative."""
        value = slope = arb(0)
        for c, w in self._terms():
            part = w * (c * outcome - c * c / 2).exp()
            value, slope = value + part, slope + c * part
        return value, slope

    def loss_law(self) -> LossLaw:
        return self.upper.loss_law()

    def grouped(self, size: int) -> Pair:
        """By the profile of `upper`, which takes sums of floats only."""
        return self if size == 1 else group_bound(self, size, above=self.upper)


@lru_cache(maxsize=64)
def _terms(
    shifts: tuple[float, ...], weights: tuple[float, ...], bits: int
) -> tuple[tuple[arb, arb], ...]:
    """Shifts and weights that are not 0, as balls."""
    with ctx.workprec(bits):
        total = sum(map(ball, weights), arb(0))
        found = zip(shifts, weights, strict=True)
        return tuple((ball(c), ball(w) / total) for c, w in found if w > 0)


@lru_cache(maxsize=64)
def _bounded(pair: GaussianMixturePair, end: End) -> RatioPair:
    """Both distributions on cells of outcomes, merged or split within each."""
    edges, left, right = _cells(pair.shifts, pair.weights)
    return RatioPair(from_cells(edges, left, right, 4.0 * UNIT, end), pair.is_reversed)


@lru_cache(maxsize=16)
def _cells(shifts: tuple[float, ...], weights: tuple[float, ...]) -> tuple[Floats, Floats, Floats]:
    """Ratios at the edges of the cells, and both distributions of the cells between them."""
    pair = GaussianMixturePair(shifts, weights)
    outcomes = np.linspace(-_REACH, pair.largest + _REACH, _CELLS).tolist()
    with ctx.workprec(_BITS):
        edges = [arb(0), *(pair.ratio(ball(z)) for z in outcomes), arb(math.inf)]
        left = [arb(1), *(pair.tail(ball(z)) for z in outcomes), arb(0)]
        right = [arb(1), *(upper_tail(ball(z)) for z in outcomes), arb(0)]
        cells = [_floats([a - b for a, b in pairwise(side)]) for side in (left, right)]
    bounds = _floats(edges)
    # Edges that floats can hardly tell apart are one.
    steps = np.floor(np.log(np.clip(bounds[1:-1], 1.0 / _LARGEST, _LARGEST)) / (64.0 * UNIT))
    kept = np.concatenate([[0, 1], 2 + np.flatnonzero(np.diff(steps) > 0)])
    kept = kept[bounds[kept] < math.inf]
    one, other = (np.add.reduceat(side, kept) for side in cells)
    return np.append(bounds[kept], math.inf), one, other


def _floats(values: list[arb]) -> Floats:
    return np.array([float(value.mid()) for value in values])
