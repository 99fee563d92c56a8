"""Interpreter: runs a mechanism of the language step by step, on symbols.

Everything is computed in the order in which Python does, since the order of draws is part of what a
mechanism is. Each value is one of `values`; what an operation gives is said by `arithmetic` and
`functions`, which refuse all other values.
"""

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpverify.certifying.language.arithmetic import (
    BINARY,
    COMPARISONS,
    binary,
    compare,
    described,
    equal,
    truth,
    unary,
)
from dpverify.certifying.language.arrays import FIELDS
from dpverify.certifying.language.checked import Program, own_names, target_names
from dpverify.certifying.language.functions import called, known, method
from dpverify.certifying.language.python import WITH_CALLS, Caller, Type, items
from dpverify.certifying.language.values import (
    MOST,
    Applied,
    Array,
    Function,
    Grown,
    Known,
    Namespace,
    Scope,
    frozen,
    is_number,
    lifted,
    whole,
)
from dpverify.certifying.symbolic.running import current
from dpverify.certifying.symbolic.symbols import refuse

_MOST_STEPS = 3_000_000
_DEEPEST = 40
_BREAK, _CONTINUE = "break", "continue"


class Returned:
    """The end of a function call, with the returned value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:  # noqa: ANN401
        self.value = value


_CALLERS = {id(known(f).call) for f in WITH_CALLS}  # type: ignore[union-attr]


class Interpreter:
    """One run of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.held = dict(program.held)
        self.run: Any = current.get()
        self.left, self.depth = _MOST_STEPS, 0
        self.calls = Caller(lambda function, given: self.apply(function, given, {}))
        self.file = program.main.file

    def call(self, data: Any, rng: Any, *more: Any) -> Any:  # noqa: ANN401
        """Run the mechanism and return its output."""
        self._at(self.program.main.definition)
        own = frozen(lifted(data), self.held)
        given = [*self.program.given, own, rng, *more]
        return self.apply(self.program.main, given, dict(self.program.named))

    def _at(self, node: Any) -> None:  # noqa: ANN401
        line = getattr(node, "lineno", None)
        if line is not None:  # what was made of a loop over the data has none
            self.run.line = (self.file, line)

    # Calls.

    def apply(self, function: Any, given: list[Any], named: dict[str, Any]) -> Any:  # noqa: ANN401
        """Call a user's function or a built-in one of the language."""
        if isinstance(function, (Known, Type)):
            if id(function.call) in _CALLERS:
                given = [self.calls, *given]
            return called(function.name, function.call, given, named)
        if isinstance(function, Applied):
            given, named = [*function.given, *given], function.named | named
            function = function.function
        if not isinstance(function, Function):
            raise refuse(f"it calls {described(function)}")
        scope = Scope(own_names(function.definition), function.scope)
        scope.names.update(self._bound(function, given, named))
        self.depth += 1
        if self.depth > _DEEPEST:
            raise refuse(f"it calls functions within functions, more than {_DEEPEST} deep")
        file, self.file = self.file, function.file
        if isinstance(function.definition, ast.Lambda):
            made = self.value(function.definition.body, scope)
        else:
            end = self.block(function.definition.body, scope)
            made = end.value if isinstance(end, Returned) else None
        self.file = file
        self.depth -= 1
        return made

    def _bound(self, function: Function, given: list[Any], named: dict[str, Any]) -> dict[str, Any]:
        arguments = function.definition.args
        places = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        by_name = {a.arg for a in (*arguments.args, *arguments.kwonlyargs)}
        made = dict(zip(places, given, strict=False))
        wrong = len(given) > len(places) or not named.keys() <= by_name - made.keys()
        found = function.defaults | made | named
        wanted = {*places, *(a.arg for a in arguments.kwonlyargs)}
        if wrong or found.keys() != wanted:
            raise refuse(f"it raises TypeError: {function.name}() is given other arguments")
        return found

    # Statements: each gives None, or how it ends the block.

    def block(self, body: list[ast.stmt], scope: Scope) -> Any:  # noqa: ANN401
        """Run statements; return None at their end, or what ended them earlier."""
        for statement in body:
            end = self.statement(statement, scope)
            if end is not None:
                return end
        return None

    def statement(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401, C901, PLR0912  # cases
        self._step(node)
        match node:
            case ast.Assign(targets=targets, value=value):
                made = self.value(value, scope)
                for target in targets:
                    self.store(target, made, scope)
            case ast.AnnAssign(target=target, value=value):
                self.store(target, self.value(value, scope), scope)
            case ast.AugAssign(target=target, op=op, value=value):
                self._augmented(target, op, value, scope)
            case ast.If(test=test, body=body, orelse=orelse):
                return self.block(body if self.test(test, scope) else orelse, scope)
            case ast.For():
                return self._for(node, scope)
            case ast.While(test=test, body=body, orelse=orelse):
                while self.test(test, scope):
                    end = self.block(body, scope)
                    if end is _BREAK:
                        return None
                    if isinstance(end, Returned):
                        return end
                return self.block(orelse, scope)
            case ast.Break():
                return _BREAK
            case ast.Continue():
                return _CONTINUE
            case ast.Return(value=value):
                return Returned(None if value is None else self.value(value, scope))
            case ast.Expr(value=value):
                self.value(value, scope)
            case ast.FunctionDef(name=name):
                scope.names[name] = self._function(name, node, scope)
            case ast.Assert(test=test):
                if __debug__ and not self.test(test, scope):
                    raise refuse("it raises AssertionError")
            case ast.Raise():
                raise refuse("it raises an exception")
            case _:
                pass
        return None

    def _step(self, node: Any) -> None:  # noqa: ANN401
        self._at(node)
        self.left -= 1
        if self.left < 0:
            raise refuse(f"it takes more than {_MOST_STEPS} steps")

    def _for(self, node: ast.For, scope: Scope) -> Any:  # noqa: ANN401
        for item in items(self.value(node.iter, scope)):
            self._step(node)
            self.store(node.target, item, scope)
            end = self.block(node.body, scope)
            if end is _BREAK:
                return None
            if isinstance(end, Returned):
                return end
        return self.block(node.orelse, scope)

    def _function(self, name: str, node: Any, scope: Scope) -> Function:  # noqa: ANN401
        given = node.args
        places = [a.arg for a in (*given.posonlyargs, *given.args)]
        late = places[len(places) - len(given.defaults) :]
        defaults = {n: self.value(v, scope) for n, v in zip(late, given.defaults, strict=True)}
        for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if value is not None:
                defaults[argument.arg] = self.value(value, scope)
        return Function(name, node, scope, self.file, defaults)

    # Targets.

    def store(self, target: Any, value: Any, scope: Scope) -> None:  # noqa: ANN401
        """Assign to a name, to several, or to a place in a list or array."""
        match target:
            case ast.Name(id=name):
                scope.names[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                self._unpacked(target, parts, value, scope)
            case ast.Subscript(value=of, slice=index):
                own = self.value(of, scope)
                self._put(own, self._index(index, scope), value)
            case _:
                raise refuse("it stores into something that is not in the language")

    def _unpacked(self, node: Any, parts: list[Any], value: Any, scope: Scope) -> None:  # noqa: ANN401
        found = []
        for item in items(value):
            found.append(item)
            if len(found) > MOST:
                raise refuse("it unpacks a list that is too long")
        stars = [i for i, part in enumerate(parts) if isinstance(part, ast.Starred)]
        self._at(node)
        if len(found) < len(parts) - len(stars) or (not stars and len(found) != len(parts)):
            raise refuse("it raises ValueError: it unpacks another number of values")
        if stars:
            at, after = stars[0], len(parts) - stars[0] - 1
            middle = found[at : len(found) - after]
            found = [*found[:at], middle, *found[len(found) - after :]]
        for part, item in zip(parts, found, strict=True):
            self.store(part.value if isinstance(part, ast.Starred) else part, item, scope)

    def _put(self, own: Any, index: Any, value: Any) -> None:  # noqa: ANN401
        if id(own) in self.held:
            raise refuse("it changes its data, or a constant from outside")
        if isinstance(own, Array):
            try:
                own.store(self._array_index(own, index), value)
            except (IndexError, ValueError):
                raise refuse("it raises an error: the array has no such part") from None
        elif type(own) is dict:
            own[_key(index)] = value
        elif type(own) is list and isinstance(index, slice):
            if index.step is not None:
                raise refuse("it stores into a slice with a step")
            start, stop, _ = index.indices(len(own))  # before the values, which may change the list
            own[start : max(start, stop)] = list(items(value))
        elif type(own) is list:
            own[_within(own, index)] = value
        else:
            raise refuse(f"it stores into {described(own)}")

    def _augmented(self, target: Any, op: ast.operator, value: ast.expr, scope: Scope) -> None:  # noqa: ANN401
        if isinstance(target, ast.Name):
            made = self._in_place(op, scope.find(target.id), self.value(value, scope), target)
            scope.names[target.id] = made
        elif isinstance(target, ast.Subscript):
            own = self.value(target.value, scope)
            index = self._index(target.slice, scope)
            before = self._taken(own, index)
            self._put(own, index, self._in_place(op, before, self.value(value, scope), target))
        else:
            raise refuse("it stores into something that is not in the language")

    def _in_place(self, op: ast.operator, own: Any, value: Any, node: ast.AST) -> Any:  # noqa: ANN401
        """`own op= value`; lists and arrays change in place, for all who hold them."""
        self._at(node)
        if type(own) is list:
            if not isinstance(op, ast.Add):
                raise refuse("it changes a list in place, other than by +=")
            if id(own) in self.held:
                raise refuse("it changes its data, or a constant from outside")
            if isinstance(value, Array):
                raise refuse("it adds an array to a list, in place")
            method(own, "extend", self.held)[0](own, value)
            return own
        made = binary(BINARY[type(op)], own, value)
        if not isinstance(own, Array):
            return made
        if not isinstance(made, Array) or made.cells.shape != own.cells.shape:
            raise refuse("it changes an array in place into one of another shape")
        own.store(..., made)
        return own

    # Expressions.

    def test(self, node: ast.expr, scope: Scope) -> bool:
        """The truth value of an `if` condition."""
        found = self.value(node, scope)
        self._at(node)
        return truth(found)

    def value(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        """The value of an expression."""
        self._step(node)
        return _EXPRESSIONS[type(node)](self, node, scope)

    def _constant(self, node: Any, _: Scope) -> Any:  # noqa: ANN401
        return node.value

    def _name(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        found = scope.find(node.id)
        if isinstance(found, Namespace):
            raise refuse("it uses a module as a value")
        return found

    def _binary(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        self._at(node)
        return binary(BINARY[type(node.op)], left, right)

    def _unary(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        found = self.value(node.operand, scope)
        self._at(node)
        return unary(node.op, found)

    def _both(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        """`and` and `or`: the operand that decides, as in Python."""
        wanted = isinstance(node.op, ast.Or)
        for part in node.values[:-1]:
            found = self.value(part, scope)
            self._at(part)
            if truth(found) is wanted:
                return found
        return self.value(node.values[-1], scope)

    def _compare(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        left = self.value(node.left, scope)
        found: Any = True
        for i, (op, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.value(part, scope)
            self._at(node)
            found = self._compared(op, left, right)
            if i + 1 < len(node.ops) and not truth(found):
                return found
            left = right
        return found

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:  # noqa: ANN401
        if isinstance(op, (ast.Is, ast.IsNot)):
            return (left is None) is isinstance(op, ast.Is)
        if isinstance(op, (ast.In, ast.NotIn)):
            return _contains(right, left) is isinstance(op, ast.In)
        return compare(COMPARISONS[type(op)], left, right)

    def _choice(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        return self.value(node.body if self.test(node.test, scope) else node.orelse, scope)

    def _elements(self, parts: list[ast.expr], scope: Scope) -> list[Any]:
        made: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                found = self.value(part.value, scope)
                made.extend(items(found))
            else:
                made.append(self.value(part, scope))
            if len(made) > MOST:
                raise refuse("it makes a list that is too long")
        return made

    def _list(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        first = node.elts[0] if node.elts else None
        if isinstance(first, ast.Starred):  # it may be a list of unknown length
            found = self.value(first.value, scope)
            if isinstance(found, Grown):
                return found.longer(self._elements(node.elts[1:], scope))
            return [*items(found), *self._elements(node.elts[1:], scope)]
        return self._elements(node.elts, scope)

    def _tuple(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        return tuple(self._elements(node.elts, scope))

    def _dict(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        made = {}
        for key, part in zip(node.keys, node.values, strict=True):
            if key is None:
                raise refuse("it makes a dictionary with **")
            name = _key(self.value(key, scope))
            made[name] = self.value(part, scope)
        return made

    def _generated(
        self,
        node: Any,  # noqa: ANN401
        scope: Scope,
        made: Callable[[Scope], Any],
    ) -> Iterator[Any]:
        """The values of a comprehension one by one; its first iterable is evaluated outside."""
        first = items(self.value(node.generators[0].iter, scope))
        inner = Scope(target_names(node.generators), scope)
        file = self.file
        return self._loops(node.generators, 0, first, inner, made, file)

    def _loops(  # noqa: PLR0913, PLR0917
        self,
        generators: list[ast.comprehension],
        at: int,
        over: Iterator[Any],
        scope: Scope,
        made: Callable[[Scope], Any],
        file: str,
    ) -> Iterator[Any]:
        part = generators[at]
        for item in over:
            before, self.file = self.file, file
            self._step(part.target)
            self.store(part.target, item, scope)
            kept = all(self.test(test, scope) for test in part.ifs)
            if kept and at + 1 == len(generators):
                found = made(scope)
                self.file = before
                yield found
            elif kept:
                inner = items(self.value(generators[at + 1].iter, scope))
                self.file = before
                yield from self._loops(generators, at + 1, inner, scope, made, file)
            else:
                self.file = before

    def _list_comprehension(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        return list(self._generated(node, scope, lambda inner: self.value(node.elt, inner)))

    def _generator(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        return self._generated(node, scope, lambda inner: self.value(node.elt, inner))

    def _dict_comprehension(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        def pair(inner: Scope) -> Any:  # noqa: ANN401
            key = _key(self.value(node.key, inner))
            return key, self.value(node.value, inner)

        return dict(self._generated(node, scope, pair))

    def _lambda(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        return self._function("<lambda>", node, scope)

    def _attribute(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        named = self._of_module(node, scope)
        if isinstance(named, Namespace):
            raise refuse("it uses a module as a value")
        if named is not None:
            return named
        own = self.value(node.value, scope)
        self._at(node)
        if isinstance(own, Array) and node.attr in FIELDS:
            return FIELDS[node.attr](own)
        if node.attr == "__getitem__" and type(own) in {list, tuple}:
            return Known("__getitem__", lambda index: self._taken(own, index))
        raise refuse(f"it uses .{node.attr} of {described(own)}, which is not in the language")

    @staticmethod
    def _of_module(node: ast.Attribute, scope: Scope) -> Any:  # noqa: ANN401
        """The value of a module's name; None for an attribute of another value."""
        if not isinstance(node.value, ast.Name):
            return None
        inner: Scope | None = scope
        while inner is not None and node.value.id not in inner.own:
            inner = inner.parent
        if inner is None or not isinstance(inner.names.get(node.value.id), Namespace):
            return None
        return inner.names[f"{node.value.id}.{node.attr}"]

    def _call(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        own: Any = None
        attribute = isinstance(node.func, ast.Attribute) and node.func.attr != "__getitem__"
        function = self._of_module(node.func, scope) if attribute else None
        if attribute and function is None:
            own = self.value(node.func.value, scope)
        elif function is None:
            function = self.value(node.func, scope)
        given = self._elements(node.args, scope)
        named = {k.arg: self._argument(k, scope) for k in node.keywords}
        self._at(node)
        if function is not None:
            return self.apply(function, given, named)
        shuffled = (*given, *named.values()) if node.func.attr == "shuffle" else ()
        if any(id(x) in self.held for x in shuffled):
            raise refuse("it changes its data, or a constant from outside")
        action, with_calls = method(own, node.func.attr, self.held)
        given = [self.calls, own, *given] if with_calls else [own, *given]
        return called(f".{node.func.attr}()", action, given, named)

    def _argument(self, node: ast.keyword, scope: Scope) -> Any:  # noqa: ANN401
        found = self.value(node.value, scope)
        computed = isinstance(found, bool) and not isinstance(node.value, ast.Constant)
        if node.arg == "reverse" and computed:
            raise refuse("`reverse` may be a truth value of NumPy's: write int(…)")
        return found

    def _subscript(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        own = self.value(node.value, scope)
        index = self._index(node.slice, scope)
        self._at(node)
        return self._taken(own, index)

    def _index(self, node: Any, scope: Scope) -> Any:  # noqa: ANN401
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            found = [None if part is None else self.value(part, scope) for part in parts]
            return slice(*(None if part is None else whole(part) for part in found))
        if isinstance(node, ast.Tuple):
            return tuple(self._index(part, scope) for part in node.elts)
        return self.value(node, scope)

    def _taken(self, own: Any, index: Any) -> Any:  # noqa: ANN401
        """The item own[index]."""
        if type(own) is dict:
            key = _key(index)
            if key not in own:
                raise refuse("it raises KeyError: the dictionary has no such key")
            return own[key]
        if type(own) in {list, tuple, range}:
            if isinstance(index, slice):
                if index.step == 0:
                    raise refuse("it raises ValueError: a slice of step 0")
                return own[index]
            return own[_within(own, index)]
        if isinstance(own, Array):
            try:
                return own.part(own.cells[self._array_index(own, index)])
            except (IndexError, ValueError):
                raise refuse("it raises IndexError: the array has no such part") from None
        raise refuse(f"it takes a part of {described(own)}")

    @staticmethod
    def _array_index(own: Array, index: Any) -> Any:  # noqa: ANN401
        """Index an array as NumPy does: numbers and slices give views, lists and arrays copies."""
        if isinstance(index, tuple):
            return tuple(part if isinstance(part, slice) else whole(part) for part in index)
        if isinstance(index, slice):
            return index
        if isinstance(index, list):
            return np.array([whole(x) for x in index], int)
        if isinstance(index, Array):
            if index.kind == "bool" and index.cells.shape == own.cells.shape[: index.cells.ndim]:
                return index.cells.astype(bool)
            if index.kind == "int":
                return np.array([whole(x) for x in index.cells.ravel()], int).reshape(
                    index.cells.shape
                )
            raise refuse("it takes parts of an array by something other than whole numbers")
        return whole(index)

    def _starred(self, *_: Any) -> Any:  # noqa: ANN401
        raise refuse("it uses * where it is not understood")


def _within(own: Any, index: Any) -> int:  # noqa: ANN401
    place = whole(index)
    if not -len(own) <= place < len(own):
        raise refuse("it raises IndexError: the list has no such place")
    return place


def _key(value: Any) -> Any:  # noqa: ANN401
    if type(value) not in {str, int}:
        raise refuse("a key of a dictionary is something other than a text or a plain whole number")
    return value


def _contains(own: Any, value: Any) -> bool:  # noqa: ANN401
    if type(own) is dict:
        return _key(value) in own
    if isinstance(own, range):
        return whole(value) in own
    if isinstance(own, Array) and is_number(value):
        return any(equal(cell, value) for cell in own.cells.ravel())
    if type(own) in {list, tuple}:
        return any(equal(item, value) for item in own)
    raise refuse(f"it looks for something in {described(own)}")


_EXPRESSIONS: dict[type[ast.AST], Callable[[Interpreter, Any, Scope], Any]] = {
    ast.Constant: Interpreter._constant, ast.Name: Interpreter._name,  # noqa: SLF001
    ast.BinOp: Interpreter._binary, ast.UnaryOp: Interpreter._unary,  # noqa: SLF001
    ast.BoolOp: Interpreter._both, ast.Compare: Interpreter._compare,  # noqa: SLF001
    ast.IfExp: Interpreter._choice, ast.Call: Interpreter._call,  # noqa: SLF001
    ast.Attribute: Interpreter._attribute, ast.Subscript: Interpreter._subscript,  # noqa: SLF001
    ast.List: Interpreter._list, ast.Tuple: Interpreter._tuple,  # noqa: SLF001
    ast.Dict: Interpreter._dict, ast.ListComp: Interpreter._list_comprehension,  # noqa: SLF001
    ast.GeneratorExp: Interpreter._generator, ast.Lambda: Interpreter._lambda,  # noqa: SLF001
    ast.DictComp: Interpreter._dict_comprehension, ast.Starred: Interpreter._starred,  # noqa: SLF001
}  # fmt: skip
