"""Principal components, from one noisy release of the matrix of second moments."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_count
from dpverify.neighbors import Relation
from solvers.bounds import Bounds
from solvers.chunks import Chunks, is_sparse, weighted_labels
from solvers.estimators.blocks import (
    FeatureBlock,
    check_chunked,
    read_chunks,
    shared_chunks,
    sparse_chunks,
)
from solvers.estimators.declarations import (
    Declaration,
    PrivateTransformer,
    Rows,
    generator,
    scores,
    validated,
    weight_shares,
    with_weights,
)
from solvers.second_moments import SecondMoments

_CONSTANT = 0.5  # the feature that counts records and sums them up, in norm bounds


@dataclass(kw_only=True, eq=False, repr=False)
class PrivatePCA(ClassNamePrefixFeaturesOutMixin, PrivateTransformer):  # type: ignore[misc]  # scikit-learn has no types
    """Principal components under differential privacy.

    The matrix of second moments is released once, with noise, and everything else is computed from
    it: number of records, mean, covariance and its eigenvectors. Rows get a constant feature of
    half the norm bound for that, so that the same matrix has Σx and the count in it.

    Parameters
    ----------
    budget : PureDP or ApproxDP
        What the fit may cost. Must be declared.
    norm_bound : float
        Every row's ℓ2 norm is at most this. Must be declared; the data are never asked.
    relation : Relation
        Which data sets are neighbors. Must be declared.
    n_components : int or None
        How many components are kept; None keeps all.
    weight_bound : float or None
        Every weight in `sample_weight` lies between 0 and this.
    clip : bool
        Scale longer rows to the norm bound, and move weights into theirs, instead of refusing them.
    random_state : int, Generator, RandomState or None
        None draws fresh noise; whoever knows a seed can undo the noise.

    Attributes
    ----------
    components_, mean_, explained_variance_, explained_variance_ratio_
        As in scikit-learn's `PCA`, with noise; variances are divided by the number of records.
    noise_level_ : float
        The standard deviation of the noise in an entry of the covariance off its diagonal, a public
        number but for the count of records in it: variances below a few of these are noise.
    claim_ : Claim
        What was spent, and why that holds.

    >>> from dpverify import PureDP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1)) * [0.3, 0.3] + 0.05 * rng.normal(size=(5000, 2))
    >>> pca = PrivatePCA(budget=PureDP(epsilon=1.0), norm_bound=1.0, n_components=1, clip=True,
    ...                  relation="add-remove", random_state=0).fit(X)
    >>> pca.components_.round(1).tolist()
    [[0.7, 0.7]]
    """

    norm_bound: float | None = None
    n_components: int | None = None
    weight_bound: float | None = None

    def fit(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Spend the budget on the matrix; bad data are refused before any noise is drawn.

        `X` may be sparse, or `solvers.Chunks`, whose labels play no part.
        """
        declared = Declaration.of(self.budget, self.relation)
        checked = Rows.of(self.norm_bound, fit_intercept=False, clip=self.clip)
        rows = Rows(bound=checked.bound, constant=_CONSTANT * checked.bound, clip=checked.clip)
        if self.n_components is not None:
            check_count("n_components", self.n_components)
        rng = generator(self.random_state)
        prepared: Floats | Chunks
        if isinstance(X, Chunks):
            check_chunked(y)
            shared = shared_chunks(X.unlabeled(), sample_weight, self.weight_bound, clip=self.clip)
            block = FeatureBlock(rows, weighted=shared.weighted)
            prepared = read_chunks(self, shared.map(block, weighted=False), rows, declared)
        else:
            features = validated(
                self, X, accept_sparse="csr", dtype=np.float64,
                ensure_min_samples=declared.least_records,
            )  # fmt: skip
            records = features.shape[0]
            shares = weight_shares(sample_weight, self.weight_bound, records, clip=self.clip)
            block = FeatureBlock(rows, weighted=shares is not None)
            none = np.zeros(records)
            labels = none if shares is None else weighted_labels(none, shares)
            if is_sparse(features):
                chunks = sparse_chunks(features, labels).map(block)
                prepared = read_chunks(self, chunks, rows, declared)
            else:
                prepared = block((features, labels))[0]
        self._check_components()
        moments = SecondMoments(
            bounds=Bounds(norm=rows.norm), budget=declared.budget, relation=declared.relation
        )
        released = moments.sample(prepared, 1, rng=rng)
        counted = declared.relation is Relation.REPLACE_ONE and self.weight_bound is None
        self._learn(moments, released, rows, len(prepared) if counted else None)
        self.claim_ = with_weights(moments.claim, self.weight_bound)
        return self

    def _check_components(self) -> None:
        if self.n_components is not None and self.n_components > self.n_features_in_:
            raise InvalidParameter(
                f"n_components={self.n_components!r} must be at most the {self.n_features_in_} "
                "columns of X"
            )

    def _learn(
        self, moments: SecondMoments, released: Floats, rows: Rows, records: int | None
    ) -> None:
        """Compute the components from the noisy matrix (post-processing)."""
        matrix = moments.matrices(released)[0]
        count = max(matrix[-1, -1] / rows.constant**2 if records is None else records, 1.0)
        mean = matrix[:-1, -1] / (rows.constant * count)
        mean *= min(1.0, rows.bound / max(float(np.linalg.norm(mean)), rows.bound))
        values, vectors = np.linalg.eigh(matrix[:-1, :-1] / count - np.outer(mean, mean))
        order = np.argsort(-values, kind="stable")[: self.n_components]
        kept = vectors.T[order]
        # Largest entry positive, so that equal matrices have equal components.
        signs = np.sign(kept[np.arange(len(kept)), np.abs(kept).argmax(axis=1)])
        variances = np.maximum(values, 0.0)
        total = float(variances.sum())
        self.mean_: Floats = mean
        self.components_: Floats = kept * signs[:, None]
        self.explained_variance_: Floats = variances[order]
        self.explained_variance_ratio_: Floats = variances[order] / (total if total > 0.0 else 1.0)
        self.n_components_ = len(order)
        self.noise_level_ = moments.noise(len(matrix)).deviation / math.sqrt(2.0) / count

    def transform(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Coordinates of each row along the components, relative to the mean (post-processing)."""
        check_is_fitted(self)
        rows = validated(
            self, X, reset=False, accept_sparse="csr", dtype=np.float64, ensure_min_samples=0
        )
        return scores(rows, self.components_) - scores(self.mean_[None], self.components_)

    def inverse_transform(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Rows with these coordinates along the components."""
        check_is_fitted(self)
        return scores(np.asarray(X, np.float64), self.components_.T) + self.mean_

    @property
    def _n_features_out(self) -> int:
        """The number of output columns, from which scikit-learn makes their names."""
        return self.n_components_

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  # scikit-learn's own name and type
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
