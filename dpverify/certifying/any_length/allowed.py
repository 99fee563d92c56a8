"""The small language for mechanisms with loops over data of any length.

An induction runs pieces of a function from values that it has made up, so it must know all that a
piece can do. What is not on the list here is refused with its line, whether or not it does harm:
calls of other functions, exceptions, arrays, names for one list twice, lists that begin anew, names
that may be without a value, and names from outside that are no constants.
"""

import ast
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dpverify.certifying.symbolic.reasons import NotUnderstood

_CALLS = {"len", "range", "enumerate", "sum", "abs", "min", "max", "float"}
_DRAWS = {
    "laplace": 2, "normal": 2, "uniform": 2, "integers": 2, "exponential": 1, "geometric": 1,
    "random": 0, "standard_normal": 0, "standard_exponential": 0,
}  # fmt: skip
_PARAMETERS = {"loc", "scale", "p", "low", "high"}
_TOTALS = {"sum", "mean", "fsum"}
_CONSTANTS = {"inf", "pi", "e"}
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.USub, ast.UAdd, ast.Not, ast.And, ast.Or,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip
_PLAIN = (bool, int, float, str, type(None))


def check_allowed(function: types.FunctionType, definition: ast.FunctionDef) -> None:
    """Raise, with its line, for the first construct of a mechanism that is not allowed."""
    _Reader(function, definition).check()


class _Reader:
    def __init__(self, function: types.FunctionType, definition: ast.FunctionDef) -> None:
        self.function, self.definition = function, definition
        self.file = Path(function.__code__.co_filename).name
        given = definition.args
        self.parameters = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        if given.vararg or given.kwarg or len(self.parameters) < 2:
            raise NotUnderstood("loops are read from functions of data and rng only")
        self.data, self.rng = self.parameters[:2]
        loops = [n for n in ast.walk(definition) if isinstance(n, ast.For)]
        self.targets = {name for loop in loops for name in self._names(loop.target)}
        self.lists: set[str] = set()
        self.assigned: set[str] = set()
        self.own: set[str] = set()  # names in the comprehension that is being read
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        self.outside = dict(function.__globals__)
        self.outside |= {n: c.cell_contents for n, c in cells if c != types.CellType()}

    def check(self) -> None:
        more = (self.function.__kwdefaults__ or {}).values()
        for value in (*(self.function.__defaults__ or ()), *more):
            if not _is_plain(value):
                raise self._refused(self.definition, f"a default that is a {_kind(value)}")
        for node in ast.walk(self.definition):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.assigned.add(node.id)
        self.locals = {*self.parameters, *self.assigned}
        for statement in self.definition.body:
            for name, value in self._pairs(statement):
                if isinstance(value, (ast.List, ast.ListComp)) and _longer(value) != name:
                    if name in self.lists:
                        raise self._refused(statement, f"{name}, a list, begins anew")
                    self.lists.add(name)
        self._block(self.definition.body, set(self.parameters), ())

    def _refused(self, node: ast.AST, what: str) -> NotUnderstood:
        line = getattr(node, "lineno", self.definition.lineno)
        return NotUnderstood(
            f"for data of any length it may not have {what}", f"{self.file}:{line}"
        )

    def _names(self, target: ast.expr) -> list[str]:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        if len(names) != len(parts) or len({*names}) != len(names):
            raise self._refused(target, "a loop without plain names")
        return names

    @staticmethod
    def _pairs(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
        """The names that a statement assigns, each with its expression."""
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets: list[ast.expr] = [statement.target]
        else:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            value: Any = statement.value  # type: ignore[attr-defined]
            both = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                both = list(zip(target.elts, value.elts, strict=False))
            for one, its in both:
                if isinstance(one, ast.Name):
                    yield one.id, its

    # Statements: each gives the names that surely have a value after it; None where it leaves.

    def _block(
        self, body: list[ast.stmt], known: set[str], loops: tuple[str, ...]
    ) -> set[str] | None:
        bound: set[str] | None = known
        for statement in body:
            if bound is None:
                raise self._refused(statement, "a statement that is never reached")
            bound = self._statement(statement, set(bound), loops)
        return bound

    def _statement(  # noqa: C901  # a table of cases
        self, statement: ast.stmt, known: set[str], loops: tuple[str, ...]
    ) -> set[str] | None:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return known
            case ast.Break() | ast.Continue() if loops:
                return None
            case ast.Return(value=value):
                if value is not None:
                    self._returned(value, known)
                return None
            case ast.Expr(
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append"),
                    args=[added],
                    keywords=[],
                )
            ) if name in self.lists and name in known:
                self._expression(added, known)
                return known
            case ast.If(test=test, body=body, orelse=orelse):
                self._expression(test, known)
                ways = [self._block(part, known, loops) for part in (body, orelse)]
                left = [way for way in ways if way is not None]
                return set.intersection(*left) if left else None
            case ast.For(target=target, iter=over, body=body, orelse=[]):
                return self._loop(statement, self._names(target), over, (known, body, loops))
            case ast.AugAssign(target=target, op=op, value=value) if isinstance(op, _OPERATORS):
                self._expression(value, known)
                if isinstance(target, ast.Name) and target.id not in known:
                    raise self._refused(statement, f"{target.id}, which may be without a value")
                self._target(target, known)
                return known
            case ast.Assign(targets=[target], value=value):
                return self._assigned(statement, target, value, known)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self._assigned(statement, target, value, known)
            case _:
                raise self._refused(statement, f"such a statement: {type(statement).__name__}")

    def _loop(
        self, node: ast.stmt, names: list[str], over: ast.expr, inside: tuple[Any, ...]
    ) -> set[str]:
        known, body, loops = inside
        self._iterated(over, known)
        stored = {n for s in ast.walk(self.definition) for n in self._given(s)}
        for name in names:
            if name in {*self.parameters, *stored, *loops, *_CALLS}:
                raise self._refused(node, f"{name}, the name of a loop, for something else")
        self._block(body, known | {*names}, (*loops, *names))
        return set(known)  # it may have no step

    @staticmethod
    def _given(node: ast.AST) -> Iterator[str]:
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id

    def _assigned(
        self, statement: ast.stmt, target: ast.expr, value: ast.expr, known: set[str]
    ) -> set[str]:
        targets, values = [target], [value]
        if isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                raise self._refused(statement, "names for the parts of a value")
            targets, values = target.elts, value.elts
        for one, its in zip(targets, values, strict=True):
            fresh = isinstance(its, (ast.List, ast.ListComp))
            name = one.id if isinstance(one, ast.Name) else None
            if name is not None and name == _longer(its):
                self._extended(its, known)
                continue
            if fresh and (name is None or statement not in self.definition.body):
                raise self._refused(statement, "a list that begins within a loop or a case")
            if name in self.lists and not fresh:
                raise self._refused(statement, f"{name}, a list, as something else")
            self._listed(its, known) if fresh else self._expression(its, known)
        return known | {name for one in targets for name in self._target(one, known)}

    def _target(self, target: ast.expr, known: set[str]) -> list[str]:
        match target:
            case ast.Name(id=name):
                if name in {self.data, self.rng, *_CALLS}:
                    raise self._refused(target, f"{name} as the name of something else")
                return [name]
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in self.lists:
                if name not in known:
                    raise self._refused(target, f"{name}, which may be without a value")
                self._expression(index, known)
                return []
        raise self._refused(target, "a value put into something that is no list of its own")

    # Expressions.

    def _returned(self, value: ast.expr, known: set[str]) -> None:
        match value:
            case ast.List() if _longer(value) is not None:
                self._extended(value, known)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    self._returned(part, known)
            case ast.ListComp():
                self._listed(value, known)
            case ast.Name(id=name) if name in self.lists and name in known:
                pass
            case _:
                self._expression(value, known)

    def _extended(self, value: Any, known: set[str]) -> None:  # noqa: ANN401
        """The right-hand side [*name, …], which extends a list."""
        name = _longer(value)
        if name not in self.lists or name not in known:
            raise self._refused(value, f"*{name}, which is no list of its own")
        for part in value.elts[1:]:
            self._expression(part, known)

    def _listed(self, value: ast.expr, known: set[str]) -> None:
        """A list of numbers, written out or as a comprehension."""
        if isinstance(value, ast.List):
            for part in value.elts:
                self._expression(part, known)
        elif isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            self._comprehension(value, known)

    def _comprehension(self, value: ast.ListComp | ast.GeneratorExp, known: set[str]) -> None:
        if len(value.generators) != 1 or value.generators[0].is_async or self.own:
            raise self._refused(value, "a loop in an expression that has another one in it")
        over = value.generators[0]
        self._iterated(over.iter, known)
        self.own = {*self._names(over.target)}
        taken = {*self.parameters, *self.targets, *_CALLS}
        stored = {n for s in ast.walk(self.definition) for n in self._given(s)}
        if self.own & (taken | stored):
            raise self._refused(value, f"{min(self.own & (taken | stored))} for two things")
        for part in (value.elt, *over.ifs):
            self._expression(part, known | self.own)
        self.own = set()

    def _iterated(self, over: ast.expr, known: set[str]) -> None:
        match over:
            case ast.Name(id=name) if name == self.data or (name in self.lists and name in known):
                return
            case ast.List() | ast.Tuple():
                for part in over.elts:
                    self._expression(part, known)
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
                self._called(over, "enumerate")
                self._iterated(inner, known)
            case ast.Call(func=ast.Name(id="range"), args=parts, keywords=[]):
                self._called(over, "range")
                for part in parts:
                    self._expression(part, known)
            case ast.Call(func=ast.Name(id="list"), args=[ast.Name(id=name)], keywords=[]) if (
                name == self.data
            ):
                self._called(over, "list")
            case _:
                raise self._refused(over, "a loop over anything but data, lists and ranges")

    def _expression(self, node: ast.expr, known: set[str]) -> None:  # noqa: C901  # cases
        match node:
            case ast.Constant(value=value) if isinstance(value, _PLAIN):
                return
            case ast.Name(id=name):
                self._name(node, name, known)
            case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op) if isinstance(
                op, _OPERATORS
            ):
                self._parts(node, known)
            case ast.Compare(ops=ops):
                if not all(isinstance(op, _OPERATORS) for op in ops) and not _is_none(node):
                    raise self._refused(node, "such a comparison: is, or in")
                self._parts(node, known)
            case ast.IfExp() | ast.Tuple():
                self._parts(node, known)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                if name != self.data and name not in self.lists:
                    self._name(node.value, name, known)
                elif name not in known:
                    raise self._refused(node, f"{name}, which may be without a value")
                self._expression(index, known)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in _CONSTANTS:
                self._module(node, name)
            case ast.Call():
                self._call(node, known)
            case _:
                raise self._refused(node, f"such an expression: {type(node).__name__}")

    def _parts(self, node: ast.AST, known: set[str]) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self._expression(part, known)

    def _name(self, node: ast.expr, name: str, known: set[str]) -> None:
        if name in self.lists or name in {self.data, self.rng}:
            raise self._refused(node, f"{name} used as a whole")
        if name in known:
            return
        if name in self.locals:
            raise self._refused(node, f"{name}, which may be without a value")
        if name not in self.outside or not _is_plain(self.outside[name]):
            raise self._refused(node, f"{name}, which is no constant")

    def _module(self, node: ast.expr, name: str) -> None:
        if (
            name in self.locals
            or name in self.own
            or not any(self.outside.get(name) is m for m in (math, np))
        ):
            raise self._refused(node, f"an attribute of {name}")

    def _called(self, node: ast.expr, name: str) -> None:
        if name in self.locals or name in self.own or name in self.outside:
            raise self._refused(node, f"{name} as the name of something else")

    def _call(self, node: ast.Call, known: set[str]) -> None:  # noqa: C901, PLR0912  # cases
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (
                name == self.rng and attr in _DRAWS
            ):
                named = {k.arg for k in node.keywords}
                if len(node.args) > _DRAWS[attr] or not named <= _PARAMETERS:
                    raise self._refused(node, f"such a call of .{attr}")
                for part in (*node.args, *(k.value for k in node.keywords)):
                    self._expression(part, known)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=args, keywords=[]
            ) if attr in _TOTALS:
                own = name == self.data and not args
                whole = len(args) == 1 and isinstance(args[0], ast.Name) and args[0].id == self.data
                if not own:
                    self._module(node, name)
                    if not whole:
                        raise self._refused(node, f"a call of .{attr} but of the data")
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]) if (
                name == self.data or (name in self.lists and name in known)
            ):
                self._called(node, "len")
            case ast.Call(func=ast.Name(id=called), args=[inner], keywords=[]) if called in {
                "sum", "min", "max",
            }:  # fmt: skip
                self._called(node, called)
                if isinstance(inner, (ast.List, ast.ListComp, ast.GeneratorExp)):
                    self._listed(inner, known)
                else:
                    self._iterated(inner, known)
            case ast.Call(func=ast.Name(id=called), args=args, keywords=[]) if called in {
                "min",
                "max",
            } or (called in {"abs", "float"} and len(args) == 1):
                self._called(node, called)
                for part in args:
                    self._expression(part, known)
            case _:
                raise self._refused(node, f"a call of {ast.unparse(node.func)}")


def _longer(value: ast.expr) -> str | None:
    """The name of the list that [*name, …] extends."""
    match value:
        case ast.List(elts=[ast.Starred(value=ast.Name(id=name)), *_]):
            return name
        case _:
            return None


def _is_none(node: ast.Compare) -> bool:
    """Whether the expression is `… is None` or `… is not None`."""
    right = node.comparators[0]
    plain = len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot))
    return plain and isinstance(right, ast.Constant) and right.value is None


def _is_plain(value: object) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def _kind(value: object) -> str:
    return type(value).__name__
