"""Gaussian composition: add up the μ²; the profile of the total is exact."""

import math
from fractions import Fraction

from flint import arb

from dpverify.accounting.parts import Part, Parts, gaussian_parts
from dpverify.accounting.rules.rule import Answer, Rule
from dpverify.balls import ball, enclose
from dpverify.guarantees import Bracket, RenyiDP, ZeroConcentratedDP
from dpverify.pairs.gaussian import GaussianPair
from dpverify.theorems import GAUSSIAN_COMPOSITION


def squared_mu_of(part: Part) -> Fraction | None:
    """μ² of one run of a part, or None if no theorem gives one; pure DP has one, δ > 0 none."""
    match part.seen:
        case RenyiDP() | ZeroConcentratedDP():
            return None
        case GaussianPair(squared_mu=squared_mu):
            return squared_mu
        case pair:
            sides = (pair, pair.reversed)
            largest = max(side.max_loss for side in sides)
            if any(side.singular_mass > 0 for side in sides) or math.isinf(largest):
                return None
            return Fraction(pure_mu(largest)) ** 2


def pure_mu(epsilon: float) -> float:
    """The μ of ε-DP, 2·Φ⁻¹(e^ε/(1+e^ε)), rounded up.

    The trade-off curve of randomized response is two chords of this Gaussian's convex one: both
    pass through (1/(1+e^ε), 1/(1+e^ε)).

    >>> round(pure_mu(1.0), 6)
    1.232035
    """
    if epsilon == 0:
        return 0.0

    def formula() -> arb:
        return 2 * arb(2).sqrt() * (2 / (1 + ball(epsilon).exp())).erfcinv()

    return enclose(formula)[1]


def gdp(parts: Parts) -> GaussianPair | None:
    """The Gaussian pair that dominates the composition, if every part has a μ. [DRS22 Cor. 2]"""
    total = Fraction()
    for part in parts:
        squared_mu = squared_mu_of(part)
        if squared_mu is None:
            return None
        total += part.times * squared_mu
    return GaussianPair(total)


class Gaussians(Rule):
    """The sum of the parts' μ²: exact where every part is Gaussian."""

    name = "gdp"
    theorem = GAUSSIAN_COMPOSITION

    def supports(self, parts: Parts) -> bool:
        return gdp(parts) is not None

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:  # noqa: ARG002
        total = gdp(parts)
        return None if total is None else _ends(parts, total.epsilon_bracket(delta))

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:  # noqa: ARG002
        total = gdp(parts)
        return None if total is None else _ends(parts, total.delta_bracket(epsilon))


def _ends(parts: Parts, found: Bracket) -> Answer:
    """Both ends where every part is Gaussian; the upper one where some are only dominated."""
    exact = gaussian_parts(parts) is not None
    return Bracket(found.lower, found.upper, GAUSSIAN_COMPOSITION) if exact else found.upper
