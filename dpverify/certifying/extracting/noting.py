"""Note the value of every expression of a mechanism, as it is computed.

A mechanism can ask something that symbols answer otherwise than numbers, and use the answer only
where it is seldom: no output at random data would tell. But the answer is itself a value, and so
are the bounds that it moves. So the source is compiled once more, with a call around each
expression, and a run with that code leaves a list of all values behind.
"""

import ast
import linecache
import types
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from dpverify.certifying.symbolic.symbols import refuse

Site: TypeAlias = tuple[str, int]
"""Where an expression stands: its line, as file:line, and its column."""
Noter: TypeAlias = Callable[[Site, Any], None]

_HOOK = "dpverify: the function that notes a value"
_UNSEEN = "dpverify: the function that refuses a match"
_EXPRESSIONS = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Attribute, ast.Subscript),
    *(ast.Name, ast.JoinedStr),
)
_GROWS = {"append", "extend"}
_noters: list[Noter] = []


def _note(site: Site, value: Any) -> Any:  # noqa: ANN401
    if not _noters:
        return value
    if type(value).__module__ in {"builtins", "itertools"} and _is_lazy(value):
        return Lazy(site, value)
    _noters[-1](site, value)
    return value


def _unseen(_: Site, value: Any) -> Any:  # noqa: ANN401
    """What a `match` is about, where its patterns ask more than can be noted."""
    if _noters:
        raise refuse("it matches a class or a named value, which cannot be compared on symbols")
    return value


class Lazy:
    """An iterator whose values are noted when they are asked for."""

    __slots__ = ("_parts", "_site")

    def __init__(self, site: Site, parts: Iterator[Any]) -> None:
        self._site, self._parts = site, parts

    def __iter__(self) -> "Lazy":
        return self

    def __next__(self) -> Any:  # noqa: ANN401
        return _note(self._site, next(self._parts))

    def __length_hint__(self) -> Any:  # noqa: ANN401
        hint = getattr(self._parts, "__length_hint__", None)
        return NotImplemented if hint is None else hint()

    def __repr__(self) -> str:
        raise refuse("it writes an iterator into a text")

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._parts)


def _is_lazy(value: Any) -> bool:  # noqa: ANN401
    """Whether it gives values that no code of a mechanism computes: `map`, `zip` and their kin."""
    kind = type(value)
    return hasattr(kind, "__next__") and kind is not types.GeneratorType


@contextmanager
def noted(functions: Iterable[types.FunctionType]) -> Iterator[None]:
    """Within the block, these functions tell their values.

    Those without a source that can be read are left as they are.
    """
    with ExitStack() as stack:
        for function in functions:
            made = noted_code(function)
            if made is not None:
                stack.callback(setattr, function, "__code__", function.__code__)
                function.__code__ = made
        yield


@contextmanager
def told_to(noter: Noter) -> Iterator[None]:
    """Within the block, whatever functions tell goes to the noter."""
    _noters.append(noter)
    try:
        yield
    finally:
        _noters.pop()


def noted_code(function: types.FunctionType) -> types.CodeType | None:
    """The code of a function with a call around each expression; None if there is no source."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    made = _codes_of(text, code.co_filename).get(code)
    return made if made is not None and made.co_freevars == code.co_freevars else None


def is_noted(code: types.CodeType) -> bool:
    """Whether code tells its values."""
    return any(constant is _note for constant in code.co_consts)


@lru_cache(maxsize=64)
def _codes_of(text: str, filename: str) -> dict[types.CodeType, types.CodeType]:
    """All codes in a file, with the same code that tells its values."""
    try:
        plain = compile(text, filename, "exec", dont_inherit=True)
        tree = _Noting(Path(filename).name).visit(ast.parse(text))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a text is not callable
            noted = compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return dict(_pairs(plain, _with_hook(noted)))


def _pairs(
    plain: types.CodeType, noted: types.CodeType
) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    for one, other in zip_longest(_inner(plain), _inner(noted)):
        if one is None or other is None or one.co_name != other.co_name:
            return  # code that is never reached was left out of one of them
        yield one, other
        yield from _pairs(one, other)


def _inner(code: types.CodeType) -> Iterator[types.CodeType]:
    return (part for part in code.co_consts if isinstance(part, types.CodeType))


def _with_hook(code: types.CodeType) -> types.CodeType:
    hooks: dict[str, Any] = {_HOOK: _note, _UNSEEN: _unseen}

    def made(constant: Any) -> Any:  # noqa: ANN401
        if isinstance(constant, types.CodeType):
            return _with_hook(constant)
        return hooks.get(constant, constant) if isinstance(constant, str) else constant

    return code.replace(co_consts=tuple(map(made, code.co_consts)))


class _Noting(ast.NodeTransformer):
    """Puts a call around each expression that is computed, but for constants."""

    def __init__(self, filename: str) -> None:
        self._filename = filename

    def visit(self, node: ast.AST) -> Any:  # noqa: ANN401
        if isinstance(node, ast.pattern):
            return node
        if isinstance(node, ast.Match) and any(map(_asks_more, node.cases)):
            node.subject = self._told(node.subject, _UNSEEN)
        if isinstance(node, ast.FormattedValue):
            node.value = self.visit(node.value)
            return node
        if isinstance(node, ast.arg):  # annotations
            return node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.args = self.visit(node.args)
            node.decorator_list = [self.visit(part) for part in node.decorator_list]
            node.body = [self.visit(statement) for statement in node.body]
            return node
        if isinstance(node, ast.AnnAssign):
            node.value = None if node.value is None else self.visit(node.value)
            return node
        grows = isinstance(node, ast.Attribute) and node.attr in _GROWS
        if grows and isinstance(node.value, ast.Name):  # type: ignore[attr-defined]
            return node  # else a list that grows is noted at every step
        node = self.generic_visit(node)
        loaded = isinstance(getattr(node, "ctx", None), (ast.Load, type(None)))
        return self._told(node) if isinstance(node, _EXPRESSIONS) and loaded else node

    def _told(self, node: Any, hook: str = _HOOK) -> ast.expr:  # noqa: ANN401
        where: Any = (f"{self._filename}:{node.lineno}", node.col_offset)
        site = ast.Constant(where)
        return ast.copy_location(ast.Call(ast.Constant(hook), [site, node], []), node)


def _asks_more(case: ast.match_case) -> bool:
    """Whether a pattern asks for a class, or for a value by its name: neither is an expression."""
    parts = list(ast.walk(case.pattern))
    return any(isinstance(part, (ast.MatchClass, ast.Attribute)) for part in parts)
