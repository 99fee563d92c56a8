"""DP-SGD: noisy gradients of random batches, each way of drawing them with its own claim."""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.calibration import calibrate
from dpverify.accounting.parts import Composable
from dpverify.arrays import Floats, Ints
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_count, check_positive
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms import Gaussian, Laplace
from dpverify.neighbors import Relation
from solvers.bounds import Data
from solvers.descent import (
    Output,
    Setting,
    Transcript,
    above,
    assumptions,
    check_output,
    released,
)
from solvers.gradient_descent import check_budget, kind_of
from solvers.plain_numbers import settle
from solvers.privacy.batches import Batches, FixedBatches, PoissonBatches
from solvers.privacy.clipped_sums import ClippedSums
from solvers.privacy.step_noise import StepNoise

Budget: TypeAlias = PureDP | ApproxDP

__all__ = [
    "Batches",
    "Budget",
    "FixedBatches",
    "PoissonBatches",
    "StochasticGradientDescent",
    "noise_ratio",
]

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

    Sums are divided by the expected size of a batch, a public number. For pure budgets a step's
    largest loss depends on the noise by its own largest loss alone, so that of Laplace noise with
    the same ε is the one that counts.

    >>> from solvers import Bounds, Logistic, WholeSpace
    >>> setting = Setting(loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)),
    ...                   domain=WholeSpace(), relation=Relation.ADD_REMOVE, records=100)
    >>> fit = StochasticGradientDescent(setting, budget=ApproxDP(epsilon=1.0, delta=1e-5),
    ...                                 batches=PoissonBatches(0.1), steps=20, learning_rate=1.0)
    >>> round(fit.noise(1).scale, 3)
    2.102
    """

    setting: Setting
    _: KW_ONLY
    budget: Budget
    batches: Batches
    steps: int
    learning_rate: float
    output: Output = "last"

    def __post_init__(self) -> None:
        settle(self)
        check_count("steps", self.steps)
        check_output(self.output)
        check_positive("learning_rate", self.learning_rate)
        if not isinstance(self.budget, PureDP | ApproxDP):
            raise InvalidParameter(f"budget={self.budget!r} must be PureDP or ApproxDP")
        check_budget(self.budget)
        if not isinstance(self.batches, PoissonBatches | FixedBatches):
            raise InvalidParameter(
                f"batches={self.batches!r} must be PoissonBatches or FixedBatches"
            )
        self.batches.check(self.setting)

    @property
    def claim(self) -> Claim:
        assumes = assumptions(self.setting, kind_of(self.budget))
        relation = self.setting.relation
        return Claim(self.budget, relation, self.batches.theorem(relation), assumes)

    @property
    def transcript(self) -> Transcript:
        """All noisy gradients, from which the release follows, as a mechanism."""
        return Transcript(self)

    def noise(self, dimension: int) -> StepNoise:
        """What is added to each sum of gradients."""
        relation = self.setting.relation
        reach = self.batches.reach(relation) * self.setting.clipping_norm(dimension)
        ratio = noise_ratio(
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

    def gradient_sums(
        self, sums: ClippedSums, parameters: Floats, rng: np.random.Generator
    ) -> Ints:
        return self.batches.totals(sums, parameters, rng)

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        return released(self, data, size, rng, self.output)


@lru_cache(maxsize=256)
def noise_ratio(
    batches: Batches, budget: Budget, steps: int, relation: Relation, records: int
) -> float:
    """The least scale of noise over its declared sensitivity that the budget allows."""

    def part(ratio: float) -> Composable:
        pure = isinstance(budget, PureDP)
        return batches.part(Laplace(scale=ratio) if pure else Gaussian(sigma=ratio), records)

    if isinstance(batches, PoissonBatches) or isinstance(budget, PureDP):
        return calibrate(part, budget=budget, relation=relation, times=steps)

    # The bracket for fixed batches has ends from different instances, apart by more than rounding,
    # so no noise can be shown to be least: the one that the upper end allows is taken.
    def meets(ratio: float) -> bool:
        spent = Accountant(relation=relation).compose(part(ratio), times=steps)
        tolerance = _CLOSE * budget.epsilon / 4
        return spent.epsilon(budget.delta, tolerance=tolerance).upper <= budget.epsilon

    return _least(meets)


def _least(meets: Callable[[float], bool]) -> float:
    """A ratio that meets, within a share `_CLOSE` of one that does not."""
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
