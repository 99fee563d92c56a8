"""Printed digits, checked against ball arithmetic."""

from fractions import Fraction

from flint import arb

from dpverify.balls import ball
from dpverify.pairs import GaussianPair
from dpverify.pairs.rationals import endpoints
from dpverify.theorems import Check
from proofs.support.checks import below


def agrees(value: arb, printed: str) -> Check:
    """Whether the value is certainly within one unit of the last printed digit."""
    mantissa, _, exponent = printed.partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = Fraction(10) ** (int(exponent or 0) - decimals)
    return below(abs(value - ball(Fraction(printed))), ball(unit))


def gaussian_profile(squared_mu: arb, epsilon: arb) -> arb:
    """`GaussianPair.profile_ball` for a μ² that is itself a ball: the profile rises with μ."""
    low, high = endpoints(squared_mu)
    first, second = (GaussianPair(end).profile_ball(epsilon) for end in (low, high))
    return first.union(second)
