"""Reads an output of any type into plain parts: numbers, texts, arrays, lists, dicts and fields.

What has a value is read by the first of these that fits: numbers of all kinds, texts and bytes,
dates and times, arrays and what becomes one (`__array__`, `detach`, `toarray`), tables and series
of pandas and polars, mappings, dataclasses and attrs classes, `tolist`, `__float__`, iterables,
`__getstate__` and what else pickling would keep, bytes, items, and last its `str` and `repr`.
Attributes that a class adds to a list, a text, an array or an exception are read too. Reading
copies, so that later calls of a mechanism cannot change what was read. It is a function of the
output alone.

It is also bounded: endless iterables, containers that hold themselves, hooks that raise and arrays
without end are read as far as they go, and an `Opaque` part that was not read to its end says so.
"""

import ctypes
import dataclasses
import functools
import io
import math
import numbers
import operator
import re
import types
import zlib
from collections import UserString, defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.auditing.sampling.foreign import of_other_library
from dpverify.auditing.sampling.parts import (
    EXACT,
    MOST_NUMBERS,
    PLAIN,
    Elements,
    Exact,
    Fields,
    Opaque,
    Raised,
    Read,
    atom,
    digested,
    integer,
)

_MOST_TEXTS = 1 << 10  # of one list that are looked into one by one
_MOST_ITEMS = 1 << 14  # of one list, or of a whole output's parts that are not arrays
_DEEPEST = 24
_LONGEST_REPR = 1 << 14  # characters
_SUMS = 1_024  # that longer arrays are folded to
_CHUNK = 1 << 18
_MOST_FOLDED = 1 << 28  # numbers: as many as some seconds allow
_LIBRARIES = {
    "numpy",
    "scipy",
    "pandas",
    "polars",
    "torch",
}  # whose private attributes say nothing more


def raised(error: BaseException) -> Raised:
    """The exception as an output, including what an exception group holds."""
    return Raised(type(error).__name__, _message(error))


def _message(error: BaseException, within: tuple[int, ...] = ()) -> str:
    """The exception's text, with its group, notes, attributes and causes."""
    told = _told(error, str)
    if type(error).__module__ != "builtins" and _own_text(error):
        told += f", args={_told(error.args, _shown)}"
    if len(within) >= _DEEPEST or id(error) in within:
        return told
    path = (*within, id(error))
    if isinstance(error, BaseExceptionGroup):
        inner = (f"{type(one).__name__}: {_message(one, path)}" for one in error.exceptions)
        told += f" [{'; '.join(inner)}]"
    told += "".join(f", {name}={_told(value, _shown)}" for name, value in vars(error).items())
    cause = error.__cause__ if error.__suppress_context__ else error.__context__
    if cause is not None:
        told += f", from {type(cause).__name__}: {_message(cause, path)}"
    return told


def _own_text(error: BaseException) -> bool:
    """Whether the class defines `str` itself, which may show less than its arguments."""
    return type(error).__str__ is not BaseException.__str__


def _told(value: object, tell: Callable[[Any], str]) -> str:
    try:
        return tell(value)
    except Exception as hook:  # noqa: BLE001  # a hook of a foreign type
        return f"its text raises {type(hook).__name__}"


def read(output: object) -> Read:
    """The output as plain parts."""
    if type(output) is Read:
        return output
    reader = _Reader()
    parts = reader.parts(output)
    return Read(parts, reader.kind)


def kind_of(array: NDArray[Any]) -> str:
    """The type of an array and the bit width of its numbers."""
    return f"{type(array).__name__} of {array.dtype.name}"


def _kind(value: Any, own: type) -> str:  # noqa: ANN401
    """The type of a value, and other ways in which equal values may differ."""
    if issubclass(own, np.ndarray):
        return kind_of(value)
    if issubclass(own, Decimal):
        return f"Decimal {value if value.is_nan() else value.as_tuple().exponent}"
    return own.__name__


def is_number_array(array: NDArray[Any]) -> bool:
    """Whether floats hold all entries exactly."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        return False
    whole = array.dtype.kind in "iu" and array.dtype.itemsize > 4 and array.size > 0
    return not whole or max(-int(array.min()), int(array.max())) <= EXACT


class _Reader:
    """Reads one output; `left` is how many more parts it will look at."""

    def __init__(self) -> None:
        self.left = _MOST_ITEMS
        self.path: list[int] = []
        self.kinds: list[tuple[int, str, int]] = []  # depth and type of parts, and how many alike

    @property
    def kind(self) -> str:
        """The types of all parts and how they nest, such as `list(float × 3, int)`."""
        told, above = "", 1
        for depth, kind, times in self.kinds:
            between = "(" * (depth - above) if depth > above else ")" * (above - depth) + ", "
            told += (between if told else "") + kind + (f" × {times}" if times > 1 else "")
            above = depth
        return told + ")" * (above - 1)

    def _note(self, kind: str, times: int = 1, *, below: int = 0) -> None:
        depth = len(self.path) + below
        if self.kinds and self.kinds[-1][:2] == (depth, kind):
            times += self.kinds.pop()[2]
        self.kinds.append((depth, kind, times))

    def parts(self, value: Any) -> Any:  # noqa: ANN401
        self.left -= 1
        if self.left < 0:
            return _beyond("parts of one output")
        if id(value) in self.path:
            return Opaque("itself")
        if len(self.path) >= _DEEPEST:
            kind = type(value).__name__
            return Opaque(kind, f"what lies more than {_DEEPEST} levels deep")
        self.path.append(id(value))
        own = type(value)  # not isinstance, which hooks may answer
        self._note(_kind(value, own))
        try:
            found = atom(value)
            if found is None:
                found = self._inner(value)
            if found is None:
                return self._state(value)
            added = _added(value, own) if own.__dictoffset__ else {}
            added |= _settings(value)
            return self._more(found, added) if added else found
        except (Exception, RecursionError) as error:  # noqa: BLE001  # a hook of a foreign type
            kind = type(value).__name__
            failed = f"{type(error).__name__}: {error}"[:200]
            return Opaque(f"{kind}, unreadable", f"a {kind}: reading it raises {failed}")
        finally:
            self.path.pop()

    def _inner(self, value: Any) -> Any:  # noqa: ANN401, C901, PLR0912  # one case a kind
        """The parts of a value of a known type; None if it is only an object with a state."""
        if isinstance(value, np.ndarray):
            return self._array(value)
        foreign = of_other_library(value)
        if foreign is not None:
            return self.parts(foreign) if not isinstance(foreign, Fields) else self._fields(foreign)
        if isinstance(value, np.generic):
            return self._array(np.array([value]))
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, Enum):
            return Fields(type(value).__name__, (("name", value.name), *self._named(value.value)))
        known = _standard(value)
        if known is not None:
            return self._fields(known)
        if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
            return self._list(value)
        if isinstance(value, Mapping):
            items = list(islice(value.items(), _MOST_ITEMS + 1))
            found = {self._key(k): self.parts(v) for k, v in items[:_MOST_ITEMS]}
            if len(items) > _MOST_ITEMS:
                found["…"] = _beyond("entries of a mapping")
            return found
        if isinstance(value, AbstractSet):
            items = list(islice(value, _MOST_ITEMS + 1))
            read_items = tuple(self.parts(item) for item in items[:_MOST_ITEMS])
            more = (_beyond("elements of a set"),) if len(items) > _MOST_ITEMS else ()
            return Elements((*read_items, *more))
        named = _attributes(value)
        if named is not None:
            return self._fields(Fields(type(value).__name__, named))
        for way, made in _AS_ARRAY:
            if hasattr(value, way) and not isinstance(value, type):
                return self.parts(made(value))
        if isinstance(value, complex | numbers.Complex):
            return self._fields(Fields("complex", (("real", value.real), ("imag", value.imag))))
        number = _float_of(value)
        if number is not None:
            return Exact(_shown(value), number)
        if isinstance(value, types.GeneratorType):
            return self._list(_with_result(value))
        if isinstance(value, Iterable) and not isinstance(value, type):
            return self._list(value)
        return None

    def _more(self, found: Any, added: dict[str, Any]) -> Fields:  # noqa: ANN401
        """A value that was read, together with its extra attributes."""
        named = tuple((str(name), self.parts(item)) for name, item in added.items())
        return Fields("with attributes", (("value", found), *named))

    def _key(self, key: Any) -> Any:  # noqa: ANN401
        self._note(f"key {type(key).__name__}", below=1)
        return key if atom(key) is not None else Opaque(_shown(key))

    def _named(self, value: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401
        return (("value", self.parts(value)),)

    def _fields(self, fields: Fields) -> Fields:
        read_items = tuple((name, self.parts(value)) for name, value in fields.items)
        return Fields(fields.kind, read_items)

    def _alike(self, items: Sequence[Any]) -> Any:  # noqa: ANN401
        """A list of plain numbers, or of very many texts, as arrays; None for any other list."""
        if items and PLAIN.issuperset(map(type, items)):
            array = np.array(items)
            if is_number_array(array):
                kinds = list(map(type, items))
                if kinds.count(kinds[0]) == len(kinds):
                    self._note(kinds[0].__name__, len(kinds), below=1)
                else:
                    for kind, alike in groupby(kinds):
                        self._note(kind.__name__, sum(1 for _ in alike), below=1)
                return self._array(array)
        if len(items) > _MOST_TEXTS and {str}.issuperset(map(type, items)):
            self._note("str", len(items), below=1)
            return self._fields(_many_texts(items))
        return None

    def _list(self, value: Iterable[Any]) -> Any:  # noqa: ANN401
        alike = self._alike(value) if isinstance(value, (list, tuple)) else None
        if alike is not None:
            return alike
        most = min(_MOST_ITEMS, max(self.left, 0))
        found: list[Any] = []
        try:
            for item in islice(value, most):
                kind = type(item)
                if kind in PLAIN:  # quickly, as there may be many
                    self.left -= 1
                    self._note(kind.__name__, below=1)
                    found.append(integer(item) if kind is int else item)
                else:
                    found.append(self.parts(item))
                if self.left < 0:
                    return [*found, _beyond("parts of one output")]
        except Exception as error:  # noqa: BLE001  # what an iterator raises is part of the output
            return [*found, Opaque(f"raises {type(error).__name__}")]
        if len(found) == most and (not isinstance(value, (list, tuple)) or len(value) > most):
            iterator = value if isinstance(value, Iterator) else islice(value, most, None)
            if next(iter(iterator), value) is not value:
                return [_stacked(found), _beyond("items of an iterable")]
        return _stacked(found)

    def _array(self, array: NDArray[Any]) -> Any:  # noqa: ANN401  # one case a kind
        if isinstance(array, np.ma.MaskedArray):
            data, mask = np.asarray(array.data), np.ma.getmaskarray(array)
            fill = ("fill", array.fill_value)
            return self._fields(Fields("masked", (("data", data), ("mask", mask), fill)))
        kind = array.dtype.kind
        if array.ndim == 0:
            return self.parts(array.tolist()) if kind in "biufOSU" else self._array(array[None])
        if array.dtype.names:
            named = tuple((name, array[name]) for name in array.dtype.names)
            return self._fields(Fields("record", named))
        if kind == "c":
            return self._fields(Fields("complex", (("real", array.real), ("imag", array.imag))))
        if kind in "mM":
            return _times(array)
        if kind == "f" and array.dtype.itemsize > 8:
            high = array.astype(np.float64)
            rest = (array - high).astype(np.float64)  # 64 bits of mantissa are two floats
            return self._fields(Fields("long", (("high", high), ("rest", rest))))
        if array.size == 0 and array.ndim > 1:
            return Fields("empty", (("shape", np.array(array.shape)),))
        if array.size == 0 or not is_number_array(array):
            return self.parts(array.tolist())
        return array.copy() if array.size <= MOST_NUMBERS else _folded(array)

    def _state(self, value: Any) -> Any:  # noqa: ANN401
        shown = _shown(value)
        if isinstance(value, type) or value is NotImplemented:
            return Opaque(shown, f"a {type(value).__name__}: it has no value")
        items = _kept(value)
        if not items:
            items = [(name, found) for name, ask in _ASKED if (found := ask(value)) is not None]
        if items:
            named = tuple((str(name), self.parts(item)) for name, item in items[:_MOST_ITEMS])
            return Fields(type(value).__name__, named)
        if shown == type(value).__name__:
            return Opaque(shown, f"a {shown}: it has no value that can be read")
        return Opaque(shown)


def _standard(value: Any) -> Fields | None:  # noqa: ANN401, C901  # one case a type
    """What standard-library objects hold that neither their items nor their state show."""
    items: dict[str, Any]
    match value:
        case BaseException():
            items = {"args": value.args, "message": _message(value)}
        case UserString():
            items = {"text": value.data}
        case io.StringIO() | io.BytesIO():
            items = {"value": value.getvalue(), "at": value.tell()}
        case re.Match():
            items = {"text": value.string, "groups": value.groups(), "regs": value.regs}
        case types.FunctionType():
            cells = [_told(cell, lambda c: c.cell_contents) for cell in value.__closure__ or ()]
            items = {"name": value.__qualname__, "closure": cells, "attributes": vars(value)}
            items |= {"defaults": value.__defaults__, "keywords": value.__kwdefaults__}
            items["code"] = value.__code__
        case types.CodeType():
            items = {"constants": value.co_consts, "names": value.co_names, "code": value.co_code}
        case types.MethodType() | types.BuiltinMethodType():
            owner = None if isinstance(value.__self__, types.ModuleType) else value.__self__
            items = {"name": value.__name__, "of": owner}
        case functools._lru_cache_wrapper():  # noqa: SLF001
            items = {"of": value.__wrapped__, "info": value.cache_info()}
            items["cache"] = Opaque("cache", "what a cache of functools holds")
        case types.GenericAlias() | types.UnionType():
            items = {"shown": repr(value)}
        case ctypes._Pointer():  # noqa: SLF001  # its items go on beyond what it points at
            items = {"contents": value.contents if bool(value) else None}
        case _ if type(value).__module__ == "ipaddress":  # a network's items are its addresses
            items = {"text": str(value)}
        case _:
            return None
    return Fields(type(value).__name__, tuple(items.items()))


def _float_of(value: Any) -> float | None:  # noqa: ANN401
    """The result of its `__float__`, if it has one and it works."""
    if not callable(getattr(type(value), "__float__", None)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _with_result(items: Generator[Any, None, Any]) -> Iterator[Any]:
    """The items of a generator, and what it returns after them."""
    result = yield from items
    if result is not None:
        yield "returned", result


def _kept(value: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    """What pickling keeps of an object: its state, or the arguments it is made from."""
    state = value.__getstate__()
    items: list[tuple[str, Any]] = []
    for part in state if isinstance(state, tuple) else (state,):
        items += list(part.items()) if isinstance(part, dict) else []
    if not items and state is not None:
        return [("state", state)]
    if items or _defines(value, "__reduce_ex__") or not _defines(value, "__reduce__"):
        return items
    try:
        _, made_from, *more = value.__reduce__()
    except Exception:  # noqa: BLE001  # it cannot be pickled, but may be asked or shown
        return []
    arguments = [part for part in made_from if not callable(part)]
    return [("made from", arguments), ("state", list(more))]


def _bytes_of(value: Any) -> bytes | None:  # noqa: ANN401
    if callable(getattr(type(value), "__bytes__", None)):
        return bytes(value)
    try:
        return memoryview(value).tobytes()
    except TypeError:
        return None


def _if_asked(name: str, ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Call `ask` on values whose type defines this method itself; None for others."""
    return lambda value: ask(value) if _defines(value, name) else None


def _defines(value: Any, name: str) -> bool:  # noqa: ANN401
    """Whether its type defines this method, rather than inherit it from `object`."""
    own = getattr(type(value), name, None)
    return callable(own) and own is not getattr(object, name, None)


_ASKED: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("int", _if_asked("__int__", int)),
    ("index", _if_asked("__index__", operator.index)),
    ("len", _if_asked("__len__", len)),
    ("bool", _if_asked("__bool__", bool)),
    ("bytes", _bytes_of),
    ("items", _if_asked("__getitem__", iter)),
    ("str", _if_asked("__str__", str)),
)
"""What an object without a state may still answer."""


_AS_ARRAY: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("__array__", np.asarray),
    ("__array_interface__", np.asarray),
    ("__dlpack__", np.from_dlpack),
    ("tolist", lambda value: value.tolist()),
)


def _added(value: Any, own: type) -> dict[str, Any]:  # noqa: ANN401
    """Extra attributes of a value, such as those that a subclass adds."""
    home = own.__module__.partition(".")[0]
    if home in _LIBRARIES:
        public = {n: v for n, v in vars(value).items() if not n.startswith("_")}
        return {} if home == "scipy" else public  # where these are what was read
    known = {*getattr(own, "__dataclass_fields__", ())}
    known |= {field.name for field in getattr(own, "__attrs_attrs__", ())}
    found = {name: item for name, item in vars(value).items() if name not in known}
    if issubclass(own, Enum):
        return {name: item for name, item in found.items() if not name.startswith("_")}
    return found


def _settings(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """Settings of a standard-library container besides its items."""
    if isinstance(value, deque) and value.maxlen is not None:
        return {"maxlen": value.maxlen}
    if isinstance(value, defaultdict) and value.default_factory is not None:
        return {"default_factory": Opaque(_shown(value.default_factory))}
    return {}


def _times(array: NDArray[Any]) -> Fields:
    """Times or durations as whole seconds and a rest; NaN where there is none."""
    missing = np.isnat(array)
    seconds = array.astype(f"{array.dtype.kind}8[s]")
    rest = (array - seconds).astype("m8[ns]").astype(np.int64)
    columns = [
        np.where(missing, np.nan, part.astype(np.int64).astype(np.float64))
        for part in (seconds, rest)
    ]
    kind = array.dtype.name.partition("[")[0]
    return Fields(kind, (("seconds", columns[0]), ("rest", columns[1])))


def _stacked(items: list[Any]) -> Any:  # noqa: ANN401
    """Numbers, or rows of numbers of one shape, as one array."""
    if items and PLAIN.issuperset(map(type, items)):
        numbers = np.array(items)
        return numbers if is_number_array(numbers) else items
    if not items or not all(isinstance(item, np.ndarray) for item in items):
        return items
    if len({item.shape for item in items}) > 1 or sum(i.size for i in items) > MOST_NUMBERS:
        return items
    return np.stack([item.astype(np.float64) for item in items])


def _many_texts(texts: Sequence[str]) -> Fields:
    """Texts too many to look into: their lengths, digests, and the numbers they spell."""
    named: dict[str, Any] = {
        "length": np.array([len(text) for text in texts]),
        "digest": np.array([zlib.crc32(text.encode("utf-8", "surrogatepass")) for text in texts]),
        "note": Opaque("texts", f"single characters of more than {_MOST_TEXTS:,} texts in a list"),
    }
    values = np.array([_spelled_number(text) for text in texts])
    if not np.isnan(values).all():
        named["number"] = values
    return Fields("texts", tuple(named.items()))


def _spelled_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _folded(array: NDArray[Any]) -> Fields:
    """An array too long to keep, summarized: extremes, norms, odd entries, sums with random signs.

    Every entry has its sign and its sum by its place alone.
    """
    flat: Any = array.reshape(-1) if array.flags.c_contiguous else array.flat  # without a copy
    sums, square = np.zeros(_SUMS), 0.0
    odd = np.zeros(3)
    found = []  # the largest and the least of every chunk, and where they stand
    for number, start in enumerate(range(0, min(array.size, _MOST_FOLDED), _CHUNK)):
        chunk = flat[start : start + _CHUNK].astype(np.float64)
        at = int(chunk.argmax()), int(chunk.argmin())
        found.append((chunk[at[0]], chunk[at[1]], start + at[0], start + at[1]))
        odd += [np.count_nonzero(found) for found in (np.isnan(chunk), np.isinf(chunk), chunk == 0)]
        chunk = np.nan_to_num(chunk)
        square += float(chunk @ chunk)
        padded = np.zeros(_CHUNK)
        padded[: chunk.size] = chunk * _signs(number)[: chunk.size]
        sums += padded.reshape(-1, _SUMS).sum(axis=0)
    shape = [float(length) for length in array.shape]
    ends = np.array(found)
    best = int(ends[:, 0].argmax()), int(ends[:, 1].argmin())
    places = np.array([ends[best[0], 2], ends[best[1], 3]])
    extremes = np.array([ends[best[0], 0], ends[best[1], 1]])
    what = f"single entries of arrays of more than {MOST_NUMBERS:,} numbers"
    beyond = f", and all entries beyond the first {_MOST_FOLDED:,}"
    read_of = f"(their extremes and {_SUMS:,} random sums of all were)"
    note = Opaque("folded", f"{what} {read_of}{beyond if array.size > _MOST_FOLDED else ''}")
    named = (("shape", np.array(shape)), ("places", places), ("extremes", extremes))
    more = (("nan, infinite, zero", odd), ("square", square), ("sums", sums), ("note", note))
    return Fields("array", (*named, *more))


@functools.lru_cache(maxsize=64)
def _signs(number: int) -> NDArray[np.int8]:
    """The random signs of one chunk's entries, the same for every array."""
    rng = np.random.Generator(np.random.PCG64([7, number]))
    return rng.integers(0, 2, _CHUNK, dtype=np.int8) * np.int8(2) - np.int8(1)


def _attributes(value: Any) -> tuple[tuple[str, Any], ...] | None:  # noqa: ANN401
    """The fields of a dataclass, an attrs class or a named tuple."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    elif hasattr(type(value), "__attrs_attrs__"):
        names = [field.name for field in type(value).__attrs_attrs__]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(zip(value._fields, value, strict=True))
    else:
        return None
    return tuple((name, getattr(value, name)) for name in names if hasattr(value, name))


def _shown(value: Any) -> str:  # noqa: ANN401
    """The `repr`, or the name of the type if the `repr` contains a memory address."""
    found = repr(value)
    if " at 0x" in found:
        return type(value).__name__
    return found if len(found) <= _LONGEST_REPR else digested(found, _LONGEST_REPR)


def _beyond(what: str) -> Opaque:
    return Opaque("…", f"{what} beyond the first {_MOST_ITEMS:,}")
