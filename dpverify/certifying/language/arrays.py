"""Functions and methods of NumPy arrays, on the values of the language."""

import math
import operator
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import numpy as np

from dpverify.certifying.language.arithmetic import (
    absolute,
    binary,
    compare,
    elementwise,
    truth,
)
from dpverify.certifying.language.python import (
    NO_CALLER,
    Ranked,
    Type,
    all_of,
    any_of,
    as_float,
    as_int,
    extreme,
    in_order,
    items,
    of_number,
    range_of,
    sole,
)
from dpverify.certifying.language.values import (
    MOST,
    Array,
    as_array,
    boxed,
    gathered,
    is_number,
    kind_of,
    lifted,
    whole,
)
from dpverify.certifying.symbolic.exact import ZERO
from dpverify.certifying.symbolic.running import current
from dpverify.certifying.symbolic.symbols import Symbolic, number, refuse

_MISSING: Any = object()


def kind_named(value: Any) -> str | None:  # noqa: ANN401
    """The kind of number that a `dtype` names."""
    if value is None:
        return None
    if not isinstance(value, Type):
        raise refuse("a dtype other than float, int or bool is not in the language")
    return value.kind


def cast(array: Array, kind: str | None) -> Array:
    """A new array with the numbers as floats, whole numbers or truth values."""
    if kind is None or kind == array.kind:
        return Array(array.cells.copy(), array.kind)
    if array.kind == "uniform":
        raise refuse("it turns uniform draws into another type")
    made = np.empty(array.cells.shape, object)
    turns: dict[str, Callable[..., Any]] = {"float": as_float, "int": as_int, "bool": truth}
    for at in np.ndindex(made.shape):
        made[at] = turns[kind](array.cells[at])
    return Array(made, kind)


def _array(value: Any, /, dtype: Any = None) -> Array:  # noqa: ANN401
    return cast(as_array(value), kind_named(dtype)) if dtype is not None else as_array(value)


def _as_array(value: Any, /, dtype: Any = None) -> Array:  # noqa: ANN401
    kind = kind_named(dtype)
    if isinstance(value, Array) and kind is not None and value.kind is None:
        raise refuse("it may turn data or noise into another type, and share them or not")
    return (
        value if isinstance(value, Array) and kind in {None, value.kind} else _array(value, dtype)
    )


def shaped(value: Any) -> tuple[int, ...]:  # noqa: ANN401
    """A shape: one length or several."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    shape = tuple(map(whole, parts))
    if not shape or min(shape) < 0 or math.prod(shape) > MOST:
        raise refuse("it makes an array that is too large, or of no shape that is understood")
    return shape


def _full(shape: Any, fill_value: Any, dtype: Any = None) -> Array:  # noqa: ANN401
    cells = np.empty(shaped(shape), object)
    cells[...] = boxed(fill_value)
    kind = kind_of(fill_value)
    return cast(Array(cells, kind), kind_named(dtype)) if dtype is not None else Array(cells, kind)


def _filled(number_: float) -> Callable[..., Array]:
    def make(shape: Any, dtype: Any = None) -> Array:  # noqa: ANN401
        return _full(shape, number_, dtype)

    return make


def _filled_like(number_: float) -> Callable[..., Array]:
    def make(a: Any, /, dtype: Any = None) -> Array:  # noqa: ANN401
        source = as_given(a)
        made = _full(list(source.cells.shape), number_, dtype)
        if dtype is None and source.kind not in {"float", "int", "bool"}:
            raise refuse("it makes an array of an unknown type")
        return made if dtype is not None else cast(made, source.kind)

    return make


def _arange(*given: Any) -> Array:  # noqa: ANN401
    return (
        as_array(list(range_of(*given))) if range_of(*given) else Array(np.empty(0, object), "int")
    )


def _linspace(start: Any, stop: Any, num: Any = 50) -> Array:  # noqa: ANN401
    if type(start) not in {int, float} or type(stop) not in {int, float}:
        raise refuse("np.linspace is understood between plain numbers only")
    made: Array = lifted(np.linspace(start, stop, shaped(whole(num))[0]))
    return made


def as_given(value: Any) -> Array:  # noqa: ANN401
    return value if isinstance(value, Array) else as_array(value)


def along(value: Any, axis: Any, action: Callable[[list[Any]], Any]) -> Any:  # noqa: ANN401
    """Reduce all cells to one number, or each line along an axis."""
    source = as_given(value)
    if axis is None:
        return action(list(source.cells.ravel()))
    at = whole(axis)
    if not -source.cells.ndim <= at < source.cells.ndim:
        raise refuse("it raises AxisError: there is no such axis")
    lines = np.moveaxis(source.cells, at, -1)
    if lines.ndim == 1:
        return action(list(lines))
    made = np.empty(lines.shape[:-1], object)
    for place in np.ndindex(made.shape):
        made[place] = action(list(lines[place]))
    return gathered(made)


def np_sum(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
    source = as_given(a)

    def add(cells: list[Any]) -> Any:  # noqa: ANN401
        _check_pairwise(cells)
        return _running([0.0 if source.kind == "float" else 0], cells)[-1]

    return along(source, axis, add)


def _check_pairwise(cells: list[Any], least: int = 8) -> None:
    """Raise where NumPy sums plain floats pairwise (from eight on) and so rounds differently."""
    plain = all(type(x) is float for x in cells)
    if plain and len(cells) >= least and not all(x.is_integer() for x in cells):
        raise refuse(f"it sums up {len(cells)} constants in an array, which floats may round")


def np_mean(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
    def mean(cells: list[Any]) -> Any:  # noqa: ANN401
        if not cells:
            raise refuse("it takes the mean of nothing, which is undefined")
        _check_pairwise(cells)
        return binary(operator.truediv, _running([], cells)[-1], len(cells))

    return along(a, axis, mean)


def _running(empty: list[Any], cells: list[Any]) -> list[Any]:
    """Running sums; they start with the first cell, as in NumPy, so −0.0 stays −0.0."""
    plain = [int(x) if isinstance(x, bool) else x for x in cells]
    made = list(accumulate(plain, lambda a, b: binary(operator.add, a, b))) or empty
    if any(_is_negative_zero(x) for x in made):
        raise refuse("a sum of NumPy's may be 0.0 or −0.0")
    return made


def _is_negative_zero(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0


def _with_signs(cells: list[Any]) -> list[Any]:
    """Cells where NumPy may return 0.0 or −0.0; such a zero may then be either."""
    run = current.get()

    def negative(value: Any) -> bool:  # noqa: ANN401
        if not isinstance(value, Symbolic):
            return _is_negative_zero(value)
        sure = run is not None and run.has_density(value)
        return value.kind != "int" and value.signed and not sure

    def either(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, Symbolic):
            return Symbolic(dict(value.coefficients), value.constant, value.kind, signed=True)
        return value or Symbolic({}, ZERO, "float", signed=True)  # whole ones, too

    return [either(x) for x in cells] if any(map(negative, cells)) else cells


def np_extreme(name: str) -> Callable[..., Any]:
    def choose(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
        return along(a, axis, lambda cells: extreme(name)(NO_CALLER, iter(_with_signs(cells))))

    return choose


def np_arg(name: str) -> Callable[..., Any]:
    better = operator.lt if name == "argmin" else operator.gt

    def first(cells: list[Any]) -> int:
        if not cells:
            raise refuse(f"it raises ValueError: {name} of nothing")
        best = 0
        for i in range(1, len(cells)):
            if sole(compare(better, cells[i], cells[best])):
                best = i
        return best

    def choose(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
        return along(a, axis, first)

    return choose


def np_cumsum(a: Any, /, axis: Any = None) -> Array:  # noqa: ANN401
    source = as_given(a)
    if source.cells.ndim != 1 or (axis is not None and whole(axis) not in {0, -1}):
        raise refuse("cumsum is understood of simple lists only")
    made = _running([], list(source.cells))
    kind = "int" if source.kind == "bool" else source.kind
    return as_array(made) if made else Array(np.empty(0, object), kind)


def np_clip(a: Any, a_min: Any = _MISSING, a_max: Any = _MISSING, **named: Any) -> Any:  # noqa: ANN401
    """np.clip with a_min and a_max, either of which may be None, or with min and max."""
    old = a_min is not _MISSING
    if old != (a_max is not _MISSING) or (named and old) or not named.keys() <= {"min", "max"}:
        raise refuse("np.clip is understood with values and two bounds only")
    low, high = (a_min, a_max) if old else (named.get("min"), named.get("max"))
    made = a if is_number(a) else as_array(a)  # without bounds, too, a new array
    if low is not None:
        made = np_maximum(made, low)
    return made if high is None else np_minimum(made, high)


def _of_two(name: str) -> Callable[..., Any]:
    """np.minimum and np.maximum."""

    def one(a: Any, b: Any) -> Any:  # noqa: ANN401
        a, b = _with_signs([a, b])
        return _of_both(extreme(name)(NO_CALLER, a, b), a, b)

    def choose(a: Any, b: Any, /) -> Any:  # noqa: ANN401
        return elementwise(one, a, b)

    return choose


def _of_both(chosen: Any, a: Any, b: Any) -> Any:  # noqa: ANN401
    """One of two numbers, in the type that NumPy gives both."""
    cells = np.empty(2, object)
    cells[:] = [a, b]
    kind = gathered(cells).kind
    if kind == kind_of(chosen):
        return chosen
    read = number(chosen)
    if kind in {"float", "int"} or read is None:
        return as_float(chosen) if kind == "float" else as_int(chosen)
    return read.typed(None)


np_minimum, np_maximum = _of_two("min"), _of_two("max")


def np_where(condition: Any, x: Any, y: Any, /) -> Any:  # noqa: ANN401
    """np.where with three arguments."""

    def one(chosen: Any, a: Any, b: Any) -> Any:  # noqa: ANN401
        if not isinstance(chosen, bool):
            raise refuse("np.where is understood of truth values only")
        return _of_both(a if chosen else b, a, b)

    if not any(isinstance(v, Array) for v in (condition, x, y)):
        raise refuse("np.where of single numbers makes an array without a dimension")
    return elementwise(one, condition, x, y)


def np_sort(a: Any, /) -> Array:  # noqa: ANN401
    source = as_given(a)
    if source.cells.ndim != 1:
        raise refuse("np.sort is understood of simple lists only")
    cells = np.empty(len(source), object)
    cells[:] = in_order(NO_CALLER, _with_signs(list(source.cells)))
    return Array(cells, source.kind)


def np_argsort(a: Any, /, *, kind: Any = None) -> Array:  # noqa: ANN401
    source = as_given(a)
    if source.cells.ndim != 1 or kind not in {None, "stable"}:
        raise refuse("np.argsort is understood of simple lists only")
    found = [Ranked(i, x, tied=kind == "stable") for i, x in enumerate(source.cells)]
    return as_array([x.item for x in sorted(found)]) if found else Array(np.empty(0, object), "int")


def np_median(a: Any, /) -> Any:  # noqa: ANN401
    ordered = list(np_sort(as_given(a)).cells)
    if not ordered:
        raise refuse("it takes the median of nothing, which is undefined")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return as_float(ordered[middle])
    both = binary(operator.add, ordered[middle - 1], ordered[middle])
    return binary(operator.truediv, both, 2)


def np_dot(a: Any, b: Any, /) -> Any:  # noqa: ANN401
    left, right = as_given(a), as_given(b)
    if left.cells.ndim != 1 or left.cells.shape != right.cells.shape:
        raise refuse("a product of arrays is understood of two simple lists of one length only")
    if not left.cells.size or "bool" in {left.kind, right.kind}:
        raise refuse("it multiplies empty arrays, or truth values")
    products = binary(operator.mul, left, right)
    _check_pairwise(list(products.cells), least=2)
    return np_sum(products)


def np_concatenate(arrays: Any, /) -> Array:  # noqa: ANN401
    parts = [as_given(x) for x in items(arrays)]
    several = isinstance(arrays, (list, tuple, Array))
    if not several or not parts or any(x.cells.ndim != 1 for x in parts):
        raise refuse("np.concatenate is understood of simple lists only")
    if len({x.kind for x in parts}) > 1 and not all(len(x) for x in parts):
        raise refuse("it joins arrays of different types, one of which is empty")
    made = gathered(np.concatenate([x.cells for x in parts]))
    return made if len(made) else Array(made.cells, parts[0].kind)


def np_append(arr: Any, values: Any, /) -> Array:  # noqa: ANN401
    return np_concatenate([arr, values if isinstance(values, (Array, list, tuple)) else [values]])


def np_diff(a: Any, /) -> Any:  # noqa: ANN401
    source = as_given(a)
    if source.cells.ndim != 1 or source.kind == "bool" or not len(source):
        raise refuse("np.diff is understood of simple lists of numbers only")
    later, earlier = (
        Array(source.cells[part], source.kind) for part in (slice(1, None), slice(-1))
    )
    return binary(operator.sub, later, earlier)


def np_abs(x: Any, /) -> Any:  # noqa: ANN401
    return absolute(as_given(x) if isinstance(x, (list, tuple)) else x)


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(a: Any, b: Any, /) -> Any:  # noqa: ANN401
        one, other = (as_given(x) if isinstance(x, (list, tuple)) else x for x in (a, b))
        return binary(operation, one, other)

    return apply


def _logical(action: Callable[..., bool]) -> Callable[..., Any]:
    def apply(*given: Any) -> Any:  # noqa: ANN401
        return elementwise(lambda *cells: action(*map(truth, cells)), *given)

    return apply


def np_any(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
    return along(a, axis, lambda cells: any_of(iter(cells)))


def np_all(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
    return along(a, axis, lambda cells: all_of(iter(cells)))


def np_count_nonzero(a: Any, /) -> Any:  # noqa: ANN401
    return along(a, None, lambda cells: sum(truth(x) for x in cells))


def _np_number(name: str) -> Any:  # noqa: ANN401
    return of_number(name, lambda x: float(getattr(np, name)(x)), cells=True)


NUMPY: dict[Any, Any] = {
    np.array: _array, np.asarray: _as_array, np.zeros: _filled(0.0), np.ones: _filled(1.0),
    np.full: _full, np.zeros_like: _filled_like(0), np.ones_like: _filled_like(1),
    np.arange: _arange, np.linspace: _linspace, np.sum: np_sum, np.mean: np_mean,
    np.min: np_extreme("min"), np.max: np_extreme("max"), np.argmin: np_arg("argmin"),
    np.argmax: np_arg("argmax"), np.cumsum: np_cumsum, np.clip: np_clip,
    np.minimum: np_minimum, np.maximum: np_maximum, np.where: np_where, np.sort: np_sort,
    np.argsort: np_argsort, np.median: np_median, np.dot: np_dot,
    np.concatenate: np_concatenate, np.append: np_append, np.diff: np_diff, np.abs: np_abs,
    np.add: _arithmetic(operator.add), np.subtract: _arithmetic(operator.sub),
    np.multiply: _arithmetic(operator.mul), np.divide: _arithmetic(operator.truediv),
    np.logical_and: _logical(lambda a, b: a and b), np.logical_or: _logical(lambda a, b: a or b),
    np.logical_not: _logical(lambda a: not a), np.any: np_any, np.all: np_all,
    np.count_nonzero: np_count_nonzero, np.amin: np_extreme("min"), np.amax: np_extreme("max"),
}  # fmt: skip
NUMPY |= {
    getattr(np, name): _np_number(name)
    for name in ("exp", "log", "sqrt", "floor", "ceil", "rint", "tanh", "expm1", "log1p")
}


def _reshaped(own: Array, /, *shape: Any) -> Array:  # noqa: ANN401
    parts = shape[0] if len(shape) == 1 else list(shape)
    wanted = [whole(x) for x in (parts if isinstance(parts, (list, tuple)) else [parts])]
    _check_shared(own)
    try:
        return Array(own.cells.reshape(wanted), own.kind)
    except ValueError:
        raise refuse("it raises ValueError: the array has no such shape") from None


def _raveled(own: Array, /) -> Array:
    """All cells in one dimension, as a view; raise where NumPy might copy a writable array."""
    if own.cells.flags.writeable and (own.cells.ndim > 1 or own.cells.base is not None):
        raise refuse("it ravels a part of an array, or a table: use .flatten(), a copy")
    return Array(own.cells.ravel(), own.kind)


def _check_shared(own: Array) -> None:
    """Raise if it depends on the memory layout whether a reshaped table shares its numbers."""
    if own.cells.ndim > 1 and own.cells.flags.writeable:
        raise refuse("it gives a table that it may change another shape: use .flatten(), a copy")


def _astype(own: Array, dtype: Any, /) -> Array:  # noqa: ANN401
    return cast(own, kind_named(dtype))


def _nested(cells: Any) -> Any:  # noqa: ANN401
    return [_nested(part) if isinstance(part, np.ndarray) else part for part in cells]


def _array_clip(own: Array, /, min: Any = None, max: Any = None) -> Any:  # noqa: A002, ANN401
    return np_clip(own, min, max)


ARRAY: dict[str, Callable[..., Any]] = {
    "sum": np_sum, "mean": np_mean, "min": np_extreme("min"), "max": np_extreme("max"),
    "argmin": np_arg("argmin"), "argmax": np_arg("argmax"), "cumsum": np_cumsum,
    "clip": _array_clip, "any": np_any, "all": np_all, "dot": np_dot, "argsort": np_argsort,
    "copy": lambda own: Array(own.cells.copy(), own.kind), "reshape": _reshaped,
    "ravel": _raveled, "astype": _astype,
    "flatten": lambda own: Array(own.cells.flatten(), own.kind),
    "tolist": lambda own: _nested(own.cells),
}  # fmt: skip


def _sort_cells(own: Array, /) -> None:
    own.store(slice(None), np_sort(own))


def _fill(own: Array, value: Any, /) -> None:  # noqa: ANN401
    own.store(slice(None), value)


ARRAY |= {"sort": _sort_cells, "fill": _fill}
FIELDS: dict[str, Callable[[Array], Any]] = {
    "shape": lambda own: tuple(own.cells.shape),
    "size": lambda own: own.cells.size,
    "ndim": lambda own: own.cells.ndim,
    "T": lambda own: Array(own.cells.T, own.kind),
}
