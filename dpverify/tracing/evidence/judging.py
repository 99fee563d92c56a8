"""Whether the cost of the releases is within a claim: certainly, certainly not, or unclear."""

import math
from enum import Enum
from fractions import Fraction

from dpverify.accounting.conversion import to_gdp
from dpverify.auditing.statistics.points import implied_points
from dpverify.claims import AuditClaim, ProfileClaim
from dpverify.errors import DPVerifyError
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.tracing.evidence.releases import ROUNDING
from dpverify.tracing.evidence.spending import (
    Spending,
    composed_delta,
    composed_epsilon,
    hides_nothing,
)


class Judged(Enum):
    """How the cost of a transcript compares with the claim."""

    WITHIN = "within"
    ABOVE = "above"
    OPEN = "open"


def most(epsilon: float) -> float:
    """ε plus what the rounding of scales and probabilities may add."""
    return epsilon * (1 + ROUNDING) + ROUNDING


def judge(claim: AuditClaim, spent: Spending) -> Judged:
    """WITHIN if an upper bound keeps the claim, ABOVE if a lower bound breaks it."""
    if any(within(claim, pairs) for pairs in spent.judged):
        return Judged.WITHIN
    return Judged.ABOVE if spent.exact and is_broken(claim, spent) else Judged.OPEN


def is_broken(claim: AuditClaim, spent: Spending) -> bool:
    """Whether one of the lower bounds breaks the claim."""
    return any(breaks(claim, pairs) for pairs in {spent.below, spent.below_apart})


def within(claim: AuditClaim, pairs: tuple[Pair, ...]) -> bool:
    """Whether the composition of these pairs keeps the claim, up to rounding."""
    if not pairs:
        return True
    if hides_nothing(pairs):
        return _vacuous(claim)
    match claim:
        case PureDP(epsilon=epsilon):
            return composed_epsilon(pairs, 0.0).upper <= most(epsilon)
        case ApproxDP(epsilon=epsilon, delta=delta):
            if composed_epsilon(pairs, 0.0).upper <= most(epsilon):
                return True
            return composed_delta(pairs, epsilon).upper <= delta * (1 + ROUNDING)
        case GaussianDP(mu=mu):
            return squared_mu(pairs) <= mu**2 * (1 + ROUNDING)
        case ZeroConcentratedDP(rho=rho):
            return math.fsum(map(_rho, pairs)) <= rho * (1 + ROUNDING)
        case RenyiDP(order=order, epsilon=epsilon):
            sides = (pairs, tuple(pair.reversed for pair in pairs))
            largest = max(math.fsum(pair.renyi(order) for pair in side) for side in sides)
            return largest <= most(epsilon)
        case ProfileClaim(points=points):
            return all(composed_delta(pairs, e).upper <= d * (1 + ROUNDING) for e, d in points)


def _vacuous(claim: AuditClaim) -> bool:
    match claim:
        case PureDP(epsilon=size) | GaussianDP(mu=size) | ZeroConcentratedDP(rho=size):
            return size == math.inf
        case RenyiDP(epsilon=size):
            return size == math.inf
        case ApproxDP(epsilon=epsilon, delta=delta):
            return epsilon == math.inf or delta == 1
        case ProfileClaim():
            return False


def _most(pair: Pair) -> float:
    if pair.singular_mass > 0 or pair.reversed.singular_mass > 0:
        return math.inf
    return max(pair.max_loss, pair.reversed.max_loss)


def squared_mu(pairs: tuple[Pair, ...]) -> float:
    """μ² of Gaussian pairs; for a pure pair the smallest μ² that covers its ε, rounded up."""
    total = Fraction(0)
    for pair in pairs:
        if isinstance(pair, GaussianPair):
            total += pair.squared_mu
            continue
        most = _most(pair)
        if math.isinf(most):
            return math.inf
        found = to_gdp(PureDP(epsilon=most)).guarantee
        if not isinstance(found, GaussianDP):
            return math.inf
        total += Fraction(found.mu) ** 2
    return float(total)


def _rho(pair: Pair) -> float:
    """ρ of a pair: μ²/2 if Gaussian, ε²/2 if pure, exactly."""
    if isinstance(pair, GaussianPair):
        return float(pair.squared_mu / 2)
    return _most(pair) ** 2 / 2


def breaks(claim: AuditClaim, pairs: tuple[Pair, ...]) -> bool:
    """Whether the composition of these pairs certainly breaks the claim, beyond rounding."""
    gaussian = pairs and all(isinstance(pair, GaussianPair) for pair in pairs)
    match claim:
        case PureDP(epsilon=epsilon):
            return composed_epsilon(pairs, 0.0).lower > most(epsilon)
        case GaussianDP(mu=mu) if gaussian:
            return squared_mu(pairs) > mu**2 * (1 + ROUNDING)
        case ZeroConcentratedDP(rho=rho) if gaussian:
            return math.fsum(map(_rho, pairs)) > rho * (1 + ROUNDING)
    try:
        points = implied_points(claim)
    except DPVerifyError:
        return False
    return any(
        composed_delta(pairs, point.epsilon).lower > point.delta * (1 + ROUNDING)
        for point in points
    )
