"""Bounds that the caller declares for the data; they are never read off the data."""

import math
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.errors import (
    InvalidParameter,
    check_flag,
    check_positive,
    check_real,
    plain_number,
    settle_fields,
)
from solvers.chunks import Block, Chunks, split_labels, weighted_labels

Arrays: TypeAlias = tuple[ArrayLike, ArrayLike]  # features (n, d) and labels (n)
Data: TypeAlias = Arrays | Chunks

_SLACK = 2.0**-40  # rows scaled to a norm in floats are off by less, and are scaled back
_UNIT = 2.0**-53
_SMALL = 2.0**-400
_BLOCK = 1 << 15  # entries looked at at once


@dataclass(frozen=True, slots=True)
class Bounds:
    """Declared bounds on the data: the norm of every row, and the labels.

    ‖x‖₂ ≤ `norm` for every row x, and labels from the set `labels` or within ±`label_bound`. Where
    they are `weighted`, each label comes with a weight in [0, 1], as `weighted_labels` pairs them.

    Privacy constants are computed from these numbers and nothing else. No rows at all are
    data like any other, since they are neighbors of one row. A refusal names the bound and never
    the record that breaks it.

    >>> bounds = Bounds(norm=1.0, labels=(-1, 1))
    >>> X, y = bounds.clip([[3.0, 4.0], [0.0, 1.0]], [1, -1])
    >>> X.round(9).tolist()
    [[0.6, 0.8], [0.0, 1.0]]
    """

    norm: float
    labels: tuple[float, ...] | None = None
    label_bound: float | None = None
    weighted: bool = False

    def __post_init__(self) -> None:
        settle_fields(self)
        check_flag("weighted", self.weighted)
        check_positive("norm", self.norm)
        if self.labels is not None:
            object.__setattr__(self, "labels", plain_number(tuple(self.labels)))
            for label in self.labels:
                check_real("label", label)
            if len(set(self.labels)) < 2:
                raise InvalidParameter(f"labels={self.labels!r} must be at least two numbers")
        if self.label_bound is not None:
            check_positive("label_bound", self.label_bound)
        if self.labels is not None and self.label_bound is not None:
            raise InvalidParameter(
                f"label_bound={self.label_bound!r} must not be given with labels={self.labels!r}"
            )

    @property
    def largest_label(self) -> float:
        """A bound on |y|; ∞ if none was declared."""
        if self.labels is not None:
            return max(abs(float(label)) for label in self.labels)
        return math.inf if self.label_bound is None else float(self.label_bound)

    def unweighted(self) -> "Bounds":
        """The same bounds for labels without weights."""
        return replace(self, weighted=False) if self.weighted else self

    def check(self, X: ArrayLike, y: ArrayLike) -> None:  # noqa: N803
        """Raise if the data exceed the bounds."""
        self.prepare(X, y)

    def clip(self, X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:  # noqa: N803
        """The data with long rows scaled to the norm bound, and labels clipped to ±`label_bound`.

        Clipping looks at one record at a time, so it changes nothing about neighbors. Labels
        outside a declared set have no nearest allowed value, and are refused.
        """
        return self.prepare(X, y, clip=True)

    def prepare(
        self,
        X: ArrayLike,  # noqa: N803
        y: ArrayLike,
        *,
        clip: bool = False,
        constant: float = 0.0,
    ) -> tuple[Floats, Floats]:
        """Features (n, d) and labels (n) as floats that obey the bounds exactly; else raise.

        Rows that exceed the norm by a rounding error (2^-40 of it) are scaled back, clip or not;
        entries below 2^-400 of it are taken for 0, so that products of them do not underflow.
        Both look at one record at a time. A `constant` other than 0 becomes one more feature of
        every row, beyond the norm.
        """
        if self.weighted:
            own, weights = split_labels(y)
            rows, labels = self.unweighted().prepare(X, own, clip=clip, constant=constant)
            return rows, weighted_labels(labels, _shares(weights, clip=clip))
        rows, labels = real_matrix("X", X), numbers("y", y)
        if len(rows) != len(labels):
            raise InvalidParameter(
                f"y has {len(labels)} labels and X {len(rows)} rows; there must be equally many"
            )
        return self._rows(rows, clip=clip, constant=constant), self._labels(labels, clip=clip)

    def _rows(self, rows: Floats, *, clip: bool, constant: float) -> Floats:
        bound = float(self.norm)
        # The computed norm is within (d + 4) units in the last place of the true one, and so is
        # a scaled row of what it should be: twice that below the bound is certainly inside.
        certain = bound * (1.0 - 2 * (rows.shape[1] + 4) * _UNIT)
        longer = scaled = rows
        if constant != 0.0:
            longer = np.empty((len(rows), rows.shape[1] + 1))
            longer[:, -1] = constant
            scaled = longer[:, :-1]
        for part in _row_blocks(rows.shape):
            block = rows[part]
            sizes = np.abs(block)
            lengths = _norms(block, sizes, bound)
            if not clip and (lengths > bound * (1.0 + _SLACK)).any():
                raise InvalidParameter(
                    f"the norm of every row of X must be at most norm={self.norm!r}, or be clipped "
                    "(clip=True)"
                )
            long = lengths > certain
            small = _has_small(sizes, bound) and bool(
                ((sizes < _SMALL * bound) & (sizes > 0.0)).any()
            )
            if scaled is rows:
                if not long.any() and not small:
                    continue
                longer = scaled = rows.copy()
            kept = np.where(sizes < _SMALL * bound, 0.0, block) if small else block
            shares = np.where(long, certain / np.where(long, lengths, 1.0), 1.0)
            np.multiply(kept, shares[:, None], out=scaled[part])  # by 1: as it is
        return longer

    def _labels(self, labels: Floats, *, clip: bool) -> Floats:
        if self.labels is not None:
            outside = ~np.isin(labels, self.labels)
            if outside.any():
                listed = ", ".join(f"{label:g}" for label in self.labels)
                raise InvalidParameter(f"every label in y must be one of: {listed}")
        if self.label_bound is None:
            return labels
        bound = float(self.label_bound)
        if not clip and (np.abs(labels) > bound).any():
            raise InvalidParameter(
                f"every label in y must lie within ±{bound:g}, or be clipped (clip=True)"
            )
        return np.clip(labels, -bound, bound)


@dataclass(frozen=True, slots=True)
class PreparedBlock:
    """`Bounds.prepare`, for the blocks of data in chunks."""

    bounds: Bounds
    clip: bool

    def __call__(self, block: Block) -> Block:
        return self.bounds.prepare(*block, clip=self.clip)


def prepared_chunks(chunks: Chunks, bounds: Bounds, *, clip: bool) -> Chunks:
    """The chunks, after one pass that checks all bounds before anything is released."""
    change = PreparedBlock(bounds, clip)
    found = chunks if chunks.changes[-1:] == (change,) else chunks.map(change)
    return found if chunks.sizes is not None else found.checked()


class Obeying(tuple[Floats, Floats]):  # noqa: SLOT001  # a tuple with a field needs a dictionary
    """Features and labels that were checked against some bounds, so need no second check."""

    bounds: Bounds

    @classmethod
    def of(cls, arrays: tuple[Floats, Floats], bounds: Bounds) -> "Obeying":
        """Arrays that were prepared for bounds at least as tight as these."""
        found = cls(arrays)
        found.bounds = bounds
        return found


def _shares(weights: ArrayLike, *, clip: bool) -> Floats:
    found = numbers("weights of y", weights)
    if not clip and ((found < 0.0) | (found > 1.0)).any():
        raise InvalidParameter(
            "every weight of y must lie between 0 and 1, or be clipped (clip=True)"
        )
    return np.clip(found, 0.0, 1.0)


def _row_blocks(shape: tuple[int, ...]) -> list[slice]:
    """Rows in blocks that fit into the processor's cache."""
    n, d = shape
    step = max(1, _BLOCK // d)
    return [slice(first, first + step) for first in range(0, n, step)]


def _has_small(sizes: Floats, bound: float) -> bool:
    """Whether some entry is tiny or 0."""
    return not sizes.min(initial=bound) >= _SMALL * bound


def _norms(rows: Floats, sizes: Floats, bound: float) -> Floats:
    """‖row‖₂ of each row, without overflow; `sizes` are the absolute values of the entries.

    Rows that are tiny beside the bound may be taken for shorter. In rows' own order, so that a norm
    depends on its row alone, to the last bit.
    """
    rows = np.ascontiguousarray(rows)
    if _SMALL < bound < 1.0 / _SMALL:
        with np.errstate(over="ignore"):
            squares = np.einsum("ij,ij->i", rows, rows)
        if np.isfinite(squares).all():
            plain: Floats = np.sqrt(squares)
            return plain
    largest = sizes.max(axis=1)
    # A power of two, so that scaling is exact, and the norm the same where both ways are open.
    scale = np.ldexp(1.0, np.frexp(np.where(largest > 0.0, largest, 1.0))[1] - 1)
    shares = rows / scale[:, None]
    lengths: Floats = np.sqrt(np.einsum("ij,ij->i", shares, shares)) * scale
    return lengths


def real_matrix(name: str, value: ArrayLike) -> Floats:
    """Check that this is a real matrix, one row per record; messages never quote the data."""
    rows = _real(name, value)
    if rows.ndim != 2:
        raise InvalidParameter(f"{name} of shape {rows.shape} must be a matrix: one row a record")
    if rows.shape[1] == 0:
        raise InvalidParameter(f"{name} of shape {rows.shape} must have at least one column")
    return rows


def numbers(name: str, value: ArrayLike) -> Floats:
    """Check that this is a list of real numbers, possibly empty; messages never quote the data."""
    found = _real(name, value)
    if found.ndim != 1:
        raise InvalidParameter(f"{name} of shape {found.shape} must be a list of numbers")
    return found


def _real(name: str, value: ArrayLike) -> Floats:
    if np.ma.is_masked(value):
        raise InvalidParameter(f"{name} must be finite: it has masked entries")
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidParameter(f"{name} must be an array of numbers: its rows differ") from None
    if array.dtype.kind not in "biuf":
        raise InvalidParameter(f"{name} of type {array.dtype} must hold real numbers")
    floats = array.astype(np.float64, copy=False)
    with np.errstate(all="ignore"):  # a sum is finite only if all entries are, and is fast
        total = floats.sum()
    if not np.isfinite(total) and not np.isfinite(floats).all():
        raise InvalidParameter(f"{name} must be finite: it has NaN or infinite entries")
    return floats
