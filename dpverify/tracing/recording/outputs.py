"""Outputs of any shape as leaves: what an output consists of, and where two outputs differ."""

# ruff: noqa: ANN401  # outputs are whatever a mechanism returns

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpverify.auditing.sampling.spelling import canonical
from dpverify.tracing.noise.arrays import NoisyArray
from dpverify.tracing.noise.numbers import Magnitude, NoisyNumber
from dpverify.tracing.noise.shapes import is_noisy, joined
from dpverify.tracing.recording.draws import span
from dpverify.tracing.recording.places import Place

Leaves = dict[tuple[Any, ...], Any]
_CLOSE = 2.0**-51  # a few units in the last place
_KNOWN = {"builtins", "decimal", "fractions", "datetime", "uuid", "pathlib", "enum"}
_ATOMS = {int, float, bool, str, type(None)}
OPAQUE = "cannot be looked into"


def forms_in(value: Any, depth: int = 0) -> Iterator[Any]:  # noqa: C901, PLR0912  # a case a kind
    """Every form in an output, in order."""
    if is_noisy(value) or type(value) is Magnitude:
        yield value
    elif depth > 20:
        return
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from forms_in(key, depth + 1)
            yield from forms_in(part, depth + 1)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            if type(part) not in _ATOMS:
                yield from forms_in(part, depth + 1)
    elif isinstance(value, np.ndarray):
        if value.dtype == object:
            for part in value.reshape(-1):
                yield from forms_in(part, depth + 1)
    elif _is_frame(value):
        for _, part in _columns(value):
            yield from forms_in(part, depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from forms_in(getattr(value, field.name), depth + 1)
    elif getattr(value, "__dict__", None) and type(value).__module__ not in _KNOWN:
        for part in () if callable(value) else vars(value).values():
            yield from forms_in(part, depth + 1)


def settle(output: Any, place: Place) -> dict[int, Any]:
    """Realize every form of an output at once; what each became, by identity.

    At once, so that sums that share noise are judged by their joint law.
    """
    every = list({id(form): form for form in forms_in(output)}.values())
    sizes = {id(form): float(form) for form in every if type(form) is Magnitude}
    forms = [form for form in every if type(form) is not Magnitude]
    shared = any(getattr(f, "many", False) or type(f.idx) is np.ndarray for f in forms)
    if len(forms) < 2 or not (shared or _overlap(forms)):
        return sizes | {id(form): form.realize(place, final=True) for form in forms}
    flat = [_flat(form) for form in forms]
    whole = joined(flat, 0, stack=False)
    whole.touches = tuple(touch for form in forms for touch in form.touches)
    values = whole.realize(place, final=True)
    found: dict[int, Any] = dict(sizes)
    at = 0
    for form, part in zip(forms, flat, strict=True):
        block = values[at : at + part.size]
        at += part.size
        if type(form) is NoisyNumber:
            found[id(form)] = int(block[0]) if form.whole else float(block[0])
        else:
            found[id(form)] = block.reshape(form.shape)
    return found


def _overlap(forms: list[Any]) -> bool:
    """Whether two forms, or two elements of one, use the same draw."""
    if len(forms) == 1 and type(span(forms[0].idx)) in {slice, int}:
        return False
    draws = np.concatenate([np.ravel(form.idx) for form in forms])
    return len(np.unique(draws)) < len(draws)


def _flat(form: Any) -> NoisyArray:
    array = form if type(form) is NoisyArray else None
    if array is None:
        many = type(form.idx) is not int
        idx, coef = np.asarray(form.idx), np.asarray(form.coef)
        return NoisyArray(
            form.journal,
            np.array([form.offset], dtype=np.float64),
            idx.reshape(1, -1) if many else idx.reshape(1),
            coef.reshape(1, -1) if many else coef.reshape(1),
            form.touches,
            many=many,
        )
    flat: NoisyArray = array.reshape(-1) if array.shape else array.reshape(1)
    return flat


def leaves_of(output: Any, settled: dict[int, Any]) -> Leaves:
    """The parts of an output by path. The order of keys is a part of it, that of a set is not."""
    found: Leaves = {}
    _walk(output, (), settled, found)
    return found


def _walk(  # noqa: C901, PLR0912  # one case a kind of output
    value: Any, path: tuple[Any, ...], settled: dict[int, Any], found: Leaves
) -> None:
    if is_noisy(value) or type(value) is Magnitude:
        value = settled[id(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if len(path) > 20:
        found[*path, OPAQUE] = canonical(value)
    elif isinstance(value, dict):
        keys = [settled.get(id(key), key) for key in value]
        found[*path, "keys"] = [canonical(key) for key in keys]
        for key, part in zip(keys, value.values(), strict=True):
            _walk(part, (*path, canonical(key)), settled, found)
    elif isinstance(value, (list, tuple)):
        found[*path, "length"] = len(value)
        for i, part in enumerate(value):
            if type(part) in _ATOMS:
                found[*path, i] = part
            else:
                _walk(part, (*path, i), settled, found)
    elif isinstance(value, (set, frozenset)):
        members = [canonical(settled.get(id(part), part)) for part in value]
        found[path] = sorted(members)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        _walk(list(value.reshape(-1)), path, settled, found)
        found[*path, "shape"] = value.shape
    elif isinstance(value, (np.ndarray, float, int, str, bytes, bool, type(None), np.generic)):
        found[path] = value
    elif _is_frame(value):
        found[*path, "index"] = [canonical(key) for key in value.index]
        for name, part in _columns(value):
            _walk(part, (*path, canonical(name)), settled, found)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            _walk(getattr(value, field.name), (*path, field.name), settled, found)
    elif type(value).__module__ in _KNOWN or isinstance(value, type):
        found[path] = canonical(value)
    elif getattr(value, "__dict__", None) is not None and not callable(value):
        found[*path, "type"] = type(value).__qualname__
        for name, part in vars(value).items():
            _walk(part, (*path, name), settled, found)
    else:
        found[*path, OPAQUE] = type(value).__qualname__


def _is_frame(value: Any) -> bool:
    return type(value).__module__.startswith("pandas") and hasattr(value, "index")


def _columns(frame: Any) -> Iterator[tuple[Any, Any]]:
    if getattr(frame, "ndim", 0) == 2:
        for name in frame.columns:
            yield name, frame[name].to_numpy()
    elif hasattr(frame, "to_numpy"):
        yield getattr(frame, "name", None), frame.to_numpy()


def same_leaf(one: Any, two: Any) -> bool:
    """Whether two leaves are the same up to the rounding of floats."""
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        a, b = np.asarray(one), np.asarray(two)
        if a.shape != b.shape:
            return False
        if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
            return bool(np.all(a == b))
        close = np.abs(a - b) <= _CLOSE * (np.abs(a) + np.abs(b))
        return bool(np.all((a == b) | close | (np.isnan(a) & np.isnan(b))))
    if isinstance(one, float) and isinstance(two, float):
        if math.isnan(one) or math.isnan(two):
            return math.isnan(one) and math.isnan(two)
        return one == two or abs(one - two) <= _CLOSE * (abs(one) + abs(two))
    return type(one) is type(two) and bool(one == two)


def differing(one: Leaves, two: Leaves) -> list[tuple[Any, ...]]:
    """Paths at which two outputs differ."""
    paths = list(dict.fromkeys([*one, *two]))
    return [p for p in paths if p not in one or p not in two or not same_leaf(one[p], two[p])]


Part = tuple[tuple[Any, ...], int | None]
"""A path, and the number of an element where an array stands there."""


def differing_parts(one: Leaves, two: Leaves) -> list[Part]:
    """Where two outputs differ, down to elements of arrays of one shape."""
    found: list[Part] = []
    for path in differing(one, two):
        a, b = one.get(path), two.get(path)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape:
            found += [(path, int(i)) for i in np.flatnonzero(np.ravel(a != b))]
        else:
            found.append((path, None))
    return found


def part_of(leaves: Leaves, part: Part) -> Any:
    """What stands at a part of an output; None if there is nothing."""
    path, flat = part
    leaf = leaves.get(path)
    if flat is None or not isinstance(leaf, np.ndarray) or flat >= leaf.size:
        return leaf
    return leaf.reshape(-1)[flat].item()


def numbers_in(leaves: Leaves) -> tuple[list[tuple[Any, ...]], np.ndarray[Any, Any]]:
    """All numbers of an output with their paths, in order."""
    paths: list[tuple[Any, ...]] = []
    values: list[float] = []
    for path, leaf in leaves.items():
        if path and path[-1] in {"length", "shape", "keys", "index"}:
            continue
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf":
            flat = leaf.reshape(-1)
            paths.extend((*path, ("at", i)) for i in range(flat.size))
            values.extend(flat.astype(np.float64).tolist())
        elif isinstance(leaf, (bool, int, float, np.number, np.bool_)):
            paths.append(path)
            values.append(float(leaf))
    return paths, np.array(values, dtype=np.float64)


def shown(leaves: Leaves, path: tuple[Any, ...]) -> str:
    """A leaf in a few characters."""
    text = canonical(leaves[path]) if path in leaves else "nothing"
    return text if len(text) <= 40 else text[:37] + "…"
