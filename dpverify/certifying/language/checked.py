"""Check that a mechanism is in the language before any of it is computed.

Its source, and that of the functions it calls, may only hold what is listed here; names from
outside must be constants, functions in the language, or functions on the list of `functions`.
"""

import ast
import builtins
import functools
import hashlib
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.certifying.language.arithmetic import BINARY, COMPARISONS
from dpverify.certifying.language.arrays import ARRAY, FIELDS
from dpverify.certifying.language.functions import CHANGES, COPIES, DICT, DRAWS, LIST, known
from dpverify.certifying.language.python import Type
from dpverify.certifying.language.source import Definition, definition_of, place_of
from dpverify.certifying.language.values import (
    Applied,
    Array,
    Function,
    Known,
    Namespace,
    Scope,
    frozen,
    lifted,
)
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.errors import InvalidParameter

STATEMENTS: dict[type[ast.stmt], str] = {
    ast.Assign: "x = …", ast.AugAssign: "x += …", ast.AnnAssign: "x: float = …", ast.If: "if",
    ast.For: "for", ast.While: "while", ast.Break: "break", ast.Continue: "continue",
    ast.Return: "return", ast.Expr: "a call", ast.Pass: "pass", ast.FunctionDef: "def",
    ast.Assert: "assert", ast.Raise: "raise",
}  # fmt: skip
EXPRESSIONS: dict[type[ast.expr], str] = {
    ast.Constant: "1.5", ast.Name: "x", ast.BinOp: "a + b", ast.UnaryOp: "-a",
    ast.BoolOp: "a and b", ast.Compare: "a < b", ast.IfExp: "a if b else c", ast.Call: "f(x)",
    ast.Attribute: "a.sum", ast.Subscript: "a[i]", ast.Slice: "a[1:]", ast.List: "[a, b]",
    ast.Tuple: "(a, b)", ast.Dict: "{'a': b}", ast.ListComp: "[f(x) for x in a]",
    ast.GeneratorExp: "(f(x) for x in a)", ast.DictComp: "{k: v for k, v in a}",
    ast.Lambda: "lambda x: …", ast.Starred: "[*a, b]",
}  # fmt: skip
METHODS = {*LIST, *COPIES, *CHANGES, *DICT, *ARRAY, *DRAWS}
ATTRIBUTES = {*METHODS, *FIELDS, "__getitem__"}
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
_CONSTANTS = (bool, int, float, str, type(None))
_LIBRARY = (str(Path(np.__file__).parent.parent), str(Path(ast.__file__).parent))
_LARGEST = 2**53
_FUNCTIONS = (type(len), type(np.sum), type(np.exp))


@functools.lru_cache(maxsize=1024)
def own_names(definition: Definition) -> frozenset[str]:
    """The names local to a function: its parameters, and those that its body assigns."""
    given = definition.args
    found = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    body = [definition.body] if isinstance(definition, ast.Lambda) else definition.body
    return frozenset(found.union(*map(_assigned, body)))


def _assigned(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    if isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
        return set()
    own = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()
    return own.union(*map(_assigned, ast.iter_child_nodes(node)))


def target_names(generators: list[ast.comprehension]) -> frozenset[str]:
    """The names that a comprehension binds."""
    return frozenset().union(*(_assigned(part.target) for part in generators))


class Program:
    """A mechanism in the language, with the values of all outside names that it uses."""

    def __init__(self, mechanism: Callable[..., Any]) -> None:
        self.held: dict[int, Any] = {}  # lists from outside, which may not change
        self._functions: dict[int, tuple[Any, Function]] = {}
        self.given: list[Any] = []
        self.named: dict[str, Any] = {}
        while type(mechanism) is functools.partial:
            self.given = [*map(self._constant, mechanism.args), *self.given]
            named = {k: self._constant(v) for k, v in mechanism.keywords.items()}
            self.named = named | self.named
            mechanism = mechanism.func
        if type(mechanism) is not types.FunctionType:
            raise NotUnderstood(
                f"a mechanism that is a {type(mechanism).__name__} and no function, "
                "is not in the language"
            )
        self.main = self.function(mechanism)

    @property
    def digest(self) -> str:
        """A digest of all that was read: sources, defaults, and constants from outside."""
        made = [function for _, function in self._functions.values()]
        told = [
            (ast.unparse(f.definition), self._written(f.defaults), self._written(f.scope.names))
            for f in made
        ]
        given = self._written((self.given, self.named))
        return hashlib.sha256(repr((told, given)).encode()).hexdigest()

    def _written(self, value: Any) -> Any:  # noqa: ANN401
        """A value from outside as a text; for a function, its position among those read."""
        match value:
            case Array():
                return "array", value.kind, value.cells.shape, self._written(value.cells.tolist())
            case list() | tuple():
                return type(value).__name__, *map(self._written, value)
            case dict():
                return "dict", *((repr(key), self._written(part)) for key, part in value.items())
            case Function():
                places = [id(function) for _, function in self._functions.values()]
                return "function", places.index(id(value))
            case Applied():
                return "partial", self._written((value.function, value.given, value.named))
            case Known() | Type():
                return "known", value.name
            case Namespace():
                return "module"
            case _:
                return type(value).__name__, repr(value)

    def _constant(self, value: Any) -> Any:  # noqa: ANN401
        return frozen(lifted(value, symbols=False), self.held)

    def function(self, function: types.FunctionType) -> Function:
        """A function in the language; its source is checked first."""
        if id(function) in self._functions:
            return self._functions[id(function)][1]
        definition = definition_of(function)
        code = function.__code__
        reader = _Reader(self, function, Path(code.co_filename).name)
        scope = Scope(frozenset())
        made = Function(code.co_name, definition, scope, reader.file, {})
        self._functions[id(function)] = (function, made)  # before its names: it may call itself
        made.defaults.update(self._defaults(function, definition))
        reader.check(definition)
        scope.own = frozenset(reader.outside)
        scope.names.update(reader.outside)
        return made

    def _defaults(
        self, function: types.FunctionType, definition: Definition
    ) -> Iterator[tuple[str, Any]]:
        given = definition.args
        names = [a.arg for a in (*given.posonlyargs, *given.args)]
        values = function.__defaults__ or ()
        if len(values) > len(names):
            raise NotUnderstood("it has more defaults than arguments", place_of(function))
        found = dict(zip(names[len(names) - len(values) :], values, strict=True))
        named = {a.arg for a in given.kwonlyargs}  # of others Python takes no notice
        late = {n: v for n, v in (function.__kwdefaults__ or {}).items() if n in named}
        for name, value in (found | late).items():
            yield name, self.outside(value, place_of(function), name)

    def outside(self, value: Any, where: str, name: str) -> Any:  # noqa: ANN401
        """The value of an outside name; raise if the language has no such value."""
        listed = known(value)
        if listed is not None:
            return listed
        if type(value) is types.FunctionType and not value.__code__.co_filename.startswith(
            _LIBRARY
        ):
            return self.function(value)
        if type(value) is types.ModuleType:
            return Namespace(vars(value))
        if type(value) is functools.partial and type(value.func) is types.FunctionType:
            given = [self.outside(x, where, name) for x in value.args]
            named = {k: self.outside(x, where, name) for k, x in value.keywords.items()}
            return Applied(self.function(value.func), given, named)
        try:
            return self._constant(value)
        except NotUnderstood:
            function = any(type(value) is kind for kind in _FUNCTIONS)
            kind = "type" if isinstance(value, type) else "function" if function else None
            kind = kind or type(value).__name__
            raise NotUnderstood(
                f"{name} is a {kind} from outside, which is not in the language", where
            ) from None


class _Reader:
    """Checks one function, and finds the values of the outside names that it uses."""

    def __init__(self, program: Program, function: types.FunctionType, file: str) -> None:
        self.program, self.function, self.file = program, function, file
        self.outside: dict[str, Any] = {}

    def refused(self, node: ast.AST, what: str) -> NotUnderstood:
        line = getattr(node, "lineno", self.function.__code__.co_firstlineno)
        return NotUnderstood(f"{what} is not in the language", f"{self.file}:{line}")

    def check(self, definition: Definition) -> None:
        function: Any = self.function
        plain = type(function.__globals__) is dict
        if not plain or function.__builtins__ is not vars(builtins):
            raise self.refused(definition, "a function with builtins of its own")
        self._check_arguments(definition)
        self._body(definition, ())

    def _check_arguments(self, definition: Definition) -> None:
        given = definition.args
        if given.vararg or given.kwarg:
            raise self.refused(definition, "a function of any number of arguments")

    def _body(self, definition: Definition, around: tuple[frozenset[str], ...]) -> None:
        inner = (own_names(definition), *around)
        body = [definition.body] if isinstance(definition, ast.Lambda) else definition.body
        for node in body:
            self._node(node, inner)

    def _node(self, node: ast.AST, around: tuple[frozenset[str], ...]) -> None:  # noqa: C901, PLR0912  # cases
        if isinstance(node, (ast.stmt, ast.expr)):
            self._check_kind(node)
        match node:
            case ast.FunctionDef():
                self._nested(node, around)
                return
            case ast.Lambda(args=arguments):
                self._check_arguments(node)
                for value in (*arguments.defaults, *filter(None, arguments.kw_defaults)):
                    self._node(value, around)
                self._body(node, around)
                return
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                self._comprehension(node, around)
                return
            case ast.Raise():
                return  # nothing of it is computed: a mechanism that comes to it is refused
            case ast.AnnAssign(target=target, value=value):
                if not isinstance(target, ast.Name) or value is None:
                    raise self.refused(node, "an annotation of anything but a name with a value")
                self._node(value, around)
                return
            case ast.Name(id=name):
                self._name(node, name, around)
                return
            case ast.Attribute():
                self._attribute(node, around)
                return
            case ast.Assert(test=test):
                self._node(test, around)
                return
            case _:
                pass
        for child in ast.iter_child_nodes(node):
            self._node(child, around)

    def _check_kind(self, node: ast.AST) -> None:  # cases
        if type(node) not in STATEMENTS and type(node) not in EXPRESSIONS:
            raise self.refused(node, _described(node))
        match node:
            case ast.Constant(value=value):
                large = type(value) is int and abs(value) >= _LARGEST
                if type(value) not in _CONSTANTS or large:
                    raise self.refused(node, f"the constant {value!r:.40}")
            case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) not in BINARY:
                raise self.refused(node, "the operator @")
            case ast.Compare(ops=asked, comparators=right):
                for ask, compared in zip(asked, right, strict=True):
                    self._check_comparison(node, ask, compared)
            case ast.Call(keywords=keywords) if any(k.arg is None for k in keywords):
                raise self.refused(node, "a call with **")
            case ast.Assign(targets=targets) if any(isinstance(t, ast.Attribute) for t in targets):
                raise self.refused(node, "an attribute that is set")

    def _check_comparison(self, node: ast.AST, op: ast.cmpop, right: ast.expr) -> None:
        none = isinstance(right, ast.Constant) and right.value is None
        if isinstance(op, (ast.Is, ast.IsNot)) and not none:
            raise self.refused(node, "`is` of anything but None")
        if type(op) not in COMPARISONS and not isinstance(
            op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)
        ):
            raise self.refused(node, "such a comparison")  # pragma: no cover  # all are listed

    def _nested(self, node: ast.FunctionDef, around: tuple[frozenset[str], ...]) -> None:
        if node.decorator_list:
            raise self.refused(node, "a decorator")
        self._check_arguments(node)
        given = node.args
        notes = [a.annotation for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        for note in (*notes, node.returns):
            if note is not None and not isinstance(note, (ast.Name, ast.Constant)):
                raise self.refused(node, "an annotation that is computed")
        for value in (*given.defaults, *filter(None, given.kw_defaults)):
            self._node(value, around)
        self._body(node, around)

    def _comprehension(self, node: Any, around: tuple[frozenset[str], ...]) -> None:  # noqa: ANN401
        inner = (target_names(node.generators), *around)
        for i, part in enumerate(node.generators):
            if part.is_async:
                raise self.refused(node, "an asynchronous loop")
            self._node(part.iter, inner if i else around)
            for inside in (part.target, *part.ifs):
                self._node(inside, inner)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for part in parts:
            self._node(part, inner)

    def _name(self, node: ast.Name, name: str, around: tuple[frozenset[str], ...]) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise self.refused(node, f"the name {name}")
        if any(name in names for names in around):
            return None
        if name not in self.outside:
            where = f"{self.file}:{node.lineno}"
            self.outside[name] = self.program.outside(self._found(node, name), where, name)
        return self.outside[name]

    def _found(self, node: ast.AST, name: str) -> Any:  # noqa: ANN401
        """The value of an outside name, from enclosing functions, the module or Python."""
        cells = dict(
            zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True)
        )
        if name in cells:
            if cells[name] == types.CellType():
                raise self.refused(node, f"{name}, which has no value yet,")
            return cells[name].cell_contents
        for names in (self.function.__globals__, vars(builtins)):
            if name in names:
                return names[name]
        raise self.refused(node, f"the unknown name {name}")

    def _attribute(self, node: ast.Attribute, around: tuple[frozenset[str], ...]) -> None:
        found = None
        if isinstance(node.value, ast.Name):
            found = self._name(node.value, node.value.id, around)
        if isinstance(found, Namespace):
            self._of_module(node, found)
            return
        if node.attr not in ATTRIBUTES:
            raise self.refused(node, f".{node.attr}")
        self._node(node.value, around)

    def _of_module(self, node: ast.Attribute, space: Namespace) -> None:
        """The value of a module's name, stored under both names."""
        written = f"{node.value.id}.{node.attr}"  # type: ignore[attr-defined]
        if written in self.outside:
            return
        if node.attr not in space.names or node.attr.startswith("__"):
            raise self.refused(node, written)
        where = f"{self.file}:{node.lineno}"
        self.outside[written] = self.program.outside(space.names[node.attr], where, written)


def _described(node: ast.AST) -> str:
    names = {
        "Try": "try", "TryStar": "try", "With": "with", "ClassDef": "a class", "Delete": "del",
        "Import": "import inside of a function", "ImportFrom": "import inside of a function",
        "Global": "global", "Nonlocal": "nonlocal", "Yield": "yield", "YieldFrom": "yield",
        "Await": "await", "JoinedStr": "a text with values in it", "NamedExpr": ":=",
        "Set": "a set", "SetComp": "a set", "Match": "match", "AsyncFunctionDef": "async",
        "AsyncFor": "async", "AsyncWith": "async",
    }  # fmt: skip
    kind = type(node).__name__
    return names.get(kind, kind)


def check_callable(mechanism: object) -> None:
    if not callable(mechanism):
        raise InvalidParameter(f"mechanism={mechanism!r} must be callable as mechanism(data, rng)")
