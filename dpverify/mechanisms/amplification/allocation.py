"""Epochs in which each record takes part in some of several steps: at random, or shuffled."""

from dataclasses import dataclass
from typing import ClassVar

from dpverify.errors import InvalidParameter, NotSupported, as_count, settle, shown
from dpverify.mechanisms.amplification.subsampled import (
    Samplable,
    check_replaced,
    check_within_reach,
    sampled_pair,
)
from dpverify.mechanisms.described import Described
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LaplacePair, Pair
from dpverify.pairs.subsampling.allocation import AllocationPair
from dpverify.pairs.subsampling.shifts import shift_of
from dpverify.pairs.subsampling.shuffled import ShuffledPair
from dpverify.theorems import RANDOM_ALLOCATION, SHUFFLED_BATCHES, Theorem

_LARGEST_TOTAL = 256.0


@dataclass(frozen=True, slots=True)
class RandomAllocation(Described):
    """`steps` runs of `mechanism`, one epoch: each record takes part in `selected` of them.

    Every record draws its steps independently, all sets of as many being equally likely. Compose it
    `times=` the number of epochs. The sensitivity that the inner mechanism declares is, under
    either relation, the most by which one record's presence changes its query; the noise is
    Gaussian or Laplace. For one step a record under ADD_REMOVE the pair is tight; otherwise the two
    ends of a bracket are of different pairs, and the bracket says so.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> epoch = RandomAllocation(Gaussian(sigma=1.0), steps=10)
    >>> bracket = epoch.pair(Relation.ADD_REMOVE).delta_bracket(0.5)
    >>> round(bracket.lower, 4), round(bracket.upper, 4)
    (0.0268, 0.0269)
    """

    theorem: ClassVar[Theorem] = RANDOM_ALLOCATION

    mechanism: Samplable | Pair
    steps: int
    selected: int = 1

    def __post_init__(self) -> None:
        settle(self, steps=as_count("steps", self.steps))
        settle(self, selected=as_count("selected", self.selected))
        if self.selected > self.steps:
            raise InvalidParameter(
                f"selected={self.selected!r} must not exceed steps={self.steps!r}"
            )
        self._base()

    def pair(self, relation: Relation) -> Pair:
        both = Relation.parse(relation) is Relation.REPLACE_ONE
        return AllocationPair(self._base(), self.steps, self.selected, both).simplest

    def _base(self) -> GaussianPair | LaplacePair:
        base = sampled_pair(self.mechanism, Relation.ADD_REMOVE)
        if not isinstance(base, GaussianPair | LaplacePair):
            raise NotSupported(
                f"mechanism={shown(self.mechanism, most=200)} must have Gaussian or Laplace noise"
            )
        check_within_reach(self.mechanism, base)
        self._check_total(float(shift_of(base).size), is_normal=isinstance(base, GaussianPair))
        return base

    def _check_total(self, size: float, *, is_normal: bool) -> None:
        """Raise if the likelihood ratios of all selected steps together overflow."""
        total = self.selected * size * (size if is_normal else 1.0)
        if total > _LARGEST_TOTAL:
            unit = "the square of sensitivity over noise" if is_normal else "sensitivity over scale"
            raise NotSupported(
                f"selected={shown(self.selected)} must be at most "
                f"{int(_LARGEST_TOTAL / (total / self.selected))} here: {unit} may add up to "
                f"{_LARGEST_TOTAL:g}"
            )


@dataclass(frozen=True, slots=True)
class Shuffled(Described):
    """A shuffled epoch: records in random order, cut into `batches`, and `mechanism` on each.

    Every record is in one batch, and all batches are released. Compose it `times=` the number of
    epochs, each in a fresh order. The number of records is public: REPLACE_ONE only. The
    sensitivity that the inner mechanism declares is the most by which replacing one record of a
    batch changes its query: for a sum, twice the clipping norm.

    What shuffling is worth is an open question. The upper end is that of `mechanism` itself, which
    holds whatever the order; the lower end is of instances, and is often far below it. A record
    that a Poisson sample would hide is not hidden by a shuffle: do not account for one as for the
    other.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> Shuffled(Gaussian(sigma=1.0), batches=1).pair(Relation.REPLACE_ONE).delta(1.0)
    0.12693673750664397
    """

    theorem: ClassVar[Theorem] = SHUFFLED_BATCHES

    mechanism: Samplable | Pair
    batches: int

    def __post_init__(self) -> None:
        settle(self, batches=as_count("batches", self.batches))
        self._base()

    def pair(self, relation: Relation) -> Pair:
        check_replaced(relation)
        return ShuffledPair(self._base(), self.batches).simplest

    def _base(self) -> Pair:
        base = sampled_pair(self.mechanism, Relation.REPLACE_ONE).either_way
        if isinstance(base, GaussianPair | LaplacePair):
            check_within_reach(self.mechanism, base)
        return base
