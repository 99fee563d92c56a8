"""Linear classifiers: logistic regression, and the support vector machine with a rounded corner."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers.bounds import Bounds, Floats
from solvers.certificate import Certificate
from solvers.estimators.declarations import Declaration, RandomState, generator, together
from solvers.estimators.fitting import Fitted, Task, check_method, fit_weights, worst
from solvers.estimators.promises import Utility
from solvers.estimators.rows import Rows
from solvers.losses import HuberHinge, Logistic, Loss

LABELS_READ_OFF = "which labels occur is public: no classes were declared, so they were read off y"
METHODS = ("auto", "objective", "output", "gradient", "sgd")


class _LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """One direction for two classes; for more, each class against the others on its share."""

    def __init__(  # noqa: PLR0913  # scikit-learn: every parameter by name
        self,
        *,
        budget: PureDP | ApproxDP | None = None,
        norm_bound: float | None = None,
        relation: Relation | str | None = None,
        method: str = "auto",
        classes: Sequence[Any] | None = None,
        ridge: float | None = None,
        records: int | None = None,
        fit_intercept: bool = True,
        clip: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.budget = budget
        self.norm_bound = norm_bound
        self.relation = relation
        self.method = method
        self.classes = classes
        self.ridge = ridge
        self.records = records
        self.fit_intercept = fit_intercept
        self.clip = clip
        self.random_state = random_state

    @abstractmethod
    def _loss(self) -> Loss: ...

    def fit(self, X: ArrayLike, y: ArrayLike) -> "_LinearClassifier":  # noqa: N803
        """Spend the budget on weights; refuse, before any noise is drawn, what breaks a bound."""
        declared = Declaration.of(self.budget, self.relation)
        check_method(self.method, METHODS)
        rows = Rows.of(self.norm_bound, fit_intercept=self.fit_intercept, clip=self.clip)
        loss = self._loss()
        rng = generator(self.random_state)
        features, given = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        classes, indices = self._encoded(given)
        parts = 1 if len(classes) == 2 else len(classes)
        task = Task(
            loss=loss,
            bounds=Bounds(norm=rows.norm, labels=(-1.0, 1.0)),
            declared=declared.share(parts),
            method="objective" if self.method == "auto" else self.method,
            ridge=self.ridge,
            records=self.records,
        )
        prepared, _ = rows.prepare(features, np.zeros(len(indices)))
        positive = [1] if parts == 1 else range(parts)
        fits = [
            fit_weights(task, prepared, np.where(indices == index, 1.0, -1.0), rng=rng)
            for index in positive
        ]
        self._keep(classes, fits, rows, declared)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Scores: one a row for two classes, positive for the second; else one a class."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        scores: Floats = rows @ self.coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The label of each row."""
        scores = self.decision_function(X)
        chosen = (scores > 0.0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def _encoded(self, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The classes, and for each record the number of its own."""
        check_classification_targets(labels)
        classes = np.unique(labels if self.classes is None else np.asarray(self.classes))
        if len(classes) < 2:
            raise InvalidParameter(
                f"classes={classes.tolist()!r} must be at least two: y has one class only"
            )
        outside = ~np.isin(labels, classes)
        if outside.any():
            listed = ", ".join(str(label) for label in classes)
            raise InvalidParameter(f"label {labels[outside][0]!r} in y must be one of: {listed}")
        return classes, np.searchsorted(classes, labels)

    def _keep(
        self,
        classes: NDArray[Any],
        fits: Sequence[Fitted],
        rows: Rows,
        declared: Declaration,
    ) -> None:
        weights = np.stack([fitted.weights for fitted in fits])
        claim = together([fitted.claim for fitted in fits], declared)
        if self.classes is None:
            assumes = (*claim.assumes, LABELS_READ_OFF)
            claim = Claim(claim.guarantee, claim.relation, claim.theorem, assumes)
        self.classes_ = classes
        self.coef_, self.intercept_ = rows.split(weights)
        self.claim_: Claim = claim
        self.certificate_: Certificate | None = worst(fits)
        self.ridge_: float | None = fits[0].ridge
        self.utility_: Utility | None = fits[0].utility  # the same for every class
        self.method_ = "objective" if self.method == "auto" else self.method


class PrivateLogisticRegression(_LinearClassifier):
    """Logistic regression under differential privacy.

    Minimizes Σ ln(1 + e^(−yᵢ⟨θ, xᵢ⟩)) + (λ/2)·‖θ‖² with noise in the objective. The intercept is
    the weight of a constant feature, a quarter of the norm bound, and is regularized like the
    others: without that, no claim holds.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    norm_bound : float
        Every row's ℓ2 norm is at most this. Must be declared; the data are never asked.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    method : {"auto", "objective", "output", "gradient", "sgd"}
        The algorithm; "auto" is objective perturbation.
    classes : sequence or None
        The labels that can occur. None reads them off `y`, and the claim says so.
    ridge : float or None
        λ, of the sum of losses. None takes `solvers.defaults.ridge`, from the dimension, the bound
        and the budget alone.
    records : int or None
        How many records there are, as a public number; gradient methods need it where records are
        added or removed.
    fit_intercept : bool
        Whether there is an intercept.
    clip : bool
        Scale longer rows to the norm bound instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    coef_, intercept_, classes_
        As in scikit-learn.
    claim_ : Claim
        What was spent, and why that holds.
    certificate_ : Certificate or None
        How near the exact minimum the solver was certified to be; the claim includes the rest.
    ridge_ : float or None
        The λ that was used.
    utility_ : Utility or None
        What is promised about the fit's quality; for each class if there are more than two.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (2000, 2))
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> model = PrivateLogisticRegression(budget=PureDP(epsilon=1.0), norm_bound=1.0,
    ...                                   relation=Relation.ADD_REMOVE, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    >>> model.claim_.guarantee
    PureDP(epsilon=1.0)
    """

    def _loss(self) -> Loss:
        return Logistic()

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The probability of each class, as the model has it; post-processing."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        shares = expit(scores)
        total = shares.sum(axis=1, keepdims=True)
        flat = np.full_like(shares, 1.0 / shares.shape[1])
        probabilities: Floats = np.divide(shares, total, out=flat, where=total > 0.0)
        return probabilities


class PrivateSVM(_LinearClassifier):
    """The linear support vector machine under differential privacy.

    The corner of the hinge loss is rounded off between margins 1 − `width` and 1 + `width`, since
    objective perturbation needs a gradient without jumps. Everything else is as in
    `PrivateLogisticRegression`.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (2000, 2))
    >>> y = X[:, 0] > 0
    >>> model = PrivateSVM(budget=ApproxDP(epsilon=1.0, delta=1e-6), norm_bound=1.0,
    ...                    relation=Relation.ADD_REMOVE, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(  # noqa: PLR0913  # scikit-learn: every parameter by name
        self,
        *,
        budget: PureDP | ApproxDP | None = None,
        norm_bound: float | None = None,
        relation: Relation | str | None = None,
        method: str = "auto",
        width: float = 0.5,
        classes: Sequence[Any] | None = None,
        ridge: float | None = None,
        records: int | None = None,
        fit_intercept: bool = True,
        clip: bool = False,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            budget=budget,
            norm_bound=norm_bound,
            relation=relation,
            method=method,
            classes=classes,
            ridge=ridge,
            records=records,
            fit_intercept=fit_intercept,
            clip=clip,
            random_state=random_state,
        )
        self.width = width

    def _loss(self) -> Loss:
        return HuberHinge(width=self.width)
