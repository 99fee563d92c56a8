"""The parts of a composition as a disclosure states them, and the accountant that they make."""

import ast
import math
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from fractions import Fraction
from inspect import signature
from typing import Any

from dpverify.accounting import record
from dpverify.accounting.accountant import Accountant
from dpverify.accounting.parts import Composable, Part, brief, part_of
from dpverify.disclosing.document import StatedPart
from dpverify.disclosing.form import plain
from dpverify.errors import DPVerifyError, InvalidParameter, NotSupported, shown
from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.mechanisms.registered import GUARANTEES, MECHANISMS
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.plain import plain as as_json

PAIR = "pair"
"""The name of a part that is stated by its dominating pair."""
_OF_SAMPLES = ("arithmetic", "grid_exponent")  # parameters that no accountant asks for
_LONGEST = 4000  # characters of a label that is read
_FRACTION = re.compile(r"-?[0-9]{1,400}/[0-9]{1,400}")


def stated_part(
    subject: Composable, times: int, relation: Relation, label: str | None = None
) -> StatedPart:
    """A mechanism or a guarantee, stated such that `composed` makes it again.

    How its noise was computed is not stated: an accountant does not know.
    """
    part = part_of(subject, times=times, relation=relation)
    return _by_name(subject, part, relation, label) or _by_pair(part, relation, label)


def seen_part(part: Part, relation: Relation) -> StatedPart:
    """A part of an accountant: by the mechanism that its label names, if that has the same pair."""
    subject = mechanism_in(part.label)
    by_name = None if subject is None else _by_name(subject, part, relation, None)
    return by_name or _by_pair(part, relation, None)


def _by_name(
    subject: object, part: Part, relation: Relation, label: str | None
) -> StatedPart | None:
    """Stated by name and parameters; None if these do not make the same part again."""
    named = _named(subject)
    if named is None:
        return None
    name, parameters = named
    try:
        again = part_of(_made(name, parameters), times=part.times, relation=relation)
    except DPVerifyError:
        return None
    if again.seen != part.seen:
        return None
    label = label or again.label
    return StatedPart(label=label, name=name, parameters=parameters, times=part.times)


def _by_pair(part: Part, relation: Relation, label: str | None) -> StatedPart:
    """Stated by its pair, which is that of one relation; a user's own class cannot be stated."""
    try:
        parameters: dict[str, Any] | None = record.told(part.seen)
    except NotSupported:
        parameters = None
    return StatedPart(
        label=label or part.label,
        name=PAIR,
        parameters=parameters,
        times=part.times,
        relation=relation.value,
    )


def composed(parts: Iterable[StatedPart], relation: Relation, most_records: int = 1) -> Accountant:
    """The accountant of stated parts, for datasets that differ in up to `most_records` records."""
    accountant = Accountant(relation=relation)
    for part in parts:
        if part.name is None or part.parameters is None or part.times is None:
            raise NotSupported(f"part={part.label!r} must state name, parameters and times")
        if part.name == PAIR:
            seen = record.seen_in(part.parameters)
            if relation is Relation.REPLACE_ONE and isinstance(seen, Pair):
                _check_symmetric(seen, part)
            accountant = accountant.extended(Part(seen, part.times, part.label or PAIR))
        else:
            subject = _made(part.name, part.parameters)
            accountant = accountant.compose(subject, times=part.times)
    return accountant.group(most_records)


def _check_symmetric(pair: Pair, part: StatedPart) -> None:
    """Under replace-one neither record comes first: no accountant holds a pair with a direction."""
    if pair.either_way != pair:
        raise InvalidParameter(
            f"part={part.label!r} must be a pair of replace-one: this one has a direction, as "
            "those of add-remove have"
        )


def label_of(part: StatedPart, relation: Relation) -> str | None:
    """The label that name and parameters give a part; None where any words may stand for it.

    A pair may be labeled by a mechanism that has it. Of a mechanism that is stated by a guarantee
    alone nothing is known but that.
    """
    if part.name is None or part.parameters is None:
        return None
    named = mechanism_in(part.label or "")
    if part.name != PAIR:
        given = brief(_made(part.name, part.parameters))
        is_free = part.name in GUARANTEES and part.label != given and named is None
        return None if is_free else given
    seen = record.seen_in(part.parameters)
    if named is None:
        return brief(seen) if part.label == brief(seen) else None
    try:
        has_it = part_of(named, times=1, relation=relation).seen == seen
    except DPVerifyError:
        has_it = False
    return part.label if has_it else brief(seen)


def is_implied(part: StatedPart, shown: Guarantee) -> bool:
    """Whether a part is stated as a guarantee that follows from `shown` by larger parameters."""
    if part.name not in GUARANTEES or part.parameters is None:
        return False
    try:
        stated = _made(part.name, part.parameters)
    except DPVerifyError:
        return False
    pair = (_with_delta(shown), _with_delta(stated))
    return type(pair[0]) is type(pair[1]) and all(
        getattr(pair[0], item.name) == getattr(pair[1], item.name)
        if item.name == "order"
        else getattr(pair[0], item.name) <= getattr(pair[1], item.name)
        for item in fields(pair[0])
    )


def _with_delta(guarantee: Guarantee) -> Guarantee:
    return ApproxDP(guarantee.epsilon) if isinstance(guarantee, PureDP) else guarantee


def mechanism_in(label: str) -> Any:  # noqa: ANN401  # a mechanism or guarantee
    """The mechanism or guarantee that a label describes; None if it does not describe all of one.

    >>> mechanism_in("Gaussian(sigma=2.0)").sigma
    2.0
    """
    if len(label) > _LONGEST:
        return None
    try:
        return _written(ast.parse(label, mode="eval").body)
    except (DPVerifyError, SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        return None


def _written(node: ast.expr) -> Any:  # noqa: ANN401  # of a label; nothing is evaluated
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id="inf"):
            return math.inf
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=parts):
            return tuple(map(_written, parts))
        case ast.Call(func=ast.Name(id="Fraction"), args=[top, bottom], keywords=[]):
            return Fraction(f"{_written(top)}/{_written(bottom)}")
        case ast.Call(func=ast.Name(id=kind), args=[], keywords=keywords):
            return _made(
                next(iter(_makers(kind)), ""),
                {str(each.arg): _written(each.value) for each in keywords},
            )
        case _:
            raise InvalidParameter(f"label={ast.unparse(node)!r} must be that of a mechanism")


def _makers(own: str) -> dict[str, Any]:
    """The classes of this name, each under the name by which it is known."""
    stated = {name: maker for name, maker in GUARANTEES.items() if maker.__name__ == own}
    return {name: MECHANISMS[name] for name in MECHANISMS.names_of(own)} | stated


def _named(subject: object) -> tuple[str, dict[str, Any]] | None:
    """The name under which a mechanism is known, and its parameters; None if it is not."""
    makers = _makers(type(subject).__name__)
    name = next((name for name, maker in makers.items() if maker is type(subject)), None)
    if name is None:
        return None
    held = {}
    for key, parameter in signature(makers[name]).parameters.items():
        value = getattr(subject, key, parameter.default)
        if value is parameter.empty:
            return None
        if value is None or key in _OF_SAMPLES:
            continue
        inner = _named(value) if is_dataclass(value) else None
        if inner is not None:
            held[key] = {"name": inner[0], "parameters": inner[1]}
        else:
            held[key] = plain(as_json(value))
    return name, held


def _made(name: str, parameters: dict[str, Any]) -> Any:  # noqa: ANN401  # a mechanism or guarantee
    if name not in GUARANTEES and name not in MECHANISMS:
        known = ", ".join((PAIR, *GUARANTEES, *MECHANISMS.names))
        raise InvalidParameter(f"name={shown(name)} must be one of: {known}")
    maker = GUARANTEES[name] if name in GUARANTEES else MECHANISMS[name]
    accepted = signature(maker).parameters
    if unknown := [key for key in parameters if key not in accepted]:
        listed = ", ".join(accepted)
        raise InvalidParameter(f"parameter={shown(unknown[0])} of {name} must be one of: {listed}")
    given = {key: _value(value) for key, value in parameters.items()}
    try:
        return maker(**given)
    except DPVerifyError:
        raise
    except (TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InvalidParameter(f"parameters of {name} must make one: {error}") from None


def _value(told: Any) -> Any:  # noqa: ANN401  # of a parameter
    match told:
        case {"name": str(name), "parameters": dict(parameters), **rest} if not rest:
            return _made(name, parameters)
        case list():
            return tuple(map(_value, told))
        case "inf" | "-inf":
            return float(told)
        case str() if _FRACTION.fullmatch(told):
            return Fraction(told)
        case _:
            return told
