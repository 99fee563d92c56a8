"""Datasets as rows of records, whatever holds them: lists, tuples, arrays, pandas frames."""

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from dpverify.errors import InvalidParameter, NotSupported
from dpverify.neighbors import Relation
from dpverify.testing.fingerprint import fingerprint

Neighboring: TypeAlias = Relation | str | Callable[[Any, Any], bool]
"""A relation, its name, or a predicate of two datasets."""


def is_frame(data: object) -> bool:
    """Whether `data` is a pandas frame; pandas itself is not asked for."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def count(data: Any) -> int:  # noqa: ANN401
    """How many records there are."""
    if isinstance(data, np.ndarray) and data.ndim == 0:
        raise InvalidParameter(f"data={data!r} must be a collection of records")
    if isinstance(data, (list, tuple, np.ndarray)) or is_frame(data):
        return len(data)
    raise InvalidParameter(f"data={data!r} must be a list, tuple, array or frame of records")


def record(data: Any, i: int) -> Any:  # noqa: ANN401
    return data.iloc[[i]] if is_frame(data) else data[i]


def without(data: Any, i: int) -> Any:  # noqa: ANN401
    """The dataset without its record i."""
    if is_frame(data):
        return data.drop(data.index[i]).reset_index(drop=True)
    if isinstance(data, np.ndarray):
        return np.delete(data, i, axis=0)
    return data[:i] + data[i + 1 :]


def inserted(data: Any, i: int, added: Any) -> Any:  # noqa: ANN401
    """The dataset with one record more, before its record i."""
    if is_frame(data):
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415  # there is a frame, so it is installed

        return pd.concat([data.iloc[:i], added, data.iloc[i:]], ignore_index=True)
    if isinstance(data, np.ndarray):
        return np.insert(data, i, added, axis=0)
    return data[:i] + type(data)([added]) + data[i:]


def replaced(data: Any, i: int, other: Any) -> Any:  # noqa: ANN401
    """The dataset with another record in place of its record i."""
    return inserted(without(data, i), i, other)


def same(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether two records, or datasets, have the same content."""
    if is_frame(left) and is_frame(right):
        rows = [frame.to_dict("split") for frame in (left, right)]
        return bool(fingerprint(rows[0]["data"]) == fingerprint(rows[1]["data"]))
    return fingerprint(_plain(left)) == fingerprint(_plain(right))


def differ_in_one(left: Any, right: Any, relation: Neighboring) -> bool:  # noqa: ANN401
    """Whether two datasets are neighbors; the order of records does not matter.

    >>> differ_in_one([0, 1, 1], [1, 0], Relation.ADD_REMOVE)
    True
    >>> differ_in_one([0, 1], [0, 1], Relation.REPLACE_ONE)
    False
    """
    if not isinstance(relation, (Relation, str)):
        return bool(relation(left, right))
    first, second = _bag(left), _bag(right)
    more, fewer = (first - second).total(), (second - first).total()
    match Relation.parse(relation):
        case Relation.REPLACE_ONE:
            return more == fewer == 1
        case Relation.ADD_REMOVE:
            return more + fewer == 1


def check_neighboring(left: Any, right: Any, relation: Neighboring) -> None:  # noqa: ANN401
    """Raise unless the two are neighbors."""
    if not differ_in_one(left, right, relation):
        name = relation.value if isinstance(relation, Relation) else relation
        raise InvalidParameter(
            f"on=… must yield neighboring pairs: left={left!r} and right={right!r} are no "
            f"neighbors under {name!r}"
        )


def check_relation(relation: object) -> Neighboring:
    """The relation that was meant; raise if there is none."""
    if isinstance(relation, (Relation, str)):
        return Relation.parse(relation)
    if callable(relation):
        return relation
    names = ", ".join(member.value for member in Relation)
    raise InvalidParameter(f"relation={relation!r} must be one of: {names}; or a predicate")


def _bag(data: Any) -> Counter[int]:  # noqa: ANN401
    if is_frame(data):
        return Counter(fingerprint(row) for row in data.to_dict("split")["data"])
    try:
        size = count(data)
    except InvalidParameter as error:
        raise NotSupported(
            f"{error}; for other data give a predicate: relation=lambda left, right: …"
        ) from None
    return Counter(fingerprint(_plain(data[i])) for i in range(size))


def _plain(record: Any) -> Any:  # noqa: ANN401
    """Numbers without their numpy types, so that a row of an array equals the list of it."""
    return record.item() if isinstance(record, np.generic) else record
