"""The (ε, δ) statements that a claim implies; refuting one of them refutes the claim.

Bets and blocks may hold whichever of them looks weakest against the next draws, provided that the
choice rests on earlier draws: under the claim all of them hold, so each is a fair bet, and none of
the level is spent on there being several.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpverify.auditing.statistics.binomial import LARGEST_EPSILON
from dpverify.claims import AuditClaim, ProfileClaim
from dpverify.errors import InvalidParameter, check_between
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.leaky_response import LeakyResponsePair

_DELTAS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)
_MOST = 9  # every point is searched for its own best event


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """P(E) ≤ e^ε·Q(E) + δ for all events E, in both directions."""

    epsilon: float
    delta: float


def implied_points(claim: AuditClaim) -> tuple[Point, ...]:
    """Points on the claim's profile, rounded up; one for (ε, δ)-DP, several for the others.

    >>> implied_points(PureDP(epsilon=1.0))
    (Point(epsilon=1.0, delta=0.0),)
    """
    match claim:
        case PureDP(epsilon=epsilon):
            points = [Point(epsilon=float(epsilon), delta=0.0)]
        case ApproxDP(epsilon=epsilon, delta=delta):
            points = [Point(epsilon=float(epsilon), delta=float(delta))]
        case ProfileClaim():
            points = _spread([Point(epsilon=e, delta=d) for e, d in claim.points if d < 1.0])
        case GaussianDP(mu=size) | ZeroConcentratedDP(rho=size) | RenyiDP(epsilon=size):
            at_zero = Point(epsilon=0.0, delta=claimed_delta(claim, 0.0))
            points = [at_zero, *_along(claim)] if math.isfinite(size) else []
    finite = tuple(p for p in points if p.epsilon <= LARGEST_EPSILON and p.delta < 1.0)
    if not finite:
        raise InvalidParameter(f"claim={claim!r} must be finite: no sample could refute it")
    # Of two statements with the same ε the one with the smaller δ says more.
    return tuple({point.epsilon: point for point in finite}.values())


def claimed_delta(claim: AuditClaim, epsilon: float) -> float:
    """The smallest δ at ε that the claim implies, in both directions, rounded up.

    >>> round(claimed_delta(PureDP(epsilon=math.log(3)), 0.0), 12)
    0.5
    """
    check_between("epsilon", epsilon, 0.0, math.inf)
    match claim:
        case PureDP(epsilon=own):
            return LeakyResponsePair(ApproxDP(epsilon=own)).delta(epsilon)
        case ApproxDP():
            return LeakyResponsePair(claim).delta(epsilon)
        case GaussianDP(mu=mu):
            return 1.0 if math.isinf(mu) else GaussianPair(Fraction(mu) ** 2).delta(epsilon)
        case ZeroConcentratedDP(rho=rho):
            from dpverify.accounting.rules.zcdp import zcdp_delta  # noqa: PLC0415  # all rules

            return zcdp_delta(rho, epsilon)
        case RenyiDP(order=order, epsilon=divergence):
            from dpverify.accounting.renyi_conversion import renyi_delta  # noqa: PLC0415

            return renyi_delta(order, divergence, epsilon)
        case ProfileClaim():
            return claim.delta(epsilon)


def _along(claim: Guarantee) -> list[Point]:
    from dpverify.accounting.conversion import to_approx  # noqa: PLC0415  # imports all rules

    found = [to_approx(claim, delta=delta).guarantee for delta in _DELTAS]
    return [
        Point(epsilon=g.epsilon, delta=g.delta)
        for g in found
        if isinstance(g, ApproxDP) and g.epsilon > 0.0
    ]


def _spread(points: list[Point]) -> list[Point]:
    """Both ends, and between them the points whose δ draws can just tell from 0."""
    if len(points) <= _MOST:
        return points
    wanted = [points[0].delta, *_DELTAS]
    chosen = {
        min(range(len(points)), key=lambda i: abs(_log(points[i].delta) - _log(delta)))
        for delta in wanted
    }
    return [points[i] for i in sorted(chosen | {len(points) - 1})]


def _log(delta: float) -> float:
    return math.log(max(delta, 1e-300))
