"""What estimators do with each block of data in chunks, before any of it counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Ints
from dpverify.errors import InvalidParameter
from solvers.bounds import numbers
from solvers.chunks import ROWS, Block, Chunks
from solvers.estimators.declarations import DENSE, Declaration, Rows


def check_chunked(y: object) -> None:
    """Refuse labels beside chunks."""
    if y is not None:
        raise InvalidParameter(
            f"y={type(y).__name__} must not be given beside data in chunks, which have it in them"
        )


def declared_classes(classes: Sequence[Any] | None) -> NDArray[Any]:
    """The classes, where they are not read off the data."""
    if classes is None:
        raise InvalidParameter(
            "classes=None must be declared: labels are not read off the data here"
        )
    found = np.unique(np.asarray(classes))
    if len(found) < 2:
        raise InvalidParameter(f"classes={classes!r} must be at least two")
    return found


def check_same_classes(given: Sequence[Any] | None, declared: Sequence[Any] | None) -> None:
    """Refuse classes of a batch that are not those of the model."""
    wanted = declared_classes(declared)
    if given is not None and not np.array_equal(np.unique(np.asarray(given)), wanted):
        raise InvalidParameter(f"classes={given!r} must be those of the model: {declared!r}")


def read_chunks(model: Any, chunks: Chunks, rows: Rows, declared: Declaration) -> Chunks:  # noqa: ANN401
    """The chunks after a pass in which every record was found within its bounds."""
    features = chunks.source.columns
    found = chunks.map(_itself, width=rows.width(features)).checked()
    if len(found) < declared.least_records:
        raise InvalidParameter(f"X has {len(found)} rows; there must be {declared.least_records}")
    model.n_features_in_ = features
    return found


def encoded(labels: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """For each label the number of its class; or refuse."""
    outside = ~np.isin(labels, classes)
    if outside.any():
        listed = ", ".join(str(label) for label in classes)
        raise InvalidParameter(f"every label in y must be one of: {listed}")
    return np.searchsorted(classes, labels)


def sparse_chunks(X: Any, y: NDArray[Any]) -> Chunks:  # noqa: ANN401, N803  # a sparse matrix
    """A sparse matrix as chunks, each of which is made dense when it is its turn."""
    return Chunks.arrays(X, y, rows=max(1, min(ROWS, DENSE // X.shape[1])))


@dataclass(frozen=True, slots=True)
class FeatureBlock:
    """Rows within their bound; where labels are weights in [0, 1], scaled by their roots."""

    rows: Rows
    weighted: bool = False

    def __call__(self, block: Block) -> Block:
        features, none = self.rows.prepare(block[0], np.zeros(len(block[0])))
        # w·xxᵀ is the matrix of √w·x.
        return features * np.sqrt(block[1])[:, None] if self.weighted else features, none


@dataclass(frozen=True, slots=True, eq=False)
class EncodedBlock:
    """Rows within their bound, and the number of each record's class."""

    rows: Rows
    classes: NDArray[Any]

    def __call__(self, block: Block) -> Block:
        features, labels = block
        indices = encoded(labels, self.classes).astype(np.float64)
        return self.rows.prepare(features, indices)


def weighted_targets(targets: NDArray[Any], shares: NDArray[Any] | None) -> NDArray[Any]:
    """Targets, each with its weight if there are weights, as one array that can be cut."""
    if shares is None:
        return targets
    both = np.empty(len(targets), [("target", np.float64), ("weight", np.float64)])
    both["target"], both["weight"] = targets, shares
    return both


@dataclass(frozen=True, slots=True)
class TargetBlock:
    """Rows and targets within their bounds; `counts` must not be negative.

    Where targets have weights, both are multiplied by √w: w·(⟨θ, x⟩ − y)² is the square of these,
    which are shorter.
    """

    rows: Rows
    label_bound: float
    counts: bool = False

    def __call__(self, block: Block) -> Block:
        weighted = block[1].dtype.names is not None
        targets = numbers("y", block[1]["target"] if weighted else block[1])
        if self.counts:
            if not self.rows.clip and (targets < 0.0).any():
                raise InvalidParameter(
                    "every target in y must be 0 or more, or be clipped (clip=True)"
                )
            targets = np.maximum(targets, 0.0)
        rows, kept = self.rows.prepare(block[0], targets, label_bound=self.label_bound)
        if not weighted:
            return rows, kept
        roots = np.sqrt(block[1]["weight"])
        return rows * roots[:, None], kept * roots


@dataclass(frozen=True, slots=True)
class OneClass:
    """Label 1 for one class, −1 for the others."""

    index: int

    def __call__(self, block: Block) -> Block:
        return block[0], np.where(block[1] == self.index, 1.0, -1.0)


def _itself(block: Block) -> Block:
    return block
