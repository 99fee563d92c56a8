"""Lengths of vectors in ℓ1, ℓ2 and ℓ∞, rounded up."""

import math
from collections.abc import Sequence
from fractions import Fraction

ALLOWED_NORMS = (1, 2, math.inf)
ROUNDING = 1e-12
"""By this share of a bound, given data may exceed it: what normalizing and adding floats does.

Data that a schema makes keeps its bounds exactly.
"""


def length_of(vector: Sequence[float | Fraction], norm: float) -> float:
    """The norm as a float that is not below the exact value.

    >>> length_of([3.0, 4.0], 2)
    5.0
    """
    sizes = [abs(Fraction(x)) for x in vector]
    exponent = 2 if norm == 2 else 1
    greatest = max(sizes, default=Fraction())
    power = greatest if norm == math.inf else sum((x**exponent for x in sizes), Fraction())
    # hypot is good to the last digit or two, and neither under- nor overflows on the way.
    root = math.hypot(*map(float, sizes)) if norm == 2 else float(power)
    while root < math.inf and Fraction(root) ** exponent < power:
        root = math.nextafter(root, math.inf)
    return root


def distance(a: Sequence[float], b: Sequence[float], norm: float) -> float:
    """The length of a − b for the floats that they are, not below the exact value.

    >>> distance([1.1], [0.1], 1) > 1.0
    True
    """
    return length_of([Fraction(x) - Fraction(y) for x, y in zip(a, b, strict=True)], norm)
