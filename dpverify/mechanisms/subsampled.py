"""Mechanisms on a random part of the data, as things that are composed."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from dpverify.errors import InvalidParameter, NotSupported, check_between, check_count
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LaplacePair, Pair
from dpverify.pairs.subsampled import Mixed, SubsampledPair
from dpverify.pairs.without_replacement import WithoutReplacementPair
from dpverify.theorems import POISSON_SUBSAMPLING, WITHOUT_REPLACEMENT, Theorem


class HasPair(Protocol):
    """What is subsampled: a mechanism with a dominating pair."""

    def pair(self, relation: Relation) -> Pair: ...


@dataclass(frozen=True, slots=True)
class Subsampled:
    """A mechanism run on a Poisson sample: every record takes part with probability `rate`.

    The inner mechanism's declared sensitivity is that of *adding or removing* one record of the
    sample, under either relation: with a record replaced, the old one may be left out and the new
    one taken in. This is an accounting object: it draws no samples.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> Subsampled(Gaussian(sigma=1.0), rate=0.5).pair(Relation.ADD_REMOVE).delta(0.0)
    0.19146246127401312
    """

    theorem: ClassVar[Theorem] = POISSON_SUBSAMPLING

    mechanism: HasPair
    rate: float

    def __post_init__(self) -> None:
        check_between("rate", self.rate, 0.0, 1.0)
        _base(self.mechanism, Relation.ADD_REMOVE)

    def pair(self, relation: Relation) -> SubsampledPair:
        """[ZDW22 Thm 11] if a record is removed or added; mixtures on both sides if replaced."""
        replaced = Relation.parse(relation) is Relation.REPLACE_ONE
        base = _base(self.mechanism, Relation.ADD_REMOVE)
        return SubsampledPair(base, float(self.rate), Mixed.BOTH if replaced else Mixed.LEFT)


@dataclass(frozen=True, slots=True)
class SubsampledWithoutReplacement:
    """A mechanism run on `batch` of the `population` records, all such batches equally likely.

    The size of the data is public, so one record is replaced, never added or removed; the inner
    mechanism's declared sensitivity is that of replacing one record of the batch. This is an
    accounting object: it draws no samples.
    """

    theorem: ClassVar[Theorem] = WITHOUT_REPLACEMENT

    mechanism: HasPair
    batch: int
    population: int

    def __post_init__(self) -> None:
        check_count("batch", self.batch)
        check_count("population", self.population)
        if self.batch > self.population:
            raise InvalidParameter(f"batch={self.batch!r} must not exceed {self.population!r}")
        _base(self.mechanism, Relation.REPLACE_ONE)

    def pair(self, relation: Relation) -> WithoutReplacementPair:
        if Relation.parse(relation) is not Relation.REPLACE_ONE:
            raise NotSupported(
                f"relation={relation.value!r} must be 'replace-one': a batch of fixed size shows "
                "how many records there are"
            )
        base = _base(self.mechanism, Relation.REPLACE_ONE)
        return WithoutReplacementPair(base, self.batch / self.population)


def _base(mechanism: HasPair, relation: Relation) -> GaussianPair | LaplacePair:
    if not hasattr(mechanism, "pair"):
        raise InvalidParameter(f"mechanism={mechanism!r} must have pair(relation)")
    pair = mechanism.pair(relation)
    if not isinstance(pair, GaussianPair | LaplacePair):
        raise NotSupported(f"mechanism={mechanism!r} must have Gaussian or Laplace noise")
    return pair
