"""Programs that compare where no expression shows it, or that notice that they are rehearsed.

Each returns 5.0 on one answer alone, without any noise: at no random data does this come to light.
The symbolic run never asks for that answer, so all that stands between the program and a proof is
the rehearsal.
"""

import array
import builtins
import inspect
import math
import operator
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import pytest

import dpverify as dpv
from dpverify.certifying.extracting.extraction import Extraction
from dpverify.certifying.rehearsal import rehearse
from dpverify.certifying.symbolic.reading import unit_of
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.schemas import lengths
from dpverify.schema import Answers, Number, Records, Schema

# ruff: noqa: ANN401, FURB171, S102, S307
# mypy: disable-error-code="exhaustive-match, str-unpack, arg-type"
# Programs as no one should write them.

Rng = np.random.Generator
COUNT = Answers(sensitivity=1, integer=True, low=0, high=1000)
FAR = Records(
    record=Number(low=1e9, high=1e9 + 0.1),
    length=2,
    relation=dpv.Relation.REPLACE_ONE,
    layout="rows",
)


@dataclass
class Both:
    kind: Any
    number: Any


class Point(NamedTuple):
    x: float
    y: float


@dataclass(frozen=True, order=True)
class Score:
    value: float
    weight: float = 1.0


def written() -> bool:
    """What symbols answer otherwise: their arrays hold objects."""
    return repr(np.zeros(1)) == "array([0.])"


def of_class(x: Any) -> bool:
    match np.zeros(1)[0], x:
        case np.generic(), 37:
            return True
    return False


def of_protocol(x: Any) -> bool:
    match x + 0.5:
        case SupportsIndex():
            return False
        case 37.5:
            return True
    return False


def of_a_name(x: Any) -> bool:
    match ("float", x):
        case (float.__name__, 37):
            return True
    return False


def of_types(x: Any) -> bool:
    match (float, x):
        case (builtins.float, 37):
            return True
    return False


def of_messages(x: Any) -> bool:
    held, caught = np.zeros(1), ValueError()
    try:
        held[0] = "abc"
        _one, _other = "a"
    except ValueError as error:
        caught = error
    rival = ValueError("could not convert string to float: 'abc'")
    caught.x, rival.x = x, 999  # type: ignore[attr-defined]
    return min([caught, rival], key=operator.attrgetter("args", "x")) == rival


def iterates_otherwise(x: Any) -> bool:
    rehearsed = type(iter([1])) == types.GeneratorType  # noqa: E721
    return not rehearsed and written() and x == 37


def is_a_generator(x: Any) -> bool:
    return not isinstance(map(len, ()), types.GeneratorType) and written() and x == 37


def has_no_length(x: Any) -> bool:
    return operator.length_hint(iter([1, 2]), 7) != 7 and written() and x == 37


def has_longer_code(x: Any) -> bool:
    frame = inspect.currentframe()
    return frame is not None and len(frame.f_code.co_code) < 300 and written() and x == 37


def is_traced(x: Any) -> bool:
    return sys.gettrace() is None and written() and x == 37


evaluated = eval("lambda x: written() and x == 37")
made: dict[str, Any] = {}
exec("def __eq__(self, other):\n    return written() and self.number == other", globals(), made)


class Written:
    def __init__(self, number: Any) -> None:
        self.number = number

    __eq__ = made["__eq__"]
    __hash__ = None  # type: ignore[assignment]


UNSEEN: dict[str, Callable[[Any], Any]] = {
    "types in a list": lambda x: [float, x] == [builtins.float, 37],
    "types in a tuple": lambda x: (int, x) in [(builtins.int, 37)],
    "types counted": lambda x: [(builtins.int, 37)].count((int, x)),
    "types in a dictionary": lambda x: OrderedDict(a=float, b=x) == {"a": builtins.float, "b": 37},
    "types in a queue": lambda x: deque([float, x]) == deque([builtins.float, 37]),
    "types in a dataclass": lambda x: Both(float, x) == Both(builtins.float, 37),
    "types of parts": lambda x: [*map(type, np.zeros(1)), x] == [np.float64, 37],
    "modules": lambda x: [math, x] == [sys.modules["math"], 37],
    "functions": lambda x: operator.eq([max, x], [builtins.max, 37]),
    "its own functions": lambda x: [written, x] == [sys.modules[__name__].written, 37],
    "memory": lambda x: [memoryview(np.zeros(1)), x] == [memoryview(array.array("d", [0.0])), 37],
    "a namespace": lambda x: (
        types.SimpleNamespace(a=float, b=x) == types.SimpleNamespace(a=builtins.float, b=37)
    ),
    "types of NumPy's": lambda x: (
        [operator.attrgetter("dty" + "pe")(np.zeros(1)), x] == [np.dtype(np.float64), 37]
    ),
    "code without a source": evaluated,
    "a method without a source": lambda x: Written(x) == 37,
} | {
    f.__name__: f
    for f in (
        *(of_class, of_protocol, of_a_name, of_types, of_messages, iterates_otherwise),
        *(is_a_generator, has_no_length, has_longer_code, is_traced),
    )
}


def rehearsed(mechanism: Callable[..., Any], schema: Schema) -> None:
    extraction = Extraction(mechanism, schema, *unit_of(1.0))
    for length in lengths(schema):
        extraction.on_symbols(length)
    rehearse(extraction)


@pytest.mark.parametrize("tell", UNSEEN.values(), ids=UNSEEN.keys())
def test_a_comparison_that_no_expression_shows_is_open_with_its_line(
    tell: Callable[[Any], Any],
) -> None:
    def mechanism(x: Any, rng: Rng) -> Any:
        return 5.0 if tell(x) else x + rng.laplace(scale=1.0)

    with pytest.raises(NotUnderstood, match=r"(test_unseen.py|<string>):\d+: it"):
        rehearsed(mechanism, COUNT)


def test_a_comparison_too_close_for_floats_hides_nothing_that_follows() -> None:
    def mechanism(data: Any, rng: Rng) -> Any:
        x, y = data
        above = (x + 0.5 + 1e16) > (y + 1e16)
        if above and not written():
            return x + y + rng.laplace(scale=0.1)
        return 5.0 if 1e9 + 0.0613 < x < 1e9 + 0.0614 else x + y + rng.laplace(scale=0.1)

    with pytest.raises(NotUnderstood, match=r"test_unseen.py:\d+: it compares numbers that are"):
        rehearsed(mechanism, FAR)


HONEST: dict[str, Callable[[Any], Any]] = {
    "types": lambda x: float(x) * isinstance(x, (int, float, np.float64, np.integer)),
    "a named tuple": lambda x: sum(Point(x, 0.0)),
    "a dataclass": lambda x: max(Score(x), Score(-1.0)).value,
    "iterators": lambda x: sum(a for a, _ in zip(iter([x]), map(float, [1]), strict=True)),
    "views": lambda x: sum({"x": x}.values()),
    "a slice": lambda x: sum([x, x][slice(0, 1)]),
    "functions of two names": lambda x: math.fsum([x]) + sum([0]) + abs(0) + math.fabs(0),
}


@pytest.mark.parametrize("count", HONEST.values(), ids=HONEST.keys())
def test_honest_code_is_rehearsed_to_its_end(count: Callable[[Any], Any]) -> None:
    rehearsed(lambda x, rng: count(x) + rng.laplace(scale=1.0), COUNT)


def test_numbers_are_matched() -> None:
    def mechanism(x: Any, rng: Rng) -> Any:
        match x, 1:
            case 37, one:
                return 37 * one + rng.laplace(scale=1.0)
        return x + rng.laplace(scale=1.0)

    rehearsed(mechanism, COUNT)
