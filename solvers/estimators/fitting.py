"""One linear fit: from a loss, bounds and a share of the budget to weights with a claim."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_count, check_positive
from solvers import defaults
from solvers.bounds import Bounds
from solvers.descent import Setting
from solvers.domains import Ball, WholeSpace
from solvers.estimators.declarations import Declaration
from solvers.gradient_descent import GradientDescent
from solvers.losses import Logistic, Loss, Softmax
from solvers.minimize.certificate import Certificate
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation
from solvers.plain_numbers import settle
from solvers.privacy.theorems import PERTURBED_MINIMUM
from solvers.quality.excess_bounds import Utility, of_descent, of_objective, of_output
from solvers.sgd import PoissonBatches, StochasticGradientDescent
from solvers.sufficient_statistics import SufficientStatistics

_BATCHES = 20  # batches an epoch of stochastic gradients is cut into


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one fit is asked for; `records` is a public number, `ridge` None for the default."""

    loss: Loss
    bounds: Bounds
    declared: Declaration
    method: str
    ridge: float | None = None
    records: int | None = None
    radius: float | None = None

    def __post_init__(self) -> None:
        settle(self)
        if self.ridge is not None:
            check_positive("ridge", self.ridge)
        if self.records is not None:
            check_count("records", self.records)
        if self.radius is not None:
            check_positive("radius", self.radius)

    def ridge_for(self, dimension: int, *, smoothness: float = 0.0) -> float:
        """The λ that was asked for, or the default."""
        if self.ridge is not None:
            return float(self.ridge)
        return defaults.ridge(
            self.declared.budget,
            self.declared.relation,
            dimension=dimension,
            norm=self.bounds.norm,
            smoothness=smoothness,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """Weights, what they cost, and how well the solver did; no more than may be released."""

    weights: Floats
    claim: Claim
    certificate: Certificate | None = None
    ridge: float | None = None
    utility: Utility | None = None


def fit_weights(task: Task, rows: Floats, labels: Floats, *, rng: np.random.Generator) -> Fitted:
    """Fit by the task's method; a number of records that is public must be the true one."""
    if task.records is not None:
        defaults.public_records(task.records, task.declared.relation, len(rows))
    return _FITS[task.method](task, rows, labels, rng)


def worst(fits: Sequence[Fitted]) -> Certificate | None:
    """The certificate of the solve that came least close; None where nothing was solved."""
    known = [fitted.certificate for fitted in fits if fitted.certificate is not None]
    return max(known, key=lambda certificate: certificate.distance, default=None)


def _objective(task: Task, rows: Floats, labels: Floats, rng: np.random.Generator) -> Fitted:
    """Objective perturbation; only the logistic loss has a theorem that spares ln(1 + β/λ)."""
    dimension = rows.shape[1]
    charged = 0.0 if isinstance(task.loss, Logistic) else task.loss.smoothness(task.bounds)
    ridge = task.ridge_for(dimension, smoothness=charged)
    problem = Problem(loss=task.loss, bounds=task.bounds, regularizer=Ridge(ridge))
    mechanism = ObjectivePerturbation(
        problem=problem, budget=task.declared.budget, relation=task.declared.relation
    )
    weights = mechanism.sample((rows, labels), 1, rng=rng)[0]
    return Fitted(
        weights=weights,
        claim=mechanism.claim,
        certificate=_certificate(mechanism.tolerance(dimension)),
        ridge=ridge,
        utility=of_objective(mechanism, dimension),
    )


def _output(task: Task, rows: Floats, labels: Floats, rng: np.random.Generator) -> Fitted:
    """Output perturbation; on a ball if one was declared."""
    relation = task.declared.relation
    domain = WholeSpace() if task.radius is None else Ball(task.radius)
    dimension = rows.shape[1]
    if isinstance(task.loss, Softmax):
        dimension *= task.loss.classes
    ridge = task.ridge
    lipschitz = task.loss.lipschitz(task.bounds, domain, dimension)
    if not math.isfinite(lipschitz):
        raise InvalidParameter(
            f"radius={task.radius!r} must be declared for method='output': the {task.loss.name} "
            "loss has unbounded slopes without it, and the minimum infinite sensitivity"
        )
    if ridge is None:
        ridge = defaults.output_ridge(
            task.declared.budget,
            relation,
            dimension=dimension,
            norm=task.bounds.norm,
            lipschitz=lipschitz,
            sharpness=task.loss.sharpness,
            records=defaults.public_records(task.records, relation, len(rows)),
        )
    problem = Problem(loss=task.loss, bounds=task.bounds, regularizer=Ridge(ridge), domain=domain)
    mechanism = OutputPerturbation(
        problem=problem, budget=task.declared.budget, relation=relation, project=True
    )
    weights = mechanism.sample((rows, labels), 1, rng=rng)[0]
    return Fitted(
        weights=weights,
        claim=mechanism.claim,
        certificate=_certificate(mechanism.tolerance(dimension)),
        ridge=ridge,
        utility=of_output(mechanism, dimension),
    )


def _certificate(distance: float) -> Certificate:
    """What the solve was certified to reach before anything was released.

    The bound that was asked for, and not the figure of this solve: that depends on the data.
    """
    return Certificate(distance=distance, theorem=PERTURBED_MINIMUM)


def _gradient(task: Task, rows: Floats, labels: Floats, rng: np.random.Generator) -> Fitted:
    """Noisy gradient descent on a ball, the average of its iterates."""
    setting = _setting(task, rows)
    dimension = rows.shape[1]
    count = defaults.steps(
        task.declared.budget,
        task.declared.relation,
        dimension=dimension,
        records=setting.records,
    )
    descent = GradientDescent(setting, budget=task.declared.budget, steps=count)
    weights = descent.sample((rows, labels), 1, rng=rng)[0]
    utility = of_descent(descent, dimension)
    return Fitted(weights=weights, claim=descent.claim, utility=utility)


def _stochastic(task: Task, rows: Floats, labels: Floats, rng: np.random.Generator) -> Fitted:
    """Noisy gradients of Poisson batches, one epoch for each step of full descent at most."""
    setting = _setting(task, rows)
    dimension = rows.shape[1]
    epochs = defaults.steps(
        task.declared.budget,
        task.declared.relation,
        dimension=dimension,
        records=setting.records,
    )
    count = _BATCHES * min(epochs, _BATCHES)
    reach = setting.radius(dimension) / (setting.clipping_norm(dimension) * count**0.5)
    descent = StochasticGradientDescent(
        setting,
        budget=task.declared.budget,
        batches=PoissonBatches(1.0 / _BATCHES),
        steps=count,
        learning_rate=reach,
        output="average",
    )
    weights = descent.sample((rows, labels), 1, rng=rng)[0]
    return Fitted(weights=weights, claim=descent.claim)


def _statistics(task: Task, rows: Floats, labels: Floats, rng: np.random.Generator) -> Fitted:
    """Least squares from noisy XᵀX and Xᵀy; on a ball if one was declared."""
    method = SufficientStatistics(
        bounds=task.bounds,
        budget=task.declared.budget,
        relation=task.declared.relation,
        ridge=task.ridge,
        domain=WholeSpace() if task.radius is None else Ball(task.radius),
    )
    weights = method.sample((rows, labels), 1, rng=rng)[0]
    return Fitted(weights=weights, claim=method.claim, ridge=method.ridge_for(rows.shape[1]))


def _setting(task: Task, rows: Floats) -> Setting:
    """The task on a ball; λ of the sum is λ/n of the mean."""
    dimension = rows.shape[1]
    relation = task.declared.relation
    public = defaults.public_records(task.records, relation, len(rows))
    return Setting(
        loss=task.loss,
        bounds=task.bounds,
        domain=Ball(task.radius or defaults.radius(dimension=dimension, norm=task.bounds.norm)),
        relation=relation,
        records=public,
        ridge=0.0 if task.ridge is None else task.ridge / public,
    )


_FITS: dict[str, Callable[[Task, Floats, Floats, np.random.Generator], Fitted]] = {
    "objective": _objective,
    "output": _output,
    "gradient": _gradient,
    "sgd": _stochastic,
    "statistics": _statistics,
}
