"""Exact sums over integer noise whose tails are geometric: a finite part, and two geometric ends."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod


@dataclass(frozen=True)
class Decay:
    """A factor that is b^n·value n steps further out; or 1 minus that."""

    value: Fraction
    base: Fraction
    complement: bool = False


def outer_sum(factors: list[Decay]) -> Fraction:
    """Σ over n ≥ 0 of the product of all factors, n steps out; one of them must decay."""
    plain = [factor for factor in factors if not factor.complement]
    rest = [factor for factor in factors if factor.complement]
    total = Fraction(0)
    for size in range(len(rest) + 1):
        for chosen in combinations(rest, size):
            taken = [*plain, *chosen]
            first = prod((factor.value for factor in taken), start=Fraction(1))
            base = prod((factor.base for factor in taken), start=Fraction(1))
            total += (-1) ** size * first / (1 - base)
    return total


@dataclass(frozen=True)
class Noise:
    """Integer noise K with P(K ≥ t) in rationals; `root`² = e^(−1/scale)."""

    root: Fraction
    two_sided: bool

    @property
    def base(self) -> Fraction:
        return self.root**2

    def tail(self, t: int) -> Fraction:
        """Exponential noise rounded down, or Laplace noise rounded to the nearest integer."""
        if not self.two_sided:
            return self.base ** max(t, 0)
        if t >= 1:
            return self.root ** (2 * t - 1) / 2
        return 1 - self.root ** (1 - 2 * t) / 2

    def mass(self, t: int) -> Fraction:
        return self.tail(t) - self.tail(t + 1)

    def above(self, t: int) -> Decay:
        """P(K ≥ t + n) for t ≥ 1."""
        return Decay(self.tail(t), self.base)

    def below(self, t: int) -> Decay:
        """P(K < t − n) for t ≤ 0."""
        return Decay(1 - self.tail(t), self.base)

    def point(self, t: int) -> Decay:
        """P(K = t + n) for t ≥ 1, or P(K = t − n) for t ≤ −1."""
        return Decay(self.mass(t), self.base)


def inner_sum(term: Callable[[int], Fraction], low: int, high: int) -> Fraction:
    """Σ over low ≤ v ≤ high."""
    return sum((term(v) for v in range(low, high + 1)), Fraction(0))
