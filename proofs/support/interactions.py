"""Whole interactions on finite pairs: what the best adversary gains against a filter, exactly.

An adversary picks, after every answer, the next of a menu of pairs, as long as a filter grants it,
and stops when it likes. Its gain at x = e^ε is Σ(p − x·q)₊ over all ways that the interaction can
go. With v(c, r) the most that can be gained, for each unit of p, once items with counts c have run
and the ratio q/p is r,

    v(c, r) = max( (1 − x·r)₊ , max over granted items of Σ a·v(c′, r·b/a) ),

the sum over the item's outcomes, with masses a and b: backward induction in rationals.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from flint import ctx

from dpverify.balls import ball
from dpverify.errors import NotSupported
from dpverify.ledger import Filter
from dpverify.pairs import FinitePair

Counts: TypeAlias = tuple[int, ...]
Decide: TypeAlias = Callable[[int, Counts], bool]
"""Whether these counts of the menu's items may have run, the first of them named."""


@dataclass(frozen=True)
class Game:
    """A menu, a filter's decisions, and the most rounds."""

    menu: tuple[FinitePair, ...]
    decide: Decide
    rounds: int

    def granted(self, first: int | None, counts: Counts) -> Iterator[tuple[int, int, Counts]]:
        """Items that may run next, with the first one of the path and the counts after them."""
        if sum(counts) >= self.rounds:
            return
        for item in range(len(self.menu)):
            after = tuple(n + (i == item) for i, n in enumerate(counts))
            opening = item if first is None else first
            if self.decide(opening, after):
                yield item, opening, after

    def best_gain(
        self, x: Fraction | Callable[[Counts], Fraction], *, exchanged: bool = False
    ) -> Fraction:
        """The largest Σ(p − x·q)₊ over all adversaries; x may depend on what has run."""
        sides = [[(b, a) if exchanged else (a, b) for a, b in each.masses()] for each in self.menu]
        ratio_at = x if callable(x) else (lambda _: x)

        @cache
        def value(first: int | None, counts: Counts, ratio: Fraction) -> Fraction:
            best = max(1 - ratio_at(counts) * ratio, Fraction(0))
            for item, opening, after in self.granted(first, counts):
                gains = (a * value(opening, after, ratio * b / a) for a, b in sides[item] if a)
                best = max(best, sum(gains, Fraction(0)))
            return best

        return value(None, (0,) * len(self.menu), Fraction(1))

    def best_moment(self, order: int, *, exchanged: bool = False) -> Fraction:
        """The largest Σ p^α·q^(1−α) over all adversaries, of pairs without leaks.

        What an answer leaves to be gained is the same for every answer, but for a factor.
        """
        sides = [[(b, a) if exchanged else (a, b) for a, b in each.masses()] for each in self.menu]

        @cache
        def moment(item: int) -> Fraction:
            return sum((a**order / b ** (order - 1) for a, b in sides[item] if a), Fraction(0))

        @cache
        def value(first: int | None, counts: Counts) -> Fraction:
            gains = (
                moment(item) * value(opening, after)
                for item, opening, after in self.granted(first, counts)
            )
            return max(gains, default=Fraction(1))

        return value(None, (0,) * len(self.menu))


def response(ratio: Fraction, chance: Fraction = Fraction(1)) -> FinitePair:
    """Randomized response with e^ε = ratio, run with some chance only; which is shown."""
    one, other = chance * ratio / (1 + ratio), chance / (1 + ratio)
    return FinitePair(left=[one, other, 1 - chance], right=[other, one, 1 - chance])


def by_filter(menu: tuple[FinitePair, ...], make: Callable[[], Filter]) -> Decide:
    """The decisions of a filter of the library; what it has no price for is not granted."""

    @cache
    def decide(first: int, counts: Counts) -> bool:
        guard = make()
        rest = [(item, n - (item == first)) for item, n in enumerate(counts)]
        wanted = [(first, 1), *((item, n) for item, n in rest if n)]
        try:
            return all(guard.request(menu[item], times=times) for item, times in wanted)
        except NotSupported:
            return False

    return decide


def by_static_profile(menu: tuple[FinitePair, ...], x: Fraction, delta: Fraction) -> Decide:
    """The wrong filter: grants what, had it been fixed in advance, has a profile of at most δ."""

    @cache
    def decide(first: int, counts: Counts) -> bool:
        del first
        masses = static_masses(menu, counts)
        forth = sum(p * max(1 - x * r, Fraction(0)) for r, p in masses.items())
        back = sum(p * max(r - x, Fraction(0)) for r, p in masses.items())
        return max(forth, back) <= delta

    return decide


def static_masses(menu: tuple[FinitePair, ...], counts: Counts) -> dict[Fraction, Fraction]:
    """The mass of p at every ratio q/p, if this often each item runs whatever the answers."""
    masses = {Fraction(1): Fraction(1)}
    for item, times in enumerate(counts):
        for _ in range(times):
            grown: dict[Fraction, Fraction] = {}
            for ratio, p in masses.items():
                for a, b in menu[item].masses():
                    if a:
                        key = ratio * b / a
                        grown[key] = grown.get(key, Fraction(0)) + p * a
            masses = grown
    return masses


@cache
def below_exp(epsilon: float) -> Fraction:
    """A rational just below e^ε: who keeps a budget with it keeps it with e^ε."""
    with ctx.workprec(200):
        value = ball(epsilon).exp().lower()
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
