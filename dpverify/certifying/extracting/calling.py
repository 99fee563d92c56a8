"""Call a mechanism so that ordinary code works on symbols.

`float`, `int`, `math` and `numpy` turn symbols into plain numbers, which no symbol can become. So
the mechanism, and the functions beside it that it calls, are run with stand-ins for these names:
they leave symbols as they are, give exact exponentials, and do what they always do elsewhere.
"""

import builtins
import datetime as dt
import functools
import inspect
import math
import os
import random
import secrets
import time
import types
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import current
from dpverify.certifying.symbolic.symbols import (
    Symbolic,
    Uniform,
    check_wide,
    common_kind,
    number,
    refuse,
)
from dpverify.errors import InvalidParameter

_LIBRARY_ROOTS = tuple(str(Path(inspect.getfile(module)).parent.parent) for module in (np, inspect))


_OWN_ROOT = str(Path(__file__).parents[2])


def is_of_library(module: types.ModuleType | None) -> bool:
    """Whether a module is of the standard library, of an installed package, or of dpverify."""
    if module is None or module.__name__ == "__main__":
        return False
    file = getattr(module, "__file__", None)
    return file is None or is_library_file(file)


def is_library_file(name: str) -> bool:
    """Whether a source file is of the standard library, of an installed package, or of dpverify."""
    return name.startswith((*_LIBRARY_ROOTS, _OWN_ROOT))


def is_prepared(function: types.FunctionType) -> bool:
    """Whether a function runs with the stand-ins below."""
    return function.__globals__.get("type") is _Type


def takes_epsilon(mechanism: Callable[..., Any]) -> bool:
    """Whether the mechanism takes `epsilon` as its third argument."""
    try:
        names = list(inspect.signature(mechanism).parameters)
    except (TypeError, ValueError):
        return False
    return len(names) > 2 and names[2] == "epsilon"


def _known(value: Symbolic) -> str:
    if value.kind is None:
        raise refuse("it asks for the type of a number that may be an int or a float")
    return value.kind


class _FloatMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        if isinstance(value, Symbolic):
            return _known(value) == "float"
        return isinstance(value, (builtins.float, Uniform))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, builtins.float)

    def __call__(cls, value: Any = 0.0) -> Any:  # noqa: ANN401
        if isinstance(value, np.ndarray) and value.dtype == object and value.size == 1:
            value = value.item()
        return value.typed("float") if isinstance(value, Symbolic) else builtins.float(value)

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        return getattr(builtins.float, name)


class _IntMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        if isinstance(value, Symbolic):
            return _known(value) == "int"
        return isinstance(value, builtins.int)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, builtins.int)

    def __call__(cls, value: Any = 0, *more: Any) -> Any:  # noqa: ANN401
        if isinstance(value, Symbolic) and not value.is_constant:
            return value.whole().typed("int")
        return builtins.int(value, *more)

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        return getattr(builtins.int, name)


class _Float(metaclass=_FloatMeta):
    """Stands for `float`: leaves symbols as they are."""


class _Float64(_Float):
    """Stands for `np.float64`, which is not `float`."""


class _Int(metaclass=_IntMeta):
    """Stands for `int`: leaves whole symbols as they are and refuses to round others."""

    dtype = np.dtype(int)  # what NumPy takes it for: `astype(int)` cuts, which symbols refuse


class _Stand:
    """A module, with some of its functions replaced."""

    def __init__(self, module: Any, instead: dict[str, Any]) -> None:  # noqa: ANN401
        self.__dict__.update(_module=module, **instead)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name == "random" and self._module is np:
            return _NO_RANDOM
        return getattr(self._module, name)


class _NoRandom:
    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name in {"Generator", "RandomState", "BitGenerator", "SeedSequence"}:
            return getattr(np.random, name)
        if name.startswith("_"):  # what tools ask of any object
            raise AttributeError(name)
        raise refuse(f"np.random.{name} is not the rng that the mechanism was given")


_NO_RANDOM = _NoRandom()
_OTHER = "it draws from a generator other than the rng it was given"


class Refused:
    """A module whose answers differ from call to call: no mechanism that names it is certified."""

    def __init__(self, module: str) -> None:
        self.__dict__["_why"] = f"it uses the module {module}, whose answers change between calls"

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        raise refuse(self._why)


def _exact(method: str, plain: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function that is exact on symbols and on numbers, elementwise on arrays."""

    def apply(value: Any, *more: Any, **named: Any) -> Any:  # noqa: ANN401
        symbols = any(isinstance(x, Symbolic) for x in np.ravel(np.asarray(value, object)))
        if symbols and (more or named):
            raise refuse(f"{method} of data or noise is understood with one argument only")
        if named or (more and np.ndim(value)):
            return plain(value, *more, **named)
        if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value):
            source = np.asarray(value, object)
            result = np.empty(source.shape, object)
            for index in np.ndindex(source.shape):
                result[index] = apply(source[index], *more, **named)
            return result
        if isinstance(value, Symbolic):
            made = getattr(value, method)()
            return made.typed("int") if plain in {math.floor, math.ceil} else made
        if current.get() is not None and not more and method == "exp" and math.isfinite(value):
            run = current.get()
            before = None if run is None else run.failure
            try:
                read = number(value)
                return plain(value) if read is None else read.exp()
            except NotUnderstood:
                if run is not None:
                    run.failure = before
        return plain(value, *more, **named)

    return apply


def _array(value: Any, dtype: Any = None, **named: Any) -> Any:  # noqa: ANN401
    """`np.array` and `np.asarray`: symbols stay what they are."""
    made = np.array(value, dtype=object)
    symbols = [x for x in made.ravel() if isinstance(x, Symbolic)]
    if symbols:
        if named.keys() - {"copy"} or not named.get("copy", True):
            raise refuse("an array of data or noise is understood without further options")
        kind = "O" if dtype is None else np.dtype(_kind(dtype)).kind
        if kind not in "Ofi":
            raise refuse(f"it turns data or noise into the type {np.dtype(_kind(dtype))}")
        if dtype is not None:
            check_wide(np.dtype(_kind(dtype)))
        if kind == "i" and not all(isinstance(x, (int, Symbolic)) for x in made.ravel()):
            raise refuse("it cuts numbers beside data or noise to whole ones")
        for symbol in symbols if kind == "i" else ():
            symbol.whole()
        if any(number(x) is None for x in made.ravel()):
            raise refuse("it puts data or noise into an array with other things")
        for index in np.ndindex(made.shape):
            made[index] = number(made[index])  # of one type, as all numbers of an array
        kinds = {"f": ("float",), "i": ("int",)}.get(kind, {x.kind for x in made.ravel()})
        for index in np.ndindex(made.shape):
            entry: Any = made[index]
            made[index] = entry.typed(common_kind(*kinds))
        return made
    return np.array(value, dtype=_kind(dtype), **named)


def _as_array(value: Any, dtype: Any = None, **named: Any) -> Any:  # noqa: ANN401
    """`np.asarray`: an array that is one already of that type is not copied."""
    if not isinstance(value, np.ndarray):
        return _array(value, dtype, **named)
    if value.dtype != object:
        return np.asarray(value, dtype=_kind(dtype), **named)
    if named:
        raise refuse("an array of data or noise is understood without further options")
    if dtype is None:
        return value
    numbers = [number(x) for x in value.ravel()]
    kinds = {None if x is None else x.kind for x in numbers}
    wanted = {np.dtype(float): "float", np.dtype(int): "int"}.get(np.dtype(_kind(dtype)))
    if wanted is None or None in kinds:
        raise refuse("it may turn data or noise into another type, and share them or not")
    return value if common_kind(*kinds) == wanted else _array(value, dtype)


def _kind(dtype: Any) -> Any:  # noqa: ANN401
    return {_Float: builtins.float, _Float64: builtins.float, _Int: builtins.int}.get(dtype, dtype)


def _filled(name: str) -> Callable[..., Any]:
    """`np.zeros` and its kin: arrays that symbols can be put into."""
    original = getattr(np, name)

    def make(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        if "dtype" in named:
            named["dtype"] = _kind(named["dtype"])
        plain = original(*(_kind(x) if isinstance(x, type) else x for x in given), **named)
        if plain.dtype.kind == "f":
            check_wide(plain.dtype)
        return plain.astype(object) if plain.dtype.kind == "f" else plain

    return make


def _extreme(operation: str) -> Callable[..., Any]:
    """`min` and `max`: where releases are sought, data are clamped and not compared."""
    original = getattr(builtins, operation)

    def choose(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        run = current.get()
        if run is None or not run.shared.releasing or len(given) != 2 or named:
            return original(*given, **named)
        return _clamped(run, operation, *given)

    return choose


def _clamped(run: Any, operation: str, a: Any, b: Any) -> Any:  # noqa: ANN401
    value, bound = (b, a) if isinstance(b, Symbolic) and not isinstance(a, Symbolic) else (a, b)
    read = number(bound)
    plain = None if read is None or not read.is_constant else read.constant.fraction()
    in_data = isinstance(value, Symbolic) and any(n[0] in "xc" for n, _ in value.coefficients)
    if read is None or plain is None or not in_data:
        return getattr(builtins, operation)(a, b)
    made: Symbolic = run.clamped(operation, value, plain)
    return made.typed(value.kind if value.kind == read.kind else None)


def is_stand(value: object) -> bool:
    """Whether a name stands for `math` or `numpy`, or for a function of them."""
    return isinstance(value, _Stand) or any(value is f for f in _OF_MODULES)


def is_number_type(value: object) -> bool:
    """Whether a name stands for `float`, `int`, `min` or `max`."""
    return (
        value in {_Float, _Float64, _Int, _Type}
        if isinstance(value, type)
        else any(value is f for f in (*_EXTREMES.values(), *ASKING.values()))
    )


def _clip(values: Any, low: Any = None, high: Any = None, *more: Any, **named: Any) -> Any:  # noqa: ANN401
    """`np.clip`, element by element where there are symbols."""
    low = named.pop("a_min", named.pop("min", low))
    high = named.pop("a_max", named.pop("max", high))
    if more or named:
        raise refuse("np.clip is understood with values and bounds only")
    run = current.get()
    if run is None or not run.shared.releasing or not np.isscalar(low) or not np.isscalar(high):
        return np.clip(values, low, high)
    source = np.asarray(values, object)
    result = np.empty(source.shape, object)
    for index in np.ndindex(source.shape):
        result[index] = _clamped(run, "min", _clamped(run, "max", source[index], low), high)
    return result if source.ndim else result.item()


_EXTREMES = {name: _extreme(name) for name in ("min", "max")}


def _asking(name: str) -> Callable[..., Any]:
    """`type`, `getattr` and their kin: symbols and their generator are not what they stand for."""
    original = getattr(builtins, name)

    def ask(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        if given and isinstance(given[0], (Symbolic, np.random.Generator)):
            raise refuse(f"it looks at data, noise or rng by {name}()")
        return original(*given, **named)

    return ask


def _hash(value: Any) -> int:  # noqa: ANN401
    """`hash`: that of a text is another one in every process."""
    if not isinstance(value, (int, float, np.number)):
        raise refuse("it looks at the hash of something other than a number")
    return hash(value)


def _id(_: object) -> int:
    raise refuse("it looks at where something is in memory")


class _TypeMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, builtins.type)

    def __call__(cls, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        return _asking("type")(*given, **named)

    def __getattr__(cls, name: str) -> Any:  # noqa: ANN401
        return getattr(builtins.type, name)


class _Type(metaclass=_TypeMeta):
    """Stands for `type`: refuses to tell that of symbols."""


ASKING = {name: _asking(name) for name in ("getattr", "hasattr", "setattr", "vars", "dir")}
ASKING |= {"hash": _hash, "id": _id, "type": _Type}


_MATH = _Stand(
    math,
    {name: _exact(name, getattr(math, name)) for name in ("exp", "log", "floor", "ceil", "sqrt")}
    | {"fsum": lambda values: sum(values), "fabs": lambda value: abs(value)},  # noqa: PLW0108
)
_NUMPY = _Stand(
    np,
    {name: _exact(name, getattr(np, name)) for name in ("exp", "log", "floor", "ceil", "sqrt")}
    | {
        "clip": _clip,
        "array": _array,
        "asarray": _as_array,
        "float64": _Float64,
        "rint": _exact("rint", np.rint),
    }
    | {n: _filled(n) for n in ("zeros", "ones", "empty", "full", "zeros_like", "ones_like")}
    | {n: _filled(n) for n in ("empty_like", "full_like")},
)


def _other_generator(*_: Any, **__: Any) -> Any:  # noqa: ANN401
    raise refuse("np.random.default_rng is not the rng that the mechanism was given")


_INSTEAD: dict[Any, Any] = {
    id(math): _MATH,
    id(np): _NUMPY,
    id(np.random): _NO_RANDOM,
    id(np.random.default_rng): _other_generator,
} | {id(module): Refused(module.__name__) for module in (random, secrets, time, uuid, dt)}
for _name in ("exp", "log", "floor", "ceil", "sqrt"):
    _INSTEAD[id(getattr(math, _name))] = getattr(_MATH, _name)
    _INSTEAD[id(getattr(np, _name))] = getattr(_NUMPY, _name)


_OF_MODULES = [v for stand in (_MATH, _NUMPY) for k, v in vars(stand).items() if k[0] != "_"]


def _import(name: str, *given: Any, **named: Any) -> Any:  # noqa: ANN401
    """`import` inside a mechanism: the stand-ins again."""
    found = builtins.__import__(name, *given, **named)
    return _INSTEAD.get(id(found), found)


def prepared(mechanism: Callable[..., Any]) -> Callable[..., Any]:
    """The mechanism with stand-ins for the names above, in itself and the functions it calls."""
    made: Callable[..., Any] = _prepared(mechanism, {}, {})
    return made


def _prepared(value: Any, scopes: dict[int, Any], done: dict[int, Any]) -> Any:  # noqa: ANN401
    if id(value) in done:
        return done[id(value)]
    if id(value) in _INSTEAD:
        return _INSTEAD[id(value)]
    if isinstance(value, functools.partial):
        return functools.partial(_prepared(value.func, scopes, done), *value.args, **value.keywords)
    if isinstance(value, types.MethodType):
        return types.MethodType(_prepared(value.__func__, scopes, done), value.__self__)
    if not isinstance(value, types.FunctionType):
        own = vars(type(value)).get("__call__")
        plain_object = isinstance(own, types.FunctionType) and not isinstance(value, type)
        return types.MethodType(_prepared(own, scopes, done), value) if plain_object else value
    if value.__code__.co_filename.startswith(_LIBRARY_ROOTS):
        return value
    cells = tuple(types.CellType() for _ in value.__closure__ or ())
    scope = _scope(value.__globals__, scopes, done)
    made = types.FunctionType(
        value.__code__, scope, value.__name__, value.__defaults__, cells or None
    )
    made.__kwdefaults__ = value.__kwdefaults__
    done[id(value)] = made  # before its cells, which may hold the function itself
    for cell, original in zip(cells, value.__closure__ or (), strict=True):
        with suppress(ValueError):  # a cell that is still empty stays so
            cell.cell_contents = _cell(original, scopes, done)
    return made


def _cell(cell: Any, scopes: dict[int, Any], done: dict[int, Any]) -> Any:  # noqa: ANN401
    content = cell.cell_contents
    inner = isinstance(content, (types.FunctionType, functools.partial))
    return _prepared(content, scopes, done) if inner else _INSTEAD.get(id(content), content)


def _scope(original: dict[str, Any], scopes: dict[int, Any], done: dict[int, Any]) -> Any:  # noqa: ANN401
    if id(original) in scopes:
        return scopes[id(original)]
    made = dict(original)
    scopes[id(original)] = made
    made["__builtins__"] = vars(builtins) | {"__import__": _import}
    made.setdefault("float", _Float)
    made.setdefault("int", _Int)
    made.setdefault("min", _EXTREMES["min"])
    made.setdefault("max", _EXTREMES["max"])
    for name, stand in ASKING.items():
        made.setdefault(name, stand)
    for name, value in original.items():
        if id(value) in _INSTEAD:
            made[name] = _INSTEAD[id(value)]
        elif isinstance(value, types.FunctionType) and value.__globals__ is original:
            made[name] = _prepared(value, scopes, done)
    return made


@contextmanager
def no_other_randomness() -> Iterator[None]:
    """Refuse a mechanism that draws from anything but the rng it was given.

    The global generators must not move, and nothing may be seeded by the operating system.
    """
    before = _global_states()
    with ExitStack() as stack:
        for owner, name in ((os, "urandom"), (random, "_urandom"), (random.Random, "seed")):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, _other_entropy)
        yield
    if _global_states() != before:
        raise NotUnderstood(_OTHER)


def _global_states() -> tuple[Any, ...]:
    name, words, *more = np.random.get_state()  # noqa: NPY002  # it is what is watched
    return random.getstate(), name, np.asarray(words).tobytes(), *more


def _other_entropy(*_: Any, **__: Any) -> Any:  # noqa: ANN401
    raise refuse(_OTHER)


def check_callable(mechanism: object) -> None:
    if not callable(mechanism):
        raise InvalidParameter(f"mechanism={mechanism!r} must be callable as mechanism(data, rng)")
