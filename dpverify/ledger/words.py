"""Budgets and charges in words, for terminals and pages."""

from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.ledger.amounts import Amounts

_SYMBOLS = {"epsilon": "ε", "rho": "ρ", "squared_mu": "μ²", "leak": "δ of leaks"}


def budget_in_words(budget: Guarantee) -> str:
    """A guarantee as formulas write it.

    >>> budget_in_words(ApproxDP(epsilon=3.0, delta=1e-6))
    'ε = 3, δ = 1e-06'
    """
    match budget:
        case PureDP(epsilon=epsilon):
            return f"ε = {float(epsilon):.6g}"
        case ApproxDP(epsilon=epsilon, delta=delta):
            return f"ε = {float(epsilon):.6g}, δ = {float(delta):g}"
        case ZeroConcentratedDP(rho=rho):
            return f"ρ = {float(rho):.6g}"
        case GaussianDP(mu=mu):
            return f"μ = {float(mu):.6g}"
        case RenyiDP(order=order, epsilon=epsilon):
            return f"ε = {float(epsilon):.6g} at order {float(order):g}"


def amounts_in_words(spent: Amounts) -> str:
    """Charges, those of 0 left out."""
    shown = [f"{_symbol(name)} = {float(amount):.6g}" for name, amount in spent.items() if amount]
    return ", ".join(shown) or "nothing"


def _symbol(name: str) -> str:
    if name.startswith("renyi:"):
        return f"ε at order {float(name.removeprefix('renyi:')):g}"
    kind, _, digest = name.partition(":")  # of an entry of a plan
    return _SYMBOLS.get(name, f"runs of {kind} {digest[:8]}" if digest else name)
