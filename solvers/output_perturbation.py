"""Output perturbation: the minimum, computed to a certified accuracy, plus noise."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    NotSupported,
    check_arithmetic,
    check_draw,
    check_flag,
    check_positive,
    settle_fields,
)
from dpverify.guarantees import ApproxDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpverify.mechanisms.gaussian import Gaussian
from dpverify.mechanisms.norm import NormMechanism
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair, Pair
from solvers.bounds import Data
from solvers.minimize.certificate import EXPONENTIAL_ACCURACY, MinimumCertificate
from solvers.minimize.problem import Problem, Solution
from solvers.privacy.noise import Budget, noise_ratio
from solvers.privacy.theorems import OUTPUT_PERTURBATION
from solvers.privacy.weights import for_weights

_SMOOTH_ERROR = 2.0**-22  # of the sensitivity: what Newton's method is asked to reach
_CORNER_ERROR = 2.0**-10  # what a duality gap shows without much work
_LEAST_ERROR = 2.0**-30


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPerturbation:
    """The minimum of a λ-strongly convex problem, plus noise for its sensitivity.

    One record moves the minimum by at most L/λ if it is added or removed and 2L/λ if it is
    replaced, λ the ridge on the *sum* of losses; a solver that stops within η of it adds 2η. Every
    dataset within the bounds is solved to η, by ball arithmetic where floats do not get there: none
    is refused, and nothing else is ever released. [Theorem certified-minimum]
    Noise is ∝ e^(−ε‖z‖/Δ) for a pure budget and Gaussian for any other. `data` is a pair of
    features and labels; `project` moves releases back into the domain, which costs nothing.

    >>> from solvers import Bounds, Logistic, Ridge
    >>> problem = Problem(
    ...     loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(10.0)
    ... )
    >>> private = OutputPerturbation(
    ...     problem=problem, budget=PureDP(epsilon=1.0), relation=Relation.ADD_REMOVE
    ... )
    >>> data = ([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> private.sample(data, size=3, rng=np.random.default_rng(0)).shape
    (3, 2)
    """

    problem: Problem
    budget: Budget
    relation: Relation
    solver_error: float | None = None
    project: bool = False
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_arithmetic(self.arithmetic)
        check_flag("project", self.project)
        check_budget(self.budget)
        if self.solver_error is not None:
            check_positive("solver_error", self.solver_error)
        if not self.problem.ridge > 0.0:
            raise InvalidParameter(
                f"regularizer={self.problem.regularizer!r} must have a ridge for output "
                "perturbation: without strong convexity one record can move the minimum any "
                "distance, and the sensitivity is infinite"
            )

    @property
    def claim(self) -> Claim:
        noise = noise_for(self.budget, 1.0, self.arithmetic)  # assumptions know no sensitivity
        weights = for_weights(self.problem.bounds, OUTPUT_PERTURBATION)
        assumes = (*noise.claim.assumes, EXPONENTIAL_ACCURACY, *weights)
        return Claim(self.budget, self.relation, OUTPUT_PERTURBATION, assumes)

    def pair(self, relation: Relation) -> Pair:
        """The dominating pair of the noise, for the declared relation."""
        self.relation.check(relation)
        return noise_for(self.budget, 1.0, self.arithmetic).pair(relation)

    def exact_sensitivity(self, dimension: int | None = None) -> float:
        """L/λ or 2L/λ, rounded up."""
        lipschitz = self.problem.lipschitz(dimension)
        if not math.isfinite(lipschitz):
            raise InvalidParameter(
                f"domain={self.problem.domain!r} must be bounded for the "
                f"{self.problem.loss.name} loss: its slopes are unbounded, and so is the "
                "sensitivity of the minimum"
            )
        times = 2 if self.relation is Relation.REPLACE_ONE else 1
        return enclose(lambda: times * ball(lipschitz) / ball(self.problem.ridge))[1]

    def tolerance(self, dimension: int | None = None) -> float:
        """η: how near to the minimum a solve must be certified to be."""
        if self.solver_error is not None:
            least = _LEAST_ERROR * self.exact_sensitivity(dimension)
            if not self.solver_error >= least:
                raise InvalidParameter(
                    f"solver_error={self.solver_error!r} must be at least {least:.3g}, 2^-30 of "
                    "the minimum's sensitivity: floats do not resolve less"
                )
            return float(self.solver_error)
        share = _SMOOTH_ERROR if self.problem.loss.smooth else _CORNER_ERROR
        return share * self.exact_sensitivity(dimension)

    def l2_sensitivity(self, dimension: int | None = None) -> float:
        """The sensitivity of the released minimum: the exact one plus twice the solver's error."""
        exact, error = self.exact_sensitivity(dimension), self.tolerance(dimension)
        return enclose(lambda: ball(exact) + 2 * ball(error))[1]

    def noise(self, dimension: int) -> Gaussian | NormMechanism:
        """The mechanism that adds the noise; `dimension` matters for boxes only."""
        return noise_for(self.budget, self.l2_sensitivity(dimension), self.arithmetic)

    def solve(self, data: Data) -> Solution:
        """The minimum, certified to be accurate enough; it must not be released without noise."""
        prepared = self.problem.prepared(data)
        size = self.problem.parameters(prepared)
        return self.problem.minimize_prepared(prepared, within=self.tolerance(size))

    def certificate(self, data: Data) -> MinimumCertificate:
        """The certificate of the solve on this dataset."""
        return self.solve(data).certificate

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        check_draw(size, rng)
        point = self.solve(data).points[0]
        released = self.noise(len(point)).sample(point, size, rng=rng)
        return self.problem.domain.project(released) if self.project else released

    def log_density(self, outputs: ArrayLike, data: Data) -> Floats:
        """For each output its log density, or its log probability on the grid.

        For norm noise on the grid, which has no formula, the density is that of real arithmetic.
        """
        if self.project and self.problem.domain.bounded:
            raise NotSupported("projected releases have no density; project=False has one")
        point = self.solve(data).points[0]
        arithmetic = self.arithmetic
        if isinstance(self.budget, PureDP) and len(point) > 1:
            arithmetic = "real"
        noise = noise_for(self.budget, self.l2_sensitivity(len(point)), arithmetic)
        return noise.log_density(outputs, point)


def check_budget(budget: object) -> None:
    """Raise for what is not a budget, or for a budget that no noise meets."""
    if not isinstance(budget, (PureDP, ApproxDP, GaussianDP, ZeroConcentratedDP)):
        raise InvalidParameter(
            f"budget={budget!r} must be PureDP, ApproxDP, GaussianDP or ZeroConcentratedDP"
        )
    spent = {PureDP: "epsilon", ApproxDP: "epsilon", GaussianDP: "mu", ZeroConcentratedDP: "rho"}
    value = getattr(budget, spent[type(budget)])
    if isinstance(budget, ApproxDP) and budget.epsilon == 0.0 and budget.delta > 0.0:
        return
    if not 0.0 < value < math.inf:
        raise InvalidParameter(f"budget={budget!r} must be positive and finite")


def noise_for(
    budget: Budget, sensitivity: float, arithmetic: Arithmetic
) -> Gaussian | NormMechanism:
    """The noise for an answer of that ℓ2 sensitivity; it costs the budget and no more."""
    if isinstance(budget, ApproxDP) and budget.delta == 0.0:
        budget = PureDP(epsilon=budget.epsilon)
    if isinstance(budget, PureDP):
        scale = enclose(lambda: ball(sensitivity) / ball(budget.epsilon))[1]
        return NormMechanism(scale=scale, sensitivity=sensitivity, arithmetic=arithmetic)
    sigma = enclose(lambda: ball(sensitivity) * ball(noise_ratio(budget, 1)))[1]
    if isinstance(budget, ApproxDP):
        while not _spends(sigma, sensitivity, budget):
            sigma *= 1.0 + 2.0**-50
    return Gaussian(sigma=sigma, l2_sensitivity=sensitivity, arithmetic=arithmetic)


@lru_cache(maxsize=256)
def _spends(sigma: float, sensitivity: float, budget: ApproxDP) -> bool:
    """Whether the rounded σ is certain to stay within the budget."""
    pair = GaussianPair.of(sigma=sigma, sensitivity=sensitivity)
    return pair.delta(budget.epsilon) <= budget.delta
