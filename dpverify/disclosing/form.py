"""Declared values from plain ones and back, and the JSON Schema of what is declared.

All three follow the fields of frozen dataclasses: what is declared is read, written and published.
None means "not stated", and is written so.
"""

import math
from collections.abc import Iterator
from dataclasses import field, fields, is_dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dpverify.disclosing.objections import Objection
from dpverify.disclosing.text import Tree
from dpverify.errors import shown

NOT_STATED = "not stated"
_HINTS = 20  # unknown fields of one object for which a close one is looked up
_INFINITE = ("inf", ".inf", "Infinity")


def asked(says: str, *, low: float | None = None, high: float | None = None) -> Any:  # noqa: ANN401
    """A field that a complete document states; a number lies between `low` and `high`."""
    return field(default=None, metadata={"says": says, "asked": True, "low": low, "high": high})


def extra(says: str, *, low: float | None = None, high: float | None = None) -> Any:  # noqa: ANN401
    """A field that need not be stated."""
    return field(default=None, metadata={"says": says, "asked": False, "low": low, "high": high})


class Reader:
    """One walk through plain values along the declarations; what is not as declared is objected."""

    def __init__(self) -> None:
        self.objections: list[Objection] = []

    def wrong(self, path: str, text: str) -> None:
        """Object to what stands at a path."""
        self.objections.append(Objection("wrong", path or "document", text))

    def stated(self, kind: type, tree: Tree, path: str = "") -> Any:  # noqa: ANN401  # of that kind
        """The dataclass that a tree states, without what is not as declared; None if it is none."""
        if not isinstance(tree, dict):
            self.wrong(path, f"{shown(tree)} must be an object")
            return None
        hints = get_type_hints(kind)
        names = [item.name for item in fields(kind)]
        for i, name in enumerate(each for each in tree if each not in names):
            close = get_close_matches(str(name), names, n=1) if i < _HINTS else []
            hint = f"did you mean {close[0]!r}?" if close else f"fields are {', '.join(names)}"
            self.wrong(_below(path, _brief(name)), f"unknown field, nothing checks it; {hint}")
        made: dict[str, Any] = {}
        for item in fields(kind):
            where = _below(path, item.name)
            if item.name not in tree:
                if _optional(hints[item.name]) is None:
                    self.wrong(where, "must be stated")
                continue
            value = self.value(hints[item.name], tree[item.name], where)
            if value is not None and self._is_within(item.metadata, value, where):
                made[item.name] = value
        try:
            return kind(**made)
        except TypeError:  # a kind that is missing, told above
            return None

    def value(self, kind: Any, tree: Tree, path: str) -> Any:  # noqa: ANN401, C901, PLR0912
        """The value of a declared type; None if it is not stated, or not as declared."""
        inner = _optional(kind)
        if inner is not None:
            if tree is None or (isinstance(tree, str) and tree.strip().lower() in {"", NOT_STATED}):
                return None
            kind = inner
        if kind is Any:
            return tree
        if is_dataclass(kind):
            return self.stated(kind, tree, path)  # type: ignore[arg-type]  # it is a type
        if get_origin(kind) is tuple:
            if not isinstance(tree, list):
                return self.wrong(path, f"{shown(tree)} must be a list")
            each = (
                self.value(get_args(kind)[0], part, f"{path}[{i}]") for i, part in enumerate(tree)
            )
            return tuple(part for part in each if part is not None)
        if get_origin(kind) is Literal:
            if tree in get_args(kind) and not isinstance(tree, bool | float):
                return tree
            listed = ", ".join(map(str, get_args(kind)))
            return self.wrong(path, f"{shown(tree)} must be one of: {listed}")
        if get_origin(kind) is dict:
            if not isinstance(tree, dict):
                return self.wrong(path, f"{shown(tree)} must be an object")
            return tree if self._is_finite(tree, path) else None
        if kind is int:
            if isinstance(tree, bool) or not isinstance(tree, int):
                return self.wrong(path, f"{shown(tree)} must be a whole number")
            return tree
        if kind is float:
            return self._number(tree, path)
        if not isinstance(tree, str):
            return self.wrong(path, f"{shown(tree)} must be a text")
        return tree

    def _number(self, tree: Tree, path: str) -> float | None:
        if isinstance(tree, str) and tree in _INFINITE:
            return math.inf
        if isinstance(tree, bool) or not isinstance(tree, int | float) or tree != tree:  # noqa: PLR0124
            self.wrong(path, f"{shown(tree)} must be a number")
            return None
        try:
            return float(tree)
        except OverflowError:
            self.wrong(path, f"{shown(tree)} must be a number that a float can hold")
            return None

    def _is_within(self, declared: Any, value: object, path: str) -> bool:  # noqa: ANN401
        """Whether a number lies in its range; anything else does."""
        if not isinstance(value, int | float):
            return True
        low, high = declared.get("low"), declared.get("high")
        if (low is not None and value < low) or (high is not None and value > high):
            bound = f"at least {low:g}" if high is None else f"from {low:g} to {high:g}"
            self.wrong(path, f"{shown(value)} must be {bound}")
            return False
        return True

    def _is_finite(self, tree: Tree, path: str) -> bool:
        """Whether no number in plain values is NaN."""
        match tree:
            case dict():
                inner = [(part, _below(path, _brief(name))) for name, part in tree.items()]
            case list():
                inner = [(part, f"{path}[{i}]") for i, part in enumerate(tree)]
            case float() if math.isnan(tree):
                self.wrong(path, "nan must be a number")
                return False
            case _:
                return True
        return not [where for part, where in inner if not self._is_finite(part, where)]


def _optional(kind: Any) -> Any:  # noqa: ANN401  # a type
    """X of `X | None`; None for any other type, which has to be stated."""
    if kind is Any:
        return Any
    if get_origin(kind) in {Union, UnionType} and type(None) in get_args(kind):
        return next(part for part in get_args(kind) if part is not type(None))
    return None


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _brief(name: object) -> str:
    text = str(name)
    return text if len(text) <= 40 else f"{text[:40]}…"


def plain(value: Any) -> Tree:  # noqa: ANN401  # a part of a disclosure
    """Plain values, as YAML and JSON hold them; every field is there."""
    match value:
        case None:
            return NOT_STATED
        case float() if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        case tuple() | list():
            return [plain(part) for part in value]
        case dict():
            return {
                str(name): None if part is None else plain(part) for name, part in value.items()
            }
        case _ if is_dataclass(value):
            told = [item for item in fields(value) if _is_told(item, value)]
            return {item.name: plain(getattr(value, item.name)) for item in told}
        case _:
            return value


def _is_told(item: Any, value: Any) -> bool:  # noqa: ANN401  # a field and its dataclass
    """Whether it is written: what need not be stated is left out where it is not."""
    return getattr(value, item.name) is not None or item.metadata.get("asked", True)


def unstated(value: Any, path: str = "") -> Iterator[Objection]:  # noqa: ANN401  # a part of a document
    """Every field that a complete document states and this one does not."""
    for item in fields(value):
        held = getattr(value, item.name)
        where = _below(path, item.name)
        if held is None and item.metadata.get("asked"):
            yield Objection("incomplete", where, "not stated")
        elif is_dataclass(held):
            yield from unstated(held, where)
        elif isinstance(held, tuple):
            for i, part in enumerate(held):
                if is_dataclass(part):
                    yield from unstated(part, f"{where}[{i}]")


def described(kind: Any) -> dict[str, Any]:  # noqa: ANN401  # a type, a case a kind
    """The JSON Schema of a declared type."""
    inner = _optional(kind)
    if inner is not None:
        return {"anyOf": [described(inner), {"enum": [NOT_STATED, None]}]}
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        told = {}
        for item in fields(kind):
            told[item.name] = _limited(described(hints[item.name]), item.metadata)
        needed = [item.name for item in fields(kind) if _optional(hints[item.name]) is None]
        about = " ".join((kind.__doc__ or "").partition(">>>")[0].split())
        made = {"type": "object", "description": about, "properties": told}
        return made | {"required": needed, "additionalProperties": False}
    if get_origin(kind) is tuple:
        return {"type": "array", "items": described(get_args(kind)[0])}
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    if get_origin(kind) is dict:
        return {"type": "object"}
    if kind is float:
        return {"anyOf": [{"type": "number"}, {"const": "inf"}]}
    return {"type": "integer" if kind is int else "string"}


def _limited(described: dict[str, Any], declared: Any) -> dict[str, Any]:  # noqa: ANN401
    """With the sentence and the range that the field declares."""
    limits = {
        name: declared[key]
        for name, key in (("minimum", "low"), ("maximum", "high"))
        if declared.get(key) is not None
    }
    told = {"description": declared["says"]} if "says" in declared else {}
    return told | described | limits  # limits apply to numbers alone
