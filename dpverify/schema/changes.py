"""One step between neighboring datasets of records: made, changed, simplified."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TypeAlias

import numpy as np

from dpverify.neighbors import Relation
from dpverify.schema.domains import Record, RecordDomain, pick

Rows: TypeAlias = tuple[Record, ...]
Maker: TypeAlias = Callable[[Record, Record, Record, int], Rows]

_LENGTHS = (1, 2, 5, 3, 10, 30)
_LONGEST = 200  # records in a pattern or a random dataset, where the schema allows fewer

SHARED: dict[str, Maker] = {
    "equal records, one changed": lambda a, _b, _m, size: (a,) * size,
    "one record made equal to the others": lambda _a, b, _m, size: (b,) * size,
    "half and half": lambda a, b, _m, size: (a,) * (size // 2) + (b,) * (size - size // 2),
    "extremes against the middle": lambda _a, _b, middle, size: (middle,) * size,
    "alternating": lambda a, b, _m, size: tuple((a, b)[i % 2] for i in range(size)),
}
"""Records that neighbors share, from two contrasting records, one between them, and a number."""


@dataclass(frozen=True, slots=True)
class Change:
    """One step between neighbors: `before` is taken out at `place` and `after` put there.

    `before` is empty where a record is added.
    """

    shared: Rows
    place: int
    before: Rows
    after: Rows

    @property
    def left(self) -> Rows:
        return (*self.shared[: self.place], *self.before, *self.shared[self.place :])

    @property
    def right(self) -> Rows:
        return (*self.shared[: self.place], *self.after, *self.shared[self.place :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The steps under a relation between datasets that share `least` to `most` records."""

    record: RecordDomain
    relation: Relation
    least: int
    most: int

    def draw(self, rng: np.random.Generator) -> Change:
        shared = draw_rows(self.record, rng, self.least, self.most)
        after = self.record.draw(rng)
        before = (self.record.draw(rng),) if self.relation is Relation.REPLACE_ONE else ()
        place = int(rng.integers(len(shared) + 1))
        return self._apart(Change(shared, place, before, (after,)))

    def between(self, left: Rows, right: Rows) -> Change:
        """The step from one dataset to its neighbor, which has no fewer records.

        Where the others stand in another order, they keep that of `left`.
        """
        differ = (i for i, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1])
        place = next(differ, len(left))
        if self.relation is Relation.ADD_REMOVE:
            new = next(row for row in right[place:] if right.count(row) > left.count(row))
            return Change(left, place, (), (new,))
        lost = next(
            i for i in range(place, len(left)) if left.count(left[i]) > right.count(left[i])
        )
        new = next(row for row in right[place:] if right.count(row) > left.count(row))
        return Change((*left[:lost], *left[lost + 1 :]), lost, (left[lost],), (new,))

    def patterns(self) -> Iterator[tuple[str, Change]]:
        """Steps on which mechanisms are known to fail, by name; the simplest first."""
        contrasts, makers, sizes = self.record.contrasts(), tuple(SHARED), self._sizes()
        ranks = product(range(len(makers)), range(len(contrasts)), range(len(sizes)))
        seen: set[frozenset[Rows]] = set()  # a pair the other way round is the same pair
        for i, j, k in sorted(ranks, key=lambda rank: (sum(rank), rank)):
            for change in self._pattern(SHARED[makers[i]], contrasts[j], sizes[k]):
                both = frozenset({change.left, change.right})
                if both not in seen:
                    seen.add(both)
                    yield makers[i], change

    def _pattern(
        self, maker: Maker, contrast: tuple[Record, Record], size: int
    ) -> Iterator[Change]:
        a, b = contrast
        middle = next((x for x in reversed(self.record.extremes()) if x not in contrast), a)
        shared = maker(a, b, middle, size)
        replaces = self.relation is Relation.REPLACE_ONE
        yield Change(shared, size, (a,) if replaces else (), (b,))
        if len(set(shared)) > 1:  # then the place may matter
            yield Change(shared, 0, (a,) if replaces else (), (b,) if replaces else (a,))

    def _sizes(self) -> list[int]:
        longest = [self.most] if self.most <= _LONGEST else []
        some = [n for n in _LENGTHS if self.least <= n <= self.most]
        return list(dict.fromkeys([*longest, self.least, *some]))

    def mutated(self, change: Change, rng: np.random.Generator) -> Change:
        """The step with one thing changed."""
        size = len(change.shared)
        options = ["after", "before"] if change.before else ["after"]
        options += ["longer"] if size < self.most else []
        options += ["shorter"] if size > self.least else []
        options += ["shared", "place", "level"] if size else []
        return self._apart(self._mutated(change, str(pick(options, rng)), rng))

    def _mutated(self, change: Change, what: str, rng: np.random.Generator) -> Change:
        shared = change.shared
        match what:
            case "after":
                return replace(change, after=(self._near(change.after[0], rng),))
            case "before":
                return replace(change, before=(self._near(change.before[0], rng),))
            case "shared":
                i = int(rng.integers(len(shared)))
                return replace(change, shared=_with(shared, i, self._near(shared[i], rng)))
            case "place":
                return replace(change, place=int(rng.integers(len(shared) + 1)))
            case "level":
                return replace(change, shared=(self.record.draw(rng),) * len(shared))
            case "longer":
                more = min(max(1, len(shared)), self.most - len(shared), _LONGEST)
                added = tuple(pick(shared or change.after, rng) for _ in range(more))
                return replace(change, shared=shared + added)
            case _:
                return _first(change, max(len(shared) // 2, self.least))

    def simpler(self, change: Change) -> Iterator[Change]:
        """Steps with fewer records, then with simpler ones; the boldest first."""
        options = chain(self._shorter(change), self._plainer(change))
        yield from (simple for simple in options if simple.before != simple.after)

    def _shorter(self, change: Change) -> Iterator[Change]:
        size = len(change.shared)
        for kept in dict.fromkeys([self.least, max(self.least, size // 2)]):
            if kept < size:
                yield _first(change, kept)
                last = change.shared[size - kept :]
                yield replace(change, shared=last, place=min(change.place, kept))
        for i in range(size if self.least < size else 0):
            without = (*change.shared[:i], *change.shared[i + 1 :])
            yield replace(change, shared=without, place=change.place - (i < change.place))

    def _plainer(self, change: Change) -> Iterator[Change]:
        shared = change.shared
        cost = sum(map(self.record.cost, shared))
        for level in dict.fromkeys([self.record.extremes()[0], *change.before, *change.after]):
            if self.record.cost(level) * len(shared) < cost:
                yield replace(change, shared=(level,) * len(shared))
        for record in change.before:
            yield from (replace(change, before=(x,)) for x in self.record.simpler(record))
        for record in change.after:
            yield from (replace(change, after=(x,)) for x in self.record.simpler(record))
        for i, record in enumerate(shared):
            plainer = self.record.simpler(record)
            yield from (replace(change, shared=_with(shared, i, x)) for x in plainer)

    def _near(self, record: Record, rng: np.random.Generator) -> Record:
        fresh = rng.random() < 0.4
        return self.record.draw(rng) if fresh else self.record.mutate(record, rng)

    def _apart(self, change: Change) -> Change:
        """The step itself, or another one if it changes nothing."""
        if change.before != change.after:
            return change
        other = next(x for x in self.record.extremes() if x != change.after[0])
        return replace(change, before=(other,))


def draw_rows(record: RecordDomain, rng: np.random.Generator, least: int, most: int) -> Rows:
    """Records at random, few different ones half of the time; short lists more often."""
    longest = max(least, min(most, _LONGEST))
    size = int(least + (longest - least + 1) * rng.random() ** 2)
    if rng.random() < 0.5:
        return tuple(record.draw(rng) for _ in range(size))
    few = [record.draw(rng) for _ in range(2)]
    return tuple(pick(few, rng) for _ in range(size))


def _with(rows: Rows, index: int, record: Record) -> Rows:
    return (*rows[:index], record, *rows[index + 1 :])


def _first(change: Change, kept: int) -> Change:
    return replace(change, shared=change.shared[:kept], place=min(change.place, kept))
