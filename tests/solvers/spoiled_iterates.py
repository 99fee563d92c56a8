"""Solvers with one constant spoiled, each with the claim that its right version earns.

They live here so that nobody deploys one by accident. Each has a pair of datasets, and a number of
draws a side within which an audit at level 0.01 must refute the claim.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpverify.arrays import Floats, Ints
from dpverify.claims import Claim
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers import Ball, Bounds, Hinge
from solvers.bounds import Data
from solvers.descent import DescentSetting, Summing
from solvers.exponential.candidates import ExponentialERM
from solvers.gradient_descent import GradientDescent
from solvers.privacy.clipped_sums import ChunkedSums, ClippedSums
from solvers.privacy.noise import StepNoise
from solvers.sgd import FixedBatches, PoissonBatches, StochasticGradientDescent
from solvers.sufficient_statistics import SufficientStatistics

BOTH_SIGNS = Bounds(norm=1.0, labels=(-1, 1))


def hinge_setting(relation: Relation, records: int, **options: Any) -> DescentSetting:  # noqa: ANN401
    """Within the ball of radius 1/2 the hinge loss is linear: gradients are −y·x everywhere."""
    return DescentSetting(
        loss=Hinge(),
        bounds=BOTH_SIGNS,
        domain=Ball(0.5),
        relation=relation,
        records=records,
        **options,
    )


def unit_records(labels: list[float], dimension: int = 1) -> tuple[Floats, Floats]:
    """Records at the first unit vector."""
    rows = np.zeros((len(labels), dimension))
    rows[:, 0] = 1.0
    return rows, np.array(labels, np.float64)


def hinge_pair(
    relation: Relation, dimension: int = 1
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """A worst pair: one record's gradient turns around at its full length, or disappears."""
    left = unit_records([1.0, 1.0, 1.0], dimension)
    if relation is Relation.REPLACE_ONE:
        return left, unit_records([-1.0, 1.0, 1.0], dimension)
    return left, unit_records([1.0, 1.0], dimension)


class HalfTheNoise(GradientDescent):
    """Half the noise that the claim needs."""

    __slots__ = ()

    def noise(self, dimension: int) -> StepNoise:
        right = super().noise(dimension)
        return replace(right, scale=right.scale / 2)


class OneStepsNoise(GradientDescent):
    """The noise of a single step, whatever the number of steps: composition forgotten."""

    __slots__ = ()

    def noise(self, dimension: int) -> StepNoise:
        right = replace(self, steps=1)
        return GradientDescent.noise(right, dimension)


class Unclipped(GradientDescent):
    """Noise for the declared clipping norm, on gradients that are not clipped."""

    __slots__ = ()

    def gradient_sums(self, sums: ClippedSums | ChunkedSums, rng: np.random.Generator) -> Summing:
        assert isinstance(sums, ClippedSums)
        data = np.ldexp(sums.rows, sums.feature_exponent), sums.labels
        whole = ClippedSums.of(sums.loss, data, norm=float(self.setting.bounds.norm), clip=1.0)
        summed = super().gradient_sums(whole, rng)
        return lambda parameters: summed(parameters) << (whole.exponent - sums.exponent)


class HalfTheNoiseOfBatches(StochasticGradientDescent):
    """Half the noise that the claim needs."""

    __slots__ = ()

    def noise(self, dimension: int) -> StepNoise:
        right = super().noise(dimension)
        return replace(right, scale=right.scale / 2)


class FixedBatchesAsPoisson(StochasticGradientDescent):
    """Batches of fixed size, with noise computed for Poisson batches under ADD_REMOVE.

    A replaced record moves a sum by twice the clipping norm, and the claim is for replacing.
    """

    __slots__ = ()

    def noise(self, dimension: int) -> StepNoise:
        poisson = StochasticGradientDescent(
            replace(self.setting, relation=Relation.ADD_REMOVE),
            budget=self.budget,
            batches=PoissonBatches(self.batches.expected(1) / self.setting.records),
            steps=self.steps,
            learning_rate=self.learning_rate,
        )
        return StochasticGradientDescent.noise(poisson, dimension)


class AlwaysTheSameBatch(StochasticGradientDescent):
    """The first records are the batch, and the noise is that of random batches."""

    __slots__ = ()

    def gradient_sums(
        self,
        sums: ClippedSums | ChunkedSums,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Summing:
        assert isinstance(sums, ClippedSums)
        first = np.arange(round(self.divisor()))
        return lambda parameters: sums.total_of_batches(
            parameters, np.tile(first, (len(parameters), 1))
        )


class RadiusForDiameter(ExponentialERM):
    """Δ = G·R on the ball of radius R, whose diameter is 2R: weights exp(−ε·Σℓ/(2GR))."""

    __slots__ = ()

    def sums(self, data: Data) -> Ints:
        return 2 * super().sums(data)


class HalfTheStatisticsNoise(SufficientStatistics):
    """Half the noise that the claim needs."""

    __slots__ = ()

    def noise(self, dimension: int) -> StepNoise:
        right = super().noise(dimension)
        return replace(right, scale=right.scale / 2)


class AddedNotReplaced(SufficientStatistics):
    """Noise for one record more, claimed where one is replaced."""

    __slots__ = ()

    def noise(self, dimension: int) -> StepNoise:
        added = replace(self, relation=Relation.ADD_REMOVE)
        return SufficientStatistics.noise(added, dimension)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoiled:
    """A mechanism, the claim it does not keep, and a pair that shows it."""

    name: str
    mechanism: Any
    left: Any
    right: Any
    samples: int

    @property
    def claim(self) -> Claim:
        claim: Claim = self.mechanism.claim
        return claim


def _descents() -> list[Spoiled]:
    found = []
    for budget in (PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)):
        for relation in Relation:
            left, right = hinge_pair(relation)
            setting = hinge_setting(relation, 3)
            label = f"{type(budget).__name__}, {relation.value}"
            half = HalfTheNoise(setting, budget=budget, steps=2, output="last")
            once = OneStepsNoise(setting, budget=budget, steps=4, output="last")
            clipped = replace(setting, clip=0.25)
            whole = Unclipped(clipped, budget=budget, steps=1, output="last")
            found += [
                Spoiled(
                    name=f"{name}: {label}",
                    mechanism=mechanism.transcript if name != "un-clipped" else mechanism,
                    left=left,
                    right=right,
                    samples=10_000,
                )
                for name, mechanism in (("half", half), ("one step's", once), ("un-clipped", whole))
            ]
    return found


def _batches() -> list[Spoiled]:
    found = []
    for budget in (PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)):
        for relation in Relation:
            left, right = hinge_pair(relation)
            half = HalfTheNoiseOfBatches(
                hinge_setting(relation, 3),
                budget=budget,
                batches=PoissonBatches(0.5),
                steps=1,
                learning_rate=0.1,
            )
            label = f"{type(budget).__name__}, {relation.value}"
            found.append(
                Spoiled(
                    name=f"half, Poisson: {label}",
                    mechanism=half.transcript,
                    left=left,
                    right=right,
                    samples=40_000,
                )
            )
        left, right = hinge_pair(Relation.REPLACE_ONE)
        for kind in (FixedBatchesAsPoisson, AlwaysTheSameBatch):
            wrong = kind(
                hinge_setting(Relation.REPLACE_ONE, 3),
                budget=budget,
                batches=FixedBatches(1),
                steps=1,
                learning_rate=0.1,
            )
            found.append(
                Spoiled(
                    name=f"{kind.__name__}: {type(budget).__name__}",
                    mechanism=wrong.transcript,
                    left=left,
                    right=right,
                    samples=40_000,
                )
            )
    return found


# One candidate at an end of the ball, many at the other: the rare one shows nearly all of ε.
TWO_ENDS = np.concatenate([[-0.5], np.linspace(0.45, 0.5, 20)])[:, None]


def exponential_pair(relation: Relation) -> tuple[Data, Data]:
    """Two records that pull against each other; one turns around, or a third joins."""
    left = unit_records([1.0, -1.0])
    if relation is Relation.REPLACE_ONE:
        return left, unit_records([1.0, 1.0])
    return left, unit_records([1.0, -1.0, 1.0])


def statistics_pair(relation: Relation) -> tuple[Data, Data]:
    """The largest moves in two dimensions with r = s = 1: at right angles but for ⟨x, z⟩ = −1/2."""
    rest = [[0.0, 0.0]], [0.0]
    one = [[1.0, 0.0], *rest[0]], [1.0, *rest[1]]
    if relation is Relation.ADD_REMOVE:
        return one, rest
    other = [[-0.5, 0.75**0.5 * (1 - 2.0**-40)], *rest[0]], [1.0, *rest[1]]
    return one, other


def _exponentials() -> list[Spoiled]:
    found = []
    for relation in Relation:
        left, right = exponential_pair(relation)
        wrong = RadiusForDiameter(
            loss=Hinge(),
            bounds=BOTH_SIGNS,
            candidates=TWO_ENDS,
            epsilon=2.0,
            relation=relation,
            domain=Ball(0.5),
        )
        found.append(
            Spoiled(
                name=f"Δ = GR: {relation.value}",
                mechanism=wrong,
                left=left,
                right=right,
                samples=20_000,
            )
        )
    return found


def _statistics() -> list[Spoiled]:
    found = []
    bounds = Bounds(norm=1.0, label_bound=1.0)
    for budget in (PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)):
        for relation in Relation:
            kinds = [HalfTheStatisticsNoise]
            kinds += [AddedNotReplaced] if relation is Relation.REPLACE_ONE else []  # type: ignore[list-item]
            for kind in kinds:
                left, right = statistics_pair(relation)
                wrong = kind(bounds=bounds, budget=budget, relation=relation, pure_noise="norm")
                found.append(
                    Spoiled(
                        name=f"{kind.__name__}: {type(budget).__name__}, {relation.value}",
                        mechanism=wrong.statistics,
                        left=left,
                        right=right,
                        samples=100_000,
                    )
                )
    return found


SPOILED = [*_descents(), *_batches(), *_exponentials(), *_statistics()]
