"""Claims about a whole profile, and the profile that any claim implies.

A claim may be one of the library's guarantees, or everything that a profile says: a list of points
(ε, δ), a function ε ↦ δ, a dominating pair, a mechanism that has one, or an accountant. The latter
become a `ProfileClaim`: (ε, δ)-DP at finitely many points at once, δ rounded up, so that whoever
refutes it has refuted what was claimed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import HasClaim, HasPair
from dpverify.accounting.renyi_conversion import renyi_delta
from dpverify.accounting.rules.zcdp import zcdp_delta
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_between
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.leaky_response import LeakyResponsePair

GUARANTEES = (PureDP, ApproxDP, ZeroConcentratedDP, RenyiDP, GaussianDP)
_DELTAS = (0.5, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12)
_FEW_DELTAS = (0.3, 0.03, 3e-3, 1e-4, 1e-6)  # where every answer is a composition
_EPSILONS = (0.0, *(float(e) for e in np.geomspace(0.05, 30.0, 40)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileClaim:
    """(ε, δ)-DP at every one of these points at once; `name` says whose profile they lie on.

    Kept in the order of ε; a point that another one implies, by a smaller ε and δ, is left out.

    >>> ProfileClaim(points=[(1.0, 0.1), (0.0, 0.4), (2.0, 0.2)]).points
    ((0.0, 0.4), (1.0, 0.1))
    """

    points: tuple[tuple[float, float], ...]
    name: str = "points"

    def __post_init__(self) -> None:
        kept: list[tuple[float, float]] = []
        for epsilon, delta in sorted(_pairs(self.points)):
            if not kept or delta < kept[-1][1]:
                kept.append((epsilon, delta))
        if not kept:
            raise InvalidParameter(f"points={self.points!r} must not be empty")
        object.__setattr__(self, "points", tuple(kept))

    def delta(self, epsilon: float) -> float:
        """The smallest δ at ε that the points imply, rounded up. [KOV15 Thm 2.5]"""
        return min(
            LeakyResponsePair(ApproxDP(epsilon=own, delta=delta)).delta(epsilon)
            for own, delta in self.points
        )

    def __str__(self) -> str:
        first, last = self.points[0], self.points[-1]
        return (
            f"profile of {self.name}, points: {len(self.points)}, from "
            f"(ε, δ) = ({first[0]:.4g}, {first[1]:.4g}) to ({last[0]:.4g}, {last[1]:.4g})"
        )


AuditClaim: TypeAlias = Guarantee | ProfileClaim
Claimable: TypeAlias = (
    AuditClaim
    | Claim
    | Pair
    | Accountant
    | HasPair
    | HasClaim
    | Callable[[float], float]
    | Sequence[tuple[float, float]]
)


def claim_of(subject: Claimable, *, relation: Relation | None = None) -> AuditClaim:
    """What is claimed, in the form that an audit can hold against draws.

    A mechanism stands for its dominating pair under `relation`, or for its own claim if no
    relation is given.

    >>> claim_of([(1.0, 0.0), (0.0, 0.5)]).points
    ((0.0, 0.5), (1.0, 0.0))
    """
    match subject:
        case (
            PureDP() | ApproxDP() | ZeroConcentratedDP() | RenyiDP() | GaussianDP() | ProfileClaim()
        ):
            return subject
        case Claim(guarantee=guarantee, relation=stated):
            if None not in {stated, relation} and stated is not relation:
                raise InvalidParameter(f"claim={subject!r} must hold for relation {relation}")
            return guarantee
        case Pair():
            return _of_pair(subject, type(subject).__name__)
        case Accountant():
            return _of_accountant(subject)
        case _ if not isinstance(subject, type) and isinstance(subject, (HasPair, HasClaim)):
            return _of_mechanism(subject, relation)
        case _ if callable(subject):
            return _of_function(subject)
        case _ if isinstance(subject, Iterable) and not isinstance(subject, (str, bytes)):
            return ProfileClaim(points=tuple(subject))
        case _:
            raise InvalidParameter(
                f"claim={subject!r} must be a guarantee, a pair, an accountant, a mechanism, a "
                "function ε ↦ δ or points (ε, δ)"
            )


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
            return zcdp_delta(rho, epsilon)
        case RenyiDP(order=order, epsilon=divergence):
            return renyi_delta(order, divergence, epsilon)
        case ProfileClaim():
            return claim.delta(epsilon)


def claim_to_dict(claim: AuditClaim) -> dict[str, Any]:
    """The claim as JSON can hold it; an infinite parameter as text."""
    values = {name: getattr(claim, name) for name in claim.__dataclass_fields__}
    return {"kind": type(claim).__name__} | {name: _plain(v) for name, v in values.items()}


def claim_from_dict(fields: dict[str, Any]) -> AuditClaim:
    """The claim that `claim_to_dict` wrote."""
    values = {name: value for name, value in fields.items() if name != "kind"}
    if fields.get("kind") == ProfileClaim.__name__:
        return ProfileClaim(points=tuple(values["points"]), name=str(values["name"]))
    for kind in GUARANTEES:
        if fields.get("kind") == kind.__name__:
            return kind(**{name: float(value) for name, value in values.items()})
    raise InvalidParameter(f"kind={fields.get('kind')!r} must be the name of a guarantee")


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _pairs(points: Iterable[Any]) -> list[tuple[float, float]]:
    found = []
    for point in points:
        match point:
            case (epsilon, delta):
                checked = ApproxDP(epsilon=epsilon, delta=delta)  # refuses what is no point
                found.append((float(checked.epsilon), float(checked.delta)))
            case _:
                raise InvalidParameter(f"points={point!r} must be pairs (ε, δ)")
    return found


def _of_pair(pair: Pair, name: str) -> ProfileClaim:
    sides = (pair, pair.reversed)
    points = [(0.0, max(side.delta(0.0) for side in sides))]
    for delta in (*_DELTAS, 0.0):
        epsilon = max(side.epsilon(delta) for side in sides)
        if math.isfinite(epsilon):
            points.append((epsilon, delta))
    largest = max(side.max_loss for side in sides)
    if math.isfinite(largest):
        points.append((largest, max(side.delta(largest) for side in sides)))
    return ProfileClaim(points=tuple(points), name=name)


def _of_accountant(accountant: Accountant) -> ProfileClaim:
    if not accountant.parts:
        raise InvalidParameter("claim=Accountant(parts=()) must have parts: compose something")
    points = [(0.0, accountant.delta(0.0, tolerance=1e-2).upper)]
    for delta in _FEW_DELTAS:
        epsilon = accountant.epsilon(delta, tolerance=1e-2).upper
        if math.isfinite(epsilon):
            points.append((epsilon, delta))
    runs = sum(part.times for part in accountant.parts)
    return ProfileClaim(points=tuple(points), name=f"an accountant, runs: {runs:,}")


def _of_mechanism(mechanism: HasPair | HasClaim, relation: Relation | None) -> AuditClaim:
    if relation is not None and isinstance(mechanism, HasPair):
        pair = mechanism.pair(Relation.parse(relation))
        return _of_pair(pair, type(mechanism).__name__)
    if isinstance(mechanism, HasClaim) and isinstance(mechanism.claim, (Claim, *GUARANTEES)):
        return claim_of(mechanism.claim, relation=relation)
    raise InvalidParameter(
        f"claim={mechanism!r} must state a claim, or come with the relation of its pair"
    )


def _of_function(profile: Callable[[float], float]) -> ProfileClaim:
    points: list[tuple[float, float]] = []
    for epsilon in _EPSILONS:
        delta = profile(epsilon)
        check_between(f"claim({epsilon:g})", delta, 0.0, 1.0)
        if points and delta > points[-1][1] + 1e-9:
            raise InvalidParameter(
                f"claim({epsilon:g})={delta!r} must not exceed claim({points[-1][0]:g})="
                f"{points[-1][1]!r}: a profile never rises"
            )
        points.append((epsilon, float(delta)))
    return ProfileClaim(points=tuple(points), name=getattr(profile, "__name__", "a function"))
