"""Schemas as JSON: one object a domain, each with its `kind`.

```json
{"kind": "records", "length": [0, 20], "relation": "add-remove",
 "record": {"kind": "number", "low": 0, "high": 1}}
```
"""

import json
import math
from dataclasses import fields
from pathlib import Path
from typing import Any

from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation
from dpverify.schema.answers import Answers
from dpverify.schema.candidates import Schema
from dpverify.schema.compound import Labeled, Table
from dpverify.schema.domains import Category, Number
from dpverify.schema.records import Records
from dpverify.schema.vectors import BoxedVector, Vector

_DATASETS: dict[str, type[Any]] = {"records": Records, "answers": Answers}
_DOMAINS: dict[str, type[Any]] = {
    "number": Number,
    "vector": Vector,
    "box": BoxedVector,
    "category": Category,
    "labeled": Labeled,
    "table": Table,
}
_NESTED = {"record", "x", "y"}


def load_schema(path: str | Path) -> Schema:
    """The schema that a JSON file describes."""
    try:
        read = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidParameter(f"schema={str(path)!r} must be a JSON file: {error}") from None
    return schema_from_dict(read)


def schema_from_dict(described: object) -> Schema:
    """The schema that `schema_to_dict` wrote.

    >>> schema_from_dict({"kind": "answers", "sensitivity": 1, "norm": "inf"})
    Answers(dimension=None, sensitivity=1, norm=inf, monotone=False, low=-inf, high=inf, \
integer=False, relation=None)
    """
    made: Schema = _made(described, _DATASETS, "schema")
    return made


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """The schema as plain values that JSON can hold."""
    described: dict[str, Any] = _described(schema)
    return described


def _made(described: object, kinds: dict[str, type[Any]], where: str) -> Any:  # noqa: ANN401
    if not isinstance(described, dict):
        raise InvalidParameter(f"{where}={described!r} must be an object with a kind")
    given = dict(described)
    kind = given.pop("kind", None)
    if kind not in kinds:
        raise InvalidParameter(f"{where}.kind={kind!r} must be one of: {', '.join(kinds)}")
    made = kinds[kind]
    known = {f.name: f for f in fields(made)}
    for name in given:
        if name not in known:
            raise InvalidParameter(f"{where}.{name} must be one of: {', '.join(known)}")
    try:
        return made(**{name: _value(name, value, where) for name, value in given.items()})
    except InvalidParameter as error:
        own = str(error) if str(error).startswith(where) else f"{where}.{error}"
        raise InvalidParameter(own) from None
    except TypeError as error:
        missing = str(error).partition("argument")[2].lstrip("s: ") or str(error)
        raise InvalidParameter(f"{where} must have {missing}") from None


def _value(name: str, value: Any, where: str) -> Any:  # noqa: ANN401
    if name in _NESTED:
        return _made(value, _DOMAINS, f"{where}.{name}")
    if name == "cells":
        if not isinstance(value, dict):
            raise InvalidParameter(f"cells={value!r} must be an object, one domain a name")
        cells = {key: _made(v, _DOMAINS, f"{where}.cells.{key}") for key, v in value.items()}
        return tuple(cells.items())
    if name in {"norm", "low", "high"} and isinstance(value, str):
        infinities = {"inf": math.inf, "-inf": -math.inf}
        if value not in infinities:
            raise InvalidParameter(f"{name}={value!r} must be a number")
        return infinities[value]
    return tuple(value) if isinstance(value, list) else value


def _described(value: Any) -> Any:  # noqa: ANN401
    kinds = {made: kind for kind, made in (_DATASETS | _DOMAINS).items()}
    if isinstance(value, Relation):
        return value.value
    if isinstance(value, Table):
        return {"kind": "table", "cells": {name: _described(part) for name, part in value.cells}}
    if isinstance(value, tuple):
        return [_described(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinities
    if type(value) not in kinds:
        return value
    own = {f.name: _described(getattr(value, f.name)) for f in fields(value)}
    return {"kind": kinds[type(value)]} | own
