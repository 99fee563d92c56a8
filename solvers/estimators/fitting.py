"""The shared fit of linear models: from a loss and bounds to weights with a claim."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import (
    InvalidParameter,
    check_count,
    check_member,
    check_positive,
    settle_fields,
)
from dpverify.neighbors import Relation
from dpverify.waiting import telling
from solvers import defaults
from solvers.bounds import Bounds, Data, Obeying
from solvers.chunks import Chunks
from solvers.descent import DescentSetting, Output
from solvers.domains import Ball, Domain, WholeSpace
from solvers.estimators.declarations import Declaration, PrivateEstimator, Rows, scores, validated
from solvers.estimators.descent import Descent
from solvers.gradient_descent import GradientDescent
from solvers.losses import Logistic, Loss
from solvers.losses.softmax import classes_of
from solvers.losses.weighted import weighted
from solvers.minimize.certificate import MinimumCertificate
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation
from solvers.privacy.theorems import PERTURBED_MINIMUM
from solvers.quality.excess_bounds import Utility, of_descent, of_objective, of_output
from solvers.sgd import AllocatedBatches, PoissonBatches, StochasticGradientDescent
from solvers.sufficient_statistics import SufficientStatistics

_BATCHES = 20  # batches an epoch of stochastic gradients is cut into


@dataclass(frozen=True, slots=True, kw_only=True)
class FitRequest:
    """The arguments of one fit; `records` is a public number, `ridge` None for the default."""

    loss: Loss
    bounds: Bounds
    declared: Declaration
    method: str
    ridge: float | None = None
    records: int | None = None
    domain: Domain | None = None
    intercept: bool = False
    descent: Descent = field(default_factory=Descent)

    def __post_init__(self) -> None:
        settle_fields(self)
        if self.ridge is not None:
            check_positive("ridge", self.ridge)
        if self.records is not None:
            check_count("records", self.records)

    def weighted(self) -> "FitRequest":
        """The same request for labels with weights."""
        return replace(self, loss=weighted(self.loss), bounds=replace(self.bounds, weighted=True))

    def ridge_for(
        self, shape: tuple[int, int], *, smoothness: float = 0.0, steepness: float = 1.0
    ) -> float:
        """The ridge λ that was asked for, or the default.

        Weights leave open how much the records count, so their number says too little then.
        """
        if self.ridge is not None:
            return float(self.ridge)
        return defaults.ridge(
            self.declared.budget,
            self.declared.relation,
            dimension=shape[1] * classes_of(self.loss),
            norm=self.bounds.norm,
            smoothness=smoothness,
            steepness=steepness,
            classes=max(2, classes_of(self.loss)),
            records=self._public(shape[0]) if isinstance(self.loss, Logistic) else None,
        )

    def _public(self, present: int) -> int | None:
        """The number of records as far as it is public; where they are replaced, those present."""
        replaced = self.declared.relation is Relation.REPLACE_ONE
        return present if replaced else self.records


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """The result of a fit: weights, claim, and the solver's accuracy; all of it may be released."""

    weights: Floats
    claim: Claim
    certificate: MinimumCertificate | None = None
    ridge: float | None = None
    utility: Utility | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(PrivateEstimator, ABC):
    """Parameters that linear models share besides the budget, and what they keep of a fit."""

    norm_bound: float | None = None
    method: str = "auto"
    ridge: float | None = None
    records: int | None = None
    fit_intercept: bool = True
    descent: Descent | None = None

    @property
    @abstractmethod
    def _methods(self) -> tuple[str, ...]:
        """The methods that a caller may choose."""

    @abstractmethod
    def _loss(self) -> Loss: ...

    def _domain(self) -> Domain | None:
        """The set that the weights lie in; None for the method's default."""
        return None

    def _declared(self) -> tuple[Declaration, Rows]:
        """Check everything that was declared, before any data are read."""
        declared = Declaration.of(self.budget, self.relation)
        check_member("method", self.method, self._methods)
        if self.descent is not None:
            if not isinstance(self.descent, Descent):
                raise InvalidParameter(f"descent={self.descent!r} must be a solvers.Descent")
            self.descent.check_method(self.method)
        rows = Rows.of(
            self.norm_bound,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
            constant=self._constant(),
        )
        return declared, rows

    def _constant(self) -> float:
        """The value of the constant feature for the intercept, in units of the norm bound."""
        return defaults.INTERCEPT

    def _request(self, declared: Declaration, bounds: Bounds, method: str) -> FitRequest:
        return FitRequest(
            loss=self._loss(),
            bounds=bounds,
            declared=declared,
            method=method,
            ridge=self.ridge,
            records=self.records,
            domain=self._domain(),
            intercept=bool(self.fit_intercept),
            descent=self.descent or Descent(),
        )

    def _keep(self, fits: Sequence[Fitted], claim: Claim, method: str) -> None:
        """Keep what all fits share, and the certificate of the least accurate solve."""
        known = [fitted.certificate for fitted in fits if fitted.certificate is not None]
        self.certificate_ = max(known, key=lambda found: found.distance, default=None)
        self.claim_ = claim
        self.method_ = method
        self.ridge_ = fits[0].ridge
        self.utility_ = fits[0].utility  # the same for every class

    def _scores(self, X: ArrayLike) -> Floats:  # noqa: N803
        """⟨θ, x⟩ without the intercept, for each row of X and each row of coefficients."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return scores(rows, np.atleast_2d(self.coef_))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own name and type
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@telling("fitting")
def fit_weights(
    request: FitRequest, data: tuple[Floats, Floats] | Chunks, *, rng: np.random.Generator
) -> Fitted:
    """Fit by the requested method; raise if the public number of records is wrong.

    Data that are no chunks were prepared: they obey the request's bounds.
    """
    if not isinstance(data, Chunks):
        data = Obeying.of(data, request.bounds)
    if request.records is not None:
        defaults.public_records(request.records, request.declared.relation, shape_of(data)[0])
    return _FITS[request.method](request, data, rng)


def shape_of(data: Data) -> tuple[int, int]:
    """The numbers of records and of features."""
    found = data.shape if isinstance(data, Chunks) else np.shape(data[0])
    return found[0], found[1]


def _objective(request: FitRequest, data: Data, rng: np.random.Generator) -> Fitted:
    """Fit by objective perturbation; only for the logistic loss does a theorem save ln(1 + β/λ)."""
    shape = shape_of(data)
    spared = isinstance(request.loss.core, Logistic) or not request.loss.smooth  # which is refused
    charged = 0.0 if spared else request.loss.smoothness(request.bounds)
    steepest = request.loss.slope_bound(request.bounds) if request.loss.smooth else 1.0
    steepness = steepest if math.isfinite(steepest) else 1.0  # else a domain bounds it, or nothing
    ridge = request.ridge_for(shape, smoothness=charged, steepness=steepness)
    problem = Problem(
        loss=request.loss,
        bounds=request.bounds,
        regularizer=Ridge(ridge),
        domain=request.domain or WholeSpace(),
    )
    mechanism = ObjectivePerturbation(
        problem=problem, budget=request.declared.budget, relation=request.declared.relation
    )
    dimension = shape[1] * classes_of(request.loss)
    return _certified(mechanism, data, of_objective(mechanism, dimension), rng)


def _output(request: FitRequest, data: Data, rng: np.random.Generator) -> Fitted:
    """Fit by output perturbation, on a ball if one was declared."""
    relation = request.declared.relation
    domain = request.domain or WholeSpace()
    dimension = shape_of(data)[1] * classes_of(request.loss)
    ridge = request.ridge
    lipschitz = request.loss.lipschitz(request.bounds, domain, dimension)
    if not math.isfinite(lipschitz):
        raise InvalidParameter(
            "radius=None must be declared, or a bounded domain, for method='output': the "
            f"{request.loss.name} loss has unbounded slopes without it, and the minimum infinite "
            "sensitivity"
        )
    if ridge is None:
        if not math.isfinite(request.loss.sharpness):
            raise InvalidParameter(
                f"ridge=None must be declared: the {request.loss.name} loss has a corner, and no "
                "default"
            )
        ridge = defaults.output_ridge(
            request.declared.budget,
            relation,
            dimension=dimension,
            norm=request.bounds.norm,
            lipschitz=lipschitz,
            sharpness=request.loss.sharpness,
            records=defaults.public_records(request.records, relation, shape_of(data)[0]),
        )
    problem = Problem(
        loss=request.loss, bounds=request.bounds, regularizer=Ridge(ridge), domain=domain
    )
    mechanism = OutputPerturbation(
        problem=problem, budget=request.declared.budget, relation=relation, project=True
    )
    return _certified(mechanism, data, of_output(mechanism, dimension), rng)


def _certified(
    mechanism: ObjectivePerturbation | OutputPerturbation,
    data: Data,
    utility: Utility,
    rng: np.random.Generator,
) -> Fitted:
    """One private minimum, with a certificate of the solve's accuracy before noise.

    The bound that was asked for, and not the figure of this solve: that depends on the data.
    """
    weights = mechanism.sample(data, 1, rng=rng)[0]
    distance = mechanism.tolerance(len(weights))
    return Fitted(
        weights=weights,
        claim=mechanism.claim,
        certificate=MinimumCertificate(distance=distance, theorem=PERTURBED_MINIMUM),
        ridge=mechanism.problem.ridge,
        utility=utility,
    )


def _gradient(request: FitRequest, data: Data, rng: np.random.Generator) -> Fitted:
    """Fit by noisy gradient descent, with every record in every step."""
    plan = _planned(request, data)
    descent = GradientDescent(
        plan.setting,
        budget=request.declared.budget,
        steps=plan.steps,
        learning_rate=plan.learning_rate,
        output=plan.output,
        momentum=request.descent.momentum,
        accounting=request.descent.accounting,
    )
    weights = descent.sample(data, 1, rng=rng)[0]
    utility = of_descent(descent, plan.dimension) if plan.promises else None
    return Fitted(weights=weights, claim=descent.claim, utility=utility)


def _stochastic(request: FitRequest, data: Data, rng: np.random.Generator) -> Fitted:
    """Fit by noisy gradients of random batches; Poisson batches by default."""
    plan = _planned(request, data)
    steps, share, rate = plan.steps, 1.0 / _BATCHES, plan.learning_rate
    if rate is None:  # one epoch for each step of full descent at most
        if request.descent.steps is None:
            steps = _BATCHES * min(steps, _BATCHES)
        reach = plan.setting.radius(plan.dimension)
        rate = reach / (plan.setting.clipping_norm(plan.dimension) * steps**0.5)
    else:
        share = defaults.batch_rate(
            request.declared.budget,
            request.declared.relation,
            dimension=plan.dimension,
            records=plan.setting.records,
        )
    batches = request.descent.batches or PoissonBatches(share)
    if isinstance(batches, AllocatedBatches) and request.descent.steps is None:
        steps = batches.count * math.ceil(steps / batches.count)  # whole epochs
    descent = StochasticGradientDescent(
        plan.setting,
        budget=request.declared.budget,
        batches=batches,
        steps=steps,
        learning_rate=rate,
        output=plan.output,
        momentum=request.descent.momentum,
    )
    weights = descent.sample(data, 1, rng=rng)[0]
    return Fitted(weights=weights, claim=descent.claim)


def _statistics(request: FitRequest, data: Data, rng: np.random.Generator) -> Fitted:
    """Least squares from noisy XᵀX and Xᵀy, on a ball if one was declared."""
    method = SufficientStatistics(
        bounds=request.bounds,
        budget=request.declared.budget,
        relation=request.declared.relation,
        ridge=request.ridge,
        domain=request.domain or WholeSpace(),
        intercept=request.intercept,
    )
    weights = method.sample(data, 1, rng=rng)[0]
    return Fitted(weights=weights, claim=method.claim, ridge=method.ridge_for(shape_of(data)[1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The plan of a gradient method; learning rate None stands for the method's own."""

    setting: DescentSetting
    dimension: int
    steps: int
    learning_rate: float | None
    output: Output
    promises: bool = False  # whether the bound on the risk of averages holds for it


def _planned(request: FitRequest, data: Data) -> _Plan:
    """The plan for a loss: classifiers clip gradients; regressions and hidden paths use a ball.

    The λ of a sum is λ/n of its mean.
    """
    budget, relation, given = request.declared.budget, request.declared.relation, request.descent
    dimension = shape_of(data)[1] * classes_of(request.loss)
    public = defaults.public_records(request.records, relation, shape_of(data)[0])
    domain = request.domain or WholeSpace()
    longest = request.loss.lipschitz(request.bounds, domain, dimension)
    is_hidden = given.accounting == "last"
    is_clipped = request.loss.labels != "bounded" and math.isfinite(longest) and not is_hidden
    if request.domain is None and not is_clipped:
        domain = Ball(defaults.radius(dimension=dimension, norm=request.bounds.norm))
    setting = DescentSetting(
        loss=request.loss,
        bounds=request.bounds,
        domain=domain,
        relation=relation,
        records=public,
        ridge=0.0 if request.ridge is None else request.ridge / public,
        clip=given.clip,
    )
    if not is_clipped:
        steps = defaults.steps(budget, relation, dimension=dimension, records=public)
        output: Output = given.output or ("last" if is_hidden else "average")
        return _Plan(
            setting=setting,
            dimension=dimension,
            steps=given.steps or steps,
            learning_rate=given.learning_rate,
            output=output,
            promises=given == Descent(steps=given.steps),
        )
    chosen = defaults.schedule(
        budget,
        relation,
        dimension=dimension,
        records=public,
        norm=request.bounds.norm,
        lipschitz=longest,
    )
    # Beyond one over the ridge, steps lead away from the minimum, not towards it.
    rate = min(chosen.learning_rate, 1.0 / setting.ridge if setting.ridge else math.inf)
    return _Plan(
        setting=replace(setting, clip=given.clip or chosen.clip),
        dimension=dimension,
        steps=given.steps or chosen.steps,
        learning_rate=given.learning_rate or rate,
        output=given.output or "last",
    )


_FITS: dict[str, Callable[[FitRequest, Data, np.random.Generator], Fitted]] = {
    "objective": _objective,
    "output": _output,
    "gradient": _gradient,
    "sgd": _stochastic,
    "statistics": _statistics,
}
