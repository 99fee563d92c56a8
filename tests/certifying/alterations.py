"""All certificates that differ from a given one in one place."""

import copy
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from typing import Any

from dpverify.certifying.checking.forms import RATIONAL

WORDS = (
    ("laplace", "exponential", "geometric", "gaussian"),
    ("replace-one", "add-remove", "move"),
    ("one", "log", "every"),
    ("pure", "approx", "gaussian", "zcdp", "renyi"),
    ("min", "max"),
    ("yes", "no"),
    ("number", "atleast", "atmost", "any"),
    ("1", "2", "inf"),
    ("list", "tuple", "int", "float", "bool", "text", "none"),
    ("alignment", "exact", "counterexample", "sums", "gaussian event"),
)
"""Words of which one may stand in the place of the other."""

TOLD = {"format", "version", "verdict", "scope", "reason", "assumes", "tried", "readings", "where"}
"""What is told to the reader, and not looked at."""


def altered(read: Any, first: int = 0, step: int = 1) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Each with where it was changed, and how; of all of them every `step`-th, from `first` on."""
    kept = _kept(read)
    every = ((way, *told) for way in _ways(kept) if way for told in _changes(_at(kept, way)))
    for way, how, change in islice(every, first, None, step):
        made = copy.deepcopy(kept)
        change(_at(made, way[:-1]), way[-1])
        if made != kept or str(made) != str(kept):
            yield f"{'/'.join(map(str, way))} {how}", made


def transplanted(read: Any, rng: random.Random, many: int) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Files with one to three parts replaced by others of the same file, or swapped with them."""
    kept = _kept(read)
    ways: dict[type, list[tuple[Any, ...]]] = {}
    for way in _ways(kept):
        if way:
            ways.setdefault(type(_at(kept, way)), []).append(way)
    kinds = [kind for kind in ways if len(ways[kind]) > 1]
    for _ in range(many):
        made, told = copy.deepcopy(kept), []
        for _ in range(rng.choice((1, 1, 2, 3))):
            a, b = rng.sample(ways[rng.choice(kinds)], 2)
            try:
                values = copy.deepcopy((_at(made, a), _at(made, b)))
                _at(made, a[:-1])[a[-1]] = values[1]
                if rng.random() < 0.5:
                    _at(made, b[:-1])[b[-1]] = values[0]
            except (KeyError, IndexError, TypeError):  # within a part that is gone
                continue
            told.append(f"{'/'.join(map(str, b))} at {'/'.join(map(str, a))}")
        if made != kept:
            yield ", ".join(told), made


def count(read: Any) -> int:  # noqa: ANN401
    """How many alterations there are, those that change nothing among them."""
    kept = _kept(read)
    return sum(1 for way in _ways(kept) if way for _ in _changes(_at(kept, way)))


def _kept(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        return {k: _kept(v) for k, v in value.items() if k not in TOLD}
    return [_kept(part) for part in value] if isinstance(value, list) else value


def _ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401
    yield way
    parts: Any = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for key, part in parts:
        yield from _ways(part, (*way, key))


def _at(value: Any, way: tuple[Any, ...]) -> Any:  # noqa: ANN401
    for key in way:
        value = value[key]
    return value


def _changes(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401, C901, PLR0912
    """Functions of what holds the value and of its key."""
    yield "gone", _gone
    yield "null", _put(None)
    if isinstance(value, list):
        yield "empty", _put([])
        if value:
            yield "first twice", _put([value[0], *value])
            yield "last gone", _put(value[:-1])
            yield "backwards", _put(value[::-1])
    elif isinstance(value, dict):
        yield "empty", _put({})
        for key in ("yes", "left"):
            other = {"yes": "no", "left": "right"}[key]
            if key in value and other in value:
                yield "sides swapped", _put({**value, key: value[other], other: value[key]})
    elif isinstance(value, bool):
        yield "flipped", _put(not value)
        yield "a number", _put(int(value))
    elif isinstance(value, int):
        for changed in (value + 1, value - 1, -value, 0, 10**30):
            yield str(changed), _put(changed)
    elif isinstance(value, str) and RATIONAL.fullmatch(value):
        number = Fraction(value)
        for ratio in (-number, number + 1, number - 1, 2 * number, number / 2, Fraction(0)):
            yield str(ratio), _put(str(ratio))
        yield "a float", _put(float(number))
        yield "huge", _put(f"1e{10**9}")
    if isinstance(value, str):
        for words in WORDS:
            for word in words if value in words else ():
                yield word, _put(word)


def _gone(holder: Any, key: Any) -> None:  # noqa: ANN401
    del holder[key]


def _put(value: Any) -> Any:  # noqa: ANN401
    def change(holder: Any, key: Any) -> None:  # noqa: ANN401
        holder[key] = copy.deepcopy(value)

    return change
