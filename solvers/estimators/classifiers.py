"""Linear classifiers: logistic regression, and the support vector machine with a smoothed hinge."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation
from solvers import defaults
from solvers.bounds import Bounds
from solvers.chunks import Chunks, is_sparse, weighted_labels
from solvers.domains import Domain
from solvers.estimators.blocks import (
    EncodedBlock,
    OneClass,
    check_chunked,
    declared_classes,
    encoded,
    read_chunks,
    shared_chunks,
    sparse_chunks,
)
from solvers.estimators.declarations import (
    Declaration,
    generator,
    together,
    validated,
    weight_shares,
)
from solvers.estimators.fitting import FitRequest, Fitted, LinearModel, fit_weights
from solvers.losses import HuberHinge, Logistic, Loss, Softmax
from solvers.registry import domain_named, loss_named

MOST_JOINT_WEIGHTS = 2_000  # of a minimum over all classes that is solved in seconds
LABELS_READ_OFF = "which labels occur is public: no classes were declared, so they were read off y"


@dataclass(kw_only=True, eq=False, repr=False)
class LinearClassifier(ClassifierMixin, LinearModel):  # type: ignore[misc]  # scikit-learn has no types
    """What linear classifiers share; `_has_joint` says whether a multiclass loss exists."""

    _methods = ("auto", "objective", "output", "gradient", "sgd")
    _has_joint = False

    classes: Sequence[Any] | None = None
    weight_bound: float | None = None

    def fit(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Spend the budget on weights; bad data are refused before any noise is drawn.

        `X` may be sparse, or `solvers.Chunks`, which has the labels and weights in it.
        """
        declared, rows = self._declared()
        bounds = Bounds(norm=rows.norm, labels=(-1.0, 1.0))
        request = self._request(declared, bounds, self.method)
        rng = generator(self.random_state)
        prepared: Floats | Chunks
        indices: NDArray[Any] | Chunks
        if isinstance(X, Chunks):
            check_chunked(y)
            shared = shared_chunks(X, sample_weight, self.weight_bound, clip=self.clip)
            classes = declared_classes(self.classes)
            encoding = shared.map(EncodedBlock(rows, classes, weighted=shared.weighted))
            prepared = indices = read_chunks(self, encoding, rows, declared)
        else:
            features, given = validated(
                self, X, y, accept_sparse="csr", dtype=np.float64,
                ensure_min_samples=declared.least_records,
            )  # fmt: skip
            records = features.shape[0]
            shares = weight_shares(sample_weight, self.weight_bound, records, clip=self.clip)
            classes, indices = self._encoded(given)
            if is_sparse(features):
                labels = given if shares is None else weighted_labels(given, shares)
                block = EncodedBlock(rows, classes, weighted=shares is not None)
                encoding = sparse_chunks(features, labels).map(block)
                prepared = indices = read_chunks(self, encoding, rows, declared)
            else:
                prepared, _ = rows.prepare(features, np.zeros(records))
                if shares is not None:
                    indices = weighted_labels(indices, shares)
        method, self.reason_ = self._chosen(len(classes), declared, prepared)
        request = replace(request, method=method)
        if self.weight_bound is not None:
            request = request.weighted()
        weighed = prepared.shape[1] * len(classes)
        solvable = request.method not in {"objective", "output"} or weighed <= MOST_JOINT_WEIGHTS
        self.joint_ = len(classes) > 2 and self._has_joint and solvable
        if self.joint_:
            fits = [_together(request, prepared, indices, len(classes), rng)]
            weights = fits[0].weights.reshape(prepared.shape[1], -1).T
        else:
            fits = _one_by_one(request, prepared, indices, len(classes), rng)
            weights = np.stack([fitted.weights for fitted in fits])
        self.classes_ = classes
        self._keep(fits, self._claim(fits, declared), request.method)
        self.coef_, self.intercept_ = rows.split(weights)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Scores: for two classes one per row, positive for the second; else one per class."""
        found = self._scores(X) + self.intercept_
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The label of each row."""
        found = self.decision_function(X)
        chosen = (found > 0.0).astype(np.int64) if found.ndim == 1 else found.argmax(axis=1)
        labels: NDArray[Any] = self.classes_[chosen]
        return labels

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The probability of each class if scores are log odds (post-processing).

        That is the model of the logistic loss; scores of other losses are not calibrated.
        """
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

    def _encoded(self, labels: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
        """The classes, and the class number of each record."""
        if self.classes is None and len(labels):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # it warns by how many records there are
                check_classification_targets(labels)
        classes = np.unique(labels if self.classes is None else np.asarray(self.classes))
        if len(classes) < 2:
            if self.classes is not None:
                raise InvalidParameter(f"classes={self.classes!r} must be at least two")
            raise InvalidParameter("classes=None must be declared: y has one class only, or none")
        return classes, encoded(labels, classes).astype(np.float64)

    def _chosen(
        self, classes: int, declared: Declaration, rows: Floats | Chunks
    ) -> tuple[str, str]:
        """The method that `auto` stands for, chosen by public numbers alone, and the reason."""
        if self.method != "auto":
            return self.method, "it was asked for"
        if self.descent is not None:
            return self.descent.method, "a descent was declared"
        other = "objective" if self._loss().smooth else "output"
        if self.ridge is not None:
            return other, "a ridge was declared"
        if self.records is None and declared.relation is Relation.ADD_REMOVE:
            return other, "no number of records was declared"
        records = defaults.public_records(self.records, declared.relation, len(rows))
        parts = 1 if classes == 2 or self._has_joint else classes
        follows, why = defaults.follows_gradients(
            declared.share(parts).budget,
            declared.relation,
            dimension=rows.shape[1] * (classes if classes > 2 and parts == 1 else 1),
            records=records,
            classes=classes if parts == 1 else 2,
        )
        if classes == 2 and isinstance(self._loss(), Logistic | HuberHinge):
            why = f"{why}; {defaults.NOT_AHEAD}"
        return "gradient" if follows else other, why

    def _claim(self, fits: Sequence[Fitted], declared: Declaration) -> Claim:
        claim = together([fitted.claim for fitted in fits], declared)
        read_off = (LABELS_READ_OFF,) if self.classes is None else ()
        assumes = (*claim.assumes, *read_off)
        return Claim(claim.guarantee, claim.relation, claim.theorem, assumes)


def _one_by_one(
    request: FitRequest,
    rows: Floats | Chunks,
    indices: NDArray[Any] | Chunks,
    classes: int,
    rng: np.random.Generator,
) -> list[Fitted]:
    """One model for two classes; else one model per class against the others, with equal shares."""
    parts = 1 if classes == 2 else classes
    each = replace(request, declared=request.declared.share(parts))
    return [
        fit_weights(each, _against(index, rows, indices), rng=rng)
        for index in ([1] if parts == 1 else range(parts))
    ]


def _against(
    index: int, rows: Floats | Chunks, indices: NDArray[Any] | Chunks
) -> tuple[Floats, Floats] | Chunks:
    """The fit of one class, labeled 1, against all others, labeled −1."""
    if isinstance(rows, Chunks) or isinstance(indices, Chunks):
        return cast("Chunks", rows).map(OneClass(index))
    return OneClass(index)((rows, indices))


def _together(
    request: FitRequest,
    rows: Floats | Chunks,
    indices: NDArray[Any] | Chunks,
    classes: int,
    rng: np.random.Generator,
) -> Fitted:
    """One softmax model for all classes, on the whole budget."""
    labels = tuple(float(index) for index in range(classes))
    bounds = Bounds(norm=request.bounds.norm, labels=labels)
    joint = replace(request, loss=Softmax(classes), bounds=bounds)
    joint = joint.weighted() if request.bounds.weighted else joint
    if isinstance(rows, Chunks) or isinstance(indices, Chunks):
        return fit_weights(joint, cast("Chunks", rows), rng=rng)
    return fit_weights(joint, (rows, indices), rng=rng)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(LinearClassifier):
    """Logistic regression under differential privacy.

    Minimizes Σ ln(1 + e^(−yᵢ⟨θ, xᵢ⟩)) + (λ/2)·‖θ‖², with softmax losses for more than two classes
    and noise in the objective, or follows noisy gradients of the sum of losses for a while. The
    intercept is the weight of a constant feature, a quarter of the norm bound, and is regularized
    like the others: without that, no claim holds.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    norm_bound : float
        Every row's ℓ2 norm is at most this. Must be declared; the data are never asked.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    method : {"auto", "objective", "output", "gradient", "sgd"}
        The algorithm. "auto" follows noisy gradients where the number of records is public and
        small for the noise, and is objective perturbation elsewhere or where a ridge is declared;
        losses with corners take output perturbation. `reason_` says why.
        More than two classes are fitted jointly (softmax) on the whole budget; with "objective" and
        "output" up to 2,000 weights in all, and beyond that each class against the others, on its
        share of the budget.
    classes : sequence or None
        The labels that can occur. None reads them off `y`, and the claim says so.
    ridge : float or None
        λ, of the sum of losses. None takes `solvers.defaults.ridge`, from the dimension, the bound,
        the budget and a public number of records alone.
    records : int or None
        How many records there are, as a public number; gradient methods need it where records are
        added or removed.
    weight_bound : float or None
        Every weight in `sample_weight` lies between 0 and this; a record's loss counts with its
        weight over this bound.
    fit_intercept : bool
        Whether there is an intercept.
    descent : Descent or None
        How gradient methods go: steps, learning rate, momentum, averages, batches. None takes all
        of it from public numbers.
    clip : bool
        Scale longer rows to the norm bound and move weights into theirs, instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    coef_, intercept_, classes_
        As in scikit-learn.
    claim_ : Claim
        What was spent, and why that holds.
    certificate_ : MinimumCertificate or None
        How near the exact minimum the solver was certified to be; the claim includes the rest.
    method_, reason_ : str
        The method that was used, and why.
    ridge_ : float or None
        The λ that was used.
    utility_ : Utility or None
        What is promised about the fit's quality.
    joint_ : bool
        Whether all of several classes were fitted jointly; `PrivateSVM` and `PrivateClassifier`
        fit each of them against the others, on its share of the budget.

    >>> from dpverify import PureDP, Relation
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


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateSVM(LinearClassifier):
    """The linear support vector machine under differential privacy.

    The corner of the hinge loss is rounded off between margins 1 − `width` and 1 + `width`, since
    objective perturbation needs a gradient without jumps. Everything else is as in
    `PrivateLogisticRegression`.

    >>> from dpverify import ApproxDP, Relation
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (2000, 2))
    >>> y = X[:, 0] > 0
    >>> model = PrivateSVM(budget=ApproxDP(epsilon=1.0, delta=1e-6), norm_bound=1.0,
    ...                    relation=Relation.ADD_REMOVE, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """

    width: float = 0.5

    def _loss(self) -> Loss:
        return HuberHinge(width=self.width)


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateClassifier(LinearClassifier):
    """A linear classifier with a loss of your own, under differential privacy.

    `loss` is a loss for labels ±1, or the name of a registered one; `domain` is where the weights
    live, or the name of a registered domain. Everything else is as in `PrivateLogisticRegression`.

    >>> from dpverify import ApproxDP, Relation
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, (2000, 2))
    >>> model = PrivateClassifier(loss="huber-hinge", budget=ApproxDP(epsilon=1.0, delta=1e-6),
    ...                           norm_bound=1.0, relation=Relation.ADD_REMOVE, random_state=0)
    >>> bool(model.fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9)
    True
    """

    loss: Loss | str = "logistic"
    domain: Domain | str | None = None

    def _loss(self) -> Loss:
        return loss_named(self.loss)

    def _domain(self) -> Domain | None:
        return None if self.domain is None else domain_named(self.domain)
