"""Random allocation: a record takes part in a random choice among several steps."""

from dataclasses import dataclass, replace
from functools import lru_cache

from flint import arb, ctx

from dpverify.errors import as_count, settle
from dpverify.guarantees import End
from dpverify.pairs.base import Pair
from dpverify.pairs.bounds.bounded import BoundedPair
from dpverify.pairs.bounds.ratios import Ratios, from_cells
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.laplace import LaplacePair
from dpverify.pairs.ramps import UNIT
from dpverify.pairs.subsampling.antitone import antitone
from dpverify.pairs.subsampling.copies import shifted_cells
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair, check_base
from dpverify.pairs.subsampling.sums import sum_ratio

_BITS = 160


@dataclass(frozen=True, slots=True)
class AllocationPair(BoundedPair):
    """The mean of products in which k of t factors hold the record, against none that does.

    P is the mean, over all sets S of k places, of the products with P₀ in S and Q₀ elsewhere, and Q
    the product of Q₀ alone, for the pair (P₀, Q₀) of one step that holds the record. With `both`
    the record is replaced: Q has the noise moved the other way, in a set S of its own.

    For k = 1 the ratio dP/dQ is the mean of t independent ratios of one step. For k > 1, cut the
    steps into k blocks at random: one step of each is a uniformly random set, and telling the
    blocks only helps. So the product of k allocations of one step dominates. From below it is
    bounded by what the sum over all steps tells.
    """

    base: GaussianPair | LaplacePair
    steps: int
    selected: int = 1
    both: bool = False
    is_reversed: bool = False

    def __post_init__(self) -> None:
        check_base(self.base)
        settle(self, steps=as_count("steps", self.steps))
        settle(self, selected=as_count("selected", self.selected, most=self.steps))

    @property
    def reversed(self) -> "AllocationPair":
        """Where both sides are mixed, reflecting outcomes exchanges them."""
        return self if self.both else replace(self, is_reversed=not self.is_reversed)

    def ratios(self, end: End) -> Ratios:
        if end is End.LOWER and (self.both or self.selected > 1):
            return sum_ratio(self.base, self.steps, self.selected, self.both)
        bound = antitone_of if self.both else split_ratio
        return bound(self.base, self.steps, self.selected, end)

    @property
    def gap(self) -> str:
        known = [
            *(["the upper end tells in which block of steps"] if self.selected > 1 else []),
            *(["the upper end takes the old and the new record apart"] if self.both else []),
        ]
        if not known:
            return ""
        return (
            f"random allocation: {' and '.join(known)}; the lower end is what one sum over all "
            "steps tells; where the truth lies between is not known"
        )

    @property
    def max_loss(self) -> float:
        """That of the steps that hold the record: a mean is no larger than its largest term."""
        return self.base.max_loss * self.selected * (2 if self.both else 1)

    def max_loss_ball(self) -> arb:
        return self.base.max_loss_ball() * self.selected * (2 if self.both else 1)

    @property
    def simplest(self) -> Pair:
        """One step is the mechanism itself."""
        if self.steps > 1:
            return self
        return SubsampledPair(self.base, 1.0, Mixed.BOTH if self.both else Mixed.LEFT).simplest


@lru_cache(maxsize=32)
def split_ratio(base: GaussianPair | LaplacePair, steps: int, selected: int, end: End) -> Ratios:
    """The product of means over blocks of ⌊t/k⌋ and ⌈t/k⌉ steps; for one block, the mean."""
    size, longer = divmod(steps, selected)
    found = mean_ratio(base, size, end).power(selected - longer, end)
    if not longer:
        return found
    return found.product(mean_ratio(base, size + 1, end).power(longer, end), end)


@lru_cache(maxsize=16)
def antitone_of(base: GaussianPair | LaplacePair, steps: int, selected: int, end: End) -> Ratios:
    return antitone(split_ratio(base, steps, selected, end))


@lru_cache(maxsize=32)
def mean_ratio(base: GaussianPair | LaplacePair, steps: int, end: End) -> Ratios:
    """The mean of as many ratios of one step, bounded towards `end`."""
    with ctx.workprec(_BITS):
        cells = shifted_cells(base, [arb(0), arb(1)], [arb(1)])
    return from_cells(*cells, 4.0 * UNIT, end).times(steps, end).over(steps)
