"""From pairs to the laws that are put on the grid: equal parts counted, discrete ones merged."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from dpverify.accounting.numerical.grids import common_gap
from dpverify.accounting.numerical.products import multiply_out
from dpverify.pairs.base import Pair
from dpverify.pairs.loss_law import AnyLossLaw, LossLaw

PairParts = Sequence[tuple[Pair, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The laws and how often each is taken, and a length that the gaps between atoms share.

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
            return self.gap
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
