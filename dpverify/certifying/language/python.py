"""Python's built-in functions and those of `math`, on the values of the language."""

import builtins
import functools
import math
import operator
from collections.abc import Callable, Iterator
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
    checked,
    is_number,
    kind_of,
    whole,
)
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import current
from dpverify.certifying.symbolic.symbols import Symbolic, number, refuse


class Type:
    """float, int or bool: a callable type, which also names what an array holds."""

    def __init__(self, kind: str, call: Callable[..., Any]) -> None:
        self.name = self.kind = kind
        self.call = call


class Caller:
    """Calls a function of the language that was passed as an argument such as `key`."""

    def __init__(self, call: Callable[[Any, list[Any]], Any]) -> None:
        self.call = call


def _uncalled(_: Any, __: list[Any]) -> Any:  # noqa: ANN401
    raise refuse("it hands over a function where none is understood")


NO_CALLER = Caller(_uncalled)


_EMPTY = dict[str, int]()
_VIEWS = (type(_EMPTY.keys()), type(_EMPTY.values()), type(_EMPTY.items()))


def items(value: Any) -> Iterator[Any]:  # noqa: ANN401
    """The items that a loop over a value goes through."""
    if isinstance(value, (list, tuple, range, dict, Array, Iterator, *_VIEWS)):
        return iter(value)
    raise refuse(f"it goes through {described(value)}")


def listed(value: Any) -> list[Any]:  # noqa: ANN401
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
    """The sum; plain floats are added by Python's own `sum`, which rounds in its own way."""
    if not is_number(start) or isinstance(start, bool):
        raise refuse("it sums up something other than numbers")
    found = listed(values)
    if {*map(type, found), type(start)} <= {int, float}:
        return checked(sum(found, start))
    return functools.reduce(lambda a, b: binary(operator.add, a, b), found, start)


def extreme(name: str) -> Callable[..., Any]:
    """`min` and `max`: the first of the best items. For sums of releases, data are clamped."""
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
            if chosen is _NOTHING or sole(
                compare(better, rank, chosen[1], close=key is None)  # then either will do
            ):
                chosen = (item, rank)
        if chosen is _NOTHING and default is _NOTHING:
            raise refuse(f"it raises ValueError: {name} of nothing")
        return default if chosen is _NOTHING else chosen[0]

    return choose


_NOTHING: Any = object()


def sole(value: Any) -> bool:  # noqa: ANN401
    """A comparison, which must give a single truth value."""
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
        return b if sole(compare(better, b, a, close=True)) else a
    made: Symbolic = run.clamped(operation, value, plain)
    return made.typed(value.kind if value.kind == read.kind else None)


class Ranked:
    """An item in a list being sorted."""

    __slots__ = ("item", "rank", "tied")

    def __init__(self, item: Any, rank: Any, *, tied: bool = True) -> None:  # noqa: ANN401
        self.item, self.rank, self.tied = item, rank, tied

    def __lt__(self, other: "Ranked") -> bool:
        itself = self.rank is self.item  # then close ones may change places
        before = sole(compare(operator.lt, self.rank, other.rank, close=itself))
        if not before and not self.tied and _may_tie(self.rank, other.rank):
            raise refuse("it sorts equal numbers, whose order is not defined")
        return before


def _may_tie(a: Any, b: Any) -> bool:  # noqa: ANN401
    """Whether two numbers are equal with positive probability."""
    run, one, other = current.get(), number(a), number(b)
    if run is not None and one is not None and other is not None:
        return not run.has_density(one.plus(-other)) and equal(a, b)
    return equal(a, b)


def in_order(calls: Caller, values: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:  # noqa: ANN401
    found = [Ranked(x, x if key is None else calls.call(key, [x])) for x in listed(values)]
    if not isinstance(reverse, int):
        raise refuse("it raises TypeError: `reverse` is neither a truth value nor a whole number")
    return [x.item for x in sorted(found, reverse=bool(reverse))]


def any_of(values: Any, /) -> bool:  # noqa: ANN401
    return any(truth(x) for x in items(values))


def all_of(values: Any, /) -> bool:  # noqa: ANN401
    return all(truth(x) for x in items(values))


def range_of(*given: Any) -> range:  # noqa: ANN401
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
    if not values:
        raise refuse("it raises TypeError: map of nothing")
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


def as_bool(value: Any = False, /) -> bool:  # noqa: ANN401, FBT002
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
    return listed(value)


def _tuple(value: Any = (), /) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(listed(value))


# Functions of numbers, for math and NumPy.


def of_number(  # noqa: C901  # cases
    name: str, plain: Callable[[float], float], *, whole_result: bool = False, cells: bool = False
) -> Any:  # noqa: ANN401
    """A function that symbols know exactly, if they do; computed on plain numbers."""

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
    """e to a power, exactly where possible."""
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
    found = listed(values)
    if not all(map(is_number, found)):
        raise refuse("it sums up something other than numbers by math.fsum")
    if {*map(type, found)} <= {int, float}:
        return checked(math.fsum(found))
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
MATH: dict[Any, Any] = {
    getattr(math, name): of_number(name, getattr(math, name))
    for name in ("exp", "log", "sqrt", *_PLAIN_ONES)
}
MATH |= {
    getattr(math, name): of_number(name, getattr(math, name), whole_result=True)
    for name in ("floor", "ceil", "trunc")
}
MATH |= {math.fsum: _fsum, math.fabs: _fabs}


BUILTINS: dict[Any, Any] = {
    builtins.len: length, builtins.sum: total, builtins.min: extreme("min"),
    builtins.max: extreme("max"), builtins.sorted: in_order, builtins.any: any_of,
    builtins.all: all_of, builtins.range: range_of, builtins.enumerate: _enumerate,
    builtins.zip: _zip, builtins.map: _map, builtins.reversed: _reversed,
    builtins.abs: absolute, builtins.round: _round, builtins.pow: _power,
    builtins.list: _list, builtins.tuple: _tuple,
}  # fmt: skip
WITH_CALLS = {builtins.min, builtins.max, builtins.sorted, builtins.map}
TYPES: dict[Any, Type] = {
    builtins.float: Type("float", as_float), np.float64: Type("float", as_float),
    builtins.int: Type("int", as_int), np.int64: Type("int", as_int),
    builtins.bool: Type("bool", as_bool), np.bool_: Type("bool", as_bool),
}  # fmt: skip
