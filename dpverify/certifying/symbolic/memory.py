"""What a mechanism could remember from one call to the next: names, defaults, closures, objects."""

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpverify.certifying.symbolic.symbols import Symbolic

_MOST = 5000
_DEEPEST = 6


def remembered(mechanism: Callable[..., Any]) -> list[str]:
    """A print of all that the mechanism can reach and change; equal if nothing has changed."""
    seen: set[int] = set()
    return [text for text, _ in zip(_parts(mechanism, seen, 0), range(_MOST), strict=False)]


def _parts(value: Any, seen: set[int], depth: int) -> Iterator[str]:  # noqa: ANN401
    if isinstance(value, (bool, int, float, complex, str, bytes, bytearray, type(None))):
        yield repr(value)
    elif isinstance(value, Symbolic):
        yield repr(value.key())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr((value.shape, value.tobytes()))
    elif id(value) not in seen and depth < _DEEPEST:
        seen.add(id(value))
        yield type(value).__name__
        for part in _inside(value):
            yield from _parts(part, seen, depth + 1)


def _inside(value: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, dict):
        yield from (part for pair in list(value.items()) for part in pair)
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from list(value)
    elif isinstance(value, np.ndarray):
        yield from value.ravel()
    elif not isinstance(value, (type, types.ModuleType)):
        yield from list(getattr(value, "__dict__", {}).values())


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield function.__globals__[name]
    for cell in function.__closure__ or ():
        if cell != types.CellType():
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()


def _names(code: types.CodeType) -> set[str]:
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))
