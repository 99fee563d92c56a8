"""Datasets as rows of records, whatever holds them; and when two of them are neighbors."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from dpverify.errors import InvalidParameter, NotSupported
from dpverify.fingerprint import fingerprint
from dpverify.neighbors import Relation

Neighboring: TypeAlias = Relation | str | Callable[[Any, Any], bool]
"""A relation, its name, or a predicate of two datasets."""


def is_frame(data: object) -> bool:
    """Whether `data` is a pandas frame, without importing pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def rows_of(data: Any) -> list[Any]:  # noqa: ANN401
    """The records of a list, a tuple, an array or a frame; those of a frame have one row each."""
    if is_frame(data):
        return [data.iloc[[i]] for i in range(len(data))]
    if isinstance(data, np.ndarray) and data.ndim == 0:
        raise InvalidParameter(f"data={data!r} must be a collection of records")
    if isinstance(data, (list, tuple, np.ndarray)):
        return list(data)
    raise InvalidParameter(f"data={data!r} must be a list, tuple, array or frame of records")


def rebuilt(rows: Sequence[Any], like: Any) -> Any:  # noqa: ANN401
    """A dataset of these records, held as those of `like` are."""
    if is_frame(like):
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415  # there is a frame, so it is installed

        return pd.concat(rows, ignore_index=True) if rows else like.iloc[:0]
    if isinstance(like, np.ndarray):
        return np.array(rows, dtype=like.dtype).reshape(len(rows), *like.shape[1:])
    return type(like)(rows)


def alike(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether a record of the one dataset could stand in the other."""
    if is_frame(left):
        return bool(list(left.columns) == list(right.columns))
    return getattr(left, "shape", ())[1:] == getattr(right, "shape", ())[1:]


def same(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Whether two records, or datasets, have the same content."""
    return _content(left) == _content(right)


def apart(left: Iterable[Hashable], right: Iterable[Hashable]) -> tuple[int, int]:
    """How many records only the left dataset has, and only the right; in any order."""
    first, second = Counter(left), Counter(right)
    return (first - second).total(), (second - first).total()


def differ_in_one(left: Any, right: Any, relation: Neighboring) -> bool:  # noqa: ANN401
    """Whether two datasets are neighbors; the order of records does not matter.

    >>> differ_in_one([0, 1, 1], [1, 0], Relation.ADD_REMOVE)
    True
    >>> differ_in_one([0, 1], [0, 1], Relation.REPLACE_ONE)
    False
    """
    if not isinstance(relation, (Relation, str)):
        return bool(relation(left, right))
    lost, won = apart(_contents(left), _contents(right))
    match Relation.parse(relation):
        case Relation.REPLACE_ONE:
            return lost == won == 1
        case Relation.ADD_REMOVE:
            return lost + won == 1


def check_neighboring(left: Any, right: Any, relation: Neighboring) -> None:  # noqa: ANN401
    """Raise unless the two datasets are neighbors."""
    if not differ_in_one(left, right, relation):
        name = relation.value if isinstance(relation, Relation) else relation
        raise InvalidParameter(
            f"on=… must yield neighboring pairs: left={left!r} and right={right!r} are no "
            f"neighbors under {name!r}"
        )


def check_relation(relation: object) -> Neighboring:
    """The relation of this name, or the predicate itself; raise if it is neither."""
    if isinstance(relation, (Relation, str)):
        return Relation.parse(relation)
    if callable(relation):
        return relation
    names = ", ".join(member.value for member in Relation)
    raise InvalidParameter(f"relation={relation!r} must be one of: {names}; or a predicate")


def _contents(data: Any) -> list[int]:  # noqa: ANN401
    if is_frame(data):
        return [fingerprint(row) for row in data.to_dict("split")["data"]]
    try:
        return [_content(row) for row in rows_of(data)]
    except InvalidParameter as error:
        raise NotSupported(
            f"{error}; for other data give a predicate: relation=lambda left, right: …"
        ) from None


def _content(data: Any) -> int:  # noqa: ANN401
    """Equal for equal contents: a number of numpy equals the same number of Python."""
    if is_frame(data):
        return fingerprint(data.to_dict("split")["data"])
    return fingerprint(data.item() if isinstance(data, np.generic) else data)
