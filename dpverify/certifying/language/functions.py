"""The functions, methods and random draws of the language, on its values.

A function is known by being the very object that Python or NumPy has under its name. What one of
them does not do here, with the arguments that it is given, is refused.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from dpverify.certifying.language.arithmetic import (
    described,
    equal,
    truth,
)
from dpverify.certifying.language.arrays import ARRAY, NUMPY, as_given, shaped
from dpverify.certifying.language.python import (
    BUILTINS,
    MATH,
    TYPES,
    Caller,
    Type,
    in_order,
    items,
)
from dpverify.certifying.language.values import (
    MOST,
    Array,
    Grown,
    Known,
    is_number,
    lifted,
    whole,
)
from dpverify.certifying.symbolic.generator import SymbolicGenerator
from dpverify.certifying.symbolic.symbols import Symbolic, Uniform, refuse

NAMED = {
    "": {f.__name__ for f in BUILTINS} | {"float", "int", "bool"},
    "math": {f.__name__ for f in MATH},
    "numpy": {f.__name__ for f in NUMPY},
}
"""The names of all functions on the list, by their module."""


def known(value: Any) -> Known | Type | None:  # noqa: ANN401
    """The language's version of a Python or NumPy function, if it has one."""
    function, found = _BY_IDENTITY.get(id(value), (None, None))
    return found if function is value else None


_BY_IDENTITY: dict[int, tuple[Any, Known | Type]] = {  # an object may say that it equals another
    id(function): (function, Known(module + function.__name__, found))
    for module, table in (("", BUILTINS), ("math.", MATH), ("np.", NUMPY))
    for function, found in table.items()
} | {id(function): (function, found) for function, found in TYPES.items()}


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
    """list.extend: lists and tuples at once, others item by item, as they may read the list."""
    if type(values) in {list, tuple}:
        values = iter(list(values))  # itself, perhaps
    for value in items(values):
        _append(own, value)


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
    """list.sort; during the sort the list looks empty, as in Python."""
    found = own.copy()
    own.clear()
    made = in_order(calls, found, key=key, reverse=reverse)
    if own:
        raise refuse("it raises ValueError: a list is changed while it is sorted")
    own.extend(made)


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


def method(
    own: Any,  # noqa: ANN401
    name: str,
    held: dict[int, Any],
) -> tuple[Callable[..., Any], bool]:
    """A method of a value, and whether it takes the interpreter as its first argument."""
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
    if name == "binomial" and whole(both.get("n")) < 1:
        raise refuse("rng.binomial of no trials, or of fewer, is not understood")
    if name == "shuffle":
        return _shuffled(own, both["x"])
    found = getattr(own, name)(**{key: _handed(key, value) for key, value in both.items()})
    return _received(found)


def _received(found: Any) -> Any:  # noqa: ANN401
    return found if isinstance(found, (Symbolic, Uniform)) else lifted(found)


def _handed(name: str, value: Any) -> Any:  # noqa: ANN401
    """An argument of a draw, in the form that the generator takes."""
    if name == "size":
        if value is not None and 0 in shaped(value):
            raise refuse("it makes no draws, with parameters that are looked at all the same")
        return None if value is None else shaped(value)
    if name == "endpoint":
        return truth(value)
    if isinstance(value, (list, tuple, Array)):
        if name in {"a", "x"} and value and all(type(x) is str for x in value):
            return list(value)
        source = as_given(value)
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
    """Call a function of the language, if it takes such arguments."""
    try:
        _signature(function).bind(*given, **named)
    except TypeError:
        raise refuse(f"{name} with such arguments is not in the language") from None
    return function(*given, **named)
