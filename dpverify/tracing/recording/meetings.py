"""Where two plain numbers meet: in a comparison, a difference, or the arguments of one call.

A noisy number that became a plain one is compared out of sight of the journal. But its code has a
source: for one run the functions of a mechanism are exchanged for ones that tell the operands of
every comparison, difference and call, and that do the same otherwise. How far apart two operands
are is a function of the noise, so that noise can be chosen for which they are equal.
"""

# ruff: noqa: ANN401  # operands are whatever the user has

import ast
import linecache
import math
import random
import types
import warnings
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import is_dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from types import NoneType
from typing import Any

import numpy as np

from dpverify.tracing.recording.places import Place, is_inside, written_function

Meeting = tuple[Any, ...]
"""Which two operands: how they meet, the file, the line, the turn, which of several numbers."""
Gaps = dict[Meeting, float]
Operand = tuple[int, int, int]
"""Which operand: of which expression, in which turn, at which place."""
Spelled = tuple[str, ...]
"""The parts of an operand, as texts that can be compared."""
Name = tuple[str, int, int, int, str, str]
"""How an operand meets others, its line, expression and place, by what function, in which file."""

RANKS = ("compared", "subtracted", "given")
_TOLD = "told"
_HOOK = "the operand of a meeting"
_MOST_FUNCTIONS = 100
_MOST_TURNS = 64
_MOST_PARTS = 32
_LARGEST = 100_000  # elements of an array that is looked at
_LONGEST = 30  # of a text that may spell a number
_HUGE = 1e300
LOOKUP, CONDITION, COMBINED, ALIGNED, EQUAL = "[]", "condition", "combined", "+", "=="
_BY_VALUE = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_BY_LABELS = (ast.Add, ast.Mult, ast.Div, ast.Pow, ast.MatMult)  # operators that add or multiply
_LOGIC = {op.__name__ for op in (ast.BitAnd, ast.BitOr, ast.BitXor)}
_NAMES = """
    abs bool dict enumerate float format int isinstance len list max min pow print range repr round
    str sum tuple type zip append extend insert update setdefault add copy items clip clamp
    minimum maximum fmin fmax where select subtract multiply divide true_divide power dot matmul
    inner outer mean digitize searchsorted histogram bisect bisect_left bisect_right cut between gt
    ge lt le array asarray full full_like concatenate stack hstack vstack column_stack DataFrame
    Series assign concat mul sub div truediv isclose allclose linspace arange interp einsum solve
    lstsq norm hypot sqrt exp log astype fsum
"""
UNDERSTOOD = frozenset([*_NAMES.split(), ALIGNED]).union(
    dir(np.random.Generator), dir(random.Random)
)
"""Names of functions that add up their operands, compare them as numbers, draw, or put together."""
_LONG = 10_000  # elements of an operand that is spelled out
_DEEPEST = 6
_ATOMS = {int, float, str, bytes, bool, complex, NoneType, Decimal, Fraction, timedelta}
_WRITTEN = (types.FunctionType, staticmethod, classmethod, property)


# What a mechanism is written in.


def written_functions(mechanism: Any) -> list[types.FunctionType]:
    """The user's functions that a mechanism may call, as far as names show."""
    owner = getattr(getattr(mechanism, "func", mechanism), "__self__", mechanism)
    waiting: list[Any] = [written_function(mechanism), owner, type(owner)]
    found: dict[int, types.FunctionType] = {}
    done: set[int] = set()
    while waiting and len(found) < _MOST_FUNCTIONS:
        held = waiting.pop(0)
        held = getattr(held, "__wrapped__", held) if callable(held) else held
        if id(held) in done:
            continue
        done.add(id(held))
        if isinstance(held, (types.MethodType, staticmethod, classmethod)):
            waiting.append(held.__func__)
        elif isinstance(held, property):
            waiting.append(held.fget)
        elif isinstance(held, type):
            waiting += [part for part in vars(held).values() if isinstance(part, _WRITTEN)]
            waiting += held.__bases__
        elif isinstance(held, types.FunctionType) and not is_inside(held.__code__.co_filename):
            found[id(held)] = held
            waiting += _called(held)
    return list(found.values())


def held_by(mechanism: Any) -> Iterator[Any]:
    """What a mechanism's functions can reach: attributes, defaults, closures, globals."""
    inner = getattr(mechanism, "func", mechanism)
    owner = getattr(inner, "__self__", inner)
    yield from (getattr(mechanism, "args", ()), getattr(mechanism, "keywords", None), owner)
    yield vars(type(owner)).copy()
    for function in written_functions(mechanism):
        yield from function.__defaults__ or ()
        yield from (function.__kwdefaults__ or {}).values()
        yield from (c.cell_contents for c in function.__closure__ or () if c != types.CellType())
        names = [*_names(function.__code__)]
        for held in (function.__globals__.get(name) for name in names):
            if not isinstance(held, types.ModuleType):
                yield held
            elif not is_inside(getattr(held, "__file__", "") or ""):
                yield from (vars(held)[other] for other in names if other in vars(held))


def _called(function: types.FunctionType) -> Iterator[Any]:
    """What the names in a function refer to: globals, attributes of modules, closures."""
    names = list(_names(function.__code__))
    for name in names:
        held = function.__globals__.get(name)
        if isinstance(held, types.ModuleType) and not is_inside(
            getattr(held, "__file__", "") or ""
        ):
            yield from (vars(held)[other] for other in names if other in vars(held))
        elif callable(held):
            yield held
    for cell in function.__closure__ or ():
        if cell != types.CellType() and callable(cell.cell_contents):
            yield cell.cell_contents


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names(part)


# Functions that tell.


class _Telling(ast.NodeTransformer):
    """Rewrites code so that every operand passes through the hook, which returns it."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.count = zlib.crc32(filename.encode()) << 32  # of expressions, in all files

    def _told(self, kind: str, operands: list[ast.expr], *by: str) -> list[ast.expr]:
        """The operands passed to the hook, under one name or each under its own."""
        self.count += 1
        told: list[ast.expr] = []
        for place, operand in enumerate(operands):
            named = by[min(place, len(by) - 1)] if by else ""
            inner = operand.value if isinstance(operand, ast.Starred) else operand
            parts = (kind, inner.lineno, self.count, place, named, self.filename)
            name = ast.Tuple([ast.Constant(part) for part in parts], ast.Load())
            call = ast.copy_location(ast.Call(ast.Constant(_HOOK), [name, inner], []), inner)
            starred = ast.Starred(call, ast.Load())
            told.append(ast.copy_location(starred, operand) if inner is not operand else call)
        return told

    def _truth(self, test: ast.expr) -> ast.expr:
        """A condition passed to the hook, with the number of the expression it belongs to."""
        first = self.count
        visited = self.visit(test)
        if isinstance(test, ast.Compare):
            return visited  # type: ignore[no-any-return]  # told as it is
        return self._told(CONDITION, [visited], str(first))[0]

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        first = self.count
        self.generic_visit(node)
        by = EQUAL if any(isinstance(op, _BY_VALUE) for op in node.ops) else ""
        node.left, *node.comparators = self._told("compared", [node.left, *node.comparators], by)
        return self._told(CONDITION, [node], str(first))[0]

    def _conditional(self, node: Any) -> ast.AST:
        test, node.test = self._truth(node.test), ast.Constant(value=True)
        self.generic_visit(node)
        node.test = test
        return node  # type: ignore[no-any-return]

    visit_If = visit_IfExp = visit_While = visit_Assert = _conditional  # noqa: N815  # of ast

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        is_not = isinstance(node.op, ast.Not)
        node.operand = self._truth(node.operand) if is_not else self.visit(node.operand)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self._truth(each) for each in node.values]
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """`match`: the subject next to all pattern values, as it is compared with each."""
        self.generic_visit(node)
        patterns = [part for case in node.cases for part in ast.walk(case.pattern)]
        values = [part.value for part in patterns if isinstance(part, ast.MatchValue)]
        plain = [
            deepcopy(value) for value in values if isinstance(value, (ast.Constant, ast.UnaryOp))
        ]
        if plain:
            told = ast.Tuple(self._told("compared", [node.subject, *plain]), ast.Load())
            first = ast.Subscript(told, ast.Constant(0), ast.Load())
            node.subject = ast.copy_location(first, node.subject)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        first = self.count
        self.generic_visit(node)
        kind = "subtracted" if isinstance(node.op, ast.Sub) else COMBINED
        by = ALIGNED if isinstance(node.op, (ast.Sub, *_BY_LABELS)) else type(node.op).__name__
        node.left, node.right = self._told(kind, [node.left, node.right], by)
        is_logic = isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        return self._told(CONDITION, [node], str(first))[0] if is_logic else node

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        node.elts = self._told(COMBINED, node.elts)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """The keys of a dict, which may be equal."""
        self.generic_visit(node)
        told = iter(self._told(COMBINED, [key for key in node.keys if key is not None]))
        node.keys = [key and next(told) for key in node.keys]
        return node

    def _comprehended(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        for part in node.generators:
            (part.iter,) = self._told(COMBINED, [part.iter])
        return node  # type: ignore[no-any-return]

    visit_SetComp = visit_DictComp = _comprehended  # noqa: N815  # names of ast

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.ifs = [self._truth(each) for each in node.ifs]
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        kind = "given" if isinstance(node.ctx, ast.Load) else COMBINED
        parts = [*node.slice.elts] if isinstance(node.slice, ast.Tuple) else [node.slice]
        plain = [part for part in parts if not isinstance(part, (ast.Slice, ast.Starred))]
        node.value, *told = self._told(kind, [node.value, *plain], LOOKUP)
        known = dict(zip(map(id, plain), told, strict=True))
        parts = [known.get(id(part), part) for part in parts]
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = parts
        else:
            (node.slice,) = parts
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Assignment of a column to a table."""
        self.generic_visit(node)
        for target in node.targets[:1]:
            if isinstance(target, ast.Subscript):
                both = [node.value, target.value]
                node.value, target.value = self._told(COMBINED, both, ALIGNED)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        first = self.count
        self.generic_visit(node)
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        named = f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else ""
        named = node.func.id if isinstance(node.func, ast.Name) else named
        kind = CONDITION if named == "bool" else "given"
        named = named if kind == "given" else str(first)
        given = [*node.args, *(each.value for each in node.keywords)]
        told = self._told(kind, [*owner, *given], named)
        if owner and isinstance(node.func, ast.Attribute):
            node.func.value = told.pop(0)
        node.args = told[: len(node.args)]
        for each, value in zip(node.keywords, told[len(node.args) :], strict=True):
            each.value = value
        return node


@lru_cache(maxsize=64)
def _telling_codes(filename: str, source: str) -> dict[tuple[str, int], types.CodeType | None]:
    """For each function of a file its rewritten code; None if two functions look alike."""
    tree = ast.fix_missing_locations(_Telling(filename).visit(ast.parse(source)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a text that is called: it is put below
        whole = compile(tree, filename, "exec", dont_inherit=True)
    found: dict[tuple[str, int], types.CodeType | None] = {}
    for code in _codes(_hooked(whole)):
        key = (code.co_qualname, code.co_firstlineno)
        found[key] = None if key in found else code
    return found


def _hooked(code: types.CodeType) -> types.CodeType:
    """The code with the hook itself in place of its name."""
    parts = tuple(
        _hooked(part) if isinstance(part, types.CodeType) else _tell if part == _HOOK else part
        for part in code.co_consts
    )
    return code.replace(co_consts=parts)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _codes(part)


def _telling(function: types.FunctionType) -> types.CodeType | None:
    code = function.__code__
    source = "".join(linecache.getlines(code.co_filename))
    try:
        known = _telling_codes(code.co_filename, source)
    except (SyntaxError, ValueError, RecursionError):
        return None  # a notebook's magic, or no source at all
    found = known.get((code.co_qualname, code.co_firstlineno))
    same = found is not None and found.co_freevars == code.co_freevars
    return found if same and found is not None and found.co_varnames == code.co_varnames else None


class Met:
    """What the hook saw in one run: gaps between operands, and the kind of each operand."""

    def __init__(self, functions: frozenset[str] = frozenset()) -> None:
        self.functions = functions  # whose own operands are told
        self.gaps: Gaps = {}
        self.spelled: dict[Operand, Any] = {}
        self.lines: dict[int, Place] = {}
        self.starts: dict[int, int] = {}  # of a condition: the expression before its own
        self.numbers: dict[Operand, list[float]] = {}  # of what is compared or given
        self.noisy: set[int] = set()  # expressions with an operand that is followed still
        self.truths: dict[int, list[Any]] = {}  # of conditions, turn by turn
        self.inverted: int | None = None  # the condition that is told as its contrary
        self.turns: dict[Any, int] = {}
        self.operands: dict[Any, list[Any]] = {}
        self.means: dict[int, str] = {}  # what is known of the function of an expression

    def tell(self, name: Name, value: Any) -> None:
        kind, line, number, place, by, filename = name
        if place == 0:
            self.turns[number] = self.turns.get(number, -1) + 1
            self.operands[number] = [[0.0]] if kind == CONDITION else []  # true: not equal to zero
            self.lines[number] = Place(filename, line, "" if kind == CONDITION else by)
            self.starts[number] = int(by) if kind == CONDITION else number
            self.means[number] = self._meaning(by, value)
        turn = self.turns.get(number, 0)
        if turn >= _MOST_TURNS:
            return
        mine = _numbers(value)
        if _is_form(value):
            self.noisy.add(number)
        opaque = self._opaque(name, value, mine)
        if opaque is not None:
            self.spelled[number, turn, place] = opaque
        if mine and kind in {"compared", "given"}:
            self.numbers[number, turn, place] = mine
        if kind == COMBINED:
            return
        kind = "compared" if kind == CONDITION else kind
        for before, others in enumerate(self.operands.get(number, ())):
            for i, j, one, two in _pairs(others, mine):
                gap = one - two
                if abs(gap) < _HUGE:
                    self.gaps[kind, line, number, before, place, turn, i, j] = gap
        self.operands.setdefault(number, []).append(mine)

    def truth(self, name: Name, value: Any) -> Any:
        """Note a condition's value, inverted if asked, for some number of turns."""
        kind, _, number, *_ = name
        is_row = getattr(value, "dtype", None) == np.bool_ and np.ndim(value) > 0
        if kind != CONDITION or not (is_row or isinstance(value, (bool, np.bool_, int, float))):
            return value
        known = self.truths.setdefault(number, [])
        if len(known) >= _MOST_TURNS:
            return value
        known.append(spelled_out(value))
        if number != self.inverted:
            return value
        return np.logical_not(value) if is_row else not value

    def _meaning(self, by: str, first: Any) -> str:
        """What is known of a function: whether its operands are seen, or it aligns arguments."""
        method = getattr(first, by[1:], None) if by.startswith(".") else None
        code = getattr(method, "__code__", None)
        if by in self.functions or (isinstance(code, types.CodeType) and code in _PLAIN):
            return _TOLD
        is_keyed = isinstance(first, (set, dict))
        return ALIGNED if by.removeprefix(".") in UNDERSTOOD and not is_keyed else by

    def _opaque(self, name: Name, value: Any, numbers: list[float]) -> Spelled | None:
        """The part of an operand in comparisons that gaps between numbers do not show."""
        kind, _, number, _, by, _ = name
        meaning = self.means.get(number, by)
        if kind == CONDITION or meaning == _TOLD:
            return None
        is_mask = getattr(value, "dtype", None) == np.bool_
        if by == LOOKUP and is_mask:
            return None  # its own operands are told
        if by in _LOGIC and (is_mask or isinstance(value, bool)):
            return spelled_out(_labels(value))  # so are those of truth values
        if kind == "compared" and numbers and (by != EQUAL or len(numbers) < _MOST_PARTS):
            return None
        return spelled_out(value if meaning != ALIGNED else _labels(value))


_MET: ContextVar[Met | None] = ContextVar("meetings", default=None)


def _tell(name: Name, value: Any) -> Any:
    met = _MET.get()
    if met is None:
        return value
    met.tell(name, value)
    return met.truth(name, value)


def _numbers(value: Any) -> list[float]:
    """The plain numbers in an operand: a dict's keys, the number in a text."""
    kind = type(value)
    if kind in {int, float, Decimal, Fraction} or isinstance(value, (np.floating, np.integer)):
        return [float(value)] if abs(value) < _HUGE else []
    if kind is timedelta:
        return [value.total_seconds()]
    if kind is str and len(value) < _LONGEST:
        with suppress(ValueError):
            return _numbers(float(value))
    if kind in {list, tuple, set, frozenset, dict, range} and len(value) <= _MOST_PARTS:
        return [
            number
            for part in value
            if type(part) in {int, float, list, tuple} or _is_form(part)
            for number in _numbers(part)
        ]
    if _is_form(value):
        return _known(value.worked_out())
    if (kind is np.ndarray or _is_table(value)) and value.size <= _LARGEST:
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            some = array.reshape(-1)[:_MOST_PARTS].tolist()
            return [float(part) if abs(part) < _HUGE else math.nan for part in some]
    return []


def _is_form(value: Any) -> bool:
    """Whether this is a noisy number that is still followed."""
    return hasattr(type(value), "worked_out")


def _known(form: Any) -> list[float]:
    """The value of a noisy number, if it was released before."""
    draws, idx = form.journal.draws, np.ravel(form.idx)
    if not np.all(draws.used[idx]):
        return []
    return [float(form.offset + np.sum(np.ravel(form.coef) * draws.z[idx]))]


def _is_table(value: Any) -> bool:
    """Whether this is a pandas table, column or index, and no grouping or rolling view."""
    return type(value).__module__.startswith("pandas") and hasattr(value, "to_numpy")


def _labels(value: Any) -> list[Any]:
    """The labels by which a table is aligned."""
    axes = value.axes if _is_table(value) and hasattr(value, "axes") else []
    return [axis.to_numpy().tolist() for axis in axes]


def spelled_out(value: Any, depth: int = 0) -> Spelled | None:
    """The parts of a value that are compared one by one; None for opaque values."""
    kind = type(value)
    if kind in _ATOMS or isinstance(value, np.generic):
        return (repr(value),)
    if kind is np.ndarray and value.dtype.kind != "O" and value.size <= _LARGEST:
        if value.size > _LONG or value.dtype.names:
            return (repr((value.shape, value.tobytes())),)
        return (repr(value.shape), *map(repr, value.reshape(-1).tolist()))
    if kind.__module__ == "pandas.core.indexing":  # .loc of a table, and the like
        return spelled_out(value.obj, depth)
    if _is_table(value) and value.size <= _LONG:
        return spelled_out([value.to_numpy().tolist(), _labels(value)], depth)
    parts = _held(value)
    if parts is None or len(parts) > _LONG or depth >= _DEEPEST:
        return None
    found = [spelled_out(part, depth + 1) for part in parts]
    known = [part for part in found if part is not None]
    if len(known) < len(found):
        return None
    known = sorted(known) if isinstance(value, (set, frozenset)) else known
    return (f"{len(known)} parts", *(each for part in known for each in part))


def _held(value: Any) -> Any:
    """The contents of a collection or plain object; None for other objects."""
    if isinstance(value, dict):
        return [*value.items()]
    if isinstance(value, (list, tuple, set, frozenset, range, deque)):
        return [*value] if len(value) <= _LONG else value
    if is_dataclass(value) or isinstance(value, types.SimpleNamespace):
        return [*vars(value).items()] if hasattr(value, "__dict__") else None
    return None


def meeting_place(one: Met, other_data: Met, other_noise: Met) -> Place | None:
    """The first line where something that varies with data meets something that varies with noise.

    All three are of the same code: a run, its replay on other data, a run with other noise. Only
    what the three have in common is looked at.
    """
    turns = [met.turns for met in (one, other_data, other_noise)]
    moving: dict[tuple[int, int], list[tuple[bool, bool]]] = {}
    for operand, spelled in one.spelled.items():
        number, turn, _ = operand
        others = [met.spelled.get(operand) for met in (other_data, other_noise)]
        if len({each.get(number) for each in turns}) > 1 or None in others:
            continue
        if one.lines[number].function != LOOKUP and _is_mixed(spelled, *others):
            return one.lines[number]
        moves = (others[0] != spelled, others[1] != spelled)
        moving.setdefault((number, turn), []).append(moves)
    for (number, _), rows in moving.items():
        data = {place for place, moves in enumerate(rows) if moves[0]}
        noise = {place for place, moves in enumerate(rows) if moves[1]}
        if data and noise and len(data | noise) > 1:
            return one.lines[number]
    return None


def _is_mixed(one: Spelled, other_data: Any, other_noise: Any) -> bool:
    """Whether one operand mixes numbers of the data with noisy ones, or a text has both."""
    if not len(one) == len(other_data) == len(other_noise):
        return False
    found = set()
    for part, data, noise in zip(one, other_data, other_noise, strict=True):
        moves = (part != data, part != noise)
        if moves == (True, True) and part[0] in "'\"b":
            return True
        if part not in {"True", "False"}:
            found.add(moves)
    return {(True, False), (False, True)} <= found


def decisions(other_data: Met, first: Met, *others: Met) -> Iterator[int]:
    """Conditions on noisy numbers that other data do not change; `others` have other noise."""
    varying = set(first.noisy)
    for met in others:
        parts = [*first.numbers.items(), *first.spelled.items()]
        known = met.numbers | met.spelled
        varying |= {operand[0] for operand, part in parts if known.get(operand, part) != part}
    for number, fell in first.truths.items():
        before = first.starts[number]
        if other_data.truths.get(number) == fell and any(before < n <= number for n in varying):
            yield number


def side_by_side(one: Met, other_data: Met, other_noise: Met) -> Iterator[Place]:
    """Lines where numbers that vary only with data meet numbers that vary only with noise."""
    moving: dict[tuple[int, int], set[tuple[bool, bool]]] = {}
    for operand, numbers in one.numbers.items():
        others = [met.numbers.get(operand) for met in (other_data, other_noise)]
        if None not in others:
            moves = (others[0] != numbers, others[1] != numbers)
            moving.setdefault(operand[:2], set()).add(moves)
    for (number, _), found in moving.items():
        if {(True, False), (False, True)} <= found:
            yield one.lines[number]


def _pairs(one: list[float], two: list[float]) -> Iterator[tuple[int, int, float, float]]:
    """Elements that meet: those at the same index; for rows of different length, all pairs."""
    if len(one) == len(two):
        yield from ((i, i, a, b) for i, (a, b) in enumerate(zip(one, two, strict=True)))
    else:
        yield from ((i, j, a, b) for i, a in enumerate(one) for j, b in enumerate(two))


@contextmanager
def meetings(mechanism: Any, inverted: int | None = None) -> Iterator[Met]:
    """The operands that met in the runs inside, by place and turn; conditions may be inverted."""
    exchanged = [(f, _telling(f)) for f in written_functions(mechanism)]
    met = Met(frozenset(f.__name__ for f, code in exchanged if code is not None))
    met.inverted = inverted
    token = _MET.set(met)
    try:
        for function, code in exchanged:
            if code is not None:
                _PLAIN.setdefault(code, function.__code__)
                function.__code__ = code
        yield met
    finally:
        for function, _ in exchanged:
            function.__code__ = _PLAIN.get(function.__code__, function.__code__)
        _MET.reset(token)


_PLAIN: dict[types.CodeType, types.CodeType] = {}
"""The code that each code which tells stands for: another thread may have exchanged it first."""
