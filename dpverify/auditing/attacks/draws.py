"""Draws on both sides of a pair, events proposed from them, and how promising these look.

Merits are approximations and need not be right: an event is judged on draws that did not choose it.
One imaginary hit is added on the other side, so that an event that happened there never yet is not
taken for impossible.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NewType, Protocol

import numpy as np

from dpverify.arrays import Floats
from dpverify.auditing.attacks.events import Event
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.features import (
    BASES,
    BITS,
    HOLE,
    MOST_CODED,
    PROJECTIONS,
    SUMMARIES,
    digits,
)
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined
from dpverify.auditing.sampling.relations import is_counted
from dpverify.auditing.sampling.sampler import Sampler

MANY = 72  # numbers of an output beyond which they are not searched one by one
_MANY_TO_SORT = 2_048
WITH_BITS = 4  # numbers whose bits are searched one by one
_MOST_WITH_BITS = 1_024
_GLANCE, _CODES = 512, 48  # draws a side; values of them that a code of answers has at least
_LAST = 4  # binary digits of one whole number that is no code
_REMAINDERS = [f"{base}0(sum({WHOLE}))" for base in BASES]
_LEAST_Z = 0.1  # at level 1/2 the critical score is 0, and every event looks alike


@dataclass(frozen=True)
class Draws:
    """Outputs on both sides of a pair."""

    left: Outputs
    right: Outputs

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """What `numeric_features` tells; every attack asks for it."""
        return tuple(_numeric_features(self))

    @classmethod
    def of(cls, sampler: Sampler, begin: int, end: int) -> "Draws":
        """The draws with these indices."""
        return cls(*sampler.draw(begin, end))

    def on(self, side: Side) -> Outputs:
        return self.left if side is Side.LEFT else self.right

    def followed_by(self, later: "Draws") -> "Draws":
        return joined_draws([self, later])

    def latest(self, most: int) -> "Draws":
        """The last draws, no more than `most` a side."""
        if max(self.left.size, self.right.size) <= most:
            return self
        sides = self.left, self.right
        return Draws(*(side.between(max(side.size - most, 0), side.size) for side in sides))

    def halves(self) -> tuple["Draws", "Draws"]:
        return self.split(max(self.left.size, self.right.size))

    def split(self, most: int) -> tuple["Draws", "Draws"]:
        """The first half of the draws (at most `most` of them), and the rest."""
        a, b = min(self.left.size // 2, most), min(self.right.size // 2, most)
        first = Draws(self.left.between(0, a), self.right.between(0, b))
        return first, Draws(
            self.left.between(a, self.left.size), self.right.between(b, self.right.size)
        )


def joined_draws(parts: Sequence[Draws]) -> Draws:
    """The draws of all parts, in their order."""
    return Draws(*(joined([part.on(side) for part in parts]) for side in Side))


Explore = NewType("Explore", Draws)
"""Draws that events may be chosen from."""
Confirm = NewType("Confirm", Draws)
"""Draws that events are judged on, and that nothing was chosen from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An event, the side on which it is thought too likely, and how promising it looks.

    `expected` are hits on that side and on the other among the draws that were seen, where a smooth
    estimate knows better than the counts.
    """

    event: Event
    favors: Side
    merit: float
    expected: tuple[float, float] | None = None


class Goal(Protocol):
    """How promising events are, by their counts on the favored and the other side."""

    def merit(self, hits: Floats, trials: int, other: Floats, other_trials: int) -> Floats: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The lower bound on ε that `planned` more draws should show, judging by these counts.

    In square roots of counts a and b the joint test of `binomial` is, nearly,
    2(√a − √(r·b)) = z·√((1 − p) + r·(1 − q)); the smaller root of its square, a quadratic in √r.
    """

    delta: float
    z: float
    planned: int
    doubt: float = 2.5

    def merit(self, hits: Floats, trials: int, other: Floats, other_trials: int) -> Floats:
        p, q = hits / (trials + 1.0), (other + 1.0) / (other_trials + 1.0)
        # The past is a sample too, and the event the best of many: charge for the past's error.
        z = max(self.z, _LEAST_Z)
        past = (self.doubt / z) ** 2
        a = np.maximum(p - self.delta, 0.0) / (1.0 / self.planned + past / trials)
        b = q / (1.0 / self.planned + past / other_trials)
        inflated = p / np.maximum(p - self.delta, 1e-12)  # δ adds draws but no evidence
        v1, v2 = z**2 * (1.0 - p) * inflated, z**2 * (1.0 - q)
        room = 4.0 * a - v1
        positive = room > 0.0
        root = np.sqrt(np.maximum(16.0 * a * b - (4.0 * b - v2) * room, 0.0))
        ratio = np.where(positive, room, 1.0) / np.where(positive, 4.0 * np.sqrt(a * b) + root, 1.0)
        result: Floats = np.where(positive, 2.0 * np.log(ratio), -1e3 + p - q)
        return result


def merit_of(event: Event, favors: Side, draws: Draws, goal: Goal) -> float:
    """How promising the event looks on these draws."""
    hits, trials, other, other_trials = tally(event, favors, draws)
    return float(goal.merit(np.array([hits]), trials, np.array([other]), other_trials)[0])


def tally(event: Event, favors: Side, draws: Draws) -> tuple[float, int, float, int]:
    """How often the event happened, and in how many draws: on the favored side, on the other."""
    favored, other = draws.on(favors), draws.on(favors.other)
    hits, others = (float(np.count_nonzero(event.happens(side))) for side in (favored, other))
    return hits, favored.size, others, other.size


def numeric_features(seen: Draws) -> list[str]:
    """Columns of either side, and summaries of them where outputs have several parts."""
    return list(seen.numeric)


def _numeric_features(seen: Draws) -> list[str]:
    names, parts = uncounted(tuple(all_columns(seen)))
    summaries = [f for f in SUMMARIES if parts <= _MANY_TO_SORT or f not in {"gap", "jump"}]
    found = names + ([f"{f}({WHOLE})" for f in summaries] if parts > 1 else [])
    found += [f"{f}({WHOLE})" for f in PROJECTIONS] if parts > MANY else []
    found += _relations(seen) if parts > 1 else []
    return found + _digits(seen, names)


@lru_cache(maxsize=32)  # block after block has the same
def uncounted(names: tuple[str, ...]) -> tuple[list[str], int]:
    """Those that are no counts of what parts share, and how many of them are parts."""
    found = [name for name in names if not is_counted(name)]
    return found, len(found) - len(_summaries(tuple(found)))


def _relations(seen: Draws) -> list[str]:
    """Features about several numbers at once that only some outputs have.

    Remainders of the sum of whole numbers, and where an entry is missing; of many entries, whether
    the largest, the least and the missing one stand at even or odd places.
    """
    sides = seen.left, seen.right
    found = _REMAINDERS if all(side.glance[0] for side in sides) else []
    holes = [f"{HOLE}({WHOLE})"] if any(side.glance[1] for side in sides) else []
    many = max(len(side.columns) for side in sides) >= _CODES
    places = [f"argmax({WHOLE})", f"argmin({WHOLE})", *holes] if many else []
    return [*found, *holes, *(f"binary0({place})" for place in places)]


def _digits(seen: Draws, names: Sequence[str]) -> list[str]:
    """Digits of numbers that may encode many answers; else the last digits of whole numbers."""
    few = [name for name in names if name.startswith(WHOLE)][:WITH_BITS]
    ranges = {name: found for name in few if (found := _whole_range(seen, name)) is not None}
    low, high = ranges.get(WHOLE, (-np.inf, np.inf))
    if names == [WHOLE] and low >= 0.0 and high <= MOST_CODED:
        return digits(high)
    places = range(_LAST if len(names) == 1 else 1)
    return [f"binary{place}({name})" for name in ranges for place in places]


def _whole_range(seen: Draws, name: str) -> tuple[float, float] | None:
    """The smallest and largest of the first values; None unless they are many whole numbers."""
    heads = np.concatenate([side.column(name)[:_GLANCE] for side in (seen.left, seen.right)])
    if not (heads == np.floor(heads)).all() or len(np.unique(heads)) < _CODES:
        return None
    return float(heads.min()), float(heads.max())


def searched_features(seen: Draws) -> list[str]:
    """The features that are searched one by one: all, or only the summaries if there are many."""
    names = numeric_features(seen)
    return names if len(names) <= MANY else list(_summaries(seen.numeric)[:MANY])


@lru_cache(maxsize=32)
def _summaries(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those that are no parts of an output."""
    return tuple(name for name in names if not is_part(name))


def is_part(name: str) -> bool:
    return name.startswith((f"{WHOLE}[", f"{WHOLE}."))


def all_columns(seen: Draws) -> list[str]:
    """What either side has, in order."""
    left, right = seen.left.columns, seen.right.columns
    return list(left if left == right else dict.fromkeys([*left, *right]))


def base_columns(seen: Draws) -> list[str]:
    return [name for name in all_columns(seen) if name.startswith(WHOLE)]


def bit_features(seen: Draws) -> tuple[list[str], list[str]]:
    """Columns on the bits of the first numbers, and columns for the quick scan alone."""
    names = base_columns(seen)
    first, more = (
        [f"{function}({name})" for name in part for function in BITS]
        for part in (names[:WITH_BITS], names[WITH_BITS:_MOST_WITH_BITS])
    )
    return first, more


def unexamined_bits(seen: Draws) -> str:
    """A sentence on the bits that no event covers; empty if all are covered."""
    number = len(base_columns(seen))
    if number <= _MOST_WITH_BITS:
        return ""
    return f"the bits of all but the first {_MOST_WITH_BITS:,} of {number:,} numbers"
