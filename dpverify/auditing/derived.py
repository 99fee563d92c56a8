"""Columns that are functions of other columns: `max(output)`, and what the bits of a float show.

What is derived for a draw depends on its own numbers alone. A block has a column for every part
that any of its draws has, NaN elsewhere, so such columns must change nothing: no function may see
how many columns there are, or in which order they came.

A float x ≠ 0 is an odd integer times 2^k. `lowest_bit(output)` is k, `zero_bits(output)` how many
zeros end its significand of 53 bits, `low_bits(output)` the last three bits of that. Noise that
is added in floating point leaves traces there: the sum of two floats is a multiple of the smaller
of their last places, so a small output that came from 1 + noise has zeros where one that came from
0 + noise has random bits. [Mironov, CCS 2012]
"""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

SUMMARIES = ("max", "min", "sum", "argmax", "argmin", "spread")
BITS = ("lowest_bit", "zero_bits", "low_bits")

_ITEM = re.compile(r"output\[(\d+)\]")  # an entry of a list, not one of an entry of it


def derive(name: str, column: Callable[[str], Floats], parts: Sequence[str], size: int) -> Floats:
    """The column `function(argument)`; all NaN where there is no such thing."""
    function, _, rest = name.partition("(")
    argument = rest.removesuffix(")")
    if function in BITS and rest.endswith(")"):
        return _bits(function, column(argument))
    if argument != "output" or function not in SUMMARIES:
        return np.full(size, np.nan)
    if function in ("argmax", "argmin"):
        return _place(function, column, parts, size)
    if not parts:
        return np.full(size, np.nan)
    return _summary(function, [column(part) for part in sorted(parts)])


def _place(
    function: str, column: Callable[[str], Floats], parts: Sequence[str], size: int
) -> Floats:
    """Which entry of a list is its largest or least number, the first of them if there are ties.

    The index is the one in the part's name; NaN where an output has no such entries.
    """
    places = sorted(int(found[1]) for part in parts if (found := _ITEM.fullmatch(part)))
    if not places:
        return np.full(size, np.nan)
    rows = np.column_stack([column(f"output[{place}]") for place in places])
    extreme = np.fmax if function == "argmax" else np.fmin
    is_best = rows == extreme.reduce(rows, axis=1)[:, None]  # never where there is no number
    at = np.array(places, dtype=np.float64)[is_best.argmax(axis=1)]
    return np.where(is_best.any(axis=1), at, np.nan)


def _summary(function: str, columns: Sequence[Floats]) -> Floats:
    rows = np.column_stack(columns)
    empty = np.isnan(rows).all(axis=1)
    filled = np.where(np.isnan(rows), -np.inf, rows)
    low = np.where(np.isnan(rows), np.inf, rows)
    with np.errstate(invalid="ignore"):
        match function:
            case "max":
                values = filled.max(axis=1)
            case "min":
                values = low.min(axis=1)
            case "sum":
                values = _sum(columns)
            case _:
                values = filled.max(axis=1) - low.min(axis=1)
    return np.where(empty, np.nan, _rounded(values, filled, low))


def _sum(columns: Sequence[Floats]) -> Floats:
    """One column after the other: adding 0 for what is missing is exact, regrouping is not."""
    total = np.zeros(len(columns[0]))
    for values in columns:
        total += np.where(np.isnan(values), 0.0, values)
    return total


def _rounded(values: Floats, filled: Floats, low: Floats) -> Floats:
    """`values` to 40 bits below the row's largest number, so that round-off does not show."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(filled.max(axis=1)), np.abs(low.min(axis=1)))
    finite = np.isfinite(size) & (size > 1e-200) & np.isfinite(values)
    unit = np.ldexp(1.0, np.frexp(np.where(finite, size, 1.0))[1] - 40)
    return np.where(finite, np.round(np.where(finite, values, 0.0) / unit) * unit, values)


def _bits(function: str, values: Floats) -> Floats:
    finite = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(finite, values, 1.0))
    integer = np.abs(fraction * 2.0**53).astype(np.int64)  # in [2^52, 2^53)
    lowest = np.frexp((integer & -integer).astype(np.float64))[1] - 1.0  # of a power of two: exact
    match function:
        case "lowest_bit":
            found = exponent - 53.0 + lowest
        case "zero_bits":
            found = lowest
        case _:
            found = (integer & 7).astype(np.float64)
    return np.where(finite, found, np.nan)
