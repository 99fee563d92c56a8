"""How batches are drawn, and what one step with a random batch costs."""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.accounting.parts import Composable
from dpverify.arrays import Floats, Ints
from dpverify.errors import InvalidParameter, NotSupported, check_count, check_real
from dpverify.mechanisms import Gaussian, Laplace, Subsampled, SubsampledWithoutReplacement
from dpverify.neighbors import Relation
from dpverify.theorems import POISSON_SUBSAMPLING, WITHOUT_REPLACEMENT, Theorem
from solvers.descent import Setting
from solvers.plain_numbers import settle
from solvers.privacy.clipped_sums import ClippedSums
from solvers.privacy.theorems import POISSON_REPLACED

_UNIFORM = 2**53  # what Generator.random() returns are multiples of 1/this
_CELLS = 1 << 21
_SHUFFLED = 2_000  # up to so many records whole rows are shuffled; beyond, one draw a row is faster


@dataclass(frozen=True, slots=True)
class PoissonBatches:
    """Every record is in a batch with probability `rate`, independently of all others."""

    rate: float

    def __post_init__(self) -> None:
        settle(self)
        check_real("rate", self.rate)
        if not 0 < self.rate <= 1:
            raise InvalidParameter(f"rate={self.rate!r} must be positive and at most 1")

    @property
    def drawn_rate(self) -> float:
        """The probability that a float uniform on multiples of 2^-53 is below `rate`."""
        return math.ceil(self.rate * _UNIFORM) / _UNIFORM

    def theorem(self, relation: Relation) -> Theorem:
        return POISSON_SUBSAMPLING if relation is Relation.ADD_REMOVE else POISSON_REPLACED

    def check(self, setting: Setting) -> None:
        """Poisson batches fit every setting."""

    def expected(self, records: int) -> float:
        return float(self.rate) * records

    def reach(self, relation: Relation) -> float:  # noqa: ARG002
        """The declared sensitivity, in clipping norms: one record's presence."""
        return 1.0

    def part(self, noise: Gaussian | Laplace, records: int) -> Composable:  # noqa: ARG002
        """One step, as the accountant sees it."""
        return Subsampled(noise, rate=self.drawn_rate)

    def totals(self, sums: ClippedSums, parameters: Floats, rng: np.random.Generator) -> Ints:
        result = np.empty((len(parameters), sums.dimension), np.int64)
        step = max(1, _CELLS // max(1, sums.records))
        for start in range(0, len(parameters), step):
            few = slice(start, start + step)
            shape = (len(parameters[few]), sums.records)
            chosen: NDArray[np.bool_] = rng.random(shape) < self.rate
            result[few] = sums.total(parameters[few], chosen)
        return result


@dataclass(frozen=True, slots=True)
class FixedBatches:
    """`size` different records a batch, all such batches equally likely: REPLACE_ONE only."""

    size: int

    def __post_init__(self) -> None:
        settle(self)
        check_count("size", self.size)

    def theorem(self, relation: Relation) -> Theorem:  # noqa: ARG002
        return WITHOUT_REPLACEMENT

    def check(self, setting: Setting) -> None:
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
        """The declared sensitivity, in clipping norms: one record of the batch replaced."""
        return 2.0

    def part(self, noise: Gaussian | Laplace, records: int) -> Composable:
        return SubsampledWithoutReplacement(noise, batch=self.size, population=records)

    def totals(self, sums: ClippedSums, parameters: Floats, rng: np.random.Generator) -> Ints:
        return sums.total_of_batches(parameters, self._batches(len(parameters), sums.records, rng))

    def _batches(self, count: int, records: int, rng: np.random.Generator) -> Ints:
        """Record numbers (count, size); both ways draw integers without bias."""
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


Batches: TypeAlias = PoissonBatches | FixedBatches
