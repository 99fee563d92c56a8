"""Noise on a sample drawn with replacement, where one record is replaced.

A sample of m draws from n records holds j copies of the record with probability wⱼ, binomial,
whatever the data. Let η = 1 − w₀, A the law of the output given that there is no copy, V and W
given that there is one or more of the old and of the new record. At x = 1 + η·(y−1) ≥ 1 and
c = x/y, advanced joint convexity bounds the profile by

    η·(1−c)·D_y(V, A) + η·c·D_y(V, W).

For V against A all numbers of copies move the noise away from one law, as if they were records of
one user: η·D_y(V, A) is at most f(x), the profile of Σ wⱼ·B(j·s) against B. For V against W the
number of copies is told: η·D_y(V, W) is at most Σ wⱼ·fⱼ(y) over j ≥ 1, with fⱼ that of j shifts;
the published bound has this in both places. [Balle, Barthe, Gaboardi, NeurIPS 2018, Thm 10]
Profiles are convex in x, so that the convex envelope of a bound is a bound.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from flint import arb, ctx

from dpverify.arrays import Floats
from dpverify.balls import ball, float_above
from dpverify.errors import as_count, settle
from dpverify.guarantees import End
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.bounded import BoundedPair
from dpverify.pairs.bounds.ratios import Ratios, from_cells, mirrored
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.copies import (
    CopiesPair,
    binomial,
    several,
    shifted_cells,
)
from dpverify.pairs.subsampling.poisson import check_base

_BITS = 160
_RAISED = 1.0 + 1e-9  # covers the rounding of profiles that are sums of positive terms


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
            "sampling with replacement: the upper end lets each step show the old or the new "
            "record as the odd one out, whichever is worse after what was seen"
        )

    @property
    def simplest(self) -> Pair:
        """Of one record, every draw is a copy."""
        return several(self.base, self.draws) if self.population == 1 else self

    def max_loss_ball(self) -> arb:
        """That of the removed record, ln M; where M exceeds e^s, that of as many shifts as draws.

        V ≤ e^(j·s)·((1−λ)·A + λ·W) for j copies: at λ = M·e^(−j·s) the excess over M·Q is that of
        Σ wⱼ·(e^(j·s) − M) over w₀·(M − 1), which are equal if every j ≥ 1 has e^(j·s) ≥ M.
        """
        most = self.removed.max_loss_ball()
        return most if most <= self.base.max_loss_ball() else self.draws * self.base.max_loss_ball()

    @property
    def max_loss(self) -> float:
        return float_above(self.max_loss_ball())

    def ratios(self, end: End) -> Ratios:
        return self.removed.ratios(end) if end is End.LOWER else _mirrored(self)


@lru_cache(maxsize=16)
def _mirrored(pair: WithReplacementPair) -> Ratios:
    """The envelope of the bound above ratio 1, its mirror image below, and an atom at 1."""
    return mirrored(*_bound(pair))


def _bound(pair: WithReplacementPair) -> tuple[Floats, Floats]:
    """(1−c)·f(x) + c·Σ wⱼ·fⱼ(y) at ratios x ≥ 1, rounded up."""
    removed = pair.removed.ratios(End.UPPER)
    x = np.concatenate([[1.0], removed.values[removed.values > 1.0]])
    with ctx.workprec(_BITS):
        *weights, rest = binomial(pair.draws, 1 / ball(pair.population), pair.removed.likely)
        chance = float((1 - weights[0]).mid())
        y = 1.0 + (x - 1.0) / chance
        told = np.full(len(x), float_above(rest.upper()))
        for copies, weight in enumerate(weights[1:], start=1):
            cells = shifted_cells(several(pair.base, copies), [arb(0), arb(1)], [arb(1)])
            found = from_cells(*cells, 8.0 * UNIT, End.UPPER)
            told += float_above(weight) * found.profile(y)
    share = x / y
    return x, ((1.0 - share) * removed.profile(x) + share * told) * _RAISED
