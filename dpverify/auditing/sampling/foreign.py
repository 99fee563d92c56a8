"""Read tables, tensors and sparse matrices of other libraries as arrays, dicts and fields."""

import math
from typing import Any

import numpy as np

from dpverify.auditing.sampling.parts import MOST_NUMBERS, Fields


def of_other_library(value: Any) -> Any:  # noqa: ANN401, C901  # one case a library
    """The value as arrays, dicts and fields if it comes from a known library; else None."""
    home = type(value).__module__.partition(".")[0]
    kind = type(value).__name__
    if home == "pandas" and kind == "DataFrame":
        index = _index(value) if len(value.columns) else (("index", value.index),)
        names = value.columns.names
        index += () if set(names) == {None} else (("names", list(names)),)
        places = enumerate(value.columns)
        keys = (
            list(value.columns) if value.columns.is_unique else [f"{n} at {i}" for i, n in places]
        )
        columns = {k: _series(v) for k, (_, v) in zip(keys, value.items(), strict=True)}
        return Fields(kind, (("columns", columns), *index, *_attrs(value)))
    if home == "pandas" and kind == "Series":
        named = ("values", _series(value)), ("name", value.name)
        return Fields(kind, (*named, *_index(value), *_attrs(value)))
    if home == "pandas" and kind.endswith("Index"):
        named = ("values", _series(value)), ("names", list(value.names))
        return Fields(kind, (*named, ("freq", getattr(value, "freqstr", None))))
    if home == "pandas" and kind == "Categorical":
        return _series(value)
    if home == "pyarrow" and hasattr(value, "schema") and hasattr(value, "columns"):
        rows = [column.to_pylist() for column in value.columns]
        told = [value.schema.metadata, *(field.metadata for field in value.schema)]
        metadata = (("metadata", told),) if any(told) else ()
        return Fields(kind, (("names", value.column_names), ("columns", rows), *metadata))
    if home == "polars" and kind == "DataFrame":
        return {name: value[name].to_list() for name in value.columns}
    if home == "polars" and kind == "Series":
        return Fields(kind, (("values", value.to_list()), ("name", value.name)))
    if callable(getattr(value, "toarray", None)) and hasattr(value, "nnz"):
        if math.prod(value.shape) <= MOST_NUMBERS:
            return _dense(value)
        found = value.tocoo()
        coordinates = tuple((f"at{i}", np.asarray(c)) for i, c in enumerate(found.coords))
        return Fields(kind, (("shape", list(value.shape)), ("data", found.data), *coordinates))
    if callable(getattr(value, "detach", None)) and callable(getattr(value, "cpu", None)):
        return _tensor(value)
    return None


def _dense(matrix: Any) -> Any:  # noqa: ANN401
    """A sparse matrix as an array, and where it stores explicit zeros."""
    dense = np.asarray(matrix.toarray())
    if matrix.nnz == np.count_nonzero(dense):
        return dense
    found = matrix.tocoo()
    zeros = tuple((f"zero at{i}", at[found.data == 0]) for i, at in enumerate(found.coords))
    return Fields(type(matrix).__name__, (("values", dense), *zeros))


def _tensor(value: Any) -> Any:  # noqa: ANN401
    """A tensor of PyTorch, or an object that behaves like one, as an array or a list."""
    tensor = value.detach().cpu()
    if str(getattr(tensor, "layout", "torch.strided")) != "torch.strided":
        tensor = tensor.to_dense()
    try:
        return np.array(tensor.numpy())
    except (TypeError, RuntimeError):
        return tensor.tolist()  # a type that numpy does not have


def _attrs(table: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401
    return (("attrs", table.attrs),) if table.attrs else ()


def _series(series: Any) -> Any:  # noqa: ANN401
    if hasattr(series.dtype, "categories"):
        kinds = {"categories": list(series.dtype.categories), "ordered": series.dtype.ordered}
        return {"values": series.tolist(), **kinds}
    array = np.asarray(series)
    return array if array.dtype.kind in "biufcmM" else array.tolist()


def _index(table: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401
    """The index of a table, unless it only numbers the rows."""
    index = table.index
    counts = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return () if counts and index.name is None else (("index", index),)
