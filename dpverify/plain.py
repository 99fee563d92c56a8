"""Conversion of values to JSON and back.

Numbers, texts and None stay what they are. Infinities and NaN become texts, fractions "1/3", enums
their names, tuples and arrays lists, and dataclasses dicts of their fields. The way back follows
the types that a dataclass declares.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dpverify.errors import InvalidParameter, check_member

T = TypeVar("T")
CERTIFICATE = "dpverify certificate"  # the format that files of certificates name


def plain(value: Any) -> Any:  # noqa: ANN401  # one line a kind
    """The value in what JSON has: numbers, texts, lists, dicts.

    >>> plain((1, math.inf, Fraction(1, 3)))
    [1, 'inf', '1/3']
    """
    match value:
        case Enum():
            return value.value if isinstance(value.value, str) else value.name.lower()
        case np.ndarray() | np.generic():
            return plain(value.tolist())
        case float() if not math.isfinite(value):
            return str(value)
        case Fraction():
            return str(value)
        case tuple() | list():
            return [plain(part) for part in value]
        case Mapping():
            return {name: plain(part) for name, part in value.items()}
        case _ if is_dataclass(value):
            return fields_of(value)
        case _:
            return value


def fields_of(value: Any) -> dict[str, Any]:  # noqa: ANN401  # a dataclass
    """The fields of a dataclass, plainly."""
    return {field.name: plain(getattr(value, field.name)) for field in fields(value)}


def tagged(value: Any, kind: str | None = None) -> dict[str, Any]:  # noqa: ANN401  # a dataclass
    """The fields of a dataclass after its kind, which is its name if none is given."""
    return {"kind": kind or type(value).__name__} | fields_of(value)


def untagged(told: Mapping[str, Any], kinds: Mapping[str, type[T]]) -> T:
    """The value that `tagged` wrote; `kinds` are the classes that it may be of."""
    if not isinstance(told, Mapping):
        raise InvalidParameter(f"fields={told!r} must be an object with a kind")
    check_member("kind", told.get("kind"), kinds)
    kind = kinds[told["kind"]]
    made: T = restored(kind, {name: told[name] for name in told if name != "kind"})
    return made


def restored(kind: Any, value: Any) -> Any:  # noqa: ANN401  # one line a kind
    """The value of the declared type that `plain` wrote.

    >>> restored(tuple[float, ...], ["inf", 2])
    (inf, 2.0)
    """
    inner = get_args(kind)
    match get_origin(kind):
        case origin if origin is Union or origin is UnionType:
            if value is None:
                return None
            return restored(next(part for part in inner if part is not type(None)), value)
        case origin if origin is tuple:
            if inner[-1] is Ellipsis:
                return tuple(restored(inner[0], part) for part in value)
            return tuple(restored(k, part) for k, part in zip(inner, value, strict=True))
        case origin if origin is np.ndarray:
            return np.array(restored(tuple[float, ...], value))
    if is_dataclass(kind):
        return _made(kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        known = {plain(member): member for member in kind}
        check_member(kind.__name__, value, known)
        return known[value]
    if kind is float:
        return Fraction(value) if isinstance(value, str) and "/" in value else float(value)
    return kind(value) if kind in {int, bool, str, Fraction} else value


def _made(kind: Any, value: Any) -> Any:  # noqa: ANN401  # a dataclass, its fields by name or in order
    names = [field.name for field in fields(kind)]
    if not isinstance(value, Mapping):
        value = dict(zip(names, value, strict=True))
    if unknown := set(value) - set(names):
        listed = ", ".join(names)
        raise InvalidParameter(
            f"fields={sorted(unknown)} must be among those of {kind.__name__}: {listed}"
        )
    hints = get_type_hints(kind)
    return kind(**{name: restored(hints[name], part) for name, part in value.items()})


def encoded(data: Any) -> dict[str, Any]:  # noqa: ANN401  # whatever a mechanism takes
    """A dataset for JSON that keeps arrays, tuples and dicts apart; TypeError if it cannot be held.

    >>> decoded(encoded(([1, 2], "a")))
    ([1, 2], 'a')
    """
    if hasattr(data, "tolist"):
        listed = data.tolist()
        json.dumps(listed, allow_nan=False)
        return {"array" if isinstance(listed, list) else "json": listed}
    if isinstance(data, tuple):
        return {"tuple": [encoded(each) for each in data]}
    try:
        if json.loads(json.dumps(data, allow_nan=False)) == data:  # no tuple, no key but texts
            return {"json": data}
    except (TypeError, ValueError):
        if not isinstance(data, (list, dict)):
            raise
    if isinstance(data, list):
        return {"list": [encoded(each) for each in data]}
    if isinstance(data, dict) and all(isinstance(name, str) for name in data):
        return {"dict": {name: encoded(each) for name, each in data.items()}}
    if isinstance(data, dict):
        return {"items": [[encoded(name), encoded(each)] for name, each in data.items()]}
    raise TypeError(f"{type(data).__name__} cannot be written as JSON")


def decoded(told: dict[str, Any]) -> Any:  # noqa: ANN401  # whatever a mechanism takes
    """The dataset that `encoded` wrote."""
    ((kind, held),) = told.items()
    match kind:
        case "array":
            return np.array(held)
        case "tuple":
            return tuple(decoded(each) for each in held)
        case "list":
            return [decoded(each) for each in held]
        case "dict":
            return {name: decoded(each) for name, each in held.items()}
        case "items":
            return {decoded(name): decoded(each) for name, each in held}
        case _:
            return held
