r"""How one test spends its level.

A test holds many pairs against its claim, and when it fails it goes on to smaller pairs. Let the
i-th pair that is judged at all be judged by a test of level

.. math:: α_i = \frac{α}{2}\,\frac{6}{π^2 i^2}, \qquad \sum_i α_i = \frac{α}{2},

on draws that had no part in choosing the pair, and let one last pair be judged at α/2. If the claim
holds for every pair, the probability that any of these tests refutes it is at most α, however many
pairs are tried and whatever decides which come next: the levels add up. [Boole; Ville 1939 for
each test, which may be stopped at any time]

Pairs that were merely looked at, and never judged, cost nothing.
"""

import math
from dataclasses import dataclass

from dpverify.errors import InvalidParameter, check_count, check_positive
from dpverify.testing.context import FEWEST

SMALLEST = 1e-12
LARGEST = 0.5


@dataclass(slots=True)
class Ledger:
    """Hands out shares of a level; the sum of all, the last one included, stays below it.

    >>> ledger = Ledger(0.01)
    >>> shares = [ledger.next() for _ in range(1000)]
    >>> sum(shares) + ledger.last < 0.01
    True
    """

    level: float
    spent: int = 0

    def next(self) -> float:
        """The share of the next pair that is judged."""
        self.spent += 1
        return self.level * 3.0 / (math.pi * self.spent) ** 2

    @property
    def last(self) -> float:
        """The share of the one pair that gets the rest of the draws."""
        return self.level / 2.0


def check_level(level: object) -> None:
    """Raise unless a test can have this level."""
    check_positive("level", level)
    if not SMALLEST <= float(level) <= LARGEST:  # type: ignore[arg-type]  # checked above
        raise InvalidParameter(f"level={level!r} must lie in [{SMALLEST:g}, {LARGEST:g}]")


def check_samples(samples: object) -> None:
    """Raise unless a test can be made of so many draws: one that cannot fail must not pass."""
    check_count("samples", samples)
    if samples < FEWEST:  # type: ignore[operator]  # checked above
        raise InvalidParameter(f"samples={samples!r} must be at least {FEWEST}")
