"""The smallest pair that dominates several others."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

from flint import arb

from dpverify.errors import InvalidParameter, settle
from dpverify.pairs.base import Pair
from dpverify.pairs.finite import FinitePair


@dataclass(frozen=True, slots=True)
class LargestPair(Pair):
    """The largest of the profiles of `pairs`, at every ε. [ZDW22 Prop. 8]

    The maximum of convex functions is convex, so it is the profile of a pair. A step that shows one
    of `pairs`, whichever earlier outputs chose, is bounded by it (`adaptive-domination`).

    >>> from dpverify.pairs import GaussianPair, LaplacePair
    >>> pair = LargestPair((GaussianPair(1), LaplacePair(scale=1.0, sensitivity=1.0)))
    >>> pair.delta(0.0) == LaplacePair(scale=1.0, sensitivity=1.0).delta(0.0)
    True
    >>> pair.delta(1.0) == GaussianPair(1).delta(1.0)
    True
    """

    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        settle(self, pairs=tuple(self.pairs))
        if not self.pairs or not all(isinstance(pair, Pair) for pair in self.pairs):
            raise InvalidParameter(f"pairs={self.pairs!r} must be one or more pairs")

    @property
    def reversed(self) -> "LargestPair":
        return LargestPair(tuple(pair.reversed for pair in self.pairs))

    @property
    def attained(self) -> tuple[Pair, ...]:
        return self.pairs

    def singular_mass_ball(self) -> arb:
        found = arb(0)
        for pair in self.pairs:
            found = found.max(pair.singular_mass_ball())
        return found

    @property
    def is_limit_known(self) -> bool:
        return all(pair.is_limit_known for pair in self.pairs)

    def profile_ball(self, epsilon: arb) -> arb:
        found = arb(0)
        for pair in self.pairs:
            found = found.max(pair.delta_ball(epsilon))
        return found


def largest_finite(pairs: Sequence[FinitePair]) -> FinitePair:
    """The largest of finite pairs, exactly, as a finite pair.

    Their profiles are made of lines in x = e^ε, and so is the largest of them: at a corner x its
    slope rises by q, the mass under Q, and p = x·q.

    >>> left, right = [Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)]
    >>> one, two = FinitePair(left=left, right=right), FinitePair(left=right, right=left)
    >>> found = largest_finite([one, two])
    >>> all(found.delta_at_ratio(x) == max(p.delta_at_ratio(x) for p in (one, two))
    ...     for x in (Fraction(k, 7) for k in range(21)))
    True
    """
    bends = sorted({Fraction(0)}.union(*(pair.corners for pair in pairs)))
    points = set(bends)
    for low, high in pairwise([*bends, bends[-1] + 1]):  # level from the last corner on
        lines = [(pair.delta_at_ratio(low), pair.delta_at_ratio(high)) for pair in pairs]
        for (a, b), (c, d) in combinations(lines, 2):
            if (a - c) * (b - d) < 0:
                points.add(low + (high - low) * (a - c) / ((a - c) - (b - d)))
    ranked = sorted(points)
    ranked.append(ranked[-1] + 1)
    heights = [max(pair.delta_at_ratio(x) for pair in pairs) for x in ranked]
    slopes = [
        (heights[i + 1] - heights[i]) / (ranked[i + 1] - ranked[i]) for i in range(len(ranked) - 1)
    ]
    rises = [1 + slopes[0], *(after - before for before, after in pairwise(slopes))]
    left = [x * q for x, q in zip(ranked, rises, strict=False)]
    return FinitePair(left=[*left, heights[-1]], right=[*rises, Fraction(0)])
