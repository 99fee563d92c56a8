"""Noisy projected gradient descent, with every record in every step."""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_count, check_positive, settle_fields
from dpverify.neighbors import Relation
from dpverify.theorems import Theorem
from solvers.bounds import Data
from solvers.descent import (
    DescentSetting,
    FullTranscript,
    Output,
    above,
    assumptions,
    check_output,
    released,
)
from solvers.privacy.clipped_sums import ChunkedSums, ClippedSums, Wholes
from solvers.privacy.noise import (
    Budget,
    StepNoise,
    check_budget,
    composition_of,
    kind_of,
    noise_ratio,
)


@dataclass(frozen=True, slots=True)
class GradientDescent:
    """`steps` noisy gradients from θ = 0; the averaged (or last) iterate is released.

    Each sum of clipped gradients has ℓ2 sensitivity C where a record is added or removed, 2C where
    one is replaced, and so has every step, whatever came out before it. The noise is Gaussian, its
    μ such that √steps·μ-GDP is the budget; for a PureDP budget it has density ∝ exp(−‖z‖₂/b) and
    each step takes ε/steps. Iterates and their average are post-processing: with k noisy
    gradients there are k + 1 iterates, the start among them. [proofs/gaussian_composition.py]

    The default learning rate, R/(B·√(k + 1)), gives the averaged iterate an expected excess risk of
    at most R·B/√(k + 1), B² bounding the second moment of a noisy mean gradient
    (`excess_bounds.descent_excess`). Clipping below the Lipschitz constant voids that bound,
    never the claim.

    >>> from dpverify import ApproxDP
    >>> from solvers import Ball, Bounds, Logistic
    >>> setting = DescentSetting(loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)),
    ...                   domain=Ball(5.0), relation=Relation.REPLACE_ONE, records=2)
    >>> fit = GradientDescent(setting, budget=ApproxDP(epsilon=1.0, delta=1e-6), steps=10)
    >>> data = [[1.0, 0.0], [0.0, 1.0]], [1, -1]
    >>> fit.sample(data, size=3, rng=np.random.default_rng(0)).shape
    (3, 2)
    """

    setting: DescentSetting
    _: KW_ONLY
    budget: Budget
    steps: int
    learning_rate: float | None = None
    output: Output = "average"

    def __post_init__(self) -> None:
        settle_fields(self)
        check_count("steps", self.steps)
        check_output(self.output)
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate)
        elif not self.setting.domain.bounded:
            raise InvalidParameter(
                "learning_rate=None must be a number: only a bounded domain has a default"
            )
        check_budget(self.budget)

    @property
    def claim(self) -> Claim:
        assumes = assumptions(self.setting, kind_of(self.budget))
        return Claim(self.budget, self.setting.relation, self.theorem, assumes)

    @property
    def theorem(self) -> Theorem:
        return composition_of(self.budget)

    @property
    def transcript(self) -> FullTranscript:
        """All noisy gradients, from which the release follows, as a mechanism with a density."""
        return FullTranscript(self)

    def sensitivity(self, dimension: int) -> float:
        """Of one sum of gradients, in ℓ2."""
        clip = self.setting.clipping_norm(dimension)
        return clip if self.setting.relation is Relation.ADD_REMOVE else 2.0 * clip

    def noise(self, dimension: int) -> StepNoise:
        """What is added to each sum of gradients."""
        reach = self.sensitivity(dimension)
        return StepNoise(
            kind=kind_of(self.budget),
            scale=above(noise_ratio(self.budget, int(self.steps)) * reach),
            sensitivity=reach,
            dimension=dimension,
            arithmetic=self.setting.arithmetic,
        )

    def divisor(self) -> float:
        return float(self.setting.records)

    def second_moment(self, dimension: int) -> float:
        """B²: what E‖noisy mean gradient + ridge·θ‖² does not exceed."""
        setting, n = self.setting, float(self.setting.records)
        pull = float(setting.ridge) * setting.radius(dimension) if setting.ridge else 0.0
        moment = self.noise(dimension).second_moment * 1.0625  # room for the grid's inflation
        return (setting.clipping_norm(dimension) + pull) ** 2 + moment / n**2

    def rate(self, dimension: int) -> float:
        """The learning rate, R/(B·√(k + 1)) if none was given."""
        if self.learning_rate is not None:
            return float(self.learning_rate)
        iterates = int(self.steps) + 1
        return self.setting.radius(dimension) / math.sqrt(self.second_moment(dimension) * iterates)

    def gradient_sums(
        self,
        sums: ClippedSums | ChunkedSums,
        parameters: Floats,
        rng: np.random.Generator,  # noqa: ARG002  # no batch to draw
    ) -> Wholes:
        return sums.total(parameters)

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        return released(self, data, size, rng, self.output)
