"""The numbers of a disclosure, computed from its parts: once to write them, again to check them."""

import math
from fractions import Fraction

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import gaussian_parts
from dpverify.balls import ball, enclose
from dpverify.disclosing.document import (
    Belief,
    Detection,
    ProfilePoint,
    StatedGuarantee,
    StatedRisk,
    TwoEnds,
    Variant,
)
from dpverify.guarantees import Bracket, ZeroConcentratedDP

TOLERANCE = 1e-3
"""How far apart the ends of ε may be, unless a document says otherwise."""
ALARM, PRIOR = 0.05, 0.5
"""The rate of false alarms and the prior for which risks are stated."""
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
    asked = StatedRisk(detection=Detection(false_positive_rate=ALARM), belief=Belief(prior=PRIOR))
    found = risks(accountant, asked, tolerance)
    posterior = ends(found["belief.posterior"])
    limited = posterior.upper is not None and posterior.upper < 1
    return StatedRisk(
        advantage=ends(found["advantage"]),
        detection=Detection(
            false_positive_rate=ALARM,
            true_positive_rate=ends(found["detection.true_positive_rate"]),
        ),
        belief=Belief(prior=PRIOR, posterior=posterior) if limited else None,
    )


def risks(accountant: Accountant, told: StatedRisk, tolerance: float) -> dict[str, Bracket]:
    """A bracket for every line of a stated risk, by its path; here they are computed alone."""
    found = {"advantage": accountant.advantage(tolerance=tolerance)}
    if told.detection is not None and told.detection.false_positive_rate is not None:
        alarm = told.detection.false_positive_rate
        rate = accountant.true_positive_rate(alarm, tolerance=tolerance)
        found["detection.true_positive_rate"] = rate
    if told.belief is not None and told.belief.prior is not None:
        found["belief.posterior"] = accountant.posterior(told.belief.prior)
    return found


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
