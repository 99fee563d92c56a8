"""An array whose noise is not yet drawn, element by element."""

# ruff: noqa: ANN401  # operands are whatever the user has

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.tracing.noise.numbers import NoisyMagnitude, NoisyNumber, is_plain
from dpverify.tracing.noise.views import Viewed
from dpverify.tracing.recording.events import CAST, Touch
from dpverify.tracing.recording.places import Place, here

# Modules that import this one; the package puts them here when all are loaded.
algebra: Any = None
functions: Any = None
shapes: Any = None


_READING = {
    *("all", "any", "argpartition", "argsort", "choose", "clip", "compress", "conj", "conjugate"),
    *("cumprod", "diagonal", "itemsize", "max", "min", "nbytes", "nonzero", "prod", "repeat"),
    *("round", "searchsorted", "std", "strides", "take", "tobytes", "trace", "var", "flags"),
}
"""What numpy's arrays have that changes nothing: asked of the numbers."""


def _nothing_drawn(_: Any) -> int:
    return 0


class NoisyArray(Viewed):
    """An array with noise; `idx` and `coef` have one more axis if draws are added up."""

    __slots__ = (*("coef", "idx", "journal", "many", "offset", "touches", "whole"),)
    __array_priority__ = 1000.0

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        journal: Any,
        offset: Any,
        idx: NDArray[np.intp],
        coef: Any,
        touches: tuple[Touch, ...] = (),
        many: bool = False,  # noqa: FBT001, FBT002
        whole: bool = False,  # noqa: FBT001, FBT002
    ) -> None:
        self.journal = journal
        self.offset = offset
        self.idx = idx
        self.coef = coef
        self.touches = touches
        self.many = many
        self.whole = whole
        self.root = self.change = self.views = None

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.idx.shape
        return shape[:-1] if self.many else shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64 if self.whole else np.float64)

    @property
    def T(self) -> Any:  # noqa: N802  # numpy's name
        return self.mapped(lambda a: a.transpose())

    @property
    def flat(self) -> Any:
        """All elements in one row, as a view in any memory order."""
        return self.linked(self.mapped(lambda a: a.reshape(-1)), lambda a: a.reshape(-1))

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = np.resize(value, self.size) if is_plain(value) else value

    def full(self) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.float64]]:
        """Offset, draws and factors at full size."""
        offset = np.broadcast_to(np.asarray(self.offset), self.shape)
        coef = np.asarray(self.coef)
        if self.many and coef.ndim == len(self.shape):
            coef = coef[..., None] if coef.ndim else coef
        return offset, self.idx, np.broadcast_to(coef, self.idx.shape)

    def mapped(self, change: Callable[[NDArray[Any]], Any]) -> Any:
        """The array after elements changed places: indexing, reshaping, transposing."""
        offset, idx, coef = self.full()
        if self.many:
            places = np.arange(self.size).reshape(self.shape)
            chosen = change(places)
            rows = idx.reshape(self.size, -1)[chosen]
            factors = coef.reshape(self.size, -1)[chosen]
            moved = change(np.asarray(offset))
            same = np.may_share_memory(chosen, places)
        else:
            rows, factors, moved = change(idx), change(coef), change(offset)
            same = np.may_share_memory(rows, idx)
        if np.ndim(moved) == 0:
            if not np.size(rows):
                return moved.item()  # a sum of nothing
            one = self.many and np.size(rows) > 1
            return NoisyNumber(
                self.journal,
                moved.item() if hasattr(moved, "item") else moved,
                np.asarray(rows) if one else int(np.ravel(rows)[0]),
                np.asarray(factors) if one else float(np.ravel(factors)[0]),
                self.touches,
                self.whole,
            )
        made = NoisyArray(
            self.journal, moved, rows, factors, self.touches, many=self.many, whole=self.whole
        )
        return self.linked(made, change) if same else made

    def realize(self, place: Place | None = None, *, final: bool = False) -> NDArray[Any]:
        offset, idx, coef = self.full()
        values = self.journal.realize(offset, idx, coef, self.touches, place or here(), final=final)
        return np.asarray(values).astype(np.int64 if self.whole else np.float64)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (NoisyArray, NoisyNumber)) and type(key) in {NoisyArray, NoisyNumber}:
            key = key.realize(here(1))
        return self.mapped(lambda a: a[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        place = here(1)
        if type(key) in {NoisyArray, NoisyNumber}:
            key = key.realize(place)
        self.overwrite(value, place, key)

    def tolist(self) -> list[Any]:
        return [part.tolist() if isinstance(part, NoisyArray) else part for part in self]

    def item(self, *at: int) -> Any:
        return self.ravel()[at[0] if at else 0]

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return self.mapped(lambda a: a.reshape(*shape, **options))

    def ravel(self, *_: Any) -> Any:
        return self.mapped(lambda a: a.reshape(-1))

    def flatten(self, *_: Any) -> Any:
        return self.mapped(lambda a: a.flatten())

    def transpose(self, *axes: Any) -> Any:
        return self.mapped(lambda a: a.transpose(*axes))

    def swapaxes(self, one: int, two: int) -> Any:
        return self.mapped(lambda a: a.swapaxes(one, two))

    def squeeze(self, axis: Any = None) -> Any:
        return self.mapped(lambda a: np.squeeze(a, axis))

    def copy(self, *_: Any) -> "NoisyArray":
        return NoisyArray(
            self.journal,
            self.offset,
            self.idx,
            self.coef,
            self.touches,
            many=self.many,
            whole=self.whole,
        )

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> "NoisyArray":
        return self.copy()

    def astype(self, dtype: Any, **options: Any) -> Any:
        kind = np.dtype(dtype).kind
        if options.get("copy") is False and np.dtype(dtype) == self.dtype:
            return self
        if kind == "f" and (np.dtype(dtype) == np.float64 or shapes.is_raw(self)):
            if np.dtype(dtype) != np.float64:
                # Noise that waits for data has no type; but which one was asked for must agree.
                key = (CAST, str(np.dtype(dtype)))
                self.journal.pick(key, np.ones(1), _nothing_drawn, here(1))
            made = self.copy()
            made.whole = False
            return made
        return self.realize(here(1)).astype(dtype, **options)

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        return functions.apply_function(
            np.sum, (self,), {"axis": axis, "dtype": dtype, "out": out, **options}
        )

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, **options: Any) -> Any:
        return functions.apply_function(
            np.mean, (self,), {"axis": axis, "dtype": dtype, "out": out, **options}
        )

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return functions.apply_function(
            np.cumsum, (self,), {"axis": axis, "dtype": dtype, "out": out}
        )

    def dot(self, other: Any, out: Any = None) -> Any:
        return functions.apply_function(np.dot, (self, other), {"out": out})

    def argmax(self, axis: Any = None, **options: Any) -> Any:
        return functions.apply_function(np.argmax, (self,), {"axis": axis, **options})

    def argmin(self, axis: Any = None, **options: Any) -> Any:
        return functions.apply_function(np.argmin, (self,), {"axis": axis, **options})

    def sort(self, *args: Any, **options: Any) -> None:
        place = here(1)
        numbers = self.realize(place)
        numbers.sort(*args, **options)
        self.overwrite(numbers, place)

    def partition(self, *args: Any, **options: Any) -> None:
        place = here(1)
        numbers = self.realize(place)
        numbers.partition(*args, **options)
        self.overwrite(numbers, place)

    def fill(self, value: Any) -> None:
        self.overwrite(value, here(1))

    def put(self, *args: Any, **options: Any) -> None:
        functions.apply_function(np.put, (self, *args), options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        place = here(1)
        if name not in _READING:
            self.journal.puzzle(place, f"{name} of an array of noise is not understood")
        return getattr(self.realize(place), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001
        """The numbers, for libraries such as pandas that take no forms; they may write to them."""
        del copy
        return self.realize(here(1)).astype(dtype or self.dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return algebra.apply_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return functions.apply_function(func, args, kwargs)

    def __repr__(self) -> str:
        return repr(self.realize(here(1)))

    def __str__(self) -> str:
        return str(self.realize(here(1)))

    def __format__(self, spec: str) -> str:
        return format(self.realize(here(1)), spec)

    def __float__(self) -> float:
        return float(self.realize(here(1)))

    def __int__(self) -> int:
        return int(self.realize(here(1)))

    def __bool__(self) -> bool:
        return bool(self.realize(here(1)))

    def __reduce__(self) -> Any:
        return (np.array, (self.realize(here(1)),))


def _binary(ufunc: np.ufunc, *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: NoisyArray, other: Any) -> Any:
        if type(other) is NoisyMagnitude:
            other = float(other)
        if not (is_plain(other) or type(other) in {NoisyArray, NoisyNumber, list, tuple}):
            return NotImplemented
        return algebra.apply_ufunc(
            ufunc, "__call__", (other, self) if swapped else (self, other), {}
        )

    return method


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def method(self: NoisyArray, other: Any) -> Any:
        return algebra.apply_ufunc(ufunc, "__call__", (self, other), {"out": (self,)})

    return method


for _name, _ufunc in {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}.items():
    setattr(NoisyArray, f"__{_name}__", _binary(_ufunc))
    setattr(NoisyArray, f"__r{_name}__", _binary(_ufunc, swapped=True))
    setattr(NoisyArray, f"__i{_name}__", _in_place(_ufunc))


for _name, _ufunc in {
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(NoisyArray, f"__{_name}__", _binary(_ufunc))


NoisyArray.__hash__ = None  # type: ignore[assignment]  # as numpy's arrays


for _name, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute}.items():
    setattr(
        NoisyArray,
        f"__{_name}__",
        lambda self, _u=_ufunc: algebra.apply_ufunc(_u, "__call__", (self,), {}),
    )
