"""Datasets of records: how many, of which domain, and when two datasets are neighbors."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any, Literal, TypeAlias

import numpy as np

from dpverify.errors import InvalidParameter, check_member, plain_number
from dpverify.neighbors import Relation
from dpverify.schema.candidates import Candidate
from dpverify.schema.changes import Change, Changes, Rows, draw_rows
from dpverify.schema.domains import RecordDomain, check_domain, items
from dpverify.schema.rows import apart

Layout: TypeAlias = Literal["columns", "rows"]
_SEARCHED = 10  # records more than the least, where a search looks at data of any length


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Datasets of records of one domain, of a length or a range of lengths.

    `length` is a number, a range (least, most), a range without an end (least, None), or None where
    the data is one record itself.
    Neighbors are compared place by place; as multisets if not `ordered`. The mechanism takes
    arrays (`layout` "columns": an array, the pair (X, y), a dict of columns) or a list of records
    ("rows").

    >>> from dpverify.schema import Number
    >>> ages = Records(record=Number(low=0, high=1), length=3, relation=Relation.REPLACE_ONE)
    >>> next(ages.patterns()).right
    array([0., 0., 1.])
    >>> ages.check_neighbors([0, 0, 0], [0, 1, 1])
    Traceback (most recent call last):
    ...
    dpverify.errors.InvalidParameter: right=[0, 1, 1] must be a replace-one neighbor of left: 2 \
records differ
    """

    record: RecordDomain
    length: int | tuple[int, int | None] | None
    relation: Relation
    ordered: bool = True
    layout: Layout = "columns"

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.parse(self.relation))
        check_member("layout", self.layout, ("columns", "rows"))
        check_domain("record", self.record)
        length = tuple(self.length) if isinstance(self.length, list) else self.length
        object.__setattr__(self, "length", plain_number(length))
        adds = self.relation is Relation.ADD_REMOVE
        if self.length is None:
            if adds:
                raise InvalidParameter("length=None must go with replace-one: data is one record")
            return
        given = self.length if isinstance(self.length, tuple) else (self.length, self.length)
        endless = len(given) == 2 and given[1] is None
        ends: tuple[Any, ...] = (given[0], sys.maxsize) if endless else given
        whole = len(ends) == 2 and all(isinstance(n, int) and n is not True for n in ends)
        if not whole or not 0 <= ends[0] <= ends[1] or ends[1] < 1:
            raise InvalidParameter(
                f"length={self.length!r} must be a whole number or a range (least, most)"
            )
        if adds and ends[0] == ends[1]:
            raise InvalidParameter(
                f"length={self.length!r} must be a range: add-remove changes the length"
            )

    def check(self, data: object, name: str = "data") -> None:
        self.rows(data, name)

    def rows(self, data: object, name: str = "data") -> Rows:
        """The records of a dataset; raise if the schema does not allow it."""
        if self.length is None:
            return (self.record.record(name, data),)
        values = self.record.split(name, data) if self.layout == "columns" else items(name, data)
        low, high = self._range
        endless = isinstance(self.length, tuple) and self.length[1] is None
        if not low <= len(values) <= (len(values) if endless else high):
            wanted = (
                f"at least {low}" if endless else f"{low}" if low == high else f"{low} to {high}"
            )
            raise InvalidParameter(
                f"{name}={short(data)} must have {wanted} records, not {len(values)}"
            )
        return tuple(self.record.record(f"{name}[{i}]", v) for i, v in enumerate(values))

    def check_neighbors(self, left: object, right: object) -> None:
        a, b = self.rows(left, "left"), self.rows(right, "right")
        steps = self._steps(a, b)
        if steps == 0:
            raise InvalidParameter(
                f"right={short(right)} must differ from left: every claim holds on equal data"
            )
        wanted = f"right={short(right)} must be {_article(self.relation)} neighbor of left"
        if self.relation is Relation.ADD_REMOVE and abs(len(a) - len(b)) != 1:
            raise InvalidParameter(f"{wanted}: the lengths are {len(a)} and {len(b)}")
        if self.relation is Relation.REPLACE_ONE and len(a) != len(b):
            raise InvalidParameter(f"{wanted}: the lengths are {len(a)} and {len(b)}")
        if steps > 1:
            raise InvalidParameter(f"{wanted}: {steps} records differ")

    def _steps(self, a: Rows, b: Rows) -> int:
        """How many records differ, beyond those that the difference in length accounts for."""
        if not self.ordered:
            return max(apart(a, b))
        if len(a) == len(b):
            return sum(bool(x != y) for x, y in zip(a, b, strict=True))
        short_one, long_one = sorted((a, b), key=len)
        same = next((i for i, x in enumerate(short_one) if x != long_one[i]), len(short_one))
        gap = len(long_one) - len(short_one)
        rest = zip(short_one[same:], long_one[same + gap :], strict=True)
        return gap + sum(bool(x != y) for x, y in rest)

    def draw(self, rng: np.random.Generator) -> Any:  # noqa: ANN401
        return self._data(draw_rows(self.record, rng, *self._range))

    def draw_pair(self, rng: np.random.Generator) -> Candidate:
        return self._candidate(self._changes.draw(rng), "random")

    def patterns(self) -> Iterator[Candidate]:
        for name, change in self._changes.patterns():
            yield self._candidate(change, name)

    def paired(self, left: object, right: object) -> Candidate:
        self.check_neighbors(left, right)
        a, b = self.rows(left, "left"), self.rows(right, "right")
        if len(a) > len(b):
            a, b = b, a  # a change adds a record
        return self._candidate(self._changes.between(a, b), "given")

    def mutate(self, candidate: Candidate, rng: np.random.Generator) -> Candidate:
        changed = self._changes.mutated(_form(candidate), rng)
        return self._candidate(changed, candidate.changed_pattern)

    def simpler(self, candidate: Candidate) -> Iterator[Candidate]:
        for change in self._changes.simpler(_form(candidate)):
            yield self._candidate(change, candidate.pattern)

    def _candidate(self, change: Change, pattern: str) -> Candidate:
        left, right = self._data(change.left), self._data(change.right)
        return Candidate(left=left, right=right, pattern=pattern, form=change)

    def _data(self, rows: Rows) -> Any:  # noqa: ANN401
        if self.length is None:
            return self.record.plain(rows[0])
        if self.layout == "columns":
            return self.record.columns(rows)
        return [self.record.plain(row) for row in rows]

    @property
    def _range(self) -> tuple[int, int]:
        if self.length is None:
            return 1, 1
        if not isinstance(self.length, tuple):
            return self.length, self.length
        low, high = self.length
        return low, low + _SEARCHED if high is None else high

    @property
    def _changes(self) -> Changes:
        low, high = self._range
        least = max(low - 1, 0) if self.relation is Relation.REPLACE_ONE else low
        return Changes(record=self.record, relation=self.relation, least=least, most=high - 1)


def _form(candidate: Candidate) -> Change:
    if not isinstance(candidate.form, Change):
        raise InvalidParameter(f"candidate={short(candidate)} must come from this schema")
    return candidate.form


def _article(relation: Relation) -> str:
    return ("an " if relation.value[0] in "aeiou" else "a ") + relation.value
