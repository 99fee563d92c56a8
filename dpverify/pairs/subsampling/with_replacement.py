"""Noise on a sample drawn with replacement, when one record is replaced by another.

A sample of m draws from n records holds J ~ Bin(m, 1/n) copies of the record, whatever the data. So
a label may be told that says "0 or j copies", j ≥ 1, with any share aⱼ of the samples without a
copy under each. Under label j it is as if a batch without replacement held the record with probability
ρⱼ = wⱼ/(wⱼ + aⱼ·w₀), and a record moved the noise j times as far: at ε ≥ 0 the profile is at most
that of (1−ρⱼ)·B + ρⱼ·B(j·s) against B, and the whole at most the mean over labels. With aⱼ in
proportion to wⱼ all ρⱼ are P(J ≥ 1): the published bound. [Balle, Barthe, Gaboardi, NeurIPS 2018,
Thm 10] Other shares, which give many copies more samples to hide among, make it smaller.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpverify.balls import ball, float_above
from dpverify.errors import as_count, settle
from dpverify.guarantees import End
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.bounded import BoundedPair
from dpverify.pairs.subsampling.copies import (
    CopiesPair,
    binomial,
    several,
    shifted_cells,
)
from dpverify.pairs.subsampling.poisson import check_base
from dpverify.pairs.subsampling.ratios import Ratios, from_cells
from dpverify.pairs.subsampling.shifts import shift_of

_BITS = 160
_MOST_RAISED = 100.0  # times its probability, what a number of copies weighs


@dataclass(frozen=True, slots=True)
class WithReplacementPair(BoundedPair):
    """A pair that dominates noise on `draws` records, drawn with replacement from `population`.

    `base` is the pair of the inner mechanism when one record of the sample is replaced. `attained`
    lists pairs of actual instances: all other records alike, the new one like them, or the old one.
    """

    base: GaussianPair | LaplacePair
    draws: int
    population: int
    is_reversed: bool = False

    def __post_init__(self) -> None:
        check_base(self.base)
        settle(self, draws=as_count("draws", self.draws))
        settle(self, population=as_count("population", self.population))
        self.removed.likely  # noqa: B018  # raises where there are too many

    @property
    def reversed(self) -> "WithReplacementPair":
        """Exchanging old and new record exchanges the two distributions."""
        return self

    @property
    def removed(self) -> CopiesPair:
        """The odd record out is replaced by a common one."""
        return CopiesPair(self.base, self.draws, 1.0 / self.population)

    @property
    def attained(self) -> tuple[Pair, ...]:
        removed = self.removed.simplest
        return removed, removed.reversed

    @property
    def gap(self) -> str:
        return (
            "sampling with replacement: the upper end hints at how many copies were drawn, and "
            "lets each step show the old or the new record as the odd one out"
        )

    @property
    def simplest(self) -> Pair:
        """Of one record, every draw is a copy."""
        return several(self.base, self.draws) if self.population == 1 else self

    def max_loss_ball(self) -> arb:
        return self.removed.max_loss_ball()

    @property
    def max_loss(self) -> float:
        return self.removed.max_loss

    def ratios(self, end: End) -> Ratios:
        return self.removed.ratios(end) if end is End.LOWER else _mirrored(self)


@lru_cache(maxsize=16)
def _mirrored(pair: WithReplacementPair) -> Ratios:
    """Above 1 the ratios 1 − ρⱼ + ρⱼ·r of all numbers of copies, below 1 their mirror image."""
    values, masses, infinite = [], [], 0.0
    with ctx.workprec(_BITS):
        *weights, rest = binomial(pair.draws, 1 / ball(pair.population), pair.removed.likely)
        infinite += float_above(rest.upper())
        for copies, share in _shares(pair.base, weights):
            label = share * weights[0] + weights[copies]
            rate = weights[copies] / label
            cells = shifted_cells(several(pair.base, copies), [arb(0), arb(1)], [arb(1)])
            found = from_cells(*cells, 8.0 * UNIT, End.UPPER)
            infinite += float_above(weights[copies]) * found.infinite
            values.append(float((1 - rate).mid()) + float(rate.mid()) * found.values)
            masses.append(float(label.mid()) * found.masses)
    ratio, mass = np.concatenate(values), np.concatenate(masses)
    above = ratio > 1.0
    ratio, mass = ratio[above], mass[above]
    left = ratio * mass
    same = max(1.0 - float(left.sum()) - float(mass.sum()), 0.0)
    ratio = np.concatenate([[0.0], 1.0 / ratio, [1.0], ratio])
    mass = np.concatenate([[infinite], left, [same], mass])
    order = np.argsort(ratio, kind="stable")
    return Ratios(ratio[order], mass[order], infinite * (1.0 + 1e-9), 128.0 * UNIT, 128.0 * UNIT)


def _shares(base: GaussianPair | LaplacePair, weights: list[arb]) -> list[tuple[int, arb]]:
    """What part of the samples without a copy goes under each label: any parts that add up to 1.

    Chosen so that the second moment of the ratios is small.
    """
    size = float(shift_of(base).size)
    wanted = []
    for copies, weight in enumerate(weights[1:], start=1):
        square = (copies * size) ** 2 if isinstance(base, GaussianPair) else copies * size
        wanted.append(float(weight.mid()) * min(math.exp(min(square / 2.0, 50.0)), _MOST_RAISED))
    total = sum((ball(each) for each in wanted), arb(0))
    return [(j, ball(each) / total) for j, each in enumerate(wanted, start=1)]
