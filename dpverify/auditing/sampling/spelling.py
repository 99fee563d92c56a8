"""Canonical texts of outputs: equal outputs have equal texts."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpverify.auditing.sampling.parts import (
    EXACT,
    Died,
    Elements,
    Exact,
    Fields,
    LongText,
    Opaque,
    Raised,
    Read,
    SetAside,
    TimedOut,
    digested,
)

SET_ASIDE = "\x1aset aside"  # the text of a failure that is in no event; no `repr` is like it
FAILED = ("raises ", "times out", "dies by ")  # how the texts of other failures begin
SPELLED = 64  # numbers of an array that are written one by one
_LONGEST = 2_000  # characters


def canonical(output: object, *, numeric: bool = False) -> str:  # noqa: C901, PLR0912
    """A text that equal outputs share; 3 and 3.0 are equal, and with `numeric` also 1 and True.

    >>> canonical((1, None, [True, 2.5]))
    '(1, None, (True, 2.5))'
    """
    text = spelled if numeric else canonical
    match output:
        case Read(parts=parts):
            return text(parts)
        case Raised(kind=kind):
            return f"raises {kind}"
        case TimedOut():
            return "times out"
        case Died(how=how):
            return f"dies by {how}"
        case SetAside():
            return SET_ASIDE
        case Opaque(text=shown) | Exact(text=shown) | LongText(text=shown):
            return shown
        case bool() | np.bool_():
            return str(int(output) if numeric else bool(output))
        case int() | np.integer():
            return str(int(output))
        case float() | np.floating():
            return number_text(float(output))
        case str():
            return str.__repr__(output)  # numpy writes np.str_('a')
        case bytes() | bytearray() | memoryview():
            return bytes.__repr__(bytes(output))
        case np.ndarray():
            return row_text(output) if output.size > SPELLED else text(output.tolist())
        case Mapping():
            pairs = sorted((text(k), text(v)) for k, v in output.items())
            return "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        case Elements(items=items):
            return "{" + ", ".join(sorted(text(item) for item in items)) + "}"
        case set() | frozenset():
            return "{" + ", ".join(sorted(text(item) for item in output)) + "}"
        case Fields(kind=kind, items=items):
            return f"{kind}({', '.join(f'{name}={text(item)}' for name, item in items)})"
        case list() | tuple():
            return joined_text(text(item) for item in output)
        case _:
            found = repr(output)
            # An address in memory would make equal outputs differ.
            return type(output).__name__ if " at 0x" in found else found


# The text of an output: arrays do not tell True from 1, so no output does.
spelled = partial(canonical, numeric=True)


def shortened(text: str) -> str:
    """The text itself, or its beginning and a digest of all of it."""
    return text if len(text) <= _LONGEST else digested(text)


def number_text(value: float) -> str:
    """The text of a number; −0.0 is written 0.0, and 3.0 is written 3."""
    whole = math.isfinite(value) and abs(value) <= EXACT and value == math.floor(value)
    return str(int(value)) if whole else repr(value)


def joined_text(texts: Iterable[str]) -> str:
    return "(" + ", ".join(texts) + ")"


def nested_text(row: Any) -> str:  # noqa: ANN401  # a float, or a list of rows
    return joined_text(map(nested_text, row)) if isinstance(row, list) else number_text(row)


def row_text(array: NDArray[Any]) -> str:
    """The text of an array of numbers; its shape and a digest if it is long."""
    if array.size <= SPELLED:
        return nested_text(array.tolist())
    plain = np.ascontiguousarray(array, np.float64) + 0.0
    plain[np.isnan(plain)] = np.nan
    digest = hashlib.blake2b(plain.tobytes(), digest_size=12).hexdigest()
    return f"array of shape {array.shape} (digest {digest})"
