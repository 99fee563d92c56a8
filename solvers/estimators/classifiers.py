"""Linear classifiers: logistic regression, and the support vector machine with a rounded corner."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax

from dpverify.arrays import Floats
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers.estimators.declarations import RandomState
from solvers.estimators.linear_classifier import LinearClassifier
from solvers.losses import HuberHinge, Logistic, Loss


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
