"""Columns that are functions of other columns: `max(output)`, and what the bits of a float show.

A float x ≠ 0 is an odd integer times 2^k. `lowest_bit(output)` is k, `zero_bits(output)` how many
zeros end its significand of 53 bits, `low_bits(output)` the last three bits of that. Noise that
is added in floating point leaves traces there: the sum of two floats is a multiple of the smaller
of their last places, so a small output that came from 1 + noise has zeros where one that came from
0 + noise has random bits. [Mironov, CCS 2012]
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

SUMMARIES = ("max", "min", "sum", "argmax", "argmin", "spread")
BITS = ("lowest_bit", "zero_bits", "low_bits")


def derive(name: str, column: Callable[[str], Floats], parts: Sequence[str], size: int) -> Floats:
    """The column `function(argument)`; all NaN where there is no such thing."""
    function, _, rest = name.partition("(")
    argument = rest.removesuffix(")")
    if function in BITS and rest.endswith(")"):
        return _bits(function, column(argument))
    if function in SUMMARIES and argument == "output" and parts:
        return _summary(function, np.column_stack([column(part) for part in parts]))
    return np.full(size, np.nan)


def _summary(function: str, rows: Floats) -> Floats:
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
                values = np.nansum(rows, axis=1)
            case "argmax":
                values = filled.argmax(axis=1).astype(np.float64)
            case "argmin":
                values = low.argmin(axis=1).astype(np.float64)
            case _:
                values = filled.max(axis=1) - low.min(axis=1)
    return np.where(empty, np.nan, _rounded(values, filled, low))


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
    lowest = np.log2((integer & -integer).astype(np.float64))
    match function:
        case "lowest_bit":
            found = exponent - 53.0 + lowest
        case "zero_bits":
            found = lowest
        case _:
            found = (integer & 7).astype(np.float64)
    return np.where(finite, found, np.nan)
