"""Classifiers that make one noisy release per batch: what forests and naive Bayes share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from dpverify.arrays import Floats, Ints
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_flag
from solvers.chunks import Chunks
from solvers.estimators.blocks import (
    BoxBlock,
    check_chunked,
    check_same_classes,
    declared_classes,
    encoded,
    read_chunks,
    shared_chunks,
)
from solvers.estimators.boxes import feature_bounds, within_one
from solvers.estimators.declarations import (
    Declaration,
    PrivateEstimator,
    generator,
    in_batches,
    validated,
    weight_shares,
    with_weights,
)
from solvers.privacy.releases import Claiming

Release = TypeVar("Release", bound=Claiming)
Batch = tuple[Floats, Ints] | tuple[Floats, Ints, Floats] | Chunks
"""Rows in [−1, 1], the number of each's class, and weights if there are any; or chunks of these."""


@dataclass(kw_only=True, eq=False, repr=False)
class BatchClassifier(ClassifierMixin, PrivateEstimator, ABC, Generic[Release]):  # type: ignore[misc]  # scikit-learn has no types
    """What both classifiers take: declared bounds and classes, and noise for each batch."""

    low: float | Sequence[float] | None = None
    high: float | Sequence[float] | None = None
    classes: Sequence[Any] | None = None
    weight_bound: float | None = None

    @abstractmethod
    def _release(
        self, declared: Declaration, features: int, rng: np.random.Generator, *, first: bool
    ) -> Release:
        """The mechanism that is run on each batch; nothing else reads the data."""

    @abstractmethod
    def _learn(
        self, release: Release, data: Batch, rng: np.random.Generator, *, first: bool
    ) -> None:
        """Run the mechanism on a batch, and add the result to those of earlier batches."""

    def fit(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Spend the budget on noisy sums; bad data are refused before any noise is drawn.

        `X` may be `solvers.Chunks`, which has the labels and weights in it.
        """
        return self._fitted(X, y, sample_weight, batch=False)

    def partial_fit(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: ArrayLike | None = None,
        classes: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add the noisy sums of one more batch, which must consist of other records.

        Every batch costs its own records the whole budget, and other records nothing, as long as no
        record is in two of them: the claim assumes that. Each adds noise of its own.
        """
        check_same_classes(classes, self.classes)
        return self._fitted(X, y, sample_weight, batch=True)

    def _fitted(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        batch: bool,
    ) -> Self:
        first = not (batch and hasattr(self, "claim_"))
        number = 0 if first else self._batches
        declared = Declaration.of(self.budget, self.relation)
        check_flag("clip", self.clip)
        feature_bounds(self.low, self.high, None)
        classes = declared_classes(self.classes)
        self._check_parameters()
        rng = generator(self.random_state, batch=number)
        if not first:
            self._check_same_frame(classes)
        data = self._read(X, y, sample_weight, declared, first=first)
        release = self._release(declared, self.n_features_in_, rng, first=first)
        claim = with_weights(release.claim, self.weight_bound)
        if batch:
            claim = in_batches(claim, None if first else self.claim_)
        self._batches: int = number + 1
        self._learn(release, data, rng, first=first)
        self.classes_: NDArray[Any] = classes
        self._box = feature_bounds(self.low, self.high, self.n_features_in_)
        self._unit: float | None = self.weight_bound
        self.claim_: Claim = claim
        return self

    def _check_same_frame(self, classes: NDArray[Any]) -> None:
        """Raise if the earlier sums have other classes or feature bounds."""
        if not np.array_equal(classes, self.classes_):
            raise InvalidParameter(
                f"classes={self.classes!r} must be those of the batches before: "
                f"{self.classes_.tolist()!r}"
            )
        if not np.array_equal(feature_bounds(self.low, self.high, self.n_features_in_), self._box):
            raise InvalidParameter(
                f"low={self.low!r} and high={self.high!r} must be those of the batches before"
            )
        if self.weight_bound != self._unit:
            raise InvalidParameter(
                f"weight_bound={self.weight_bound!r} must be that of the batches before, "
                f"{self._unit!r}: it is the unit of their counts"
            )

    def _check_parameters(self) -> None:
        """Raise for bad parameters of the model, before any data are read."""

    def _read(
        self,
        X: ArrayLike | Chunks,  # noqa: N803
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        declared: Declaration,
        *,
        first: bool,
    ) -> Batch:
        """The records of a batch, after checking all bounds."""
        classes = declared_classes(self.classes)
        if isinstance(X, Chunks):
            check_chunked(y)
            shared = shared_chunks(X, sample_weight, self.weight_bound, clip=self.clip)
            low, high = feature_bounds(self.low, self.high, X.source.columns)
            block = BoxBlock(low, high, clip=self.clip, classes=classes, weighted=shared.weighted)
            return read_chunks(self, shared.map(block), None, declared, reset=first)
        rows, labels = validated(
            self, X, y, reset=first, dtype=np.float64, ensure_min_samples=declared.least_records
        )
        indices = encoded(labels, classes)
        low, high = feature_bounds(self.low, self.high, rows.shape[1])
        shares = weight_shares(sample_weight, self.weight_bound, len(rows), clip=self.clip)
        scaled = within_one(rows, low, high, clip=self.clip)
        return (scaled, indices) if shares is None else (scaled, indices, shares)
