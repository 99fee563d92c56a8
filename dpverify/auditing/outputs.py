"""Outputs of any kind as columns of numbers and texts, so that events can be stated about them.

A block of draws becomes

- *columns*: one float per draw, named as a reader would write them: `output`, `output[3]`,
  `output['total']`, `len(output)`; NaN where a draw has no such number;
- *texts*: one canonical text per draw for the whole output and for every part that is no number.

Equal outputs have equal texts. An exception and a time-out are outputs like any other. Events are
functions of these, hence post-processing: whatever is lost here can cost power, never soundness.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
        """Names of the parts that are compared as texts; numbers are compared so on demand."""
        return tuple(self._texts)

    def column(self, name: str) -> Floats:
        """A column, or a function of columns such as `max(output)`; all NaN if there is none."""
        if name in self._columns:
            return self._columns[name]
        if name not in self._cache:
            self._cache[name] = derive(name, self.column, self._parts, self.size)
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
        if name == WHOLE and self._vector:
            rows = np.column_stack([self._columns[part] for part in self._parts])
            return np.array(
                [_join(_number(v) for v in row) for row in rows.tolist()], dtype=np.str_
            )
        if name not in self._columns and name != WHOLE:
            return np.full(self.size, MISSING)
        distinct, codes = np.unique(self.column(name), return_inverse=True)
        texts = [_number(v) for v in distinct.tolist()]
        if name != WHOLE:
            texts = [MISSING if text == "nan" else text for text in texts]
        return np.array(texts, dtype=np.str_)[codes]

    def own_text(self, name: str) -> Texts:
        """The text of a part that is no number, and of whole outputs; empty elsewhere."""
        if name in self._texts or name == WHOLE:
            return self.text(name)
        return np.full(self.size, MISSING)

    def keys(self, name: str) -> NDArray[np.uint64]:
        """One number per draw, equal where the texts of the part `name` are equal."""
        if name not in self._texts and name == WHOLE and self._vector:
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
        if name == WHOLE and self._vector:
            rows = [_parse(text) for text in texts]
            width = len(self._parts)
            wanted = np.array([r for r in rows if r is not None and len(r) == width])
            if not len(wanted):
                return np.zeros(self.size, np.bool_)
            parts = [self._columns[part] for part in self._parts]
            return np.isin(_row_keys(parts), _row_keys(list(wanted.T)))
        numbers = [r[0] for r in map(_parse, texts) if r is not None and len(r) == 1]
        values = self.column(name)
        found = np.isin(values, np.array(numbers))
        if "nan" in texts or MISSING in texts:
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

    @property
    def _vector(self) -> bool:
        """Whether an output is nothing but the row of its columns."""
        return not self._texts and WHOLE not in self._columns


def joined(blocks: Sequence[Outputs]) -> Outputs:
    """The draws of all blocks in order; a block without a column has NaN there."""
    if len(blocks) == 1:
        return blocks[0]
    size = sum(block.size for block in blocks)
    names = list(dict.fromkeys(name for block in blocks for name in block.columns))
    parts = list(dict.fromkeys(name for block in blocks for name in block.texts))
    columns = {name: np.concatenate([block.column(name) for block in blocks]) for name in names}
    texts = {name: np.concatenate([block.own_text(name) for block in blocks]) for name in parts}
    return Outputs(size, columns, texts)


def from_array(array: NDArray[Any]) -> Outputs:
    """Draws that are the rows of a numeric array, or the entries of one of any kind."""
    size = len(array)
    if array.dtype.kind not in "biuf" or (array.dtype.kind in "iu" and _huge(array)):
        return from_objects(list(array))
    if array.ndim == 1:
        return Outputs(size, {WHOLE: _plain(array)}, {})
    flat = array.reshape(size, -1)
    if flat.shape[1] > _PARTS or flat.shape[1] == 0:
        return from_objects(list(array))
    indices = [", ".join(map(str, index)) for index in np.ndindex(array.shape[1:])]
    columns = {f"{WHOLE}[{index}]": _plain(flat[:, i]) for i, index in enumerate(indices)}
    return Outputs(size, columns, {})


def from_objects(outputs: Sequence[object]) -> Outputs:
    """Draws that are arbitrary objects."""
    if _all_numbers(outputs):
        return from_array(np.array(outputs, dtype=np.float64))
    columns: dict[str, Floats] = {}
    texts: dict[str, list[str]] = {WHOLE: []}
    for i, output in enumerate(outputs):
        texts[WHOLE].append(canonical(output))
        for name, value in _flatten(output, WHOLE):
            if isinstance(value, str):
                texts.setdefault(name, [""] * i).extend([""] * (i - len(texts[name])))
                texts[name].append(value)
            else:
                column = columns.get(name)
                if column is None:
                    column = columns[name] = np.full(len(outputs), np.nan)
                column[i] = value
    full = {name: part + [""] * (len(outputs) - len(part)) for name, part in texts.items()}
    return Outputs(
        len(outputs), columns, {name: np.array(part, np.str_) for name, part in full.items()}
    )


def canonical(output: object) -> str:  # noqa: C901  # one case a kind
    """A text that equal outputs share; 3 and 3.0 are equal, 1 and True are not.

    >>> canonical((1, None, [True, 2.5]))
    '(1, None, (True, 2.5))'
    """
    match output:
        case Raised(kind=kind):
            return f"raises {kind}"
        case TimedOut():
            return "times out"
        case bool() | np.bool_():
            return str(bool(output))
        case int() | np.integer():
            return str(int(output))
        case float() | np.floating():
            return _number(float(output))
        case str() | bytes() | None:
            return repr(output)
        case np.ndarray():
            return canonical(output.tolist())
        case Mapping():
            pairs = sorted((canonical(k), canonical(v)) for k, v in output.items())
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        case set() | frozenset():
            return "{" + ", ".join(sorted(canonical(item) for item in output)) + "}"
        case list() | tuple():
            return _join(canonical(item) for item in output)
        case _:
            text = repr(output)
            # An address in memory would make equal outputs differ.
            return type(output).__name__ if " at 0x" in text else text


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
            items = [(f"{name}[{key!r}]", value) for key, value in list(output.items())[:_PARTS]]
        case list() | tuple():
            items = [(f"{name}[{i}]", value) for i, value in enumerate(output[:_PARTS])]
        case str() | bytes() | set() | frozenset():
            return [(f"len({name})", float(len(output))), *_part_text(output, name)]
        case _:
            return _part_text(output, name)
    found: list[tuple[str, float | str]] = [(f"len({name})", float(len(items)))]
    if depth < 3:
        for part, value in items:
            found += _flatten(value, part, depth + 1)
    return found


def _part_text(output: object, name: str) -> list[tuple[str, float | str]]:
    return [] if name == WHOLE else [(name, canonical(output))]


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


def _parse(text: str) -> list[float] | None:
    """The numbers that a canonical text of a number or a flat row stands for."""
    try:
        return [float(part) for part in text.strip("()").split(", ")]
    except ValueError:
        return None


def _plain(array: NDArray[Any]) -> Floats:
    return np.ascontiguousarray(array, dtype=np.float64) + 0.0  # −0.0 becomes 0.0


def _huge(integers: Any) -> bool:  # noqa: ANN401  # an array or a list of integers
    return len(integers) > 0 and max(-int(np.min(integers)), int(np.max(integers))) > _EXACT


def _all_numbers(outputs: Sequence[object]) -> bool:
    """Whether floats hold all outputs as they are."""
    kinds = {type(output) for output in outputs}
    whole = {kind for kind in kinds if issubclass(kind, (int, np.integer)) and kind is not bool}
    if not all(issubclass(kind, (float, np.floating)) for kind in kinds - whole):
        return False
    return not whole or not _huge([o for o in outputs if type(o) in whole])


def _row_keys(columns: Sequence[Floats]) -> NDArray[np.uint64]:
    """Hashes of rows of floats; rows that collide count as one value, which is no error."""
    keys = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        bits = np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64)
        keys = (keys ^ bits) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys
