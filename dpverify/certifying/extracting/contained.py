"""Check that a function keeps its state in local variables alone.

An induction looks at the variables between two records. Whatever could remember something elsewhere
(names of a module, attributes, files, other modules) is refused, in the function and in those that
it calls; so is every name that is not known to be harmless.
"""

# ruff: noqa: SIM905  # lists of words

import builtins
import dis
import functools
import re
import sys
import types
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.certifying.extracting.calling import (
    ASKING,
    is_library_file,
    is_number_type,
    is_of_library,
    is_prepared,
    is_stand,
)
from dpverify.certifying.symbolic.reasons import NotUnderstood

_MOST = 1000  # numbers in a constant
_BUILTINS = frozenset(
    "abs all any bool divmod enumerate float int isinstance len list max min pow range reversed "
    "round sorted str sum tuple zip ValueError TypeError IndexError ZeroDivisionError Exception "
    "AssertionError RuntimeError NotImplementedError ArithmeticError".split()
)
_NUMPY = frozenset(
    "abs absolute add all any append arange argmax argmin argsort array asarray bool_ ceil clip "
    "concatenate cumsum diff divide dot e empty exp eye fabs fill flatten float64 floor full fsum "
    "full_like hstack index inf int64 integer isfinite isinf isnan linspace log logical_and "
    "logical_not logical_or max maximum mean median min minimum multiply nan ndarray negative ones "
    "ones_like outer pi power prod ravel repeat reshape rint round shape sign size sort sqrt "
    "stack std subtract sum take tolist transpose vstack where zeros zeros_like item astype copy "
    "append extend insert pop remove reverse count startswith endswith T".split()
)
_DRAWS = frozenset(
    "laplace exponential standard_exponential geometric normal standard_normal random uniform "
    "integers choice permutation shuffle binomial".split()
)
_BROAD = {"TypeError", "AttributeError", "NotImplementedError", "Exception", "BaseException"}
_NAMING = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD", "LOAD_DEREF", "LOAD_FAST"}
_STORED = frozenset(
    "dtype tobytes tofile view itemsize nbytes getfield byteswap hex result_type min_scalar_type "
    "common_type can_cast getsizeof __array_interface__ __array_struct__ __doc__ __module__ "
    "__dict__ __slots__ __array_ufunc__".split()
)
_WATCHING = frozenset(  # how its own code is run
    "_getframe currentframe _current_frames f_code f_back f_globals f_locals tb_frame gi_frame "
    "gi_code gettrace settrace getprofile setprofile co_code co_consts".split()
)
_INSIDE = re.compile(
    "__(?!(main|getitem|setitem|len|init|post_init|call|contains|iter|next|add|sub|mul|truediv|neg"
    "|abs|eq|ne|lt|le|gt|ge|bool|name|annotations|qualname|module|doc|enter|exit)__)[a-z_]+__"
)
_STORING = frozenset(
    "STORE_GLOBAL DELETE_GLOBAL STORE_ATTR DELETE_ATTR STORE_NAME IMPORT_NAME IMPORT_FROM "
    "YIELD_VALUE LOAD_BUILD_CLASS LOAD_CLASSDEREF LOAD_NAME".split()
)


def check_contained(function: types.FunctionType) -> None:
    """Raise with the line of what might be known outside of local variables."""
    _check(function, function.__code__, set())


def _check(function: types.FunctionType, code: types.CodeType, seen: set[int]) -> None:
    if id(code) in seen:
        return
    seen.add(id(code))
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = step.starts_line or line
        reason = _objection(function, code, step)
        if reason is not None:
            raise NotUnderstood(reason, f"{Path(code.co_filename).name}:{line}")
        if step.opname == "LOAD_GLOBAL" and step.argval in function.__globals__:
            _follow(function.__globals__[step.argval], seen)
    for content in _cells(function) if code is function.__code__ else ():
        if not _is_harmless(content):
            where = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
            raise NotUnderstood(f"it holds on to a {type(content).__name__} from outside", where)
        _follow(content, seen)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _check(function, inner, seen)


def check_telling(value: Any) -> None:  # noqa: ANN401
    """Raise where code may tell symbols from numbers.

    `is` compares two objects, and symbols stand for equal data, not for one object; what catches
    any exception catches those that only symbols raise; arrays of symbols are of another type. In
    functions without stand-ins, `type` and its kin are the true ones.
    """
    for found in reachable(value):
        asking = () if is_prepared(found) else ASKING
        for code in _codes(found.__code__):
            _check_telling(code, asking)


def reachable(value: Any) -> Iterator[types.FunctionType]:  # noqa: ANN401
    """The functions in Python that a call may come to: by names, closures, methods and classes."""
    waiting, seen = [value], set[int]()
    while waiting:
        found = waiting.pop()
        if isinstance(found, functools.partial):
            found = found.func
        elif isinstance(found, types.MethodType):
            waiting += [*vars(type(found.__self__)).values()]
            found = found.__func__
        elif isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        elif isinstance(found, property):
            found = found.fget
        elif isinstance(found, type) and _is_own(found):
            waiting += [x for kind in found.__mro__ if _is_own(kind) for x in _methods(kind)]
        elif type(found) in {list, tuple, dict} and len(found) <= _MOST:
            waiting += found.values() if isinstance(found, dict) else found
        elif _is_own(type(found)):
            waiting.append(type(found))
        own = not is_stand(found) and not is_number_type(found)
        if not isinstance(found, types.FunctionType) or not own or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        names = [name for code in _codes(found.__code__) for name in code.co_names]
        waiting += [x for name in names for x in _named(found, name)]
        waiting += _cells(found)


def _methods(kind: type) -> Iterator[Any]:
    """What a class defines, without what a library has made for it, such as `dataclass`."""
    for name, part in vars(kind).items():
        code = getattr(part, "__code__", None)
        made = code is not None and (
            code.co_filename == "<string>" or is_library_file(code.co_filename)
        )
        if not made and name != "__orig_bases__":  # of a `NamedTuple`, as it was written
            yield part


def _is_own(kind: type) -> bool:
    """Whether a class is the user's."""
    number = is_number_type(kind)
    return not number and not is_of_library(sys.modules.get(kind.__module__))


def _named(function: types.FunctionType, name: str) -> Iterator[Any]:
    """What a name stands for in a function: a global, or part of a module of the user's."""
    yield function.__globals__.get(name)
    for module in (function.__globals__.get(n) for n in function.__code__.co_names):
        if isinstance(module, types.ModuleType) and not is_of_library(module):
            yield vars(module).get(name)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)


def _check_telling(code: types.CodeType, asking: Collection[str]) -> None:
    plain, caught, line = False, list[str](), code.co_firstlineno
    before, own = None, not is_library_file(code.co_filename)
    for step in dis.get_instructions(code):
        line = step.starts_line or line
        where = f"{Path(code.co_filename).name}:{line}"
        if step.opname == "IS_OP" and not plain:
            raise NotUnderstood("it asks by `is` whether two values are one object", where)
        if step.opname == "PUSH_EXC_INFO":
            caught = []
        bare = before == "PUSH_EXC_INFO" and step.opname == "POP_TOP"
        broad = step.opname == "CHECK_EXC_MATCH" and _BROAD & {*caught}
        if bare or broad or (step.opname in _NAMING and step.argval == "suppress"):
            raise NotUnderstood("it catches exceptions that only symbols may raise", where)
        named = step.opname in _NAMING
        asked = step.opname == "LOAD_GLOBAL" and step.argval in asking
        watching = isinstance(step.argval, str) and step.argval in _WATCHING
        if asked or watching or (named and step.argval in _STORED):
            raise NotUnderstood(f"it may tell symbols from numbers by {step.argval}", where)
        caught += [step.argval] * named
        inside = step.argval if named or step.opname in {"LOAD_CONST", "IMPORT_NAME"} else None
        if own and isinstance(inside, str) and _INSIDE.fullmatch(inside):
            raise NotUnderstood(f"it reaches by {inside} for what is inside of objects", where)
        constant = step.opname == "LOAD_CONST"
        plain = constant and any(step.argval is x for x in (None, True, False))
        before = step.opname


def _follow(value: object, seen: set[int]) -> None:
    own = is_stand(value) or is_number_type(value)
    if isinstance(value, types.FunctionType) and not own:
        _check(value, value.__code__, seen)


def _objection(
    function: types.FunctionType, code: types.CodeType, step: dis.Instruction
) -> str | None:
    name = step.argval
    if step.opname in _STORING and (step.opname != "YIELD_VALUE" or code.co_name != "<genexpr>"):
        return "it keeps something outside of its local variables"
    if step.opname == "STORE_DEREF" and name in code.co_freevars and code is function.__code__:
        return "it keeps something outside of its local variables"
    if step.opname == "LOAD_GLOBAL":
        if name in function.__globals__:
            found = function.__globals__[name]
            return None if _is_harmless(found) else f"it uses {name}, a {type(found).__name__}"
        known = name in _BUILTINS and hasattr(builtins, name)
        return None if known else f"it uses {name}, which may keep a state"
    if step.opname in {"LOAD_ATTR", "LOAD_METHOD"} and name not in _NUMPY | _DRAWS:
        return f"it uses .{name}, which may keep a state"
    return None


def _cells(function: types.FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        if cell != types.CellType():
            yield cell.cell_contents


def _is_harmless(value: Any) -> bool:  # noqa: ANN401
    """Functions, whose code is looked at; `math` and `numpy`; constants."""
    return (
        isinstance(value, types.FunctionType) or is_stand(value) or is_number_type(value)
    ) or _is_constant(value, [_MOST])


def _is_constant(value: Any, left: list[int]) -> bool:  # noqa: ANN401
    left[0] -= 1
    if isinstance(value, (bool, int, float, str, type(None), np.number, np.bool_)):
        return left[0] >= 0
    if isinstance(value, np.ndarray):
        return value.dtype != object and value.size <= left[0]
    return type(value) in {list, tuple} and all(_is_constant(part, left) for part in value)
