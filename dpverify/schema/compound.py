"""Records of several parts: labeled examples (x, y), and rows of a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from reprlib import repr as short
from typing import Any

import numpy as np

from dpverify.errors import InvalidParameter
from dpverify.schema.domains import Record, RecordDomain, check_domain

_MOST_EXTREMES = 12


class _Product:
    """What tuples of records of several domains have in common."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[tuple[str, RecordDomain], ...]:
        raise NotImplementedError

    @property
    def _domains(self) -> list[RecordDomain]:
        return [domain for _, domain in self.parts]

    def extremes(self) -> tuple[Record, ...]:
        ends = product(*(domain.extremes()[:4] for domain in self._domains))
        return tuple(record for record, _ in zip(ends, range(_MOST_EXTREMES), strict=False))

    def contrasts(self) -> tuple[tuple[Record, Record], ...]:
        """All parts at once, then each part alone."""
        first = [domain.contrasts()[0] for domain in self._domains]
        low, high = (tuple(pair[i] for pair in first) for i in (0, 1))
        alone = [(low, (*low[:i], high[i], *low[i + 1 :])) for i in range(len(first))]
        mixed = [(high, (*high[:i], low[i], *high[i + 1 :])) for i in range(len(first))]
        more = [tuple(d.contrasts()[-1] for d in self._domains)]
        rest = [(tuple(a for a, _ in row), tuple(b for _, b in row)) for row in more]
        pairs = [(low, high), *alone, (high, low), *mixed, *rest]
        return tuple(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))

    def draw(self, rng: np.random.Generator) -> Record:
        return tuple(domain.draw(rng) for domain in self._domains)

    def mutate(self, record: Record, rng: np.random.Generator) -> Record:
        i = int(rng.integers(len(record)))
        return (*record[:i], self._domains[i].mutate(record[i], rng), *record[i + 1 :])

    def cost(self, record: Record) -> float:
        return sum(d.cost(part) for d, part in zip(self._domains, record, strict=True))

    def simpler(self, record: Record) -> Iterator[Record]:
        for i, domain in enumerate(self._domains):
            for part in domain.simpler(record[i]):
                yield (*record[:i], part, *record[i + 1 :])

    def _column(self, records: Sequence[Record], i: int) -> Any:  # noqa: ANN401
        return self._domains[i].columns([record[i] for record in records])


@dataclass(frozen=True, slots=True, kw_only=True)
class Labeled(_Product):
    """An example (x, y). A dataset is the pair (X, y) of arrays.

    >>> from dpverify.schema import Category, Vector
    >>> record = Labeled(x=Vector(dimension=2, radius=1.0, norm=2), y=Category(values=(-1, 1)))
    >>> record.contrasts()[0]
    (((-1.0, 0.0), -1), ((1.0, 0.0), 1))
    """

    x: RecordDomain
    y: RecordDomain

    def __post_init__(self) -> None:
        for name, domain in self.parts:
            check_domain(name, domain)

    @property
    def parts(self) -> tuple[tuple[str, RecordDomain], ...]:
        return (("x", self.x), ("y", self.y))

    def record(self, name: str, value: object) -> Record:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise InvalidParameter(f"{name}={short(value)} must be a pair (x, y)")
        return self.x.record(f"{name}.x", value[0]), self.y.record(f"{name}.y", value[1])

    def columns(self, records: Sequence[Record]) -> Any:  # noqa: ANN401
        return self._column(records, 0), self._column(records, 1)

    def split(self, name: str, data: Any) -> list[object]:  # noqa: ANN401
        if not isinstance(data, (tuple, list)) or len(data) != 2:
            raise InvalidParameter(f"{name}={short(data)} must be a pair (X, y)")
        return _zipped(name, [self.x.split(f"{name}.x", data[0]), self.y.split(name, data[1])])

    def plain(self, record: Record) -> Any:  # noqa: ANN401
        return self.x.plain(record[0]), self.y.plain(record[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(_Product):
    """A row with named cells. A dataset is a dict from names to columns."""

    cells: tuple[tuple[str, RecordDomain], ...]

    def __post_init__(self) -> None:
        cells = self.cells.items() if isinstance(self.cells, Mapping) else self.cells
        object.__setattr__(self, "cells", tuple((str(name), domain) for name, domain in cells))
        names = [name for name, _ in self.cells]
        if not names or len(set(names)) < len(names):
            raise InvalidParameter(f"cells={names!r} must be one or more different names")
        for name, domain in self.cells:
            check_domain(f"cells[{name!r}]", domain)

    @property
    def parts(self) -> tuple[tuple[str, RecordDomain], ...]:
        return self.cells

    def record(self, name: str, value: object) -> Record:
        self._check_names(name, value)
        return tuple(
            domain.record(f"{name}[{key!r}]", value[key])  # type: ignore[index]  # a mapping
            for key, domain in self.cells
        )

    def columns(self, records: Sequence[Record]) -> Any:  # noqa: ANN401
        return {name: self._column(records, i) for i, (name, _) in enumerate(self.cells)}

    def split(self, name: str, data: Any) -> list[object]:  # noqa: ANN401
        self._check_names(name, data)
        columns = [domain.split(f"{name}[{key!r}]", data[key]) for key, domain in self.cells]
        names = [key for key, _ in self.cells]
        return [dict(zip(names, row, strict=True)) for row in _zipped(name, columns)]

    def plain(self, record: Record) -> Any:  # noqa: ANN401
        pairs = zip(self.cells, record, strict=True)
        return {name: domain.plain(part) for (name, domain), part in pairs}

    def _check_names(self, name: str, value: object) -> None:
        wanted = [key for key, _ in self.cells]
        if not isinstance(value, Mapping) or sorted(map(str, value)) != sorted(wanted):
            raise InvalidParameter(f"{name}={short(value)} must be a dict with the keys {wanted}")


def _zipped(name: str, columns: list[list[object]]) -> list[Any]:
    sizes = {len(column) for column in columns}
    if len(sizes) > 1:
        raise InvalidParameter(f"{name} must have columns of one length, not {sorted(sizes)}")
    return list(zip(*columns, strict=True))
