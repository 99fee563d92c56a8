"""The numbers of a disclosure, computed from its parts: once to write them, again to check them."""

import math
from fractions import Fraction
from typing import Any

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import gaussian_parts
from dpverify.balls import ball, enclose
from dpverify.disclosing.document import (
    ProfilePoint,
    StatedGuarantee,
    StatedRisk,
    TwoEnds,
    Variant,
)
from dpverify.guarantees import Bracket, ZeroConcentratedDP

TOLERANCE = 1e-3
"""How far apart the ends of ε may be, unless a document says otherwise."""
_BELOW, _ABOVE = (0.25, 0.5), 1.5  # shares of ε, where the profile is stated


def guarantee_of(accountant: Accountant, delta: float, tolerance: float) -> StatedGuarantee:
    """What an accountant costs at δ, with further points of its profile."""
    found = accountant.epsilon(delta, tolerance=tolerance)
    points = _profile(accountant, found.upper, delta, tolerance)
    mu, rho = mu_of(accountant), rho_of(accountant)
    return StatedGuarantee(
        variant=_variant(delta, rho, accountant),
        delta=float(delta),
        epsilon=ends(found),
        mu=mu,
        rho=rho,
        profile=points,
        tolerance=None if tolerance == TOLERANCE else tolerance,
        theorem=None if found.theorem is None else found.theorem.name,
        assumes=found.assumes,
    )


def _profile(
    accountant: Accountant, epsilon: float, delta: float, tolerance: float
) -> tuple[ProfilePoint, ...]:
    """Points around (ε, δ); beyond ε only where δ still falls."""
    if not 0 < epsilon < math.inf:
        return ()
    points = [
        ProfilePoint(epsilon=at, delta=ends(accountant.delta(at, tolerance=tolerance)))
        for at in (_short(share * epsilon) for share in (*_BELOW, _ABOVE))
    ]
    last = points[-1].delta
    falls = last is not None and 0 < (last.upper or 0.0) < delta
    return tuple(points if falls else points[:-1])


def risk_of(accountant: Accountant, tolerance: float) -> StatedRisk:
    """What an attacker can do, as it is stated."""
    found = risks(accountant, tolerance)
    return StatedRisk(**{name: ends(bracket) for name, bracket in found.items()})


def risks(
    accountant: Accountant, tolerance: float, seconds: float | None = None
) -> dict[str, Bracket]:
    """A bracket for every line of `StatedRisk`: add one here, and it is written and checked."""
    limits: dict[str, Any] = {"tolerance": tolerance, "seconds": seconds}
    return {"advantage": accountant.delta(0.0, **limits)}


def mu_of(accountant: Accountant) -> float | None:
    """μ of a composition that is all Gaussian, rounded up; None for any other."""
    pair = gaussian_parts(accountant.parts)
    if pair is None or not accountant.parts:
        return None
    return enclose(lambda: ball(pair.squared_mu).sqrt())[1]


def rho_of(accountant: Accountant) -> float | None:
    """ρ of a composition that is all zCDP or all Gaussian, rounded up; None for any other."""
    seen = [(part.seen, part.times) for part in accountant.parts]
    if seen and all(isinstance(each, ZeroConcentratedDP) for each, _ in seen):
        rhos = [(each.rho, k) for each, k in seen if isinstance(each, ZeroConcentratedDP)]
        if any(math.isinf(rho) for rho, _ in rhos):
            return math.inf
        total = sum((Fraction(rho) * k for rho, k in rhos), Fraction())
        return enclose(lambda: ball(total))[1]
    pair = gaussian_parts(accountant.parts)
    return None if pair is None or not seen else enclose(lambda: ball(pair.squared_mu / 2))[1]


def ends(bracket: Bracket) -> TwoEnds:
    return TwoEnds(lower=float(bracket.lower), upper=float(bracket.upper))


def _variant(delta: float, rho: float | None, accountant: Accountant) -> Variant:
    if delta == 0:
        return "pure"
    stated = any(isinstance(part.seen, ZeroConcentratedDP) for part in accountant.parts)
    return "zero-concentrated" if stated and rho is not None else "approximate"


def _short(value: float) -> float:
    """Four significant digits: points of a profile may lie anywhere."""
    return float(f"{value:.4g}")
