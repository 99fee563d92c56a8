"""A mechanism run on a random sample of the records, as an accountant sees it.

These hold no sampler: which records are drawn is the caller's business. They give the dominating
pair of one run, and the accountant does the rest.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    as_between,
    as_count,
    check_instance,
    settle,
    shown,
)
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, LaplacePair, Pair
from dpverify.pairs.subsampling.poisson import Mixed, SampledPair, SubsampledPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair
from dpverify.theorems import POISSON_SUBSAMPLING, WITHOUT_REPLACEMENT, Theorem


class Samplable(Protocol):
    """What is subsampled: a mechanism with a dominating pair."""

    def pair(self, relation: Relation) -> Pair: ...


@dataclass(frozen=True, slots=True)
class Subsampled:
    """`mechanism` on a Poisson sample: every record is drawn independently with probability `rate`.

    The sensitivity that the inner mechanism declares is, under either relation, the most by which
    *one record's presence* changes its query: the clipping norm of a sum, not twice that. Under
    REPLACE_ONE the old record may be drawn where the new one would be, so the two outputs differ
    by up to twice as much; the pair accounts for that.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> Subsampled(Gaussian(sigma=1.0), rate=0.5).pair(Relation.ADD_REMOVE).delta(0.0)
    0.19146246127401312
    """

    theorem: ClassVar[Theorem] = POISSON_SUBSAMPLING

    mechanism: Samplable | Pair
    rate: float

    def __post_init__(self) -> None:
        settle(self, rate=as_between("rate", self.rate, 0.0, 1.0))
        sampled_pair(self.mechanism, Relation.ADD_REMOVE)

    def pair(self, relation: Relation) -> Pair:
        """(1−q)·B + q·B(s) against B, or against (1−q)·B + q·B(−s) if a record is replaced.

        At rate 1 every record is drawn, so it is the pair of the mechanism itself.
        """
        replaced = Relation.parse(relation) is Relation.REPLACE_ONE
        base = sampled_pair(self.mechanism, Relation.ADD_REMOVE)
        mixed = Mixed.BOTH if replaced else Mixed.LEFT
        if isinstance(base, GaussianPair | LaplacePair):
            return SubsampledPair(base, self.rate, mixed).simplest
        if replaced:
            raise NotSupported(
                f"mechanism={self.mechanism!r} must have Gaussian or Laplace noise for "
                f"relation={Relation.REPLACE_ONE.value!r}; under "
                f"{Relation.ADD_REMOVE.value!r} it may have any pair"
            )
        return SampledPair(base, self.rate, mixed).simplest


@dataclass(frozen=True, slots=True)
class SubsampledWithoutReplacement:
    """`mechanism` on `batch` of the `population` records, all such batches equally likely.

    The size of the population is public, so neighboring datasets have equally many records:
    REPLACE_ONE only. The sensitivity that the inner mechanism declares is the most by which
    replacing one record of a batch changes its query: for a sum, twice the clipping norm.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> noise = Gaussian(sigma=1.0, l2_sensitivity=2.0)
    >>> SubsampledWithoutReplacement(noise, batch=10, population=1000).rate
    Fraction(1, 100)
    """

    theorem: ClassVar[Theorem] = WITHOUT_REPLACEMENT

    mechanism: Samplable | Pair
    batch: int
    population: int

    def __post_init__(self) -> None:
        settle(self, batch=as_count("batch", self.batch))
        settle(self, population=as_count("population", self.population))
        if self.batch > self.population:
            raise InvalidParameter(
                f"batch={self.batch!r} must not exceed population={self.population!r}"
            )
        sampled_pair(self.mechanism, Relation.REPLACE_ONE)

    @property
    def rate(self) -> Fraction:
        """The probability that a given record is in the batch."""
        return Fraction(self.batch, self.population)

    def pair(self, relation: Relation) -> Pair:
        if Relation.parse(relation) is not Relation.REPLACE_ONE:
            raise NotSupported(
                f"relation={Relation.parse(relation).value!r} must be "
                f"{Relation.REPLACE_ONE.value!r}: a batch of fixed size shows how many records "
                "there are"
            )
        base = sampled_pair(self.mechanism, Relation.REPLACE_ONE)
        if self.rate == 1:
            return base
        if not isinstance(base, GaussianPair | LaplacePair):
            return self._any_pair(base)
        return WithoutReplacementPair(base, self.rate)  # type: ignore[arg-type]  # exact, so no float

    def _any_pair(self, base: Pair) -> Pair:
        """q·δ(ln(1 + (e^ε − 1)/q)) for ε ≥ 0: the greater of a record removed and one added.

        With g(a, b) = b·f(a/b) and f the profile of the base in x = e^ε, these are g(qx + t, q) and
        g(qx, q − t) at t = (1−q)(x−1); and g rises along (1, 1) where a ≥ b, since f falls.
        """
        if base.reversed != base:
            raise NotSupported(
                f"mechanism={self.mechanism!r} must have a pair that equals its own `reversed`: "
                "old and new record may be exchanged"
            )
        return SampledPair(base, self.rate).either_way  # type: ignore[arg-type]  # exact, so no float


def sampled_pair(mechanism: Samplable | Pair, relation: Relation) -> Pair:
    """The pair of what is sampled; a pair stands for itself."""
    check_instance("mechanism", mechanism)
    if isinstance(mechanism, Pair):
        return mechanism
    if not callable(getattr(mechanism, "pair", None)):
        raise InvalidParameter(
            f"mechanism={shown(mechanism)} must be a Pair or have pair(relation)"
        )
    return mechanism.pair(relation)
