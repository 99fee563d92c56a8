"""One problem, one solve, one certificate.

A `Problem` is a loss under declared bounds, a regularizer and a domain. `minimize` finds the
minimum for one dataset and many linear parts, by the method that suits the problem, and returns
it with a certificate that was computed for these very solves.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.errors import InvalidParameter, NotSupported, check_member
from solvers import newton
from solvers.bounds import Bounds, Data, Floats
from solvers.certificate import Certificate, NotSolved, gradient_bounds
from solvers.conic import ConicProblem
from solvers.domains import Domain, WholeSpace
from solvers.losses.base import Loss
from solvers.losses.softmax import Softmax
from solvers.multiclass import MulticlassObjective
from solvers.objective import Objective
from solvers.proximal import minimize_on
from solvers.regularizers import Regularizer
from solvers.theorems import CONSTRAINED_MINIMUM, PERTURBED_MINIMUM

Solver: TypeAlias = Literal["auto", "conic"]


@dataclass(frozen=True, slots=True)
class Solution:
    """Minima (B, d), a bound on each one's distance from the exact one, and the certificate."""

    points: Floats
    distances: Floats
    certificate: Certificate

    def within(self, distance: float) -> "Solution":
        """Itself, if every point is certified to be that near its exact minimum; or refuse."""
        if not self.certificate.distance <= distance:
            raise NotSolved(
                f"the solver is within {self.certificate.distance:.3g} of the minimum, and must be "
                f"within {distance:.3g} for the claim; nothing was released"
            )
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Minimize Σℓ(θ; xᵢ, yᵢ) + penalty(θ) over θ in the domain.

    >>> from solvers.losses import Logistic
    >>> from solvers.regularizers import Ridge
    >>> problem = Problem(
    ...     loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(1.0)
    ... )
    >>> solution = problem.minimize(([[1.0], [0.5]], [1, -1]))
    >>> solution.points.round(4).tolist(), solution.certificate.distance < 1e-9
    ([[0.1906]], True)
    """

    loss: Loss
    bounds: Bounds
    regularizer: Regularizer
    domain: Domain = field(default_factory=WholeSpace)

    def __post_init__(self) -> None:
        self.loss.check_bounds(self.bounds)

    @property
    def plain(self) -> bool:
        """Whether the domain is the whole space and the penalty a ridge alone."""
        return isinstance(self.domain, WholeSpace) and not self.regularizer.lasso

    @property
    def ridge(self) -> float:
        """λ, the strong convexity of the sum."""
        return self.regularizer.ridge

    def lipschitz(self, dimension: int | None = None) -> float:
        """L, for one record, on the domain."""
        return self.loss.lipschitz(self.bounds, self.domain, dimension)

    def prepare(self, data: Data, *, clip: bool = False) -> tuple[Floats, Floats]:
        """Features and labels as floats that obey the bounds; or refuse."""
        if not isinstance(data, tuple) or len(data) != 2:
            raise InvalidParameter(
                f"data={type(data).__name__} must be a pair: features (n, d) and labels (n)"
            )
        features, labels = self.bounds.prepare(*data, clip=clip)
        self.domain.check_dimension(features.shape[1])
        return features, labels

    def size(self, features: Floats) -> int:
        """The number of parameters: one a feature, or one a feature and class."""
        d = int(features.shape[1])
        return d * self.loss.classes if isinstance(self.loss, Softmax) else d

    def risk(self, points: ArrayLike, data: Data) -> Floats:
        """Σℓ + penalty at each of the points (B, d)."""
        features, labels = self.prepare(data)
        thetas = np.atleast_2d(np.asarray(points, np.float64))
        if isinstance(self.loss, Softmax):
            scores = np.matmul(features, thetas.reshape(len(thetas), -1, self.loss.classes))
        else:
            scores = thetas @ features.T
        risks: Floats = self.loss.values(scores, labels).sum(axis=1)
        return risks + self.regularizer.values(thetas)

    def minimize(
        self, data: Data, linear: ArrayLike | None = None, *, solver: Solver = "auto"
    ) -> Solution:
        """The minimum for each row b of `linear` (B, d) added as ⟨b, θ⟩; for b = 0 if None.

        Newton's method where J is smooth and free, proximal Newton steps on domains and with an
        ℓ1 norm, cvxpy for losses with corners, or everywhere on request: polished all the same.
        """
        check_member("solver", solver, ("auto", "conic"))
        features, labels = self.prepare(data)
        if not self.ridge > 0.0:
            raise InvalidParameter(
                f"regularizer={self.regularizer!r} must have a ridge: without strong convexity "
                "the minimum need not be unique, and one record can move it any distance"
            )
        parts = np.zeros((1, self.size(features))) if linear is None else _parts(linear)
        if parts.shape[1] != self.size(features):
            raise InvalidParameter(
                f"linear of shape {parts.shape} must have {self.size(features)} columns"
            )
        if not self.loss.smooth:
            return self._by_gap(features, labels, parts)
        objective = self.objective(features, labels)
        if isinstance(self.loss, Softmax):
            if not self.plain:
                raise NotSupported("the softmax loss is minimized on the whole space, with a ridge")
            return self._newton(objective, parts)
        start = None
        if solver == "conic":
            conic = ConicProblem(self.loss, (features, labels), self.regularizer, self.domain)
            start = np.array([conic.solve(b)[0] for b in parts])
        return self._smooth(objective, parts, start)

    def objective(self, features: Floats, labels: Floats) -> Objective:
        """The smooth part of J for one prepared dataset."""
        made = MulticlassObjective if isinstance(self.loss, Softmax) else Objective
        return made(self.loss, features, labels, self.ridge)

    def _smooth(self, objective: Objective, parts: Floats, start: Floats | None) -> Solution:
        if self.plain:
            return self._newton(objective, parts, start)
        if start is None:
            start = newton.minimize(objective, np.zeros((1, parts.shape[1])))
        points, distances = minimize_on(
            objective, parts, lasso=self.regularizer.lasso, domain=self.domain, start=start
        )
        return _solution(points, distances, None)

    def _newton(self, objective: Objective, parts: Floats, start: Floats | None = None) -> Solution:
        points = newton.minimize(objective, parts, start=start)
        gradients = gradient_bounds(objective, points, parts)
        return _solution(points, gradients / self.ridge * (1.0 + 2.0**-50), gradients)

    def _by_gap(self, features: Floats, labels: Floats, parts: Floats) -> Solution:
        conic = ConicProblem(self.loss, (features, labels), self.regularizer, self.domain)
        found = [conic.gap_solution(b) for b in parts]
        points, distances = zip(*found, strict=True)
        return _solution(np.array(points), np.array(distances), None)


def _parts(linear: ArrayLike) -> Floats:
    parts = np.atleast_2d(np.asarray(linear, np.float64))
    if not np.isfinite(parts).all():
        raise InvalidParameter("linear must be finite")
    return parts


def _solution(points: Floats, distances: Floats, gradients: Floats | None) -> Solution:
    certificate = Certificate(
        distance=float(distances.max()),
        gradient=None if gradients is None else float(gradients.max()),
        theorem=CONSTRAINED_MINIMUM if gradients is None else PERTURBED_MINIMUM,
        solves=len(points),
    )
    return Solution(points, distances, certificate)
