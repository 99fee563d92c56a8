"""What a mechanism could remember from one call to the next: names, defaults, closures, objects."""

import functools
import sys
import types
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import numpy as np

from dpverify.certifying.extracting.calling import (
    Refused,
    is_number_type,
    is_of_library,
    is_stand,
)
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.symbols import Symbolic
from dpverify.fingerprint import names_in

_MOST = 20_000
_DEEPEST = 60
_ATOMS = (bool, int, float, complex, str, bytes, bytearray, type(None), range, slice, Enum)
_FIXED = (
    *(types.ModuleType, types.WrapperDescriptorType, types.MethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, np.ufunc, np.dtype),
)
_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__slotnames__", "_abc_impl"}


def remembered(mechanism: Callable[..., Any]) -> list[str]:
    """A print of all that the mechanism can reach and change; equal if nothing has changed."""
    seen: dict[int, Any] = {}  # the objects too, so that no two have one id
    found = [text for text, _ in zip(_parts(mechanism, seen, 0), range(_MOST), strict=False)]
    if len(found) == _MOST:
        raise NotUnderstood("it can reach more from outside than is looked at")
    return found


def _parts(value: Any, seen: dict[int, Any], depth: int) -> Iterator[str]:  # noqa: ANN401
    if isinstance(value, _ATOMS):
        yield repr(value)
    elif isinstance(value, Symbolic):
        yield repr(value.key())
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield repr((value.shape, value.tobytes()))
    elif id(value) not in seen:
        if depth >= _DEEPEST:
            raise NotUnderstood("it can reach more from outside than is looked at")
        seen[id(value)] = value
        yield type(value).__name__
        for part in _inside(value):
            yield from _parts(part, seen, depth + 1)


def _inside(value: Any) -> Iterator[Any]:  # noqa: ANN401, C901, PLR0912  # cases
    if is_stand(value) or (isinstance(value, type) and is_number_type(value)):
        return
    if isinstance(value, types.FunctionType):
        if not is_of_library(sys.modules.get(value.__module__)):
            yield from _of_function(value)
    elif isinstance(value, types.MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, (dict, types.MappingProxyType)):
        yield from (part for pair in list(value.items()) for part in pair)
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from list(value)
    elif isinstance(value, np.ndarray):
        yield from value.ravel()
    elif isinstance(value, type):
        for kind in value.__mro__:
            if not is_of_library(sys.modules.get(kind.__module__)):
                yield from (x for name, x in list(vars(kind).items()) if name not in _OF_CLASSES)
    elif isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)):
        yield from () if isinstance(value.__self__, types.ModuleType) else (value.__self__,)
    elif isinstance(value, (staticmethod, classmethod)):
        yield value.__func__
    elif isinstance(value, property):
        yield from (value.fget, value.fset)
    elif not isinstance(value, _FIXED):
        yield type(value)
        yield from _state(value)


def _state(value: Any) -> Iterator[Any]:  # noqa: ANN401
    """The state of an object of any class, as `copy` would take it."""
    if isinstance(value, Refused):
        raise NotUnderstood(str(vars(value)["_why"]))
    if hasattr(value, "cache_info"):
        raise NotUnderstood("it calls a function that keeps its results")
    yield from list(getattr(value, "__dict__", {}).values())
    try:
        _, *state = value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001  # a generator, a lock, a file: whatever cannot be copied
        kind = type(value).__name__
        raise NotUnderstood(f"it holds on to a {kind} from outside, which may change") from None
    for part in state:
        yield list(part) if isinstance(part, Iterator) else part


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    names = sorted(names_in(function.__code__))
    for name in names:
        found = function.__globals__.get(name)
        if isinstance(found, types.ModuleType) and not is_of_library(found):
            yield from (vars(found)[n] for n in names if n in vars(found))
        elif found is not None:
            yield found
    for cell in function.__closure__ or ():
        if cell != types.CellType():
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()
