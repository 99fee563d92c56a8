"""Digests that tell mechanisms and data apart, the same in every process.

A function is its code with all constants, its defaults, what its closure holds, and the global
values that its code names; a class is its methods and attributes; any other object is what
`pickle` would keep of it. Modules, and what installed packages define, are known by name and by
the content of their source file. What has no such description is refused.
"""

import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.errors import InvalidParameter

ATOMS = (bool, int, float, complex, str, bytes, type(None), np.number, np.bool_, np.character)
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})
_BUILT_IN = (
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_LEFT_OUT = frozenset(  # of a class: where it was written, and what is made anew
    {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__"}
    | {"__annotations__", "__static_attributes__", "__abstractmethods__", "_abc_impl"}
    | {"__slotnames__", "__dataclass_fields__", "__dataclass_params__", "__parameters__"}
)


def is_atom(value: object) -> bool:
    """Whether it is a number, a text or None, of Python or of numpy."""
    return isinstance(value, ATOMS) and type(value).__module__ in {"builtins", "numpy"}


def digest(what: str, value: object) -> str:
    """Sixteen hexadecimal digits that depend on the content of the value alone."""
    try:
        return _Walk().of(value).hex()[:16]
    except _NoContent as unknown:
        raise InvalidParameter(
            f"checkpoint must be None: the {what} cannot be identified, as it holds {unknown}"
        ) from None
    except RecursionError:
        raise InvalidParameter(
            f"checkpoint must be None: the {what} is nested too deeply to be identified"
        ) from None


class _NoContent(Exception):
    """There is an object whose content cannot be read."""


class _Walk:
    """One walk through a value and all that it refers to."""

    def __init__(self) -> None:
        self.known: dict[int, bytes] = {}
        self.kept: list[object] = []  # alive, so that no other object gets the same id

    def of(self, value: Any) -> bytes:  # noqa: ANN401  # any object
        if is_atom(value):
            return _hashed("atom", _shown(value))
        if type(value) in {list, tuple} and all(map(is_atom, value)):
            return _hashed(type(value).__name__, *map(_shown, value))
        if id(value) not in self.known:
            self.kept.append(value)
            self.known[id(value)] = f"cycle {len(self.known)}".encode()  # while it is looked at
            self.known[id(value)] = _hashed(type(value).__name__, *self._parts(value))
        return self.known[id(value)]

    def _parts(self, value: Any) -> Iterator[bytes]:  # noqa: ANN401, C901, PLR0912
        match value:
            case list() | tuple() if type(value) in {list, tuple}:
                yield from map(self.of, value)
            case set() | frozenset():
                yield from sorted(_Walk().of(part) for part in value)
            case dict() if type(value) is dict:
                for key, part in value.items():
                    yield self.of(key) + self.of(part)
            case np.ndarray() if type(value) is np.ndarray and value.dtype != object:
                yield f"{value.dtype.str} {value.shape}".encode()
                yield np.ascontiguousarray(value).tobytes()
            case types.ModuleType():
                yield _source(value.__name__)
            case types.CodeType():
                yield from self._code(value)
            case types.FunctionType() | type() if _is_installed(value):
                yield _named(value) + _source(value.__module__)
            case types.FunctionType():
                yield from self._function(value)
            case type():
                yield from self._class(value)
            case types.MethodType():
                yield self.of(value.__func__) + self.of(value.__self__)
            case functools.partial():
                yield from map(self.of, (value.func, value.args, value.keywords))
            case property():
                yield from map(self.of, (value.fget, value.fset, value.fdel))
            case staticmethod() | classmethod():
                yield self.of(value.__func__)
            case functools.cached_property():
                yield self.of(value.func)
            case types.MappingProxyType():
                yield self.of(dict(value))
            case np.ufunc():
                yield value.__name__.encode()
            case _ if isinstance(value, _BUILT_IN):
                yield value.__qualname__.encode()
                yield self._bound_to(value)
            case _ if callable(getattr(value, "cache_info", None)):  # of functools.cache
                yield self.of(value.__wrapped__)
            case _:
                yield from self._reduced(value)

    def _bound_to(self, value: Any) -> bytes:  # noqa: ANN401
        owner = getattr(value, "__self__", None)
        return b"" if owner is None or isinstance(owner, types.ModuleType) else self.of(owner)

    def _code(self, code: types.CodeType) -> Iterator[bytes]:
        yield code.co_code
        yield repr((code.co_names, code.co_freevars, code.co_cellvars, code.co_varnames)).encode()
        yield repr((code.co_argcount, code.co_kwonlyargcount, code.co_flags)).encode()
        yield from map(self.of, code.co_consts)

    def _function(self, function: types.FunctionType) -> Iterator[bytes]:
        yield _named(function)
        yield self.of(function.__code__)
        yield self.of(function.__defaults__) + self.of(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # not filled yet
                yield b"empty"
            else:
                yield self.of(held)
        for name in sorted(names_in(function.__code__)):
            if name in function.__globals__:
                yield name.encode() + self.of(function.__globals__[name])

    def _class(self, kind: type) -> Iterator[bytes]:
        yield _named(kind)
        yield from map(self.of, kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            if name not in _LEFT_OUT and not isinstance(value, _BUILT_IN):
                yield name.encode() + self.of(value)

    def _reduced(self, value: Any) -> Iterator[bytes]:  # noqa: ANN401
        """What pickle would write of an object, with the code of its class."""
        try:
            reduced = value.__reduce_ex__(4)
        except Exception as error:
            raise _NoContent(f"an object of type {type(value).__name__}: {error}") from error
        yield self.of(type(value))
        if isinstance(reduced, str):
            yield reduced.encode()
            return
        maker, arguments, *rest = reduced
        yield self.of(maker) + self.of(arguments)
        for part in rest:
            yield self.of(list(part) if isinstance(part, Iterator) else part)


def names_in(code: types.CodeType) -> set[str]:
    """The global names and attributes in a code and in those within it."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def _shown(atom: object) -> bytes:
    return f"{type(atom).__name__} {atom!r}".encode("utf-8", "surrogatepass")


def _named(value: Any) -> bytes:  # noqa: ANN401  # a function or a class
    return f"{value.__module__}.{value.__qualname__}".encode()


@functools.cache
def _source(module: str) -> bytes:
    """The name of a module and, if it has a file, its content."""
    file = _file(module)
    content = b"" if file is None else hashlib.sha256(file.read_bytes()).digest()
    return module.encode() + content


def _file(module: str) -> Path | None:
    file = getattr(sys.modules.get(module), "__file__", None)
    return Path(file) if file is not None and Path(file).is_file() else None


def _is_installed(value: Any) -> bool:  # noqa: ANN401  # a function or a class
    """Whether it is what its name says in a module of Python, of a package or of this library."""
    module: str | None = value.__module__
    found: Any = None if module is None else sys.modules.get(module)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    if module is None or found is not value:
        return False  # made by a function: its closure is not in the source
    if module == "__main__":
        return False
    file = _file(module)
    own = module.partition(".")[0] == "dpverify"
    return own or file is None or str(file.resolve()).startswith(_INSTALLED)


def _hashed(kind: str, *parts: bytes) -> bytes:
    made = hashlib.sha256(kind.encode())
    for part in parts:
        made.update(len(part).to_bytes(8, "big") + part)
    return made.digest()


def fingerprint(*parts: Any) -> int:  # noqa: ANN401  # whatever mechanisms take
    """A number for the contents of datasets: equal contents, equal numbers, in every process.

    >>> fingerprint([0.0, 1.0]) == fingerprint([0.0, 1.0])
    True
    >>> fingerprint([0.0, 1.0]) == fingerprint([0, 1])
    False
    """
    made = hashlib.blake2b(digest_size=16)
    for part in parts:
        made.update(_content(part).encode("utf-8", "surrogatepass") + b"\0")
    return int.from_bytes(made.digest(), "big")


def _content(data: Any) -> str:  # noqa: ANN401
    match data:
        case np.ndarray() if data.dtype != object:
            content = hashlib.blake2b(np.ascontiguousarray(data).tobytes()).hexdigest()
            return f"array({data.dtype.str}, {data.shape}, {content})"
        case np.ndarray():
            return f"array({data.shape}, {_content(data.tolist())})"
        case list() | tuple():
            inner = ", ".join(_content(item) for item in data)
            return f"{type(data).__name__}({inner})"
        case set() | frozenset():
            return f"set({', '.join(sorted(_content(item) for item in data))})"
        case Mapping():
            items = sorted((_content(key), _content(value)) for key, value in data.items())
            return f"map({', '.join(f'{key}: {value}' for key, value in items)})"
        case _:
            return _object_content(data)


def _object_content(data: Any) -> str:  # noqa: ANN401
    if callable(getattr(data, "to_dict", None)) and hasattr(data, "columns"):  # a pandas frame
        return f"frame({_content(data.to_dict('split'))})"
    text = repr(data)
    fields = getattr(data, "__dict__", None)
    if " at 0x" in text and fields is not None:  # an address is no content
        return f"{type(data).__name__}({_content(fields)})"
    return text
