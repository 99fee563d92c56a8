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


def derive(
    name: str,
    column: Callable[[str], Floats],
    rows: Callable[[Sequence[str]], Floats],
    parts: tuple[str, ...],
    size: int,
) -> Floats:
    """The column `function(argument)`; NaN where it is not defined.

    `column` gives one column by its name, `rows` many of them as the rows of one table.
    """
    function, _, rest = name.partition("(")
    argument = rest.removesuffix(")")
    if function_of_one(name) is not None:
        return of_one(function, column(argument))
    if argument != "output" or function not in (*SUMMARIES, *PROJECTIONS, *ORDER, HOLE):
        return np.full(size, np.nan)
    if function in ("argmax", "argmin"):
        return _place(function, rows, parts, size)
    if function == HOLE:
        return _hole(rows, parts, size)
    if not parts:
        return np.full(size, np.nan)
    if function == "repeats":
        return _repeats(rows(parts))
    if function in ORDER:
        return _in_order(function, rows, parts, size)
    if function == "jump":
        return _jump(rows, parts, size)
    if function == "gap":
        return _gap(rows(parts))
    return swept(parts, rows, size)[function]


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


def function_of_one(name: str) -> str | None:
    """The function, if the column is a function of one other column; else None."""
    function, _, rest = name.partition("(")
    return function if rest.endswith(")") and _of_one(function) is not None else None


def of_one(function: str, values: Floats) -> Floats:
    """A function of one number, of each of these."""
    found = _of_one(function)
    if found is None:
        raise ValueError(f"{function} is no function of one number")
    return found(values)


@lru_cache(maxsize=1 << 10)
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
    with np.errstate(invalid="ignore", over="ignore"):
        if modulus >= 1.0 and modulus == math.floor(modulus):
            result: Floats = np.mod(np.where(np.isfinite(values), values, np.nan), modulus)
            return result
        return np.where(np.isfinite(values), values - modulus * np.round(values / modulus), np.nan)


def _ones(values: Floats) -> Floats:
    """How many binary digits of a whole number are 1; NaN of all others."""
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) <= _EXACT) & (values == np.floor(values))
    binary = np.abs(np.where(whole, values, 0.0)).astype(np.uint64)
    eights = np.ascontiguousarray(binary)[..., None].view(np.uint8)
    counts = np.unpackbits(eights, axis=-1).sum(axis=-1)
    return np.where(whole, counts.astype(np.float64), np.nan)


def _negative(values: Floats) -> Floats:
    return np.where(np.isnan(values), np.nan, (values < 0.0).astype(np.float64))


def _repeats(rows: Floats) -> Floats:
    """How many numbers are equal to another; NaN where there are not two."""
    ordered = np.sort(rows, axis=0)
    return _counted(ordered[1:] == ordered[:-1], ordered)


def _in_order(
    function: str, table: Callable[[Sequence[str]], Floats], parts: tuple[str, ...], size: int
) -> Floats:
    """How often entries of a list, by their places, fall or change their sign; NaN of less."""
    places, names = _items(parts)
    if len(places) < 2:
        return np.full(size, np.nan)
    rows = table(names)
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


@lru_cache(maxsize=16)  # block after block has the same
def _items(parts: tuple[str, ...]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The places of a list's entries in increasing order, and their names."""
    places = tuple(sorted(int(found[1]) for part in parts if (found := _ITEM.fullmatch(part))))
    return places, tuple(f"output[{place}]" for place in places)


@lru_cache(maxsize=16)
def _by_name(parts: tuple[str, ...]) -> tuple[tuple[str, ...], Mapping[str, Floats]]:
    """The parts in the order of their names, and the sign of each in every sum, as columns."""
    names = tuple(sorted(parts))
    spelled = [name.encode("utf-8", "surrogatepass") for name in names]
    signs = {"sum": np.ones((len(names), 1))}
    for function in PROJECTIONS:  # a random sign depends on the name of its part alone
        start = zlib.crc32(f"{function} ".encode())
        signs[function] = np.array([[1.0 if zlib.crc32(s, start) & 8 else -1.0] for s in spelled])
    return names, signs


def _jump(rows: Callable[[Sequence[str]], Floats], parts: tuple[str, ...], size: int) -> Floats:
    """The largest difference of adjacent entries in a list; NaN if there are none."""
    places, names = _items(parts)
    follows = np.diff(places) == 1
    if not follows.any():
        return np.full(size, np.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.abs(np.diff(rows(names), axis=0))
    best: Floats = np.fmax.reduce(steps[follows], axis=0)
    return best


def _place(
    function: str, table: Callable[[Sequence[str]], Floats], parts: tuple[str, ...], size: int
) -> Floats:
    """The index of the largest or smallest number in a list; the first one in a tie.

    The index is the one in the part's name; NaN where an output has no such entries.
    """
    places, names = _items(parts)
    if not places:
        return np.full(size, np.nan)
    rows = table(names)
    extreme = np.fmax if function == "argmax" else np.fmin
    is_best = rows == extreme.reduce(rows, axis=0)  # never where there is no number
    at = np.array(places, dtype=np.float64)[is_best.argmax(axis=0)]
    return np.where(is_best.any(axis=0), at, np.nan)


def _hole(table: Callable[[Sequence[str]], Floats], parts: tuple[str, ...], size: int) -> Floats:
    """The index of the first entry that is no number, if a number follows it.

    NaN where there is none: whether a list ends there, or NaN follow, `len(output)` tells.
    """
    places, names = _items(parts)
    if not places:
        return np.full(size, np.nan)
    known = ~np.isnan(table(names))
    last = np.where(known, np.array(places)[:, None] + 1.0, 0.0).max(axis=0)
    whole = np.flatnonzero(np.array(places) != np.arange(len(places)))
    from_first = known[: whole[0] if whole.size else len(places)]  # without a gap in the names
    rising = np.logical_and.accumulate(from_first, axis=0).sum(axis=0, dtype=np.float64)
    return np.where(rising < last, rising, np.nan)


def swept(
    parts: tuple[str, ...], table: Callable[[Sequence[str]], Floats], size: int
) -> dict[str, Floats]:
    """All summaries that one pass over the parts can compute.

    Sums are taken one column after the other: adding 0 for what is missing is exact, regrouping
    is not.
    """
    names, signs = _by_name(parts)
    high, low = np.full(size, -np.inf), np.full(size, np.inf)
    squares, zeros = np.zeros(size), np.zeros(size)
    sums = dict.fromkeys(signs, np.zeros(size))
    known = np.zeros(size, np.bool_)
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(names), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            rows = table(names[some])
            missing = np.isnan(rows)
            known |= ~missing.all(axis=0)
            high = np.fmax(high, np.fmax.reduce(rows, axis=0))
            low = np.fmin(low, np.fmin.reduce(rows, axis=0))
            zeros = zeros + np.count_nonzero(rows == 0.0, axis=0)
            filled = np.where(missing, 0.0, rows) if missing.any() else rows
            squares = added(squares, filled * filled)
            for function, own in signs.items():
                sums[function] = added(sums[function], filled * own[some])
        found = {"max": high, "min": low, "spread": high - low, "zeros": zeros}
        found |= {"norm": np.sqrt(squares)} | sums
        rounded = {name: _rounded(values, high, low) for name, values in found.items()}
    return {name: np.where(known, values, np.nan) for name, values in rounded.items()}


def added(total: Floats, terms: Floats) -> Floats:
    """Add the rows one by one to what is there, which `terms` is used up for.

    numpy adds rows one after the other where there are two columns or more, but the numbers of
    one column in another order, and a sum must not depend on the number of draws in a block.
    """
    terms[0] += total
    if terms.shape[1] < 2:
        return np.array(np.add.accumulate(terms, axis=0)[-1])
    result: Floats = np.add.reduce(np.ascontiguousarray(terms), axis=0)
    return result


def _gap(rows: Floats) -> Floats:
    """The smallest difference between two numbers of an output; NaN if it has fewer than two."""
    ordered = np.sort(np.ascontiguousarray(rows.T), axis=1)  # NaN last
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(ordered, axis=1)
    best = np.fmin.reduce(steps, axis=1) if steps.shape[1] else np.full(len(ordered), np.nan)
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
