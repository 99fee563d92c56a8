"""A run of several steps in which each record takes part in steps drawn at random."""

from dataclasses import dataclass
from typing import ClassVar

from dpverify.errors import InvalidParameter, NotSupported, as_count, settle
from dpverify.mechanisms.subsampled import Samplable, sampled_pair
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LaplacePair, Pair
from dpverify.pairs.subsampling.allocation import AllocationPair
from dpverify.pairs.subsampling.shifts import shift_of
from dpverify.theorems import RANDOM_ALLOCATION, Theorem

_LEAST_SHIFT = 1e-6  # below, ratios of one step drown in rounding
_LARGEST_SHIFT = 16.0  # above, they overflow


@dataclass(frozen=True, slots=True)
class RandomAllocation:
    """`steps` runs of `mechanism`, one epoch: each record takes part in one of them, at random.

    Every record draws its step independently and uniformly. Compose it `times=` the number of
    epochs. The sensitivity that the inner mechanism declares is the most by which one record's
    presence changes its query. ADD_REMOVE only; the noise is Gaussian or Laplace.

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
        if self.selected > 1:
            raise NotSupported(
                f"selected={self.selected!r} must be 1: several steps a record are not accounted "
                "for yet"
            )
        self._base()

    def pair(self, relation: Relation) -> Pair:
        if Relation.parse(relation) is not Relation.ADD_REMOVE:
            raise NotSupported(
                f"relation={Relation.parse(relation).value!r} must be "
                f"{Relation.ADD_REMOVE.value!r}: no pair is known that dominates random "
                "allocation when a record is replaced"
            )
        return AllocationPair(self._base(), self.steps).simplest

    def _base(self) -> GaussianPair | LaplacePair:
        base = sampled_pair(self.mechanism, Relation.ADD_REMOVE)
        if not isinstance(base, GaussianPair | LaplacePair):
            raise NotSupported(f"mechanism={self.mechanism!r} must have Gaussian or Laplace noise")
        size = float(shift_of(base).size)
        if not _LEAST_SHIFT <= size <= _LARGEST_SHIFT:
            raise NotSupported(
                f"mechanism={self.mechanism!r} must have a sensitivity between {_LEAST_SHIFT:g} "
                f"and {_LARGEST_SHIFT:g} times the scale of its noise; here it is {size:.3g} times"
            )
        return base
