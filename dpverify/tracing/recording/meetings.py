"""Where two plain numbers meet: in a comparison, in a difference, as arguments of one call.

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import deepcopy
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dpverify.tracing.recording.places import Place, is_inside, written_function

Meeting = tuple[Any, ...]
"""Which two operands: how they meet, the file, the line, the turn, which of several numbers."""
Gaps = dict[Meeting, float]
Operand = tuple[int, int, int]
"""Which operand: of which expression, in which turn, at which place."""
Name = tuple[str, int, int, int, str, str]
"""How an operand meets others, its line, expression and place, by what function, in which file."""

RANKS = ("compared", "subtracted", "given")
_HOOK = "the operand of a meeting"
_MOST_FUNCTIONS = 100
_MOST_TURNS = 64
_MOST_PARTS = 32
_LARGEST = 100_000  # elements of an array that is looked at
_LONGEST = 30  # of a text that may spell a number
_HUGE = 1e300
LOOKUP, CONDITION = "[]", "condition"
_NAMES = """
    abs bool dict enumerate float format int isinstance len list max min pow print range repr round
    str sum tuple type zip append extend insert update setdefault add join copy items clip clamp
    minimum maximum fmin fmax where select subtract multiply divide true_divide power dot matmul
    inner outer mean digitize searchsorted histogram bisect bisect_left bisect_right cut between gt
    ge lt le array asarray full full_like concatenate stack hstack vstack column_stack DataFrame
    Series assign concat mul sub div truediv isclose allclose linspace arange interp einsum solve
    lstsq norm hypot sqrt exp log astype fsum
"""
UNDERSTOOD = frozenset(_NAMES.split()).union(dir(np.random.Generator), dir(random.Random))
"""Names of functions that add up their operands, compare them as numbers, draw, or put together."""
_LONG = 10_000  # elements of an operand that is spelled out
_WRITTEN = (types.FunctionType, staticmethod, classmethod, property)


# What a mechanism is written in.


def written_functions(mechanism: Any) -> list[types.FunctionType]:
    """The functions of users' code that a mechanism may call, as far as their names tell."""
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
    """What the functions of a mechanism can come by: attributes, defaults, closures, globals."""
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
    """What the names of a function stand for: globals, attributes of modules, what it closes on."""
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
    """Wraps every operand into a call of the hook, which gives it back."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.count = zlib.crc32(filename.encode()) << 32  # of expressions, in all files

    def _told(self, kind: str, operands: list[ast.expr], by: str = "") -> list[ast.expr]:
        self.count += 1
        told: list[ast.expr] = []
        for place, operand in enumerate(operands):
            parts = (kind, operand.lineno, self.count, place, by, self.filename)
            name = ast.Tuple([ast.Constant(part) for part in parts], ast.Load())
            call = ast.Call(ast.Constant(_HOOK), [name, operand], [])
            told.append(ast.copy_location(call, operand))
        return told

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.left, *node.comparators = self._told("compared", [node.left, *node.comparators])
        return node

    def _conditional(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        (node.test,) = self._told(CONDITION, [node.test])
        return node  # type: ignore[no-any-return]

    visit_If = visit_IfExp = visit_While = _conditional  # noqa: N815  # names of ast

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """The subject beside the values of all patterns: each is compared with it."""
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
        self.generic_visit(node)
        if isinstance(node.op, ast.Sub):
            node.left, node.right = self._told("subtracted", [node.left, node.right])
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and not isinstance(node.slice, (ast.Slice, ast.Tuple)):
            node.value, node.slice = self._told("given", [node.value, node.slice], LOOKUP)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        if any(isinstance(each, ast.Starred) for each in node.args):
            return node
        named = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        named = node.func.id if isinstance(node.func, ast.Name) else named
        told = self._told("given", [*owner, *node.args], named)
        if owner and isinstance(node.func, ast.Attribute):
            node.func.value = told.pop(0)
        node.args = told
        return node


@lru_cache(maxsize=64)
def _telling_codes(filename: str, source: str) -> dict[tuple[str, int], types.CodeType | None]:
    """For every function of a file its code with operands that tell; None where two look alike."""
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
    """The code with the hook itself where its name stands as a constant."""
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
    """What the hook has seen in one run: gaps between operands, and what each operand was."""

    def __init__(self, functions: frozenset[str] = frozenset()) -> None:
        self.functions = functions  # whose own operands are told
        self.gaps: Gaps = {}
        self.spelled: dict[Operand, Any] = {}
        self.lines: dict[int, Place] = {}
        self.numbers: dict[Operand, list[float]] = {}  # of what is compared or given
        self.decided: dict[Operand, Any] = {}  # operands of comparisons, and conditions
        self.turns: dict[Any, int] = {}
        self.operands: dict[Any, list[Any]] = {}

    def tell(self, name: Name, value: Any) -> None:
        kind, line, number, place, by, filename = name
        if place == 0:
            self.turns[number] = self.turns.get(number, -1) + 1
            self.operands[number] = []
            self.lines[number] = Place(filename, line, by)
        turn = self.turns.get(number, 0)
        mine = _numbers(value) if turn < _MOST_TURNS else []
        if turn < _MOST_TURNS and self._is_opaque(kind, by, value, mine):
            self.spelled[number, turn, place] = spelled_out(value)
        if mine and kind != "subtracted":
            self.numbers[number, turn, place] = mine
        if kind in {"compared", CONDITION} and turn < _MOST_TURNS:
            self.decided[number, turn, place] = spelled_out(value)
        for before, others in enumerate(self.operands.get(number, ())):
            for i, j, one, two in _pairs(others, mine):
                gap = one - two
                if abs(gap) < _HUGE:
                    self.gaps[kind, line, number, before, place, turn, i, j] = gap
        self.operands.setdefault(number, []).append(mine)

    def _is_opaque(self, kind: str, by: str, value: Any, numbers: list[float]) -> bool:
        """Whether an operand takes part in something that gaps between numbers do not tell."""
        if kind in {"subtracted", CONDITION} or by in UNDERSTOOD or by in self.functions:
            return False
        if by == LOOKUP:
            return not isinstance(value, (list, tuple, np.ndarray))
        return kind == "given" or not numbers


_MET: ContextVar[Met | None] = ContextVar("meetings", default=None)


def _tell(name: Name, value: Any) -> Any:
    met = _MET.get()
    if met is not None:
        met.tell(name, value)
    return value


def _numbers(value: Any) -> list[float]:
    """The plain numbers of an operand, of a dict its keys, of a text the one that it spells."""
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
            if type(part) in {int, float} or _is_form(part)
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
    """A noisy number that is followed still."""
    return hasattr(type(value), "worked_out")


def _known(form: Any) -> list[float]:
    """What a noisy number is, if it was told before."""
    draws, idx = form.journal.draws, np.ravel(form.idx)
    if not np.all(draws.used[idx]):
        return []
    return [float(form.offset + np.sum(np.ravel(form.coef) * draws.z[idx]))]


def _is_table(value: Any) -> bool:
    """A table, column or index of pandas; nothing that groups or rolls over one."""
    return type(value).__module__.startswith("pandas") and hasattr(value, "to_numpy")


def spelled_out(value: Any, depth: int = 0) -> Any:
    """A value as something that can be compared; None if it is nothing that is looked into."""
    kind = type(value)
    if kind in {int, float, str, bytes, bool, complex} or isinstance(value, np.generic):
        return repr(value)
    if kind in {list, tuple, set, frozenset, dict, range} and len(value) <= _LONG and depth < 4:
        parts = value.items() if kind is dict else value
        found = [spelled_out(part, depth + 1) for part in parts]
        found = sorted(found) if kind in {set, frozenset} and None not in found else found
        return None if None in found else repr(found)
    if kind is np.ndarray and value.dtype.kind != "O" and value.size <= _LARGEST:
        return repr((value.shape, value.tobytes()))
    if _is_table(value) and value.size <= _LONG:
        return spelled_out(value.to_numpy().tolist(), depth + 1)
    return None


def out_of_sight(one: Met, other_data: Met, other_noise: Met) -> Place | None:
    """The first line where what moves with the data meets what moves with the noise.

    All three are of the same code: a run, its replay on other data, a run with other noise. Only
    what the three have in common is looked at.
    """
    turns = [met.turns for met in (one, other_data, other_noise)]
    moving: dict[tuple[int, int], list[tuple[bool, bool]]] = {}
    for operand, spelled in one.spelled.items():
        number, turn, _ = operand
        others = [met.spelled.get(operand) for met in (other_data, other_noise)]
        if len({each.get(number) for each in turns}) == 1 and None not in {spelled, *others}:
            moves = (others[0] != spelled, others[1] != spelled)
            moving.setdefault((number, turn), []).append(moves)
    for (number, _), rows in moving.items():
        data = {place for place, moves in enumerate(rows) if moves[0]}
        noise = {place for place, moves in enumerate(rows) if moves[1]}
        if data and noise and len(data | noise) > 1:
            return one.lines[number]
    return None


def side_by_side(one: Met, other_data: Met, other_noise: Met) -> Iterator[Place]:
    """Lines where numbers that move with the data alone meet some that move with noise alone."""
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
    """Elements that meet: those at the same place; of rows of different length, each with each."""
    if len(one) == len(two):
        yield from ((i, i, a, b) for i, (a, b) in enumerate(zip(one, two, strict=True)))
    else:
        yield from ((i, j, a, b) for i, a in enumerate(one) for j, b in enumerate(two))


@contextmanager
def meetings(mechanism: Any) -> Iterator[Met]:
    """The operands that met in the runs inside, by place and turn."""
    exchanged = [(f, _telling(f)) for f in written_functions(mechanism)]
    met = Met(frozenset(f.__name__ for f, code in exchanged if code is not None))
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
