"""The source text from which a function was compiled."""

import ast
import linecache
import types
import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from dpverify.certifying.symbolic.reasons import NotUnderstood

Definition: TypeAlias = ast.FunctionDef | ast.Lambda


def definition_of(function: types.FunctionType) -> Definition:
    """The definition from which a function was compiled; raise if the text has changed."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    codes, definitions = _read(text, code.co_filename)
    if code not in codes:
        raise NotUnderstood("its source cannot be read, or is not what runs", place_of(function))
    named = [d for d in definitions if _first_line(d) == code.co_firstlineno]
    found = [d for d in named if _name(d) == code.co_name]
    if len(found) != 1:
        raise NotUnderstood("its source cannot be told from others on its line", place_of(function))
    return found[0]


def place_of(function: types.FunctionType) -> str:
    """The place where a function begins, as file:line."""
    code = function.__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


@lru_cache(maxsize=64)
def _read(text: str, filename: str) -> tuple[list[types.CodeType], list[Definition]]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when it was imported
            compiled = compile(text, filename, "exec", dont_inherit=True)
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return [], []
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    return list(_codes(compiled)), found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield inner
            yield from _codes(inner)


def _first_line(definition: Definition) -> int:
    decorators = [] if isinstance(definition, ast.Lambda) else definition.decorator_list
    return (decorators[0] if decorators else definition).lineno


def _name(definition: Definition) -> str:
    return "<lambda>" if isinstance(definition, ast.Lambda) else definition.name
