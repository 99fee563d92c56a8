"""What an output consists of: its parts, and facts about it that anyone who holds it can see.

A whitelist: what is not known to be seen in full is said to be opaque.
"""

# ruff: noqa: ANN401  # outputs are whatever a mechanism returns

import sys
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np

from dpverify.auditing.sampling.spelling import canonical

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
    """The parts of a value by name, and facts about it; `opaque` if there may be more to it."""

    parts: list[tuple[Any, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    opaque: bool = False


def text_of(value: Any) -> str | None:
    """The value as text, if its class is one that is known to say everything about it so."""
    kind = type(value)
    if isinstance(value, type) or kind in _TEXTS:
        return canonical(value)
    if isinstance(value, PurePath) and kind.__module__.startswith("pathlib"):
        return canonical(value)
    if _is_pandas(value) and kind.__name__ in _PANDAS_TEXTS:
        return repr(value)
    return None


def opened(value: Any) -> Parts:
    """What stands in a value besides the items of a dict, a list or an array."""
    kind = type(value)
    found = Parts(facts={"type": kind.__qualname__})
    if kind in {dict, list, tuple, set, frozenset, np.ndarray}:
        return found
    if _is_pandas(value):
        return _table(value, found)
    if kind.__module__ == "torch" and kind.__name__ == "Tensor":
        found.facts["dtype"] = str(value.dtype)
        found.parts += [("values", value.detach().cpu().numpy()), ("grad", value.grad)]
        return found
    if isinstance(value, np.ma.MaskedArray):
        found.parts += [("mask", np.ma.getmaskarray(value)), ("fill", np.asarray(value.fill_value))]
        return found
    if isinstance(value, defaultdict) and isinstance(value.default_factory, type | None):
        found.facts["default"] = repr(value.default_factory)
    elif isinstance(value, defaultdict):
        found.opaque = True
    elif isinstance(value, deque):
        found.facts["room"] = value.maxlen
    elif isinstance(value, BaseException):
        found.parts.append(("args", value.args))
        found.opaque = value.__traceback__ is not None or value.__cause__ is not None
    found.opaque = found.opaque or callable(value) or _is_foreign(kind)
    found.parts += _attributes(value)
    return found


def _attributes(value: Any) -> list[tuple[str, Any]]:
    """What hangs on an object: its dict, and the slots of all its classes."""
    found = {f".{name}": part for name, part in getattr(value, "__dict__", {}).items()}
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else tuple(slots):
            private = slot.startswith("__") and not slot.endswith("__")
            name = f"_{cls.__name__.lstrip('_')}{slot}" if private else slot
            if name not in {"__dict__", "__weakref__"} and hasattr(value, name):
                found.setdefault(f".{name}", getattr(value, name))
    return list(found.items())


def _is_foreign(kind: type) -> bool:
    """Whether a class has a part that is not written in Python, and that is not known."""
    return any(
        not cls.__flags__ & _HEAP and cls not in _SEEN and not issubclass(cls, BaseException)
        for cls in kind.__mro__
    )


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.startswith("pandas") and "pandas" in sys.modules


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
