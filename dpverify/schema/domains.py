"""What one record may be: a number, a category; and what every domain of records can do.

Records are kept as plain values that can be compared and hashed: numbers, tuples of numbers,
categories. A domain turns a list of them into the data that a mechanism takes (`columns`), and one
of them into what a mechanism takes as a single record (`plain`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from reprlib import repr as short
from typing import Any, Protocol, TypeAlias

import numpy as np

from dpverify.errors import InvalidParameter, check_real

Record: TypeAlias = Any
"""A number, a tuple of records, or a category: comparable and hashable."""


class RecordDomain(Protocol):
    """The records that are allowed, and which of them are worth trying first."""

    def record(self, name: str, value: object) -> Record:
        """`value` as a record; raise if this domain does not contain it."""

    def extremes(self) -> tuple[Record, ...]:
        """Records at the edge, the simplest first, and one or two inside."""

    def contrasts(self) -> tuple[tuple[Record, Record], ...]:
        """Pairs of records as different as can be, the most different first."""

    def draw(self, rng: np.random.Generator) -> Record: ...

    def mutate(self, record: Record, rng: np.random.Generator) -> Record: ...

    def cost(self, record: Record) -> float:
        """How complicated the record is to write down; 0 for the simplest."""

    def simpler(self, record: Record) -> Iterator[Record]:
        """Records of lower cost, the boldest first."""

    def columns(self, records: Sequence[Record]) -> Any:  # noqa: ANN401
        """The records as a mechanism takes them."""

    def split(self, name: str, data: Any) -> list[object]:  # noqa: ANN401
        """The values, one a record, that `columns` put together."""
        return items(name, data)

    def plain(self, record: Record) -> Any:  # noqa: ANN401
        """One record alone, as a mechanism takes it."""
        return record


def check_domain(name: str, value: object) -> None:
    """Raise unless `value` can say which records are allowed."""
    if isinstance(value, type) or not callable(getattr(value, "extremes", None)):
        raise InvalidParameter(
            f"{name}={short(value)} must say which records are allowed, such as "
            "Number(low=0, high=1)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Number(RecordDomain):
    """A number with low ≤ value ≤ high; a whole one if `integer`.

    >>> Number(low=0, high=1).extremes()
    (0.0, 1.0, 0.5)
    """

    low: float
    high: float
    integer: bool = False

    def __post_init__(self) -> None:
        for name, value in (("low", self.low), ("high", self.high)):
            check_real(name, value)
            if not math.isfinite(value) or (self.integer and value != math.floor(value)):
                kind = "a whole number" if self.integer else "finite"
                raise InvalidParameter(f"{name}={value!r} must be {kind}")
        if not self.low < self.high:
            raise InvalidParameter(f"high={self.high!r} must exceed low={self.low!r}")

    def record(self, name: str, value: object) -> Record:
        number = value.item() if isinstance(value, np.generic) else value
        is_number = isinstance(number, Real) and not isinstance(number, bool)
        if not is_number or not self.low <= number <= self.high:  # type: ignore[operator]
            raise InvalidParameter(
                f"{name}={short(number)} must be a number in [{self.low:g}, {self.high:g}]"
            )
        if self.integer and number != math.floor(number):  # type: ignore[arg-type]
            raise InvalidParameter(f"{name}={number!r} must be a whole number")
        return self._kind(float(number))  # type: ignore[arg-type]

    def extremes(self) -> tuple[Record, ...]:
        zero = (0.0,) if self.low <= 0.0 <= self.high else ()
        middle = (self.low + self.high) / 2.0
        return tuple(dict.fromkeys(map(self._kind, (*zero, self.low, self.high, middle))))

    def contrasts(self) -> tuple[tuple[Record, Record], ...]:
        low, high = self._kind(self.low), self._kind(self.high)
        inner = [x for x in self.extremes() if x not in (low, high)]
        return ((low, high), (high, low), *((x, end) for x in inner for end in (low, high)))

    def draw(self, rng: np.random.Generator) -> Record:
        if rng.random() < 0.4:
            return pick(self.extremes(), rng)
        return self._kind(float(rng.uniform(self.low, self.high)))

    def mutate(self, record: Record, rng: np.random.Generator) -> Record:
        width = (self.high - self.low) * float(rng.choice([0.01, 0.1, 0.5]))
        moved = record + rng.normal() * max(width, 1.0 if self.integer else 0.0)
        return self._kind(min(max(float(moved), self.low), self.high))

    def cost(self, record: Record) -> float:
        simple = self.extremes()
        if record in simple:
            return float(simple.index(record)) / len(simple)
        return 1.0 + len(repr(record)) / 20.0

    def simpler(self, record: Record) -> Iterator[Record]:
        rounded = [self._kind(round(float(record), digits)) for digits in (0, 1, 3)]
        allowed = [x for x in rounded if self.low <= x <= self.high]
        own = self.cost(record)
        yield from (x for x in dict.fromkeys([*self.extremes(), *allowed]) if self.cost(x) < own)

    def columns(self, records: Sequence[Record]) -> Any:  # noqa: ANN401
        return np.array(records, dtype=np.int64 if self.integer else np.float64)

    def _kind(self, value: float) -> float | int:
        return math.floor(value) if self.integer else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Category(RecordDomain):
    """One of the `values`, which are texts, numbers, booleans or None."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        if len(self.values) < 2 or len(set(self.values)) < len(self.values):
            raise InvalidParameter(f"values={self.values!r} must be two or more, all different")

    def record(self, name: str, value: object) -> Record:
        plain = value.item() if isinstance(value, np.generic) else value
        try:
            return self.values[self.values.index(plain)]
        except ValueError:
            raise InvalidParameter(
                f"{name}={short(plain)} must be one of: {', '.join(map(str, self.values))}"
            ) from None

    def extremes(self) -> tuple[Record, ...]:
        return self.values[:6]

    def contrasts(self) -> tuple[tuple[Record, Record], ...]:
        first, last = self.values[0], self.values[-1]
        pairs = [(first, last), (last, first), (first, self.values[1])]
        return tuple(dict.fromkeys(pairs))

    def draw(self, rng: np.random.Generator) -> Record:
        return pick(self.values, rng)

    def mutate(self, record: Record, rng: np.random.Generator) -> Record:
        others = [value for value in self.values if value != record]
        return pick(others, rng)

    def cost(self, record: Record) -> float:
        return self.values.index(record) / len(self.values)

    def simpler(self, record: Record) -> Iterator[Record]:
        yield from self.values[: self.values.index(record)]

    def columns(self, records: Sequence[Record]) -> Any:  # noqa: ANN401
        if all(isinstance(value, Integral) for value in self.values):
            return np.array(records, dtype=np.int64)
        return list(records)


def items(name: str, data: Any) -> list[object]:  # noqa: ANN401  # what is no list is refused
    """The entries of a list, a tuple or an array."""
    if isinstance(data, np.ndarray) and data.ndim > 0:
        return list(data)
    if isinstance(data, (list, tuple)):
        return list(data)
    raise InvalidParameter(f"{name}={short(data)} must be a list or an array of records")


def pick(options: Sequence[Record], rng: np.random.Generator) -> Record:
    """One of the options, drawn uniformly."""
    return options[int(rng.integers(len(options)))]
