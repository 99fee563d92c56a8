"""Outputs of any shape as leaves: their parts, and where two outputs differ.

What anyone who holds an output can see, facts about it included; a whitelist: what is not known to
be seen in full is said to be opaque.
"""

# ruff: noqa: ANN401  # outputs are whatever a mechanism returns

import math
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any
from uuid import UUID

import numpy as np

from dpverify.auditing.sampling.spelling import canonical
from dpverify.tracing.noise.arrays import NoisyArray
from dpverify.tracing.noise.numbers import Addition, NoisyMagnitude, NoisyNumber
from dpverify.tracing.noise.shapes import is_noisy, joined
from dpverify.tracing.recording.draws import span
from dpverify.tracing.recording.places import Place

Leaves = dict[tuple[Any, ...], Any]
_CLOSE = 2.0**-51  # a few units in the last place
_ATOMS = {int, float, bool, str, bytes, type(None)}
_USUAL = {np.float64, np.int64, np.bool_, np.str_, np.bytes_}
_DEEPEST = 20
_TOO_LARGE = 2**1023  # for a float, as a whole number
_NUMBERS = "biufc"  # kinds of dtype
OPAQUE = "cannot be looked into"


_TEXTS: tuple[type, ...] = (
    *(complex, range, bytearray, slice, Decimal, Fraction, date, datetime, time, timedelta, UUID),
    *(timezone, type(NotImplemented), type(...)),
)
_PANDAS_TEXTS = ("Timestamp", "Timedelta", "Period", "Interval", "NaTType", "NAType")
_CONTAINERS = (dict, list, tuple, set, frozenset, OrderedDict, defaultdict, deque)
_SEEN = {
    *(object, int, float, bool, str, bytes, complex, np.ndarray, *_CONTAINERS),
    *(Decimal, date, datetime, time, timedelta, bytearray),
}
"""Classes that are not written in Python, and whose instances are looked at in full."""
_HEAP = 1 << 9  # set for classes that are made while Python runs


@dataclass(slots=True)
class Parts:
    """The named parts and facts of a value; `opaque` if it may hold more."""

    parts: list[tuple[Any, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    opaque: bool = False


def text_of(value: Any) -> str | None:
    """The value as text, if its class is known to show everything in it."""
    kind = type(value)
    if kind in _TEXTS or (isinstance(value, type) and _is_lasting(value)):
        return canonical(value)
    if isinstance(value, PurePath) and kind.__module__.startswith("pathlib"):
        return canonical(value)
    if _is_pandas(value) and kind.__name__ in _PANDAS_TEXTS:
        return repr(value)
    return None


def _is_lasting(kind: type) -> bool:
    """Whether a class is found under its name in a module, so that no run made it from data."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def opened(value: Any) -> Parts:
    """What a value holds besides the items of a dict, list or array."""
    kind = type(value)
    found = Parts(facts={"type": kind.__qualname__})
    if kind in {dict, list, tuple, set, frozenset, np.ndarray}:
        return found
    if _is_pandas(value):
        return _table(value, found)
    if hasattr(kind, "__torch_function__"):
        return _tensor(value, found)
    if isinstance(value, np.ma.MaskedArray):
        found.parts += [("mask", np.ma.getmaskarray(value)), ("fill", np.asarray(value.fill_value))]
        return found
    if isinstance(value, defaultdict) and isinstance(value.default_factory, type | None):
        found.facts["default"] = repr(value.default_factory)
    elif isinstance(value, defaultdict):
        found.opaque = True
    elif isinstance(value, deque):
        found.facts["room"] = value.maxlen
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        found.facts["fields"] = list(value._fields)
    elif isinstance(value, BaseException):
        found.parts.append(("args", value.args))
        found.opaque = value.__traceback__ is not None or value.__cause__ is not None
    found.opaque = found.opaque or callable(value) or _is_foreign(kind)
    found.parts += _attributes(value)
    return found


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """The attributes of an object: its dict, and the slots of its classes."""
    found = {f".{name}": part for name, part in getattr(value, "__dict__", {}).items()}
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else tuple(slots):
            private = slot.startswith("__") and not slot.endswith("__")
            name = f"_{cls.__name__.lstrip('_')}{slot}" if private else slot
            if name not in {"__dict__", "__weakref__"} and hasattr(value, name):
                found.setdefault(f".{name}", getattr(value, name))
        if cls.__flags__ & _HEAP and not _is_lasting(cls):
            found |= {f"{cls.__qualname__}.{name}": part for name, part in _of_class(cls)}
    return list(found.items())


def _of_class(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class made in a run holds, and what its methods close over."""
    for name, part in vars(cls).items():
        if name.startswith("__") or name in {"_abc_impl", *vars(cls).get("__slots__", ())}:
            continue
        function = getattr(part, "__func__", getattr(part, "fget", part))
        if isinstance(function, FunctionType):
            cells = [cell for cell in function.__closure__ or () if cell != CellType()]
            held = [cell.cell_contents for cell in cells]
            data = [x for x in held if not isinstance(x, (type, BuiltinFunctionType))]
            yield from ((f"{name}.{n}", x) for n, x in enumerate(data))
        elif not callable(part) and not hasattr(part, "__get__"):
            yield name, part


def _is_foreign(kind: type) -> bool:
    """Whether a class has an unknown part that is not written in Python."""
    return any(
        not cls.__flags__ & _HEAP and cls not in _SEEN and not issubclass(cls, BaseException)
        for cls in kind.__mro__
    )


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.startswith("pandas") and "pandas" in sys.modules


def _tensor(value: Any, found: Parts) -> Parts:
    """Tensors of torch, plain and noisy."""
    if hasattr(value, "form"):
        found.facts |= {"type": "Tensor", "dtype": f"torch.{value.kind}"}
        found.parts += [("values", value.form), ("grad", None)]
    elif type(value).__name__ == "Tensor":
        numbers = value.detach().cpu().numpy()
        found.facts["dtype"] = str(value.dtype)
        found.parts += [("values", numbers if numbers.ndim else numbers.item())]
        found.parts.append(("grad", value.grad))
    else:
        found.opaque = True
    return found


def _table(value: Any, found: Parts) -> Parts:
    """Frames, series, indexes and categories of pandas."""
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.DataFrame):
        found.parts += [("index", value.index), ("columns", value.columns), ("attrs", value.attrs)]
        for i, name in enumerate(value.columns):
            column = value.iloc[:, i].rename(None)
            column.attrs = {}
            found.parts.append(((canonical(name), i), column.reset_index(drop=True)))
    elif isinstance(value, pandas.Series):
        found.parts += [("name", value.name), ("attrs", value.attrs)]
        found.parts += [("index", value.index), ("values", value.array)]
    elif isinstance(value, pandas.RangeIndex):
        found.facts["range"] = (value.start, value.stop, value.step)
        found.parts.append(("names", list(value.names)))
    elif isinstance(value, pandas.MultiIndex):
        found.parts += [("names", list(value.names)), ("rows", list(value))]
        found.parts.append(("levels", list(value.levels)))  # also those that no row has
    elif isinstance(value, pandas.Index):
        found.parts += [("names", list(value.names)), ("values", value.array)]
    elif isinstance(value, pandas.Categorical):
        found.facts["ordered"] = bool(value.ordered)
        found.parts += [("categories", value.categories), ("codes", np.asarray(value.codes))]
    elif isinstance(value, pandas.api.extensions.ExtensionArray):
        found.facts["dtype"] = repr(value.dtype)
        plain = value.to_numpy()
        found.parts.append(("values", plain))
    else:
        found.opaque = True
    return found


# Leaves.

Entered = dict[int, tuple[Any, int]]
"""Values that were entered, by identity, and the least depth at which each was; they are kept."""


def forms_in(value: Any, depth: int = 0, entered: Entered | None = None) -> Iterator[Any]:
    """Every form in an output, in order; shared or cyclic parts are entered only once."""
    if type(value) in _ATOMS or depth > _DEEPEST:
        return
    if is_noisy(value) or type(value) is NoisyMagnitude:
        yield value
        return
    entered = {} if entered is None else entered
    if entered.get(id(value), (None, depth + 1))[1] <= depth:
        return
    entered[id(value)] = (value, depth)
    if isinstance(value, np.ndarray) and value.dtype != object and type(value) is np.ndarray:
        return
    if not isinstance(value, np.generic) and text_of(value) is None:
        for part in _items(value):
            if type(part) is NoisyNumber:
                yield part
            elif type(part) not in _ATOMS:
                yield from forms_in(part, depth + 1, entered)
        for _, part in opened(value).parts:
            yield from forms_in(part, depth + 1, entered)


def _items(value: Any) -> Any:
    """The items of a container in order; for a dict, its keys first."""
    if isinstance(value, dict):
        return (*value, *value.values())
    if isinstance(value, np.ndarray):
        return value.reshape(-1) if value.dtype == object else ()
    return value if isinstance(value, (list, tuple, set, frozenset, deque)) else ()


def settle(output: Any, place: Place) -> dict[int, Any]:
    """Make every form of an output plain at once; return what each became, by identity.

    At once, so that sums that share noise are judged by their joint law.
    """
    every = list({id(form): form for form in forms_in(output)}.values())
    sizes = {id(form): float(form) for form in every if type(form) is NoisyMagnitude}
    forms = [form for form in every if type(form) is not NoisyMagnitude]
    shared = any(f.many if type(f) is NoisyArray else type(f.idx) is not int for f in forms)
    if len(forms) < 2 or not (shared or _overlap(forms)):
        return sizes | {id(form): _settled(form, place) for form in forms}
    in_turn = _in_turn(forms)
    if in_turn is not None:
        return sizes | {id(form): form.realize(place, final=True) for form in in_turn}
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


def _in_turn(forms: list[Any]) -> list[Any] | None:
    """An order in which every sum has one new draw, as running totals have.

    Then their joint law is that of one after the other, and no table of all of them is needed.
    """
    if not all(type(form) is NoisyNumber for form in forms):
        return None
    ranked = sorted(forms, key=lambda f: f.idx.depth if type(f.idx) is Addition else 0)
    draws: set[int] = set()
    sums: set[int] = set()  # by identity
    for form in ranked:
        new = _one_more(form.idx, draws, sums)
        if new is None:
            return None
        draws.add(new)
        sums.add(id(form.idx))
    return ranked


def _one_more(whole: Any, draws: set[int], sums: set[int]) -> int | None:
    """The one new draw of a sum; None if it has none or several."""
    if type(whole) is Addition:  # the last sum and one draw more: the common case
        last, one = whole.one.idx, whole.two.idx
        if type(one) is int and one not in draws and id(last) in sums:
            return one
    new, waiting = None, [whole]
    while waiting:
        part = waiting.pop()
        if type(part) is int:
            if part not in draws and part != new:
                if new is not None:
                    return None
                new = part
        elif type(part) is not Addition:
            return None
        elif id(part) not in sums:
            waiting += (part.one.idx, part.two.idx)
    return new


def _settled(form: Any, place: Place) -> Any:
    alone = type(form) is NoisyNumber and type(form.idx) is int
    if not alone or form.whole or form.coef == 0.0 or form.journal.eager:
        return form.realize(place, final=True)
    journal = form.journal  # a float: the common case, without a further call
    return float(journal.realize(form.offset, form.idx, form.coef, form.touches, place, final=True))


def _overlap(forms: list[Any]) -> bool:
    """Whether two forms, or two elements of one, use the same draw."""
    if len(forms) == 1 and type(span(forms[0].idx)) in {slice, int}:
        return False
    numbers = {form.idx for form in forms if type(form.idx) is int}
    if len(numbers) == len(forms):
        return False
    draws = np.concatenate([np.ravel(form.idx) for form in forms])
    return len(np.unique(draws)) < len(draws)


def _flat(form: Any) -> NoisyArray:
    array = form if type(form) is NoisyArray else None
    if array is None:
        form = form.worked_out()
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
    """The parts of an output by path; the order counts for dicts but not for sets."""
    found: Leaves = {}
    _Walk(settled, found).enter(output, ())
    return found


@dataclass(slots=True)
class _Walk:
    """Walks through an output; `above` holds the enclosing values, by identity."""

    settled: dict[int, Any]
    found: Leaves
    above: dict[int, int] = field(default_factory=dict)

    def enter(self, value: Any, path: tuple[Any, ...]) -> None:
        found = self.found
        if is_noisy(value) or type(value) is NoisyMagnitude:
            value = self.settled[id(value)]
        if isinstance(value, np.generic):
            if type(value) not in _USUAL:
                found[*path, "type"] = type(value).__name__  # shorter or longer than Python's own
            value = value.item()
        text = None if type(value) in _ATOMS else text_of(value)
        if type(value) in _ATOMS or text is not None:
            found[path] = value if text is None else text
        elif id(value) in self.above:
            found[*path, "ring"] = self.above[id(value)]
        elif len(path) > _DEEPEST:
            found[*path, OPAQUE] = type(value).__qualname__
        else:
            self.above[id(value)] = len(path)
            self._open(value, path)
            del self.above[id(value)]

    def _open(self, value: Any, path: tuple[Any, ...]) -> None:
        self._items(value, path)
        inside = opened(value)
        for name, fact in inside.facts.items():
            self.found[*path, name] = fact
        if inside.opaque:
            self.found[*path, OPAQUE] = type(value).__qualname__
            return
        for name, part in inside.parts:
            self.enter(part, (*path, name))

    def _items(self, value: Any, path: tuple[Any, ...]) -> None:  # one case a kind
        """The contents of a value, as a number, text or container."""
        settled, found = self.settled, self.found
        if isinstance(value, dict):
            keys = [settled.get(id(key), key) for key in value]
            found[*path, "keys"] = [canonical(key) for key in keys]
            for key, part in zip(keys, value.values(), strict=True):
                self.enter(part, (*path, canonical(key)))
        elif isinstance(value, (list, tuple, deque)):
            found[*path, "length"] = len(value)
            for i, part in enumerate(value):
                known = settled.get(id(part), part)
                if type(known) in _ATOMS:
                    found[*path, i] = known
                else:
                    self.enter(part, (*path, i))
        elif isinstance(value, (set, frozenset)):
            found[path] = sorted(canonical(settled.get(id(part), part)) for part in value)
        elif isinstance(value, np.ndarray):
            found[*path, "shape"], found[*path, "dtype"] = value.shape, repr(value.dtype)
            if value.dtype == object:
                self.enter(list(value.reshape(-1)), path)
            else:
                found[path] = np.asarray(value)
        elif isinstance(value, (float, int, str, bytes)):
            found[path] = next(kind for kind in _PLAIN if isinstance(value, kind))(value)


_PLAIN: tuple[Any, ...] = (float, int, str, bytes)


def same_leaf(one: Any, two: Any) -> bool:
    """Whether two leaves are equal up to the rounding of floats."""
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        a, b = np.asarray(one), np.asarray(two)
        if not _are_alike(a, b):
            return False
        if a.dtype.kind not in "fc" or b.dtype.kind not in "fc":
            return bool(np.all(a == b))
        with np.errstate(all="ignore"):
            size = np.abs(a) + np.abs(b)  # beside infinity nothing is close
            close = np.isfinite(size) & (np.abs(a - b) <= _CLOSE * size)
        return bool(np.all((a == b) | close | (np.isnan(a) & np.isnan(b))))
    if isinstance(one, float) and isinstance(two, float):
        if math.isnan(one) or math.isnan(two):
            return math.isnan(one) and math.isnan(two)
        size = abs(one) + abs(two)
        return one == two or (math.isfinite(size) and abs(one - two) <= _CLOSE * size)
    return type(one) is type(two) and bool(one == two)


def _are_alike(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays can be compared by element: numbers, or of one dtype."""
    numbers = one.dtype.kind in _NUMBERS and two.dtype.kind in _NUMBERS
    return one.shape == two.shape and (numbers or one.dtype == two.dtype)


def differing(one: Leaves, two: Leaves) -> list[tuple[Any, ...]]:
    """The paths at which two outputs differ."""
    paths = list(dict.fromkeys([*one, *two]))
    return [p for p in paths if p not in one or p not in two or not same_leaf(one[p], two[p])]


Part = tuple[tuple[Any, ...], int | None]
"""A path, and the number of an element where an array stands there."""


def differing_parts(one: Leaves, two: Leaves) -> list[Part]:
    """Where two outputs differ, down to elements of arrays of one shape."""
    found: list[Part] = []
    for path in differing(one, two):
        a, b = one.get(path), two.get(path)
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _are_alike(a, b):
            found += [(path, int(i)) for i in np.flatnonzero(np.ravel(a != b))]
        else:
            found.append((path, None))
    return found


def part_of(leaves: Leaves, part: Part) -> Any:
    """The part of an output at a path; None if it does not exist."""
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
        if path and path[-1] in {"length", "shape", "keys", "codes", "mask"}:
            continue
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "biuf":
            flat = leaf.reshape(-1)
            paths.extend((*path, ("at", i)) for i in range(flat.size))
            values.extend(flat.astype(np.float64).tolist())
        elif isinstance(leaf, (bool, float, np.number, np.bool_)) or (
            isinstance(leaf, int) and is_moderate(leaf)
        ):
            paths.append(path)
            values.append(float(leaf))
    return paths, np.array(values, dtype=np.float64)


def is_moderate(number: float) -> bool:
    """Whether a number is a finite float, or a whole number that a float can hold."""
    return math.isfinite(number) if type(number) is float else abs(number) < _TOO_LARGE


def shown(leaves: Leaves, path: tuple[Any, ...]) -> str:
    """A leaf in a few characters, for messages."""
    text = canonical(leaves[path]) if path in leaves else "nothing"
    return text if len(text) <= 40 else text[:37] + "…"
