"""Newton's method on one objective with many records, in passes over blocks of the data.

No copy of the data is made: a pass sums over blocks of records that fit in cache. The start is
the minimum over every k-th record, scaled up by k, which is within sampling error of the answer.
There the Hessian is formed once and kept, and every step, one pass for a gradient, corrects it by
what was seen of it on the way (L-BFGS). A Hessian that no longer helps is formed anew, and a step
that does not shorten the gradient is halved until J falls.

With many features no Hessian is formed. The first steps take it for a multiple of the identity,
wherever no step has gone yet: as much of the gradient as the steps so far can cancel is cancelled
by them together, which is soon all of it where there are few distinct curvatures, as for more
features than records. When that no longer helps, the Newton equation is solved by conjugate
gradients, whose steps are passes too.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dpverify.arrays import Floats
from solvers.minimize.objective import Objective

_BLOCK = 1 << 17  # numbers in a block of records
_SAMPLE = 80  # records for each feature in the problem that gives the start
_LEAST_SAMPLE = 8000
_DENSE = 600  # features beyond which Hessians are not formed
_LOOKED_AT = 64  # records whose lengths give the first step its own
_LEAST_ROWS = 64  # in a block: calls for fewer take longer than their sums
_REMEMBERED = 30  # steps that are looked back at with many features
_FAILURES = 4  # steps that do not help before a Hessian is asked for
_PASSES = 500
_HALVINGS = 60
_ARMIJO = 1e-4
_SHORTER = 0.9
_ROUNDING = 1e-14  # a share of the sum of n slopes that its rounding exceeds anyway


def minimize_large(
    objective: Objective,
    linear: Floats,
    *,
    tolerance: float = 1e-10,
    start: Floats | None = None,
) -> Floats:
    """The minimum of one J: (d). As in `newton.minimize`, rounding may stop it early.

    >>> from solvers.losses import Squared
    >>> J = Objective(Squared(), np.ones((3, 1)), np.array([0.0, 1.0, 5.0]), ridge=2.0)
    >>> minimize_large(J, np.array([8.0]))
    array([0.5])
    """
    tolerance = max(tolerance, _ROUNDING * len(objective.features))
    model: _Corrected | None = None
    if len(linear) > _DENSE:
        curvature = _first_curvature(objective)
        model = _Multiple(curvature)
        start = -linear / curvature if start is None else start
    point = _start(objective, linear) if start is None else start
    gradient = _gradient(objective, point, linear)
    shortest = _length(gradient)
    for _ in range(_PASSES):
        if _length(gradient) <= tolerance:
            break
        fresh = model is None
        model = model or _Model(objective, point)
        direction = model.direction(gradient)
        there = point + direction
        slope = _gradient(objective, there, linear)
        if _length(slope) > (_SHORTER if fresh else model.keep) * shortest:
            if not fresh:
                model = model.after_failing(there - point, slope - gradient)
                continue
            model = None
            length = _descent(objective, point, direction, linear, float(gradient @ direction))
            if length == 0.0:  # J cannot be made smaller in floats: rounding is reached
                break
            there = point + length * direction
            slope = _gradient(objective, there, linear)
        if model is not None:
            model.learn(there - point, slope - gradient)
        point, gradient = there, slope
        shortest = min(shortest, _length(gradient))
    return point


def _start(objective: Objective, linear: Floats) -> Floats:
    n, d = objective.features.shape
    every = n // max(_LEAST_SAMPLE, _SAMPLE * d)
    if every < 4:
        return np.zeros(d)
    sample = Objective(
        objective.loss,
        np.ascontiguousarray(objective.features[::every]),
        objective.labels[::every],
        objective.ridge / every,
    )
    return minimize_large(sample, linear / every, tolerance=1e-3 * float(np.sqrt(n / every)))


class _Corrected(ABC):
    """A Hessian, corrected by how the gradient changed along earlier steps (L-BFGS).

    It is kept as long as a step shortens the gradient to a share `keep` of the shortest so far.
    """

    keep: float

    def __init__(self) -> None:
        self._seen: list[tuple[Floats, Floats, float]] = []

    def learn(self, step: Floats, change: Floats) -> None:
        """Store how the gradient changed along a step."""
        product = float(step @ change)
        if product > 0.0:
            self._seen.append((step, change, 1.0 / product))

    def after_failing(self, step: Floats, change: Floats) -> "_Corrected | None":  # noqa: ARG002
        """The model to try after a rejected step; None to compute a new Hessian."""
        return None

    @abstractmethod
    def direction(self, gradient: Floats) -> Floats:
        """About −H⁻¹·gradient."""


class _Multiple(_Corrected):
    """A multiple of the identity, but along the steps so far: there the gradient is cancelled."""

    keep = _SHORTER  # its steps are cheap

    def __init__(self, curvature: float) -> None:
        super().__init__()
        self._curvature = curvature
        self._failures = 0

    def direction(self, gradient: Floats) -> Floats:
        """Least squares of what steps change. [Fang, Saad, Numer. Linear Algebra Appl. 16, 2009]"""
        if not self._seen:
            return -gradient / self._curvature
        steps, changes, _ = map(np.array, zip(*self._seen[-_REMEMBERED:], strict=True))
        lengths = np.linalg.norm(changes, axis=1)
        changes /= lengths[:, None]
        shares = np.linalg.lstsq(changes @ changes.T, changes @ gradient, rcond=_ROUNDING)[0]
        rest = gradient - shares @ changes
        direction: Floats = -(shares / lengths) @ steps - rest / self._curvature
        return direction

    def after_failing(self, step: Floats, change: Floats) -> "_Corrected | None":
        """The model after a rejected step, which still shows a curvature."""
        self._failures += 1
        self.learn(step, change)
        return self if self._failures <= _FAILURES else None


class _Model(_Corrected):
    """The Hessian at one point, as a factor, or as matrix products if there are many features."""

    keep = 0.3

    def __init__(self, objective: Objective, point: Floats) -> None:
        super().__init__()
        n, d = objective.features.shape
        dense = d <= _DENSE
        hessian = objective.ridge * np.eye(d) if dense else None
        self.objective = objective
        self._curvatures = np.empty(0 if dense else n)
        for rows in _blocks(objective):
            block = objective.features[rows]
            bends = objective.loss.curvatures(block @ point, objective.labels[rows])
            if hessian is None:
                self._curvatures[rows] = bends
            else:
                scaled = block * np.sqrt(bends)[:, None]
                hessian += scaled.T @ scaled
        self._factor = None if hessian is None else _factor(hessian, objective.ridge)

    def direction(self, gradient: Floats) -> Floats:
        """−H⁻¹·gradient, H corrected by what was learned. [Nocedal, Math. Comp. 35, 1980]"""
        rest, shares = -gradient, []
        for step, change, inverse in reversed(self._seen):
            shares.append(inverse * float(step @ rest))
            rest = rest - shares[-1] * change
        solved = self._solved(rest)
        for (step, change, inverse), share in zip(self._seen, reversed(shares), strict=True):
            solved = solved + (share - inverse * float(change @ solved)) * step
        return solved

    def _solved(self, right: Floats) -> Floats:
        """The uncorrected H⁻¹·right."""
        if self._factor is None:
            return self._conjugate_gradients(right)
        solved: Floats = cho_solve(self._factor, right)
        return solved

    def _conjugate_gradients(self, right: Floats) -> Floats:
        """Approximately H⁻¹·right; a descent direction however early the loop stops."""
        step, residual = np.zeros_like(right), right
        search, squared = residual.copy(), float(residual @ residual)
        enough = squared * min(0.1, _length(right)) ** 2
        for _ in range(4 * len(step)):
            if squared <= enough:
                break
            bent = self._product(search)
            share = squared / float(search @ bent)
            step = step + share * search
            residual = residual - share * bent
            before, squared = squared, float(residual @ residual)
            search = residual + (squared / before) * search
        return step

    def _product(self, vector: Floats) -> Floats:
        """H·vector."""
        product: Floats = self.objective.ridge * vector
        for rows in _blocks(self.objective):
            block = self.objective.features[rows]
            product = product + (self._curvatures[rows] * (block @ vector)) @ block
        return product


def _first_curvature(objective: Objective) -> float:
    """Roughly the largest curvature of J, from some records that hardly overlap."""
    some = objective.features[:: max(1, len(objective.features) // _LOOKED_AT)]
    longest = float(np.einsum("ij,ij->i", some, some).max(initial=0.0))
    return objective.ridge + objective.loss.sharpness * longest


def _factor(hessian: Floats, ridge: float) -> tuple[Floats, bool]:
    """The Cholesky factor; a Hessian that is singular in floats gets a larger diagonal.

    Any positive definite matrix gives a direction in which J falls, so this costs speed at most.
    """
    trace = float(np.trace(hessian)) + ridge
    for share in (0.0, *(2.0**-k for k in range(50, 0, -7))):
        try:
            factor: tuple[Floats, bool] = cho_factor(
                hessian + share * trace * np.eye(len(hessian)), lower=True
            )
        except np.linalg.LinAlgError:
            continue
        return factor
    return np.sqrt(trace) * np.eye(len(hessian)), True


def _gradient(objective: Objective, point: Floats, linear: Floats) -> Floats:
    gradient: Floats = objective.ridge * point + linear
    for rows in _blocks(objective):
        block = objective.features[rows]
        gradient = gradient + objective.loss.slopes(block @ point, objective.labels[rows]) @ block
    return gradient


def _value(objective: Objective, point: Floats, linear: Floats) -> float:
    value = float(point @ (0.5 * objective.ridge * point + linear))
    for rows in _blocks(objective):
        scores = objective.features[rows] @ point
        value += float(objective.loss.values(scores, objective.labels[rows]).sum())
    return value


def _descent(
    objective: Objective, point: Floats, direction: Floats, linear: Floats, fall: float
) -> float:
    """The first of the step lengths 1, 1/2, 1/4, … at which J falls as its slope predicts."""
    before, length = _value(objective, point, linear), 1.0
    for _ in range(_HALVINGS):
        after = _value(objective, point + length * direction, linear)
        if after <= before + _ARMIJO * length * fall:
            return length
        length /= 2.0
    return 0.0


def _blocks(objective: Objective) -> list[slice]:
    n, d = objective.features.shape
    rows = max(_LEAST_ROWS, _BLOCK // d)
    return [slice(first, min(first + rows, n)) for first in range(0, n, rows)]


def _length(vector: Floats) -> float:
    return float(np.linalg.norm(vector))
