"""Noisy projected gradient descent, with every record in every step."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_count,
    check_member,
    check_positive,
    settle_fields,
)
from dpverify.neighbors import Relation
from dpverify.theorems import LAST_ITERATE, Theorem
from solvers.bounds import Data
from solvers.descent import (
    DescentSetting,
    FullTranscript,
    Output,
    Summing,
    above,
    assumptions,
    check_path,
    released,
)
from solvers.hidden_path import HiddenPath
from solvers.losses.softmax import classes_of
from solvers.minimize.certificate import EXPONENTIAL_ACCURACY
from solvers.privacy.clipped_sums import ChunkedSums, ClippedSums
from solvers.privacy.noise import (
    Budget,
    StepNoise,
    check_budget,
    composition_of,
    kind_of,
    noise_ratio,
)
from solvers.privacy.theorems import LAST_ITERATE_ROUNDING

Accounting: TypeAlias = Literal["steps", "last"]
ACCOUNTING: tuple[Accounting, ...] = get_args(Accounting)


@dataclass(frozen=True, slots=True)
class GradientDescent:
    """`steps` noisy gradients from θ = 0; the averaged (or last) iterate is released.

    Each sum of clipped gradients has ℓ2 sensitivity C where a record is added or removed, 2C where
    one is replaced, and so has every step, whatever came out before it. The noise is Gaussian, its
    μ such that √steps·μ-GDP is the budget; for a PureDP budget it has density ∝ exp(−‖z‖₂/b) and
    each step takes ε/steps. Iterates and their average are post-processing: with k noisy
    gradients there are k + 1 iterates, the start among them. `output` is "average", "tail" (the
    average of their later half) or "last", and with a `momentum` steps follow an average of noisy
    gradients (`descent.Path`): the claim is about the noisy gradients, so it is the same for all.
    [proofs/gaussian_composition.py]

    With `accounting` "last" the claim is about the last iterate alone, and the noise stays bounded
    as steps grow: for smooth losses, learning rates of at most 2/(smoothness + ridge), Gaussian
    noise and records that are replaced. [`hidden_path`, proofs/last_iterate.py and
    proofs/last_iterate_rounding.py]

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
    momentum: float = 0.0
    accounting: Accounting = "steps"

    def __post_init__(self) -> None:
        settle_fields(self)
        check_count("steps", self.steps)
        check_path(self.output, self.momentum)
        check_member("accounting", self.accounting, ACCOUNTING)
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate)
        elif not self.setting.domain.bounded and not self._hides:
            raise InvalidParameter(
                "learning_rate=None must be a number: only a bounded domain has a default"
            )
        check_budget(self.budget)
        if self._hides:
            if self.output != "last" or self.momentum:
                raise InvalidParameter(
                    f"output={self.output!r} and momentum={self.momentum!r} must be 'last' and 0 "
                    "for accounting='last'"
                )
            self.hidden(self.setting.domain.dimension or classes_of(self.setting.loss))

    @property
    def _hides(self) -> bool:
        return self.accounting == "last"

    @property
    def claim(self) -> Claim:
        assumes = assumptions(self.setting, kind_of(self.budget))
        if self._hides and self.setting.arithmetic == "grid":
            assumes = (
                *assumes,
                EXPONENTIAL_ACCURACY,
                f"rounding on the way: {LAST_ITERATE_ROUNDING}",
            )
        return Claim(self.budget, self.setting.relation, self.theorem, assumes)

    @property
    def theorem(self) -> Theorem:
        return LAST_ITERATE if self._hides else composition_of(self.budget)

    @property
    def transcript(self) -> FullTranscript:
        """All noisy gradients, which determine the release, as a mechanism with a density."""
        if self._hides:
            raise NotSupported(
                "accounting='last' must be 'steps' for a transcript: it is for the last iterate, "
                "and no other may be released"
            )
        return FullTranscript(self)

    def hidden(self, dimension: int) -> HiddenPath:
        """The privacy accounting if only the last iterate is released."""
        return HiddenPath(
            setting=self.setting,
            budget=self.budget,
            steps=int(self.steps),
            learning_rate=self.rate(dimension),
            dimension=dimension,
        )

    def sensitivity(self, dimension: int) -> float:
        """The ℓ2 sensitivity of one sum of gradients."""
        clip = self.setting.clipping_norm(dimension)
        return clip if self.setting.relation is Relation.ADD_REMOVE else 2.0 * clip

    def noise(self, dimension: int) -> StepNoise:
        """The noise on each sum of gradients."""
        reach = self.sensitivity(dimension)
        if self._hides:
            scale = self.hidden(dimension).scale
        else:
            scale = above(noise_ratio(self.budget, int(self.steps)) * reach)
        return StepNoise(
            kind=kind_of(self.budget),
            scale=scale,
            sensitivity=reach,
            dimension=dimension,
            arithmetic=self.setting.arithmetic,
        )

    def divisor(self) -> float:
        return float(self.setting.records)

    def second_moment(self, dimension: int) -> float:
        """An upper bound B² on E‖noisy mean gradient + ridge·θ‖²."""
        setting, n = self.setting, float(self.setting.records)
        pull = float(setting.ridge) * setting.radius(dimension) if setting.ridge else 0.0
        moment = self.noise(dimension).second_moment * 1.0625  # room for the grid's inflation
        return (setting.clipping_norm(dimension) + pull) ** 2 + moment / n**2

    def rate(self, dimension: int) -> float:
        """The learning rate: as given, R/(B·√(k + 1)), or 1/(β + ridge) for the last iterate."""
        if self.learning_rate is not None:
            return float(self.learning_rate)
        if self._hides:
            smoothness = self.setting.loss.smoothness(self.setting.bounds)
            return 1.0 / (smoothness + float(self.setting.ridge))
        iterates = int(self.steps) + 1
        return self.setting.radius(dimension) / math.sqrt(self.second_moment(dimension) * iterates)

    def gradient_sums(
        self,
        sums: ClippedSums | ChunkedSums,
        rng: np.random.Generator,  # noqa: ARG002  # no batch to draw
    ) -> Summing:
        return sums.total

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        iterates = released(self, data, size, rng, self.output)
        if not self._hides or self.setting.arithmetic == "real":
            return iterates
        shown = self.hidden(iterates.shape[1]).last_noise.release(iterates, rng)
        return self.setting.domain.project(shown)
