"""A block of draws as columns of numbers and texts; events are statements about these columns.

A block of draws becomes

- *columns*: one float per draw, named as a reader would write them: `output`, `output[3]`,
  `output['total']`, `len(output)`; NaN where a draw has no such number;
- *texts*: one canonical text per draw for the whole output and for every part that is not always
  a number.

Equal outputs have equal texts. An exception and a time-out are outputs like any other. Events are
functions of these, hence post-processing: whatever is lost here can cost power, never soundness.

This holds because what a block says of a draw (`column`, `text`, `is_one_of`) is what a block of
this draw alone would say. Blocks only differ in what they *store*: where all draws are numbers, or
rows of numbers of one shape, columns say everything and texts are found when asked for.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Mask, Texts
from dpverify.auditing.sampling.features import SWEPT, derive, function_of_one, of_one, swept
from dpverify.auditing.sampling.relations import is_counted
from dpverify.auditing.sampling.spelling import (
    SET_ASIDE,
    SPELLED,
    nested_text,
    number_text,
    row_text,
)

WHOLE = "output"
MISSING = ""  # the text of a part that an output does not have
TYPE = "type of output"  # texts about how numbers are represented: see `marks`
ODD = "negative zeros and payloads of output"
_NO_PARENTHESES = str.maketrans("", "", "()")
_ASIDE = "calls that failed (exceptions='ignore' sets them aside)"
_MOST_LENGTHS = 64  # rows within an output whose lengths are told
_MOST_NOTES = 8
_GLANCE = 128  # draws
_MANY = 16  # columns that are joined as one table
_HASHED_AT_ONCE = 256  # columns
_SORTED = "sorted "
_SWEPT = frozenset(f"{function}({WHOLE})" for function in SWEPT)


class ColumnTable(Mapping[str, Floats]):
    """Columns by their names, held as the rows of one array; `names` are all or some in order."""

    def __init__(self, names: tuple[str, ...], rows: Floats) -> None:
        self.names = names
        self.rows = rows
        self._places = _places_of(names)

    def __getitem__(self, name: str) -> Floats:
        column: Floats = self.rows[self._places[name]]
        return column

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def of(self, names: Sequence[str]) -> Floats | None:
        """The rows of these columns, without a copy where they are adjacent; None if one is not."""
        first = self._places.get(names[0], 0) if names else 0
        if self.names[first : first + len(names)] == tuple(names):
            return self.rows[first : first + len(names)]
        places = [self._places.get(name, -1) for name in names]
        return None if -1 in places else self.rows[places]

    def at(self, where: Any) -> "ColumnTable":  # noqa: ANN401  # an index of numpy
        """The same columns of some draws."""
        part = object.__new__(ColumnTable)
        part.names, part._places, part.rows = self.names, self._places, self.rows[:, where]
        return part


@lru_cache(maxsize=32)  # block after block has the same
def _places_of(names: tuple[str, ...]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


class Outputs:
    """A block of draws on one side of a pair."""

    def __init__(  # what a block stores
        self,
        size: int,
        columns: Mapping[str, Floats],
        texts: dict[str, Texts],
        marks: dict[str, Texts] | None = None,
        unread: Iterable[str] = (),
    ) -> None:
        self.size = size
        self._columns = columns
        self._texts = texts
        self._marks = {} if marks is None else marks
        self.unread = tuple(sorted(set(unread)))[:_MOST_NOTES]
        self._cache: dict[str, Floats] = {}
        self._whole_keys: NDArray[np.uint64] | None = None

    def marked(self, marks: dict[str, Texts]) -> "Outputs":
        """The same draws with more marks."""
        return Outputs(self.size, self._columns, self._texts, self._marks | marks, self.unread)

    @property
    def marks(self) -> tuple[str, ...]:
        """Names of the texts on representation: types, signs of zeros, payloads of NaN."""
        return tuple(self._marks)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        known = self._columns
        return known.names if isinstance(known, ColumnTable) else tuple(known)

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the parts whose texts are stored; texts of numbers are computed when needed."""
        return tuple(self._texts)

    @cached_property
    def set_aside(self) -> Mask:
        """Which draws are failures that the caller does not count; these are in no event."""
        if WHOLE not in self._texts:
            return np.zeros(self.size, np.bool_)
        return np.asarray(self._texts[WHOLE] == SET_ASIDE)

    @property
    def unexamined(self) -> tuple[str, ...]:
        """A sentence on what parts of the draws no event covers."""
        return (*self.unread, _ASIDE) if self.set_aside.any() else self.unread

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape that all outputs share, () for numbers; None if columns do not determine it."""
        if self._texts:
            return None
        if WHOLE in self._columns or not self._parts:
            return ()
        return tuple(int(i) + 1 for i in re.findall(r"\[(\d+)\]", self._parts[-1]))

    @property
    def lengths(self) -> dict[str, float]:
        """The columns `len(output)`, `len(output[0])`, … if all outputs have one shape."""
        shape = self.shape or ()
        return dict(lengths(WHOLE, shape))

    def column(self, name: str) -> Floats:
        """A stored or computed column such as `max(output)`; all NaN if there is none."""
        if name in self._columns:
            return self._columns[name]
        if is_counted(name):
            return np.zeros(self.size)
        if name not in self._cache and name in _SWEPT and self._parts:
            found = swept(self._parts, self.rows, self.size)
            self._cache |= {f"{function}({WHOLE})": values for function, values in found.items()}
        if name not in self._cache:
            length = self.lengths.get(name) if name.startswith("len(") else None
            self._cache[name] = (
                derive(name, self.column, self.rows, self._parts, self.size)
                if length is None
                else np.full(self.size, float(length))
            )
        return self._cache[name]

    def rows(self, names: Sequence[str]) -> Floats:
        """These columns as the rows of a table, which nobody may change."""
        table = self._columns.of(names) if isinstance(self._columns, ColumnTable) else None
        if table is not None:
            return table
        found = [np.empty((0, self.size))]
        for function, group in groupby(names, self._derived_by):
            some = list(group)
            if function is None:
                rows = np.concatenate([self.column(name) for name in some])
            else:
                rows = of_one(function, self.rows([name[len(function) + 1 : -1] for name in some]))
            found.append(rows.reshape(len(some), self.size))
        return np.concatenate(found)

    def _derived_by(self, name: str) -> str | None:
        """The function of one number that a column is still to be computed by, if it is one."""
        known = name in self._columns or name in self._cache or is_counted(name)
        return None if known else function_of_one(name)

    def ordered(self, name: str) -> Floats:
        """The numbers of a column in increasing order, without missing ones."""
        key = f"{_SORTED}{name}"
        if key not in self._cache:
            values = self.column(name)
            ordered = np.sort(values)
            self._cache[key] = ordered[: np.searchsorted(ordered, np.nan)]
        return self._cache[key]

    def text(self, name: str) -> Texts:
        """The canonical text of the part `name` in every draw; empty where a draw lacks it."""
        if name in self._texts:
            return self._texts[name]
        if name in {TYPE, ODD}:
            known = self._marks.get(name)
            return np.broadcast_to(np.array(MISSING), (self.size,)) if known is None else known
        if name == WHOLE and self.shape:
            rows = np.column_stack([self._columns[part] for part in self._parts])
            shaped = rows.reshape(self.size, *self.shape)
            return np.array([row_text(row) for row in shaped], dtype=np.str_)
        return texts_of(self.column(name), missing="nan" if name == WHOLE else MISSING)

    def keys(self, name: str) -> NDArray[np.uint64]:
        """One number per draw; equal numbers mean equal texts of the part `name`."""
        if name == WHOLE and self.shape:
            if self._whole_keys is None:
                self._whole_keys = _row_keys(self.rows(self._parts))
            return self._whole_keys
        if name not in self._texts and name not in {TYPE, ODD}:
            return _row_keys(self.column(name)[None])
        texts = self.text(name)
        if texts.strides == (0,):  # one text for all
            return np.zeros(self.size, np.uint64)
        codes: NDArray[np.uint64] = np.unique(texts, return_inverse=True)[1].astype(np.uint64)
        return codes

    def is_one_of(self, name: str, texts: Sequence[str]) -> Mask:
        """Whether the text of the part `name` is one of these, for each draw."""
        shape = self.shape or ()
        is_long = name == WHOLE and math.prod(shape) > SPELLED
        if name in self._texts or name in {TYPE, ODD} or is_long:
            return np.isin(self.text(name), list(texts))
        if name == WHOLE and shape:
            rows = [row for text in texts if (row := _parse(text, shape)) is not None]
            if not rows:
                return np.zeros(self.size, np.bool_)
            return np.isin(self.keys(WHOLE), _row_keys(np.array(rows).T))
        numbers = [row[0] for text in texts if (row := _parse(text, ())) is not None]
        values = self.column(name)
        found = np.isin(values, np.array(numbers))
        if ("nan" if name == WHOLE else MISSING) in texts:
            found |= np.isnan(values)
        return found

    @cached_property
    def glance(self) -> tuple[bool, bool]:
        """Whether the first draws hold only whole numbers, and whether any part is missing."""
        heads = self.between(0, _GLANCE).rows(self._parts)
        missing = np.isnan(heads)
        whole = (heads == np.floor(heads)) & np.isfinite(heads)
        return bool((whole | missing).all()), bool(missing.any())

    def between(self, start: int, stop: int) -> "Outputs":
        """Draws start ≤ index < stop."""
        return self._at(slice(start, stop), max(min(stop, self.size) - start, 0))

    def pick(self, where: NDArray[np.int64]) -> "Outputs":
        """The draws at these indices."""
        return self._at(where, len(where))

    def _at(self, where: Any, size: int) -> "Outputs":  # noqa: ANN401  # an index of numpy
        own = self._columns
        columns: Mapping[str, Floats] = (
            own.at(where)
            if isinstance(own, ColumnTable)
            else {name: values[where] for name, values in own.items()}
        )
        texts, marks = ({n: v[where] for n, v in k.items()} for k in (self._texts, self._marks))
        part = Outputs(size, columns, texts, marks, self.unread)
        part._whole_keys = None if self._whole_keys is None else self._whole_keys[where]
        kept = {n: v[where] for n, v in self._cache.items() if not n.startswith(_SORTED)}
        part._cache |= kept  # what is derived for a draw depends on that draw alone
        return part

    def with_column(self, name: str, values: Floats) -> "Outputs":
        """The same draws with one more column."""
        columns = {**self._columns, name: values}
        return Outputs(self.size, columns, self._texts, self._marks, self.unread)

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        return parts_of(self.columns)


@lru_cache(maxsize=32)  # block after block has the same
def parts_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of these columns that are parts of an output."""
    return tuple(name for name in names if name.startswith((f"{WHOLE}[", f"{WHOLE}.")))


def joined(blocks: Sequence[Outputs]) -> Outputs:
    """All blocks in order as one; a block that lacks a column has NaN there."""
    blocks = [block for block in blocks if block.size] or blocks[:1]
    if len(blocks) == 1:
        return blocks[0]
    size = sum(block.size for block in blocks)
    if all(block.columns == blocks[0].columns for block in blocks):
        names = dict.fromkeys(blocks[0].columns)
    else:
        names = dict.fromkeys(name for block in blocks for name in block.columns)
    parts = dict.fromkeys(name for block in blocks for name in block.texts)
    if len({block.shape for block in blocks}) > 1:
        # Columns no longer say what is a number, what a row, and how long it is.
        names |= dict.fromkeys(name for block in blocks for name in block.lengths)
        parts |= {WHOLE: None}
    columns = _columns_of(blocks, tuple(names))
    texts = {name: np.concatenate([block.text(name) for block in blocks]) for name in parts}
    marked = dict.fromkeys(name for block in blocks for name in block.marks)
    marks = {name: _end_to_end([block.text(name) for block in blocks]) for name in marked}
    unread = {n for block in blocks for n in block.unread}
    whole = Outputs(size, columns, texts, marks, unread)
    if whole.shape and any(block._whole_keys is not None for block in blocks):  # noqa: SLF001
        whole._whole_keys = np.concatenate([block.keys(WHOLE) for block in blocks])  # noqa: SLF001
    return whole


def _end_to_end(parts: Sequence[Texts]) -> Texts:
    """Texts of all parts one after the other; one that is in every draw is stored once."""
    first = parts[0]
    if all(len(part) and part.strides == (0,) and part[0] == first[0] for part in parts):
        return np.broadcast_to(first[0], (sum(map(len, parts)),))
    return np.concatenate(parts)


def _columns_of(blocks: Sequence[Outputs], names: tuple[str, ...]) -> Mapping[str, Floats]:
    """The columns of all blocks, concatenated."""
    if len(names) > _MANY and all(block.columns == names for block in blocks):
        return ColumnTable(names, np.concatenate([block.rows(names) for block in blocks], axis=1))
    return {name: np.concatenate([block.column(name) for block in blocks]) for name in names}


def joined_part(name: str, blocks: Sequence[Outputs], most: int | None = None) -> Outputs:
    """The first draws of all blocks, reduced to what the texts of the part `name` need."""
    if name == WHOLE:
        for block in blocks:
            if block.shape:
                block.keys(WHOLE)  # once, rather than of every part of it
        return joined([block.between(0, most or block.size) for block in blocks])
    size = sum(block.size if most is None else min(block.size, most) for block in blocks)
    if name in {TYPE, ODD} or any(name in block.texts for block in blocks):
        texts = _end_to_end([block.text(name)[:most] for block in blocks])
        return Outputs(size, {}, {name: texts})
    return Outputs(size, {name: np.concatenate([b.column(name)[:most] for b in blocks])}, {})


def texts_of(values: Floats, missing: str = MISSING) -> Texts:
    distinct, codes = np.unique(values, return_inverse=True)
    texts = [missing if math.isnan(v) else number_text(v) for v in distinct.tolist()]
    return np.array(texts, dtype=np.str_)[codes]


@lru_cache(maxsize=1 << 13)  # an event is asked about block after block
def _parse(text: str, shape: tuple[int, ...]) -> tuple[float, ...] | None:
    """Read an output of this shape back from its canonical text; None if it is no such text."""
    try:
        numbers = tuple(map(float, text.translate(_NO_PARENTHESES).split(", ")))
    except ValueError:
        return None
    if len(numbers) != math.prod(shape):
        return None
    row = np.reshape(numbers, shape).tolist()  # a number if the shape is ()
    # Other texts can be read as these numbers too: "(3)" is a row of one, 2^53 + 1 is no float.
    return numbers if nested_text(row) == text else None


def _row_keys(columns: Floats) -> NDArray[np.uint64]:
    """Hashes of draws, whose numbers are columns of a table; colliding ones count as one value.

    That stays valid. The hash is the sum of one random word for each number at each place, so that
    neither equal numbers at other places nor many zeros make draws alike.
    """
    keys = np.zeros(columns.shape[1], np.uint64)
    for start in range(0, len(columns), _HASHED_AT_ONCE):
        some = columns[start : start + _HASHED_AT_ONCE]
        words = np.where(np.isnan(some), np.nan, some + 0.0).view(np.uint64)
        places = np.arange(start + 1, start + len(some) + 1, dtype=np.uint64)[:, None]
        words += places * np.uint64(0x9E3779B97F4A7C15)
        words ^= words >> np.uint64(30)  # SplitMix64 [Steele, Lea, Flood, OOPSLA 2014]
        words *= np.uint64(0xBF58476D1CE4E5B9)
        words ^= words >> np.uint64(27)
        words *= np.uint64(0x94D049BB133111EB)
        words ^= words >> np.uint64(31)
        keys += np.add.reduce(words, axis=0)
    return keys


def part_name(name: str, index: tuple[int, ...]) -> str:
    return name + "".join(f"[{i}]" for i in index)


@lru_cache(maxsize=256)  # block after block has the same, such as the columns of a data frame
def part_names(name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    """The names of all entries of an array."""
    return tuple(part_name(name, index) for index in np.ndindex(shape))


def lengths(name: str, shape: tuple[int, ...]) -> Iterator[tuple[str, float]]:
    """The columns `len(output)`, `len(output[0])`, … of an array, unless it has too many rows."""
    for depth, length in enumerate(shape):
        if math.prod(shape[:depth]) <= _MOST_LENGTHS:
            for index in np.ndindex(shape[:depth]):
                yield f"len({part_name(name, index)})", float(length)
