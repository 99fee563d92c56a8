"""A mechanism run on a random sample of the records, as an accountant sees it.

These hold no sampler: which records are drawn is the caller's business. They give the dominating
pair of one run, and the accountant does the rest.
"""

from collections.abc import Callable
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
from dpverify.mechanisms.described import Described
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair, Pair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.pairs.subsampling.antitone import against_each_other
from dpverify.pairs.subsampling.copies import CopiesPair
from dpverify.pairs.subsampling.poisson import Mixed, SampledPair, SubsampledPair
from dpverify.pairs.subsampling.shifts import shift_of
from dpverify.pairs.subsampling.truncated import TruncatedPair
from dpverify.pairs.subsampling.with_replacement import WithReplacementPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair
from dpverify.theorems import (
    POISSON_SUBSAMPLING,
    SEVERAL_RECORDS,
    TRUNCATED_POISSON,
    WITH_REPLACEMENT,
    WITHOUT_REPLACEMENT,
    Theorem,
)

LEAST_SHIFT = 1e-6  # below, ratios of one step drown in rounding
LARGEST_SHIFT = 16.0  # above, they overflow
LARGEST_HALF = 12.0  # where twice the shift may show
LEAST_RATE = 1e-9  # below, mixtures of several shifts drown in rounding


class Samplable(Protocol):
    """What can be subsampled: a mechanism with a dominating pair."""

    def pair(self, relation: Relation) -> Pair: ...


@dataclass(frozen=True, slots=True)
class Subsampled(Described):
    """`mechanism` on a Poisson sample: every record is drawn independently with probability `rate`.

    The sensitivity that the inner mechanism declares is, under either relation, the most by which
    *one record's presence* changes its query: the clipping norm of a sum, not twice that. Under
    REPLACE_ONE the old record may be drawn where the new one would be, so the two outputs differ
    by up to twice as much; the pair accounts for that.

    `records` protects users with up to as many records each, which are drawn one by one. `at_most`
    cuts samples that are larger down to that size, at random; how often that happens depends on the
    `population`, the largest number of records that the data may have.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> Subsampled(Gaussian(sigma=1.0), rate=0.5).pair(Relation.ADD_REMOVE).delta(0.0)
    0.19146246127401312
    """

    mechanism: Samplable | Pair
    rate: float
    records: int = 1
    at_most: int | None = None
    population: int | None = None

    def __post_init__(self) -> None:
        settle(self, rate=as_between("rate", self.rate, 0.0, 1.0))
        settle(self, records=as_count("records", self.records))
        base = sampled_pair(self.mechanism, Relation.ADD_REMOVE)
        if self.at_most is not None or self.population is not None:
            self._settle_truncation()
        if not self.is_plain:
            self._check_noise(base)
            self.pair(Relation.ADD_REMOVE)

    def _settle_truncation(self) -> None:
        if self.at_most is None or self.population is None:
            raise InvalidParameter(
                f"at_most={shown(self.at_most)} and "
                f"population={shown(self.population)} must be given "
                "together: how often a sample is cut down depends on how many records there are"
            )
        settle(self, at_most=as_count("at_most", self.at_most))
        settle(self, population=as_count("population", self.population))
        if self.records > 1:
            raise NotSupported(
                f"records={self.records!r} must be 1 with at_most={shown(self.at_most)}: truncated "
                "samples of several records of a user are not accounted for"
            )

    def _check_noise(self, base: Pair) -> None:
        if not isinstance(base, GaussianPair | LaplacePair):
            raise NotSupported(
                f"mechanism={shown(self.mechanism, most=200)} must "
                "have Gaussian or Laplace noise for `records` "
                "above 1 and for `at_most`"
            )
        check_within_reach(
            self.mechanism, base, most=LARGEST_SHIFT if self.at_most is None else LARGEST_HALF
        )
        if 0 < self.rate < LEAST_RATE:
            raise NotSupported(
                f"rate={self.rate!r} must be 0 or at least {LEAST_RATE:g} for `records` above 1 "
                "and for `at_most`"
            )

    @property
    def theorem(self) -> Theorem:
        if self.records > 1:
            return SEVERAL_RECORDS
        return POISSON_SUBSAMPLING if self.at_most is None else TRUNCATED_POISSON

    @property
    def is_plain(self) -> bool:
        """Whether every record is drawn and protected on its own, not as part of a group."""
        return self.records == 1 and self.at_most is None

    def pair(self, relation: Relation) -> Pair:
        """(1−q)·B + q·B(s) against B, or against (1−q)·B + q·B(−s) if a record is replaced.

        At rate 1 every record is drawn, so it is the pair of the mechanism itself.
        """
        replaced = Relation.parse(relation) is Relation.REPLACE_ONE
        base = sampled_pair(self.mechanism, Relation.ADD_REMOVE)
        mixed = Mixed.BOTH if replaced else Mixed.LEFT
        if isinstance(base, GaussianPair | LaplacePair):
            return self._of_noise(base, mixed).simplest
        if not replaced:
            return both_ends(base, lambda end: SampledPair(end, self.rate, mixed).simplest)
        if isinstance(base, FinitePair):
            return replaced_pair(base, self.rate)
        raise NotSupported(
            f"mechanism={shown(self.mechanism, most=200)} must "
            "have Gaussian or Laplace noise or finitely many "
            f"outcomes for relation={Relation.REPLACE_ONE.value!r}; under "
            f"{Relation.ADD_REMOVE.value!r} it may have any pair"
        )

    def _of_noise(self, base: GaussianPair | LaplacePair, mixed: Mixed) -> Pair:
        if self.records > 1:
            return CopiesPair(base, self.records, self.rate, both=mixed is Mixed.BOTH)
        if self.at_most is not None and self.population is not None:
            return TruncatedPair(base, self.rate, self.at_most, self.population, mixed)
        return SubsampledPair(base, self.rate, mixed)


@dataclass(frozen=True, slots=True)
class SubsampledWithoutReplacement(Described):
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
                f"batch={self.batch!r} must not exceed population={shown(self.population)}"
            )
        sampled_pair(self.mechanism, Relation.REPLACE_ONE)

    @property
    def rate(self) -> Fraction:
        """The probability that a given record is in the batch."""
        return Fraction(self.batch, self.population)

    def pair(self, relation: Relation) -> Pair:
        check_replaced(relation)
        base = sampled_pair(self.mechanism, Relation.REPLACE_ONE)
        if self.rate == 1:
            return base
        if not isinstance(base, GaussianPair | LaplacePair):
            return self._any_pair(base)
        return WithoutReplacementPair(base, self.rate)  # type: ignore[arg-type]  # exact, so no float

    def _any_pair(self, base: Pair) -> Pair:
        """q·δ(ln(1 + (e^ε − 1)/q)) for ε ≥ 0, the larger of removing and adding a record.

        With g(a, b) = b·f(a/b) and f the profile of the base in x = e^ε, these are g(qx + t, q) and
        g(qx, q − t) at t = (1−q)(x−1); and g rises along (1, 1) where a ≥ b, since f falls.
        """
        if base.reversed != base and not isinstance(base, BetweenPair):
            raise NotSupported(
                f"mechanism={shown(self.mechanism, most=200)} must "
                "have a pair that equals its own `reversed`: "
                "old and new record may be exchanged"
            )
        return both_ends(base, lambda end: SampledPair(end, self.rate).either_way)  # type: ignore[arg-type]  # exact, so no float


@dataclass(frozen=True, slots=True)
class SubsampledWithReplacement(Described):
    """`mechanism` on `batch` draws from the `population` records, each draw from all of them.

    A record may be drawn several times, and then counts as often. The size of the population is
    public: REPLACE_ONE only. The sensitivity that the inner mechanism declares is the most by which
    replacing one record of a batch changes its query: for a sum, twice the clipping norm.

    >>> from dpverify.mechanisms.gaussian import Gaussian
    >>> sampled = SubsampledWithReplacement(Gaussian(sigma=1.0), batch=10, population=1000)
    >>> round(sampled.pair(Relation.REPLACE_ONE).delta(0.1), 7)
    7.89e-05
    """

    theorem: ClassVar[Theorem] = WITH_REPLACEMENT

    mechanism: Samplable | Pair
    batch: int
    population: int

    def __post_init__(self) -> None:
        settle(self, batch=as_count("batch", self.batch))
        settle(self, population=as_count("population", self.population))
        self._pair()

    def pair(self, relation: Relation) -> Pair:
        check_replaced(relation)
        return self._pair().simplest

    def _pair(self) -> WithReplacementPair:
        base = sampled_pair(self.mechanism, Relation.REPLACE_ONE)
        if not isinstance(base, GaussianPair | LaplacePair):
            raise NotSupported(
                f"mechanism={shown(self.mechanism, most=200)} must have Gaussian or Laplace noise"
            )
        check_within_reach(self.mechanism, base)
        return WithReplacementPair(base, self.batch, self.population)


def check_replaced(relation: Relation) -> None:
    """Raise unless the relation is REPLACE_ONE, under which the number of records is public."""
    if Relation.parse(relation) is not Relation.REPLACE_ONE:
        raise NotSupported(
            f"relation={Relation.parse(relation).value!r} must be "
            f"{Relation.REPLACE_ONE.value!r}: a batch of fixed size shows how many records "
            "there are"
        )


def check_within_reach(
    mechanism: object, base: GaussianPair | LaplacePair, *, most: float = LARGEST_SHIFT
) -> None:
    """Raise if the likelihood ratios of one step are lost in rounding, or overflow."""
    size = float(shift_of(base).size)
    if not LEAST_SHIFT <= size <= most:
        raise NotSupported(
            f"mechanism={shown(mechanism, most=200)} must "
            f"have a sensitivity between {LEAST_SHIFT:g} and "
            f"{most:g} times the scale of its noise; here it is {size:.3g} times"
        )


def replaced_pair(base: FinitePair, rate: float) -> FinitePair:
    """The pair for a replaced record: both mixtures at once, in the worst coupling.

    With A, V and W the outputs without the record, with the old one and with the new one, V against
    A and W against A are dominated by `base`; so (V, W) is at worst as `antitone` has it, and so
    are the mixtures. What only a record makes possible stays apart.
    """
    q = Fraction(rate)
    law = sorted((p / a, a) for p, a in base.masses() if a)
    alone = q * sum((p for p, a in base.masses() if not a), Fraction(0))
    pieces = list(against_each_other(law))
    left = [mass * (1 - q + q * up) for up, _, mass in pieces]
    right = [mass * (1 - q + q * down) for _, down, mass in pieces]
    return FinitePair(left=[*left, alone, 0], right=[*right, 0, alone])


def both_ends(base: Pair, sampled: Callable[[Pair], Pair]) -> Pair:
    """The pair of a sample from something known between two pairs, bounded by their samples."""
    if not isinstance(base, BetweenPair) or not base.samples:
        return sampled(base)
    nothing = base.lower.max_loss == 0.0 and base.lower.singular_mass == 0.0
    lower = base.lower if nothing else sampled(base.lower)
    return BetweenPair(sampled(base.upper), lower, theorem=base.theorem, words=base.words)


def sampled_pair(mechanism: Samplable | Pair, relation: Relation) -> Pair:
    """The pair of a sampled mechanism; a pair is returned as it is."""
    check_instance("mechanism", mechanism)
    if not isinstance(mechanism, Pair) and not callable(getattr(mechanism, "pair", None)):
        raise InvalidParameter(
            f"mechanism={shown(mechanism)} must be a Pair or have pair(relation)"
        )
    pair = mechanism if isinstance(mechanism, Pair) else mechanism.pair(relation)
    pair.check()
    return pair
