"""DP-SGD: noisy gradients of random batches, with a claim for each way of drawing them."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.adaptive.batches import no_games
from dpverify.accounting.calibration import calibrate
from dpverify.accounting.parts import Composable
from dpverify.arrays import Floats, Ints
from dpverify.claims import Claim
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_count,
    check_positive,
    check_real,
    settle_fields,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import (
    Gaussian,
    Laplace,
    RandomAllocation,
    Subsampled,
    SubsampledWithoutReplacement,
)
from dpverify.neighbors import Relation
from dpverify.theorems import (
    POISSON_SUBSAMPLING,
    RANDOM_ALLOCATION,
    WITHOUT_REPLACEMENT,
    Theorem,
)
from solvers.bounds import Data
from solvers.descent import (
    DescentSetting,
    Output,
    Summing,
    Transcript,
    above,
    assumptions,
    check_path,
    released,
)
from solvers.privacy.clipped_sums import ChunkedSums, ClippedSums, Wholes, exact_zeros
from solvers.privacy.noise import StepNoise, check_budget, kind_of, noise_ratio
from solvers.privacy.theorems import NOISY_BATCHES, POISSON_REPLACED

_UNIFORM = 2**53  # what Generator.random() returns are multiples of 1/this
_CELLS = 1 << 21
_SHUFFLED = 2_000  # up to so many records whole rows are shuffled; beyond, one draw a row is faster


@dataclass(frozen=True, slots=True)
class PoissonBatches:
    """Poisson batches: each record is in a batch with probability `rate`, independently."""

    rate: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_real("rate", self.rate)
        if not 0 < self.rate <= 1:
            raise InvalidParameter(f"rate={self.rate!r} must be positive and at most 1")

    @property
    def drawn_rate(self) -> float:
        """The exact probability that a random float on the grid 2^-53 is below `rate`."""
        return math.ceil(self.rate * _UNIFORM) / _UNIFORM

    def theorem(self, relation: Relation) -> Theorem:
        return POISSON_SUBSAMPLING if relation is Relation.ADD_REMOVE else POISSON_REPLACED

    def check(self, setting: DescentSetting, steps: int) -> None:
        """Accept every setting and any number of steps."""

    def expected(self, records: int) -> float:
        return float(self.rate) * records

    def reach(self, relation: Relation) -> float:  # noqa: ARG002
        """The declared sensitivity, in clipping norms, for adding or removing one record."""
        return 1.0

    def part(self, noise: Gaussian | Laplace, records: int) -> Composable:  # noqa: ARG002
        """One step, as a part for the accountant."""
        return Subsampled(noise, rate=self.drawn_rate)

    def times(self, steps: int) -> int:
        """How many of the accountant's parts so many steps are."""
        return steps

    def sums(self, sums: ClippedSums | ChunkedSums, rng: np.random.Generator) -> Summing:
        """A function that returns the sums over the next batch, at each run's parameters."""

        def chosen(few: slice, shape: tuple[int, int]) -> NDArray[np.bool_]:  # noqa: ARG001
            return rng.random(shape) < self.rate

        return lambda parameters: _total_of_chosen(sums, parameters, chosen)


@dataclass(frozen=True, slots=True)
class FixedBatches:
    """Batches of `size` different records, all equally likely; REPLACE_ONE only."""

    size: int

    def __post_init__(self) -> None:
        settle_fields(self)
        check_count("size", self.size)

    def theorem(self, relation: Relation) -> Theorem:  # noqa: ARG002
        return WITHOUT_REPLACEMENT

    def check(self, setting: DescentSetting, steps: int) -> None:  # noqa: ARG002
        if setting.relation is not Relation.REPLACE_ONE:
            raise NotSupported(
                f"relation={setting.relation.value!r} must be {Relation.REPLACE_ONE.value!r} for "
                "batches of fixed size, which show how many records there are; Poisson batches "
                "take both relations"
            )
        if self.size > setting.records:
            raise InvalidParameter(
                f"size={self.size!r} of a batch must not exceed records={setting.records!r}"
            )

    def expected(self, records: int) -> float:  # noqa: ARG002
        return float(self.size)

    def reach(self, relation: Relation) -> float:  # noqa: ARG002
        """The declared sensitivity, in clipping norms, for replacing one record of the batch."""
        return 2.0

    def part(self, noise: Gaussian | Laplace, records: int) -> Composable:
        return SubsampledWithoutReplacement(noise, batch=self.size, population=records)

    def times(self, steps: int) -> int:
        return steps

    def sums(self, sums: ClippedSums | ChunkedSums, rng: np.random.Generator) -> Summing:
        if isinstance(sums, ChunkedSums):
            raise NotSupported(
                f"batches={self!r} must be PoissonBatches or AllocatedBatches for data in chunks "
                "and sparse rows: picked records are not next to each other"
            )
        return lambda parameters: sums.total_of_batches(
            parameters, self._batches(len(parameters), sums.records, rng)
        )

    def _batches(self, count: int, records: int, rng: np.random.Generator) -> Ints:
        """Record numbers (count, size); both methods draw integers without bias."""
        if records > _SHUFFLED:
            rows = [rng.choice(records, self.size, replace=False) for _ in range(count)]
            return np.array(rows, np.int64)
        result = np.empty((count, self.size), np.int64)
        step = max(1, _CELLS // records)
        for start in range(0, count, step):
            few = result[start : start + step]
            few[:] = rng.permuted(np.tile(np.arange(records), (len(few), 1)), axis=1)[
                :, : self.size
            ]
        return result


@dataclass(frozen=True, slots=True)
class AllocatedBatches:
    """Epochs of `count` batches: every record is in one of them, each equally likely.

    Records draw their batches independently of each other and afresh in every epoch. A record is
    then used as often as in Poisson batches of rate 1/count, and just once an epoch; the noise is
    about the same or less. A pure budget gains nothing from it: the worst outputs do not show in
    which of its batches a record was, so an epoch costs what one step on all records does.
    """

    count: int

    def __post_init__(self) -> None:
        settle_fields(self)
        check_count("count", self.count)

    def theorem(self, relation: Relation) -> Theorem:  # noqa: ARG002
        return RANDOM_ALLOCATION

    def check(self, setting: DescentSetting, steps: int) -> None:  # noqa: ARG002
        if steps % self.count:
            raise InvalidParameter(
                f"steps={steps!r} must be a multiple of the {self.count} batches of an epoch"
            )

    def expected(self, records: int) -> float:
        return records / self.count

    def reach(self, relation: Relation) -> float:  # noqa: ARG002
        """The declared sensitivity, in clipping norms, for adding or removing one record."""
        return 1.0

    def part(self, noise: Gaussian | Laplace, records: int) -> Composable:  # noqa: ARG002
        """One epoch, as a part for the accountant."""
        return RandomAllocation(noise, steps=self.count)

    def times(self, steps: int) -> int:
        return steps // self.count

    def sums(self, sums: ClippedSums | ChunkedSums, rng: np.random.Generator) -> Summing:
        return _Epochs(self, sums, rng)


@dataclass(slots=True)
class _Epochs:
    """The batches, epoch after epoch: which batch each record is in, for each run."""

    batches: AllocatedBatches
    sums: ClippedSums | ChunkedSums
    rng: np.random.Generator
    step: int = 0
    places: NDArray[Any] = field(default_factory=lambda: np.empty((0, 0), np.uint8))

    def __call__(self, parameters: Floats) -> Wholes:
        count = self.batches.count
        batch, self.step = self.step % count, self.step + 1
        if batch == 0:
            shape = len(parameters), self.sums.records
            self.places = self.rng.integers(count, size=shape, dtype=np.min_scalar_type(count))
        return _total_of_chosen(self.sums, parameters, lambda few, _: self.places[few] == batch)


def _total_of_chosen(
    sums: ClippedSums | ChunkedSums,
    parameters: Floats,
    chosen: Callable[[slice, tuple[int, int]], NDArray[np.bool_]],
) -> Wholes:
    """The sums over the records that each run chose, for a few runs at a time."""
    result = exact_zeros((len(parameters), sums.dimension), sums.records)
    step = max(1, _CELLS // max(1, sums.records))
    for start in range(0, len(parameters), step):
        few = slice(start, min(start + step, len(parameters)))
        picked = chosen(few, (few.stop - few.start, sums.records))
        result[few] = sums.total(parameters[few], picked)
    return result


Batches: TypeAlias = PoissonBatches | FixedBatches | AllocatedBatches


Budget: TypeAlias = PureDP | ApproxDP

_CLOSE = 1e-3  # of the noise, for batches of fixed size


@dataclass(frozen=True, slots=True)
class StochasticGradientDescent:
    """`steps` noisy gradients, each of a fresh random batch; the last or averaged iterate.

    The noise is the least that the accountant's certified upper bound allows for so many
    subsampled steps: Gaussian, or of density ∝ exp(−‖z‖₂/b) for a PureDP budget.

    - Poisson batches: one record's presence moves a sum by at most the clipping norm C; both
      relations. [proofs/poisson_subsampling.py, replaced_subsampling.py]
    - Batches of fixed size: one replaced record moves a sum by at most 2C; REPLACE_ONE only, since
      the size of the data is then public. [proofs/without_replacement.py]
    - Allocated batches: each record in one batch of an epoch, drawn at random; one record's
      presence moves that batch's sum by at most C; both relations. [proofs/random_allocation.py]

    Sums are divided by the expected size of a batch, a public number. `output` and `momentum` are
    as in `GradientDescent`, and change what is made of the noisy gradients, not what they cost. For
    pure budgets a step's largest loss depends on the noise by its own largest loss alone, so that
    of Laplace noise with the same ε is the one that counts.

    >>> from solvers import Bounds, Logistic, WholeSpace
    >>> setting = DescentSetting(loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)),
    ...                   domain=WholeSpace(), relation=Relation.ADD_REMOVE, records=100)
    >>> fit = StochasticGradientDescent(setting, budget=ApproxDP(epsilon=1.0, delta=1e-5),
    ...                                 batches=PoissonBatches(0.1), steps=20, learning_rate=1.0)
    >>> round(fit.noise(1).scale, 3)
    2.102
    """

    setting: DescentSetting
    _: KW_ONLY
    budget: Budget
    batches: Batches
    steps: int
    learning_rate: float
    output: Output = "last"
    momentum: float = 0.0

    def __post_init__(self) -> None:
        settle_fields(self)
        check_count("steps", self.steps)
        check_path(self.output, self.momentum)
        check_positive("learning_rate", self.learning_rate)
        if not isinstance(self.budget, PureDP | ApproxDP):
            raise InvalidParameter(f"budget={self.budget!r} must be PureDP or ApproxDP")
        check_budget(self.budget)
        if not isinstance(self.batches, Batches):
            raise InvalidParameter(
                f"batches={self.batches!r} must be PoissonBatches, FixedBatches or AllocatedBatches"
            )
        self.batches.check(self.setting, int(self.steps))

    @property
    def claim(self) -> Claim:
        relation = self.setting.relation
        part = "epoch" if isinstance(self.batches, AllocatedBatches) else "step"
        rests = f"each {part} rests on {self.batches.theorem(relation)}"
        assumes = (rests, *assumptions(self.setting, kind_of(self.budget)))
        return Claim(self.budget, relation, NOISY_BATCHES, assumes)

    @property
    def transcript(self) -> Transcript:
        """All noisy gradients, which determine the release, as a mechanism."""
        return Transcript(self)

    def noise(self, dimension: int) -> StepNoise:
        """The noise on each sum of gradients."""
        relation = self.setting.relation
        reach = self.batches.reach(relation) * self.setting.clipping_norm(dimension)
        ratio = batch_noise_ratio(
            self.batches, self.budget, int(self.steps), relation, int(self.setting.records)
        )
        return StepNoise(
            kind=kind_of(self.budget),
            scale=above(ratio * reach),
            sensitivity=reach,
            dimension=dimension,
            arithmetic=self.setting.arithmetic,
        )

    def divisor(self) -> float:
        return self.batches.expected(int(self.setting.records))

    def rate(self, dimension: int) -> float:  # noqa: ARG002
        return float(self.learning_rate)

    def gradient_sums(self, sums: ClippedSums | ChunkedSums, rng: np.random.Generator) -> Summing:
        return self.batches.sums(sums, rng)

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        return released(self, data, size, rng, self.output)


@lru_cache(maxsize=256)
def batch_noise_ratio(
    batches: Batches, budget: Budget, steps: int, relation: Relation, records: int
) -> float:
    """The least ratio of noise scale to declared sensitivity that keeps the budget."""

    def part(ratio: float) -> Composable:
        pure = isinstance(budget, PureDP)
        return batches.part(Laplace(scale=ratio) if pure else Gaussian(sigma=ratio), records)

    times = batches.times(steps)
    if isinstance(batches, AllocatedBatches) and isinstance(budget, PureDP):
        # A mean of likelihood ratios of one step is at most the largest; replaced, there are two.
        sides = 2 if relation is Relation.REPLACE_ONE else 1
        return noise_ratio(budget, sides * times)
    if not isinstance(batches, FixedBatches) or isinstance(budget, PureDP):
        return calibrate(part, budget=budget, relation=relation, times=times)

    # The bracket for fixed batches has ends from different instances, apart by more than rounding,
    # so no noise can be shown to be least: the one that the upper end allows is taken.
    def meets(ratio: float) -> bool:
        spent = Accountant(relation=relation).compose(part(ratio), times=times)
        tolerance = _CLOSE * budget.epsilon / 4
        with no_games():
            return spent.epsilon(budget.delta, tolerance=tolerance).upper <= budget.epsilon

    return _least(meets)


def _least(meets: Callable[[float], bool]) -> float:
    """A ratio that keeps the budget, within a relative `_CLOSE` of one that does not."""
    low = high = 1.0
    while not meets(high):
        low, high = high, 2.0 * high
        if high > 2.0**100:
            raise InvalidParameter("budget must be larger: no noise is enough")
    while low == high or meets(low):
        high, low = low, low / 2.0
        if low < 2.0**-100:
            raise InvalidParameter("budget must be smaller: any noise is enough")
    while high - low > _CLOSE * high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high
