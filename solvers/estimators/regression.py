"""Linear regression: least squares from noisy statistics, or by another method on a ball."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_member, check_positive
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers.bounds import Bounds
from solvers.estimators.declarations import Declaration, RandomState, Rows, generator, scores
from solvers.estimators.fitting import Task, fit_weights
from solvers.losses import Squared
from solvers.minimize.certificate import Certificate
from solvers.quality.excess_bounds import Utility

METHODS = ("auto", "statistics", "output", "gradient", "sgd")


class PrivateLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Least squares under differential privacy.

    Minimizes Σ(⟨θ, xᵢ⟩ − yᵢ)². The intercept is the weight of a constant feature, a quarter of the
    norm bound, and is regularized like the others.

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
    certificate_ : Certificate or None
        How near the exact minimum the solver was certified to be, where there was one.
    utility_ : Utility or None
        What is promised about the fit's quality.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (5000, 2))
    >>> y = X[:, 0] + 0.25
    >>> model = PrivateLinearRegression(budget=PureDP(epsilon=5.0), norm_bound=1.0, label_bound=1.0,
    ...                                 relation=Relation.ADD_REMOVE, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.8)
    True
    """

    def __init__(  # noqa: PLR0913  # scikit-learn: every parameter by name
        self,
        *,
        budget: PureDP | ApproxDP | None = None,
        norm_bound: float | None = None,
        label_bound: float | None = None,
        relation: Relation | str | None = None,
        method: str = "auto",
        radius: float | None = None,
        ridge: float | None = None,
        records: int | None = None,
        fit_intercept: bool = True,
        clip: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.budget = budget
        self.norm_bound = norm_bound
        self.label_bound = label_bound
        self.relation = relation
        self.method = method
        self.radius = radius
        self.ridge = ridge
        self.records = records
        self.fit_intercept = fit_intercept
        self.clip = clip
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> "PrivateLinearRegression":  # noqa: N803
        """Spend the budget on weights; refuse, before any noise is drawn, what breaks a bound."""
        declared = Declaration.of(self.budget, self.relation)
        check_member("method", self.method, METHODS)
        rows = Rows.of(self.norm_bound, fit_intercept=self.fit_intercept, clip=self.clip)
        if self.label_bound is None:
            raise InvalidParameter(
                "label_bound=None must be declared: a bound on every target's size"
            )
        check_positive("label_bound", self.label_bound)
        rng = generator(self.random_state)
        features, targets = validate_data(
            self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=declared.least_records
        )
        bound = float(self.label_bound)
        task = Task(
            loss=Squared(),
            bounds=Bounds(norm=rows.norm, label_bound=bound),
            declared=declared,
            method="statistics" if self.method == "auto" else self.method,
            ridge=self.ridge,
            records=self.records,
            radius=self.radius,
        )
        prepared, labels = rows.prepare(features, targets, label_bound=bound)
        fitted = fit_weights(task, prepared, labels, rng=rng)
        coefficients, intercepts = rows.split(fitted.weights[None])
        self.coef_, self.intercept_ = coefficients[0], float(intercepts[0])
        self.claim_: Claim = fitted.claim
        self.certificate_: Certificate | None = fitted.certificate
        self.ridge_: float | None = fitted.ridge
        self.utility_: Utility | None = fitted.utility
        self.method_ = task.method
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """⟨θ, x⟩ for each row; not cut to the label bound."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        predicted: Floats = scores(rows, self.coef_[None])[:, 0] + self.intercept_
        return predicted
