"""Turn outputs of any kind into blocks of named columns and texts (see `outputs`).

Draws that are all numbers, or arrays of one shape, become columns at once. Any other output is read
into its parts (`reading`), and every part becomes a column or a text under its own name.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Texts
from dpverify.auditing.sampling.outputs import (
    MISSING,
    ODD,
    TYPE,
    WHOLE,
    ColumnTable,
    Outputs,
    lengths,
    part_names,
    texts_of,
)
from dpverify.auditing.sampling.parts import (
    EXACT,
    LONGEST_TEXT,
    MODULI,
    MOST_BITS,
    MOST_NUMBERS,
    Elements,
    Exact,
    Fields,
    LongText,
    Opaque,
    Raised,
    nearest,
)
from dpverify.auditing.sampling.reading import is_number_array, kind_of, read
from dpverify.auditing.sampling.relations import is_counted, related
from dpverify.auditing.sampling.spelling import shortened, spelled

_MOST_MEMBERS = 256  # elements of a set that are asked for one by one
_MOST_IN_TEXT = 64  # numbers within a text
_ENDING = 16  # characters of a text that are counted from its end
_MOST_LETTERS = 1 << 15  # characters, and numbers written in texts, of all texts of an output
_LETTERS = ("ord(", "bytes of ", "number ")  # with which the names of their columns begin
_MORE_LETTERS = f"single characters of texts beyond the first {_MOST_LETTERS:,} of an output"
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_DOTTED = re.compile(r"\d+(?:\.\d+){2,}")  # versions and addresses: several whole numbers
_NAN = int(np.float64(np.nan).view(np.uint64))
_FEW = 8
_MANY = 16  # columns that are kept as one table

_NUMBERS = (bool, np.bool_, int, np.integer, float, np.floating)

Leaf: TypeAlias = tuple[str, Any]
"""A name, and a float, a text, or an array."""


def from_array(array: NDArray[Any]) -> Outputs:
    """A block from the rows of a numeric array, or from the entries of an array of any kind."""
    size, shape = len(array), array.shape[1:]
    if not is_number_array(array) or not 0 < math.prod(shape) <= MOST_NUMBERS:
        return from_objects(list(array))
    kind = kind_of(array) if shape else array.dtype.name
    marks: dict[str, Texts] = {TYPE: np.broadcast_to(np.array(kind), (size,))}
    flat = array.reshape(size, math.prod(shape)).astype(np.float64)
    odd = _odd_rows(flat)
    if odd is not None:
        marks[ODD] = odd
    by_part = np.ascontiguousarray(flat.T) + 0.0  # −0.0 becomes 0.0
    return Outputs(size, ColumnTable(part_names(WHOLE, shape), by_part), {}, marks)


def from_objects(outputs: Sequence[object]) -> Outputs:
    """A block from arbitrary objects."""
    if _all_numbers(outputs):
        kinds = np.array([type(output).__name__ for output in outputs], np.str_)
        return from_array(np.array(outputs, dtype=np.float64)).marked({TYPE: kinds})
    uniform = _same_arrays(outputs)
    if uniform is not None:
        return from_array(uniform)
    readings = [read(output) for output in outputs]
    trees = [reading.parts for reading in readings]
    kinds = np.array([shortened(reading.kind) for reading in readings], np.str_)
    uniform = _same_arrays(trees)
    if uniform is not None:
        return from_array(uniform).marked({TYPE: kinds})
    found = Block(len(outputs))
    for i, tree in enumerate(trees):
        found.add(i, tree)
    columns = found.columns()
    if len(columns) > _MANY:
        columns = ColumnTable(tuple(columns), np.array(list(columns.values())))
    texts = {WHOLE: np.array([shortened(spelled(tree)) for tree in trees], np.str_)}
    for name, part in found.texts.items():
        own = np.array(part, np.str_)
        numbers = columns.get(name)
        # Where the part is a number, the text is that of the number, as it is in other blocks.
        texts[name] = own if numbers is None else np.where(own == MISSING, texts_of(numbers), own)
    marks = {TYPE: kinds}
    if found.odd:
        marks[ODD] = np.array([found.odd.get(i, MISSING) for i in range(len(outputs))], np.str_)
    return Outputs(len(outputs), columns, texts, marks, found.unread)


class Block:
    """Collects the parts of many outputs."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.texts: dict[str, list[str]] = {}
        self.odd: dict[int, str] = {}
        self.unread: set[str] = set()
        self._numbers: dict[str, Floats] = {}
        self._arrays: dict[tuple[str, int], list[tuple[int, NDArray[Any]]]] = {}

    def add(self, i: int, tree: object) -> None:
        """Add the parts of output number `i`, in the form that `read` returns."""
        odd: list[str] = []
        letters = _MOST_LETTERS
        for name, value in chain(flattened(tree, WHOLE), related(tree, WHOLE)):
            if name.startswith(_LETTERS):
                letters -= np.size(value)
                if letters < 0:
                    self.unread.add(_MORE_LETTERS)
                    continue
            if isinstance(value, str):
                self.texts.setdefault(name, [""] * self.size)[i] = shortened(value)
            elif isinstance(value, np.ndarray):
                self._arrays.setdefault((name, value.ndim), []).append((i, value))
                if not name.startswith(_LETTERS):
                    odd.append(odd_text(value, name))
            elif isinstance(value, Opaque):
                self.unread.add(value.unread)
            else:
                self._column(name)[i] = value + 0.0  # −0.0 becomes 0.0
                if value == 0.0 or math.isnan(value):
                    odd.append(odd_text(np.array([value]), name))
        if any(odd):
            self.odd[i] = shortened("; ".join(filter(None, odd)))

    def columns(self) -> Mapping[str, Floats]:
        """One column for each number that any output has; NaN where an output lacks it."""
        for (name, _), found in self._arrays.items():
            shape = tuple(max(sizes) for sizes in zip(*(a.shape for _, a in found), strict=True))
            if math.prod(shape) > 2 * MOST_NUMBERS:  # shapes differ so much that most is empty
                for i, array in found:
                    for part, value in zip(part_names(name, array.shape), array.flat, strict=True):
                        self._column(part)[i] = value + 0.0
                continue
            rows = np.full((self.size, *shape), np.nan)
            for i, array in found:
                rows[i][tuple(map(slice, array.shape))] = array
            flat = np.ascontiguousarray(rows.reshape(self.size, math.prod(shape)).T) + 0.0
            for part, own in zip(part_names(name, shape), flat, strict=True):
                known = self._numbers.get(part)
                self._numbers[part] = own if known is None else np.where(np.isnan(own), known, own)
        return self._numbers

    def _column(self, name: str) -> Floats:
        if name not in self._numbers:
            self._numbers[name] = np.full(self.size, 0.0 if is_counted(name) else np.nan)
        return self._numbers[name]


def flattened(tree: Any, name: str) -> Iterator[Leaf]:  # noqa: ANN401, C901, PLR0912  # one case a kind
    """Names and values of everything that events can state about an output's parts."""
    match tree:
        case bool() | np.bool_() | int() | np.integer() | float() | np.floating():
            yield name, nearest(tree)
        case Exact(value=value, remainders=remainders, bits=bits):
            yield name, value
            yield from _part_text(tree, name)
            for modulus, rest in zip(MODULI, remainders, strict=False):
                yield f"{name} mod {modulus}", float(rest)
            if bits:
                yield f"bytes of {name}", np.frombuffer(bits, np.uint8).astype(np.float64)
                if len(bits) == MOST_BITS // 8:
                    yield name, Opaque("", f"single bits of an integer beyond {MOST_BITS:,}")
        case Raised(message=message):
            yield f"message of {name}", message
            yield from _of_text(message, len(message), f"message of {name}")
        case np.ndarray():
            yield from lengths(name, tree.shape)
            yield name, tree
        case dict():
            yield f"len({name})", float(len(tree))
            keys = [shortened(spelled(key)) for key in tree]
            if len(keys) > 1:
                yield f"order of {name}", ", ".join(keys)
            for key, value in zip(keys, tree.values(), strict=True):
                yield from flattened(value, f"{name}[{key}]")
        case list() | tuple():
            yield f"len({name})", float(len(tree))
            for i, value in enumerate(tree):
                yield from flattened(value, f"{name}[{i}]")
        case Fields(items=items):
            for field, value in items:
                yield from flattened(value, f"{name}.{field}")
        case Elements(items=items):
            yield from _of_set(items, name)
            yield from _part_text(tree, name)
        case str() | bytes() | LongText():
            whole = LongText(tree, len(tree), "") if isinstance(tree, (str, bytes)) else tree
            yield f"len({name})", float(whole.length)
            yield from _part_text(tree, name)
            yield from _of_text(whole.head, whole.length, name)
        case Opaque(text=text, unread=unread):
            yield from _part_text(tree, name)
            yield from _numbers_in(text, name)
            if unread:
                yield name, tree
        case _:
            yield from _part_text(tree, name)


def odd_text(values: NDArray[Any], name: str = "") -> str:
    """Which zeros are negative, and the bits of unusual NaN.

    >>> odd_text(np.array([1.0, -0.0]))
    '-0 at 1'
    """
    if values.dtype.kind != "f":
        return ""
    flat = values.reshape(-1).astype(np.float64)
    bits = flat.view(np.uint64)
    zeros = np.flatnonzero((flat == 0.0) & np.signbit(flat))
    payloads = np.flatnonzero(np.isnan(flat) & (bits != _NAN))
    if not zeros.size and not payloads.size:
        return ""
    found = [f"-0 at {name}{i}" for i in zeros[:_FEW].tolist()]
    found += [f"{int(bits[i]):x} at {name}{i}" for i in payloads[:_FEW].tolist()]
    more = zeros.size + payloads.size - len(found)
    return ", ".join(found) + (f", {more} more" if more else "")


def _part_text(tree: object, name: str) -> Iterator[Leaf]:
    if name != WHOLE:
        yield name, spelled(tree)


def _of_set(items: tuple[Any, ...], name: str) -> Iterator[Leaf]:
    yield f"len({name})", float(len(items))
    numbers = [nearest(i) for i in items if isinstance(i, (int, float, np.integer, np.floating))]
    if numbers:
        yield f"sorted({name})", np.sort(numbers)
    named = [item for item in items if not isinstance(item, (float, np.floating))]
    for item in sorted(map(spelled, named))[:_MOST_MEMBERS]:
        yield f"{shortened(item)} in {name}", 1.0
    for item in items:
        if isinstance(item, Opaque) and item.unread:
            yield name, item


def _of_text(text: str | bytes, length: int, name: str) -> Iterator[Leaf]:
    """The characters of a text as numbers, and the numbers written in it."""
    head = text[:LONGEST_TEXT]
    if head:
        raw = head if isinstance(head, bytes) else head.encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(raw, np.uint8 if isinstance(head, bytes) else "<u4").astype(
            np.float64
        )
        yield f"ord({name})", codes
        for i, code in enumerate(codes[: -_ENDING - 1 : -1].tolist(), 1):
            yield f"ord({name})[-{i}]", code
    if length > len(head):
        what = f"single characters of a text beyond the first {LONGEST_TEXT:,}"
        yield name, Opaque("", what)
    yield from _numbers_in(head if isinstance(head, str) else head.decode("latin-1"), name)


def _numbers_in(text: str, name: str) -> Iterator[Leaf]:
    apart = _DOTTED.sub(lambda found: found[0].replace(".", " "), text[:LONGEST_TEXT])
    for i, found in enumerate(_NUMBER.findall(apart)[:_MOST_IN_TEXT]):
        value = float(found)
        if not math.isnan(value):
            yield f"number {i} in {name}", value


def _same_arrays(outputs: Sequence[object]) -> NDArray[Any] | None:
    """The outputs as rows of one array, if they are numeric arrays of one shape and type."""
    if not outputs or not all(type(output) is np.ndarray for output in outputs):
        return None
    arrays: Sequence[Any] = outputs
    if len({(array.shape, array.dtype) for array in arrays}) > 1:
        return None
    first = arrays[0]
    if first.ndim == 0 or not 0 < first.size <= MOST_NUMBERS or first.dtype.kind not in "biuf":
        return None
    rows = np.stack(arrays)
    return rows if is_number_array(rows) else None


def _odd_rows(rows: Floats) -> Texts | None:
    """What `odd_text` finds in each row of numbers; None where it finds nothing."""
    some = np.isnan(rows) & (rows.view(np.uint64) != np.uint64(_NAN)) | (rows == 0.0) & np.signbit(
        rows
    )
    if not some.any():
        return None
    return np.array([odd_text(row) for row in rows], np.str_)


def _all_numbers(outputs: Sequence[object]) -> bool:
    """Whether floats hold all outputs exactly."""
    kinds = {type(output) for output in outputs}  # not isinstance, which hooks may answer
    if not all(issubclass(kind, _NUMBERS) for kind in kinds):
        return False
    whole = tuple(kind for kind in kinds if issubclass(kind, (int, np.integer)))
    return not whole or not any(abs(int(o)) > EXACT for o in outputs if isinstance(o, whole))
