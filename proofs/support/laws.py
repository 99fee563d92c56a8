"""Every distribution with a given number of outcomes and a given denominator, to enumerate."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product

from dpverify.pairs import FinitePair


def rational_laws(outcomes: int, denominator: int) -> list[tuple[Fraction, ...]]:
    """All probability vectors whose entries are multiples of 1/denominator."""
    slots = range(denominator + outcomes - 1)
    laws = []
    for bars in combinations(slots, outcomes - 1):
        ends = (-1, *bars, denominator + outcomes - 1)
        counts = (b - a - 1 for a, b in pairwise(ends))
        laws.append(tuple(Fraction(count, denominator) for count in counts))
    return laws


def rational_pairs(outcomes: int, denominator: int) -> Iterator[FinitePair]:
    """All pairs of such laws."""
    laws = rational_laws(outcomes, denominator)
    for left, right in product(laws, repeat=2):
        yield FinitePair(left=left, right=right)


def joint(pair: FinitePair, others: list[FinitePair]) -> FinitePair:
    """`pair` observed first, then the one of `others` that belongs to the outcome seen."""
    left, right = [], []
    for (p, q), other in zip(pair.masses(), others, strict=True):
        for a, b in other.masses():
            left.append(p * a)
            right.append(q * b)
    return FinitePair(left=left, right=right)
