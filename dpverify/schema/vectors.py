"""Vectors as records, in a ball of a norm or in a box; and norms, rounded up."""

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from reprlib import repr as short
from typing import Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_count, check_member, check_positive
from dpverify.schema.domains import Record, RecordDomain, pick

ALLOWED_NORMS = (1, 2, math.inf)
ROUNDING = 1e-12
"""By this share of a bound, given data may exceed it: what normalizing and adding floats does.

Data that a schema makes keeps its bounds exactly.
"""


class _Vectors(RecordDomain):
    """What vectors in any set have in common."""

    __slots__ = ()

    def cost(self, record: Record) -> float:
        simple = self.extremes()
        if record in simple:
            return simple.index(record) / len(simple)
        return 1.0 + float(sum((x != 0.0) * (1.0 + len(repr(x)) / 20.0) for x in record))

    def simpler(self, record: Record) -> Iterator[Record]:
        own = self.cost(record)
        options = [*self.extremes(), *_fewer(record)]
        yield from (v for v in options if self._contains(v) and self.cost(v) < own)

    def columns(self, records: Sequence[Record]) -> Any:  # noqa: ANN401
        width = len(self.extremes()[0])
        return np.array(records, dtype=np.float64).reshape(len(records), width)

    def plain(self, record: Record) -> Any:  # noqa: ANN401
        return np.array(record, dtype=np.float64)

    @abstractmethod
    def _contains(self, vector: tuple[float, ...]) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector(_Vectors):
    """A vector of `dimension` numbers in the ball of `radius` of an ℓ1, ℓ2 or ℓ∞ norm.

    >>> Vector(dimension=2, radius=3.0, norm=2).contrasts()[0]
    ((-3.0, 0.0), (3.0, 0.0))
    """

    dimension: int
    radius: float
    norm: float

    def __post_init__(self) -> None:
        check_count("dimension", self.dimension)
        check_positive("radius", self.radius)
        check_member("norm", self.norm, ALLOWED_NORMS)

    def record(self, name: str, value: object) -> Record:
        vector = numbers(name, value, self.dimension)
        if length_of(vector, self.norm) > self.radius * (1.0 + ROUNDING):
            raise InvalidParameter(
                f"{name}={short(list(vector))} must have ℓ{self.norm:g} norm {self.radius:g} at "
                f"most, not {length_of(vector, self.norm):g}"
            )
        return vector

    def extremes(self) -> tuple[Record, ...]:
        first, last = (self._inside(self._unit(i)) for i in (0, self.dimension - 1))
        even = self._inside(np.ones(self.dimension))
        zero = (0.0,) * self.dimension
        return tuple(dict.fromkeys([zero, first, _negative(first), even, _negative(even), last]))

    def contrasts(self) -> tuple[tuple[Record, Record], ...]:
        zero, first, opposite, *rest = self.extremes()
        pairs = [(opposite, first), (zero, first), *((_negative(v), v) for v in rest)]
        return tuple(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))

    def draw(self, rng: np.random.Generator) -> Record:
        if rng.random() < 0.4:
            return pick(self.extremes(), rng)
        return self._inside(rng.normal(size=self.dimension), to_edge=bool(rng.random() < 0.5))

    def mutate(self, record: Record, rng: np.random.Generator) -> Record:
        moved = np.array(record) + rng.normal(size=self.dimension) * self.radius / 4.0
        return self._inside(moved, to_edge=False)

    def _contains(self, vector: tuple[float, ...]) -> bool:
        return length_of(vector, self.norm) <= self.radius

    def _unit(self, index: int) -> Floats:
        unit = np.zeros(self.dimension)
        unit[index] = 1.0
        return unit

    def _inside(self, vector: Floats, *, to_edge: bool = True) -> tuple[float, ...]:
        """The vector scaled to the edge of the ball; or only shrunk into it where it is outside."""
        size = length_of(vector.tolist(), self.norm)
        if size == 0.0:
            return (0.0,) * self.dimension
        scaled = vector * (self.radius / size if to_edge else min(1.0, self.radius / size))
        while length_of(scaled.tolist(), self.norm) > self.radius:
            scaled = scaled * (1.0 - 2.0**-50)
        return tuple(scaled.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxedVector(_Vectors):
    """A vector with low[i] ≤ value[i] ≤ high[i] in every coordinate.

    >>> BoxedVector(low=(0.0, 0.0), high=(1.0, 2.0)).contrasts()[0]
    ((0.0, 0.0), (1.0, 2.0))
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            size = len(value) if isinstance(value, (list, tuple)) else 0
            object.__setattr__(self, name, numbers(name, value, max(size, 1)))
        if len(self.low) != len(self.high) or not all(map(float.__lt__, self.low, self.high)):
            raise InvalidParameter(f"high={self.high!r} must exceed low={self.low!r} everywhere")

    def record(self, name: str, value: object) -> Record:
        vector = numbers(name, value, len(self.low))
        if not self._contains(vector):
            raise InvalidParameter(
                f"{name}={short(list(vector))} must lie between {list(self.low)} and "
                f"{list(self.high)}"
            )
        return vector

    def extremes(self) -> tuple[Record, ...]:
        zero = (0.0,) * len(self.low)
        middle = tuple((a + b) / 2.0 for a, b in zip(self.low, self.high, strict=True))
        start = (zero,) if self._contains(zero) else ()
        return tuple(dict.fromkeys([*start, self.low, self.high, middle, self._raised(self.low)]))

    def contrasts(self) -> tuple[tuple[Record, Record], ...]:
        pairs = [(self.low, self.high), (self.low, self._raised(self.low)), (self.high, self.low)]
        inner = [v for v in self.extremes() if v not in (self.low, self.high)]
        return tuple(dict.fromkeys([*pairs, *((v, self.high) for v in inner)]))

    def draw(self, rng: np.random.Generator) -> Record:
        if rng.random() < 0.4:
            return pick(self.extremes(), rng)
        return self._clamped(rng.uniform(self.low, self.high))

    def mutate(self, record: Record, rng: np.random.Generator) -> Record:
        width = np.subtract(self.high, self.low) / 4.0
        return self._clamped(np.array(record) + rng.normal(size=len(self.low)) * width)

    def _contains(self, vector: tuple[float, ...]) -> bool:
        return all(a <= x <= b for a, x, b in zip(self.low, vector, self.high, strict=True))

    def _clamped(self, vector: Floats) -> tuple[float, ...]:
        return tuple(np.clip(vector, self.low, self.high).tolist())

    def _raised(self, vector: tuple[float, ...]) -> tuple[float, ...]:
        """The vector with its first coordinate at the upper end."""
        return (self.high[0], *vector[1:])


def length_of(vector: Sequence[float | Fraction], norm: float) -> float:
    """The norm of a vector, rounded up.

    >>> length_of([3.0, 4.0], 2)
    5.0
    """
    sizes = [abs(Fraction(x)) for x in vector]
    exponent = 2 if norm == 2 else 1
    greatest = max(sizes, default=Fraction())
    power = greatest if norm == math.inf else sum((x**exponent for x in sizes), Fraction())
    # hypot is good to the last digit or two, and neither under- nor overflows on the way.
    root = math.hypot(*map(float, sizes)) if norm == 2 else float(power)
    while root < math.inf and Fraction(root) ** exponent < power:
        root = math.nextafter(root, math.inf)
    return root


def distance(a: Sequence[float], b: Sequence[float], norm: float) -> float:
    """The norm of a − b, rounded up; exact for the floats given.

    >>> distance([1.1], [0.1], 1) > 1.0
    True
    """
    return length_of([Fraction(x) - Fraction(y) for x, y in zip(a, b, strict=True)], norm)


def numbers(name: str, value: object, dimension: int) -> tuple[float, ...]:
    """`value` as a tuple of `dimension` finite floats."""
    try:
        array = np.asarray(value)
        vector = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{name}={short(value)} must be {dimension} numbers") from None
    if vector.shape != (dimension,) or array.dtype.kind not in "iuf":
        raise InvalidParameter(f"{name}={short(value)} must be {dimension} numbers")
    if not np.isfinite(vector).all():
        raise InvalidParameter(f"{name}={short(value)} must be finite")
    return tuple(vector.tolist())


def _negative(vector: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(-x + 0.0 for x in vector)


def _fewer(vector: tuple[float, ...]) -> list[tuple[float, ...]]:
    """The vector with one coordinate 0, or all of them rounded."""
    without = [(*vector[:i], 0.0, *vector[i + 1 :]) for i in range(len(vector))]
    return list(dict.fromkeys([*without, tuple(round(x, 1) for x in vector)]))
