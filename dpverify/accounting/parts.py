"""The parts of a composition, each a pair or a guarantee with a number of runs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from dpverify.balls import at_least, ball, enclose
from dpverify.claims import Claim, HasClaim, HasPair
from dpverify.errors import InvalidParameter, NotSupported, as_count, check_instance, settle
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.pairs.gaussian import GaussianPair
from dpverify.pairs.leaky_response import LeakyResponsePair

Composable: TypeAlias = Guarantee | Claim | Pair | HasPair | HasClaim


@dataclass(frozen=True, slots=True)
class Part:
    """One element of a composition, run `times` times.

    `seen` is a dominating pair wherever there is one. A zCDP or a Rényi guarantee has none: many
    pairs satisfy it and no single one is the worst.
    """

    seen: Pair | ZeroConcentratedDP | RenyiDP
    times: int
    label: str

    def __post_init__(self) -> None:
        settle(self, times=as_count("times", self.times))

    @property
    def pair(self) -> Pair | None:
        return self.seen if isinstance(self.seen, Pair) else None


Parts: TypeAlias = tuple[Part, ...]


def part_of(subject: Composable, *, times: int, relation: Relation) -> Part:
    """The part that `subject` stands for under `relation`."""
    check_instance("subject", subject)
    if isinstance(subject, HasPair):
        return Part(_of_relation(subject.pair(relation), relation), times, brief(subject))
    if isinstance(subject, HasClaim):
        return part_of(subject.claim, times=times, relation=relation)
    if isinstance(subject, Claim):
        if subject.relation not in {None, relation}:
            stated = "" if subject.relation is None else subject.relation.value
            raise InvalidParameter(
                f"relation={relation.value!r} must be that of the claim: {stated!r}"
            )
        return Part(_seen(subject.guarantee), times, brief(subject.guarantee))
    seen = _seen(subject)
    if isinstance(seen, Pair):
        seen = _of_relation(seen, relation)
    return Part(seen, times, brief(subject))


def _of_relation(pair: Pair, relation: Relation) -> Pair:
    """The pair in the form that can be composed under `relation`.

    ADD_REMOVE: `left` is the law with the record and `right` the law without it, in every part, so
    that a product of pairs keeps the sides apart.

    REPLACE_ONE: neither record comes first, and each step may show either law on the same dataset.
    So a pair must be its own mirror image, or be made so.
    """
    pair.check()
    if relation is Relation.ADD_REMOVE:
        return pair
    return pair.either_way


def _seen(subject: Guarantee | Pair) -> Pair | ZeroConcentratedDP | RenyiDP:
    match subject:
        case RenyiDP(order=math.inf, epsilon=epsilon):
            return LeakyResponsePair(ApproxDP(epsilon=epsilon))
        case Pair() | ZeroConcentratedDP() | RenyiDP():
            return subject
        case ApproxDP():
            return LeakyResponsePair(subject)
        case PureDP(epsilon=epsilon):
            return LeakyResponsePair(ApproxDP(epsilon=epsilon))
        case GaussianDP(mu=math.inf):
            return LeakyResponsePair(ApproxDP(epsilon=math.inf))
        case GaussianDP(mu=mu):
            return GaussianPair(Fraction(mu) ** 2)
        case _:
            raise InvalidParameter(
                f"part={subject!r} must be a guarantee, a claim, a pair, or have pair(relation)"
            )


def grouped(
    seen: Pair | ZeroConcentratedDP | RenyiDP, size: int
) -> Pair | ZeroConcentratedDP | RenyiDP:
    """The part for a group of `size` records. [BS16 Prop. 1.9 for zCDP]"""
    match seen:
        case Pair():
            return seen.grouped(size)
        case ZeroConcentratedDP(rho=rho):
            return ZeroConcentratedDP(rho=enclose(lambda: ball(rho) * size**2)[1])
        case _:
            raise NotSupported(
                f"part={seen!r} must be a pair or zCDP: one Rényi order does not bound groups"
            )


def brief(subject: object) -> str:
    """The repr of a frozen value without the fields at their default.

    >>> brief(ApproxDP(epsilon=0.5))
    'ApproxDP(epsilon=0.5)'
    >>> brief(GaussianPair(Fraction(0.1)))
    'GaussianPair(squared_mu=Fraction(3602879701896397, 36028797018963968))'
    >>> brief(GaussianPair(Fraction(0.1) ** 2))
    'GaussianPair(squared_mu=0.01)'
    """
    if isinstance(subject, Fraction) and max(map(int.bit_length, subject.as_integer_ratio())) > 64:
        # Twelve digits: thousands of them are no help, and Python refuses to write them.
        parts = map(Decimal, subject.as_integer_ratio())
        return str(Context(prec=12).divide(*parts).normalize())
    if isinstance(subject, tuple) and len(subject) > 1:
        return f"({', '.join(map(brief, subject))})"
    if not is_dataclass(subject) or isinstance(subject, type):
        return repr(subject)
    shown = (
        f"{item.name}={brief(getattr(subject, item.name))}"
        for item in fields(subject)
        if item.default is MISSING or getattr(subject, item.name) != item.default
    )
    return f"{type(subject).__name__}({', '.join(shown)})"


def leaky_parts(parts: Parts) -> tuple[tuple[ApproxDP, int], ...] | None:
    """The parts as (ε, δ) guarantees, if every part is one; else None."""
    found = [(p.seen.worst, p.times) for p in parts if isinstance(p.seen, LeakyResponsePair)]
    return tuple(found) if len(found) == len(parts) else None


def gaussian_parts(parts: Parts) -> GaussianPair | None:
    """The single Gaussian pair equal to all parts, if each is Gaussian. [DRS22 Cor. 2]"""
    found = [p.seen.squared_mu * p.times for p in parts if isinstance(p.seen, GaussianPair)]
    return GaussianPair(sum(found, Fraction())) if len(found) == len(parts) else None


def merged(parts: Iterable[Part]) -> Parts:
    """The same composition with equal parts listed once, in order of first appearance."""
    counts: dict[Pair | ZeroConcentratedDP | RenyiDP, Part] = {}
    for part in parts:
        known = counts.get(part.seen)
        counts[part.seen] = Part(part.seen, part.times + (known.times if known else 0), part.label)
    return tuple(counts.values())


def leak(parts: Sequence[tuple[ApproxDP, int]]) -> arb:
    """1 − Π(1−δᵢ)^kᵢ: the probability that some leaky response leaks."""
    return -_log_unleaked(parts).expm1()


def spare(delta: float, parts: Sequence[tuple[ApproxDP, int]]) -> float:
    """(δ − L)/(1 − L), L the probability of a leak, rounded down; −∞ where it may be negative."""

    def kept() -> arb:
        return _log_unleaked(parts).exp()

    allowed = 1 - Fraction(delta)
    if not at_least(lambda: kept() - ball(allowed), 0.0):
        return -math.inf
    return enclose(lambda: 1 - ball(allowed) / kept())[0] if allowed else 1.0


def _log_unleaked(parts: Sequence[tuple[ApproxDP, int]]) -> arb:
    return sum((times * (-ball(part.delta)).log1p() for part, times in parts), arb(0))
