"""Outputs of many kinds that hide one number, v, among noise; v alone depends on the data.

Either v is a bit from randomized response, or a number with Laplace noise: in both cases the
privacy of the output is exactly ε, whatever is done to v afterwards that can be undone.
"""

import array
import collections
import ctypes
import dataclasses
import datetime as dt
import enum
import io
import json
import math
import re
import struct
import uuid
import zlib
import zoneinfo
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it ships none
import scipy.interpolate
import scipy.sparse

from dpverify.auditing import audit
from dpverify.guarantees import PureDP
from tests.auditing.linked import LINKED

Rng = np.random.Generator


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Report:
    noise: float
    found: Any


@dataclasses.dataclass
class Center:
    noise: float


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    noise: float
    found: float


class Plain:
    def __init__(self, noise: float, found: float) -> None:
        self.noise = noise
        self._found = found


class Slots:
    __slots__ = ("found", "noise")

    def __init__(self, noise: float, found: float) -> None:
        self.noise = noise
        self.found = found


class Convertible:
    """All that it has is `__float__`."""

    __slots__ = ("_v",)

    def __init__(self, v: float) -> None:
        self._v = v

    def __float__(self) -> float:
        return self._v

    def __getstate__(self) -> None:
        raise TypeError


class ArrayLike:
    def __init__(self, rows: Any) -> None:  # noqa: ANN401
        self._rows = rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:  # noqa: ANN401
        del copy
        return np.asarray(self._rows, dtype)


class Tensor:
    """What an audit uses of a tensor of PyTorch that requires a gradient."""

    def __init__(self, rows: Any) -> None:  # noqa: ANN401
        self._rows = rows

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:  # noqa: ANN401
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> "Tensor":
        return self

    def numpy(self) -> Any:  # noqa: ANN401
        return self._rows


class Shown:
    """An object that only its text tells about."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def __getstate__(self) -> None:
        return None


class Uncopyable:
    def __init__(self, noise: float, found: float) -> None:
        self.noise = noise
        self.found = found

    def __deepcopy__(self, memo: Any) -> Any:  # noqa: ANN401
        raise TypeError("cannot be copied")

    __copy__ = __reduce__ = None  # type: ignore[assignment]


class Numbers(list):  # type: ignore[type-arg]
    found: float


class Name(str):
    __slots__ = ("__dict__",)
    found: float


class Rows(np.ndarray):
    found: float


class Items:
    """A sequence as they were before `__iter__`."""

    __slots__ = ("_v",)

    def __init__(self, v: float) -> None:
        self._v = v

    def __getitem__(self, at: int) -> float:
        return [0.0, self._v][at]

    def __getstate__(self) -> None:
        return None


class Whole:
    """All that it has is `__index__`."""

    __slots__ = ("_b",)

    def __init__(self, b: int) -> None:
        self._b = b

    def __index__(self) -> int:
        return 7 + self._b

    def __getstate__(self) -> None:
        return None


class Structure(ctypes.Structure):
    _fields_ = (("noise", ctypes.c_double), ("found", ctypes.c_int))


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


class Color(enum.Enum):
    RED = 0
    GREEN = 1


def placed(v: float, rng: Rng, length: int, at: int) -> Any:  # noqa: ANN401
    rows = rng.laplace(size=length)
    rows[at] = v
    return rows


def nested(value: Any, depth: int) -> Any:  # noqa: ANN401
    for i in range(depth):
        value = [value] if i % 2 else {"in": value}
    return value


def centered(row: Any) -> Any:  # noqa: ANN401
    return row - row.mean()


def repeated(b: int, row: Any) -> Any:  # noqa: ANN401
    return [*row, row[0] if b else 9.0]


def with_attribute(value: Any, v: float) -> Any:  # noqa: ANN401
    value.found = v
    return value


def in_attrs(b: int, rng: Rng) -> Any:  # noqa: ANN401
    table = pd.DataFrame({"a": rng.normal(size=2)})
    table.attrs["found"] = b
    return table


def in_order(b: int, row: Any) -> dict[str, float]:  # noqa: ANN401
    found = {"x": float(row[0]), "y": float(row[1])}
    return dict(reversed(found.items())) if b else found


def raises(how: str, b: int, noise: float) -> None:
    error: Exception = ValueError("no answer")
    match how:
        case "message":
            error = ValueError(f"value {noise:.4f} is {'too large' if b else 'too small'}")
        case "type":
            error = KeyError(noise) if b else ValueError(noise)
        case "cause":
            error.__cause__ = KeyError(b)
        case "note":
            error.add_note(f"noise {noise:.4f}, bit {b}")
        case "mute":
            error = Mute(b)
        case _:
            error.found = b  # type: ignore[attr-defined]
    raise error


def generated(v: float, rng: Rng) -> Any:  # noqa: ANN401
    yield float(rng.normal())
    yield v


def returned(v: float, rng: Rng) -> Any:  # noqa: ANN401
    yield float(rng.normal())
    return v


def written(text: str) -> io.StringIO:
    file = io.StringIO()
    file.write(text)
    return file


def caused(v: float) -> Exception:
    error = ValueError("no answer")
    error.__cause__ = KeyError(v)
    return error


def itself(v: float, rng: Rng) -> Any:  # noqa: ANN401
    loop: list[Any] = [float(rng.normal()), v]
    loop.append(loop)
    return loop


EPOCH = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
MOMENT = np.datetime64("2020-01-01T00:00:00", "ns")


def with_remainder(bit: int, row: Any, modulus: int) -> Any:  # noqa: ANN401
    row[0] += (bit - row.sum()) % modulus
    return row


def without(place: int, row: Any, value: float = math.nan) -> Any:  # noqa: ANN401
    row[place] = value
    return row


NUMBERS: dict[str, Any] = {
    "float": lambda v, _: v,
    "float32": lambda v, _: np.float32(v),
    "longdouble": lambda v, _: np.longdouble(v),
    "complex": lambda v, rng: complex(rng.normal(), v),
    "complex array": lambda v, rng: rng.normal(size=3) + 1j * np.array([0, v, 0]),
    "Decimal": lambda v, _: Decimal(v) + Decimal("1e-30"),
    "Fraction": lambda v, _: Fraction(v) + Fraction(1, 3),
    "huge integer": lambda v, _: 2**80 + int(v * 2**60),
    "text of a number": lambda v, rng: f"the answer is {v:.6f}, noise {rng.normal():.3f}",
    "JSON": lambda v, rng: json.dumps({"noise": float(rng.normal()), "v": v}),
    "bytes": lambda v, rng: rng.bytes(6) + struct.pack(">d", v),
    "bytearray": lambda v, rng: bytearray(f"{v:+.4f} {rng.normal():.3f}", "ascii"),
    "datetime": lambda v, _: EPOCH + dt.timedelta(hours=v),
    "timedelta": lambda v, _: dt.timedelta(milliseconds=v * 100),
    "datetime64": lambda v, _: MOMENT + np.timedelta64(int(v * 1e9), "ns"),
    "datetime64 array": lambda v, rng: (
        MOMENT + (np.array([rng.normal(), v]) * 1e9).astype("m8[ns]")
    ),
    "coordinate 70 of 80": lambda v, rng: placed(v, rng, 80, 70),
    "coordinate 900 of 1,000": lambda v, rng: placed(v, rng, 1_000, 900),
    "list of 200": lambda v, rng: placed(v, rng, 200, 150).tolist(),
    "matrix of 20 by 20": lambda v, rng: placed(v, rng, 400, 333).reshape(20, 20),
    "four dimensions": lambda v, rng: placed(v, rng, 16, 9).reshape(2, 2, 2, 2),
    "six levels deep": lambda v, rng: nested([float(rng.normal()), v], 6),
    "dict of 100": lambda v, rng: {f"k{i}": x for i, x in enumerate(placed(v, rng, 100, 90))},
    "dict with arrays": lambda v, rng: {"a": rng.normal(size=3), "b": placed(v, rng, 90, 80)},
    "mapping proxy": lambda v, rng: MappingProxyType({"n": float(rng.normal()), "v": v}),
    "named tuple": lambda v, rng: Point(float(rng.normal()), v),
    "dataclass": lambda v, rng: Report(float(rng.normal()), v),
    "dataclass in dataclass": lambda v, rng: Report(float(rng.normal()), Slotted(0.0, v)),
    "namespace": lambda v, rng: SimpleNamespace(noise=float(rng.normal()), v=v),
    "object": lambda v, rng: Plain(float(rng.normal()), v),
    "object with slots": lambda v, rng: Slots(float(rng.normal()), v),
    "object that cannot be copied": lambda v, rng: Uncopyable(float(rng.normal()), v),
    "__float__": lambda v, _: Convertible(v),
    "__array__": lambda v, rng: ArrayLike(placed(v, rng, 70, 69)),
    "tensor": lambda v, rng: Tensor(placed(v, rng, 70, 69)),
    "array.array": lambda v, rng: array.array("d", placed(v, rng, 5, 4)),
    "deque": lambda v, rng: collections.deque([float(rng.normal()), v]),
    "generator": generated,
    "list that holds itself": itself,
    "Series": lambda v, rng: pd.Series(placed(v, rng, 70, 69)),
    "DataFrame": lambda v, rng: pd.DataFrame({"a": rng.normal(size=3), "b": [0.0, v, 1.0]}),
    "column of a name that comes twice": lambda v, rng: pd.DataFrame(
        [[v, rng.normal()]], columns=["a", "a"]
    ),
    "sparse matrix": lambda v, rng: scipy.sparse.csr_array(placed(v, rng, 70, 69)[None, :]),
    "structured array": lambda v, rng: np.array(
        [(rng.normal(), v)], dtype=[("noise", "f8"), ("v", "f8")]
    ),
    "masked array": lambda v, rng: np.ma.array(
        placed(v, rng, 4, 2), mask=[True, False, False, True]
    ),
    "object array": lambda v, rng: np.array([float(rng.normal()), v, None], dtype=object),
    "text only in repr": lambda v, rng: Shown(f"Result(noise={rng.normal():.3f}, v={v:.6f})"),
    "sum of a vector": lambda v, rng: centered(rng.normal(size=30)) + v,
    "set of numbers": lambda v, _: {v, 1e3, 1e4},
    "attribute of a list": lambda v, rng: with_attribute(Numbers(rng.normal(size=3)), v),
    "attribute of a text": lambda v, _: with_attribute(Name("mean"), v),
    "attribute of an array": lambda v, rng: with_attribute(rng.normal(size=3).view(Rows), v),
    "attribute of a dataclass": lambda v, rng: with_attribute(Center(float(rng.normal())), v),
    "__getitem__": lambda v, _: Items(v),
    "object that can be called": lambda v, _: scipy.interpolate.CubicSpline([0, 1, 2], [0, v, 1]),
    "closure": lambda v, _: lambda x: x + v,
    "what a generator returns": returned,
    "number under a mask": lambda v, rng: np.ma.array([rng.normal(), v], mask=[False, True]),
    "array of long doubles": lambda v, _: np.array([1, v], np.longdouble) / 3,
    "pointer": lambda v, _: ctypes.pointer(ctypes.c_double(v)),
    "StringIO": lambda v, _: written(f"{v:.6f}"),
    "error that is returned": lambda v, _: caused(v),
}

BITS: dict[str, Any] = {
    "bool": lambda b, _: bool(b),
    "Enum": lambda b, rng: (Color(b), float(rng.normal())),
    "None or number": lambda b, rng: None if b else float(rng.normal()),
    "NaN in a coordinate": lambda b, rng: (float(rng.normal()), math.nan if b else 1.0),
    "element of a set": lambda b, rng: {float(rng.normal()), "yes" if b else "no"},
    "letter of a text": lambda b, rng: f"{rng.integers(10**8):08d}{'xy'[b]}{rng.integers(10**4)}",
    "low bit of a huge integer": lambda b, rng: (int(rng.integers(2**50)) * 2**20 + b, 1.0),
    "a key more": lambda b, rng: {"a": float(rng.normal())} | ({"b": 0.0} if b else {}),
    "length of a list": lambda b, rng: rng.normal(size=90 + b).tolist(),
    "order of a list": lambda b, rng: sorted(rng.normal(size=3).tolist(), reverse=bool(b)),
    "two equal entries": lambda b, rng: repeated(b, rng.normal(size=70)),
    "mask of a masked array": lambda b, rng: np.ma.array(rng.normal(size=2), mask=[b, 1 - b]),
    "index of a Series": lambda b, rng: pd.Series(rng.normal(size=2), index=["a", "bc"[b]]),
    "integer in an array": lambda b, rng: np.append(rng.integers(1000, size=75), b),
    "not a number in a long array": lambda b, rng: np.append(
        rng.normal(size=70_000), [math.nan if b else 0.0]
    ),
    "parity of a sum": lambda b, rng: with_remainder(b, rng.integers(1000, size=20), 2),
    "sum modulo 3": lambda b, rng: with_remainder(b, rng.integers(1000, size=20), 3).tolist(),
    "even or odd place of NaN": lambda b, rng: without(
        2 * int(rng.integers(40)) + b, rng.normal(size=81)
    ),
    "even or odd place of the largest": lambda b, rng: without(
        2 * int(rng.integers(40)) + b, rng.normal(size=81), math.inf
    ),
    "maxlen of a deque": lambda b, rng: collections.deque([float(rng.normal())], maxlen=2 + b),
    "default of a defaultdict": lambda b, rng: collections.defaultdict(
        (int, float)[b], a=float(rng.normal())
    ),
    "fill of a masked array": lambda b, rng: np.ma.array(rng.normal(size=2), fill_value=b),
    "order of a dict": lambda b, rng: in_order(b, rng.normal(size=2)),
    "order of columns": lambda b, rng: pd.DataFrame([in_order(b, rng.normal(size=2))]),
    "attrs of a DataFrame": in_attrs,
    "categories of a Series": lambda b, _: pd.Series(
        pd.Categorical(["a"], categories=["a", "bc"[b]])
    ),
    "zone of a datetime": lambda b, _: dt.datetime(
        2020, 1, 1, tzinfo=zoneinfo.ZoneInfo(("Europe/Berlin", "Europe/Paris")[b])
    ),
    "tuple in a set": lambda b, rng: {("noise", float(rng.normal())), ("found", b)},
    "last bit of an integer": lambda b, rng: 2 * int(rng.integers(-(2**40), 2**40)) + b,
    "last bit of a UUID": lambda b, rng: uuid.UUID(bytes=rng.bytes(15) + bytes([b * 3])),
    "__index__": lambda b, _: Whole(b),
    "middle bit of a huge integer": lambda b, rng: (
        (int(rng.integers(1 << 40)) << 400) + (b << 200) + int(rng.integers(1 << 40))
    ),
    "fold of a datetime": lambda b, _: EPOCH.replace(fold=b),
    "zone of a time": lambda b, _: dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=b))),
    "nanoseconds of a Timedelta": lambda b, _: pd.Timedelta(b, "ns"),
    "match": lambda b, _: re.match("(.)(.)", f"a{b}"),
    "UserString": lambda b, _: collections.UserString("ab"[b]),
    "shape of an empty array": lambda b, _: np.zeros((0, 3 + b)),
    "zero that a sparse matrix stores": lambda b, rng: scipy.sparse.csr_array(
        ([rng.normal(), 0.0], ([0, 0], [0, 1 + b])), shape=(1, 3)
    ),
    "name of an Index": lambda b, _: pd.Index([1, 2], name="ab"[b]),
    "name of the columns": lambda b, rng: pd.DataFrame({"a": rng.normal(size=1)}).rename_axis(
        columns="ab"[b]
    ),
    "rows of a table without columns": lambda b, _: pd.DataFrame(index=range(3 + b)),
    "whether categories are ordered": lambda b, _: pd.Categorical(["a"], ordered=bool(b)),
    "ctypes": lambda b, rng: Structure(rng.normal(), b),
    "state of a generator": lambda b, _: np.random.default_rng(b),
    "message of an error": "message",
    "type of an error": "type",
    "note of an error": "note",
    "cause of an error": "cause",
    "attribute of an error": "attribute",
    "error whose text raises": "mute",
}
BITS |= LINKED

ODD: dict[str, Any] = {
    "negative zero": lambda b, _: -0.0 if b else 0.0,
    "negative zero in an array": lambda b, rng: np.append(rng.normal(size=3), -0.0 if b else 0.0),
    "payload of NaN": lambda b, _: struct.unpack("<d", struct.pack("<Q", 0x7FF8 << 48 | b))[0],
    "integer or float": lambda b, _: 3.0 if b else 3,
    "width of integers": lambda b, _: np.int32(3) if b else np.int64(3),
    "width of an array": lambda b, rng: rng.integers(1000, size=9).astype(
        np.int32 if b else np.int64
    ),
    "integer or float in a dataclass": lambda b, rng: Report(float(rng.normal()), 3.0 if b else 3),
    "integer or float in a deque": lambda b, _: collections.deque([3.0 if b else 3, 1]),
    "integer or float six levels deep": lambda b, _: nested([3.0 if b else 3, "x"], 6),
    "digits of a Decimal": lambda b, _: Decimal("1.0" if b else "1.00"),
    "width of a Series": lambda b, rng: pd.Series(
        rng.integers(9, size=2).astype(np.int32 if b else np.int64)
    ),
    "which of many is a float": lambda b, _: [1, 2.0] * 50 if b else [*[1, 2.0] * 49, 1.0, 2],
}


class Hidden:
    """A mechanism with an output of this kind, of privacy exactly ε on 0 and 1."""

    def __init__(self, kind: str, epsilon: float) -> None:
        self.kind = kind
        self.epsilon = epsilon

    def __call__(self, data: int, rng: Rng) -> Any:  # noqa: ANN401
        if self.kind in NUMBERS:
            return NUMBERS[self.kind](data + float(rng.laplace(scale=1.0 / self.epsilon)), rng)
        flips = rng.random() < 1.0 / (1.0 + math.exp(self.epsilon))
        bit = 1 - data if flips else data
        make = (BITS | ODD)[self.kind]
        if isinstance(make, str):
            raises(make, bit, float(rng.normal()))
        return make(bit, rng)


LONG = {
    "coordinate 900 of 1,000",
    "not a number in a long array",
    "two equal of many texts",
    "key of a dict",
}  # slow
LEVEL, DRAWS = 0.1, 160


def is_refuted(kind: str, number: int) -> bool:
    """Whether an audit at level 0.1 refutes that an output of ε = 1 keeps ε = 1: the boundary."""
    first = zlib.crc32(kind.encode())  # kinds that share a seed would share v, and err together
    return audit(
        Hidden(kind, 1.0),
        left=0,
        right=1,
        claim=PureDP(epsilon=1.0),
        level=LEVEL,
        samples=DRAWS,
        arithmetic="float" if kind in ODD else "real",
        seed=first + number,
    ).refuted
