"""Budgets and charges in words, for terminals and pages."""

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dpverify.balls import as_given
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.ledger.amounts import Amount, Amounts

_FLOATS = Fraction(1, 10**12)
_SYMBOLS = {"epsilon": "ε", "rho": "ρ", "squared_mu": "μ²", "leak": "δ of leaks"}


def budget_in_words(budget: Guarantee, number: Callable[[float], str] = as_given) -> str:
    """A guarantee as formulas write it; `number` formats its parameters.

    >>> budget_in_words(ApproxDP(epsilon=3.0, delta=1e-6))
    'ε = 3, δ = 1e-06'
    """
    match budget:
        case PureDP(epsilon=epsilon):
            return f"ε = {number(epsilon)}"
        case ApproxDP(epsilon=epsilon, delta=delta):
            return f"ε = {number(epsilon)}, δ = {number(delta)}"
        case ZeroConcentratedDP(rho=rho):
            return f"ρ = {number(rho)}"
        case GaussianDP(mu=mu):
            return f"μ = {number(mu)}"
        case RenyiDP(order=order, epsilon=epsilon):
            return f"ε = {number(epsilon)} at order {as_given(order)}"


def amounts_in_words(spent: Amounts) -> str:
    """Charges in words, rounded up; zeros are left out."""
    shown = [f"{_symbol(name)} = {at_most(amount)}" for name, amount in spent.items() if amount]
    return ", ".join(shown) or "nothing"


def at_most(amount: Amount, digits: int = 6) -> str:
    """A number with few digits, rounded up.

    >>> at_most(Fraction(0.1)), at_most(Fraction(1, 3))
    ('0.1', '0.333334')
    """
    return as_given(_upwards(amount, digits))


def percent(share: float) -> str:
    """The percentage of a budget that is spent, rounded up.

    >>> percent(0.1 + 0.2), percent(1 / 3), percent(0.99999)
    ('30%', '33.34%', '100%')
    """
    return f"{as_given(_upwards(share, 4, scale=100))}%"


def _upwards(amount: Amount, digits: int, scale: int = 1) -> float:
    """Rounded up, except for a relative 10⁻¹² that reading 0.1 as a float and adding may cause."""
    if math.isinf(amount):
        return math.inf
    exact = Fraction(amount) * scale * (1 - _FLOATS)
    up = Context(prec=digits, rounding=ROUND_CEILING)
    return float(up.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def _symbol(name: str) -> str:
    if name.startswith("renyi:"):
        return f"ε at order {float(name.removeprefix('renyi:')):g}"
    kind, _, digest = name.partition(":")  # of an entry of a plan
    return _SYMBOLS.get(name, f"runs of {kind} {digest[:8]}" if digest else name)
