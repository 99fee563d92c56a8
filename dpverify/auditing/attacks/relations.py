"""Events about what parts have to do with each other, and about what is left of them.

- *Relations*: what parts share, repeat and in which order they stand (`sampling.relations`).
- *Remainders* of whole numbers by all moduli up to 128 and those of clocks, bits and decimals; and
  of fractions by powers of 10 and 2, which show their digits and what they are rounded to.
- *Parities* of any set of bits, found by Gaussian elimination over the field of two elements.
- *Weighted sums* of numbers that spread differently on the two sides, such as one that is constant.

All that is looked at here is reduced to a few candidates on few draws. Like everything that is
proposed these are counted on draws that did not choose them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from dpverify.auditing.attacks.cuts import (
    intervals,
    most_linked,
    scanned,
    thresholds,
)
from dpverify.auditing.attacks.draws import (
    WITH_BITS,
    Draws,
    Goal,
    Proposal,
    all_columns,
    is_part,
    merit_of,
    uncounted,
)
from dpverify.auditing.attacks.events import Linear
from dpverify.auditing.attacks.proposals import ATTACKS, Attack, Cut, Families, Family, Learned
from dpverify.auditing.attacks.sets import values
from dpverify.auditing.sampling.drawing import LOSS, Side
from dpverify.auditing.sampling.features import MOST_INVERTED, ORDER
from dpverify.auditing.sampling.outputs import WHOLE, Outputs
from dpverify.auditing.sampling.parts import EXACT
from dpverify.auditing.sampling.relations import is_counted

_GLANCE = 128  # draws a side
_LOOKED_AT = 1_024  # draws a side that candidates are chosen from
_MOST = 2_048  # numbers
_MOST_WHOLE = 12  # numbers whose remainders are looked at
_MODULI = (
    *range(2, 129),
    *(1 << power for power in range(8, 31)),
    *(10**power for power in range(3, 10)),
    *(144, 168, 180, 200, 250, 255, 360, 365, 366, 500, 720, 1_440, 3_600, 86_400, 604_800),
)
_COARSE = 8  # parts that remainders are counted in, besides each by itself
_FINE = 1_024  # remainders that are counted one by one
_STEPS = [
    *(f"{factor}e-{power}" for power in range(7) for factor in (1, 2)),
    *(repr(2.0**-power) for power in range(1, 11)),
]
_KEPT = 2
_MOST_REMAINDERS = 64  # of which sets are looked for
_MOST_BITS = 48  # binary digits of one number
_MOST_ROWS = 256  # draws a side that a parity must hold for
_MOST_PARITIES = 6
_SPARE = 12  # draws more than bits, so that none holds by accident
_MOST_WEIGHTED = 64
_LEAST_PER_WEIGHT = 3  # draws
_LINKED = 8
_FLAT = 1e-13  # of the largest spread: less is round-off
_DIGITS = 9  # of the weights


def _heads(seen: Draws, names: Sequence[str], most: int = _GLANCE) -> Floats:
    """The first values of each of these columns, as rows."""
    return np.concatenate(
        [side.between(0, most).rows(names) for side in (seen.left, seen.right)], axis=1
    )


def _first(
    seen: Draws, names: Sequence[str], told: Callable[[Floats], bool], most: int
) -> list[str]:
    """The first of these columns whose first values tell this."""
    heads = _heads(seen, names)
    found = (name for name, values in zip(names, heads, strict=True) if told(values))
    return list(islice(found, most))


def _is_whole(heads: Floats) -> bool:
    """Whether all numbers are whole, and more than two of them differ."""
    found = heads[np.isfinite(heads)]
    return bool((found == np.floor(found)).all()) and len(np.unique(found)) > 2


def _has_fractions(heads: Floats) -> bool:
    found = heads[np.isfinite(heads)]
    return bool((found != np.floor(found)).any())


def _plain(seen: Draws) -> list[str]:
    """Columns that are numbers, not single characters."""
    left_out = ("ord(", "bytes of ")
    names = (n for n in all_columns(seen) if n != LOSS and not n.startswith(left_out))
    return list(islice(names, _MOST))


class Relations(Attack):
    """What parts of an output share, repeat, and in which order they stand."""

    name = "what parts share, repeat and in which order they stand"

    def families(self, seen: Draws) -> list[Family]:
        plain, parts = uncounted(tuple(all_columns(seen)))
        names = sorted(set(all_columns(seen)).difference(plain))
        if 1 < parts <= _MOST:
            order = [f for f in ORDER if f != "inversions" or parts <= MOST_INVERTED]
            names += [f"{function}({WHOLE})" for function in order]
        return [partial(_of_few, names)] if names else []


class Remainders(Attack):
    """What is left of whole numbers, their sum, their order and their binary digits."""

    name = "remainders of whole numbers"

    def families(self, seen: Draws) -> list[Family]:
        plain = _plain(seen)
        whole = _first(seen, plain, _is_whole, _MOST_WHOLE)
        parts = sum(map(is_part, plain))
        if any(map(is_part, whole)) and parts > 1:
            whole.append(f"sum({WHOLE})")
        if 1 < parts <= MOST_INVERTED:
            whole.append(f"inversions({WHOLE})")
        found: list[Family] = [partial(_remainders, whole)] if whole else []
        own = [name for name in whole if name.startswith(WHOLE)][:WITH_BITS]
        return found + [partial(thresholds, f"mod2(ones({name}))") for name in own]


class Digits(Attack):
    """How far numbers with fractions are from multiples of powers of 10 and 2."""

    name = "digits of fractions"

    def families(self, seen: Draws) -> list[Family]:
        broken = _first(seen, _plain(seen), _has_fractions, WITH_BITS)
        steps = [f"mod{step}({name})" for name in broken for step in _STEPS]
        return [partial(_of_few, steps)] if steps else []


class Parities(Attack):
    """Whether an odd or an even number of some bits are 1."""

    name = "parities of sets of bits"

    def families(self, seen: Draws) -> list[Family]:
        return [_parities] if len(_bits(seen)) > 1 else []


class WeightedSums(Learned):
    """Weighted sums whose spread tells the sides apart most, as intervals of them."""

    cut: ClassVar[Cut] = staticmethod(intervals)

    def is_tried(self, wanted: Families) -> bool:
        """Always, unlike what takes longer to learn."""
        return not wanted.only_bits

    def features(self, seen: Draws) -> list[str]:
        """Numbers that every output has, and that are not always the same."""
        if LOSS in seen.left.columns:
            return []
        names = [name for name in _plain(seen) if not is_counted(name)]
        heads = _heads(seen, names)
        varied = np.isfinite(heads).all(axis=1) & (heads != heads[:, :1]).any(axis=1)
        used = [name for name, varies in zip(names, varied.tolist(), strict=True) if varies]
        return used if len(used) > 1 else []

    def told(self, seen: Draws) -> set[str]:
        return {self.name} if self.features(seen) else set()


def _of_few(names: Sequence[str], seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Events about those of these numbers that look most telling on the last draws."""
    yield from scanned(names, seen, goal, glance=_LOOKED_AT, kept=_KEPT)


def _remainders(names: Sequence[str], seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Remainders by those moduli for which they differ most between the sides."""
    scores: list[tuple[float, int, str]] = []
    looked = seen.latest(_LOOKED_AT)
    for name in names:
        sides = [_whole_numbers(side.column(name)) for side in (looked.left, looked.right)]
        if all(map(len, sides)):
            spread = max(int(part.max()) for part in sides) - min(int(part.min()) for part in sides)
            found = [(_difference(sides, m), m) for m in _MODULI if m <= spread]
            scores += [(score, m, f"mod{m}({name})") for score, m in sorted(found)[-1:]]
    for _, modulus, name in sorted(scores, reverse=True)[:_KEPT]:
        yield from thresholds(name, seen, goal)
        yield from intervals(name, seen, goal)
        if modulus <= _MOST_REMAINDERS:
            yield from values(name, seen, goal)


def _whole_numbers(values: Floats) -> Ints:
    with np.errstate(invalid="ignore"):
        known = (np.abs(values) <= EXACT) & (values == np.floor(values))
    result: Ints = values[known].astype(np.int64)
    return result


def _difference(sides: Sequence[Ints], modulus: int) -> float:
    """How far two samples of remainders are apart: chi squared, in standard errors, less its mean.

    Remainders are counted one by one or, where there are many, in parts of equal length.
    """
    rests = [np.mod(part, modulus) for part in sides]
    share = len(rests[0]) / (len(rests[0]) + len(rests[1]))
    best = -np.inf
    for bins in {min(modulus, _COARSE), min(modulus, _FINE)}:
        one, other = (np.bincount(rest * bins // modulus, minlength=bins) for rest in rests)
        total = one + other
        used = total > 0
        gaps = (one - share * total)[used] ** 2 / total[used]
        free = max(len(gaps) - 1, 1)
        best = max(best, (gaps.sum() / (share * (1.0 - share)) - free) / math.sqrt(2.0 * free))
    return float(best)


def _bits(seen: Draws) -> list[str]:
    """Bits of an output: digits of few whole numbers, else whether each is odd; else its sign."""
    plain = (n for n in all_columns(seen) if n != LOSS and not is_counted(n))
    names = list(islice(plain, _MOST))
    rows = _heads(seen, names)
    known = np.flatnonzero(np.isfinite(rows).all(axis=1)).tolist()
    names, rows = [names[i] for i in known], rows[known]
    are_whole = np.all(rows == np.floor(rows), axis=1).tolist()
    whole = [name for name, is_whole in zip(names, are_whole, strict=True) if is_whole]
    own = [name for name in whole if name.startswith(WHOLE)]
    if 0 < len(own) <= WITH_BITS:
        most = dict(zip(own, np.abs(_heads(seen, own)).max(axis=1), strict=True))
        places = {
            name: min(int(np.log2(size + 1.0)) + 1, _MOST_BITS) for name, size in most.items()
        }
        return [f"binary{place}({name})" for name in own for place in range(places[name])]
    some_fall = np.any(rows < 0.0, axis=1).tolist()
    each = zip(names, are_whole, some_fall, strict=True)
    signs = [name for name, is_whole, falls in each if falls and not is_whole]
    return [*(f"binary0({name})" for name in whole), *(f"negative({name})" for name in signs)]


def _parities(seen: Draws, goal: Goal) -> Iterator[Proposal]:
    """Parities of sets of bits that one side always has, or that always tell the sides apart."""
    names = _bits(seen)
    looked = seen.latest(_MOST_ROWS)
    sides = looked.left, looked.right
    names = _different(names, looked)
    if len(names) + _SPARE > min(side.size for side in sides):
        names = most_linked(names, looked, _LINKED)
    if len(names) < 2 or len(names) + _SPARE > min(side.size for side in sides):
        return
    left, right = (
        np.vstack([side.rows(names), np.ones(side.size)]).T.astype(bool) for side in sides
    )
    told = np.concatenate([left, right]), np.repeat([False, True], [len(left), len(right)])
    both = _null_space(np.column_stack(told))
    found = [*both, *_null_space(left), *_null_space(right)]
    for chosen in sorted(found, key=np.count_nonzero)[:_MOST_PARITIES]:
        used = tuple(name for name, used in zip(names, chosen, strict=False) if used)
        event = Linear(features=used, weights=(1.0,) * len(used), bound=1.0, modulus=2.0)
        for either in (event, replace(event, bound=0.0, high=0.0)):
            for side in Side:
                merit = merit_of(either, side, seen, goal)
                yield Proposal(event=either, favors=side, merit=merit)


def _different(names: Sequence[str], seen: Draws) -> list[str]:
    """Bits that are neither constant nor the same as another, or its opposite."""
    found: dict[bytes, str] = {}
    for name, bits in zip(names, _heads(seen, names, _MOST_ROWS), strict=True):
        if not np.isnan(bits).any() and np.ptp(bits) > 0.0:
            found.setdefault((bits != bits[0]).tobytes(), name)
    return list(found.values())


def _null_space(rows: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """A basis of what every row is orthogonal to, over the field of two elements."""
    width = rows.shape[1]
    top = 8 * -(-width // 8) - 1  # the bit of the first column
    pivots: dict[int, int] = {}
    for row in rows:
        left = int.from_bytes(np.packbits(row).tobytes())
        for column, known in pivots.items():
            left ^= known * (left >> (top - column) & 1)
        if left:
            first = top + 1 - left.bit_length()
            for column, known in pivots.items():
                pivots[column] = known ^ left * (known >> (top - first) & 1)
            pivots[first] = left
    found = []
    for free in (column for column in range(width) if column not in pivots):
        vector = np.zeros(width, np.bool_)
        vector[free] = True
        for column, known in pivots.items():
            vector[column] = bool(known >> (top - free) & 1)
        found.append(vector)
    return found


def _steadiest(left: Outputs, right: Outputs, names: Sequence[str]) -> Linear | None:
    """The weighted sum that varies least on one side, compared with how it varies on both."""
    size = min(left.size, right.size, _LOOKED_AT)
    if len(names) > min(size // _LEAST_PER_WEIGHT, _MOST_WEIGHTED):
        names = most_linked(names, Draws(left, right), _LINKED)
    if size < _LEAST_PER_WEIGHT * len(names):
        return None
    sides = [np.nan_to_num(side.rows(names)[:, -size:].T) for side in (left, right)]
    both = np.concatenate(sides)
    scale = np.abs(both - both.mean(axis=0)).max(axis=0)
    used = np.flatnonzero((scale > 0.0) & np.isfinite(scale))
    if len(used) < 2:
        return None
    rows = (both[:, used] - both[:, used].mean(axis=0)) / scale[used]
    spreads, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    kept = spreads > _FLAT * spreads[-1]
    whitened = axes[:, kept] / np.sqrt(spreads[kept])
    found = [
        np.linalg.eigh(np.atleast_2d(np.cov(part @ whitened, rowvar=False)))
        for part in (rows[: len(sides[0])], rows[len(sides[0]) :])
    ]
    least = min(found, key=lambda pair: float(pair[0][0]))
    weights = whitened @ least[1][:, 0] / scale[used]
    weights = np.round(weights / np.abs(weights).max(), _DIGITS)
    return Linear(
        features=tuple(names[int(i)] for i in used), weights=tuple(map(float, weights)), bound=0.0
    )


for _attack in (
    Relations(),
    Remainders(),
    Digits(),
    Parities(),
    WeightedSums("weighted sums of numbers", _steadiest),
):
    ATTACKS.add(_attack)
