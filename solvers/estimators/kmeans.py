"""k-means from noisy sums and counts of clusters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from dpverify.arrays import Floats, Ints
from dpverify.errors import InvalidParameter, check_count, check_flag
from solvers.bounds import real_matrix
from solvers.chunks import Chunks
from solvers.estimators.blocks import BoxBlock, check_chunked, read_chunks, shared_chunks
from solvers.estimators.boxes import center_and_half, feature_bounds, within_one
from solvers.estimators.declarations import (
    Declaration,
    PrivateTransformer,
    check_in_memory,
    generator,
    validated,
    weight_shares,
    with_weights,
)
from solvers.lloyd import Lloyd, Records

_INSIDE = 0.75  # of the box, where first centers lie
_CANDIDATES = 32  # for each first center


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateKMeans(ClassNamePrefixFeaturesOutMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn has no types
    """k-means under differential privacy.

    Lloyd's algorithm with noise: in each of `max_iter` steps the sums and counts of all clusters
    are released with an equal share of the budget. The first centers are public: declared, or
    drawn far apart from each other. Distances are measured in units of each feature's declared
    range, of half of it. There is no `labels_`: the cluster of a record is the record's own secret.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    low, high : float, or one a feature
        Every value lies between them. Must be declared.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    n_clusters : int
        How many centers there are.
    init : array or None
        The first centers, as public numbers within the bounds; None draws them.
    max_iter : int
        How many noisy steps there are.
    weight_bound : float or None
        Every weight in `sample_weight` lies between 0 and this.
    clip : bool
        Move values into [low, high], and weights into their bound, instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    cluster_centers_ : array
        One row a cluster.
    claim_ : Claim
        What was spent, and why that holds.

    >>> from dpverify import PureDP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(np.repeat([10.0, 30.0, 80.0], 1000)[:, None], 2.0)
    >>> model = PrivateKMeans(budget=PureDP(epsilon=2.0), low=0.0, high=100.0, n_clusters=3,
    ...                       clip=True, relation="add-remove", random_state=0).fit(X)
    >>> sorted(model.cluster_centers_[:, 0].round(-1).tolist())
    [10.0, 30.0, 80.0]
    """

    low: float | Sequence[float] | None = None
    high: float | Sequence[float] | None = None
    n_clusters: int = 8
    init: ArrayLike | None = None
    max_iter: int = 5
    weight_bound: float | None = None

    def fit(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Spend the budget on centers; bad data are refused before any noise is drawn.

        `X` may be `solvers.Chunks`, whose labels play no part; every step is a pass over them.
        """
        declared = Declaration.of(self.budget, self.relation)
        check_flag("clip", self.clip)
        feature_bounds(self.low, self.high, None)
        check_count("n_clusters", self.n_clusters)
        check_count("max_iter", self.max_iter)
        rng = generator(self.random_state)
        data: Records
        if isinstance(X, Chunks):
            check_chunked(y)
            shared = shared_chunks(X.unlabeled(), sample_weight, self.weight_bound, clip=self.clip)
            box = feature_bounds(self.low, self.high, X.source.columns)
            block = BoxBlock(*box, clip=self.clip, weighted=shared.weighted)
            data = read_chunks(self, shared.map(block), None, declared)
        else:
            rows = validated(self, X, dtype=np.float64, ensure_min_samples=declared.least_records)
            box = feature_bounds(self.low, self.high, rows.shape[1])
            shares = weight_shares(sample_weight, self.weight_bound, len(rows), clip=self.clip)
            scaled = within_one(rows, *box, clip=self.clip)
            data = scaled if shares is None else (scaled, shares)
        low, high = feature_bounds(self.low, self.high, self.n_features_in_)
        start = self._declared_start(low, high)
        lloyd = Lloyd(
            start=self._drawn_start(len(low), rng) if start is None else start,
            budget=declared.budget,
            relation=declared.relation,
            steps=self.max_iter,
        )
        released = lloyd.sample(data, 1, rng=rng)
        middle, self._half = center_and_half(low, high)
        self.cluster_centers_: Floats = middle + self._half * lloyd.centers(released)[0]
        self.n_iter_ = int(self.max_iter)
        self.claim_ = with_weights(lloyd.claim, self.weight_bound)
        return self

    def _declared_start(self, low: Floats, high: Floats) -> Floats | None:
        if self.init is None:
            return None
        start = real_matrix("init", self.init)
        wanted = (int(self.n_clusters), len(low))
        if start.shape != wanted or not ((low <= start) & (start <= high)).all():
            raise InvalidParameter(
                f"init of shape {start.shape} must be of shape {wanted}, all of it between low and "
                "high"
            )
        return within_one(start, low, high, clip=True)

    def _drawn_start(self, features: int, rng: np.random.Generator) -> Floats:
        """Starting centers without the data: each is the candidate farthest from those before."""
        chosen = rng.uniform(-_INSIDE, _INSIDE, (1, features))
        while len(chosen) < self.n_clusters:
            more = rng.uniform(-_INSIDE, _INSIDE, (_CANDIDATES, features))
            away = ((more[:, None] - chosen) ** 2).sum(axis=2).min(axis=1)
            chosen = np.vstack([chosen, more[away.argmax()]])
        return chosen

    def predict(self, X: ArrayLike) -> Ints:  # noqa: N803
        """The cluster of each row (post-processing)."""
        nearest: Ints = self._squares(X).argmin(axis=1)
        return nearest

    def transform(self, X: ArrayLike) -> Floats:  # noqa: N803
        """The distance of each row to each center, in units of half the features' ranges."""
        return np.sqrt(self._squares(X))

    def fit_predict(
        self,
        X: ArrayLike,  # noqa: N803
        y: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> Ints:
        """Fit, then predict."""
        check_in_memory(self, X)
        return self.fit(X, y, sample_weight).predict(X)

    def score(self, X: ArrayLike, y: object = None) -> float:  # noqa: ARG002, N803
        """Minus the sum of squared distances to the nearest centers."""
        return -float(self._squares(X).min(axis=1).sum())

    def _squares(self, X: ArrayLike) -> Floats:  # noqa: N803
        check_is_fitted(self)
        rows = validated(self, X, reset=False, dtype=np.float64, ensure_min_samples=0)
        squares: Floats = np.zeros((len(rows), len(self.cluster_centers_)))
        for column, half in enumerate(self._half):  # in one order, so each row's depend on it alone
            squares += ((rows[:, [column]] - self.cluster_centers_[:, column]) / half) ** 2
        return squares

    @property
    def _n_features_out(self) -> int:
        """The number of output columns, from which scikit-learn makes their names."""
        return len(self.cluster_centers_)
