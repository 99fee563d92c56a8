"""What estimators do with each block of chunked data before it is used."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from dpverify.errors import InvalidParameter
from solvers.bounds import numbers, real_matrix
from solvers.chunks import ROWS, Block, Chunks, split_labels, weighted_labels
from solvers.estimators.boxes import within_one
from solvers.estimators.declarations import DENSE, Declaration, Rows, weight_shares


def check_chunked(y: object, sample_weight: object = None) -> None:
    """Raise if labels or weights are given next to chunks, which contain them."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise InvalidParameter(
                f"{name}={type(value).__name__} must not be given beside data in chunks, which "
                "have it in them"
            )


def shared_chunks(
    chunks: Chunks, sample_weight: object, weight_bound: float | None, *, clip: bool
) -> Chunks:
    """The chunks with each weight as a share of the bound, where one was declared."""
    check_chunked(None, sample_weight)
    if weight_bound is not None:
        block = SharesBlock(weight_bound, clip=clip, weighted=chunks.weighted)
        return chunks.map(block, weighted=True)
    if chunks.weighted:
        raise InvalidParameter(
            "weight_bound=None must be declared beside chunks with weights: a bound on every weight"
        )
    return chunks


def declared_classes(classes: Sequence[Any] | None) -> NDArray[Any]:
    """The classes from the `classes` parameter, where they are not read off the data."""
    if classes is None:
        raise InvalidParameter(
            "classes=None must be declared: labels are not read off the data here"
        )
    found = np.unique(np.asarray(classes))
    if len(found) < 2:
        raise InvalidParameter(f"classes={classes!r} must be at least two")
    return found


def check_same_classes(given: Sequence[Any] | None, declared: Sequence[Any] | None) -> None:
    """Raise if the classes of a batch differ from the model's."""
    wanted = declared_classes(declared)
    if given is not None and not np.array_equal(np.unique(np.asarray(given)), wanted):
        raise InvalidParameter(f"classes={given!r} must be those of the model: {declared!r}")


def read_chunks(
    model: Any,  # noqa: ANN401
    chunks: Chunks,
    rows: Rows | None,
    declared: Declaration,
    *,
    reset: bool = True,
) -> Chunks:
    """The chunks after one pass that checks every record against its bounds.

    Where `rows` are None no column is added. Without `reset` the columns must be as many as those
    that the model knows.
    """
    features = chunks.source.columns
    if not reset and features != model.n_features_in_:
        raise InvalidParameter(
            f"X has {features} columns; there must be {model.n_features_in_}, as before"
        )
    width = features if rows is None else rows.width(features)
    found = chunks.map(_itself, width=width).checked()
    if len(found) < declared.least_records:
        raise InvalidParameter(f"X has {len(found)} rows; there must be {declared.least_records}")
    model.n_features_in_ = features
    if reset:
        vars(model).pop("feature_names_in_", None)  # chunks have none
    return found


def check_plain(labels: NDArray[Any]) -> None:
    """Raise if labels have several fields, such as weights."""
    if labels.dtype.names is not None:
        raise InvalidParameter(
            f"y of type {labels.dtype} must have one label a record, and weights stand in "
            "sample_weight"
        )


def encoded(labels: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """The class number of each label; raise for a label of no class."""
    check_plain(labels)
    outside = ~np.isin(labels, classes)
    if outside.any():
        listed = ", ".join(str(label) for label in classes)
        raise InvalidParameter(f"every label in y must be one of: {listed}")
    return np.searchsorted(classes, labels)


def sparse_chunks(X: Any, y: NDArray[Any]) -> Chunks:  # noqa: ANN401, N803  # a sparse matrix
    """A sparse matrix as chunks, each made dense only when it is read."""
    return Chunks.arrays(X, y, rows=max(1, min(ROWS, DENSE // X.shape[1])))


@dataclass(frozen=True, slots=True)
class SharesBlock:
    """Labels with weights in [0, 1]: what was given over the bound, or 1 over it for none."""

    bound: float
    clip: bool
    weighted: bool

    def __call__(self, block: Block) -> Block:
        rows, labels = block
        given = None
        if self.weighted:
            labels, given = split_labels(labels)
        check_plain(labels)
        shares = weight_shares(given, self.bound, len(rows), clip=self.clip)
        return rows, weighted_labels(labels, np.ones(len(rows)) if shares is None else shares)


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """Rows within their bound; where labels have weights in [0, 1], scaled by their roots."""

    rows: Rows
    weighted: bool = False

    def __call__(self, block: Block) -> Block:
        features, none = self.rows.prepare(block[0], np.zeros(len(block[0])))
        if not self.weighted:
            return features, none
        # w·xxᵀ is the matrix of √w·x.
        return features * np.sqrt(split_labels(block[1])[1])[:, None], none


@dataclass(frozen=True, slots=True, eq=False)
class EncodedBlock:
    """Rows within their norm bound, and the class number of each record.

    Labels are `weighted` where the caller gave weights, and nowhere else.
    """

    rows: Rows
    classes: NDArray[Any]
    weighted: bool = False

    def __call__(self, block: Block) -> Block:
        features, labels = block
        if self.weighted:
            own, weights = split_labels(labels)
            rows, indices = replace(self, weighted=False)((features, own))
            return rows, weighted_labels(indices, weights)
        return self.rows.prepare(features, encoded(labels, self.classes).astype(np.float64))


@dataclass(frozen=True, slots=True)
class TargetBlock:
    """Rows and targets within their bounds; for `counts`, targets must not be negative.

    Labels are `weighted` where the caller gave weights. Those of `squared` losses go into both, as
    √w: w·(⟨θ, x⟩ − y)² is the square of these, which are shorter.
    """

    rows: Rows
    label_bound: float
    counts: bool = False
    squared: bool = False
    weighted: bool = False

    def __call__(self, block: Block) -> Block:
        if self.weighted:
            own, weights = split_labels(block[1])
            rows, kept = replace(self, weighted=False)((block[0], own))
            if not self.squared:
                return rows, weighted_labels(kept, weights)
            roots = np.sqrt(weights)
            return rows * roots[:, None], kept * roots
        check_plain(block[1])
        targets = numbers("y", block[1])
        if self.counts:
            if not self.rows.clip and (targets < 0.0).any():
                raise InvalidParameter(
                    "every target in y must be 0 or more, or be clipped (clip=True)"
                )
            targets = np.maximum(targets, 0.0)
        return self.rows.prepare(block[0], targets, label_bound=self.label_bound)


@dataclass(frozen=True, slots=True, eq=False)
class BoxBlock:
    """Features moved from [low, high] to [−1, 1]; and the number of each record's class, if any.

    Labels are `weighted` where the caller gave weights.
    """

    low: Floats
    high: Floats
    clip: bool
    classes: NDArray[Any] | None = None
    weighted: bool = False

    def __call__(self, block: Block) -> Block:
        if self.weighted:
            own, weights = split_labels(block[1])
            scaled, indices = replace(self, weighted=False)((block[0], own))
            return scaled, weighted_labels(indices, weights)
        rows = real_matrix("X", block[0])
        scaled = within_one(rows, self.low, self.high, clip=self.clip)
        if self.classes is None:
            return scaled, np.zeros(len(rows))
        return scaled, encoded(block[1], self.classes)


@dataclass(frozen=True, slots=True)
class OneClass:
    """Labels for one class against the others: 1 for the class, −1 for the rest."""

    index: int

    def __call__(self, block: Block) -> Block:
        rows, indices = block
        if indices.dtype.names is not None:
            own, weights = split_labels(indices)
            return rows, weighted_labels(self((rows, own))[1], weights)
        return rows, np.where(indices == self.index, 1.0, -1.0)


def _itself(block: Block) -> Block:
    return block
