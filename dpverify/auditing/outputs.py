"""Outputs of any kind as columns of numbers and texts, so that events can be stated about them.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.auditing.derived import derive

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.str_]

WHOLE = "output"
MISSING = ""  # the text of a part that an output does not have
_EXACT = 1 << 53  # integers up to this are floats
_PARTS = 64  # parts of one output that become columns; the rest is in the text of the whole
_DEPTH = 3  # of lists in lists whose numbers become columns
_NUMBERS = (bool, np.bool_, int, np.integer, float, np.floating)
_NO_PARENTHESES = str.maketrans("", "", "()")


@dataclass(frozen=True, slots=True)
class Raised:
    """The mechanism raised an exception of this type."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The mechanism did not return in time."""


class Outputs:
    """A block of draws on one side of a pair."""

    def __init__(self, size: int, columns: dict[str, Floats], texts: dict[str, Texts]) -> None:
        self.size = size
        self._columns = columns
        self._texts = texts
        self._cache: dict[str, Floats] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the numeric columns."""
        return tuple(self._columns)

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the parts whose texts are stored; those of numbers are found on demand."""
        return tuple(self._texts)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of every output, () for numbers; None unless columns say everything."""
        if self._texts:
            return None
        if WHOLE in self._columns or not self._parts:
            return ()
        return tuple(int(i) + 1 for i in re.findall(r"\[(\d+)\]", self._parts[-1]))

    @property
    def lengths(self) -> dict[str, int]:
        """The columns `len(output)`, `len(output[0])`, … of outputs that all have one shape."""
        shape = self.shape or ()
        return {
            f"len({_part(index)})": length
            for depth, length in enumerate(shape)
            for index in np.ndindex(shape[:depth])
        }

    def column(self, name: str) -> Floats:
        """A column, or a function of columns such as `max(output)`; all NaN if there is none."""
        if name in self._columns:
            return self._columns[name]
        if name not in self._cache:
            length = self.lengths.get(name) if name.startswith("len(") else None
            self._cache[name] = (
                derive(name, self.column, self._parts, self.size)
                if length is None
                else np.full(self.size, float(length))
            )
        return self._cache[name]

    def ordered(self, name: str) -> Floats:
        """The numbers of a column, sorted, without those that are missing."""
        key = f"sorted {name}"
        if key not in self._cache:
            values = self.column(name)
            ordered = np.sort(values)
            self._cache[key] = ordered[: np.searchsorted(ordered, np.nan)]
        return self._cache[key]

    def text(self, name: str) -> Texts:
        """The canonical text of the part `name` of every draw; empty where it has none."""
        if name in self._texts:
            return self._texts[name]
        if name == WHOLE and self.shape:
            rows = np.column_stack([self._columns[part] for part in self._parts])
            nested = rows.reshape(self.size, *self.shape).tolist()
            return np.array([_nested(row) for row in nested], dtype=np.str_)
        return _texts_of(self.column(name), missing="nan" if name == WHOLE else MISSING)

    def keys(self, name: str) -> NDArray[np.uint64]:
        """One number per draw, equal where the texts of the part `name` are equal."""
        if name == WHOLE and self.shape:
            return _row_keys([self._columns[part] for part in self._parts])
        if name not in self._texts:
            return _row_keys([self.column(name)])
        codes: NDArray[np.uint64] = np.unique(self._texts[name], return_inverse=True)[1].astype(
            np.uint64
        )
        return codes

    def is_one_of(self, name: str, texts: Sequence[str]) -> Mask:
        """Whether the part `name` of each draw has one of these texts."""
        if name in self._texts:
            return np.isin(self._texts[name], list(texts))
        shape = self.shape or ()
        if name == WHOLE and shape:
            rows = [row for text in texts if (row := _parse(text, shape)) is not None]
            if not rows:
                return np.zeros(self.size, np.bool_)
            parts = [self._columns[part] for part in self._parts]
            return np.isin(_row_keys(parts), _row_keys(list(np.array(rows).T)))
        numbers = [row[0] for text in texts if (row := _parse(text, ())) is not None]
        values = self.column(name)
        found = np.isin(values, np.array(numbers))
        if ("nan" if name == WHOLE else MISSING) in texts:
            found |= np.isnan(values)
        return found

    def between(self, start: int, stop: int) -> "Outputs":
        """Draws start ≤ index < stop."""
        part = slice(start, stop)
        columns = {name: values[part] for name, values in self._columns.items()}
        texts = {name: values[part] for name, values in self._texts.items()}
        return Outputs(min(stop, self.size) - start, columns, texts)

    def pick(self, where: NDArray[np.int64]) -> "Outputs":
        """The draws at these indices."""
        columns = {name: values[where] for name, values in self._columns.items()}
        return Outputs(len(where), columns, {name: t[where] for name, t in self._texts.items()})

    def with_column(self, name: str, values: Floats) -> "Outputs":
        """The same draws with one column more."""
        return Outputs(self.size, self._columns | {name: values}, self._texts)

    @property
    def _parts(self) -> tuple[str, ...]:
        return tuple(name for name in self._columns if name.startswith(f"{WHOLE}["))


def joined(blocks: Sequence[Outputs]) -> Outputs:
    """The draws of all blocks in order; a block without a column has NaN there."""
    blocks = [block for block in blocks if block.size] or blocks[:1]
    if len(blocks) == 1:
        return blocks[0]
    size = sum(block.size for block in blocks)
    names = dict.fromkeys(name for block in blocks for name in block.columns)
    parts = dict.fromkeys(name for block in blocks for name in block.texts)
    if len({block.shape for block in blocks}) > 1:
        # Columns no longer say what is a number, what a row, and how long it is.
        names |= dict.fromkeys(name for block in blocks for name in block.lengths)
        parts |= {WHOLE: None}
    columns = {name: np.concatenate([block.column(name) for block in blocks]) for name in names}
    texts = {name: np.concatenate([block.text(name) for block in blocks]) for name in parts}
    return Outputs(size, columns, texts)


def from_array(array: NDArray[Any]) -> Outputs:
    """Draws that are the rows of a numeric array, or the entries of one of any kind."""
    size, shape = len(array), array.shape[1:]
    is_plain = array.dtype.kind in "biuf" and not (array.dtype.kind in "iu" and _huge(array))
    if not is_plain or len(shape) > _DEPTH or not 0 < math.prod(shape) <= _PARTS:
        return from_objects(list(array))
    flat = array.reshape(size, math.prod(shape))
    names = [_part(index) for index in np.ndindex(shape)]
    return Outputs(size, {name: _plain(flat[:, i]) for i, name in enumerate(names)}, {})


def from_objects(outputs: Sequence[object]) -> Outputs:
    """Draws that are arbitrary objects."""
    if _all_numbers(outputs):
        return from_array(np.array(outputs, dtype=np.float64))
    size = len(outputs)
    columns: dict[str, Floats] = {}
    found: dict[str, list[str]] = {}
    for i, output in enumerate(outputs):
        for name, value in _flatten(output, WHOLE):
            if isinstance(value, str):
                if name not in found:
                    found[name] = [MISSING] * size
                found[name][i] = value
            else:
                if name not in columns:
                    columns[name] = np.full(size, np.nan)
                columns[name][i] = value
    texts = {WHOLE: np.array([_spelled(output) for output in outputs], np.str_)}
    for name, part in found.items():
        own = np.array(part, np.str_)
        numbers = columns.get(name)
        # Where the part is a number, the text is that of the number, as it is in other blocks.
        texts[name] = own if numbers is None else np.where(own == MISSING, _texts_of(numbers), own)
    return Outputs(size, columns, texts)


def canonical(output: object, *, numeric: bool = False) -> str:  # noqa: C901  # one case a kind
    """A text that equal outputs share; 3 and 3.0 are equal, and if `numeric` 1 and True are.

    >>> canonical((1, None, [True, 2.5]))
    '(1, None, (True, 2.5))'
    """
    text = _spelled if numeric else canonical
    match output:
        case Raised(kind=kind):
            return f"raises {kind}"
        case TimedOut():
            return "times out"
        case bool() | np.bool_():
            return str(int(output) if numeric else bool(output))
        case int() | np.integer():
            return str(int(output))
        case float() | np.floating():
            return _number(float(output))
        case str():
            return str.__repr__(output)  # numpy writes np.str_('a')
        case bytes():
            return bytes.__repr__(output)
        case np.ndarray():
            return text(output.tolist())
        case Mapping():
            pairs = sorted((text(k), text(v)) for k, v in output.items())
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        case set() | frozenset():
            return "{" + ", ".join(sorted(text(item) for item in output)) + "}"
        case list() | tuple():
            return _join(text(item) for item in output)
        case _:
            found = repr(output)
            # An address in memory would make equal outputs differ.
            return type(output).__name__ if " at 0x" in found else found


# The text of an output: arrays do not tell True from 1, so no output does.
_spelled = partial(canonical, numeric=True)


def _flatten(output: object, name: str, depth: int = 0) -> list[tuple[str, float | str]]:
    """Names and values of what can be said of an output's parts."""
    match output:
        case bool() | np.bool_() | int() | np.integer() | float() | np.floating():
            return [(name, _as_float(output))]
        case Raised(message=message):
            return [(f"message of {name}", message)]
        case np.ndarray():
            return _flatten(output.tolist(), name, depth)
        case Mapping():
            items = [
                (f"{name}[{_spelled(key)}]", value) for key, value in islice(output.items(), _PARTS)
            ]
        case list() | tuple():
            items = [(f"{name}[{i}]", value) for i, value in enumerate(output[:_PARTS])]
        case str() | bytes() | set() | frozenset():
            return [(f"len({name})", float(len(output))), *_part_text(output, name)]
        case _:
            return _part_text(output, name)
    found: list[tuple[str, float | str]] = [(f"len({name})", float(len(items)))]
    if depth < _DEPTH:
        for part, value in items:
            found += _flatten(value, part, depth + 1)
    return found


def _part_text(output: object, name: str) -> list[tuple[str, float | str]]:
    return [] if name == WHOLE else [(name, _spelled(output))]


def _as_float(value: Any) -> float:  # noqa: ANN401  # a number of Python or numpy
    try:
        return float(value)
    except OverflowError:  # an integer beyond all floats
        return math.inf if value > 0 else -math.inf


def _number(value: float) -> str:
    # In real arithmetic −0.0 is 0.0, and 3.0 is 3.
    whole = math.isfinite(value) and abs(value) <= _EXACT and value == math.floor(value)
    return str(int(value)) if whole else repr(value)


def _join(texts: Any) -> str:  # noqa: ANN401  # an iterable of texts
    return "(" + ", ".join(texts) + ")"


def _part(index: tuple[int, ...]) -> str:
    return WHOLE + "".join(f"[{i}]" for i in index)


def _nested(row: Any) -> str:  # noqa: ANN401  # a float, or a list of rows
    return _join(map(_nested, row)) if isinstance(row, list) else _number(row)


def _texts_of(values: Floats, missing: str = MISSING) -> Texts:
    distinct, codes = np.unique(values, return_inverse=True)
    texts = [missing if math.isnan(v) else _number(v) for v in distinct.tolist()]
    return np.array(texts, dtype=np.str_)[codes]


@lru_cache(maxsize=1 << 13)  # an event is asked about block after block
def _parse(text: str, shape: tuple[int, ...]) -> tuple[float, ...] | None:
    """The numbers of the output of this shape that has this canonical text; None if none has."""
    try:
        numbers = tuple(map(float, text.translate(_NO_PARENTHESES).split(", ")))
    except ValueError:
        return None
    if len(numbers) != math.prod(shape):
        return None
    row = np.reshape(numbers, shape).tolist()  # a number if the shape is ()
    # Other texts can be read as these numbers too: "(3)" is a row of one, 2^53 + 1 is no float.
    return numbers if _nested(row) == text else None


def _plain(array: NDArray[Any]) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float64) + 0.0  # −0.0 becomes 0.0


def _huge(integers: NDArray[Any]) -> bool:
    return integers.size > 0 and max(-int(integers.min()), int(integers.max())) > _EXACT


def _all_numbers(outputs: Sequence[object]) -> bool:
    """Whether floats hold all outputs as they are."""
    kinds = {type(output) for output in outputs}
    if not all(issubclass(kind, _NUMBERS) for kind in kinds):
        return False
    whole = tuple(kind for kind in kinds if issubclass(kind, (int, np.integer)))
    return not whole or not any(abs(int(o)) > _EXACT for o in outputs if isinstance(o, whole))


def _row_keys(columns: Sequence[Floats]) -> NDArray[np.uint64]:
    """Hashes of rows of floats; rows that collide count as one value, which is no error."""
    keys = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        keys = (keys ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys
