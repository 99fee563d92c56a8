"""The (ε, δ) statements that a claim implies: to refute one of them refutes the claim."""

import math
from dataclasses import dataclass
from fractions import Fraction

from dpverify.accounting.conversion import to_approx
from dpverify.accounting.zcdp import zcdp_delta
from dpverify.auditing.confidence import LARGEST_EPSILON
from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)
from dpverify.pairs.gaussian import GaussianPair

_DELTAS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """P(E) ≤ e^ε·Q(E) + δ for all events E, in both directions."""

    epsilon: float
    delta: float


def implied_points(claim: Guarantee) -> tuple[Point, ...]:
    """Points on the claim's profile, rounded up; one for (ε, δ)-DP, several for the others."""
    match claim:
        case PureDP(epsilon=epsilon):
            points = [Point(epsilon=float(epsilon), delta=0.0)]
        case ApproxDP(epsilon=epsilon, delta=delta):
            points = [Point(epsilon=float(epsilon), delta=float(delta))]
        case GaussianDP(mu=mu) if math.isfinite(mu):
            points = [_at_zero(GaussianPair(Fraction(mu) ** 2).delta(0.0)), *_along(claim)]
        case ZeroConcentratedDP(rho=rho) if math.isfinite(rho):
            points = [_at_zero(zcdp_delta(rho, 0.0)), *_along(claim)]
        case _:
            points = _along(claim)
    finite = tuple(p for p in points if p.epsilon <= LARGEST_EPSILON and p.delta < 1.0)
    if not finite:
        raise InvalidParameter(f"claim={claim!r} must be finite: no sample could refute it")
    # Of two statements with the same ε the one with the smaller δ says more.
    return tuple({point.epsilon: point for point in finite}.values())


def _at_zero(delta: float) -> Point:
    return Point(epsilon=0.0, delta=delta)


def _along(claim: Guarantee) -> list[Point]:
    found = [to_approx(claim, delta=delta).guarantee for delta in _DELTAS]
    return [
        Point(epsilon=g.epsilon, delta=g.delta)
        for g in found
        if isinstance(g, ApproxDP) and g.epsilon > 0.0
    ]
