"""Values of the language: numbers, truth values, texts, None, lists, arrays, functions.

A number is an int, a float or a Fraction of Python's, or a symbol. NumPy's numbers become Python's:
nothing in the language can tell them apart, and whole ones are kept within 64 bits. An array keeps
its cells as objects in one of NumPy's, so that slices are views of it where NumPy's are.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dpverify.certifying.symbolic.symbols import Symbolic, Uniform, common_kind, number, refuse

NUMBERS = (int, float, Fraction, Symbolic)
_ATOMS = (bool, int, float, str, type(None), Fraction)
_KINDS = {np.dtype(np.float64): "float", np.dtype(np.int64): "int", np.dtype(np.bool_): "bool"}
MOST = 100_000  # numbers in a list
_LARGEST = 2**53  # beyond, floats and whole numbers are not compared exactly by NumPy
_DEEPEST = 50


@dataclass(eq=False, slots=True)
class Array:
    """An array with at least one dimension.

    `kind` is what its cells are: "float", "int", "bool" or "uniform"; None where a run does not
    tell whether they are whole numbers or floats.
    """

    cells: Any
    kind: str | None

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Any]:
        return (self.part(cell) for cell in self.cells)

    def part(self, found: Any) -> Any:  # noqa: ANN401
        """A cell, or a view of some cells."""
        return Array(found, self.kind) if isinstance(found, np.ndarray) else found

    def store(self, index: Any, value: Any) -> None:  # noqa: ANN401
        """Store a number, or the numbers of an array, into some cells."""
        if not self.cells.flags.writeable:
            raise refuse("it changes its data, or a constant from outside")
        if isinstance(value, (list, tuple)):
            value = as_array(value)
        cells = value.cells if isinstance(value, Array) else boxed(value)
        if not cells.size and isinstance(value, Array) and value.kind != self.kind:
            raise refuse("it puts an empty array of another type into an array")
        made = np.empty(cells.shape, object)
        for at in np.ndindex(cells.shape):
            made[at] = _stored(cells[at], self.kind)
        place = self.cells[index]
        shape = place.shape if isinstance(place, np.ndarray) else ()
        if np.broadcast_shapes(made.shape, shape) != shape:
            raise refuse("it stores an array into a part of another shape")
        self.cells[index] = made if made.ndim else made.item()


@dataclass(eq=False, slots=True)
class Grown:
    """A list of unknown length, of which only the latest additions are known."""

    token: str
    added: list[Any] = field(default_factory=list)

    def append(self, value: Any, /) -> None:  # noqa: ANN401
        self.added.append(value)

    def longer(self, more: list[Any]) -> "Grown":
        """A new list with more items at its end."""
        return Grown(self.token, [*self.added, *more])


@dataclass(eq=False, slots=True)
class Function:
    """A function of the language, with the names around it."""

    name: str
    definition: ast.FunctionDef | ast.Lambda
    scope: "Scope"
    file: str
    defaults: dict[str, Any]


@dataclass(eq=False, slots=True)
class Applied:
    """A `functools.partial`: a function with some of its arguments given."""

    function: "Function"
    given: list[Any]
    named: dict[str, Any]


@dataclass(eq=False, slots=True)
class Known:
    """A Python or NumPy function that the language has."""

    name: str
    call: Callable[..., Any]


@dataclass(eq=False, slots=True)
class Namespace:
    """A module, of which only attributes can be used."""

    names: dict[str, Any]


@dataclass(eq=False, slots=True)
class Scope:
    """The names of one call or comprehension, within those of its surroundings."""

    own: frozenset[str]
    parent: "Scope | None" = None
    names: dict[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Any:  # noqa: ANN401
        scope: Scope | None = self
        while scope is not None:
            if name in scope.own:
                if name not in scope.names:
                    raise refuse(f"it raises NameError: {name} is without a value")
                return scope.names[name]
            scope = scope.parent
        raise refuse(f"{name} is not known")


def boxed(value: Any) -> Any:  # noqa: ANN401
    box = np.empty((), object)
    box[()] = value
    return box


def is_number(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is a number or a truth value, which counts as one."""
    return isinstance(value, NUMBERS)


def kind_of(value: Any) -> str | None:  # noqa: ANN401
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, Uniform):
        return "uniform"
    if isinstance(value, Symbolic):
        return value.kind
    if type(value) not in {int, float}:
        raise refuse("it puts something into an array that is no number")
    return type(value).__name__


def _stored(value: Any, kind: str | None) -> Any:  # noqa: ANN401
    """A number converted to the type of an existing array."""
    own = kind_of(value)
    if own == kind:
        return value
    if kind == "float" and own != "uniform":
        return _as_float(value)
    if kind == "int" and own == "bool":
        return int(value)
    raise refuse(f"it puts a number of another type into an array of {kind or 'unknown'} ones")


def _as_float(value: Any) -> Any:  # noqa: ANN401
    return value.typed("float") if isinstance(value, Symbolic) else float(value)


def gathered(cells: Any) -> Array:  # noqa: ANN401
    """An array of numbers, converted to one type as NumPy does."""
    kinds = {kind_of(x) for x in cells.ravel()}
    if len(kinds) <= 1:
        return Array(cells, next(iter(kinds), "float"))
    if "uniform" in kinds:
        raise refuse("it puts uniform draws into an array with other numbers")
    kind = common_kind(*(kinds - {"bool"}))
    made = np.empty(cells.shape, object)
    for at in np.ndindex(cells.shape):
        value = cells[at]
        if kind == "float":
            made[at] = _as_float(value)
        elif kind == "int":
            made[at] = int(value) if isinstance(value, bool) else value
        else:
            read = number(value)
            made[at] = None if read is None else read.typed(None)
    return Array(made, kind)


def as_array(value: Any) -> Array:  # noqa: ANN401
    """What `np.array` makes of lists and arrays: a new array."""
    if isinstance(value, Array):
        return Array(value.cells.copy(), value.kind)
    if isinstance(value, range):
        value = list(value)
    if not isinstance(value, (list, tuple)):
        raise refuse("it makes an array of something other than a list or an array")
    parts = [as_array(x).cells if isinstance(x, (list, tuple, Array)) else x for x in value]
    nested = [isinstance(x, np.ndarray) for x in parts]
    if not any(nested):
        cells = np.empty(len(parts), object)
        cells[:] = parts
        return gathered(cells)
    if not all(nested) or len({x.shape for x in parts}) != 1:
        raise refuse("it makes an array of lists of different lengths")
    cells = np.empty((len(parts), *parts[0].shape), object)
    for i, part in enumerate(parts):
        cells[i] = part
    return gathered(cells)


def whole(value: Any) -> int:  # noqa: ANN401
    """A plain whole number, for a length or an index."""
    if isinstance(value, Symbolic) and value.kind == "int":
        value = value.__index__()
    if type(value) is not int:
        raise refuse("it uses something other than a plain whole number as a length or an index")
    return value


def checked(value: Any) -> Any:  # noqa: ANN401
    """A computed plain number; raise if it is infinite, undefined, or whole beyond 2^53."""
    if type(value) is int and not -_LARGEST < value < _LARGEST:
        raise refuse("its whole numbers are too large: beyond 2^53")
    if type(value) is float and not np.isfinite(value):
        raise refuse("it computes with an infinite or undefined number")
    if type(value) not in {bool, int, float, Fraction}:
        raise refuse(f"it computes a {type(value).__name__}")
    return value


def lifted(value: Any, *, symbols: bool = True) -> Any:  # noqa: ANN401
    """A Python or NumPy value as a value of the language; raise for all others.

    Types are compared by identity: a class may say of itself that it equals any other.
    """
    kind = type(value)
    if _is_one(kind, _ATOMS) or (symbols and _is_one(kind, (Symbolic, Uniform))):
        if kind is float and value != value:  # noqa: PLR0124
            raise refuse("it uses an undefined number, NaN")
        return checked(value) if kind is int else value
    if _is_one(kind, (np.float64, np.int64, np.bool_, np.str_)):
        return lifted(value.item())
    if _is_one(kind, (list, tuple, dict, np.ndarray)) and _size(value) > MOST:
        raise refuse("it uses a list from outside, or data, that are too long")
    if kind is list or kind is tuple:
        return kind(lifted(part, symbols=symbols) for part in value)
    if kind is dict and all(_is_one(type(key), (str, int)) for key in value):
        return {key: lifted(part, symbols=symbols) for key, part in value.items()}
    if kind is np.ndarray and value.ndim and (symbols or value.dtype != object):
        return _lifted_array(value)
    raise refuse(f"it uses a {kind.__name__}, which is not in the language")


def _is_one(kind: type, kinds: tuple[type, ...]) -> bool:
    return any(kind is each for each in kinds)


def _size(value: Any) -> int:  # noqa: ANN401
    return int(value.size) if isinstance(value, np.ndarray) else len(value)


def _lifted_array(value: Any) -> Array:  # noqa: ANN401
    if value.dtype != object and value.dtype not in _KINDS:
        raise refuse(f"it uses an array of {value.dtype}, which is not in the language")
    cells = np.empty(value.shape, object)
    for at in np.ndindex(value.shape):
        cells[at] = lifted(value[at])
    if value.dtype != object:
        return Array(cells, _KINDS[value.dtype])
    return gathered(cells)


def frozen(value: Any, held: dict[int, Any]) -> Any:  # noqa: ANN401
    """A read-only value: its lists are noted, and its arrays cannot be written."""
    if isinstance(value, Array):
        value.cells.flags.writeable = False
    elif isinstance(value, (list, dict)):
        held[id(value)] = value
    parts = value.values() if isinstance(value, dict) else value
    for part in parts if isinstance(value, (list, tuple, dict)) else ():
        frozen(part, held)
    return value


def as_python(value: Any, deep: int = 0) -> Any:  # noqa: ANN401
    """A value of the language as a Python or NumPy value; arrays of symbols hold objects."""
    if deep > _DEEPEST:
        raise refuse(f"it returns lists within lists, more than {_DEEPEST} deep")
    if isinstance(value, Array):
        symbols = any(isinstance(x, (Symbolic, Uniform)) for x in value.cells.ravel())
        return value.cells if symbols else value.cells.astype(_DTYPES[value.kind])
    if type(value) in {list, tuple}:
        return type(value)(as_python(part, deep + 1) for part in value)
    if type(value) is dict:
        return {key: as_python(part, deep + 1) for key, part in value.items()}
    return value


_DTYPES: dict[str | None, Any] = {"float": float, "int": int, "bool": bool, None: object}
