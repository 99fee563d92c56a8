"""Linear regression: least squares from noisy statistics, or by another method on a ball."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_positive
from solvers import defaults
from solvers.bounds import Bounds, Data
from solvers.chunks import Chunks
from solvers.domains import Ball, Domain
from solvers.estimators.blocks import TargetBlock, check_chunked, read_chunks
from solvers.estimators.declarations import generator
from solvers.estimators.fitting import LinearModel, fit_weights
from solvers.losses import Loss, Squared
from solvers.registry import domain_named, loss_named


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegressor(RegressorMixin, LinearModel):  # type: ignore[misc]  # scikit-learn has no types
    """What the regressions share: targets within a declared bound."""

    label_bound: float | None = None

    def _chosen(self, loss: Loss) -> str:
        """The method, where the caller leaves it open."""
        return "objective" if loss.smooth else "output"

    def fit(self, X: ArrayLike | Chunks, y: ArrayLike | None = None) -> Self:  # noqa: N803
        """Spend the budget on weights; refuse, before any noise is drawn, what breaks a bound.

        `X` may be `solvers.Chunks`, which has the targets in it.
        """
        declared, rows = self._declared()
        if self.label_bound is None:
            raise InvalidParameter(
                "label_bound=None must be declared: a bound on every target's size"
            )
        check_positive("label_bound", self.label_bound)
        rng = generator(self.random_state)
        bound = float(self.label_bound)
        data: Data
        if isinstance(X, Chunks):
            check_chunked(y)
            data = read_chunks(self, X.map(TargetBlock(rows, bound)), rows, declared)
        else:
            features, targets = validate_data(
                self, X, y, dtype=np.float64, y_numeric=True,
                ensure_min_samples=declared.least_records,
            )  # fmt: skip
            data = rows.prepare(features, targets, label_bound=bound)
        method = self._chosen(self._loss()) if self.method == "auto" else self.method
        request = self._request(declared, Bounds(norm=rows.norm, label_bound=bound), method)
        fitted = fit_weights(request, data, rng=rng)
        coefficients, intercepts = rows.split(fitted.weights[None])
        self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])
        self._keep([fitted], fitted.claim, method)
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """⟨θ, x⟩ for each row; not cut to the label bound."""
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
    fit_intercept : bool
        Whether there is an intercept.
    clip : bool
        Scale longer rows to the norm bound and move targets into the label bound, instead of
        refusing them.
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
        by_statistics = self.method in {"auto", "statistics"}
        return defaults.STATISTICS_INTERCEPT if by_statistics else defaults.INTERCEPT

    def _domain(self) -> Domain | None:
        return None if self.radius is None else Ball(self.radius)


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
