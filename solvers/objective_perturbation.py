"""Objective perturbation: minimize the objective plus a random linear term ⟨b, θ⟩."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import (
    Arithmetic,
    InvalidParameter,
    NotSupported,
    check_arithmetic,
    check_between,
    check_draw,
    settle_fields,
)
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.mechanisms.inputs import REAL_ARITHMETIC, outputs_of
from dpverify.neighbors import Relation
from solvers.bounds import Data
from solvers.chunks import Chunks
from solvers.domains import WholeSpace
from solvers.minimize.certificate import EXPONENTIAL_ACCURACY, MinimumCertificate
from solvers.minimize.problem import Problem, Solution
from solvers.privacy.noise import LastNoise, LinearNoise
from solvers.privacy.objective_rules import Charge, ObjectiveRule, Setting
from solvers.privacy.theorems import OBJECTIVE_PERTURBATION_LIMIT as LIMIT
from solvers.privacy.weights import for_weights

Budget: TypeAlias = PureDP | ApproxDP

EXACT_MINIMUM = "the minimum is exact; the certificate bounds how far it is not"

_SOLVER_ERROR = 2.0**-22  # of the noise's effect on the minimum: what solves must reach
_BLOCK = 1 << 22  # scores or Hessian entries held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectivePerturbation:
    """Objective perturbation: the minimum of the objective plus a random linear term ⟨b, θ⟩.

    argmin of Σℓ + penalty + ⟨b, θ⟩, b of density ∝ e^(−‖b‖/τ) or, if δ > 0, normal.

    With arithmetic "grid" the noise b is drawn exactly, and a last small noise, worth `share` of ε,
    hides how far the solver and the grid are from the ideal minimum; the claim counts it all. With
    "real" the claim assumes real arithmetic and exact minima: for simulation only. The last noise
    may take a release out of a domain by as little as it is; projecting it back costs nothing.

    Every dataset within the bounds is solved, for every b, to what the last noise hides, by ball
    arithmetic where floats do not get there: none is refused. [Theorem certified-minimum]

    >>> from solvers import Bounds, Logistic, Ridge
    >>> problem = Problem(
    ...     loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(2.0)
    ... )
    >>> private = ObjectivePerturbation(
    ...     problem=problem, budget=PureDP(epsilon=1.0), relation=Relation.ADD_REMOVE
    ... )
    >>> data = ([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> private.sample(data, size=3, rng=np.random.default_rng(0)).shape
    (3, 2)
    """

    problem: Problem
    budget: Budget
    relation: Relation
    rule: ObjectiveRule = ObjectiveRule.TIGHT
    share: float = 2.0**-10
    arithmetic: Arithmetic = "grid"

    def __post_init__(self) -> None:
        settle_fields(self)
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_arithmetic(self.arithmetic)
        check_between("share", self.share, 2.0**-30, 0.5)
        if not isinstance(self.budget, (PureDP, ApproxDP)):
            raise InvalidParameter(f"budget={self.budget!r} must be PureDP or ApproxDP")
        if not self.problem.ridge > 0.0:
            raise InvalidParameter(
                f"regularizer={self.problem.regularizer!r} must have a ridge for objective "
                "perturbation"
            )
        if not 0.0 < self.budget.epsilon < math.inf:
            raise InvalidParameter(f"epsilon={self.budget.epsilon!r} must be positive and finite")
        if isinstance(self.problem.domain, WholeSpace):
            _noise(self.setting(None), self._first)  # refuse a hopeless budget at birth

    @property
    def _gaussian(self) -> bool:
        return isinstance(self.budget, ApproxDP) and self.budget.delta > 0.0

    @property
    def _first(self) -> Budget:
        """The budget of the noise b: all except the share of the last noise."""
        epsilon = self.budget.epsilon
        if self.arithmetic == "grid":
            epsilon = math.nextafter(epsilon - self.share * epsilon, 0.0)
        if isinstance(self.budget, ApproxDP) and self._gaussian:
            return ApproxDP(epsilon=epsilon, delta=self.budget.delta)
        return PureDP(epsilon=epsilon)

    def setting(self, dimension: int | None) -> Setting:
        """All that the privacy of b depends on; on the whole space, the dimension plays no part."""
        unbounded = isinstance(self.problem.domain, WholeSpace)
        return Setting(
            loss=self.problem.loss,
            bounds=self.problem.bounds,
            ridge=self.problem.ridge,
            relation=self.relation,
            rule=self.rule,
            domain=self.problem.domain,
            dimension=None if unbounded else dimension,
        )

    def noise(self, dimension: int | None = None) -> LinearNoise:
        """The distribution of b."""
        scale = _noise(self.setting(dimension), self._first)
        return LinearNoise(scale=scale, gaussian=self._gaussian)

    def charge(self, dimension: int | None = None) -> Charge:
        """The cost of b alone, and the theorem that gives it."""
        setting, scale = self.setting(dimension), self.noise(dimension).scale
        if self._gaussian:
            return setting.gaussian(scale, self._first.epsilon)
        return setting.pure(scale)

    @property
    def claim(self) -> Claim:
        # Which theorem it is does not depend on the dimension, for domains that have any.
        theorem, accurate = self.setting(self.problem.domain.dimension or 1).grounds(
            gaussian=self._gaussian
        )
        if self.arithmetic == "real":
            assumes = (REAL_ARITHMETIC, EXACT_MINIMUM, *accurate)
        else:
            drawn = LinearNoise(scale=1.0, gaussian=self._gaussian).assumes
            last = LastNoise(error=1.0, ratio=1.0, gaussian=False).assumes
            assumes = (*dict.fromkeys((*drawn, *last)), *accurate, EXPONENTIAL_ACCURACY)
        if not (self.problem.plain and self.problem.loss.twice_differentiable):
            assumes = (*assumes, f"{theorem.name}, in the limit: {LIMIT.name}")
        assumes = (*assumes, *for_weights(self.problem.bounds, theorem))
        return Claim(self.budget, self.relation, theorem, assumes)

    def tolerance(self, dimension: int) -> float:
        """η: how far a point may be from its ideal minimum, with the rounding of b."""
        noise, ridge = self.noise(dimension), self.problem.ridge
        solver = _SOLVER_ERROR * noise.scale / ridge
        return (solver + noise.rounding(dimension) / ridge) * (1.0 + 2.0**-40)

    def solve(self, data: Data, linear: Floats) -> Solution:
        """The minima for given b, each certified to be accurate enough."""
        return self._solve(self.problem.prepared(data), linear)

    def _solve(self, prepared: tuple[Floats, Floats] | Chunks, linear: Floats) -> Solution:
        allowed = _SOLVER_ERROR * self.noise(linear.shape[1]).scale / self.problem.ridge
        return self.problem.minimize_prepared(prepared, linear, within=allowed)

    def certificate(self, data: Data, *, rng: np.random.Generator) -> MinimumCertificate:
        """The certificate of a solve on this dataset, with a fresh b that is then discarded."""
        d = self.problem.size(self.problem.prepare(data)[0])
        return self.solve(data, self.noise(d).draw_real(1, d, rng)).certificate

    def sample(self, data: Data, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent private fits: an array (size, d)."""
        check_draw(size, rng)
        prepared = self.problem.prepared(data)
        d = self.problem.parameters(prepared)
        noise = self.noise(d)
        if self.arithmetic == "real":
            return self._solve(prepared, noise.draw_real(size, d, rng)).points
        points = self._solve(prepared, noise.draw(size, d, rng)).points
        return self.last_noise(d).release(points, rng)

    def last_noise(self, dimension: int) -> LastNoise:
        """The noise that covers all deviations from the ideal mechanism: `share`·ε-DP."""
        epsilon = self.share * self.budget.epsilon
        return LastNoise(
            error=self.tolerance(dimension),
            ratio=math.nextafter(1.0 / epsilon, math.inf),
            gaussian=False,
        )

    def log_density(self, outputs: ArrayLike, data: Data) -> Floats:
        """The log density of the ideal minimum at each output: that of b, times |det ∇²J|.

        On the grid the last noise is left out: the density then ranks outputs, and is not their
        exact probability. In each coordinate its standard deviation, over that of b/λ, is at the
        default share and ε = 1 0.0005 to 0.0006 for pure budgets in up to 100 dimensions; where b
        is normal 0.0007 for d = 1, 0.0016 for d = 10 and 0.005 for d = 100. It grows like 1/ε.
        """
        problem = self.problem
        if not problem.plain:
            raise NotSupported(
                "minima on a domain or with an ℓ1 norm have no density: some points have mass"
            )
        features, labels = problem.prepare(data)
        d = problem.size(features)
        points = outputs_of(outputs, (d,)).astype(np.float64)
        objective, noise = problem.objective(features, labels), self.noise(d)
        logs = np.empty(len(points))
        rows = max(1, _BLOCK // max(len(features) * objective.width, d * d))
        for first in range(0, len(points), rows):
            part = slice(first, first + rows)
            determinants = np.linalg.slogdet(objective.hessians(points[part]))[1]
            logs[part] = noise.log_density(objective.noise_at(points[part])) + determinants
        return logs


@lru_cache(maxsize=1024)
def _noise(setting: Setting, budget: Budget) -> float:
    """The least noise of a setting for a budget; found by search and cached."""
    if isinstance(budget, ApproxDP):
        return setting.gaussian_noise(budget)
    return setting.pure_noise(budget)
