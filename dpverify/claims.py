"""Claims about mechanisms, and the one function that reads whatever a caller offers as a claim.

A claim may be one of the library's guarantees, or everything that a profile says: a list of points
(ε, δ), a function ε ↦ δ, a dominating pair, a mechanism that has one, or an accountant; or a list
of claims that hold all together. All but a single guarantee become a `ProfileClaim`: (ε, δ)-DP at
finitely many points at once, δ rounded up, so that whoever refutes it has refuted what was claimed.
The reader asks what an object can do, not of which class it is.
"""

import html
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from dpverify.errors import InvalidParameter, check_between, check_instance
from dpverify.guarantees import GUARANTEES, ApproxDP, Bracket, Guarantee, PureDP
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.pairs.leaky_response import LeakyResponsePair
from dpverify.plain import plain, untagged
from dpverify.theorems import Theorem

_DELTAS = (0.5, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12, 0.0)
_FEW_DELTAS = (0.3, 0.03, 3e-3, 1e-4, 1e-6)  # where every answer is a composition
_LOOSELY = 1e-2  # the tolerance of such answers; their upper ends are what is claimed
_DEEPEST = 8  # lists within lists
_EPSILONS = (0.0, *(float(e) for e in np.geomspace(0.05, 30.0, 40)))


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee, the relation it holds under, the theorem it follows from, what it assumes.

    `relation` is None where the mechanism takes a declared sensitivity: the claim then holds for
    whichever relation the sensitivity was computed under.

    >>> import dpverify as dpv
    >>> claim = dpv.Laplace(scale=2.0).claim
    >>> claim.guarantee, claim.theorem.name
    (PureDP(epsilon=0.5), 'laplace')
    >>> print(dpv.RandomizedResponse(epsilon=1.0).claim)
    guarantee  PureDP(epsilon=1.0)
    neighbors  as declared
    theorem    randomized-response [Warner, JASA 60, 1965; Dwork, Roth, 2014, Sec. 3.2]
    assumes    the generator's bits are uniform and independent
    """

    guarantee: Guarantee
    relation: Relation | None
    theorem: Theorem
    assumes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{name:9}  {text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        """For notebooks: the promise, for whom it holds, why, and what it rests on."""
        cells = (f"<tr><th>{a}</th><td>{html.escape(b)}</td></tr>" for a, b in self._rows())
        return f"<table>{''.join(cells)}</table>"

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("guarantee", str(self.guarantee)),
            ("neighbors", "as declared" if self.relation is None else self.relation.value),
            ("theorem", str(self.theorem)),
            *(("assumes", text) for text in self.assumes),
        ]


@runtime_checkable
class Mechanism(Protocol):
    """Samples outputs and states a claim.

    `data` is whatever the mechanism takes. For additive noise it is the query's exact answer.

    >>> import dpverify as dpv
    >>> mechanism: dpv.Mechanism = dpv.RandomizedResponse(epsilon=1.0)
    >>> mechanism.claim.guarantee
    PureDP(epsilon=1.0)
    """

    @property
    def claim(self) -> Claim: ...

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Any: ...  # noqa: ANN401


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
        for epsilon, delta in sorted(map(_point, self.points)):
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


class HasProfile(Protocol):
    """Says which δ holds at ε, as pairs and accountants do.

    `epsilon(delta)`, `reversed`, `max_loss` and `relation` are asked for too if they are there.
    """

    def delta(self, epsilon: float) -> float | Bracket: ...


@runtime_checkable
class HasPair(Protocol):
    """A mechanism with a dominating pair."""

    def pair(self, relation: Relation) -> Pair: ...


@runtime_checkable
class HasClaim(Protocol):
    """A mechanism that says what it promises."""

    @property
    def claim(self) -> Claim: ...


AuditClaim: TypeAlias = Guarantee | ProfileClaim
_KINDS: dict[str, type[AuditClaim]] = {kind.__name__: kind for kind in (*GUARANTEES, ProfileClaim)}
Claimable: TypeAlias = (
    AuditClaim
    | Claim
    | HasProfile
    | HasPair
    | HasClaim
    | Callable[[float], float]
    | Sequence[tuple[float, float]]
    | Sequence["Claimable"]
)


def read_claim(subject: Claimable | None, relation: Relation | None = None) -> AuditClaim:
    """The claim that a caller offers, in the form that draws are tested against.

    A mechanism stands for its dominating pair under `relation`, or for its own claim if no
    relation is given or it has no pair. Of a list every claim must hold.

    >>> read_claim([(1.0, 0.0), (0.0, 0.5)]).points
    ((0.0, 0.5), (1.0, 0.0))
    >>> read_claim([PureDP(epsilon=1.0), ApproxDP(epsilon=0.5, delta=0.1)]).points
    ((0.5, 0.1), (1.0, 0.0))
    """
    thing: Any = subject
    check_instance("claim", thing)
    if thing is None:
        raise InvalidParameter(
            "claim=None must be given, by the command line as --epsilon, --rho or --mu: "
            "the mechanism states none"
        )
    if isinstance(thing, (*GUARANTEES, ProfileClaim)):
        return thing
    if hasattr(thing, "guarantee"):
        _check_relation(thing, relation)
        return read_claim(thing.guarantee)
    if callable(getattr(thing, "delta", None)):
        _check_relation(thing, relation)
        return _of_profile(thing, type(thing).__name__)
    has_pair = callable(getattr(thing, "pair", None))
    if has_pair and relation is not None:
        return _of_profile(thing.pair(Relation.parse(relation)), type(thing).__name__)
    if getattr(thing, "claim", None) is not None:
        return read_claim(thing.claim, relation)
    if has_pair:
        raise InvalidParameter(
            f"claim={thing!r} must state a claim, or come with the relation of its pair"
        )
    if callable(thing):
        return _of_function(thing, getattr(thing, "__name__", "a function"))
    is_list = isinstance(thing, Iterable) and getattr(thing, "shape", None) != ()
    if is_list and not isinstance(thing, (str, bytes)):
        return _of_several(tuple(thing), relation)
    raise InvalidParameter(
        f"claim={thing!r} must be a guarantee, a pair, an accountant, a mechanism, a "
        "function ε ↦ δ, points (ε, δ) or a list of claims"
    )


def claim_from_dict(told: dict[str, Any]) -> AuditClaim:
    """The claim that `plain.tagged` wrote."""
    return untagged(told, _KINDS)


def _of_several(claims: tuple[Any, ...], relation: Relation | None) -> AuditClaim:
    """The points of all claims; a pair of numbers is a point, and a claim alone is that claim."""
    claims = tuple(_flat(claims))
    if len(claims) == 1 and not isinstance(claims[0], Iterable | Real):
        return read_claim(claims[0], relation)
    stated = {getattr(getattr(each, "claim", each), "relation", None) for each in claims} - {None}
    if len(stated) > 1:
        told = " and ".join(sorted(map(plain, stated)))
        raise InvalidParameter(f"claim={claims!r} must be for one relation, not for {told}")
    points: list[Any] = []
    named = False
    for each in claims:
        if isinstance(each, Iterable | Real):  # a point, or refused as one
            points.append(each)
            continue
        named = True
        match read_claim(each, relation):
            case PureDP(epsilon=epsilon):
                points.append((epsilon, 0.0))
            case ApproxDP(epsilon=epsilon, delta=delta):
                points.append((epsilon, delta))
            case ProfileClaim(points=several):
                points.extend(several)
            case other:
                raise InvalidParameter(
                    f"claim={other!r} must stand alone: in a list, claims are PureDP, ApproxDP, "
                    "points (ε, δ) or profiles"
                )
    return ProfileClaim(points=tuple(points), name="several claims" if named else "points")


def _like_a_point(each: Any) -> bool:  # noqa: ANN401
    """Whether it is a point, or refused as one; a list of points or claims is a claim."""
    if isinstance(each, (list, tuple)):
        return not each or any(isinstance(part, (Real, str, bytes)) for part in each)
    return isinstance(each, Iterable | Real)


def _flat(claims: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    """The claims and points in a list, and in lists of claims or points within it."""
    if depth > _DEEPEST:
        raise InvalidParameter(f"claim=[…] must not hold lists in more than {_DEEPEST} lists")
    for each in claims:
        if isinstance(each, list | tuple) and not _like_a_point(each):
            yield from _flat(each, depth + 1)
        else:
            yield each


def _check_relation(stated: Any, relation: Relation | None) -> None:  # noqa: ANN401
    """Raise if a claim, or an accountant, is about other neighbors than `relation`."""
    own = getattr(stated, "relation", None)
    if None not in {own, relation} and own is not relation:
        raise InvalidParameter(
            f"claim={type(stated).__name__} for relation={plain(own)!r} must hold for "
            f"relation={plain(relation)!r}"
        )


def _of_profile(subject: Any, name: str) -> ProfileClaim:  # noqa: ANN401  # see `HasProfile`
    """Points on the profile of a pair or an accountant, in the worse direction."""
    if getattr(subject, "parts", None) == ():
        raise InvalidParameter(f"claim={name}(parts=()) must have parts: compose something")
    if isinstance(subject, Pair):
        subject.check()
    sides = (subject, subject.reversed) if hasattr(subject, "reversed") else (subject,)
    loosely = _takes_tolerance(subject.delta)
    options = {"tolerance": _LOOSELY} if loosely else {}

    def delta(epsilon: float) -> float:
        return max(_upper(side.delta(epsilon, **options)) for side in sides)

    if not callable(getattr(subject, "epsilon", None)):
        return _of_function(delta, name)
    points = [(0.0, delta(0.0))]
    for at in _FEW_DELTAS if loosely else _DELTAS:
        epsilon = max(_upper(side.epsilon(at, **options)) for side in sides)
        if math.isfinite(epsilon):
            points.append((epsilon, at))
    largest = max(getattr(side, "max_loss", math.inf) for side in sides)
    if math.isfinite(largest):
        points.append((largest, delta(largest)))
    runs = [getattr(part, "times", 1) for part in getattr(subject, "parts", ())]
    told = f"an accountant, runs: {sum(runs):,}" if loosely and runs else name
    return ProfileClaim(points=tuple(points), name=told)


def _takes_tolerance(method: Callable[..., object]) -> bool:
    """Whether the profile takes a tolerance, which means that it is slow to evaluate."""
    return "tolerance" in inspect.signature(method).parameters


def _upper(answer: float | Bracket) -> float:
    return float(answer.upper if isinstance(answer, Bracket) else answer)


def _of_function(profile: Callable[[float], float], name: str) -> ProfileClaim:
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
    return ProfileClaim(points=tuple(points), name=name)


def _point(point: Any) -> tuple[float, float]:  # noqa: ANN401  # what a caller gave
    match point:
        case (epsilon, delta):
            checked = ApproxDP(epsilon=epsilon, delta=delta)  # refuses what is no point
            return float(checked.epsilon), float(checked.delta)
        case _:
            raise InvalidParameter(f"points={point!r} must be pairs (ε, δ)")
