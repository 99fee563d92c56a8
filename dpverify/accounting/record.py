"""An accountant as a JSON text and back, without loss.

Numbers keep their kind: ints and floats as JSON has them, fractions and infinities as marked texts.
A file says what it is, in which version, and carries a digest of its content: one that was damaged,
or that something else wrote, is refused.
"""

import hashlib
import json
import math
import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from inspect import signature
from reprlib import repr as short
from typing import Any

import numpy as np

import dpverify.pairs
import dpverify.theorems
from dpverify.accounting.parts import Part, Parts
from dpverify.errors import DPVerifyError, InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP, RenyiDP, ZeroConcentratedDP
from dpverify.neighbors import Relation
from dpverify.pairs.base import Pair
from dpverify.theorems import Theorem

FORMAT = "dpverify accountant"
VERSION = 1


def written(relation: Relation, parts: Parts) -> str:
    """The JSON text of an accountant."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "relation": relation.value,
        "parts": [
            {"times": part.times, "label": part.label, "seen": _encoded(part.seen)}
            for part in parts
        ],
    }
    return json.dumps(content | {"digest": _digest(content)}, ensure_ascii=False, indent=1)


def read(text: str) -> tuple[Relation, Parts]:
    """The accountant in a text from `written`."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise InvalidParameter(f"text={short(text)} must be the JSON of an accountant") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidParameter(f"text={short(text)} must be of format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise InvalidParameter(f"version={content.get('version')!r} must be {VERSION}")
    if content.pop("digest", None) != _digest(content):
        raise InvalidParameter(f"text={short(text)} must be whole: its digest does not fit")
    try:
        parts = tuple(
            Part(_decoded(part["seen"]), part["times"], str(part["label"]))
            for part in content["parts"]
        )
        return Relation.parse(content["relation"]), parts
    except DPVerifyError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InvalidParameter(f"text={short(text)} must be what to_json returns") from None


def told(seen: Pair | RenyiDP | ZeroConcentratedDP) -> dict[str, Any]:
    """The pair or guarantee of a part as plain values; `seen_in` is the inverse."""
    found: dict[str, Any] = _encoded(seen)
    return found


def seen_in(values: dict[str, Any]) -> Pair | RenyiDP | ZeroConcentratedDP:
    """The pair or guarantee that `told` wrote."""
    try:
        found = _decoded(values)
    except DPVerifyError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        found = None
    if not isinstance(found, Pair | RenyiDP | ZeroConcentratedDP):
        raise InvalidParameter(f"pair={short(values)} must be one that dpverify wrote")
    return found


def name_of(seen: Pair | RenyiDP | ZeroConcentratedDP) -> str:
    """A unique name of a pair or guarantee: its kind, and a digest of its contents."""
    return f"{type(seen).__name__}:{_digest(told(seen))}"


def _digest(content: dict[str, Any]) -> str:
    plain = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _encoded(value: Any) -> Any:  # noqa: ANN401  # one line a kind
    match value:
        case None | bool() | int() | str():
            return value
        case Enum():
            return {"enum": type(value).__name__, "name": value.name}
        case float():
            return value if math.isfinite(value) else {"float": str(value)}
        case Fraction():
            return {"fraction": f"{value.numerator:x}/{value.denominator:x}"}
        case np.ndarray():
            return {"floats": value.tolist()}
        case Theorem():
            return {"theorem": value.name}
        case tuple():
            return {"tuple": [_encoded(part) for part in value]}
        case _ if (
            type(value).__name__ in _kinds() and type(value) is _kinds()[type(value).__name__]
        ):
            names = signature(type(value)).parameters  # whatever it takes to make it again
            held = {name: _encoded(getattr(value, name)) for name in names}
            return {"kind": type(value).__name__, "fields": held}
        case _:
            raise NotSupported(
                f"part={short(value)} must be a pair or a guarantee of dpverify to be written: a "
                "class of your own is known to your code only"
            )


def _decoded(values: Any) -> Any:  # noqa: ANN401
    match values:
        case {"float": text}:
            return float(text)
        case {"fraction": text}:
            top, bottom = (int(part, 16) for part in text.split("/"))
            return Fraction(top, bottom)
        case {"floats": parts}:
            return np.array(parts, dtype=float)
        case {"tuple": parts}:
            return tuple(_decoded(part) for part in parts)
        case {"theorem": name}:
            return _theorems()[name]
        case {"enum": kind, "name": name}:
            return _enums()[kind][name]
        case {"kind": kind, "fields": held}:
            return _kinds()[kind](**{name: _decoded(part) for name, part in held.items()})
        case _:
            return values


@cache
def _kinds() -> dict[str, type]:
    """Every dataclass that a pair of the library may hold, by name."""
    known: dict[str, type] = {
        kind.__name__: kind for kind in (ApproxDP, RenyiDP, ZeroConcentratedDP)
    }
    for kind in (*_subclasses(Pair), *_of_modules()):
        if is_dataclass(kind) and kind.__module__.startswith("dpverify."):
            known[kind.__name__] = kind
    return known


@cache
def _theorems() -> dict[str, Theorem]:
    known = vars(dpverify.theorems).values()
    return {value.name: value for value in known if isinstance(value, Theorem)}


@cache
def _enums() -> dict[str, type[Enum]]:
    return {kind.__name__: kind for kind in _of_modules() if issubclass(kind, Enum)}


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for each in type.__subclasses__(kind):
        yield each
        yield from _subclasses(each)


@cache
def _of_modules() -> tuple[type, ...]:
    """Every class that a module of `dpverify.pairs` defines."""
    modules = [
        import_module(found.name)
        for found in pkgutil.walk_packages(dpverify.pairs.__path__, "dpverify.pairs.")
    ]
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    )
