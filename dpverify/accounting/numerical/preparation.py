"""Prepare pairs for the grid: count equal parts, and multiply out discrete ones.

Rounding an isolated atom to the grid costs the lower end a step per part. Multiplying parts out
first, exactly as long as they stay small, leaves few parts, whose atoms lie so densely that nothing
is isolated. An atom on a node costs nothing, so the step divides the gaps between atoms where these
have a common divisor. None of this affects validity.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from dpverify.arrays import Floats
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import AnyLossLaw, LossLaw
from dpverify.pairs.ramps import UNIT

_MOST_ANCHORS = 64  # atoms of a part beyond which no alignment is tried
_FINEST = 1e-5  # a common divisor below this share of the largest gap is none
_CLOSE = 1e-11  # relative distance from a multiple that counts as none
_MOST_PAIRS = 1 << 22  # atoms of a product before equal losses are merged
_MOST_ATOMS = 1 << 17  # and after
LONGEST_STEP = 500.0  # e^step is still a float
_SKIPPED = 64  # nodes of a lattice between two of a grid that need not be exact
_SAME = 1e-11  # losses that are this close are merged

PairParts = Sequence[tuple[Pair, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The laws and how often each occurs, and a common divisor of the gaps between atoms.

    `gap` is 0 if no law has two atoms and None if they have no common divisor.
    """

    laws: tuple[tuple[AnyLossLaw, int], ...]
    gap: float | None

    @property
    def runs(self) -> int:
        return sum(times for _, times in self.laws)

    @property
    def is_lattice(self) -> bool:
        """Whether everything falls on one grid, so that its step costs nothing."""
        return bool(self.gap) and all(law.is_discrete for law, _ in self.laws)

    def step(self, target: float) -> float:
        """A step of about `target` or less that puts atoms on nodes where that is possible."""
        if not self.gap:
            return target
        if self.is_lattice:
            # A grid that is very much finer than needed may skip most of its nodes.
            skipped = math.floor(target / self.gap)
            return self.gap * skipped if skipped > _SKIPPED else self.gap
        parts = math.ceil(self.gap / target)
        return self.gap / parts if parts > 1 or self.gap > target / 16.0 else target


def merge(parts: PairParts) -> list[tuple[Pair, int]]:
    """Equal parts counted together; those whose product is known in closed form as one."""
    one: Pair | None = None
    counts: dict[Pair, int] = {}
    for given, times in parts:
        pair = given.simplest
        if pair.max_loss == 0.0 and pair.singular_mass == 0.0:
            continue
        joined = pair.merged(times, one, 1)
        if joined is not None:
            one = joined
        else:
            counts[pair] = counts.get(pair, 0) + times
    merged = list(counts.items())
    return merged if one is None else [(one, 1), *merged]


def prepare(parts: PairParts) -> Prepared:
    laws = [(pair.loss_law(), times) for pair, times in merge(parts)]
    gap = common_gap([law for law, _ in laws])
    if gap is None:
        discrete = [
            (law, times) for law, times in laws if isinstance(law, LossLaw) and law.is_discrete
        ]
        smooth = [part for part in laws if not part[0].is_discrete]
        laws = [*smooth, *multiply_out(discrete)]
        gap = common_gap([law for law, _ in smooth]) if smooth else None
    if gap:
        gap /= math.ceil(gap / LONGEST_STEP)
    return Prepared(tuple(laws), gap)


def singular_mass(parts: PairParts) -> arb:
    """1 − Π (1 − sᵢ): the mass of the product that one outcome gives away."""
    rest = arb(1)
    for pair, times in parts:
        rest *= (1 - pair.singular_mass_ball()) ** times
    return 1 - rest


def max_loss(parts: PairParts) -> arb:
    """Σ of the greatest losses."""
    total = arb(0)
    for pair, times in parts:
        total += times * pair.max_loss_ball()
    return total


def multiply_out(parts: Sequence[tuple[LossLaw, int]]) -> list[tuple[LossLaw, int]]:
    """The same composition with as few discrete parts as their sizes allow."""
    result, whole = [], []
    for law, times in parts:
        power, count, rest = _power(law, times)
        if count > 1:
            result.append((power, count))
        else:
            whole.append(power)
        if rest is not None:
            whole.append(rest)
    whole.sort(key=lambda law: len(law.losses))
    while len(whole) > 1 and len(whole[0].losses) * len(whole[1].losses) <= _MOST_ATOMS:
        merged = _product(whole[0], whole[1])
        whole = sorted([merged, *whole[2:]], key=lambda law: len(law.losses))
    return result + [(law, 1) for law in whole]


def _power(law: LossLaw, times: int) -> tuple[LossLaw, int, LossLaw | None]:
    """law^times as power^count·rest, with power as large as it may get."""
    rest: LossLaw | None = None
    while times > 1 and len(law.losses) ** 2 <= _MOST_PAIRS:
        square = _product(law, law)
        if len(square.losses) > _MOST_ATOMS:
            break
        if times & 1:
            rest = law if rest is None else _product(rest, law)
        law, times = square, times >> 1
    return law, times, rest


def _product(first: LossLaw, second: LossLaw) -> LossLaw:
    losses = np.add.outer(first.losses, second.losses).ravel()
    masses = np.add.outer(first.log_masses, second.log_masses).ravel()
    order = np.argsort(losses)
    losses, masses = losses[order], masses[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(losses) > _SAME]))
    ends = np.append(starts[1:], len(losses)) - 1
    tops = np.maximum.reduceat(masses, starts)
    sizes = np.diff(np.append(starts, len(losses)))
    sums = np.add.reduceat(np.exp(masses - np.repeat(tops, sizes)), starts)
    low, high = losses[starts], losses[ends]
    largest = max(abs(float(losses[0])), abs(float(losses[-1])))
    heaviest = float(np.abs(masses[masses > -math.inf]).max())
    return LossLaw(
        losses=(low + high) / 2.0,
        log_masses=tops + np.log(sums),
        loss_error=first.loss_error
        + second.loss_error
        + float((high - low).max()) / 2.0
        + 4.0 * UNIT * largest,
        mass_error=first.mass_error
        + second.mass_error
        + 2.0 * first.mass_error * second.mass_error
        + UNIT * (8.0 + 4.0 * heaviest + 2.0 * int(sizes.max())),
        log_omitted=float(np.logaddexp(first.log_omitted, second.log_omitted)) + 4.0 * UNIT,
    )


def common_gap(laws: Sequence[AnyLossLaw]) -> float | None:
    """The greatest common divisor of the gaps between atoms within each law, if there is one.

    0 if no law has two atoms.
    """
    gaps: list[float] = []
    for law in laws:
        if len(law.losses) > _MOST_ANCHORS:
            even = _even_gap(law.losses)
            if even is None:
                return None
            gaps.append(even)
            continue
        distances = np.abs(law.losses - law.losses[0]) if len(law.losses) else np.empty(0)
        gaps += [float(gap) for gap in distances if gap > 0.0]
    if not gaps:
        return 0.0
    largest = max(gaps)
    divisor = largest
    for gap in gaps:
        divisor = _divisor(divisor, gap, _FINEST * largest)
        if divisor == 0.0:
            return None
    divisor = largest / round(largest / divisor)
    off = max(abs(gap / divisor - round(gap / divisor)) * divisor for gap in gaps)
    return divisor if off <= _CLOSE * largest else None


def _even_gap(losses: Floats) -> float | None:
    """The distance between neighbors, if they lie in order and evenly."""
    first, last = float(losses[0]), float(losses[-1])
    gap = (last - first) / (len(losses) - 1)
    even = first + gap * np.arange(len(losses))
    close = np.abs(losses - even).max() <= _CLOSE * gap
    return gap if gap > 0.0 and close else None


def _divisor(a: float, b: float, least: float) -> float:
    """Euclid's algorithm, with remainders that are mere rounding taken for 0."""
    noise = _CLOSE * max(a, b)
    while b > noise:
        a, b = b, abs(a - round(a / b) * b)
        if noise < b < least:
            return 0.0
    return a
