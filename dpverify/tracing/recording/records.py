"""How many records two datasets differ by, and the first that differs."""

# ruff: noqa: ANN401  # data are whatever a mechanism takes

from collections import Counter
from itertools import takewhile
from typing import Any

import numpy as np

from dpverify.auditing.sampling.spelling import canonical
from dpverify.neighbors import Relation


def first_difference(left: Any, right: Any) -> int | None:
    """The index of the first differing record; None if there are no records or no difference."""
    one, two = _rows(left), _rows(right)
    if one is None or two is None or one == two:
        return None
    pairs = zip(one, two, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def records_apart(left: Any, right: Any, relation: Relation) -> int | None:
    """The steps of the relation from one dataset to the other; None if no steps lead there.

    The order of records does not count.

    >>> records_apart([1, 2, 3], [1, 3], Relation.ADD_REMOVE)
    1
    >>> records_apart([1, 2, 3], [1, 9, 3], Relation.REPLACE_ONE)
    1
    """
    one, two = _rows(left), _rows(right)
    if one is None or two is None:
        return None
    gone, new = Counter(one) - Counter(two), Counter(two) - Counter(one)
    if relation is Relation.ADD_REMOVE:
        return gone.total() + new.total()
    return gone.total() if len(one) == len(two) else None


def numbers_apart(left: Any, right: Any) -> list[float]:
    """The numbers that only one dataset has, or has more often.

    >>> numbers_apart([1, 2, 5], [1, 2, 7])
    [5.0, 7.0]
    """
    one, two = Counter(_numbers(left)), Counter(_numbers(right))
    return [*(one - two), *(two - one)]


def _numbers(data: Any) -> list[float]:
    if isinstance(data, (dict, list, tuple)):
        parts = data.values() if isinstance(data, dict) else data
        return [number for part in parts for number in _numbers(part)]
    if hasattr(data, "columns"):
        return [number for name in data.columns for number in _numbers(data[name].to_numpy())]
    array = _array(data)
    return array.astype(np.float64).reshape(-1).tolist() if array.dtype.kind in "iuf" else []


def _rows(data: Any) -> list[Any] | None:
    """The records of a dataset as comparable values, with features and labels together."""
    if isinstance(data, tuple) and data and all(np.ndim(part) for part in map(_array, data)):
        parts = [_rows(_array(part)) for part in data]
        if len({len(part) for part in parts if part is not None}) == 1:
            return list(zip(*[part for part in parts if part is not None], strict=True))
    array = _array(data)
    if array.ndim and array.size and array.dtype.kind in "biuf":
        return [row.tobytes() for row in array.reshape(len(array), -1)]
    if isinstance(data, (list, tuple)):
        return [canonical(record) for record in data]
    return [canonical(record) for record in array.tolist()] if array.ndim else None


def _array(data: Any) -> Any:
    try:
        return np.asarray(data)
    except ValueError:  # rows of different lengths
        return np.empty(0)
