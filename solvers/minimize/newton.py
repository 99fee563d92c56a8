"""Newton's method on thousands of objectives at once that differ only in their linear part.

J is strongly convex, so a Newton direction always descends. A full step is taken if it shortens
the gradient to nine tenths of the shortest so far, which can happen only finitely often before
the tolerance is reached; otherwise the step is halved until J falls by a share of what its slope
promises, as it must for a short enough step. So every start converges; near the minimum all steps
are full and the gradient's length is squared each time.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from dpverify.arrays import Floats
from solvers.minimize.newton_large import minimize_large
from solvers.minimize.objective import PRODUCTS, Objective, Squares

TOLERANCE = 1e-10  # of ‖∇J‖; far above rounding for records of norm one, far below any noise
_SHORTER = 0.9
_ARMIJO = 1e-4
_ITERATIONS = 2000  # a few dozen suffice but for the steepest corners
_HALVINGS = 60
_ROUNDING = 2.0**-50  # of J: what floats lose of it
_SAMPLE, _SHARE = 32, 4  # records a parameter from which a share of them gives the start
_ROUGH = 1e-6  # of its gradients
_TINY = float(np.finfo(np.float64).tiny)
_WIDE = 300  # parameters of softmax losses beyond which gradients come first
_BLOCK = 1 << 16  # scores a pass, so that temporaries stay in cache


def minimize(
    objective: Objective,
    linear: Floats,
    *,
    start: Floats | None = None,
    tolerance: float = TOLERANCE,
    iterations: int | None = None,
) -> Floats:
    """For each row b of `linear` (B, d), the minimum θ of J: (B, d), with ‖∇J(θ)‖ ≤ tolerance.

    Where rounding allows no shorter gradient the iteration stops earlier; what was reached is for
    `certificate.gradient_bounds` to say. Memory is bounded whatever B is.

    >>> from solvers.losses import Squared
    >>> J = Objective(Squared(), np.ones((3, 1)), np.array([0.0, 1.0, 5.0]), ridge=2.0)
    >>> minimize(J, np.array([[0.0], [8.0]]))  # 2·Σ(θ − y) + 2θ + b = 0
    array([[1.5],
           [0.5]])
    """
    n, d = objective.features.shape
    if objective.width == 1 and n * d * (d + 1) // 2 > PRODUCTS:
        begins = [None] * len(linear) if start is None else np.broadcast_to(start, linear.shape)
        minima = [
            minimize_large(objective, b, tolerance=tolerance, start=begin)
            for b, begin in zip(linear, begins, strict=True)
        ]
        return np.array(minima).reshape(linear.shape)
    if start is None and objective.width > 1 and objective.dimension > _WIDE:
        start = np.array([_followed(objective, b, tolerance) for b in linear])
        if (np.linalg.norm(objective.gradients(start, linear), axis=1) <= tolerance).all():
            return start
    if start is None and objective.width > 1 and n > _SAMPLE * objective.dimension:
        start = _of_a_share(objective, linear, n // (_SAMPLE // _SHARE * objective.dimension))
    squares = objective.squares()
    if start is None:
        origin = np.zeros((1, objective.dimension))
        start = _Batch(objective, squares, np.zeros_like(origin), origin).run(tolerance, iterations)
    points = np.empty_like(linear)
    rows = max(1, _BLOCK // max(1, n * objective.width))
    for first in range(0, len(linear), rows):
        part = linear[first : first + rows]
        begin = np.broadcast_to(start, linear.shape)[first : first + rows].copy()
        points[first : first + rows] = _Batch(objective, squares, part, begin).run(
            tolerance, iterations
        )
    return points


def _of_a_share(objective: Objective, linear: Floats, share: int) -> Floats:
    """Starting points: minima over a sample of the records, scaled up, within sampling error."""
    part = replace(
        objective,
        features=objective.features[::share],
        labels=objective.labels[::share],
        ridge=max(objective.ridge / share, _TINY),
    )
    size = np.linalg.norm(linear, axis=1).max() / share
    rough = _ROUGH * max(size, float(len(part.features)))
    return minimize(part, linear / share, tolerance=rough)


def _followed(objective: Objective, b: Floats, tolerance: float) -> Floats:
    """Gradient steps only, while they make progress: with many classes the Hessian is large."""
    linear = b[None]

    def derivatives(point: Floats) -> tuple[float, Floats]:
        points = point[None]
        return float(objective.values(points, linear)[0]), objective.gradients(points, linear)[0]

    found = optimize.minimize(
        derivatives,
        np.zeros(len(b)),
        jac=True,
        method="L-BFGS-B",
        options={"gtol": tolerance / math.sqrt(len(b)), "ftol": 0.0, "maxcor": 30, "maxiter": 2000},
    )
    end: Floats = found.x
    return end


@dataclass(slots=True, eq=False)
class _State:
    """The current points, and the derivatives there."""

    points: Floats
    gradients: Floats
    curvatures: Floats
    norms: Floats

    def taken(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "_State":
        return _State(
            self.points[chosen],
            self.gradients[chosen],
            self.curvatures[chosen],
            self.norms[chosen],
        )

    def put(self, chosen: NDArray[np.int64], other: "_State") -> None:
        self.points[chosen], self.gradients[chosen] = other.points, other.gradients
        self.curvatures[chosen], self.norms[chosen] = other.curvatures, other.norms


class _Batch:
    """One block of rows, and which of them are not yet finished."""

    def __init__(
        self, objective: Objective, squares: Squares, linear: Floats, points: Floats
    ) -> None:
        self.objective = objective
        self.squares = squares
        self.linear = linear
        self.points = points

    def run(self, tolerance: float, iterations: int | None) -> Floats:
        """The minima of all rows."""
        rows = np.arange(len(self.points))
        state = self._at(self.points, self.linear)
        shortest = state.norms.copy()
        for _ in range(iterations or _ITERATIONS):
            ready = state.norms <= tolerance
            if ready.any():
                self.points[rows[ready]] = state.points[ready]
                rows, state = rows[~ready], state.taken(~ready)
                shortest = shortest[~ready]
            if len(rows) == 0:
                return self.points
            state, moved = self._step(state, self.linear[rows], shortest)
            shortest = np.minimum(shortest, state.norms)
            if not moved.all():  # no step shortens the gradient or lowers J: rounding is reached
                self.points[rows[~moved]] = state.points[~moved]
                rows, state, shortest = rows[moved], state.taken(moved), shortest[moved]
        self.points[rows] = state.points
        return self.points

    def _at(self, points: Floats, linear: Floats) -> _State:
        objective = self.objective
        slopes, curvatures = objective.loss.derivatives(objective.scores(points), objective.labels)
        gradients = objective.total(slopes, points, linear)
        return _State(points, gradients, curvatures, np.sqrt((gradients**2).sum(axis=1)))

    def _step(
        self, state: _State, linear: Floats, shortest: Floats
    ) -> tuple[_State, NDArray[np.bool_]]:
        """One damped Newton step for every row, and which rows it moved."""
        hessians = self.squares.hessians(state.curvatures, self.objective.ridge)
        directions = -solved(hessians, state.gradients)
        trial = self._at(state.points + directions, linear)
        good = trial.norms <= _SHORTER * shortest
        if good.all():
            return trial, good
        return trial, self._searched(trial, state, linear, directions, good)

    def _searched(
        self,
        trial: _State,
        state: _State,
        linear: Floats,
        directions: Floats,
        good: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Shorten the steps that are not `good`; return which rows moved."""
        moved = good.copy()
        waiting = np.flatnonzero(~good)
        falls = np.einsum("ij,ij->i", state.gradients, directions)
        before = self.objective.values(state.points[waiting], linear[waiting])
        # A fall that rounding of J hides cannot be seen: what seems to be one is chance.
        seen = -falls[waiting] > _ROUNDING * np.abs(before)
        trial.put(waiting[~seen], state.taken(waiting[~seen]))
        waiting, before = waiting[seen], before[seen]
        length = 1.0
        for _ in range(_HALVINGS):
            points = state.points[waiting] + length * directions[waiting]
            after = self.objective.values(points, linear[waiting])
            enough = after <= before + _ARMIJO * length * falls[waiting]
            accepted = waiting[enough]
            trial.put(accepted, self._at(points[enough], linear[accepted]))
            moved[accepted] = True
            waiting, before = waiting[~enough], before[~enough]
            if len(waiting) == 0:
                return moved
            length /= 2.0
        trial.put(waiting, state.taken(waiting))
        return moved


def solved(hessians: Floats, gradients: Floats) -> Floats:
    """H⁻¹·g for each row; a Hessian that is singular in floats gets a larger diagonal.

    Any positive definite matrix gives a direction in which J falls, so this costs speed at most.
    """
    size = gradients.shape[1]
    for share in (0.0, *(2.0**-k for k in range(50, 0, -7)), 1.0):
        traces = np.trace(hessians, axis1=1, axis2=2)
        firm = hessians + (share * traces)[:, None, None] * np.eye(size)
        try:
            found = np.linalg.solve(firm, gradients[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(found).all():
            return np.asarray(found, np.float64)
    return np.zeros_like(gradients)
