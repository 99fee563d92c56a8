"""zCDP composition: add up the ρ, and convert the total at its best order."""

import math
from fractions import Fraction

from dpverify.accounting.parts import Part, Parts
from dpverify.accounting.rules.rdp import RenyiComposition, renyi_composition
from dpverify.accounting.rules.rule import Answer, Rule
from dpverify.balls import round_up
from dpverify.guarantees import RenyiDP, ZeroConcentratedDP
from dpverify.pairs.gaussian import GaussianPair
from dpverify.theorems import ZCDP_COMPOSITION


def rho_of(part: Part) -> Fraction | None:
    """The exact ρ of one run of a part, or None if no theorem gives it one.

    Gaussian pairs have ρ = μ²/2 [BS16 Prop. 1.6]; whatever is ε-DP has ρ = ε²/2 [BS16 Prop. 1.4].
    """
    match part.seen:
        case RenyiDP() | ZeroConcentratedDP(rho=math.inf):
            return None
        case ZeroConcentratedDP(rho=rho):
            return Fraction(rho)
        case GaussianPair(squared_mu=squared_mu):
            return squared_mu / 2
        case pair:
            if pair.singular_mass > 0 or math.isinf(pair.max_loss):
                return None
            largest = max(pair.max_loss, pair.reversed.max_loss)
            return None if math.isinf(largest) else Fraction(largest) ** 2 / 2


def zcdp(parts: Parts) -> ZeroConcentratedDP | None:
    """(Σ kᵢρᵢ)-zCDP, rounded up, if every part has a ρ. [BS16 Lemma 1.7]"""
    total = Fraction()
    for part in parts:
        rho = rho_of(part)
        if rho is None:
            return None
        total += part.times * rho
    return ZeroConcentratedDP(rho=round_up(total))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest ε at δ that ρ-zCDP implies through any one order, rounded up.

    >>> zcdp_epsilon(0.5, 1e-5) < 0.5 + 2 * math.sqrt(0.5 * math.log(1e5))
    True
    """
    return _composition(rho).epsilon(delta)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Smallest δ at ε that ρ-zCDP implies through any one order, rounded up."""
    return _composition(rho).delta(epsilon)


def _composition(rho: float) -> RenyiComposition:
    guarantee = ZeroConcentratedDP(rho=rho)
    return renyi_composition((Part(guarantee, 1, repr(guarantee)),))


class ZeroConcentrated(Rule):
    """The sum of the parts' ρ, converted at its best order."""

    name = "zcdp"
    theorem = ZCDP_COMPOSITION

    def supports(self, parts: Parts) -> bool:
        return zcdp(parts) is not None

    def epsilon(self, parts: Parts, delta: float, tolerance: float) -> Answer:  # noqa: ARG002
        total = zcdp(parts)
        return None if total is None else zcdp_epsilon(total.rho, delta)

    def delta(self, parts: Parts, epsilon: float, tolerance: float) -> Answer:  # noqa: ARG002
        total = zcdp(parts)
        return None if total is None else zcdp_delta(total.rho, epsilon)
