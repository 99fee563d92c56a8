"""How good a private fit is, measured; `excess_bounds` has the theorems that promise it.

Risks are means over records, (1/n)·Σ ℓ(θ; xᵢ, yᵢ) + (ridge/2)·‖θ‖².
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_between, check_positive
from dpverify.guarantees import Bracket
from solvers.bounds import Data
from solvers.domains import Ball, Box, Domain, Simplex, WholeSpace
from solvers.losses import Loss
from solvers.plain_numbers import plain_arguments
from solvers.quality.excess_bounds import (
    ball_excess,
    check_failure,
    descent_excess,
    finite_excess,
    output_excess,
    perturbed_distance,
    perturbed_excess,
    quantile_miss,
    records_for_uniform_convergence,
)

__all__ = [
    "ball_excess",
    "descent_excess",
    "excess_risks",
    "finite_excess",
    "holdout_risk",
    "least_risk",
    "output_excess",
    "perturbed_distance",
    "perturbed_excess",
    "quantile_miss",
    "records_for_uniform_convergence",
    "risks",
]

_CELLS = 1 << 21


@plain_arguments
def risks(loss: Loss, parameters: ArrayLike, data: Data, *, ridge: float = 0.0) -> Floats:
    """The empirical risk of each row of `parameters` (m, d) on the data.

    >>> from solvers import Absolute
    >>> risks(Absolute(), [[0.0], [1.0]], ([[1.0], [1.0]], [0.0, 4.0]))
    array([2., 2.])
    """
    check_between("ridge", ridge, 0.0, math.inf)
    points, rows, labels = _arrays(parameters, data)
    result = np.empty(len(points))
    step = max(1, _CELLS // max(1, len(rows)))
    for start in range(0, len(points), step):
        few = points[start : start + step]
        result[start : start + step] = loss.values(few @ rows.T, labels).mean(axis=1)
    result += 0.5 * ridge * (points**2).sum(axis=1)
    return result


@plain_arguments
def least_risk(loss: Loss, data: Data, domain: Domain, *, ridge: float = 0.0) -> Bracket:
    """Both ends of the least risk over the domain, up to rounding.

    Above: the risk at the point that cvxpy returns, moved into the domain. Below: what convexity
    allows elsewhere, f(θ) + min over the domain of ⟨∇f(θ), · − θ⟩; −∞ for an unbounded domain
    without a ridge. At a corner of the loss the subgradient at hand may be a poor one.
    """
    import cvxpy as cp  # noqa: PLC0415  # takes a second to load

    _, rows, labels = _arrays(np.zeros((1, np.shape(data[0])[-1])), data)
    variable = cp.Variable(rows.shape[1])
    objective = cp.sum(loss.expression(rows @ variable, labels)) / len(rows)
    objective += 0.5 * ridge * cp.sum_squares(variable)
    problem = cp.Problem(cp.Minimize(objective), domain.constraints(variable))
    problem.solve(solver=cp.CLARABEL)
    if variable.value is None:
        raise InvalidParameter(f"domain={domain!r} must allow a minimum: {problem.status}")
    point = domain.project(np.asarray(variable.value)[None, :])[0]
    upper = float(risks(loss, point[None, :], data, ridge=ridge)[0])
    gradient = loss.slopes(rows @ point, labels) @ rows / len(rows) + ridge * point
    return Bracket(min(upper, upper - _gap(domain, gradient, point, ridge)), upper)


@plain_arguments
def excess_risks(
    loss: Loss, parameters: ArrayLike, data: Data, domain: Domain, *, ridge: float = 0.0
) -> Floats:
    """The empirical risk of each row of `parameters` beyond the least one found."""
    best = least_risk(loss, data, domain, ridge=ridge).upper
    return risks(loss, parameters, data, ridge=ridge) - best


@plain_arguments
def holdout_risk(
    loss: Loss, parameter: ArrayLike, holdout: Data, *, largest_loss: float, failure: float
) -> Bracket:
    """Both ends of the population risk, from records that the fit has not seen.

    For losses in [0, largest_loss] the mean over n records is within
    largest_loss·√(ln(2/failure)/(2n)) of its expectation, with probability at least 1 − failure.
    [Hoeffding 1963, Thm 2; proofs/uniform_convergence.py]
    """
    check_positive("largest_loss", largest_loss)
    check_failure(failure)
    mean = float(risks(loss, np.atleast_2d(np.asarray(parameter, np.float64)), holdout)[0])
    count = len(np.asarray(holdout[1]))
    room = float(largest_loss) * math.sqrt(math.log(2.0 / failure) / (2.0 * count))
    return Bracket(max(0.0, mean - room), mean + room)


def _arrays(parameters: ArrayLike, data: Data) -> tuple[Floats, Floats, Floats]:
    points = np.asarray(parameters, np.float64)
    rows, labels = (np.asarray(part, np.float64) for part in data)
    if rows.ndim != 2 or 0 in rows.shape or labels.shape != (len(rows),):
        raise InvalidParameter("data must be a matrix X with at least one row, and a label a row")
    if points.ndim != 2 or points.shape[1] != rows.shape[1]:
        raise InvalidParameter(
            f"parameters of shape {points.shape} must have the shape (m, {rows.shape[1]})"
        )
    if not (np.isfinite(rows).all() and np.isfinite(labels).all() and np.isfinite(points).all()):
        raise InvalidParameter("parameters and data must be finite")
    return points, rows, labels


def _gap(domain: Domain, gradient: Floats, point: Floats, ridge: float) -> float:
    """⟨∇f, θ⟩ − min over the domain of ⟨∇f, ·⟩: no risk is lower than here by more."""
    inner = float(gradient @ point)
    match domain:
        case Ball(radius=radius):
            return inner + float(radius) * float(np.linalg.norm(gradient))
        case Box(low=low, high=high):
            ends = np.minimum(gradient * np.asarray(low), gradient * np.asarray(high))
            return inner - float(ends.sum())
        case Simplex():
            return inner - float(gradient.min())
        case WholeSpace() if ridge > 0:
            return float(gradient @ gradient) / (2.0 * ridge)
    return math.inf
