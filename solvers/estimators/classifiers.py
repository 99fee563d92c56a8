"""Linear classifiers: logistic regression, and the support vector machine with a rounded corner."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dpverify.arrays import Floats, Ints
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_member
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers.bounds import Bounds
from solvers.defaults import public_records
from solvers.estimators.declarations import (
    Declaration,
    RandomState,
    Rows,
    generator,
    scores,
    together,
)
from solvers.estimators.fitting import Fitted, Task, fit_weights, worst
from solvers.losses import HuberHinge, Logistic, Loss, Softmax
from solvers.minimize.certificate import Certificate
from solvers.quality.excess_bounds import Utility

LABELS_READ_OFF = "which labels occur is public: no classes were declared, so they were read off y"
METHODS = ("auto", "objective", "output", "gradient", "sgd")

_ROOM = 1 << 26  # numbers that a joint Hessian may take on its way


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What the classifiers share; `_has_joint` says whether there is a loss for many classes."""

    _has_joint = False

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

    def fit(self, X: ArrayLike, y: ArrayLike) -> "LinearClassifier":  # noqa: N803
        """Spend the budget on weights; refuse, before any noise is drawn, what breaks a bound."""
        declared = Declaration.of(self.budget, self.relation)
        check_member("method", self.method, METHODS)
        rows = Rows.of(self.norm_bound, fit_intercept=self.fit_intercept, clip=self.clip)
        loss = self._loss()
        rng = generator(self.random_state)
        features, given = validate_data(
            self, X, y, dtype=np.float64, ensure_min_samples=declared.least_records
        )
        classes, indices = self._encoded(given)
        prepared, _ = rows.prepare(features, np.zeros(len(indices)))
        task = Task(
            loss=loss,
            bounds=Bounds(norm=rows.norm, labels=(-1.0, 1.0)),
            declared=declared,
            method=self._chosen(len(classes), declared, prepared),
            ridge=self.ridge,
            records=self.records,
        )
        self.method_ = task.method
        self.joint_ = len(classes) > 2 and task.method == "output" and self._has_joint
        if self.joint_:
            fits = [_together(task, prepared, indices, len(classes), rng)]
            weights = fits[0].weights.reshape(prepared.shape[1], -1).T
        else:
            fits = _one_by_one(task, prepared, indices, len(classes), rng)
            weights = np.stack([fitted.weights for fitted in fits])
        self._keep(classes, fits, declared)
        self.coef_, self.intercept_ = rows.split(weights)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Scores: one a row for two classes, positive for the second; else one a class."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        found = scores(rows, self.coef_) + self.intercept_
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The label of each row."""
        found = self.decision_function(X)
        chosen = (found > 0.0).astype(np.int64) if found.ndim == 1 else found.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def _encoded(self, labels: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
        """The classes, and for each record the number of its own."""
        if len(labels):
            check_classification_targets(labels)
        classes = np.unique(labels if self.classes is None else np.asarray(self.classes))
        if len(classes) < 2:
            if self.classes is not None:
                raise InvalidParameter(f"classes={self.classes!r} must be at least two")
            raise InvalidParameter("classes=None must be declared: y has one class only, or none")
        outside = ~np.isin(labels, classes)
        if outside.any():
            listed = ", ".join(str(label) for label in classes)
            raise InvalidParameter(f"every label in y must be one of: {listed}")
        return classes, np.searchsorted(classes, labels)

    def _chosen(self, classes: int, declared: Declaration, rows: Floats) -> str:
        """The method, where the caller leaves it open: by public numbers alone.

        One joint model of many classes has the whole budget, and each class against the others a
        share of it. But output perturbation wants to know how many records there are, and the
        Hessian of the joint model takes room.
        """
        if self.method != "auto":
            return self.method
        known = self.records is not None or declared.relation is Relation.REPLACE_ONE
        if classes == 2 or not (known and self._has_joint):
            return "objective"
        records = public_records(self.records, declared.relation, len(rows))
        return "output" if records * rows.shape[1] * classes**2 <= _ROOM else "objective"

    def _keep(self, classes: NDArray[Any], fits: Sequence[Fitted], declared: Declaration) -> None:
        claim = together([fitted.claim for fitted in fits], declared)
        read_off = (LABELS_READ_OFF,) if self.classes is None else ()
        assumes = (*claim.assumes, *read_off)
        claim = Claim(claim.guarantee, claim.relation, claim.theorem, assumes)
        self.classes_ = classes
        self.claim_: Claim = claim
        self.certificate_: Certificate | None = worst(fits)
        self.ridge_: float | None = fits[0].ridge
        self.utility_: Utility | None = fits[0].utility  # the same for every class


def _one_by_one(
    task: Task, rows: Floats, indices: Ints, classes: int, rng: np.random.Generator
) -> list[Fitted]:
    """One direction for two classes; else each class against the others, on equal shares."""
    parts = 1 if classes == 2 else classes
    each = replace(task, declared=task.declared.share(parts))
    return [
        fit_weights(each, rows, np.where(indices == index, 1.0, -1.0), rng=rng)
        for index in ([1] if parts == 1 else range(parts))
    ]


def _together(
    task: Task, rows: Floats, indices: Ints, classes: int, rng: np.random.Generator
) -> Fitted:
    """One softmax model of all classes, on the whole budget."""
    labels = tuple(float(index) for index in range(classes))
    bounds = Bounds(norm=task.bounds.norm, labels=labels)
    joint = replace(task, loss=Softmax(classes), bounds=bounds)
    return fit_weights(joint, rows, indices.astype(np.float64), rng=rng)


class PrivateLogisticRegression(LinearClassifier):
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
        The algorithm; "auto" is objective perturbation. With more than two classes that means one
        fit for each against the others, each on its share of the budget; "output" fits all classes
        jointly (softmax) on the whole budget, and "auto" is that if the number of records is
        public and the problem not too large.
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

    _has_joint = True

    def _loss(self) -> Loss:
        return Logistic()

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The probability of each class, as the model has it; post-processing."""
        found = self.decision_function(X)
        if found.ndim == 1:
            return np.column_stack([expit(-found), expit(found)])
        if self.joint_:
            joint: Floats = softmax(found, axis=1)
            return joint
        shares = expit(found)
        total = shares.sum(axis=1, keepdims=True)
        flat = np.full_like(shares, 1.0 / shares.shape[1])
        probabilities: Floats = np.divide(shares, total, out=flat, where=total > 0.0)
        return probabilities


class PrivateSVM(LinearClassifier):
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
