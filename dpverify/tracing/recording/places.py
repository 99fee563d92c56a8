"""The line of user code that is responsible: file, line and source text."""

# ruff: noqa: ANN401  # mechanisms are whatever the user has

import linecache
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_STANDARD = str(Path(linecache.__file__).parent)
OWN = str(Path(__file__).parents[1])
_PACKAGE = str(Path(__file__).parents[2])
_INSIDE = (
    *("numpy", "scipy", "pandas", "torch", "opendp", "diffprivlib", "sklearn", "joblib"),
    *("dpverify", "solvers", "opacus", "pyarrow", "dateutil", "numexpr", "bottleneck"),
)
_SOLVERS = str(Path(_PACKAGE).with_name("solvers"))


@dataclass(frozen=True, slots=True)
class Place:
    """A line of source code.

    >>> Place("/home/me/release.py", 14, "release").where
    'release.py:14'
    """

    filename: str
    line: int
    function: str

    @property
    def where(self) -> str:
        return f"{Path(self.filename).name}:{self.line}"

    @property
    def source(self) -> str:
        """The source line without indentation; empty if there is no file."""
        return linecache.getline(self.filename, self.line).strip()

    def __str__(self) -> str:
        shown = self.source.removesuffix(":")  # of a `def` or an `if`: another colon may follow
        return f"{self.where}: {shown}" if shown else self.where


class Located:
    """Something found at a line of source code."""

    __slots__ = ()
    place: Place

    @property
    def where(self) -> str:
        """File and line: "release.py:14"."""
        return self.place.where

    @property
    def source(self) -> str:
        """The source line."""
        return self.place.source


_DECORATORS = 20  # lines above a function at most
NOWHERE = Place("<unknown>", 0, "")


@lru_cache(maxsize=4096)
def is_inside(filename: str) -> bool:
    """Whether a file belongs to a library through which noise only passes."""
    if filename.startswith((_PACKAGE, _SOLVERS, "<frozen", "<__array_function__", "<string>")):
        return True
    parts = Path(filename).parts
    if "site-packages" in parts:
        return parts[len(parts) - 1 - parts[::-1].index("site-packages") + 1] in _INSIDE
    return filename.startswith(_STANDARD)


@lru_cache(maxsize=4096)
def _place(filename: str, line: int, function: str) -> Place:
    return Place(filename, line, function)


CALLERS: dict[tuple[int, int], tuple[CodeType, Place]] = {}
"""Instructions of users' code that were asked for before; with the code, so that its id is kept."""
_MOST_CALLERS = 4096
_STAND_INS = {str(path) for path in Path(OWN, "noise").glob("*.py")}
"""Files through which a call passes on its way from the user's code."""


def here(depth: int = 2) -> Place:
    """The caller's line outside this package and the noise libraries."""
    caller = sys._getframe(depth)  # noqa: SLF001  # the only way to see a caller
    found = CALLERS.get((id(caller.f_code), caller.f_lasti))
    return _line_outside(caller) if found is None else found[1]


def _line_outside(caller: FrameType) -> Place:
    """The first line outside, starting from a frame; results are cached."""
    code = caller.f_code
    while code.co_filename in _STAND_INS and caller.f_back is not None:
        caller = caller.f_back
        code = caller.f_code
    found = CALLERS.get((id(code), caller.f_lasti))
    if found is not None:
        return found[1]
    if not is_inside(code.co_filename):
        place = _place(code.co_filename, caller.f_lineno, code.co_name)
        if len(CALLERS) >= _MOST_CALLERS:
            CALLERS.clear()
        CALLERS[id(code), caller.f_lasti] = (code, place)
        return place
    frame: FrameType | None = caller
    first: FrameType | None = None
    while frame is not None:
        code = frame.f_code
        if not is_inside(code.co_filename):
            return _place(code.co_filename, frame.f_lineno, code.co_name)
        if first is None and not code.co_filename.startswith(OWN):
            first = frame
        if first is not None and code.co_filename.startswith(OWN):
            break  # the tracer itself called what is on the stack: there is no user's line
        frame = frame.f_back
    if first is None:
        return NOWHERE
    return _place(first.f_code.co_filename, first.f_lineno, first.f_code.co_name)


def written_function(mechanism: object) -> Any:
    """The function behind a partial, wrapper, method or callable object."""
    found: Any = getattr(mechanism, "func", mechanism)
    found = getattr(found, "__wrapped__", found)
    if not hasattr(found, "__code__") and not hasattr(found, "__func__"):
        kind = vars(type(found))
        found = kind.get("sample") or kind.get("__call__")
    return getattr(found, "__func__", found)


def definition(mechanism: object) -> Place:
    """Where a callable is defined, if that can be found."""
    code = getattr(written_function(mechanism), "__code__", None)
    if code is None:
        return NOWHERE
    lines = range(code.co_firstlineno, code.co_firstlineno + _DECORATORS)
    heads = (n for n in lines if f"def {code.co_name}" in linecache.getline(code.co_filename, n))
    return Place(code.co_filename, next(heads, code.co_firstlineno), code.co_name)
