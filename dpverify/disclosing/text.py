"""YAML and JSON as plain values, read safely: from events, with no object ever constructed.

Of YAML only what JSON has too is read: objects, lists, texts, numbers, true, false and null.
Aliases (the stuff of bombs and cycles), tags, keys that are there twice, several documents in one
file, and anything too large or too deep are refused.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dpverify.errors import InvalidParameter, shown

Tree: TypeAlias = Any
"""What JSON holds: dicts, lists, texts, numbers, True, False and None."""

LARGEST = 2_000_000
"""Bytes: a disclosure has some thousands."""
_DEEPEST = 40
_MOST = 100_000  # values
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT = re.compile(r"[-+]?[0-9]{1,300}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,5})?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", "+.inf", ".Inf", "+.Inf"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}


def file_text(path: Path) -> str:
    """The text of a file; one that is too large is refused before it is read."""
    try:
        size = path.stat().st_size
        if path.is_dir() or size > LARGEST:
            what = "not a folder" if path.is_dir() else f"it has {size:,} bytes"
            raise InvalidParameter(
                f"file={str(path)!r} must be a file of at most {LARGEST:,} bytes: {what}"
            )
        with path.open("rb") as opened:  # a pipe or a device has no size
            content = opened.read(LARGEST + 1)
    except OSError as error:
        raise InvalidParameter(f"file={str(path)!r} must be readable: {error.strerror}") from None
    if len(content) > LARGEST:
        raise InvalidParameter(f"file={str(path)!r} must have at most {LARGEST:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidParameter(f"file={str(path)!r} must be text in UTF-8: {error}") from None


def parsed(text: str) -> Tree:
    r"""The values in a YAML or JSON text.

    >>> parsed("delta: 1e-6\nmechanisms: [{times: 3}]")
    {'delta': 1e-06, 'mechanisms': [{'times': 3}]}
    """
    if len(text) > LARGEST:
        raise InvalidParameter(f"text must have at most {LARGEST:,} characters, not {len(text):,}")
    found = _json(text) if text.lstrip().startswith("{") else None
    if found is None:
        found = _yaml(text)
    _check(found)
    return found


def written(tree: Tree, format: Literal["yaml", "json"] = "yaml") -> str:  # noqa: A002
    """The values as text, in the order in which they are."""
    if format == "json":
        return json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    import yaml  # noqa: PLC0415  # needed where YAML is

    return str(
        yaml.safe_dump(
            tree, sort_keys=False, allow_unicode=True, width=math.inf, default_flow_style=False
        )
    )


def _json(text: str) -> Tree | None:
    """What a JSON text holds; None if it is none, as YAML in braces."""
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise InvalidParameter(f"text must be at most {_DEEPEST} levels deep") from None
    except InvalidParameter:
        raise
    except ValueError:
        return None
    return found


def _once(pairs: list[tuple[str, Tree]]) -> dict[str, Tree]:
    found: dict[str, Tree] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidParameter(f"key={shown(name)} must be there once, not twice")
        found[name] = value
    return found


def _check(tree: Tree) -> None:
    """Refuse what is too large or too deep, and texts that no file can hold."""
    level, count, depth = [tree], 0, 0
    while level:
        count, depth = count + len(level), depth + 1
        if count > _MOST or depth > _DEEPEST:
            raise InvalidParameter(
                f"text must hold at most {_MOST:,} values, at most {_DEEPEST} levels deep"
            )
        below: list[Tree] = []
        for part in level:
            if isinstance(part, str) and _SURROGATE.search(part):
                raise InvalidParameter(f"value={shown(part)} must be text that UTF-8 can hold")
            if isinstance(part, dict):
                below += [*part.keys(), *part.values()]
            elif isinstance(part, list):
                below += part
        level = below


@dataclass
class _Open:
    """An object or a list that is being read."""

    held: dict[str, Tree] | list[Tree]
    key: str | None = None


def _yaml(text: str) -> Tree:
    import yaml  # noqa: PLC0415  # needed where YAML is

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _built(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        raise InvalidParameter(
            f"text must be YAML or JSON: {' '.join(str(error).split())}"
        ) from None


def _built(events: Any) -> Tree:  # noqa: ANN401, C901, PLR0912  # of PyYAML; one case an event
    root: list[Tree] = []
    stack = [_Open(root)]
    count = documents = 0
    for event in events:
        where = f"line {event.start_mark.line + 1}" if event.start_mark else "the text"
        kind = type(event).__name__
        if kind == "AliasEvent":
            raise InvalidParameter(f"alias=*{event.anchor} at {where} must be written out")
        if kind == "DocumentStartEvent":
            documents += 1
            if documents > 1:
                raise InvalidParameter(f"text must be one document: another begins at {where}")
        if kind in {"MappingEndEvent", "SequenceEndEvent"}:
            stack.pop()
        if kind not in {"ScalarEvent", "MappingStartEvent", "SequenceStartEvent"}:
            continue
        count += 1
        if count > _MOST or len(stack) > _DEEPEST:
            raise InvalidParameter(
                f"text must hold at most {_MOST:,} values, at most {_DEEPEST} levels deep: {where}"
            )
        if event.tag is not None:
            raise InvalidParameter(f"tag={shown(event.tag)} at {where} must be left out")
        top = stack[-1]
        if isinstance(top.held, dict) and top.key is None:
            if kind != "ScalarEvent":
                raise InvalidParameter(f"key at {where} must be a text")
            if event.value in top.held:
                raise InvalidParameter(
                    f"key={shown(event.value)} at {where} must be there once, not twice"
                )
            top.key = event.value
            continue
        value: Tree
        if kind == "ScalarEvent":
            value = _scalar(event.value) if event.implicit[0] else event.value
        else:
            value = {} if kind == "MappingStartEvent" else []
        if isinstance(top.held, dict):
            top.held[str(top.key)], top.key = value, None
        else:
            top.held.append(value)
        if kind != "ScalarEvent":
            stack.append(_Open(value))
    if not root:
        raise InvalidParameter("text must not be empty")
    return root[0]


def _scalar(text: str) -> Tree:
    """A plain scalar by YAML 1.2's core schema: 1e-5 is a number, and dates and `no` are texts."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
