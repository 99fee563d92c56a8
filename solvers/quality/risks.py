"""The measured quality of private fits; `excess_bounds` has the theorems that bound it.

Risks are means over records, (1/n)·Σ ℓ(θ; xᵢ, yᵢ) + (ridge/2)·‖θ‖².
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.errors import (
    InvalidParameter,
    check_between,
    check_count,
    check_nonempty,
    check_positive,
    plain_arguments,
)
from dpverify.guarantees import ApproxDP, Bracket
from solvers.bounds import Arrays as Data
from solvers.descent import DescentSetting
from solvers.domains import Ball, Box, Domain, Simplex, WholeSpace
from solvers.gradient_descent import GradientDescent
from solvers.losses import Loss
from solvers.quality.excess_bounds import check_failure, descent_excess

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
    """Lower and upper bounds on the least risk over the domain, up to rounding.

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
    """The empirical risk of each row of `parameters` minus the least one found."""
    best = least_risk(loss, data, domain, ridge=ridge).upper
    return risks(loss, parameters, data, ridge=ridge) - best


@plain_arguments
def holdout_risk(
    loss: Loss, parameter: ArrayLike, holdout: Data, *, largest_loss: float, failure: float
) -> Bracket:
    """Confidence limits for the population risk, from records that the fit has not seen.

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
    """⟨∇f, θ⟩ − min over the domain of ⟨∇f, ·⟩, a bound on how far f is above its minimum."""
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


DrawData: TypeAlias = Callable[[int, np.random.Generator], Data]
"""Features and labels of so many records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The mean excess empirical risk of private fits, its standard error, and its bound."""

    epsilon: float
    records: int
    excess: float
    error: float
    bound: float


@plain_arguments
def measure_descent(  # noqa: PLR0913  # each is a choice of the experiment
    setting: DescentSetting,
    draw: DrawData,
    *,
    budgets: Sequence[ApproxDP],
    records: Sequence[int],
    steps: int = 50,
    repeats: int = 200,
    seed: int = 0,
) -> list[Measured]:
    """Measure averaged noisy gradient descent, for each budget and number of records.

    The data of each n are drawn once, and fitted `repeats` times for each budget. `setting` gives
    the rest; its `records` are replaced by n.
    """
    check_nonempty("budgets", budgets)
    check_nonempty("records", records)
    check_count("repeats", repeats)
    rng = np.random.default_rng(seed)
    found = []
    for count in records:
        here = replace(setting, records=count)
        data = draw(count, rng)
        for budget in budgets:
            fit = GradientDescent(here, budget=budget, steps=steps)
            fits = fit.sample(data, repeats, rng=rng)
            excess = excess_risks(here.loss, fits, data, here.domain, ridge=here.ridge)
            dimension = fits.shape[1]
            found.append(
                Measured(
                    epsilon=float(budget.epsilon),
                    records=count,
                    excess=float(excess.mean()),
                    error=float(excess.std() / math.sqrt(repeats)),
                    bound=descent_excess(
                        radius=here.radius(dimension),
                        second_moment=fit.second_moment(dimension),
                        iterates=steps + 1,
                    ),
                )
            )
    return found


@plain_arguments
def series(measured: Sequence[Measured]) -> dict[str, list[tuple[float, float, float]]]:
    """For each n its triples (ε, measured, bound), in the form that `dpverify.reporting` draws.

    >>> one = Measured(epsilon=1.0, records=100, excess=0.1, error=0.01, bound=0.5)
    >>> series([one])
    {'n = 100': [(1.0, 0.1, 0.5)]}
    """
    found: dict[str, list[tuple[float, float, float]]] = {}
    for each in measured:
        triple = (each.epsilon, each.excess, each.bound)
        found.setdefault(f"n = {each.records:,}", []).append(triple)
    return found
