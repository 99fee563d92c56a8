"""Exact sums of charges, as fractions that are rounded up when they grow long.

Fractions of unequal denominators grow by a hundred bits a sum, and ten thousand of them make every
sum slow. A sum is exact as long as it is short; beyond that it is rounded up to 256 significant
bits, which after 10⁸ sums is still an error of one part in 2²²⁹.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from dpverify.balls import shortened
from dpverify.errors import InvalidParameter

Amount: TypeAlias = Fraction | float
"""A fraction, or the float ∞: nothing is known of the charge in this unit."""
Amounts: TypeAlias = Mapping[str, Amount]


def added(left: Amount, right: Amount) -> Amount:
    """The sum, rounded up if at all; exact while it is short.

    >>> added(Fraction(1, 3), Fraction(1, 6))
    Fraction(1, 2)
    """
    if isinstance(left, float) or isinstance(right, float):
        return math.inf
    return shortened(left + right)


def amount_of(value: float | Fraction) -> Amount:
    """An upper bound, given as a float, as an exact amount or ∞."""
    return math.inf if value == math.inf else Fraction(value)


def written(amounts: Amounts) -> dict[str, str]:
    """Amounts as texts without loss; `read` is the inverse."""
    return {name: str(amount) for name, amount in amounts.items()}


def read(texts: Mapping[str, str]) -> dict[str, Amount]:
    """The amounts that `written` wrote."""
    try:
        return {
            str(name): math.inf if text == "inf" else Fraction(text) for name, text in texts.items()
        }
    except (AttributeError, TypeError, ValueError, ZeroDivisionError):
        raise InvalidParameter(f"amounts={texts!r} must be fractions by name") from None
