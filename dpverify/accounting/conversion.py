"""Conversions between guarantees by theorems, always as upper bounds."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpverify.accounting.renyi_conversion import renyi_epsilon
from dpverify.accounting.rules.gdp import pure_mu
from dpverify.accounting.rules.zcdp import zcdp_epsilon
from dpverify.balls import ball, enclose, round_up
from dpverify.errors import NotSupported, as_between
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.theorems import (
    ANALYTIC_GAUSSIAN,
    DEFINITIONS,
    GDP_TO_ZCDP,
    PURE_TO_GDP,
    PURE_TO_ZCDP,
    RENYI_MONOTONE,
    RENYI_TO_APPROX,
    SIMULATION_LEMMA,
    Theorem,
)


@dataclass(frozen=True, slots=True)
class Conversion:
    """The implied guarantee, and the theorem that implies it.

    >>> import dpverify as dpv
    >>> found = dpv.to_approx(dpv.ZeroConcentratedDP(rho=0.5), delta=1e-6)
    >>> found.theorem.name
    'renyi-to-approx'
    """

    guarantee: Guarantee
    theorem: Theorem


def to_approx(guarantee: Guarantee, *, delta: float) -> Conversion:
    """The smallest ε at δ that the guarantee implies, rounded up.

    >>> round(to_approx(ZeroConcentratedDP(rho=0.5), delta=1e-5).guarantee.epsilon, 4)
    4.7284
    """
    delta = as_between("delta", delta, 0.0, 1.0)
    match guarantee:
        case PureDP(epsilon=own):
            pair = LeakyResponsePair(ApproxDP(epsilon=own))
            epsilon, theorem = pair.epsilon(delta), SIMULATION_LEMMA
        case ApproxDP():
            epsilon, theorem = LeakyResponsePair(guarantee).epsilon(delta), SIMULATION_LEMMA
        case GaussianDP(mu=math.inf):
            epsilon, theorem = (0.0 if delta == 1 else math.inf), ANALYTIC_GAUSSIAN
        case GaussianDP(mu=mu):
            epsilon, theorem = GaussianPair(Fraction(mu) ** 2).epsilon(delta), ANALYTIC_GAUSSIAN
        case ZeroConcentratedDP(rho=rho):
            epsilon, theorem = zcdp_epsilon(rho, delta), RENYI_TO_APPROX
        case RenyiDP(order=order, epsilon=divergence):
            epsilon, theorem = renyi_epsilon(order, divergence, delta), RENYI_TO_APPROX
    return Conversion(ApproxDP(epsilon=epsilon, delta=delta), theorem)


def to_zcdp(guarantee: Guarantee) -> Conversion:
    """ρ = ε²/2 for pure DP, μ²/2 for Gaussian DP, rounded up; other guarantees are refused.

    >>> import dpverify as dpv
    >>> dpv.to_zcdp(dpv.PureDP(1.0)).guarantee
    ZeroConcentratedDP(rho=0.5)
    """
    match guarantee:
        case ZeroConcentratedDP():
            return Conversion(guarantee, DEFINITIONS)
        case PureDP(epsilon=value) | ApproxDP(epsilon=value, delta=0):
            return Conversion(ZeroConcentratedDP(rho=_half_square(value)), PURE_TO_ZCDP)
        case GaussianDP(mu=value):
            return Conversion(ZeroConcentratedDP(rho=_half_square(value)), GDP_TO_ZCDP)
        case _:
            raise NotSupported(f"guarantee={guarantee!r} must be pure or Gaussian DP to imply zCDP")


def to_gdp(guarantee: Guarantee) -> Conversion:
    """μ = 2·Φ⁻¹(e^ε/(1+e^ε)) for pure DP, rounded up; other guarantees are refused.

    >>> import dpverify as dpv
    >>> dpv.to_gdp(dpv.PureDP(1.0)).guarantee
    GaussianDP(mu=1.232035385344901)
    """
    match guarantee:
        case GaussianDP():
            return Conversion(guarantee, DEFINITIONS)
        case PureDP(epsilon=value) | ApproxDP(epsilon=value, delta=0):
            mu = math.inf if math.isinf(value) else pure_mu(value)
            return Conversion(GaussianDP(mu=mu), PURE_TO_GDP)
        case _:
            raise NotSupported(f"guarantee={guarantee!r} must be pure DP to imply Gaussian DP")


def to_renyi(guarantee: Guarantee, *, order: float) -> Conversion:
    """The Rényi divergence at one order that the guarantee implies, rounded up.

    >>> import dpverify as dpv
    >>> dpv.to_renyi(dpv.ZeroConcentratedDP(rho=0.5), order=4.0).guarantee
    RenyiDP(order=4.0, epsilon=2.0)
    """
    wanted = RenyiDP(order=order, epsilon=0.0).order
    match guarantee:
        case PureDP(epsilon=value) | ApproxDP(epsilon=value, delta=0):
            divergence = LeakyResponsePair(ApproxDP(epsilon=value)).renyi(wanted)
            theorem = SIMULATION_LEMMA
        case ZeroConcentratedDP(rho=rho):
            divergence, theorem = _product(rho, wanted), DEFINITIONS
        case GaussianDP(mu=mu):
            divergence, theorem = _product(_half_square(mu), wanted), GDP_TO_ZCDP
        case RenyiDP(order=own, epsilon=value) if wanted <= own:
            divergence, theorem = value, RENYI_MONOTONE
        case _:
            raise NotSupported(
                f"guarantee={guarantee!r} must bound the divergence of order {order:g}"
            )
    return Conversion(RenyiDP(order=wanted, epsilon=divergence), theorem)


def _half_square(value: float) -> float:
    return math.inf if math.isinf(value) else round_up(Fraction(value) ** 2 / 2)


def _product(rho: float, order: float) -> float:
    if rho == 0 or math.isinf(rho) or math.isinf(order):
        return 0.0 if rho == 0 else math.inf
    return enclose(lambda: ball(rho) * ball(order))[1]
