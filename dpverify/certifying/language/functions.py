"""The functions, methods and draws of the language, on its own values.

A function is known by being the very object that Python or NumPy has under its name. What one of
them does not do here, with the arguments that it is given, is refused.
"""

import builtins
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from dpverify.certifying.language.arithmetic import (
    absolute,
    binary,
    compare,
    described,
    elementwise,
    equal,
    truth,
)
from dpverify.certifying.language.values import (
    MOST,
    Array,
    Function,
    Grown,
    Known,
    as_array,
    boxed,
    checked,
    gathered,
    is_number,
    kind_of,
    lifted,
    whole,
)
from dpverify.certifying.symbolic.exact import ZERO
from dpverify.certifying.symbolic.generator import SymbolicGenerator
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import current
from dpverify.certifying.symbolic.symbols import Symbolic, Uniform, number, refuse


class Type:
    """float, int or bool: it can be called, and says what an array holds."""

    def __init__(self, kind: str, call: Callable[..., Any]) -> None:
        self.name = self.kind = kind
        self.call = call


class Caller:
    """Calls a function of the language that was handed over, as `key`: the interpreter does."""

    def __init__(self, call: Callable[[Any, list[Any]], Any]) -> None:
        self.call = call


_EMPTY = dict[str, int]()
_VIEWS = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))


def items(value: Any) -> Iterator[Any]:  # noqa: ANN401
    """What a loop over a value goes through."""
    if isinstance(value, (list, tuple, range, dict, Array, Iterator, *_VIEWS)):
        return iter(value)
    raise refuse(f"it goes through {described(value)}")


def _listed(value: Any) -> list[Any]:  # noqa: ANN401
    made = []
    for item in items(value):
        made.append(item)
        if len(made) > MOST:
            raise refuse("it makes a list that is too long")
    return made


# Builtins.


def length(value: Any) -> int:  # noqa: ANN401
    if isinstance(value, (list, tuple, range, dict, Array, str)):
        return len(value)
    raise refuse(f"it asks for the length of {described(value)}")


def total(values: Any, /, start: Any = 0) -> Any:  # noqa: ANN401
    if not is_number(start) or isinstance(start, bool):
        raise refuse("it sums up something other than numbers")
    return functools.reduce(lambda a, b: binary(operator.add, a, b), items(values), start)


def extreme(name: str) -> Callable[..., Any]:
    """`min` and `max`: the first of the best. Where releases are sought, data are clamped."""
    better = operator.lt if name == "min" else operator.gt

    def choose(calls: Caller, *given: Any, key: Any = None, default: Any = _NOTHING) -> Any:  # noqa: ANN401
        run = current.get()
        if run is not None and run.shared.releasing and len(given) == 2 and key is None:
            return _clamped(run, name, *given)
        if len(given) > 1 and default is not _NOTHING:
            raise refuse(f"it calls {name} of several values with a default")
        chosen: Any = _NOTHING
        for item in items(given[0] if len(given) == 1 else list(given)):
            rank = item if key is None else calls.call(key, [item])
            if chosen is _NOTHING or _sole(compare(better, rank, chosen[1])):
                chosen = (item, rank)
        if chosen is _NOTHING and default is _NOTHING:
            raise refuse(f"it raises ValueError: {name} of nothing")
        return default if chosen is _NOTHING else chosen[0]

    return choose


_NOTHING: Any = object()


def _sole(value: Any) -> bool:  # noqa: ANN401
    """A comparison that must be a truth value."""
    if not isinstance(value, bool):
        raise refuse("it takes an array of comparisons for a truth value")
    return value


def _clamped(run: Any, operation: str, a: Any, b: Any) -> Any:  # noqa: ANN401
    for value in (a, b):
        if not is_number(value):
            raise refuse(f"it compares {described(a)} with {described(b)}")
    value, bound = (b, a) if isinstance(b, Symbolic) and not isinstance(a, Symbolic) else (a, b)
    finite = not isinstance(bound, float) or math.isfinite(bound)
    read = number(bound) if finite else None
    plain = None if read is None or not read.is_constant else read.constant.fraction()
    in_data = isinstance(value, Symbolic) and any(n[0] in "xc" for n, _ in value.coefficients)
    if read is None or plain is None or not in_data:
        better = operator.lt if operation == "min" else operator.gt
        return b if _sole(compare(better, b, a)) else a
    made: Symbolic = run.clamped(operation, value, plain)
    return made.typed(value.kind if value.kind == read.kind else None)


class _InOrder:
    """An item of a list that is sorted."""

    __slots__ = ("item", "rank", "tied")

    def __init__(self, item: Any, rank: Any, *, tied: bool = True) -> None:  # noqa: ANN401
        self.item, self.rank, self.tied = item, rank, tied

    def __lt__(self, other: "_InOrder") -> bool:
        before = _sole(compare(operator.lt, self.rank, other.rank))
        if not before and not self.tied and _may_tie(self.rank, other.rank):
            raise refuse("it sorts equal numbers, whose order is not defined")
        return before


def _may_tie(a: Any, b: Any) -> bool:  # noqa: ANN401
    """Whether two numbers are equal, with a probability that is not 0."""
    run, one, other = current.get(), number(a), number(b)
    if run is not None and one is not None and other is not None:
        return not run.has_density(one.plus(-other)) and equal(a, b)
    return equal(a, b)


def _sorted(calls: Caller, values: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:  # noqa: ANN401
    found = [_InOrder(x, x if key is None else calls.call(key, [x])) for x in _listed(values)]
    return [x.item for x in sorted(found, reverse=truth(reverse))]


def _any(values: Any, /) -> bool:  # noqa: ANN401
    return any(truth(x) for x in items(values))


def _all(values: Any, /) -> bool:  # noqa: ANN401
    return all(truth(x) for x in items(values))


def _range(*given: Any) -> range:  # noqa: ANN401
    parts = list(map(whole, given))
    if len(parts) == 3 and not parts[2]:
        raise refuse("it raises ValueError: a range of step 0")
    return range(*parts)


def _enumerate(values: Any, /, start: Any = 0) -> Iterator[Any]:  # noqa: ANN401
    return ((i, x) for i, x in enumerate(items(values), whole(start)))


def _zip(*values: Any, strict: Any = False) -> Iterator[Any]:  # noqa: ANN401
    return _stopped(zip(*map(items, values), strict=truth(strict)))


def _stopped(parts: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from parts
    except ValueError:
        raise refuse("it raises ValueError: zip of different lengths") from None


def _map(calls: Caller, action: Any, /, *values: Any) -> Iterator[Any]:  # noqa: ANN401
    together = zip(*map(items, values), strict=False)
    return (calls.call(action, list(given)) for given in together)


def _reversed(value: Any, /) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(value, Array):
        return iter(Array(value.cells[::-1], value.kind))
    if isinstance(value, (list, tuple, range)):
        return (x for x in reversed(value))
    raise refuse(f"it goes backwards through {described(value)}")


def as_float(value: Any = 0.0, /) -> Any:  # noqa: ANN401
    if type(value) is str and value in {"inf", "-inf"}:
        return float(value)
    if isinstance(value, Symbolic):
        return value.typed("float")
    if not is_number(value):
        raise refuse(f"it turns {described(value)} into a float")
    return float(value)


def as_int(value: Any = 0, /) -> Any:  # noqa: ANN401
    if isinstance(value, Symbolic):
        return value.trunc().typed("int")
    if not is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
        raise refuse(f"it turns {described(value)} into a whole number")
    return checked(int(value))


def _bool(value: Any = False, /) -> bool:  # noqa: ANN401, FBT002
    return truth(value)


def _round(value: Any, /) -> Any:  # noqa: ANN401
    if isinstance(value, (Array, bool)) or not is_number(value):
        raise refuse(f"it rounds {described(value)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise refuse("it rounds an infinite number")
    return checked(round(value)) if not isinstance(value, Symbolic) else round(value)


def _power(base: Any, exponent: Any, /) -> Any:  # noqa: ANN401
    return binary(operator.pow, base, exponent)


def _list(value: Any = (), /) -> list[Any]:  # noqa: ANN401
    return _listed(value)


def _tuple(value: Any = (), /) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(_listed(value))


# Functions of numbers, for math and NumPy.


def _of_number(  # noqa: C901  # cases
    name: str, plain: Callable[[float], float], *, whole_result: bool = False, cells: bool = False
) -> Any:  # noqa: ANN401
    """A function that is exact on symbols where they know it, and computed on plain numbers."""

    def apply(value: Any, /) -> Any:  # noqa: ANN401
        if isinstance(value, (Array, list, tuple)):
            if not cells:
                raise refuse(f"it takes {name} of {described(value)}")
            return elementwise(apply, value)
        if not is_number(value) or isinstance(value, bool):
            raise refuse(f"it takes {name} of {described(value)}, or of a truth value")
        if cells and name in _ROUNDING and kind_of(value) != "float":
            raise refuse(f"it takes np.{name} of what may be a whole number")
        if isinstance(value, Symbolic):
            if not hasattr(Symbolic, name):
                raise refuse(f"it takes {name} of data, noise or an unrelated constant")
            made = getattr(value, name)()
            return made.typed("int" if whole_result else "float")
        if not math.isfinite(value):
            raise refuse(f"it takes {name} of an infinite number")
        exact = _exponential(value) if name == "exp" else None
        if exact is not None:
            return exact
        try:
            return checked(plain(value))
        except (ValueError, OverflowError):
            raise refuse(f"it takes {name} of a number for which it is not defined") from None

    return apply


_ROUNDING = {"floor", "ceil", "rint"}  # whole numbers stay what they are in some versions of NumPy


def _exponential(value: float) -> Symbolic | None:
    """e to a power, where it can be exact."""
    run = current.get()
    before = None if run is None else run.failure
    try:
        read = number(value)
        return None if read is None or run is None else read.exp()
    except NotUnderstood:
        if run is not None:
            run.failure = before
        return None


def _fsum(values: Any, /) -> Any:  # noqa: ANN401
    found = _listed(values)
    if not all(map(is_number, found)):
        raise refuse("it sums up something other than numbers by math.fsum")
    return total(iter(found), 0.0)


def _fabs(value: Any, /) -> Any:  # noqa: ANN401
    if isinstance(value, (Array, list, tuple)):
        raise refuse(f"it takes fabs of {described(value)}")
    return as_float(absolute(value))


_PLAIN_ONES = (
    "log2",
    "log10",
    "log1p",
    "expm1",
    "tanh",
    "sinh",
    "cosh",
    "erf",
    "erfc",
    "sin",
    "cos",
    "atan",
)
_MATH: dict[Any, Any] = {
    getattr(math, name): _of_number(name, getattr(math, name))
    for name in ("exp", "log", "sqrt", *_PLAIN_ONES)
}
_MATH |= {
    getattr(math, name): _of_number(name, getattr(math, name), whole_result=True)
    for name in ("floor", "ceil", "trunc")
}
_MATH |= {math.fsum: _fsum, math.fabs: _fabs}


# NumPy.


def kind_named(value: Any) -> str | None:  # noqa: ANN401
    """What `dtype` says."""
    if value is None:
        return None
    if not isinstance(value, Type):
        raise refuse("a dtype other than float, int or bool is not in the language")
    return value.kind


def cast(array: Array, kind: str | None) -> Array:
    """The same numbers as floats, as whole numbers or as truth values: a new array."""
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
    """A shape: one length, or several."""
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
        source = _given(a)
        made = _full(list(source.cells.shape), number_, dtype)
        if dtype is None and source.kind not in {"float", "int", "bool"}:
            raise refuse("it makes an array of an unknown type")
        return made if dtype is not None else cast(made, source.kind)

    return make


def _arange(*given: Any) -> Array:  # noqa: ANN401
    return as_array(list(_range(*given))) if _range(*given) else Array(np.empty(0, object), "int")


def _linspace(start: Any, stop: Any, num: Any = 50) -> Array:  # noqa: ANN401
    if type(start) not in {int, float} or type(stop) not in {int, float}:
        raise refuse("np.linspace is understood between plain numbers only")
    made: Array = lifted(np.linspace(start, stop, shaped(num)[0]))
    return made


def _given(value: Any) -> Array:  # noqa: ANN401
    return value if isinstance(value, Array) else as_array(value)


def along(value: Any, axis: Any, action: Callable[[list[Any]], Any]) -> Any:  # noqa: ANN401
    """One number of all cells, or of each line along an axis."""
    source = _given(value)
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
    source = _given(a)
    return along(
        source, axis, lambda cells: _running([0.0 if source.kind == "float" else 0], cells)[-1]
    )


def np_mean(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
    def mean(cells: list[Any]) -> Any:  # noqa: ANN401
        if not cells:
            raise refuse("it takes the mean of nothing, which is undefined")
        return binary(operator.truediv, _running([], cells)[-1], len(cells))

    return along(a, axis, mean)


def _running(empty: list[Any], cells: list[Any]) -> list[Any]:
    """All sums of the first cells, which begin with a cell as NumPy's do: −0.0 stays −0.0."""
    plain = [int(x) if isinstance(x, bool) else x for x in cells]
    made = list(accumulate(plain, lambda a, b: binary(operator.add, a, b))) or empty
    if any(_is_negative_zero(x) for x in made):
        raise refuse("a sum of NumPy's may be 0.0 or −0.0")
    return made


def _is_negative_zero(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, float) and value == 0 and math.copysign(1.0, value) < 0


def _with_signs(cells: list[Any]) -> list[Any]:
    """Cells of which NumPy may choose any where 0.0 and −0.0 meet: then each zero may be either."""
    run = current.get()

    def negative(value: Any) -> bool:  # noqa: ANN401
        if not isinstance(value, Symbolic):
            return _is_negative_zero(value)
        sure = run is not None and run.has_density(value)
        return value.kind != "int" and value.signed and not sure

    def either(value: Any) -> Any:  # noqa: ANN401
        if isinstance(value, float) and not value:
            return Symbolic({}, ZERO, "float", signed=True)
        if isinstance(value, Symbolic) and value.kind != "int":
            return Symbolic(dict(value.coefficients), value.constant, value.kind, signed=True)
        return value

    return [either(x) for x in cells] if any(map(negative, cells)) else cells


def np_extreme(name: str) -> Callable[..., Any]:
    def choose(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
        return along(a, axis, lambda cells: extreme(name)(_NO_CALLS, iter(_with_signs(cells))))

    return choose


def _uncalled(_: Any, __: list[Any]) -> Any:  # noqa: ANN401
    raise refuse("it hands over a function where none is understood")


_NO_CALLS = Caller(_uncalled)


def np_arg(name: str) -> Callable[..., Any]:
    better = operator.lt if name == "argmin" else operator.gt

    def first(cells: list[Any]) -> int:
        if not cells:
            raise refuse(f"it raises ValueError: {name} of nothing")
        best = 0
        for i in range(1, len(cells)):
            if _sole(compare(better, cells[i], cells[best])):
                best = i
        return best

    def choose(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
        return along(a, axis, first)

    return choose


def np_cumsum(a: Any, /, axis: Any = None) -> Array:  # noqa: ANN401
    source = _given(a)
    if source.cells.ndim != 1 or axis not in {None, 0, -1}:
        raise refuse("cumsum is understood of simple lists only")
    made = _running([], list(source.cells))
    kind = "int" if source.kind == "bool" else source.kind
    return as_array(made) if made else Array(np.empty(0, object), kind)


def np_clip(a: Any, a_min: Any = None, a_max: Any = None, **named: Any) -> Any:  # noqa: ANN401
    low, high = named.pop("min", a_min), named.pop("max", a_max)
    if named:
        raise refuse("np.clip is understood with values and bounds only")
    made = a if is_number(a) or isinstance(a, Array) else as_array(a)
    if low is not None:
        made = np_maximum(made, low)
    return made if high is None else np_minimum(made, high)


def _of_two(name: str) -> Callable[..., Any]:
    """np.minimum and np.maximum."""

    def one(a: Any, b: Any) -> Any:  # noqa: ANN401
        a, b = _with_signs([a, b])
        return _of_both(extreme(name)(_NO_CALLS, a, b), a, b)

    def choose(a: Any, b: Any, /) -> Any:  # noqa: ANN401
        return elementwise(one, a, b)

    return choose


def _of_both(chosen: Any, a: Any, b: Any) -> Any:  # noqa: ANN401
    """One of two numbers, of the type that NumPy has for both."""
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
    """np.where with three arguments: of one type, as all numbers of an array."""

    def one(chosen: Any, a: Any, b: Any) -> Any:  # noqa: ANN401
        if not isinstance(chosen, bool):
            raise refuse("np.where is understood of truth values only")
        return _of_both(a if chosen else b, a, b)

    if not any(isinstance(v, Array) for v in (condition, x, y)):
        raise refuse("np.where of single numbers makes an array without a dimension")
    return elementwise(one, condition, x, y)


def np_sort(a: Any, /) -> Array:  # noqa: ANN401
    source = _given(a)
    if source.cells.ndim != 1:
        raise refuse("np.sort is understood of simple lists only")
    cells = np.empty(len(source), object)
    cells[:] = _sorted(_NO_CALLS, _with_signs(list(source.cells)))
    return Array(cells, source.kind)


def np_argsort(a: Any, /, *, kind: Any = None) -> Array:  # noqa: ANN401
    source = _given(a)
    if source.cells.ndim != 1 or kind not in {None, "stable"}:
        raise refuse("np.argsort is understood of simple lists only")
    found = [_InOrder(i, x, tied=kind == "stable") for i, x in enumerate(source.cells)]
    return as_array([x.item for x in sorted(found)]) if found else Array(np.empty(0, object), "int")


def np_median(a: Any, /) -> Any:  # noqa: ANN401
    ordered = list(np_sort(_given(a)).cells)
    if not ordered:
        raise refuse("it takes the median of nothing, which is undefined")
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return as_float(ordered[middle])
    both = binary(operator.add, ordered[middle - 1], ordered[middle])
    return binary(operator.truediv, both, 2)


def np_dot(a: Any, b: Any, /) -> Any:  # noqa: ANN401
    left, right = _given(a), _given(b)
    if left.cells.ndim != 1 or left.cells.shape != right.cells.shape:
        raise refuse("a product of arrays is understood of two simple lists of one length only")
    if not left.cells.size or "bool" in {left.kind, right.kind}:
        raise refuse("it multiplies empty arrays, or truth values")
    return np_sum(binary(operator.mul, left, right))


def np_concatenate(arrays: Any, /) -> Array:  # noqa: ANN401
    parts = [_given(x) for x in items(arrays)]
    if not parts or any(x.cells.ndim != 1 for x in parts):
        raise refuse("np.concatenate is understood of simple lists only")
    if len({x.kind for x in parts}) > 1 and not all(len(x) for x in parts):
        raise refuse("it joins arrays of different types, one of which is empty")
    made = gathered(np.concatenate([x.cells for x in parts]))
    return made if len(made) else Array(made.cells, parts[0].kind)


def np_append(arr: Any, values: Any, /) -> Array:  # noqa: ANN401
    return np_concatenate([arr, values if isinstance(values, (Array, list, tuple)) else [values]])


def np_diff(a: Any, /) -> Any:  # noqa: ANN401
    source = _given(a)
    if source.cells.ndim != 1 or source.kind == "bool" or not len(source):
        raise refuse("np.diff is understood of simple lists of numbers only")
    later, earlier = (
        Array(source.cells[part], source.kind) for part in (slice(1, None), slice(-1))
    )
    return binary(operator.sub, later, earlier)


def np_abs(x: Any, /) -> Any:  # noqa: ANN401
    return absolute(_given(x) if isinstance(x, (list, tuple)) else x)


def _arithmetic(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(a: Any, b: Any, /) -> Any:  # noqa: ANN401
        one, other = (_given(x) if isinstance(x, (list, tuple)) else x for x in (a, b))
        return binary(operation, one, other)

    return apply


def _logical(action: Callable[..., bool]) -> Callable[..., Any]:
    def apply(*given: Any) -> Any:  # noqa: ANN401
        return elementwise(lambda *cells: action(*map(truth, cells)), *given)

    return apply


def np_any(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
    return along(a, axis, lambda cells: _any(iter(cells)))


def np_all(a: Any, /, axis: Any = None) -> Any:  # noqa: ANN401
    return along(a, axis, lambda cells: _all(iter(cells)))


def np_count_nonzero(a: Any, /) -> Any:  # noqa: ANN401
    return along(a, None, lambda cells: sum(truth(x) for x in cells))


def _np_number(name: str) -> Any:  # noqa: ANN401
    return _of_number(name, lambda x: float(getattr(np, name)(x)), cells=True)


_NUMPY: dict[Any, Any] = {
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
_NUMPY |= {
    getattr(np, name): _np_number(name)
    for name in ("exp", "log", "sqrt", "floor", "ceil", "rint", "tanh", "expm1", "log1p")
}

_BUILTINS: dict[Any, Any] = {
    builtins.len: length, builtins.sum: total, builtins.min: extreme("min"),
    builtins.max: extreme("max"), builtins.sorted: _sorted, builtins.any: _any,
    builtins.all: _all, builtins.range: _range, builtins.enumerate: _enumerate,
    builtins.zip: _zip, builtins.map: _map, builtins.reversed: _reversed,
    builtins.abs: absolute, builtins.round: _round, builtins.pow: _power,
    builtins.list: _list, builtins.tuple: _tuple,
}  # fmt: skip
WITH_CALLS = {builtins.min, builtins.max, builtins.sorted, builtins.map}
TYPES: dict[Any, Type] = {
    builtins.float: Type("float", as_float), np.float64: Type("float", as_float),
    builtins.int: Type("int", as_int), np.int64: Type("int", as_int),
    builtins.bool: Type("bool", _bool), np.bool_: Type("bool", _bool),
}  # fmt: skip
NAMED = {
    "": {f.__name__ for f in _BUILTINS} | {"float", "int", "bool"},
    "math": {f.__name__ for f in _MATH},
    "numpy": {f.__name__ for f in _NUMPY},
}
"""The names of all functions on the list, by their module."""


def known(value: Any) -> Known | Type | None:  # noqa: ANN401
    """A function of Python's or NumPy's, if it is on the list."""
    try:
        found = _BUILTINS.get(value) or _MATH.get(value) or _NUMPY.get(value)
        kind = TYPES.get(value) if isinstance(value, type) else None
    except TypeError:
        return None
    if kind is not None:
        return kind
    return None if found is None else Known(value.__name__, found)


# Methods.


def _list_methods() -> dict[str, Callable[..., Any]]:
    def index(own: list[Any], value: Any, /) -> int:  # noqa: ANN401
        for i, item in enumerate(own):
            if equal(item, value):
                return i
        raise refuse("it raises ValueError: the value is not in the list")

    def count(own: list[Any], value: Any, /) -> int:  # noqa: ANN401
        return sum(equal(item, value) for item in own)

    return {"index": index, "count": count}


def _append(own: Any, value: Any, /) -> None:  # noqa: ANN401
    own.append(value)
    if len(own) > MOST:
        raise refuse("it makes a list that is too long")


def _extend(own: list[Any], values: Any, /) -> None:  # noqa: ANN401
    own.extend(_listed(values))


def _pop(own: list[Any], at: Any = -1, /) -> Any:  # noqa: ANN401
    place = whole(at)
    if not -len(own) <= place < len(own):
        raise refuse("it raises IndexError: pop of nothing")
    return own.pop(place)


def _insert(own: list[Any], at: Any, value: Any, /) -> None:  # noqa: ANN401
    own.insert(whole(at), value)


def _remove(own: list[Any], value: Any, /) -> None:  # noqa: ANN401
    own.pop(LIST["index"](own, value))


def _reverse(own: list[Any], /) -> None:
    own.reverse()


def _sort(calls: Caller, own: list[Any], /, *, key: Any = None, reverse: Any = False) -> None:  # noqa: ANN401
    own[:] = _sorted(calls, own, key=key, reverse=reverse)


LIST = _list_methods()
CHANGES: dict[str, Callable[..., Any]] = {
    "append": _append, "extend": _extend, "pop": _pop, "insert": _insert, "remove": _remove,
    "reverse": _reverse, "sort": _sort,
}  # fmt: skip
COPIES = {"copy": lambda own: own.copy()}
DICT: dict[str, Callable[..., Any]] = {
    "items": lambda own: own.items(),
    "keys": lambda own: own.keys(),
    "values": lambda own: own.values(),
}


def _reshaped(own: Array, /, *shape: Any) -> Array:  # noqa: ANN401
    parts = shape[0] if len(shape) == 1 else list(shape)
    wanted = [whole(x) for x in (parts if isinstance(parts, (list, tuple)) else [parts])]
    _check_shared(own)
    try:
        return Array(own.cells.reshape(wanted), own.kind)
    except ValueError:
        raise refuse("it raises ValueError: the array has no such shape") from None


def _check_shared(own: Array) -> None:
    """Whether a table shares its numbers with its new shape depends on how it lies in memory."""
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
    "ravel": lambda own: _reshaped(own, -1), "astype": _astype,
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


def method(
    own: Any,  # noqa: ANN401
    name: str,
    held: dict[int, Any],
) -> tuple[Callable[..., Any], bool]:
    """A method of a value, and whether it takes the interpreter that calls functions first."""
    if isinstance(own, SymbolicGenerator):
        if name in DRAWS:
            return functools.partial(_drawn, name), False
        raise refuse(f"rng.{name} is not in the language")
    found: Callable[..., Any] | None = None
    if type(own) in {list, tuple}:
        found = LIST.get(name)
    if type(own) is list:
        found = found or COPIES.get(name) or CHANGES.get(name)
    if isinstance(own, Grown) and name == "append":
        found = Grown.append
    if type(own) is dict:
        found = DICT.get(name)
    if isinstance(own, Array):
        found = ARRAY.get(name)
    if found is None:
        raise refuse(f"it calls .{name}() of {described(own)}, which is not in the language")
    if name in CHANGES and id(own) in held:
        raise refuse("it changes its data, or a constant from outside")
    return found, found is _sort


# Draws.

DRAWS: dict[str, tuple[str, ...]] = {
    "laplace": ("loc", "scale", "size"), "normal": ("loc", "scale", "size"),
    "exponential": ("scale", "size"), "geometric": ("p", "size"),
    "standard_normal": ("size",), "standard_exponential": ("size",), "random": ("size",),
    "uniform": ("low", "high", "size"), "integers": ("low", "high", "size", "endpoint"),
    "binomial": ("n", "p", "size"), "choice": ("a", "size", "p"), "permutation": ("x",),
    "shuffle": ("x",),
}  # fmt: skip
_PLACES = {"integers": ("low", "high", "size"), "choice": ("a", "size")}


def _drawn(name: str, own: SymbolicGenerator, /, *given: Any, **named: Any) -> Any:  # noqa: ANN401
    places = _PLACES.get(name, DRAWS[name])
    if len(given) > len(places) or not named.keys() <= {*DRAWS[name]}:
        raise refuse(f"rng.{name} with such arguments is not in the language")
    both = dict(zip(places, given, strict=False)) | named
    if len(both) != len(given) + len(named):
        raise refuse(f"rng.{name} is given one argument twice")
    if name == "shuffle":
        return _shuffled(own, both["x"])
    found = getattr(own, name)(**{key: _handed(key, value) for key, value in both.items()})
    return _received(found)


def _received(found: Any) -> Any:  # noqa: ANN401
    return found if isinstance(found, (Symbolic, Uniform)) else lifted(found)


def _handed(name: str, value: Any) -> Any:  # noqa: ANN401
    """An argument of a draw, as the generator takes it."""
    if name == "size":
        return None if value is None else shaped(value)
    if name == "endpoint":
        return truth(value)
    if isinstance(value, (list, tuple, Array)):
        if name in {"a", "x"} and value and all(type(x) is str for x in value):
            return list(value)
        source = _given(value)
        if source.kind == "uniform":
            raise refuse("it draws around uniform draws")
        if name in {"a", "x"} and source.kind in {"float", "int", "bool"}:
            return _native(source)
        return source.cells
    if not is_number(value) or isinstance(value, bool):
        raise refuse(f"the {name} of a draw is {described(value)}, or a truth value")
    if name in {"n", "low", "high", "a", "x"} and not isinstance(value, float):
        return whole(value)
    return value


def _native(source: Array) -> Any:  # noqa: ANN401
    plain = not any(isinstance(x, Symbolic) for x in source.cells.ravel())
    kinds = {"float": np.float64, "int": np.int64, "bool": np.bool_}
    return source.cells.astype(kinds[source.kind or ""]) if plain else source.cells


def _shuffled(own: SymbolicGenerator, value: Any) -> None:  # noqa: ANN401
    if isinstance(value, Array) and not value.cells.flags.writeable:
        raise refuse("it changes its data, or a constant from outside")
    if not isinstance(value, (list, Array)) or (isinstance(value, Array) and value.cells.ndim > 1):
        raise refuse("rng.shuffle is understood of simple lists only")
    own.shuffle(value.cells if isinstance(value, Array) else value)


@functools.lru_cache(maxsize=512)
def _signature(function: Any) -> inspect.Signature:  # noqa: ANN401
    return inspect.signature(function)


def called(name: str, function: Any, given: list[Any], named: dict[str, Any]) -> Any:  # noqa: ANN401
    """Call a function of the list, if it takes such arguments."""
    try:
        _signature(function).bind(*given, **named)
    except TypeError:
        raise refuse(f"{name} with such arguments is not in the language") from None
    return function(*given, **named)


def is_callable(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, (Function, Known, Type))
