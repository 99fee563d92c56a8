"""Linear regression: least squares from noisy statistics, or by another method on a ball."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_positive
from solvers import defaults
from solvers.bounds import Bounds, Data
from solvers.chunks import Chunks, is_sparse, weighted_labels
from solvers.domains import Ball, Domain
from solvers.estimators.blocks import (
    TargetBlock,
    check_chunked,
    read_chunks,
    shared_chunks,
    sparse_chunks,
)
from solvers.estimators.declarations import generator, validated, weight_shares, with_weights
from solvers.estimators.fitting import LinearModel, fit_weights
from solvers.losses import Loss, Poisson, Squared
from solvers.registry import domain_named, loss_named


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegressor(RegressorMixin, LinearModel):  # type: ignore[misc]  # scikit-learn has no types
    """What regressions share: targets within a declared bound; for `_counts`, not negative."""

    _counts = False

    label_bound: float | None = None
    weight_bound: float | None = None

    def _chosen(self, loss: Loss) -> str:
        """The method that `auto` stands for."""
        return "objective" if loss.smooth else "output"

    def fit(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Spend the budget on weights; bad data are refused before any noise is drawn.

        `X` may be sparse, or `solvers.Chunks`, which has the targets and weights in it.
        """
        declared, rows = self._declared()
        if self.label_bound is None:
            raise InvalidParameter(
                "label_bound=None must be declared: a bound on every target's size"
            )
        check_positive("label_bound", self.label_bound)
        rng = generator(self.random_state)
        bound = float(self.label_bound)
        loss = self._loss()
        squared = isinstance(loss, Squared)
        block = TargetBlock(rows, bound, counts=self._counts, squared=squared)
        data: Data
        if isinstance(X, Chunks):
            check_chunked(y)
            shared = shared_chunks(X, sample_weight, self.weight_bound, clip=self.clip)
            block = replace(block, weighted=shared.weighted)
            still = shared.weighted and not squared
            data = read_chunks(self, shared.map(block, weighted=still), rows, declared)
        else:
            features, targets = validated(
                self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True,
                ensure_min_samples=declared.least_records,
            )  # fmt: skip
            records = features.shape[0]
            shares = weight_shares(sample_weight, self.weight_bound, records, clip=self.clip)
            labels = targets if shares is None else weighted_labels(targets, shares)
            block = replace(block, weighted=shares is not None)
            if is_sparse(features):
                chunks = sparse_chunks(features, labels).map(block)
                data = read_chunks(self, chunks, rows, declared)
            else:
                data = block((features, labels))
        method = self.method
        if method == "auto":
            method = self._chosen(loss) if self.descent is None else self.descent.method
        bounds = Bounds(norm=rows.norm, label_bound=bound)
        request = self._request(declared, bounds, method)
        if self.weight_bound is not None and not squared:
            request = request.weighted()
        fitted = fit_weights(request, data, rng=rng)
        coefficients, intercepts = rows.split(fitted.weights[None])
        self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])
        self._keep([fitted], with_weights(fitted.claim, self.weight_bound), method)
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """⟨θ, x⟩ for each row; not clipped to the label bound."""
        predicted: Floats = self._scores(X)[:, 0] + self.intercept_
        return predicted


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegression(LinearRegressor):
    """Least squares under differential privacy.

    Minimizes Σ(⟨θ, xᵢ⟩ − yᵢ)². The intercept is the weight of a constant feature: three quarters of
    the norm bound for "statistics", where it has an eighth of the default ridge, else a quarter.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    norm_bound : float
        Every row's ℓ2 norm is at most this. Must be declared; the data are never asked.
    label_bound : float
        Every target lies within ± this. Must be declared.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    method : {"auto", "statistics", "output", "gradient", "sgd"}
        The algorithm; "auto" is "statistics": XᵀX and Xᵀy with noise.
    radius : float or None
        θ is kept within this distance of 0, the intercept's weight included. Output perturbation
        needs it, since the gradient of a square has no bound on the whole space; gradient methods
        have a default.
    ridge : float or None
        λ, of the sum of losses. None takes a default from public numbers.
    records : int or None
        How many records there are, as a public number; gradient methods need it where records are
        added or removed.
    weight_bound : float or None
        Every weight in `sample_weight` lies between 0 and this; a record counts with its weight
        over this bound.
    fit_intercept : bool
        Whether there is an intercept.
    descent : Descent or None
        How gradient methods go; None takes all of it from public numbers.
    clip : bool
        Scale longer rows to the norm bound and move targets and weights into their bounds, instead
        of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn.
    claim_ : Claim
        What was spent, and why that holds.
    certificate_ : MinimumCertificate or None
        How near the exact minimum the solver was certified to be, where there was one.
    utility_ : Utility or None
        What is promised about the fit's quality.

    >>> from dpverify import PureDP, Relation
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (5000, 2))
    >>> y = X[:, 0] + 0.25
    >>> model = PrivateLinearRegression(budget=PureDP(epsilon=5.0), norm_bound=1.0, label_bound=1.0,
    ...                                 relation=Relation.ADD_REMOVE, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    """

    _methods = ("auto", "statistics", "output", "gradient", "sgd")

    radius: float | None = None

    def _loss(self) -> Loss:
        return Squared()

    def _chosen(self, loss: Loss) -> str:  # noqa: ARG002
        return "statistics"

    def _constant(self) -> float:
        by_statistics = self.method in {"auto", "statistics"} and self.descent is None
        return defaults.STATISTICS_INTERCEPT if by_statistics else defaults.INTERCEPT

    def _domain(self) -> Domain | None:
        return None if self.radius is None else Ball(self.radius)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivatePoissonRegression(LinearRegressor):
    """Poisson regression of counts under differential privacy.

    The mean of a count is e^⟨θ, x⟩. Minimizes Σ(e^⟨θ, xᵢ⟩ − yᵢ·⟨θ, xᵢ⟩) + (λ/2)·‖θ‖² with noise
    in the objective, with means capped at `largest_mean`: beyond it the loss goes on as a straight
    line. Without a cap, one record could bend the objective without limit.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    norm_bound : float
        Every row's ℓ2 norm is at most this. Must be declared; the data are never asked.
    label_bound : float
        Every count lies between 0 and this. Must be declared.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    largest_mean : float or None
        The cap on predicted means; None takes the label bound. Noise is as large as the larger of
        both, so a cap below the label bound saves nothing, and one above it costs.
    method : {"auto", "objective", "output", "gradient", "sgd"}
        The algorithm; "auto" is objective perturbation.
    ridge : float or None
        λ, of the sum of losses. None takes a default from public numbers.
    records : int or None
        How many records there are, as a public number; output perturbation without a ridge and
        gradient methods need it where records are added or removed.
    weight_bound : float or None
        Every weight in `sample_weight` lies between 0 and this; a record counts with its weight
        over this bound.
    fit_intercept : bool
        Whether there is an intercept.
    descent : Descent or None
        How gradient methods go; None takes all of it from public numbers.
    clip : bool
        Scale longer rows to the norm bound, move targets into [0, label bound] and weights into
        their bound, instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    coef_, intercept_
        As in scikit-learn's `PoissonRegressor`.
    claim_, certificate_, utility_, method_, ridge_
        As in `PrivateLogisticRegression`.

    >>> from dpverify import ApproxDP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, (20000, 2))
    >>> y = np.minimum(rng.poisson(np.exp(2.0 * X[:, 0])), 8)
    >>> model = PrivatePoissonRegression(budget=ApproxDP(epsilon=2.0, delta=1e-6), norm_bound=1.0,
    ...                                  label_bound=8.0, relation="add-remove", random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.25)
    True
    """

    _methods = ("auto", "objective", "output", "gradient", "sgd")
    _counts = True

    largest_mean: float | None = None

    def _loss(self) -> Poisson:
        largest = self.label_bound if self.largest_mean is None else self.largest_mean
        if largest is None:
            raise InvalidParameter("label_bound=None must be declared: a bound on every count")
        return Poisson(largest)

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The predicted mean count of each row, e^⟨θ, x⟩, capped."""
        exponents = super().predict(X)
        largest = float(self._loss().largest_mean)
        means: Floats = np.exp(np.clip(exponents, -700.0, np.log(largest)))
        return means

    def score(
        self,
        X: ArrayLike,  # noqa: N803
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """D², the share of the Poisson deviance that is explained, as in `PoissonRegressor`."""
        predicted = self.predict(X)
        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own name and type
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateRegressor(LinearRegressor):
    """A linear regression with a loss of your own, under differential privacy.

    `loss` is a loss for targets within ± `label_bound`, or the name of a registered one; `domain`
    is where the weights live, or the name of a registered domain. "auto" is objective
    perturbation for smooth losses and output perturbation for others. Everything else is as in
    `PrivateLinearRegression`.

    >>> from dpverify import PureDP, Relation
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (2000, 2))
    >>> model = PrivateRegressor(loss="squared", domain=Ball(2.0), budget=PureDP(epsilon=5.0),
    ...                          norm_bound=1.0, label_bound=1.0, relation=Relation.ADD_REMOVE,
    ...                          random_state=0)
    >>> bool(model.fit(X, X[:, 0]).score(X, X[:, 0]) > 0.8)
    True
    """

    _methods = ("auto", "objective", "output", "gradient", "sgd")

    loss: Loss | str = "squared"
    domain: Domain | str | None = None

    def _loss(self) -> Loss:
        return loss_named(self.loss)

    def _domain(self) -> Domain | None:
        return None if self.domain is None else domain_named(self.domain)
