"""Contradictions between the statements of a document, whichever format they come from."""

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypeVar

from dpverify.accounting.accountant import Accountant
from dpverify.disclosing.objections import Objection
from dpverify.guarantees import Bracket, GaussianDP, Guarantee, ZeroConcentratedDP
from dpverify.neighbors import Relation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Said(Generic[T]):
    """A value and where it stands; None where it is not stated."""

    value: T | None
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """What a guarantee is said to be."""

    variant: Said[str]
    epsilon: Said[float]
    delta: Said[float]
    rho: Said[float]
    mu: Said[float]
    order: Said[float]
    records: Said[int]
    unit: Said[str]
    relation: Said[str]
    composition: Said[str]
    model: Said[str]


def contradictions(said: Statements) -> tuple[tuple[Objection, ...], int]:
    """What cannot be true together, and how many numbers were computed to see it."""
    implied, numbers = _implied(said)
    return (*_variant(said), *_size(said), *implied), numbers


def omissions(said: Statements) -> tuple[Objection, ...]:
    """What has to be stated for a guarantee to mean something, and is not."""
    needed: list[tuple[Said[Any], str]]
    match said.variant.value:
        case "pure":
            needed = [(said.epsilon, "epsilon of pure DP")]
        case "approximate":
            needed = [(said.epsilon, "epsilon"), (said.delta, "delta")]
        case "zero-concentrated":
            needed = [(said.rho, "rho of zero-concentrated DP")]
        case "gaussian":
            needed = [(said.mu, "mu of Gaussian DP")]
        case "renyi":
            needed = [(said.epsilon, "epsilon of Rényi DP"), (said.order, "its order")]
        case _:
            needed = []
    always: list[tuple[Said[Any], str]] = [
        (said.variant, "the variant of differential privacy"),
        (said.unit, "the unit that is protected"),
        (said.relation, "the neighboring relation: add-remove or replace-one"),
        (said.composition, "how privacy loss composes"),
        (said.model, "the model of trust"),
    ]
    return tuple(
        Objection("incomplete", each.path, f"not stated: {what}")
        for each, what in (*always, *needed)
        if each.value is None
    )


def _variant(said: Statements) -> list[Objection]:
    delta = said.delta.value
    if said.variant.value == "pure" and delta is not None and delta > 0:
        weakest = f"({_told(said.epsilon.value)}, {delta!r})-DP"
        return [
            Objection(
                "wrong",
                said.delta.path,
                f"delta={delta!r} must be 0 for pure DP; {weakest} is approximate DP and implies "
                "no pure epsilon: at delta=0 it is inf",
            )
        ]
    return []


def _size(said: Statements) -> list[Objection]:
    delta, records = said.delta.value, said.records.value
    if delta is None or records is None or records < 1 or delta * records <= 1:
        return []
    return [
        Objection(
            "wrong",
            said.delta.path,
            f"delta={delta!r} must not exceed 1/{records} = {1 / records:.6g}: it allows "
            f"publishing {math.floor(delta * records)} of {records} records in full",
        )
    ]


def _implied(said: Statements) -> tuple[list[Objection], int]:
    """Whether the stated ε follows from ρ or from μ; it may be rounded to its last digit.

    The lower end is attained by some mechanism with that ρ or μ, so nothing below it follows.
    """
    if said.epsilon.value is None or not _is_delta(said.delta.value):
        return [], 0
    epsilon, delta = float(said.epsilon.value), float(said.delta.value or 0.0)
    at_most = epsilon * (1 + 1e-9) + _half_unit(epsilon)
    found, numbers = [], 0
    for name, guarantee in (
        (f"rho={said.rho.value!r}", said.rho.value and ZeroConcentratedDP(said.rho.value)),
        (f"mu={said.mu.value!r}", said.mu.value and GaussianDP(said.mu.value)),
    ):
        if not isinstance(guarantee, ZeroConcentratedDP | GaussianDP):
            continue
        numbers += 1
        worst = worst_epsilon(guarantee, delta)
        if at_most >= worst.upper:
            return [], numbers
        found.append(_objection(said, name, worst, excluded=at_most < worst.lower))
    return found, numbers


def _objection(said: Statements, name: str, worst: Bracket, *, excluded: bool) -> Objection:
    told = (
        f"epsilon={said.epsilon.value!r} at delta={said.delta.value!r} does not follow from {name}"
    )
    if excluded:
        return Objection(
            "wrong",
            said.epsilon.path,
            f"{told}: Gaussian noise with it needs epsilon ≥ {worst.lower:.6g}, and what is "
            f"certain for every mechanism with it is epsilon ≤ {worst.upper:.6g}",
        )
    return Objection(
        "incomplete",
        said.epsilon.path,
        f"{told} by a rule known here, which give epsilon ≤ {worst.upper:.6g}; nor is it excluded: "
        "state the rule",
    )


def worst_epsilon(guarantee: Guarantee, delta: float) -> Bracket:
    """Both ends of the smallest ε at δ that holds for every mechanism with the guarantee."""
    # A guarantee is a statement about a pair: the relation has no part in what it implies.
    return Accountant(relation=Relation.REPLACE_ONE).compose(guarantee).epsilon(delta)


def _is_delta(value: float | None) -> bool:
    return value is not None and 0 < value < 1


def _half_unit(value: float) -> float:
    """Half a unit in the last decimal place in which a number is written.

    >>> _half_unit(1.453)
    0.0005
    """
    exponent = Decimal(repr(value)).as_tuple().exponent
    return 0.5 * 10.0**exponent if isinstance(exponent, int) else 0.0


def _told(value: float | None) -> str:
    return "ε" if value is None else repr(value)
