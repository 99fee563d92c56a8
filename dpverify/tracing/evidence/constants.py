"""The numbers that a mechanism contains: in its code, defaults and closures."""

# ruff: noqa: ANN401  # mechanisms and what they hold are whatever the user has

import dis
import re
import types
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from dpverify.tracing.noise.shapes import is_noisy
from dpverify.tracing.recording.places import is_inside, written_function

_MOST_CODES = 20  # functions that are looked into
_WRITTEN_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
_MOST_WRITTEN = 4  # numbers of one text


def numbers_of(mechanism: Any) -> list[float]:
    """Numbers of a function and those it calls; numbers in comparisons come first.

    >>> numbers_of(lambda data, rng, cap=5: 2.5 < data * 3 < cap)
    [2.5, 3.0, 5.0]
    """
    function = written_function(mechanism)
    compared: dict[float, None] = {}
    others: dict[float, None] = dict.fromkeys(_numbers(_held(mechanism, function)))
    waiting = [(getattr(function, "__code__", None), getattr(function, "__globals__", {}))]
    done: set[Any] = set()
    while waiting and len(done) < _MOST_CODES:
        code, names = waiting.pop(0)
        if code is None or code in done or is_inside(code.co_filename):
            continue
        done.add(code)
        last: list[float] = []
        for step in dis.get_instructions(code):
            if step.opname in {"COMPARE_OP", "CONTAINS_OP"}:
                compared.update(dict.fromkeys(last))
                last = []
            elif step.opname in {"LOAD_CONST", "LOAD_GLOBAL"}:
                value = names.get(step.argval) if step.opname == "LOAD_GLOBAL" else step.argval
                if isinstance(value, types.CodeType):
                    waiting.append((value, names))
                elif isinstance(value, types.FunctionType):
                    waiting.append((value.__code__, value.__globals__))
                found = list(_numbers(value))
                last = [*last[-1:], *found]
                others.update(dict.fromkeys(found))
    return list({**compared, **others})


def spots_of(mechanism: Any) -> list[float]:
    """Values at which a number may decide: just above each constant, and between two of them."""
    known = numbers_of(mechanism)
    ranked = sorted(set(known))
    between = [(one + two) / 2 for one, two in pairwise(ranked)]
    return [*(number + 1e-9 * max(1.0, abs(number)) for number in known), *between]


def _held(mechanism: Any, function: Any) -> list[Any]:
    """Values that are in no code: arguments of a partial, defaults, attributes, closures."""
    inner = getattr(mechanism, "func", mechanism)
    owner = getattr(inner, "__self__", inner)
    cells = getattr(function, "__closure__", None) or ()
    return [
        getattr(mechanism, "args", ()),
        getattr(mechanism, "keywords", {}),
        getattr(function, "__defaults__", None),
        getattr(function, "__kwdefaults__", None),
        getattr(owner, "__dict__", {}),
        [cell.cell_contents for cell in cells if cell != types.CellType()],
    ]


def _numbers(value: Any, depth: int = 0) -> Iterator[float]:
    if is_noisy(value):  # kept from an earlier call
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)) and depth < 2:
        for part in value:
            yield from _numbers(part, depth + 1)
    elif isinstance(value, str):
        for found in _WRITTEN_NUMBER.findall(value)[:_MOST_WRITTEN]:
            yield from _numbers(float(found), depth + 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
        yield float(value)
