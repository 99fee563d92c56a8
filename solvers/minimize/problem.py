"""Regularized empirical risk minimization: the problem, and its certified solution.

A `Problem` is a loss under declared bounds, a regularizer and a domain. `minimize` finds the
minimum for one dataset and many linear parts, by the method that suits the problem, and returns
it with a certificate that was computed for these very solves.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import float_above
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_member,
    check_positive,
    settle_fields,
)
from solvers.bounds import Bounds, Data, Obeying, prepared_chunks
from solvers.chunks import Block, Chunks
from solvers.domains import Domain, Simplex, WholeSpace
from solvers.losses.base import Loss
from solvers.losses.softmax import classes_of
from solvers.minimize import newton
from solvers.minimize.certificate import MinimumCertificate, NotSolved, gradient_bounds
from solvers.minimize.compensated import minimize_compensated
from solvers.minimize.conic import ConicProblem
from solvers.minimize.corners import minimize_corners
from solvers.minimize.newton_chunked import ChunkedObjective
from solvers.minimize.objective import Objective, objective_of
from solvers.minimize.precise import LossTerm, PreciseSum, follow_precisely, norm
from solvers.minimize.precise_corners import minimize_corners_precisely
from solvers.minimize.proximal import minimize_on
from solvers.minimize.regularizers import Regularizer
from solvers.privacy.theorems import CONSTRAINED_MINIMUM, PERTURBED_MINIMUM

Solver: TypeAlias = Literal["auto", "conic"]

_RESOLVED = 2.0**50  # times the distance asked for: what floats resolve to a quarter of it
_LARGEST = 2.0**1000  # of a coordinate in units of the norm: floats hold it
_FLAT = 2.0**-30  # of the curvature: a ridge below is raised to it for plain floats
_CORNER_AIM = 1e-6  # over the ridge: how near corner losses are solved if nothing is asked for


@dataclass(frozen=True, slots=True)
class Solution:
    """Minima (B, d), bounds on their distances from the exact ones, and the certificate."""

    points: Floats
    distances: Floats
    certificate: MinimumCertificate
    gradients: Floats | None = None

    def within(self, distance: float) -> "Solution":
        """Return the solution if every point is certified to be this near its minimum; else raise.

        How near it is depends on the data and is not said; `Problem.minimize` with `within` never
        gets here.
        """
        if not self.certificate.distance <= distance:
            raise NotSolved(
                f"the solver must be within {distance:.3g} of the minimum, and is not; nothing was "
                "released"
            )
        return self

    def in_units(self, unit: float) -> "Solution":
        """The same solution for θ/unit, with unit a power of two."""
        gradients = None if self.gradients is None else self.gradients * unit
        return _solution(self.points / unit, self.distances / unit, gradients)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Minimize Σℓ(θ; xᵢ, yᵢ) + penalty(θ) over θ in the domain.

    >>> from solvers.losses import Logistic
    >>> from solvers.minimize.regularizers import Ridge
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
        settle_fields(self)
        self.loss.check_bounds(self.bounds)

    @property
    def plain(self) -> bool:
        """Whether the domain is the whole space and the penalty only a ridge."""
        return isinstance(self.domain, WholeSpace) and not self.regularizer.lasso

    @property
    def ridge(self) -> float:
        """λ, the strong convexity of the sum."""
        return self.regularizer.ridge

    def lipschitz(self, dimension: int | None = None) -> float:
        """L: a bound on one record's gradient norm, on the domain."""
        return self.loss.lipschitz(self.bounds, self.domain, dimension)

    def prepare(self, data: Data, *, clip: bool = False) -> tuple[Floats, Floats]:
        """Features and labels as floats that obey the bounds; raise if they do not."""
        if isinstance(data, Chunks):
            raise NotSupported("data in chunks must be gathered() for this")
        if not isinstance(data, tuple) or len(data) != 2:
            raise InvalidParameter(
                f"data={type(data).__name__} must be a pair: features (n, d) and labels (n)"
            )
        if isinstance(data, Obeying) and data.bounds == self.bounds:
            features, labels = data
        else:
            features, labels = self.bounds.prepare(*data, clip=clip)
        self.domain.check_dimension(features.shape[1])
        return features, labels

    def prepared(self, data: Data) -> tuple[Floats, Floats] | Chunks:
        """As `prepare`; data in chunks become chunks that obey the bounds."""
        if not isinstance(data, Chunks):
            return self.prepare(data)
        if not self.plain or not self.loss.smooth:
            raise NotSupported(
                f"loss={self.loss.name!r} and domain={self.domain.name!r} must be smooth and the "
                "whole space for data in chunks and sparse rows; gradient methods take any"
            )
        found = prepared_chunks(data, self.bounds, clip=False)
        self.domain.check_dimension(found.shape[1])
        return found

    def parameters(self, data: tuple[Floats, Floats] | Chunks) -> int:
        """The number of parameters for data that were prepared."""
        return self.size(data if isinstance(data, Chunks) else data[0])

    def size(self, features: Floats | Chunks) -> int:
        """The number of parameters: one per feature, or one per feature and class."""
        return int(features.shape[1]) * classes_of(self.loss)

    def risk(self, points: ArrayLike, data: Data) -> Floats:
        """Σℓ + penalty at each of the points (B, d)."""
        features, labels = self.prepare(data)
        thetas = np.atleast_2d(np.asarray(points, np.float64))
        if classes_of(self.loss) > 1:
            matrices = thetas.reshape(len(thetas), features.shape[1], -1)
            scores = np.matmul(features, matrices)
        else:
            scores = thetas @ features.T
        risks: Floats = self.loss.values(scores, labels).sum(axis=1)
        return risks + self.regularizer.values(thetas)

    def minimize(
        self,
        data: Data,
        linear: ArrayLike | None = None,
        *,
        solver: Solver = "auto",
        within: float | None = None,
    ) -> Solution:
        """The minimum for each row b of `linear` (B, d) added as ⟨b, θ⟩; for b = 0 if None.

        Newton's method where J is smooth and free, and with corners rounded off; proximal Newton
        steps on domains and with an ℓ1 norm; cvxpy for corners there, or everywhere on request:
        polished all the same. All work in units of the declared norm.

        With `within` every point is certified to be that near its exact minimum, for every
        dataset that obeys the bounds: floats are asked to go no further, then floats of twice the
        digits, and what these cannot settle is solved in ball arithmetic, whose search always
        ends. Coordinates beyond ±2^50·within/√d, which floats do not resolve so finely, are cut
        there, or at ±2^1000 over the norm's unit if that is less; as are those of the minimum that
        `within` is about. [Theorem certified-minimum]
        """
        return self.minimize_prepared(self.prepared(data), linear, solver=solver, within=within)

    def minimize_prepared(
        self,
        prepared: tuple[Floats, Floats] | Chunks,
        linear: ArrayLike | None = None,
        *,
        solver: Solver = "auto",
        within: float | None = None,
    ) -> Solution:
        """As `minimize`, for data that come from `prepared`."""
        check_member("solver", solver, ("auto", "conic"))
        if within is not None:
            check_positive("within", within)
            if not self.domain.exact:
                raise NotSupported(
                    f"domain={self.domain.name!r} must be known to ball arithmetic for minima that "
                    "are certified; gradient methods take any domain"
                )
        if not self.ridge > 0.0:
            raise InvalidParameter(
                f"regularizer={self.regularizer!r} must have a ridge: without strong convexity "
                "the minimum need not be unique, and one record can move it any distance"
            )
        if classes_of(self.loss) > 1 and not self.plain:
            raise NotSupported("the softmax loss is minimized on the whole space, with a ridge")
        size = self.parameters(prepared)
        parts = np.zeros((1, size)) if linear is None else _parts(linear)
        if parts.shape[1] != size:
            raise InvalidParameter(f"linear of shape {parts.shape} must have {size} columns")
        unit = self._unit
        aim = None if within is None else float(within) * unit
        scaled: tuple[Floats, Floats] | Chunks
        if isinstance(prepared, Chunks):
            scaled = prepared.map(_InUnits(unit))
        else:
            scaled = prepared[0] if unit == 1.0 else prepared[0] / unit, prepared[1]
        solved = self.in_units(unit).solve(scaled, parts / unit, solver, aim)
        return solved.in_units(unit)

    def objective(self, features: Floats, labels: Floats) -> Objective:
        """The smooth part of J for one prepared dataset."""
        return objective_of(self.loss, features, labels, self.ridge)

    @property
    def _unit(self) -> float:
        """The power of two below the norm bound, as scaling by it is exact; 1 on a simplex."""
        if isinstance(self.domain, Simplex):
            return 1.0
        return math.ldexp(1.0, math.frexp(float(self.bounds.norm))[1] - 1)

    def in_units(self, unit: float) -> "Problem":
        """The problem for x/unit and θ·unit, which has the same scores and losses."""
        return replace(
            self,
            bounds=replace(self.bounds, norm=float(self.bounds.norm) / unit),
            regularizer=self.regularizer.scaled(unit),
            domain=self.domain.scaled(unit) if unit != 1.0 else self.domain,
        )

    def solve(
        self,
        data: tuple[Floats, Floats] | Chunks,
        parts: Floats,
        solver: Solver,
        aim: float | None,
    ) -> Solution:
        """Solve in floats; where that is not certified to be within `aim`, solve precisely.

        What floats cannot settle of data in chunks is read into memory.
        """
        with np.errstate(all="ignore"):  # what is not finite is not certified
            solution = self._floats(data, parts, solver, aim)
        if aim is None:
            return solution
        limit = min(_RESOLVED * aim / math.sqrt(parts.shape[1]), _LARGEST)
        points, distances = np.clip(solution.points, -limit, limit), solution.distances.copy()
        left = np.flatnonzero(~(distances <= aim))
        for row in left:
            whole = data.gathered() if isinstance(data, Chunks) else data
            start = points[row]
            if self.plain and self.loss.smooth:
                objective = self.objective(*whole)
                with np.errstate(all="ignore"):
                    found = minimize_compensated(objective, parts[row], start, distance=aim)
                points[row], distances[row] = np.clip(found[0], -limit, limit), found[1]
            if not distances[row] <= aim:
                points[row], distances[row] = self._precise(whole, parts[row], start, aim, limit)
        return _solution(points, distances, None if len(left) else solution.gradients)

    def _floats(
        self,
        data: tuple[Floats, Floats] | Chunks,
        parts: Floats,
        solver: Solver,
        aim: float | None,
    ) -> Solution:
        if isinstance(data, Chunks):
            return self._passes(ChunkedObjective(self.loss, data, self.ridge), parts, aim)
        if self.loss.smooth:
            start = None
            if solver == "conic" and classes_of(self.loss) == 1:
                conic = ConicProblem(self.loss, data, self.regularizer, self.domain)
                start = np.array([conic.solve(b)[0] for b in parts])
            return self._smooth(self.objective(*data), parts, start, aim)
        if self.plain and solver == "auto":
            nearest = _CORNER_AIM / self.ridge if aim is None else aim
            found = minimize_corners(self.loss, data, self.ridge, parts, aim=nearest)
            return _solution(*found, None)
        return self._by_gap(data, parts, refuse=aim is None)

    def _smooth(
        self, objective: Objective, parts: Floats, start: Floats | None, aim: float | None
    ) -> Solution:
        tolerance = newton.TOLERANCE if aim is None else self.ridge * aim / 8.0
        if self.plain:
            ridge = self.ridge if aim is None else self._firm(len(objective.features))
            firm = objective if ridge == self.ridge else replace(objective, ridge=ridge)
            points = newton.minimize(firm, parts, start=start, tolerance=tolerance)
            gradients = gradient_bounds(objective, points, parts)
            return _solution(points, gradients / self.ridge * (1.0 + 2.0**-50), gradients)
        if start is None:
            start = newton.minimize(objective, np.zeros((1, parts.shape[1])), tolerance=tolerance)
        points, distances = minimize_on(
            objective, parts, lasso=self.regularizer.lasso, domain=self.domain, start=start
        )
        return _solution(points, distances, None)

    def _firm(self, records: int) -> float:
        """λ, or the least ridge that floats can tell beside the losses' curvature: else they creep.

        The minimum for that is where more exact arithmetic begins.
        """
        least = _FLAT * self.loss.sharpness * float(self.bounds.norm) ** 2 * records
        return max(self.ridge, least) if math.isfinite(least) else self.ridge

    def _passes(self, objective: ChunkedObjective, parts: Floats, aim: float | None) -> Solution:
        """Solve by passes over chunked data, one linear part after the other."""
        tolerance = newton.TOLERANCE if aim is None else self.ridge * aim / 8.0
        ridge = self.ridge if aim is None else self._firm(len(objective.chunks))
        firm = objective if ridge == self.ridge else replace(objective, ridge=ridge)
        points = np.array([firm.minimize(b, tolerance=tolerance) for b in parts])
        bounds = np.array(
            [objective.gradient_bound(x, b) for x, b in zip(points, parts, strict=True)]
        )
        return _solution(points, bounds / self.ridge * (1.0 + 2.0**-50), bounds)

    def _by_gap(self, data: tuple[Floats, Floats], parts: Floats, *, refuse: bool) -> Solution:
        conic = ConicProblem(self.loss, data, self.regularizer, self.domain)
        points, distances = np.zeros_like(parts), np.full(len(parts), np.inf)
        for row, b in enumerate(parts):
            try:
                points[row], distances[row] = conic.gap_solution(b)
            except NotSolved:
                if refuse:
                    raise
        return _solution(points, distances, None)

    def _precise(
        self, data: tuple[Floats, Floats], b: Floats, start: Floats, aim: float, limit: float
    ) -> tuple[Floats, float]:
        """A float point within `aim` of the minimum (both clipped to ±limit), and its distance."""
        if self.plain and self.loss.smooth:
            sums = PreciseSum([LossTerm(self.loss, *data)], self.ridge, b.tolist())
            found, bound = follow_precisely(sums, start.tolist(), distance=aim)
        else:
            found, bound = minimize_corners_precisely(
                self, data, b, start=np.nan_to_num(start), distance=0.5 * aim
            )
        cut = [x.max(arb(-limit)).min(arb(limit)) for x in found]
        point = np.array([float(x.mid()) for x in cut])
        off = norm([x - arb(float(y)) for x, y in zip(cut, point, strict=True)])
        return point, float_above(arb(bound) + off)


@dataclass(frozen=True, slots=True)
class _InUnits:
    """Divides features by a power of two."""

    unit: float

    def __call__(self, block: Block) -> Block:
        return block[0] / self.unit, block[1]


def _parts(linear: ArrayLike) -> Floats:
    parts = np.atleast_2d(np.asarray(linear, np.float64))
    if not np.isfinite(parts).all():
        raise InvalidParameter("linear must be finite")
    return parts


def _solution(points: Floats, distances: Floats, gradients: Floats | None) -> Solution:
    distances = np.where(np.isnan(distances), np.inf, distances)  # 0·∞: nothing is certified
    if gradients is not None:
        gradients = np.where(np.isnan(gradients), np.inf, gradients)
    certificate = MinimumCertificate(
        distance=float(distances.max()),
        gradient=None if gradients is None else float(gradients.max()),
        theorem=CONSTRAINED_MINIMUM if gradients is None else PERTURBED_MINIMUM,
        solves=len(points),
    )
    return Solution(points, distances, certificate, gradients)
