"""Private medians and quantiles of numbers in a declared range, by the exponential mechanism.

The score of t is minus the number of records by which t misses the quantile,

    miss(t) = max(0, #{x < t} − q·n, q·n − #{x ≤ t}),

0 at every q-quantile, ties included. It is constant between neighboring values, so the total weight
is a finite sum over the stretches between them, and drawing is exact: first a stretch, then a
point of it, all equally likely.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from flint import arb
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from dpverify.arrays import Floats, Ints
from dpverify.balls import ball
from dpverify.claims import Claim
from dpverify.errors import (
    LEAST_EXPONENT,
    Arithmetic,
    InvalidParameter,
    check_draw,
    check_flag,
    check_positive,
    check_real,
    checked_grid,
    settle_fields,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms.inputs import grounds, outputs_of
from dpverify.mechanisms.sampling.choice import CutPoints, at_precision
from dpverify.mechanisms.sampling.grid import Grid, exact
from dpverify.neighbors import Relation
from dpverify.pairs import LeakyResponsePair
from dpverify.theorems import EXPONENTIAL_MECHANISM
from solvers.bounds import numbers


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of constant score: first point, number of points (or length), and rank error.

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
        """The intervals between neighboring values; single points have length 0."""
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


_POINTS = 40  # the default grid has 2^39 to 2^40 points in the range
_FLOAT_ERROR = 2.0**-44  # assumed, per stretch; delivered: below 2^-50
_FLOAT_WEIGHTS = "float exponentials and sums are within 2^-44 of the exact ones, per stretch"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialQuantile:
    """A private quantile by the exponential mechanism.

    A number in [low, high] with probability ∝ exp(−ε·miss/(2Δ)): ε-DP.

    `data` is a list of numbers in the declared range. Replacing one of them moves #{x < t} and
    #{x ≤ t} by at most 1, so Δ = 1; adding one moves them by 0 or 1 and q·n by q, so
    Δ = max(q, 1 − q), one half for the median. [proofs/exponential_mechanism.py]

    With arithmetic "grid", values and outputs are multiples of 2^`grid_exponent` (values are
    rounded to them, one record at a time) and probabilities are exact to the last digit. With
    "real", outputs are spread over the whole interval as floats, for simulation.

    >>> median = ExponentialQuantile(epsilon=1.0, low=0.0, high=100.0,
    ...                              relation=Relation.ADD_REMOVE, grid_exponent=0)
    >>> median.sample(40 * [10.0] + 61 * [20.0], size=5, rng=np.random.default_rng(0))
    array([20., 20., 20., 20., 20.])
    """

    epsilon: float
    low: float
    high: float
    relation: Relation
    quantile: float = 0.5
    clip: bool = False
    arithmetic: Arithmetic = "grid"
    grid_exponent: int | None = None

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_positive("epsilon", self.epsilon)
        for name in ("low", "high"):
            check_real(name, getattr(self, name))
            if not math.isfinite(getattr(self, name)):
                raise InvalidParameter(f"{name}={getattr(self, name)!r} must be finite")
        if not self.low < self.high:
            raise InvalidParameter(f"low={self.low!r} must be below high={self.high!r}")
        check_real("quantile", self.quantile)
        if not 0 < self.quantile < 1:
            raise InvalidParameter(f"quantile={self.quantile!r} must lie strictly between 0 and 1")
        check_flag("clip", self.clip)
        checked_grid(self.arithmetic, self.grid_exponent)
        if self.arithmetic == "grid":
            self._ends()

    @property
    def claim(self) -> Claim:
        assumes = grounds(self.arithmetic, _FLOAT_WEIGHTS)
        guarantee = PureDP(epsilon=self.epsilon)
        return Claim(guarantee, self.relation, EXPONENTIAL_MECHANISM, assumes)

    def pair(self, relation: Relation) -> LeakyResponsePair:
        """The dominating pair: randomized response."""
        self.relation.check(relation)
        return LeakyResponsePair(ApproxDP(epsilon=self.epsilon))

    @property
    def score_sensitivity(self) -> Fraction:
        """Δ: 1, or max(q, 1 − q) where a record is added or removed."""
        if self.relation is Relation.REPLACE_ONE:
            return Fraction(1)
        return max(exact(self.quantile), 1 - exact(self.quantile))

    @property
    def grid(self) -> Grid:
        """The multiples of a power of two that can be released."""
        if self.grid_exponent is not None:
            return Grid(int(self.grid_exponent))
        span = math.frexp(float(self.high) - float(self.low))[1]
        size = math.frexp(max(abs(float(self.low)), abs(float(self.high))))[1]
        return Grid(max(span - _POINTS, size - 52, LEAST_EXPONENT))

    def sample(self, data: ArrayLike, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private quantiles."""
        values = self._values(data)
        check_draw(size, rng)
        stretches = self._stretches(values)
        cumulated = np.cumsum(self._weights(stretches))
        floats = cumulated[:-1] / cumulated[-1]
        if self.arithmetic == "real":
            picked = np.searchsorted(floats, rng.random(size), side="right")
            return stretches.first[picked] + rng.random(size) * stretches.lengths[picked]
        cuts = CutPoints(
            floats=floats,
            error=_FLOAT_ERROR * (len(floats) + 2),
            balls=at_precision(lambda: self._cut_balls(stretches)),
        )
        picked = cuts.draw((size,), rng)
        steps = stretches.first[picked].astype(np.int64)
        steps += rng.integers(0, stretches.lengths[picked].astype(np.int64))
        released: Floats = np.ldexp(steps.astype(np.float64), self.grid.exponent)
        return released

    def log_density(self, outputs: ArrayLike, data: ArrayLike) -> Floats:
        """The log probability (grid) or log density (real) of each output; −∞ where it is 0."""
        stretches = self._stretches(self._values(data))
        draws = outputs_of(outputs, ()).astype(np.float64)
        with np.errstate(over="ignore"):
            position = draws if self.arithmetic == "real" else np.ldexp(draws, -self.grid.exponent)
        inside = (stretches.first[0] <= position) & (position <= stretches.last)
        if self.arithmetic == "grid":
            inside &= np.floor(position) == position
        logs = -float(self._factor) * stretches.miss
        total = logsumexp(logs + np.log(stretches.lengths))
        known = np.where(inside, position, stretches.first[0])
        index = np.searchsorted(stretches.first, known, side="right") - 1
        return np.where(inside, logs[index] - total, -np.inf)

    @property
    def _factor(self) -> Fraction:
        """The factor from rank errors to minus log weights: ε/(2Δ)."""
        return exact(self.epsilon) / (2 * self.score_sensitivity)

    def _ends(self) -> tuple[int, int]:
        """The first and last multiple of the step in [low, high], counted in steps."""
        step = Fraction(2) ** self.grid.exponent
        first, last = math.ceil(exact(self.low) / step), math.floor(exact(self.high) / step)
        if first > last:
            raise InvalidParameter(
                f"grid_exponent={self.grid_exponent!r} must leave a multiple of its step in "
                f"[{self.low!r}, {self.high!r}]"
            )
        if max(abs(first), abs(last)) > 1 << 53:
            raise InvalidParameter(
                f"grid_exponent={self.grid_exponent!r} must be larger: beyond 2^53 steps several "
                "multiples share one float"
            )
        return first, last

    def _values(self, data: ArrayLike) -> Floats:
        """The sorted data, in steps for a grid; values out of range are refused or clipped."""
        values = numbers("data", data)
        low, high = float(self.low), float(self.high)
        outside = (values < low) | (values > high)
        if outside.any() and not self.clip:
            raise InvalidParameter(
                f"data must lie in [{self.low!r}, {self.high!r}], or be clipped (clip=True)"
            )
        values = np.sort(np.clip(values, low, high))
        if self.arithmetic == "real":
            return values
        first, last = self._ends()
        return np.clip(self.grid.steps(values), first, last).astype(np.float64)

    def _stretches(self, values: Floats) -> Stretches:
        if self.arithmetic == "real":
            return Stretches.between(
                values, float(self.low), float(self.high), self._target(values)
            )
        first, last = self._ends()
        return Stretches.of_points(values, first, last, self._target(values))

    def _target(self, values: Floats) -> Fraction:
        return exact(self.quantile) * len(values)

    def _weights(self, stretches: Stretches) -> Floats:
        weights: Floats = stretches.lengths * np.exp(-float(self._factor) * stretches.miss)
        return weights

    def _cut_balls(self, stretches: Stretches) -> list[arb]:
        """The exact cumulative probabilities of the stretches."""
        factor, rest = ball(self._factor), ball(stretches.rest)
        weights = []
        for length, excess, lack in zip(
            stretches.lengths.tolist(),
            stretches.excess.tolist(),
            stretches.lack.tolist(),
            strict=True,
        ):
            # At most one of the two is positive: an exact integer apart from `rest`.
            miss = (
                arb(excess) - rest if excess > 0 else arb(max(lack, 0)) + (rest if lack >= 0 else 0)
            )
            weights.append(arb(length) * (-factor * miss).exp())
        cumulated = list(accumulate(weights))
        return [value / cumulated[-1] for value in cumulated[:-1]]
