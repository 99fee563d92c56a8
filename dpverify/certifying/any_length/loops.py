"""Cut a mechanism at its loops over the data, into pieces of its code that run one by one.

Loops over the data must stand at the top of the function: `for`, or in an expression `sum` and list
comprehensions, which become loops. Between two loops all that the function knows is in its local
variables, so each piece can be run from any values of them. Whatever uses the data in another way,
or could carry something from one record to the next beside the variables, is refused with its line.
"""

import ast
import copy
import math
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.certifying.any_length.allowed import check_allowed
from dpverify.certifying.language.checked import Program
from dpverify.certifying.language.interpreter import Interpreter, Returned
from dpverify.certifying.language.source import definition_of
from dpverify.certifying.language.values import Scope, frozen, lifted
from dpverify.certifying.symbolic.reasons import NotUnderstood

ITEM, LENGTH = "·item", "·length"  # no names that an author can write
_PURE = {"sum", "len", "list", "tuple", "float", "int", "bool", "abs", "round", "min", "max"}
_BUILTINS = {"sum", "len", "list", "tuple", "range", "enumerate"}
_HIDDEN = {"locals", "globals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "iter"}
_MODULES = (np, math)
_ELSEWHERE = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await)
_SCOPES = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Arrived:
    """Where a piece ended without returning, and the local variables there."""

    end: str  # "loop": at the next one; "next": ready for the next record; "break"
    names: dict[str, Any]


@dataclass(slots=True)
class _Loop:
    target: ast.expr
    item: ast.expr
    body: list[ast.stmt]
    counter: str | None
    line: int


@dataclass
class Pieces:
    """The code before, between and after the loops over the data, and the loop bodies."""

    program: Program
    rng: str
    names: set[str]
    codes: list[list[ast.stmt]] = field(default_factory=lambda: [[]])
    loops: list[_Loop] = field(default_factory=list)

    def code(self, index: int, given: dict[str, Any], rng: Any) -> Any:  # noqa: ANN401
        """Run the code after so many loops, starting from these variables."""
        scope = self._scope(given, rng)
        end = Interpreter(self.program).block(self.codes[index], scope)
        if end is None and index < len(self.loops):
            return Arrived("loop", scope.names)
        return end.value if isinstance(end, Returned) else None

    def step(self, index: int, given: dict[str, Any], rng: Any, item: Any) -> Any:  # noqa: ANN401
        """Run the body of a loop on one record."""
        loop, scope, interpreter = (
            self.loops[index],
            self._scope(given, rng),
            Interpreter(self.program),
        )
        scope.names[ITEM] = frozen(lifted(item), interpreter.held)
        interpreter.store(loop.target, interpreter.value(loop.item, scope), scope)
        end = interpreter.block(loop.body, scope)
        if isinstance(end, Returned):
            return end.value
        if end == "break":
            return Arrived("break", scope.names)
        if loop.counter is not None:
            scope.names[loop.counter] = scope.names[loop.counter] + 1
        return Arrived("next", scope.names)

    def _scope(self, given: dict[str, Any], rng: Any) -> Scope:  # noqa: ANN401
        own = frozenset({*self.names, self.rng, ITEM, "·"})
        return Scope(own, self.program.main.scope, {self.rng: rng, **given})

    def line(self, index: int) -> str:
        """The line of a loop; after the last loop, the line of that."""
        return f"{self.program.main.file}:{self.loops[min(index, len(self.loops) - 1)].line}"

    def needed(self, index: int, *, looping: bool) -> set[str]:
        """The names that may be read in the body of a loop or after it."""
        parts = [*self.codes[index + 1 :], *(loop.body for loop in self.loops[index + 1 :])]
        parts += [self.loops[index].body] if looping else []
        counted = self.loops[index if looping else index + 1 :]
        counters = {loop.counter for loop in counted if loop.counter is not None}
        return counters.union(*map(_read, parts))


def cut(function: Callable[..., Any], program: Program) -> Pieces:
    """Cut a function `mechanism(data, rng, …)` into pieces; raise if that is not possible."""
    if not isinstance(function, types.FunctionType):
        raise NotUnderstood("loops are read from plain functions only")
    definition = definition_of(function)
    if not isinstance(definition, ast.FunctionDef):
        raise NotUnderstood("loops are read from functions with a name only")
    check_allowed(function, definition)
    return _Cutter(function, copy.deepcopy(definition), program).pieces()


class _Cutter:
    def __init__(
        self, function: types.FunctionType, definition: ast.FunctionDef, program: Program
    ) -> None:
        code = function.__code__
        given = definition.args
        if given.vararg or given.kwarg or len([*given.posonlyargs, *given.args]) < 2:
            raise NotUnderstood("loops are read from functions of data and rng only")
        self.data, self.rng = code.co_varnames[:2]
        self.file = Path(code.co_filename).name
        names = {*code.co_varnames, *code.co_cellvars} - {self.data, self.rng}
        self.made = Pieces(program, self.rng, names)
        self.function, self.definition, self.count = function, definition, 0

    def pieces(self) -> Pieces:
        self._check_names()
        body = [self._counted(statement) for statement in self.definition.body]
        for statement in body:
            if isinstance(statement, ast.For) and self._way(statement.iter) is not None:
                if statement.orelse:
                    raise self._refused(statement, "a loop over the data has an else")
                self._loop(statement.iter, statement.target, statement.body)
            else:
                kept = self._hoisted(statement)
                self._check_rest(kept)
                self.made.codes[-1].append(kept)
        everything = [*self.made.codes, *(loop.body for loop in self.made.loops)]
        if any(LENGTH in _read(part) for part in everything):
            self._count_records()
        return self.made

    def _refused(self, node: ast.AST, reason: str) -> NotUnderstood:
        return NotUnderstood(reason, f"{self.file}:{getattr(node, 'lineno', '?')}")

    def _check_names(self) -> None:
        for node in ast.walk(self.definition):
            if isinstance(node, _ELSEWHERE):
                raise self._refused(node, "a name from outside, or a generator, keeps a state")
            named = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
            if named in _HIDDEN:
                raise self._refused(node, f"it looks at itself by {named}")
            stored = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
            if stored and node.id in {self.data, self.rng, *_BUILTINS}:  # type: ignore[attr-defined]
                raise self._refused(node, f"it gives the name {named} to something else")
            inner = isinstance(node, ast.arg) and node.arg in {self.data, *_BUILTINS}
            if inner and node not in self.definition.args.args[:1]:
                raise self._refused(node, f"it gives the name {node.arg} to something else")  # type: ignore[attr-defined]
        shadowed = _BUILTINS & {*self.made.names, *self.function.__globals__}
        if shadowed:
            raise NotUnderstood(f"it gives the name {min(shadowed)} to something else")

    def _counted(self, statement: ast.stmt) -> ast.stmt:
        """Replace len(data) by one symbol."""
        made: ast.stmt = _replaced(
            statement, lambda n: _name(LENGTH) if self._is_length(n) else None
        )
        return made

    def _is_length(self, node: ast.AST) -> bool:
        return _calls(node, "len", 1) and self._is_data(node.args[0], copies=False)  # type: ignore[attr-defined]

    def _count_records(self) -> None:
        step: ast.stmt = ast.AugAssign(_name(LENGTH, ast.Store()), ast.Add(), ast.Constant(value=1))
        self.made.codes[0].insert(0, _assign(LENGTH, ast.Constant(value=0)))
        self.made.codes.insert(0, [self.made.codes[0].pop(0)])
        self.made.loops.insert(
            0,
            _Loop(_name("·", ast.Store()), _name(ITEM), [step], None, self.definition.lineno),
        )
        self.made.names.add(LENGTH)

    def _is_data(self, node: ast.AST, *, copies: bool = True) -> bool:
        if copies and (_calls(node, "list", 1) or _calls(node, "tuple", 1)):
            node = node.args[0]  # type: ignore[attr-defined]
        return isinstance(node, ast.Name) and node.id == self.data

    def _way(self, node: ast.AST) -> str | None:
        """How a loop reads the records: directly, with `enumerate`, or by index."""
        if self._is_data(node):
            return "records"
        if _calls(node, "enumerate", 1) and self._is_data(node.args[0]):  # type: ignore[attr-defined]
            return "numbered"
        by_length = _calls(node, "range", 1) and isinstance(node.args[0], ast.Name)  # type: ignore[attr-defined]
        return "numbers" if by_length and node.args[0].id == LENGTH else None  # type: ignore[attr-defined]

    def _loop(self, over: ast.expr, target: ast.expr, body: list[ast.stmt]) -> None:
        way = self._way(over)
        counter = None if way == "records" else f"·number{len(self.made.loops)}"
        item: ast.expr = _name(ITEM)
        if way == "numbers":
            if not isinstance(target, ast.Name):
                raise self._refused(target, "the number of a record has no plain name")
            if target.id in _stored(body):
                raise self._refused(target, "the number of a record is changed in its loop")
            body = [_replaced(s, lambda n: self._taken(n, target.id)) for s in body]
        if counter is not None:
            self.made.codes[-1].append(_assign(counter, ast.Constant(value=0)))
            self.made.names.add(counter)
            item = (
                _name(counter)
                if way == "numbers"
                else ast.Tuple([_name(counter), item], ast.Load())
            )
        for statement in body:
            self._check_rest(statement)
        line = getattr(over, "lineno", self.definition.lineno)
        self.made.loops.append(_Loop(target, item, body, counter, line))
        self.made.codes.append([])

    def _taken(self, node: ast.AST, number: str) -> ast.expr | None:
        """Replace data[i] by the record of this step."""
        by = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
        if by and self._is_data(node.value, copies=False):  # type: ignore[attr-defined]
            index = node.slice  # type: ignore[attr-defined]
            return _name(ITEM) if isinstance(index, ast.Name) and index.id == number else None
        return None

    def _check_rest(self, statement: ast.stmt) -> None:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id == self.data:
                raise self._refused(node, "the data are used other than by a loop over all of them")

    def _hoisted(self, statement: ast.stmt) -> ast.stmt:
        """Move sums and lists over the data out of a statement, into loops before it."""
        part = "test" if isinstance(statement, ast.If) else "value"
        value = getattr(statement, part, None)
        simple = isinstance(
            statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.If)
        )
        if not simple or value is None or self.data not in _read_in(value):
            return statement
        self._check_order(value)
        setattr(statement, part, self._drawn_out(value))
        return statement

    def _check_order(self, value: ast.expr) -> None:
        """Raise if a loop that is moved ahead could change the rest of the statement."""
        for node in ast.walk(value):
            if isinstance(node, ast.NamedExpr):
                raise self._refused(node, "it gives a name within an expression over the data")
            if isinstance(node, ast.Call) and not self._is_pure(node.func):
                raise self._refused(node, "it calls a function in an expression over the data")

    def _is_pure(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name):
            own = {*self.made.names, *self.function.__code__.co_freevars}
            return called.id in _PURE and called.id not in own
        root = called
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        if root.id == self.data:
            return isinstance(called, ast.Attribute) and called.attr in {"sum", "mean"}
        return root.id == self.rng or self.function.__globals__.get(root.id) in _MODULES

    def _drawn_out(self, node: Any) -> Any:  # noqa: ANN401
        if isinstance(node, ast.ListComp) and self._way(node.generators[0].iter) is not None:
            return self._from_comprehension(node, "list", ast.List([], ast.Load()))
        if isinstance(node, ast.Call):
            summed = self._summed(node)
            if summed is not None:
                return summed
        if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            return node
        for name, inner in ast.iter_fields(node):
            if isinstance(inner, ast.AST):
                setattr(node, name, self._drawn_out(inner))
            elif isinstance(inner, list):
                setattr(
                    node, name, [self._drawn_out(x) if isinstance(x, ast.AST) else x for x in inner]
                )
        return node

    def _summed(self, node: ast.Call) -> ast.expr | None:
        """Recognize sum(data), sum(… for x in data), np.sum(data) and data.sum()."""
        if node.keywords or len(node.args) > 1:
            return None
        named = isinstance(node.func, ast.Name) and node.func.id == "sum"
        method = isinstance(node.func, ast.Attribute) and node.func.attr in {"sum", "fsum", "mean"}
        if not named and not method:
            return None
        start = ast.Constant(value=0 if named else 0.0)
        own = method and not node.args and self._is_data(node.func.value, copies=False)  # type: ignore[attr-defined]
        if own or (node.args and self._is_data(node.args[0])):
            total = self._sum_of_records(start)
            mean = ast.BinOp(total, ast.Div(), _name(LENGTH))
            return mean if method and node.func.attr == "mean" else total  # type: ignore[attr-defined]
        if len(node.args) != 1 or (method and node.func.attr == "mean"):  # type: ignore[attr-defined]
            return None
        argument = node.args[0]
        over = isinstance(argument, (ast.GeneratorExp, ast.ListComp)) and (
            named or isinstance(argument, ast.ListComp)
        )
        if over and self._way(argument.generators[0].iter) is not None:  # type: ignore[attr-defined]
            return self._from_comprehension(argument, "sum", start)
        return None

    def _sum_of_records(self, start: ast.expr) -> ast.expr:
        name = self._fresh("sum")
        self.made.codes[-1].append(_assign(name, start))
        self._loop(_name(self.data), _name("·", ast.Store()), [_added(name, _name(ITEM))])
        return _name(name)

    def _from_comprehension(self, node: Any, kind: str, start: ast.expr) -> ast.expr:  # noqa: ANN401
        (over, *more), element = node.generators, node.elt
        inner = (*_SCOPES, *_COMPREHENSIONS)
        if more or any(isinstance(n, inner) for x in (element, *over.ifs) for n in ast.walk(x)):
            raise self._refused(node, "a comprehension over the data has another one in it")
        name = self._fresh(kind)
        own = {
            n.id: f"·{n.id}{self.count}" for n in ast.walk(over.target) if isinstance(n, ast.Name)
        }
        self.made.names |= set(own.values())

        def renamed(part: Any) -> Any:  # noqa: ANN401
            return _replaced(
                part,
                lambda n: (
                    _name(own[n.id], n.ctx) if isinstance(n, ast.Name) and n.id in own else None
                ),
            )

        made: ast.stmt = _added(name, renamed(element))
        if kind == "list":
            append = ast.Attribute(_name(name), "append", ast.Load())
            made = ast.Expr(ast.Call(append, [renamed(element)], []))
        for test in reversed(over.ifs):
            made = ast.If(renamed(test), [made], [])
        ast.copy_location(made, node)
        self.made.codes[-1].append(_assign(name, start))
        self._loop(over.iter, renamed(over.target), [made])
        return _name(name)

    def _fresh(self, kind: str) -> str:
        self.count += 1
        name = f"·{kind}{self.count}"
        self.made.names.add(name)
        return name


def _name(name: str, ctx: ast.expr_context | None = None) -> ast.Name:
    return ast.Name(name, ctx or ast.Load())


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([_name(name, ast.Store())], value)


def _added(name: str, value: ast.expr) -> ast.Assign:
    return _assign(name, ast.BinOp(_name(name), ast.Add(), value))


def _calls(node: ast.AST, name: str, count: int) -> bool:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return called and node.func.id == name and len(node.args) == count and not node.keywords  # type: ignore[attr-defined]


def _replaced(node: Any, choose: Callable[[Any], ast.expr | None]) -> Any:  # noqa: ANN401
    class Replace(ast.NodeTransformer):
        def visit(self, inner: ast.AST) -> Any:  # noqa: ANN401
            instead = choose(inner)
            return (
                self.generic_visit(inner) if instead is None else ast.copy_location(instead, inner)
            )

    return Replace().visit(node)


def _read_in(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            yield inner.id
        elif isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name):
            yield inner.target.id


def _read(statements: list[ast.stmt]) -> set[str]:
    return {name for statement in statements for name in _read_in(statement)}


def _stored(statements: list[ast.stmt]) -> set[str]:
    nodes = [n for s in statements for n in ast.walk(s) if isinstance(n, ast.Name)]
    return {n.id for n in nodes if not isinstance(n.ctx, ast.Load)}
