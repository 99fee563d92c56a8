"""A random forest whose trees are drawn without the data; leaves hold noisy class counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from dpverify.arrays import Floats
from dpverify.errors import check_count
from dpverify.guarantees import PureDP
from solvers.estimators.batches import Batch, BatchClassifier
from solvers.estimators.blocks import declared_classes
from solvers.estimators.boxes import center_and_half, feature_bounds
from solvers.estimators.declarations import Declaration, validated
from solvers.random_trees import LeafCounts, RandomTrees, check_depth

_TREES = {True: 16, False: 64}  # of pure budgets, whose noise grows with the number, and of others


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateForest(BatchClassifier[LeafCounts]):
    """A random forest under differential privacy.

    Every node of every tree asks for a random feature and compares it with a random threshold
    within the declared bounds, before any data are seen. The data are asked once: how many records
    of each class are in each leaf of all trees, with noise. A row's classes are judged by the
    geometric mean of what the trees say, each tree's counts being raised by the noise's own size.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    low, high : float, or one a feature
        Every value lies between them. Must be declared; where they are wide, most leaves are empty.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    classes : sequence
        The labels that can occur. Must be declared.
    n_estimators : int or None
        How many trees there are; None takes 64, and 16 for pure budgets.
    max_depth : int
        How many questions a tree asks.
    weight_bound : float or None
        Every weight in `sample_weight` lies between 0 and this.
    clip : bool
        Move values into [low, high], and weights into their bound, instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    classes_ : array
        The labels, as declared.
    trees_ : RandomTrees
        The trees, which are public.
    counts_ : array (trees, leaves, classes)
        Noisy counts, or sums of weights over `weight_bound`.
    claim_ : Claim
        What was spent, and why that holds.

    >>> from dpverify import PureDP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 10.0, (4000, 2))
    >>> y = (X[:, 0] > 5.0) == (X[:, 1] > 5.0)
    >>> model = PrivateForest(budget=PureDP(epsilon=1.0), low=0.0, high=10.0, classes=(False, True),
    ...                       relation="add-remove", random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """

    n_estimators: int | None = None
    max_depth: int = 5

    def _check_parameters(self) -> None:
        if self.n_estimators is not None:
            check_count("n_estimators", self.n_estimators)
        check_depth("max_depth", self.max_depth)

    def _release(
        self, declared: Declaration, features: int, rng: np.random.Generator, *, first: bool
    ) -> LeafCounts:
        """Leaf counts, in the trees that were drawn for the first batch."""
        number = self.n_estimators or _TREES[isinstance(declared.budget, PureDP)]
        drawn = {"trees": number, "depth": self.max_depth, "dimension": features}
        return LeafCounts(
            trees=RandomTrees.drawn(**drawn, rng=rng) if first else self.trees_,
            classes=len(declared_classes(self.classes)),
            budget=declared.budget,
            relation=declared.relation,
        )

    def _learn(
        self, release: LeafCounts, data: Batch, rng: np.random.Generator, *, first: bool
    ) -> None:
        released = release.sample(data, 1, rng=rng)[0].reshape(release.shape)
        noise = release.noise_for(released.size).deviation
        self.trees_: RandomTrees = release.trees
        self.counts_: Floats = released if first else self.counts_ + released
        self._noise: float = noise if first else float(np.hypot(self._noise, noise))

    def predict_log_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """ln of the model's probability of each class; each row by itself."""
        check_is_fitted(self)
        rows = validated(self, X, reset=False, dtype=np.float64)
        low, high = feature_bounds(self.low, self.high, rows.shape[1])
        middle, half = center_and_half(low, high)
        raised = np.maximum(self.counts_, 0.0) + self._noise
        logs = np.log(raised / raised.sum(axis=2, keepdims=True))
        total = np.zeros((len(rows), len(self.classes_)))
        for tree, leaves in zip(logs, self.trees_.leaves((rows - middle) / half), strict=True):
            total += tree[leaves]
        total /= len(logs)
        found: Floats = total - np.log(np.exp(total).sum(axis=1, keepdims=True))
        return found

    def predict_proba(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The model's probability of each class (post-processing)."""
        shares: Floats = softmax(self.predict_log_proba(X), axis=1)
        return shares

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        likeliest = self.predict_log_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[likeliest]
        return labels
