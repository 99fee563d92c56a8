"""Features computed from other columns: `max(output)`, and what the bits of a float show.

What is derived for a draw depends on its own numbers alone. A block has a column for every part
that any of its draws has, NaN elsewhere, so such columns must change nothing: no function may see
how many columns there are, or in which order they came.

A float x ≠ 0 is an odd integer times 2^k. `lowest_bit(output)` is k, `zero_bits(output)` how many
zeros end its significand of 53 bits, `low_bits(output)` the last three bits of that. Noise that
is added in floating point leaves traces there: the sum of two floats is a multiple of the smaller
of their last places, so a small output that came from 1 + noise has zeros where one that came from
0 + noise has random bits. [Mironov, CCS 2012]

A whole number may be a code of many answers: `binary3(output)` and `ternary3(output)` are its
digits in bases 2 and 3, which are the answers where it was written in one of these. Of other whole
numbers the last binary digits alone are looked at.
"""

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from dpverify.arrays import Floats

SUMMARIES = ("max", "min", "sum", "argmax", "argmin", "spread", "norm", "zeros", "gap", "jump")
PROJECTIONS = tuple(f"projection{i}" for i in range(4))  # sums with random signs
HOLE = "hole"  # the place of the first entry without a number
SWEPT = frozenset({"max", "min", "spread", "sum", "norm", "zeros", *PROJECTIONS})
_AT_ONCE = 256  # columns
BITS = ("lowest_bit", "zero_bits", "low_bits")
BASES = {"binary": 2, "ternary": 3}
MOST_CODED = 1 << 20  # that a code of answers may be
_EXACT = 1 << 53  # up to which floats hold all whole numbers

_DIGIT = re.compile(r"(binary|ternary)(\d+)")

_ITEM = re.compile(r"output\[(\d+)\]")  # an entry of a list, not one of an entry of it


def derive(name: str, column: Callable[[str], Floats], parts: Sequence[str], size: int) -> Floats:
    """The column `function(argument)`; NaN where it is not defined."""
    function, _, rest = name.partition("(")
    argument = rest.removesuffix(")")
    if function in BITS and rest.endswith(")"):
        return _bits(function, column(argument))
    digit = _DIGIT.fullmatch(function)
    if digit and rest.endswith(")"):
        return _digit(column(argument), BASES[digit[1]], int(digit[2]))
    if argument != "output" or function not in (*SUMMARIES, *PROJECTIONS, HOLE):
        return np.full(size, np.nan)
    if function in ("argmax", "argmin"):
        return _place(function, column, parts, size)
    if function == HOLE:
        return _hole(column, parts, size)
    if not parts:
        return np.full(size, np.nan)
    if function == "jump":
        return _jump(column, parts, size)
    if function == "gap":
        return _gap([column(part) for part in parts])
    return swept({part: column(part) for part in parts})[function]


def digits(largest: float) -> list[str]:
    """The names of the digits of numbers up to this one, in every base."""
    return [
        f"{name}{place}(output)"
        for name, base in BASES.items()
        for place in range(int(np.log(max(largest, 1.0)) / np.log(base) + 1e-9) + 1)
    ]


def _digit(values: Floats, base: int, place: int) -> Floats:
    """One digit of whole numbers up to 2^53, in two's complement; NaN for all other numbers."""
    with np.errstate(invalid="ignore"):
        coded = (np.abs(values) <= _EXACT) & (values == np.floor(values))
    whole = np.where(coded, values, 0.0).astype(np.int64)
    return np.where(coded, (whole // base**place % base).astype(np.float64), np.nan)


@lru_cache(maxsize=1 << 18)
def _sign(function: str, part: str) -> float:
    """A random sign that depends only on the name of the part."""
    return 1.0 if zlib.crc32(f"{function} {part}".encode("utf-8", "surrogatepass")) & 8 else -1.0


def _jump(column: Callable[[str], Floats], parts: Sequence[str], size: int) -> Floats:
    """The largest difference of adjacent entries in a list; NaN if there are none."""
    places = {int(found[1]) for part in parts if (found := _ITEM.fullmatch(part))}
    best = np.full(size, np.nan)
    with np.errstate(invalid="ignore"):
        for place in sorted(places):
            if place + 1 in places:
                step = np.abs(column(f"output[{place + 1}]") - column(f"output[{place}]"))
                best = np.fmax(best, step)
    return best


def _place(
    function: str, column: Callable[[str], Floats], parts: Sequence[str], size: int
) -> Floats:
    """The index of the largest or smallest number in a list; the first one in a tie.

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


def _hole(column: Callable[[str], Floats], parts: Sequence[str], size: int) -> Floats:
    """The index of the first entry that is no number, if a number follows it.

    NaN where there is none: whether a list ends there, or NaN follow, `len(output)` tells.
    """
    places = {int(found[1]) for part in parts if (found := _ITEM.fullmatch(part))}
    rising = np.zeros(size)  # the place after the numbers that come without a gap
    last = np.zeros(size)  # the place after the last number
    for place in sorted(places):
        known = ~np.isnan(column(f"output[{place}]"))
        rising = np.where(known & (rising == place), place + 1.0, rising)
        last = np.where(known, place + 1.0, last)
    return np.where(rising < last, rising, np.nan)


def swept(parts: Mapping[str, Floats]) -> dict[str, Floats]:
    """All summaries that one pass over the parts can compute.

    Sums are taken one column after the other: adding 0 for what is missing is exact, regrouping
    is not.
    """
    names = sorted(parts)
    size = len(parts[names[0]])
    high, low = np.full(size, -np.inf), np.full(size, np.inf)
    squares, zeros = np.zeros(size), np.zeros(size)
    sums = dict.fromkeys(("sum", *PROJECTIONS), np.zeros(size))
    known = np.zeros(size, np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            rows = np.array([parts[name] for name in some])
            missing = np.isnan(rows)
            known |= ~missing.all(axis=0)
            high = np.fmax(high, np.fmax.reduce(rows, axis=0))
            low = np.fmin(low, np.fmin.reduce(rows, axis=0))
            zeros = zeros + np.count_nonzero(rows == 0.0, axis=0)
            filled = np.where(missing, 0.0, rows) if missing.any() else rows
            squares = _added(squares, filled * filled)
            sums["sum"] = _added(sums["sum"], filled)
            for function in PROJECTIONS:
                signs = [_sign(function, name) for name in some]
                sums[function] = _added(sums[function], filled, signs)
        found = {"max": high, "min": low, "spread": high - low, "zeros": zeros}
        found |= {"norm": np.sqrt(squares)} | sums
        rounded = {name: _rounded(values, high, low) for name, values in found.items()}
    return {name: np.where(known, values, np.nan) for name, values in rounded.items()}


def _added(total: Floats, terms: Floats, signs: Sequence[float] | None = None) -> Floats:
    """Add the terms one by one: numpy's own sum depends on the number of draws in a block."""
    result = total.copy()
    if signs is None:
        for row in terms:
            result += row
        return result
    for row, sign in zip(terms, signs, strict=True):
        if sign > 0.0:
            result += row
        else:
            result -= row
    return result


def _gap(columns: Sequence[Floats]) -> Floats:
    """The smallest difference between two numbers of an output; NaN if it has fewer than two."""
    rows = np.sort(np.column_stack(columns), axis=1)  # NaN last
    with np.errstate(invalid="ignore"):
        steps = np.diff(rows, axis=1)
    best = np.fmin.reduce(steps, axis=1) if steps.shape[1] else np.full(len(rows), np.nan)
    result: Floats = best
    return result


def _rounded(values: Floats, high: Floats, low: Floats) -> Floats:
    """`values` rounded to 40 bits below the row's largest number, which hides round-off."""
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(high), np.abs(low))
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
