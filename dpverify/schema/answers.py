"""Data that is already reduced to the answers of queries, with a sensitivity in a norm."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from reprlib import repr as short
from typing import Any, TypeAlias

import numpy as np

from dpverify.errors import (
    InvalidParameter,
    check_between,
    check_count,
    check_member,
    check_positive,
    check_real,
)
from dpverify.neighbors import Relation
from dpverify.schema.answer_patterns import Answer, bases, directions
from dpverify.schema.candidates import Candidate
from dpverify.schema.domains import pick
from dpverify.schema.vectors import ALLOWED_NORMS, ROUNDING, distance, numbers

AnswerPair: TypeAlias = tuple[Answer, Answer]

_MOST_PATTERNS = 400
_SIZES = (4, 2, 3, 6, 1)  # of answers in a search, where there may be any number of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """A number (`dimension` None) or vector of answers; neighbors are within `sensitivity`.

    With a `dimension` of (least, None) there are so many answers or more, on both sides alike.
    The distance is that of an ℓ1, ℓ2 or ℓ∞ `norm`. Where the queries are `monotone`, as counts
    under add-remove are, no answer rises while another falls. `low` and `high` bound the answers,
    which are whole if `integer`. The mechanism takes a number or an array.

    >>> counts = Answers(dimension=3, sensitivity=1.0, norm=math.inf)
    >>> pair = next(counts.patterns())
    >>> pair.left, pair.right
    (array([1., 1., 1.]), array([2., 2., 2.]))
    """

    dimension: int | tuple[int, None] | None = None
    sensitivity: float
    norm: float = math.inf
    monotone: bool = False
    low: float = -math.inf
    high: float = math.inf
    integer: bool = False
    relation: Relation | None = None

    def __post_init__(self) -> None:
        check_dimension(self)
        check_positive("sensitivity", self.sensitivity)
        check_member("norm", self.norm, ALLOWED_NORMS)
        check_real("low", self.low)
        check_between("high", self.high, self.low, math.inf)
        if not self.low < self.high:
            raise InvalidParameter(f"high={self.high!r} must exceed low={self.low!r}")
        if self.integer and self.sensitivity < 1.0:
            raise InvalidParameter(
                f"sensitivity={self.sensitivity!r} must be at least 1 where answers are whole"
            )
        if self.integer and not self._ends[0] < self._ends[1]:
            raise InvalidParameter(
                f"high={self.high!r} must leave two whole numbers from low={self.low!r} on"
            )
        if self.relation is not None:
            object.__setattr__(self, "relation", Relation.parse(self.relation))

    def check(self, data: object, name: str = "data") -> None:
        self.answer(data, name)

    def answer(self, data: object, name: str = "data") -> Answer:
        """The answers as floats; raise if the schema does not allow them."""
        if self.dimension is None:
            check_real(name, data)
            values: Answer = (float(data),)  # type: ignore[arg-type]  # checked above
        elif isinstance(self.dimension, tuple):
            size = len(data) if isinstance(data, (list, tuple, np.ndarray)) else 0
            values = numbers(name, data, max(size, self.dimension[0]))
        else:
            values = numbers(name, data, self.dimension)
        if not self._allowed(values):
            kind = "whole numbers" if self.integer else "numbers"
            raise InvalidParameter(
                f"{name}={short(data)} must be {kind} in [{self.low:g}, {self.high:g}]"
            )
        return values

    def check_neighbors(self, left: object, right: object) -> None:
        a, b = self.answer(left, "left"), self.answer(right, "right")
        if len(a) != len(b):
            raise InvalidParameter(
                f"right={short(right)} must have as many answers as left, {len(a)}, not {len(b)}"
            )
        if a == b:
            raise InvalidParameter(
                f"right={short(right)} must differ from left: every claim holds on equal data"
            )
        apart = distance(a, b, self.norm)
        if apart > self.sensitivity * (1.0 + ROUNDING):
            raise InvalidParameter(
                f"right={short(right)} must be within {self.sensitivity:g} of left in ℓ"
                f"{_name(self.norm)}, not {apart:g} apart"
            )
        if self.monotone and not _one_way(a, b):
            raise InvalidParameter(
                f"right={short(right)} must not rise in one answer and fall in another: the "
                "queries are monotone"
            )

    def draw(self, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return self._data(self._draw(rng))

    def draw_pair(self, rng: np.random.Generator) -> Candidate:
        while True:
            base = self._draw(rng)
            pair = self._step(base, self._direction(rng, len(base)))
            if pair is not None:
                return self._candidate(pair, "random")

    def patterns(self) -> Iterator[Candidate]:
        of = [
            (list(self._bases(n).items()), list(self._directions(n).items())) for n in self._sizes
        ]
        counts = range(len(of)), range(len(of[0][0])), range(len(of[0][1]))
        ranks = sorted(product(*counts), key=lambda r: (sum(r), r))
        seen: set[frozenset[Answer]] = set()  # a pair the other way round is the same pair
        for k, i, j in ranks[:_MOST_PATTERNS]:
            (start, base), (way, step) = of[k][0][i], of[k][1][j]
            pair = self._step(base, step)
            if pair is not None and frozenset(pair) not in seen:
                seen.add(frozenset(pair))
                yield self._candidate(pair, f"{start}, {way}")

    def paired(self, left: object, right: object) -> Candidate:
        self.check_neighbors(left, right)
        return self._candidate((self.answer(left), self.answer(right)), "given")

    def mutate(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        left, right = self._pair(candidate)
        direction = tuple(b - a for a, b in zip(left, right, strict=True))
        for _ in range(20):
            base, step = left, direction
            what = int(rng.integers(4))
            i = int(rng.integers(len(left)))
            if what == 0:
                base = (*left[:i], self._value(rng), *left[i + 1 :])
            elif what == 1:
                step = (*step[:i], -step[i], *step[i + 1 :])
            elif what == 2:
                step = self._direction(rng, len(left))
            else:
                base = (self._value(rng),) * len(left)
            pair = self._step(base, step)
            if pair is not None and pair != (left, right):
                return self._candidate(pair, candidate.changed_pattern)
        return self.draw_pair(rng)

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        left, right = self._pair(candidate)
        own = _cost(left, right)
        fewer = _fewer(left, right) if len(left) > self.least_size else ()
        for a, b in dict.fromkeys([*fewer, *_plainer(left, right)]):
            if _cost(a, b) < own and a != b and self._neighbors(a, b):
                yield self._candidate((a, b), candidate.pattern)

    @property
    def least_size(self) -> int:
        """The smallest number of answers."""
        return self.dimension[0] if isinstance(self.dimension, tuple) else self.dimension or 1

    @property
    def _sizes(self) -> tuple[int, ...]:
        """The numbers of answers that a search looks at."""
        if not isinstance(self.dimension, tuple):
            return (self.least_size,)
        least = self.least_size
        return tuple(n for n in _SIZES if n >= least) or (least, least + 2)

    def _bases(self, size: int) -> dict[str, Answer]:
        (zero,) = self._clamped((0.0,))
        return bases(size, zero, self._unit)

    def _directions(self, size: int) -> dict[str, Answer]:
        return directions(size, self.norm, monotone=self.monotone)

    def _direction(self, rng: np.random.Generator, size: int) -> Answer:
        if rng.random() < 0.5:
            return tuple(pick(list(self._directions(size).values()), rng))
        signs = rng.choice([-1.0, 0.0, 1.0], size=size)
        if self.monotone:
            signs = np.abs(signs) * rng.choice([-1.0, 1.0])
        return tuple(signs.tolist())

    def _step(self, base: Answer, direction: Answer) -> AnswerPair | None:
        """The base and its farthest neighbor in that direction; None if there is none."""
        size = distance(direction, (0.0,) * len(direction), self.norm)
        if size == 0.0:
            return None
        if self.integer:
            # Whole steps in as many coordinates as the norm allows, one after the other.
            return self._whole_step(base, direction)
        start = self._clamped(base)
        factor = self.sensitivity / size
        for _ in range(60):
            ahead = tuple(a + factor * x + 0.0 for a, x in zip(start, direction, strict=True))
            moved = self._clamped(ahead)  # brings no two answers further apart
            if distance(start, moved, self.norm) <= self.sensitivity:
                break
            factor *= 1.0 - 2.0**-50
        return (start, moved) if start != moved and self._neighbors(start, moved) else None

    def _whole_step(self, base: Answer, direction: Answer) -> AnswerPair | None:
        start = moved = self._clamped(base)
        reach = float(math.floor(self.sensitivity))
        for i, x in enumerate(direction):
            ahead = _with(moved, i, start[i] + math.copysign(reach, x) * (x != 0.0))
            further = self._clamped(ahead)
            if self._neighbors(start, further):
                moved = further
        return (start, moved) if start != moved else None

    def _neighbors(self, a: Answer, b: Answer) -> bool:
        near = distance(a, b, self.norm) <= self.sensitivity
        ways = not self.monotone or _one_way(a, b)
        return near and ways and self._allowed(a) and self._allowed(b)

    def _allowed(self, values: Answer) -> bool:
        whole = not self.integer or all(x == math.floor(x) for x in values)
        return whole and all(math.isfinite(x) and self.low <= x <= self.high for x in values)

    def _draw(self, rng: np.random.Generator) -> Answer:
        return tuple(self._value(rng) for _ in range(self._size(rng)))

    def _size(self, rng: np.random.Generator) -> int:
        return int(pick(self._sizes, rng)) if len(self._sizes) > 1 else self.least_size

    def _value(self, rng: np.random.Generator) -> float:
        unit = self._unit
        low, high = self._ends
        low = low if math.isfinite(low) else min(high, 5.0 * unit) - 10.0 * unit
        high = high if math.isfinite(high) else max(low, -5.0 * unit) + 10.0 * unit
        value = low + unit * math.floor(rng.random() * ((high - low) / unit + 1.0))
        return float(min(max(value, low), high)) + 0.0

    def _clamped(self, values: Answer) -> Answer:
        low, high = self._ends
        return tuple(min(max(x, low), high) + 0.0 for x in values)

    @property
    def _ends(self) -> tuple[float, float]:
        """The smallest and the largest answer that is allowed."""
        low, high = float(self.low), float(self.high)
        if self.integer:
            low = float(math.ceil(low)) if math.isfinite(low) else low
            high = float(math.floor(high)) if math.isfinite(high) else high
        return low, high

    @property
    def _unit(self) -> float:
        return float(math.floor(self.sensitivity)) if self.integer else float(self.sensitivity)

    def _data(self, answer: Answer) -> Any:  # noqa: ANN401
        kept = [int(x) for x in answer] if self.integer else list(answer)
        return kept[0] if self.dimension is None else np.array(kept)

    def _candidate(self, pair: AnswerPair, pattern: str) -> Candidate:
        left, right = map(self._data, pair)
        return Candidate(left=left, right=right, pattern=pattern, form=pair)

    def _pair(self, candidate: Candidate) -> AnswerPair:
        if not isinstance(candidate.form, tuple):
            raise InvalidParameter(f"candidate={short(candidate)} must come from this schema")
        left, right = candidate.form
        return left, right


def _with(answer: Answer, index: int, value: float) -> Answer:
    return (*answer[:index], value + 0.0, *answer[index + 1 :])


def check_dimension(answers: Answers) -> None:
    """Raise unless there is a number of answers; a list of JSON becomes a tuple."""
    given: object = answers.dimension
    if isinstance(given, (list, tuple)):
        if len(given) != 2 or given[0] is None or given[1] is not None:
            raise InvalidParameter(f"dimension={given!r} must be a number, or (least, None)")
        object.__setattr__(answers, "dimension", tuple(given))
        given = given[0]
    if given is not None:
        check_count("dimension", given)


def _fewer(left: Answer, right: Answer) -> Iterator[AnswerPair]:
    """One answer less."""
    for i in range(len(left)):
        yield left[:i] + left[i + 1 :], right[:i] + right[i + 1 :]


def _plainer(left: Answer, right: Answer) -> Iterator[AnswerPair]:
    """One answer less that differs, or one that is 0 or rounded on one side."""
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        for value in (a, b):
            yield _with(left, i, value), _with(right, i, value)
        for value in (0.0, a - b, float(round(a))):
            yield _with(left, i, value), _with(right, i, value + (b - a))


def _one_way(a: Answer, b: Answer) -> bool:
    moves = [y - x for x, y in zip(a, b, strict=True)]
    return all(m >= 0.0 for m in moves) or all(m <= 0.0 for m in moves)


def _cost(a: Answer, b: Answer) -> float:
    """How many answers differ, then how much it takes to write them down."""
    differing = sum(x != y for x, y in zip(a, b, strict=True))
    written = sum((x != 0.0) * (1.0 + len(repr(x)) / 20.0) for x in (*a, *b))
    return 100.0 * differing + written


def _name(norm: float) -> str:
    return "∞" if norm == math.inf else f"{norm:g}"
