"""Data too large for memory: read in chunks, once for every pass that an algorithm makes.

Every sum over records here is a sum over chunks: of exact whole numbers (clipped gradients,
statistics), which are the same however the data are cut, or of floats whose error is counted
(gradients and Hessians of Newton's method). Chunks of a Dask collection are summed where they are.

A first pass looks at every record: whatever breaks a bound, in the last chunk too, is refused
before any noise is drawn.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported, check_count
from dpverify.waiting import waiting

Block: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
Change: TypeAlias = Callable[[Block], Block]
Work: TypeAlias = Callable[[int], Any]

ROWS = 1 << 16  # of a block, unless the data come in smaller ones


def is_sparse(X: Any) -> bool:  # noqa: ANN401, N803
    """Whether X is a sparse matrix or array of scipy."""
    return bool(issparse(X))


class Source(Protocol):
    """A source of blocks: each call runs `work` on every block and yields the results in order."""

    @property
    def columns(self) -> int: ...
    def run(self, work: "_Work", extras: Sequence[Any] | None) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Chunks:
    """Features and labels in chunks, in place of arrays: `model.fit(chunks)`.

    Made by `Chunks.arrays` (also memory-mapped ones), `Chunks.parquet` or `Chunks.dask`. Mechanisms
    take it as their `data`.

    >>> rows = np.arange(10.0).reshape(5, 2)
    >>> chunks = Chunks.arrays(rows, np.zeros(5), rows=2).checked()
    >>> chunks.shape, chunks.sizes
    ((5, 2), (2, 2, 1))
    >>> chunks.total(lambda block: block[0].sum(axis=0))
    array([20., 25.])
    """

    source: Source
    changes: tuple[Change, ...] = ()
    sizes: tuple[int, ...] | None = None
    width: int | None = None
    weighted: bool = (
        False  # whether each label comes with a weight, as `weighted_labels` pairs them
    )

    @classmethod
    def arrays(
        cls,
        X: Any,  # noqa: ANN401, N803
        y: Any,  # noqa: ANN401
        sample_weight: Any = None,  # noqa: ANN401
        *,
        rows: int = ROWS,
    ) -> "Chunks":
        """Slices of arrays, such as `numpy.load(path, mmap_mode="r")`; X may be sparse (scipy)."""
        check_count("rows", rows)
        shape = _shape("X", X)
        if len(shape) != 2 or _shape("y", y) != shape[:1]:
            raise InvalidParameter(
                f"X of shape {shape} must be a matrix, and y of shape {_shape('y', y)} a list "
                "with one label a row"
            )
        if sample_weight is not None and _shape("sample_weight", sample_weight) != shape[:1]:
            raise InvalidParameter(
                f"sample_weight of shape {_shape('sample_weight', sample_weight)} must be a list "
                f"with one weight for each of the {shape[0]} rows of X"
            )
        sliced: Any = X.tocsr() if is_sparse(X) else X
        weighted = sample_weight is not None
        return cls(_Arrays(sliced, y, sample_weight, int(rows)), weighted=weighted)

    @classmethod
    def parquet(
        cls,
        path: str | Path | Sequence[str | Path],
        target: str,
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        rows: int = ROWS,
    ) -> "Chunks":
        """Parquet files, or all those in a folder, in batches of rows; needs pyarrow.

        `weight` is the column of weights, if there is one; it is no feature.
        """
        check_count("rows", rows)
        found = _Parquet.of(path, target, weight, columns, int(rows))
        return cls(found, weighted=weight is not None)

    @classmethod
    def dask(
        cls,
        X: Any,  # noqa: ANN401, N803
        y: Any = None,  # noqa: ANN401
        sample_weight: Any = None,  # noqa: ANN401
        *,
        target: str | None = None,
        weight: str | None = None,
    ) -> "Chunks":
        """Dask arrays with equal chunks, or a Dask dataframe with columns `target` and `weight`."""
        found = _Dask.of(X, y, sample_weight, target, weight)
        return cls(found, weighted=sample_weight is not None or weight is not None)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.source.columns if self.width is None else self.width

    def __len__(self) -> int:
        if self.sizes is None:
            raise InvalidParameter(
                "sizes=None must be known: call checked() before records are counted"
            )
        return sum(self.sizes)

    def map(
        self, change: Change, *, width: int | None = None, weighted: bool | None = None
    ) -> "Chunks":
        """The chunks with a function applied to every block as it is read, record by record."""
        return replace(
            self,
            changes=(*self.changes, change),
            width=self.width if width is None else width,
            weighted=self.weighted if weighted is None else weighted,
        )

    def check_unweighted(self, who: str) -> None:
        """Refuse weights, for who knows of none."""
        if self.weighted:
            raise InvalidParameter(f"chunks with weights must come without: {who} takes no weights")

    def unlabeled(self) -> "Chunks":
        """The chunks without labels, which a file need then not have.

        Changes may need them, so changed chunks keep them.
        """
        if self.changes or not isinstance(self.source, _Parquet):
            return self
        return replace(self, source=replace(self.source, target=None))

    def checked(self) -> "Chunks":
        """The chunks after one pass that reads every block and releases nothing."""
        sizes: list[int] = []
        with waiting(lambda: f"checking, {sum(sizes):,} records"):
            sizes.extend(self.source.run(self._work(_size), None))
        return replace(self, sizes=tuple(sizes))

    def total(self, function: Callable[..., Any], extras: Sequence[Any] | None = None) -> Any:  # noqa: ANN401
        """Σ function(block), or function(block, extra), over all blocks, in their order.

        Results are arrays, or tuples of them; whole numbers are added up exactly.
        """
        found: Any = None
        for result in self._results(function, extras, "summing"):
            exact = _exact(result)
            found = exact if found is None else _added(found, exact)
        return found

    def gathered(self) -> Block:
        """All the data in memory, as arrays."""
        blocks = list(self._results(_itself, None, "reading"))
        return np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])

    def split(self, whole: NDArray[Any]) -> list[NDArray[Any]]:
        """The columns of an array (m, n), cut like the records."""
        return np.split(whole, np.cumsum(self.sizes or ())[:-1], axis=1)

    def _results(
        self, function: Callable[..., Any], extras: Sequence[Any] | None, what: str
    ) -> Iterator[Any]:
        done = 0

        def so_far() -> str:
            if self.sizes is None:
                return f"{what}, {done} chunks"
            return f"{what}, {sum(self.sizes[:done]):,} of {len(self):,} records"

        with waiting(so_far):
            for result in self.source.run(self._work(function), extras):
                done += 1
                yield result

    def _work(self, function: Callable[..., Any]) -> "_Work":
        return _Work(self.changes, function, self.source.columns)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is computed from a block, on whichever machine holds it."""

    changes: tuple[Change, ...]
    function: Callable[..., Any]
    columns: int

    def __call__(self, X: Any, y: Any, weights: Any, *extra: Any) -> Any:  # noqa: ANN401, N803
        block: Block = X.toarray() if is_sparse(X) else _array("X", X), _array("y", y)
        if block[0].ndim != 2 or block[0].shape[1] != self.columns:
            raise InvalidParameter(
                f"every chunk of X must have the {self.columns} columns of the first one"
            )
        if block[1].shape != block[0].shape[:1]:
            raise InvalidParameter(
                f"every chunk must have a label for each row: {block[1].shape} and {block[0].shape}"
            )
        if weights is not None:
            found = _array("sample_weight", weights)
            if found.shape != block[1].shape:
                raise InvalidParameter(
                    "every chunk must have a weight for each row: "
                    f"{found.shape} and {block[0].shape}"
                )
            block = block[0], weighted_labels(block[1], found)
        for change in self.changes:
            block = change(block)
        return self.function(block, *extra)


@dataclass(frozen=True, slots=True, eq=False)
class _Arrays:
    X: Any
    y: Any
    weights: Any  # None for none
    rows: int

    @property
    def columns(self) -> int:
        return int(np.shape(self.X)[1])

    def run(self, work: _Work, extras: Sequence[Any] | None) -> Iterator[Any]:
        starts = range(0, max(len(self.y), 1), self.rows)
        for index, start in enumerate(starts):
            part = slice(start, start + self.rows)
            weights = None if self.weights is None else self.weights[part]
            yield work(self.X[part], self.y[part], weights, *_extra(extras, index))


@dataclass(frozen=True, slots=True)
class _Parquet:
    paths: tuple[str, ...]
    target: str | None  # None for labels of 0
    weight: str | None  # None for no weights
    names: tuple[str, ...]
    rows: int

    @classmethod
    def of(
        cls,
        path: object,
        target: str,
        weight: str | None,
        columns: Sequence[str] | None,
        rows: int,
    ) -> "_Parquet":
        paths = _files(path)
        first = _opened(paths[0]).schema_arrow.names
        others = [target] if weight is None else [target, weight]
        names = tuple(columns or [name for name in first if name not in others])
        asked = [*names, *others]
        unlike = len({*others}) == len(others) and not {*others} & {*names}
        if not names or not unlike or not all(name in first for name in asked):
            told = "" if weight is None else f", weight={weight!r}"
            raise InvalidParameter(
                f"target={target!r}{told} and columns={list(names)!r} must be different columns of "
                f"{paths[0]}, which has: {', '.join(first)}"
            )
        return cls(paths, target, weight, names, rows)

    @property
    def columns(self) -> int:
        return len(self.names)

    def run(self, work: _Work, extras: Sequence[Any] | None) -> Iterator[Any]:
        index = 0
        for frame in self._batches():
            block = np.column_stack([_numbers(frame[name]) for name in self.names])
            labels = np.zeros(len(block)) if self.target is None else _labels(frame[self.target])
            weights = None if self.weight is None else _weights(frame[self.weight])
            yield work(block, labels, weights, *_extra(extras, index))
            index += 1
        if index == 0:
            none = np.zeros(0)
            weights = None if self.weight is None else none
            yield work(np.zeros((0, self.columns)), none, weights, *_extra(extras, 0))

    def _batches(self) -> Iterator[dict[str, Any]]:
        wanted = [*self.names, *(name for name in (self.target, self.weight) if name is not None)]
        for path in self.paths:
            file = _opened(path)
            if not set(wanted) <= set(file.schema_arrow.names):
                raise InvalidParameter(
                    f"columns of {path} must be those of {self.paths[0]}: they changed"
                )
            for group in range(file.num_row_groups):  # one at a time: all would be held at once
                batches = file.iter_batches(self.rows, row_groups=[group], columns=wanted)
                while (batch := _next(batches, path)) is not None:
                    yield {name: batch.column(name) for name in wanted}


@dataclass(frozen=True, slots=True, eq=False)
class _Dask:
    blocks: tuple[Any, ...]  # delayed triples (X, y, weights)
    width: int

    @classmethod
    def of(
        cls,
        X: Any,  # noqa: ANN401, N803
        y: Any,  # noqa: ANN401
        sample_weight: Any,  # noqa: ANN401
        target: str | None,
        weight: str | None,
    ) -> "_Dask":
        from dask.delayed import delayed  # noqa: PLC0415  # an extra

        if target is not None:
            return cls._of_frame(X, (y, sample_weight), target, weight)
        if weight is not None:
            raise InvalidParameter(
                f"weight={weight!r} must be None without target=; sample_weight= takes an array"
            )
        lists = [y] if sample_weight is None else [y, sample_weight]
        cuts: list[Any] = [getattr(each, "chunks", None) for each in (X, *lists)]
        if None in cuts or X.ndim != 2 or any(cut != cuts[0][:1] for cut in cuts[1:]):
            told = "X and y" if sample_weight is None else "X, y and sample_weight"
            raise InvalidParameter(
                f"{told} must be Dask arrays whose rows are cut alike, or target= be given"
            )
        parts = [each.to_delayed().ravel() for each in (X.rechunk({1: -1}), *lists)]
        triple = delayed(_triple, pure=True)
        blocks = tuple(triple(*each) for each in zip(*parts, strict=True))
        return cls(blocks, int(X.shape[1]))

    @classmethod
    def _of_frame(
        cls,
        frame: Any,  # noqa: ANN401
        beside: tuple[Any, Any],
        target: str,
        weight: str | None,
    ) -> "_Dask":
        from dask.delayed import delayed  # noqa: PLC0415  # an extra

        names = [name for name in frame.columns if name not in {target, weight}]
        others = 1 if weight is None else 2
        given = any(each is not None for each in beside)
        if given or len(names) != len(frame.columns) - others or not names:
            told = "" if weight is None else f" and weight={weight!r}"
            raise InvalidParameter(
                f"target={target!r}{told} must be a column of X each, given without y and "
                "sample_weight, beside other columns"
            )
        split = delayed(_split, pure=True)
        parts = frame.to_delayed()
        return cls(tuple(split(part, names, target, weight) for part in parts), len(names))

    @property
    def columns(self) -> int:
        return self.width

    def run(self, work: _Work, extras: Sequence[Any] | None) -> Iterator[Any]:
        """Run on the cluster of the current Dask client, which repeats what lost workers did."""
        from dask.base import compute  # noqa: PLC0415  # an extra
        from dask.delayed import delayed  # noqa: PLC0415
        from distributed import default_client  # noqa: PLC0415

        spread = delayed(_spread, pure=False)
        tasks = [spread(work, b, *_extra(extras, i)) for i, b in enumerate(self.blocks)]
        try:
            client = default_client()  # type: ignore[no-untyped-call]
        except ValueError:
            yield from compute(*tasks)  # type: ignore[no-untyped-call]
            return
        # Each is let go as soon as its result is here; results are small.
        futures = client.compute(tasks, optimize_graph=False)
        for index, future in enumerate(futures):
            yield future.result()
            futures[index] = None


def _spread(work: _Work, block: tuple[Any, Any, Any], *extra: Any) -> Any:  # noqa: ANN401
    return work(*block, *extra)


def _triple(X: Any, y: Any, weights: Any = None) -> tuple[Any, Any, Any]:  # noqa: ANN401, N803
    return X, y, weights


def _split(frame: Any, names: list[str], target: str, weight: str | None) -> tuple[Any, Any, Any]:  # noqa: ANN401
    """The arrays of one partition of a dataframe; raise if its columns changed."""
    wanted = (*names, target) if weight is None else (*names, target, weight)
    absent = [name for name in wanted if name not in frame.columns]
    if absent:
        raise InvalidParameter(f"columns={absent!r} must be in every partition: they changed")
    weights = None if weight is None else _array("sample_weight", frame[weight])
    return frame[names].to_numpy(), frame[target].to_numpy(), weights


def _extra(extras: Sequence[Any] | None, index: int) -> tuple[Any, ...]:
    return () if extras is None else (extras[index],)


def _shape(name: str, value: Any) -> tuple[int, ...]:  # noqa: ANN401
    try:
        return tuple(np.shape(value))
    except ValueError:
        raise InvalidParameter(f"{name} must be an array: its rows differ") from None


def _array(name: str, value: Any) -> NDArray[Any]:  # noqa: ANN401
    if np.ma.is_masked(value):
        raise InvalidParameter(f"{name} must be finite: it has masked entries")
    try:
        return np.asarray(value)
    except ValueError:
        raise InvalidParameter(f"{name} must be an array: its rows differ") from None


def weighted_labels(labels: ArrayLike, weights: ArrayLike) -> NDArray[Any]:
    """Each label with its weight, as one array that can be cut.

    >>> weighted_labels([1.0, -1.0], [0.5, 1.0])["weight"].tolist()
    [0.5, 1.0]
    """
    own, beside = np.asarray(labels), np.asarray(weights)
    pairs = np.empty(len(own), [("label", own.dtype), ("weight", beside.dtype)])
    pairs["label"], pairs["weight"] = own, beside
    return pairs


def split_labels(y: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels and weights of weighted labels; or refuse what is none."""
    pairs = np.asarray(y)
    if pairs.dtype.names != ("label", "weight"):
        raise InvalidParameter(f"y of type {pairs.dtype} must be weighted labels")
    return pairs["label"], pairs["weight"]


def _size(block: Block) -> int:
    return len(block[0])


def _itself(block: Block) -> Block:
    return block


def _exact(result: Any) -> Any:  # noqa: ANN401
    """Whole numbers as Python integers, which do not overflow."""
    if isinstance(result, tuple):
        return tuple(_exact(part) for part in result)
    array = np.asarray(result)
    return array.astype(object) if array.dtype == np.int64 else array


def _added(one: Any, other: Any) -> Any:  # noqa: ANN401
    if isinstance(one, tuple):
        return tuple(_added(a, b) for a, b in zip(one, other, strict=True))
    return one + other


# parquet


def _files(path: object) -> tuple[str, ...]:
    given = path if isinstance(path, (list, tuple)) else [path]
    found: list[str] = []
    for each in given:
        if not isinstance(each, (str, Path)) or not Path(each).exists():
            raise InvalidParameter(f"path={each!r} must be a parquet file, or a folder of them")
        place = Path(each)
        found += sorted(map(str, place.glob("*.parquet"))) if place.is_dir() else [str(place)]
    if not found:
        raise InvalidParameter(f"path={path!r} must have parquet files in it")
    return tuple(found)


def _opened(path: str) -> Any:  # noqa: ANN401  # a pyarrow.parquet.ParquetFile
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415  # an extra
    except ImportError:
        raise NotSupported(
            "pyarrow must be installed to read parquet: pip install pyarrow"
        ) from None
    try:
        return parquet.ParquetFile(path, pre_buffer=False)
    except (ArrowException, OSError):
        raise InvalidParameter(f"path={path!r} must be a whole parquet file") from None


def _next(batches: Iterable[Any], path: str) -> Any:  # noqa: ANN401
    from pyarrow import ArrowException  # noqa: PLC0415

    try:
        return next(iter(batches), None)
    except (ArrowException, OSError):
        raise InvalidParameter(f"path={path!r} must be a whole parquet file") from None


def _numbers(column: Any) -> Floats:  # noqa: ANN401  # a pyarrow column
    from pyarrow import types  # noqa: PLC0415

    kind = column.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InvalidParameter(f"features of type {kind} must be numbers")
    found: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
    return found


def _weights(column: Any) -> NDArray[Any]:  # noqa: ANN401
    """A missing weight of a column of numbers is NaN; what is no number is refused later on."""
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found


def _labels(column: Any) -> NDArray[Any]:  # noqa: ANN401
    if column.null_count:
        raise InvalidParameter(f"y of type {column.type} must be finite: it has missing entries")
    found: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found
