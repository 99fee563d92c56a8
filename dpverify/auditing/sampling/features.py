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
numbers the last binary digits alone are looked at, and remainders: `mod7(output)`. That of a number
with a fraction, as in `mod0.02(output)`, is how far it is from the nearest multiple, which shows
its digits and what it is rounded to.

What several numbers have to do with each other: `repeats(output)`, how many are equal to another;
`falls(output)`, in how many places a list falls; `inversions(output)`, how many pairs it has in
falling order; `turns(output)`, how often its sign changes.
"""

import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import numpy as np

from dpverify.arrays import Floats, Mask

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

ORDER = ("repeats", "falls", "inversions", "turns")
MOST_INVERTED = 32  # numbers
_MODULUS = re.compile(r"mod(\d+(?:\.\d+)?(?:e[+-]?\d+)?)")
_ITEM = re.compile(r"output\[(\d+)\]")  # an entry of a list, not one of an entry of it


def derive(name: str, column: Callable[[str], Floats], parts: Sequence[str], size: int) -> Floats:
    """The column `function(argument)`; NaN where it is not defined."""
    function, _, rest = name.partition("(")
    argument = rest.removesuffix(")")
    of_one = _of_one(function) if rest.endswith(")") else None
    if of_one is not None:
        return of_one(column(argument))
    if argument != "output" or function not in (*SUMMARIES, *PROJECTIONS, *ORDER, HOLE):
        return np.full(size, np.nan)
    if function in ("argmax", "argmin"):
        return _place(function, column, parts, size)
    if function == HOLE:
        return _hole(column, parts, size)
    if not parts:
        return np.full(size, np.nan)
    if function == "repeats":
        return _repeats(column, parts)
    if function in ORDER:
        return _in_order(function, column, parts)
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


def _of_one(function: str) -> Callable[[Floats], Floats] | None:
    """A function of one number, by its name; None if there is none."""
    if function in BITS:
        return partial(_bits, function)
    if digit := _DIGIT.fullmatch(function):
        return partial(_digit, base=BASES[digit[1]], place=int(digit[2]))
    if (modulus := _MODULUS.fullmatch(function)) and 0.0 < float(modulus[1]) < math.inf:
        return partial(_remainder, modulus=float(modulus[1]))
    return {"ones": _ones, "negative": _negative}.get(function)


def _remainder(values: Floats, modulus: float) -> Floats:
    """What is left of whole numbers; of a fraction of 1, how far the nearest multiple of it is."""
    with np.errstate(invalid="ignore"):
        if modulus >= 1.0 and modulus == math.floor(modulus):
            result: Floats = np.mod(np.where(np.isfinite(values), values, np.nan), modulus)
            return result
        return np.where(np.isfinite(values), values - modulus * np.round(values / modulus), np.nan)


def _ones(values: Floats) -> Floats:
    """How many binary digits of a whole number are 1; NaN of all others."""
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) <= _EXACT) & (values == np.floor(values))
    binary = np.abs(np.where(whole, values, 0.0)).astype(np.uint64)
    counts = np.unpackbits(binary.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=1)
    return np.where(whole, counts.astype(np.float64), np.nan)


def _negative(values: Floats) -> Floats:
    return np.where(np.isnan(values), np.nan, (values < 0.0).astype(np.float64))


def _repeats(column: Callable[[str], Floats], parts: Sequence[str]) -> Floats:
    """How many numbers are equal to another; NaN where there are not two."""
    ordered = np.sort(np.array([column(part) for part in parts]), axis=0)
    return _counted(ordered[1:] == ordered[:-1], ordered)


def _in_order(function: str, column: Callable[[str], Floats], parts: Sequence[str]) -> Floats:
    """How often entries of a list, by their places, fall or change their sign; NaN of less."""
    places = sorted({int(found[1]) for part in parts if (found := _ITEM.fullmatch(part))})
    rows = np.array([column(f"output[{place}]") for place in places])
    if len(places) < 2:
        return np.full(len(column(parts[0])), np.nan)
    follows = np.diff(places)[:, None] == 1
    with np.errstate(invalid="ignore", over="ignore"):
        match function:
            case "falls":
                where = (rows[1:] < rows[:-1]) & follows
            case "turns":
                where = (rows[1:] * rows[:-1] < 0.0) & follows
            case _:
                where = np.concatenate([rows[i + 1 :] < rows[i] for i in range(len(rows) - 1)])
    return _counted(where, rows)


def _counted(where: Mask, rows: Floats) -> Floats:
    """How often something is so, for every draw that has two of these numbers."""
    enough = np.count_nonzero(~np.isnan(rows), axis=0) > 1
    return np.where(enough, np.count_nonzero(where, axis=0).astype(np.float64), np.nan)


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
