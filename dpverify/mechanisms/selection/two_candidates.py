"""Lower bounds for selections: the pair of a choice between two candidates.

Randomized response dominates every ε-DP selection, and none has its whole profile. Between two
candidates whose scores differ by half of what neighbors may move them, the better one is chosen
with probability 1 − h, and on the neighbor with probability h. Numbers are rounded so that the two
sides are no easier to tell apart than they are.
"""

import math
from fractions import Fraction

from dpverify.balls import Formula, float_above, float_below
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, LeakyResponsePair
from dpverify.pairs.bounds.between import BetweenPair
from dpverify.theorems import Theorem

UNKNOWN = "the worst scores of several runs are not known"
ALIKE = FinitePair(left=[Fraction(1)], right=[Fraction(1)])


def bounded(epsilon: float, lower: FinitePair, theorem: Theorem) -> BetweenPair:
    """An ε-DP selection, whose pair is bounded from below by `lower`."""
    response = LeakyResponsePair(ApproxDP(epsilon=epsilon))
    words = f"{theorem.name} bounds it: {UNKNOWN}"
    return BetweenPair(response, lower, theorem=theorem, words=words, samples=True)


def chosen(before: Formula, after: Formula) -> FinitePair:
    """A choice with probability at least `before` on one side and at most `after` on the other."""
    likely, unlikely = float_below(before()), float_above(after())
    if not 0.0 <= unlikely < likely <= 1.0:
        return ALIKE
    p, q = Fraction(likely), Fraction(unlikely)
    return FinitePair(left=[p, 1 - p], right=[q, 1 - q])


def shifts(steps: int) -> tuple[int, int]:
    """How many steps a candidate can be ahead before and behind after a move of so many steps.

    One step is left out on either side: so rounding of noise to whole steps cannot matter.
    """
    ahead = steps // 2
    return max(ahead - 1, 0), max(math.ceil(steps / 2) - 1, 0)
