"""Data as a schema declares them: all datasets of a finite schema, or symbols for any.

The only place that knows the classes of schemas.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice, product
from typing import Any, TypeAlias

import numpy as np

from dpverify.certifying.symbolic.reading import simple_rational
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.symbols import Symbolic
from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation
from dpverify.schema import (
    Answers,
    BoxedVector,
    Category,
    Labeled,
    Number,
    RecordDomain,
    Records,
    Schema,
    Table,
    Vector,
)

Rows: TypeAlias = tuple[Any, ...]


def is_endless(schema: Schema) -> bool:
    """Whether data may be of any length."""
    size = getattr(schema, "dimension", None) or getattr(schema, "length", None)
    return isinstance(size, tuple) and size[1] is None


def endless(schema: Schema) -> Schema | None:
    """The schema with any length from its least on; None if data are no sequence."""
    if isinstance(schema, Answers) and schema.dimension is not None:
        return replace(schema, dimension=(1, None))
    if isinstance(schema, Records) and schema.length is not None and schema.ordered:
        return replace(schema, length=(_range(schema)[0], None))
    return None


def narrowed(schema: Schema, *datasets: Rows) -> Schema:
    """A schema of any length, restricted to the lengths of some datasets; others unchanged."""
    if not is_endless(schema):
        return schema
    most = max(map(len, datasets))
    if isinstance(schema, Answers):
        return replace(schema, dimension=most)
    return replace(schema, length=(min(map(len, datasets)), most))  # type: ignore[type-var]


def finite_datasets(schema: Schema, most: int) -> list[Rows] | None:
    """All datasets as tuples of records or answers; None if they are too many."""
    if is_endless(schema):
        return None
    if isinstance(schema, Answers):
        if not schema.integer or not math.isfinite(schema.low) or not math.isfinite(schema.high):
            return None
        values: list[Any] | None = list(range(math.ceil(schema.low), math.floor(schema.high) + 1))
        lengths = [schema.least_size]
    elif isinstance(schema, Records):
        values = _values(schema.record, most)
        low, high = _range(schema)
        lengths = list(range(low, high + 1))
    else:
        return None
    if values is None or sum(len(values) ** n for n in lengths) > most:
        return None
    return [rows for n in lengths for rows in product(values, repeat=n)]


def neighboring(schema: Schema, datasets: list[Rows]) -> Iterator[tuple[Rows, Rows]]:
    """All pairs of neighbors, each in one order only."""
    if isinstance(schema, Answers):
        yield from (pair for pair in combinations(datasets, 2) if _near(schema, *pair))
    elif isinstance(schema, Records) and not schema.ordered:
        steps = (_steps(schema, a, b) for a, b in combinations(datasets, 2))
        pairs = combinations(datasets, 2)
        yield from (pair for pair, near in zip(pairs, steps, strict=True) if near)
    elif isinstance(schema, Records):
        yield from _changed(schema, datasets)


def _changed(schema: Records, datasets: list[Rows]) -> Iterator[tuple[Rows, Rows]]:
    known = {rows: i for i, rows in enumerate(datasets)}
    seen = set()
    for rows, i in known.items():
        for j in range(len(rows)):
            if schema.relation is Relation.ADD_REMOVE:
                others = [(*rows[:j], *rows[j + 1 :])]
            else:
                values = {r[j] for r in datasets if len(r) == len(rows)}
                others = [(*rows[:j], v, *rows[j + 1 :]) for v in sorted(values, key=repr)]
            for other in others:
                key = frozenset((i, known.get(other, i)))
                if len(key) == 2 and key not in seen:
                    seen.add(key)
                    yield rows, other


def _near(schema: Answers, a: Rows, b: Rows) -> bool:
    moves = [Fraction(y) - Fraction(x) for x, y in zip(a, b, strict=True)]
    reach = rational(schema.sensitivity)
    if schema.monotone and min(moves) < 0 < max(moves):
        return False
    if schema.norm == 2:
        return sum(m * m for m in moves) <= reach * reach
    sizes = [abs(m) for m in moves]
    return (sum(sizes) if schema.norm == 1 else max(sizes)) <= reach


def _steps(schema: Records, a: Rows, b: Rows) -> bool:
    lost, won = Counter(a), Counter(b)
    gone, new = (lost - won).total(), (won - lost).total()
    one = {(1, 0), (0, 1)} if schema.relation is Relation.ADD_REMOVE else {(1, 1)}
    return (gone, new) in one


def _range(schema: Records) -> tuple[int, int]:
    if schema.length is None:
        return 1, 1
    if not isinstance(schema.length, tuple):
        return schema.length, schema.length
    low, high = schema.length
    return low, sys.maxsize if high is None else high


def sizes_of(schema: Answers | Records) -> list[int | None]:
    """The least and largest number of answers or records; None if there is no largest."""
    low, high = (
        _range(schema) if isinstance(schema, Records) else (schema.least_size, schema.least_size)
    )
    return [low, None if is_endless(schema) else high]


def _values(domain: RecordDomain, most: int) -> list[Any] | None:
    if isinstance(domain, Category):
        return list(domain.values)
    if isinstance(domain, Number):
        if not domain.integer or domain.high - domain.low > most:
            return None
        return list(range(int(domain.low), int(domain.high) + 1))
    if isinstance(domain, (Labeled, Table)):
        parts = [_values(part, most) for _, part in domain.parts]
        if any(part is None for part in parts):
            return None
        made = list(product(*(part for part in parts if part is not None)))
        return made if len(made) <= most else None
    return None


def listed_records(domain: RecordDomain, most: int = 5000) -> list[Any]:
    """All records of a finite domain."""
    found = _values(domain, most)
    if found is None:
        raise NotUnderstood("there are too many records to list them")
    return found


def concrete(schema: Schema, rows: Rows) -> Any:  # noqa: ANN401
    """The dataset in the form that the mechanism takes."""
    if isinstance(schema, Answers):
        kept = [int(x) if schema.integer else float(x) for x in rows]
        return kept[0] if schema.dimension is None else np.array(kept)
    if not isinstance(schema, Records):
        raise NotUnderstood(f"a schema of the class {type(schema).__name__} is not understood")
    if schema.length is None:
        return schema.record.plain(rows[0])
    if schema.layout == "columns":
        return schema.record.columns(rows)
    return [schema.record.plain(row) for row in rows]


def pattern_rows(schema: Schema) -> Iterator[tuple[Rows, Rows]]:
    """Neighbors on which mechanisms often fail, the most promising first."""
    for candidate in schema.patterns():
        form: Any = candidate.form
        left, right = form if isinstance(form, tuple) else (form.left, form.right)
        yield tuple(left), tuple(right)


def grid_rows(schema: Schema, most: int) -> Iterator[tuple[Rows, Rows]]:
    """More neighbors with simple values: on a small grid for few answers, else at random."""
    if isinstance(schema, Answers) and not is_endless(schema) and schema.least_size <= 4:
        yield from islice(_grid(schema), most)
        return
    rng = np.random.default_rng(0)
    for _ in range(most):
        form: Any = schema.draw_pair(rng).form
        left, right = form if isinstance(form, tuple) else (form.left, form.right)
        pair = _halves(left), _halves(right)
        try:
            schema.check_neighbors(concrete(schema, pair[0]), concrete(schema, pair[1]))
        except InvalidParameter:
            continue
        yield pair


def _grid(schema: Answers) -> Iterator[tuple[Rows, Rows]]:
    n, step = schema.least_size, schema.sensitivity
    start = min(max(0.0, schema.low), schema.high)
    levels = [start + k * step for k in (0, 1, -1)]
    levels = [x for x in levels if schema.low <= x <= schema.high]
    for left in product(levels, repeat=n):
        for move in product((1, 0, -1), repeat=n):
            right = tuple(x + m * step for x, m in zip(left, move, strict=True))
            inside = all(schema.low <= x <= schema.high for x in right)
            if inside and any(move) and left < right and _near(schema, left, right):
                yield left, right


def _halves(rows: Any) -> Rows:  # noqa: ANN401
    """The numbers, rounded to halves."""

    def one(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, (tuple, list)):
            return tuple(map(one, value))
        return round(2.0 * value) / 2.0 if isinstance(value, float) else value

    return tuple(map(one, rows))


def plain_rows(rows: Rows) -> list[Any]:
    """A dataset in the form of JSON; numbers that need not be whole as rationals."""
    return [_plain(row) for row in rows]


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return str(rational(value)) if isinstance(value, float) else value


def rational(value: float) -> Fraction:
    """A declared bound as the simplest rational that it stands for."""
    simple = simple_rational(value)
    return Fraction(value) if simple is None else simple


@dataclass(frozen=True, slots=True)
class Slot:
    """One number in the data: its bounds (None if unbounded), and whether it is whole."""

    low: Fraction | None
    high: Fraction | None
    whole: bool


def slots(schema: Schema, length: int) -> list[Slot]:
    """The numbers in a dataset of so many records or answers, in the order of symbols."""
    if isinstance(schema, Answers):
        ends = [rational(e) if math.isfinite(e) else None for e in (schema.low, schema.high)]
        return [Slot(ends[0], ends[1], schema.integer)] * length
    if isinstance(schema, Records):
        return _record_slots(schema.record) * length
    raise NotUnderstood(f"a schema of the class {type(schema).__name__} is not understood")


def _record_slots(domain: RecordDomain) -> list[Slot]:
    if isinstance(domain, Number):
        return [Slot(rational(domain.low), rational(domain.high), domain.integer)]
    if isinstance(domain, BoxedVector):
        ends = zip(domain.low, domain.high, strict=True)
        return [Slot(rational(a), rational(b), whole=False) for a, b in ends]
    if isinstance(domain, Vector):
        reach = rational(domain.radius)
        return [Slot(-reach, reach, whole=False)] * domain.dimension
    raise NotUnderstood(f"records of the class {type(domain).__name__} cannot be symbols")


_FEW = 8


def record_slots(schema: Schema) -> list[Slot]:
    """The numbers in one record, or in one answer."""
    return slots(schema, 1)


def same_length(schema: Schema) -> bool:
    """Whether neighbors have equally many records or answers."""
    return isinstance(schema, Answers) or schema.relation is Relation.REPLACE_ONE


def item_values(schema: Schema) -> list[Any] | None:
    """All values of a record as a loop over the data sees them; None if they are not few."""
    if not isinstance(schema, Records):
        return None
    domain = schema.record
    if isinstance(domain, Category):
        values = list(domain.values)
    elif isinstance(domain, Number) and domain.integer and domain.high - domain.low < _FEW:
        values = list(range(math.ceil(domain.low), math.floor(domain.high) + 1))
    else:
        return None
    if len(values) > _FEW:
        raise NotUnderstood(f"records of more than {_FEW} categories are too many for loops")
    return list(concrete(schema, tuple(values)))


def symbolic(schema: Schema, length: int) -> Any:  # noqa: ANN401
    """The data in the form that the mechanism takes, with symbols x0, x1, … for its numbers."""
    if not length:
        return concrete(schema, ())
    kinds = ["int" if slot.whole else "float" for slot in slots(schema, length)]
    names = [Symbolic.symbol(f"x{i}", kind) for i, kind in enumerate(kinds)]
    if isinstance(schema, Answers):
        return names[0] if schema.dimension is None else _array(names)
    if not isinstance(schema, Records):
        raise NotUnderstood(f"a schema of the class {type(schema).__name__} is not understood")
    if isinstance(schema.record, Number):
        records: list[Any] = names
        table = _array(names)
    else:
        width = len(_record_slots(schema.record))
        records = [_array(names[i * width : (i + 1) * width]) for i in range(length)]
        table = np.empty((length, width), object)
        for i, record in enumerate(records):
            table[i] = record
    if schema.length is None:
        return records[0]
    return table if schema.layout == "columns" else records


def rows_of(schema: Schema, length: int, values: Mapping[str, float]) -> Rows:
    """The dataset of so many records whose symbols x0, x1, … have these values."""
    width = len(slots(schema, 1))
    numbers = [
        round(values[f"x{i}"]) if slot.whole else float(values[f"x{i}"])
        for i, slot in enumerate(slots(schema, length))
    ]
    if isinstance(schema, Answers) or isinstance(getattr(schema, "record", None), Number):
        return tuple(numbers)
    return tuple(tuple(numbers[i : i + width]) for i in range(0, len(numbers), width))


def flattened(schema: Schema, data: Any) -> tuple[list[float], int]:  # noqa: ANN401
    """The numbers in a dataset in the order of symbols, and its number of records."""
    if isinstance(schema, Records):
        records = [data] if schema.length is None else list(data)
        return [float(x) for record in records for x in np.ravel(record)], len(records)
    return [float(x) for x in np.ravel(data)], np.size(data)


def lengths(schema: Schema) -> list[int]:
    """How many records or answers a dataset may have."""
    if is_endless(schema):
        raise NotUnderstood("datasets of any length cannot be listed")
    if isinstance(schema, Answers):
        return [schema.least_size]
    low, high = _range(schema) if isinstance(schema, Records) else (0, 0)
    return list(range(low, high + 1))


def _array(values: list[Any]) -> Any:  # noqa: ANN401
    made = np.empty(len(values), object)
    made[:] = values
    return made
