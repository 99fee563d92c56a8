"""Noise on a sample that holds a random number of records, or copies, of one user.

With B(j·s) the noise moved by j shifts and w the law of the number of records that are drawn,

- *a user is removed*: Σ wⱼ·B(j·s) against B, and exchanged when one is added;
- *a user is replaced*: Σ wⱼ·B(j·s) against Σ wⱼ·B(−j·s).

Given what else is drawn, j records move the noise by vⱼ with |vⱼ| ≤ j·s, in whatever dimension.
Sums of ratios are largest in the convex order when all of them rise together: for every split of x
into Σ wⱼ·xⱼ,

    E(Σ wⱼ·Yⱼ − x)₊ ≤ Σ wⱼ·E(Yⱼ − xⱼ)₊ ≤ Σ wⱼ·E(Yⱼ* − xⱼ)₊,

and in one dimension, at xⱼ = Yⱼ*(t), the last sum is E(Σ wⱼ·Yⱼ* − x)₊. The terms −x·wⱼ·Zⱼ of a
replaced user rise with the outcome too, and join the sum. So these pairs dominate, and a sum to
which all records of a user contribute alike attains them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats
from dpverify.balls import ball, float_above
from dpverify.errors import NotSupported, as_between, as_count, settle
from dpverify.guarantees import End
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.bounded import BoundedPair
from dpverify.pairs.bounds.ratios import Ratios, from_cells
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair, check_base
from dpverify.pairs.subsampling.shifts import Shift, shift_of

_BITS = 160
_REACH = 14.0  # standard deviations of normal noise that are divided into cells
_WIDTH = 1.0 / 64.0  # of a cell, in units of the noise, or a little less
_LEAST_CELLS, _MOST_CELLS = 2048, 1 << 14
_TAIL = 1e-44  # larger numbers of copies are less likely than this
_MOST_COPIES = 128
_FURTHEST = {GaussianPair: 20.0, LaplacePair: 500.0}  # shifts beyond give everything away


@dataclass(frozen=True, slots=True)
class CopiesPair(BoundedPair):
    """A binomial number of shifts: `records` of them, each drawn with probability `rate`.

    `base` is the pair of one record's presence. `both` says that both sides are mixed: the user is
    replaced by another one with as many records.
    """

    base: GaussianPair | LaplacePair
    records: int
    rate: float
    both: bool = False
    is_reversed: bool = False

    def __post_init__(self) -> None:
        check_base(self.base)
        settle(self, records=as_count("records", self.records))
        settle(self, rate=as_between("rate", self.rate, 0.0, 1.0))
        self.likely  # noqa: B018  # raises where there are too many

    @property
    def reversed(self) -> "CopiesPair":
        """Where both sides are mixed, reflecting outcomes exchanges them."""
        return self if self.both else replace(self, is_reversed=not self.is_reversed)

    @property
    def simplest(self) -> Pair:
        """One record is an ordinary Poisson sample; at rate 1 all records are drawn."""
        mixed = Mixed.BOTH if self.both else Mixed.RIGHT if self.is_reversed else Mixed.LEFT
        if self.records == 1 or self.rate == 0:
            return SubsampledPair(self.base, self.rate, mixed).simplest
        if self.rate == 1:
            return SubsampledPair(several(self.base, self.records), 1.0, mixed).simplest
        return self

    @property
    def likely(self) -> int:
        """The largest number of copies that is not too unlikely to count."""
        return likely_copies(self.base, self.records, self.rate)

    def ratios(self, end: End) -> Ratios:
        return _ratios(self.base, self.records, self.rate, self.both, end)

    def max_loss_ball(self) -> arb:
        """The loss where the noise that is moved furthest is likeliest."""
        if isinstance(self.base, GaussianPair) and (self.both or not self.is_reversed):
            return arb(math.inf) if self.rate else arb(0)
        none = (1 - ball(self.rate)) ** self.records
        if isinstance(self.base, GaussianPair):
            return -none.log()
        q, shift = ball(self.rate), self.base.shift
        most = (1 - q + q * shift.exp()) ** self.records
        least = (1 - q + q * (-shift).exp()) ** self.records
        if self.both:
            return (most / least).log()
        return -least.log() if self.is_reversed else most.log()

    @property
    def max_loss(self) -> float:
        return float_above(self.max_loss_ball())


def several(base: GaussianPair | LaplacePair, count: int) -> GaussianPair | LaplacePair:
    """The same noise, shifted several times as far."""
    if isinstance(base, GaussianPair):
        return GaussianPair(base.squared_mu * count**2)
    moved = Fraction(base.sensitivity) * count
    return LaplacePair(scale=base.scale, sensitivity=moved)  # type: ignore[arg-type]  # exact


@lru_cache(maxsize=64)
def likely_copies(base: GaussianPair | LaplacePair, records: int, rate: float) -> int:
    """The least j such that more than j copies have a probability of at most 1e-44.

    P(more than j) ≤ C(m, j+1)·q^(j+1). Fewer, where so many shifts give everything away.
    """
    furthest = max(int(_FURTHEST[type(base)] / float(shift_of(base).size)), 1)
    log_bound = 0.0
    for j in range(min(records, furthest, _MOST_COPIES) + 1):
        if j in {records, furthest} or rate == 0:
            return j
        log_bound += math.log((records - j) * float(rate) / (j + 1))
        if log_bound < math.log(_TAIL):
            return j
    raise NotSupported(
        f"records={records!r} and rate={rate!r} must make more than {_MOST_COPIES} copies of a "
        f"user's records in one sample less likely than {_TAIL:g}"
    )


def binomial(records: int, q: arb, most: int) -> list[arb]:
    """The probabilities of 0, …, `most` copies, and of more."""
    found = [ball(math.comb(records, j)) * q**j * (1 - q) ** (records - j) for j in range(most + 1)]
    rest = 1 - sum(found, arb(0)) if most < records else arb(0)
    return [*found, rest.max(arb(0))]


@lru_cache(maxsize=32)
def _ratios(
    base: GaussianPair | LaplacePair,
    records: int,
    rate: float,
    both: bool,  # noqa: FBT001  # a key of the cache
    end: End,
) -> Ratios:
    """Larger numbers of copies give the user away (upper) or count as the largest likely one."""
    with ctx.workprec(_BITS):
        *weights, rest = binomial(records, ball(rate), likely_copies(base, records, rate))
        beyond = float_above(rest.upper())
        if end is End.LOWER:
            weights[-1] += rest
        cells = shifted_cells(base, weights, weights if both else [arb(1)])
    found = from_cells(*cells, 8.0 * UNIT, end)
    return found if end is End.LOWER or not beyond else found.leaking(beyond, both=both)


def shifted_cells(
    base: GaussianPair | LaplacePair, left: Sequence[arb], right: Sequence[arb]
) -> tuple[Floats, Floats, Floats]:
    """Σ leftⱼ·B(j·s) against Σ rightⱼ·B(−j·s): ratios at edges, and P and Q of the cells between.

    The ratio rises with the outcome. All numbers are good to a few units in the last place.
    """
    shift = shift_of(base)
    outcomes = even_outcomes(base, left, right)
    edges = [
        sum((w * shift.ratio(z, j) for j, w in enumerate(left) if w > 0), arb(0))
        / sum((w * shift.ratio(-z, j) for j, w in enumerate(right) if w > 0), arb(0))
        for z in outcomes
    ]

    def masses(weights: Sequence[arb], sign: int) -> list[arb]:
        total = [arb(0)] * (len(outcomes) + 1)
        for j, weight in enumerate(weights):
            if weight > 0:
                found = cell_masses(shift, outcomes, sign * j)
                total = [t + weight * mass for t, mass in zip(total, found, strict=True)]
        return total

    return (
        _floats([arb(0), *edges, arb(math.inf)]),
        _floats(masses(left, 1)),
        _floats(masses(right, -1)),
    )


def cell_masses(shift: Shift, outcomes: list[arb], copies: int) -> list[arb]:
    """What lies below, between and above the outcomes, without cancellation in either tail."""
    moved = copies * shift.size
    tails = [(z >= moved, shift.tail(abs(z - moved))) for z in outcomes]
    tails = [(False, arb(0)), *tails, (True, arb(0))]
    return [
        1 - low - high if after and not before else low - high if before else high - low
        for (before, low), (after, high) in pairwise(tails)
    ]


def even_outcomes(
    base: GaussianPair | LaplacePair, left: Sequence[arb], right: Sequence[arb]
) -> list[arb]:
    """Evenly spaced; for Laplace noise, with a node at every multiple of the shift."""
    if isinstance(base, LaplacePair):
        steps, shift = len(left) + len(right) - 2, base.shift
        count = _cells(steps * float(shift)) // steps + 1
        first = -(len(right) - 1)
        return [shift * first + shift * k / count for k in range(steps * count + 1)]
    mu = float(base.mu)
    low, high = (
        max(
            j * mu + math.sqrt(max(_REACH**2 + 2.0 * math.log(float(w)), 0.0))
            for j, w in enumerate(weights)
            if w > 0
        )
        for weights in (right, left)
    )
    low, high = max(low, _REACH), max(high, _REACH)
    return [ball(z) for z in np.linspace(-low, high, _cells(low + high)).tolist()]


def _cells(length: float) -> int:
    return min(max(_LEAST_CELLS, math.ceil(length / _WIDTH)), _MOST_CELLS)


def _floats(values: list[arb]) -> Floats:
    return np.array([float(value.mid()) for value in values])
