"""What is not in the language is refused with its line, before anything of it is computed."""

import array
import builtins
import functools
import gc
import inspect
import io
import json
import linecache
import math
import operator
import pickle
import random
import re
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
import pytest

import dpverify as dpv
from dpverify.certifying.extraction import Extraction
from dpverify.certifying.language import arrays, checked, functions
from dpverify.certifying.language.arithmetic import BINARY as BINARY_OPERATORS
from dpverify.certifying.language.arithmetic import COMPARISONS
from dpverify.certifying.language.checked import Program
from dpverify.certifying.language.interpreter import Interpreter
from dpverify.certifying.language.values import as_python
from dpverify.certifying.rehearsal import rehearse
from dpverify.certifying.symbolic.exact import EpsilonUnit, ExactNumber
from dpverify.certifying.symbolic.outputs import plain_output
from dpverify.certifying.symbolic.reading import unit_of
from dpverify.certifying.symbolic.reasons import NotUnderstood
from dpverify.certifying.symbolic.running import Limits, Shared, SymbolicRun, current
from dpverify.certifying.symbolic.symbols import Symbolic
from dpverify.schema import Answers, Number, Records

# ruff: noqa: ANN401, S102, S307
# Programs as no one should write them.

Rng = np.random.Generator
NUMBER = Answers(sensitivity=1.0)
ANSWER = Answers(dimension=1, sensitivity=1.0, low=0.0, high=1.0)
LARGE = Answers(dimension=1, sensitivity=1.0, low=0, high=1_000_000, integer=True)
BIT = Records(
    record=Number(low=0, high=1, integer=True), length=None, relation=dpv.Relation.REPLACE_ONE
)
LOG: list[Any] = []
NAMED_ARGUMENTS: Any = {}
ONE = dpv.PureDP(epsilon=1.0)


@dataclass
class Both:
    kind: Any
    number: Any


class Point(NamedTuple):
    x: float
    y: float


class Told:
    """A mechanism that asks another method of its own."""

    def asked(self, x: Any) -> int:
        return int(x > 0)

    def __call__(self, data: Any, _rng: Rng) -> int:
        return self.asked(data[0])


class Descriptor:
    def __get__(self, *_: object) -> float:
        return float(len(LOG))


class Holder:
    scale = Descriptor()


HELD = Holder()
COUNTS: Counter[str] = Counter()
evaluated = eval("lambda x: x == 37")
two_on_a_line = [lambda x: x == 37, lambda x: x == 37]  # fmt: skip

REFUSED: dict[str, tuple[Callable[..., Any], str]] = {  # by what it tries, and what is said of it
    "its type": (lambda x, _: type(x) == float, "type is a type from outside"),  # noqa: E721
    "an instance": (lambda x, _: isinstance(x, float), "isinstance is a function"),
    "a protocol": (lambda x, _: isinstance(x, SupportsIndex), "isinstance is a function"),
    "its class": (lambda x, _: x.__class__.__name__, ".__name__"),
    "a text": (lambda x, _: repr(x) == "1", "repr is a function"),
    "a text of an array": (lambda _, __: str(np.zeros(1)) == "[0.]", "str is a type"),
    "a formatted text": (lambda x, _: f"{x}" == "1", "a text with values in it"),
    "names": (lambda _, __: globals()["x"], "globals is a function"),
    "local names": (lambda _, __: locals(), "locals is a function"),
    "attributes": (lambda x, _: getattr(x, "real", 0), "getattr is a function"),
    "an attribute": (lambda _, __: hasattr(np.zeros(1)[0], "shape"), "hasattr is a function"),
    "variables": (lambda x, _: vars(x), "vars is a function"),
    "a hash": (lambda x, _: hash(x), "hash is a function"),
    "an address": (lambda x, _: id(x) % 2, "id is a function"),
    "one object": (lambda x, _: x is x, "`is` of anything but None"),  # noqa: PLR0124
    "truth": (lambda x, _: (x > 0) is True, "`is` of anything but None"),
    "its name": (lambda _, __: max.__name__ == "max", ".__name__"),
    "the name of a type": (lambda _, __: float.__name__ == "float", ".__name__"),
    "its own code": (lambda _, __: Told.__call__.__code__, ".__code__"),
    "its frame": (lambda _, __: inspect.currentframe(), "inspect.currentframe is a function"),
    "a trace": (lambda _, __: sys.gettrace(), "sys.gettrace is a function"),
    "the collector": (lambda x, _: gc.is_tracked(x), "gc.is_tracked is a function"),
    "a dtype": (lambda _, __: np.zeros(1).dtype == float, ".dtype"),
    "a view of bits": (lambda _, __: np.zeros(1).view(np.int64)[0], ".view"),
    "bytes": (lambda _, __: np.zeros(1).tobytes(), ".tobytes"),
    "a pickle": (lambda x, _: pickle.dumps(x)[3], "pickle.dumps is a function"),
    "json": (lambda x, _: json.dumps(x), "json.dumps is a function"),
    "a file": (lambda _, __: io.StringIO(), "io.StringIO is a type"),
    "an import": (lambda _, __: __import__("time"), "the name __import__"),
    "evaluated code": (lambda _, __: eval("1"), "eval is a function"),
    "types in a list": (
        lambda x, _: [float, x] == [builtins.float, 37],
        "it compares a type with a type",
    ),
    "types in a queue": (lambda x, _: deque([float, x]), "deque is a type"),
    "types in a dictionary": (lambda x, _: OrderedDict(a=x), "OrderedDict is a type"),
    "a default dictionary": (lambda x, _: defaultdict(int)[x], "defaultdict is a type"),
    "a counter": (lambda x, _: COUNTS[x], "COUNTS is a Counter from outside"),
    "a dataclass": (lambda x, _: Both(float, x), "Both is a type"),
    "a named tuple": (lambda x, _: Point(x, 0.0), "Point is a type"),
    "a namespace": (lambda x, _: types.SimpleNamespace(a=x), "types.SimpleNamespace is a type"),
    "a descriptor": (lambda x, _: x * HELD.scale, "HELD is a Holder from outside"),
    "memory": (lambda _, __: memoryview(array.array("d", [0.0])), "memoryview is a type"),
    "a module": (lambda x, _: [math, x] == [math, 37], "a module as a value"),
    "functions": (lambda x, _: operator.eq([max], [x]), "operator.eq is a function"),
    "reduced": (lambda x, _: functools.reduce(max, [x]), "functools.reduce is a function"),
    "an iterator": (lambda x, _: next(iter([x])), "next is a function"),
    "a hint": (lambda _, __: operator.length_hint([1]), "operator.length_hint is a function"),
    "a set": (lambda x, _: len({x, 1}), "a set"),
    "a name within": (lambda x, _: (y := x) + y, ":="),
    "more arguments": (lambda *given: given[0], "any number of arguments"),
    "named arguments": (lambda x, _, **__: x, "any number of arguments"),
    "unpacked names": (lambda _, __: int(**NAMED_ARGUMENTS), "a call with"),
    "complex numbers": (lambda x, _: (x + 1j).imag, "is not in the language"),
    "long numbers": (lambda x, _: x + 2**53 * 2**53, "too large"),
    "bytes as constants": (lambda _, __: b"a", "the constant"),
    "dots": (lambda _, __: ..., "the constant"),
    "a product of matrices": (lambda _, __: np.zeros(2) @ np.zeros(2), "the operator @"),
    "another generator": (lambda _, __: np.random.default_rng().random(), ".default_rng"),
    "the generator inside": (lambda _, rng: rng.bit_generator.state, ".state"),
    "other noise": (lambda _, rng: rng.logistic(), ".logistic"),
    "unfilled arrays": (lambda _, __: np.empty(1)[0], "np.empty is a function"),
    "digits": (lambda x, _: Fraction(x).denominator, ".denominator"),
    "a list from outside": (lambda _, __: LOG.append(1), "constant from outside"),
    "a log": (lambda x, _: math.isclose(x, 37), "math.isclose is a function"),
    "code without a source": (lambda x, _: evaluated(x), "source cannot be read"),
    "one of two": (lambda x, _: two_on_a_line[0](x), "two_on_a_line is a list from outside"),
    "written out": (lambda _, __: input("a"), "input is a function"),
}


@pytest.mark.parametrize(("tell", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_in_the_language_is_refused_with_its_line(
    tell: Callable[..., Any], said: str
) -> None:
    """Each would return 5.0 on data that no search happens upon, without noise."""

    def mechanism(data: Any, rng: Rng) -> Any:
        if 0.61312 < data[0] < 0.61337 and tell(data[0], rng):
            return 5.0
        return data[0] + rng.laplace(scale=1.0)

    found = dpv.certify(mechanism, ANSWER, ONE, seconds=1.0)
    assert found.verdict == "open"
    assert said in found.reason, found.reason
    assert found.where is not None
    assert found.where.startswith(("test_language.py:", "<string>:"))


def tries(x: Any, _rng: Rng) -> Any:
    try:
        return 1 / x
    except ZeroDivisionError:
        return 0


def matches(x: Any, _rng: Rng) -> Any:
    match x:
        case float():
            return 1
        case _:
            return 0


def with_states(x: Any, _rng: Rng) -> Any:
    with np.errstate(all="ignore"):
        return x


def defines_a_class(x: Any, _rng: Rng) -> Any:
    class Inner:
        value = x

    return Inner.value


def deletes(x: Any, _rng: Rng) -> Any:
    del x
    return 0


def imports(x: Any, _rng: Rng) -> Any:
    import time  # noqa: PLC0415

    return x + time.time()


def is_global(x: Any, _rng: Rng) -> Any:
    global LOG  # noqa: PLW0603
    LOG = [x]
    return 0


def yields(x: Any, _rng: Rng) -> Any:
    yield x


async def awaits(x: Any, _rng: Rng) -> Any:
    return x


def sets_an_attribute(x: Any, _rng: Rng) -> Any:
    HELD.value = x  # type: ignore[attr-defined]
    return 0


def computes_an_annotation(x: Any, rng: Rng) -> Any:
    def inner(y: LOG.append(1)) -> Any:  # type: ignore[valid-type]
        return y

    return inner(x) + rng.laplace()


def is_decorated(x: Any, rng: Rng) -> Any:
    @functools.lru_cache
    def inner(y: Any) -> Any:
        return y

    return inner(x) + rng.laplace()


STATEMENTS: dict[Callable[..., Any], str] = {
    tries: "try", matches: "match", with_states: "with", defines_a_class: "a class",
    deletes: "del", imports: "import inside of a function", is_global: "global",
    yields: "yield", sets_an_attribute: "an attribute that is set",
    computes_an_annotation: "an annotation that is computed", is_decorated: "a decorator",
    awaits: "its source cannot be told",
}  # fmt: skip


@pytest.mark.parametrize(
    ("mechanism", "said"), STATEMENTS.items(), ids=lambda x: getattr(x, "__name__", "")
)
def test_statements_that_are_not_in_the_language(mechanism: Any, said: str) -> None:
    with pytest.raises(NotUnderstood, match=rf"test_language.py:\d+: {said}"):
        Program(mechanism)


def test_only_functions_are_read() -> None:
    for mechanism in (Told(), Told().__call__, functools.lru_cache(tries), np.sum, Point):
        with pytest.raises(NotUnderstood, match="and no function"):
            Program(mechanism)


def test_the_code_must_be_that_of_the_source() -> None:
    def mechanism(x: Any, rng: Rng) -> Any:
        return x + rng.laplace(scale=1.0)

    assert dpv.certify(mechanism, NUMBER, ONE).proved
    code = mechanism.__code__
    scale = tuple(0.1 if c == 1.0 else c for c in code.co_consts)
    mechanism.__code__ = code.replace(co_consts=scale)
    assert "is not what runs" in dpv.certify(mechanism, NUMBER, ONE).reason
    names: dict[str, Any] = {}
    exec("def mechanism(x, rng):\n    return x + rng.laplace(scale=1.0)", names)
    assert "source cannot be read" in dpv.certify(names["mechanism"], NUMBER, ONE).reason


class EqualToAll(type):
    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(float)


class Pretended(metaclass=EqualToAll):
    """Says that it is a float, and that it is `abs`."""

    __class__ = float  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(abs)

    def __radd__(self, other: Any) -> Any:
        return other

    def __call__(self, value: Any) -> Any:
        return value


PRETENDED, SYMBOL = Pretended(), Symbolic.symbol("n0")
OBJECTS = np.array([1, 2.0], dtype=object)


def adds_a_pretended_number(x: Any, rng: Rng) -> Any:
    return x + PRETENDED + rng.laplace(scale=1.0)


def calls_a_pretended_function(x: Any, rng: Rng) -> Any:
    return PRETENDED(x) + rng.laplace(scale=1.0)


def adds_a_symbol(x: Any, rng: Rng) -> Any:
    return x + SYMBOL + rng.laplace(scale=1.0)


def adds_objects(x: Any, rng: Rng) -> Any:
    return x + OBJECTS[0] + rng.laplace(scale=1.0)


@pytest.mark.parametrize(
    "mechanism",
    [adds_a_pretended_number, calls_a_pretended_function, adds_a_symbol, adds_objects],
)
def test_types_are_what_they_are_and_not_what_they_say(mechanism: Any) -> None:
    found = dpv.certify(mechanism, NUMBER, ONE)
    assert found.verdict == "open"
    assert "from outside, which is not in the language" in found.reason


HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)
LONG = [0.0] * 200_000


@pytest.mark.parametrize(("held", "said"), [(HOLDS_ITSELF, "nested"), (LONG, "LONG is a list")])
def test_what_is_too_deep_or_too_long_is_open(held: Any, said: str) -> None:
    first = [lambda x, rng: x + HOLDS_ITSELF[0] + rng.laplace()]
    other = [lambda x, rng: x + LONG[0] + rng.laplace()]
    found = dpv.certify((first if held is HOLDS_ITSELF else other)[0], NUMBER, ONE)
    assert found.verdict == "open"
    assert said in found.reason


def test_builtins_of_its_own_are_refused() -> None:
    def mechanism(x: Any, rng: Rng) -> Any:
        return abs(x) + rng.laplace(scale=1.0)

    other = types.FunctionType(mechanism.__code__, {"__builtins__": {"abs": lambda x: 9 * x}})
    assert "builtins of its own" in dpv.certify(other, NUMBER, ONE).reason
    named = types.FunctionType(mechanism.__code__, {"abs": lambda x: 9 * x})
    assert dpv.certify(named, NUMBER, ONE).refuted


def test_a_signature_that_is_not_its_own_is_not_believed() -> None:
    def mechanism(x: Any, rng: Rng, scale: float = 0.1) -> Any:
        return x + rng.laplace(scale=scale)

    mechanism.__signature__ = inspect.signature(  # type: ignore[attr-defined]
        lambda x, rng, epsilon: (x, rng, epsilon)
    )
    assert dpv.certify(mechanism, NUMBER, ONE).refuted


# Steps that NumPy, or floats, take otherwise than they look: refused where they are computed.


def adds_truth_values(data: Any, rng: Rng) -> Any:
    rare = data[0] > 0.5
    return (rare + rare) - 2 * rare + rng.laplace()


def inverts_a_truth_value(data: Any, _rng: Rng) -> Any:
    return 0 if ~(data[0] > 0.5) else 1


def whole_numbers_overflow(data: Any, _rng: Rng) -> Any:
    return data[0] * 9_007_199_254_740 * 9_007_199_254 >= 0


def zero_has_a_sign(data: Any, _rng: Rng) -> Any:
    return (data[0] - 0.5) * 0


def zero_of_whole_noise_is_negated(bit: Any, rng: Rng) -> Any:
    noise = float(rng.geometric(0.5) - rng.geometric(0.5))
    return -noise if bit else noise


def integers_of_eight_bits(bit: Any, rng: Rng) -> Any:
    return abs(bit - rng.integers(0, 2, dtype=np.uint8))


def drawn_in_single_precision(bit: Any, rng: Rng) -> Any:
    return rng.standard_normal(dtype=np.float32) + 1e-12 * bit


def drawn_into_an_array(bit: Any, rng: Rng) -> Any:
    held = np.zeros(1)
    rng.random(out=held)
    return bit if held[0] > 0.5 else 0


def cut_by_astype(data: Any, rng: Rng) -> Any:
    return data.astype(int)[0] + rng.laplace(scale=100.0) > 0


def cut_by_a_sum(data: Any, rng: Rng) -> Any:
    return np.sum(data, dtype=int) + rng.laplace(scale=100.0) > 0


def held_in_whole_numbers(data: Any, rng: Rng) -> Any:
    held = np.zeros(1, dtype=int)
    held[0] = data[0]
    return held[0] + rng.laplace(scale=100.0) > 0


def held_in_single_precision(data: Any, rng: Rng) -> Any:
    return np.zeros(1, dtype=np.float32)[0] + data[0] + rng.laplace(scale=100.0) > 0


def changes_its_data(data: Any, rng: Rng) -> Any:
    same = np.asarray(data)
    same *= 3
    return data[0] + rng.laplace(scale=100.0) > 0


def adds_an_array_to_a_list(data: Any, rng: Rng) -> Any:
    held = [0.0]
    held += np.array(data)
    return len(held) + data[0] + rng.laplace()


def shares_a_table(data: Any, rng: Rng) -> Any:
    table = np.zeros((2, 2))
    flat = table.T.ravel()
    flat[0] = data[0]
    return table[0][0] * data[0] + rng.laplace()


def rounds_a_constant(data: Any, rng: Rng, epsilon: float) -> Any:
    return data[0] * int(100 * epsilon) / 29 + rng.laplace(scale=1 / epsilon)


def compares_a_constant(data: Any, rng: Rng, epsilon: float) -> Any:
    thin = 100 * epsilon == 29
    return data[0] + rng.laplace(scale=(1 if thin else 0.1) / epsilon)


def orders_equal_numbers(data: Any, rng: Rng) -> Any:
    return np.argsort([data[0] > 2, data[0] > 3])[0] + rng.laplace()


def gives_a_power(bit: Any, rng: Rng) -> Any:
    return 2**-bit + rng.laplace()


def takes_an_empty_mean(data: Any, rng: Rng) -> Any:
    return np.mean(data[1:]) + rng.laplace()


def multiplies_a_list(data: Any, rng: Rng) -> Any:
    return len([0.0] * data[0]) + rng.laplace()


def divides_by_zero(bit: Any, rng: Rng) -> Any:
    return 1.0 / bit + rng.laplace()


def chooses_a_zero(bit: Any, _rng: Rng) -> Any:
    """NumPy gives −0.0 for (0.0, −0.0), and Python's max gives 0.0."""
    return np.maximum(0.0, -0.0 if bit else 0.0)


def chooses_a_zero_of_noise(bit: Any, rng: Rng) -> Any:
    noise = -float(rng.geometric(0.5) - rng.geometric(0.5) + bit)
    return np.max([0.0, noise])


def sums_up_zeros(bit: Any, rng: Rng) -> Any:
    return np.sum([-0.0 if bit else 0.0]) + rng.laplace()


def chooses_a_whole_zero(bit: Any, _rng: Rng) -> Any:
    return np.maximum(0, -0.0 if bit else 0.0)


def sorts_by_a_truth_value(data: Any, rng: Rng) -> Any:
    """Python takes none of NumPy's, and raises."""
    return sorted([1, 2], reverse=(data > 0.5)[0])[0] + rng.laplace()


def sorts_by_nothing(bit: Any, rng: Rng) -> Any:
    return sorted([bit, 1], reverse=None)[0] + rng.laplace()  # type: ignore[call-overload]


def changes_an_empty_array(bit: Any, rng: Rng) -> Any:
    none = np.zeros(0, dtype=int)
    none -= 0.5
    return bit + rng.laplace()


def joins_a_generator(bit: Any, rng: Rng) -> Any:
    return np.concatenate(x for x in ([bit], [1]))[0] + rng.laplace()  # type: ignore[call-overload]


def clips_twice(bit: Any, rng: Rng) -> Any:
    return np.clip(bit, 0, 1, min=0) + rng.laplace()


def clips_by_one_bound(bit: Any, rng: Rng) -> Any:
    return np.clip(bit, 0) + rng.laplace()


def counts_in_a_tuple(bit: Any, rng: Rng) -> Any:
    return np.linspace(0, 1, (3,))[bit] + rng.laplace()  # type: ignore[call-overload]


def sums_along_a_float(bit: Any, rng: Rng) -> Any:
    return np.cumsum([bit, 1], axis=0.0)[0] + rng.laplace()  # type: ignore[call-overload]


def takes_a_large_exponential(data: Any, rng: Rng, epsilon: float) -> Any:
    return data[0] * (math.exp(epsilon * 10_000) > 0) + rng.laplace()


def compares_constants_in_an_array(data: Any, rng: Rng, epsilon: float) -> Any:
    return np.argmax([100 * epsilon, 29.0]) * data[0] + rng.laplace()


def looks_for_a_constant(data: Any, rng: Rng, epsilon: float) -> Any:
    return data[0] if 100 * epsilon in [0.0, 29.0] else rng.laplace()


STEPS: dict[Callable[..., Any], tuple[Any, str]] = {
    adds_truth_values: (ANSWER, "truth values as if they were numbers"),
    inverts_a_truth_value: (ANSWER, "it inverts bits"),
    whole_numbers_overflow: (LARGE, "too large for 64 bits"),
    zero_has_a_sign: (ANSWER, "may be 0.0 or −0.0"),
    zero_of_whole_noise_is_negated: (BIT, "may be 0.0 or −0.0"),
    integers_of_eight_bits: (BIT, "np.uint8 is a type from outside"),
    drawn_in_single_precision: (BIT, "np.float32 is a type from outside"),
    drawn_into_an_array: (BIT, "rng.random with such arguments"),
    cut_by_astype: (ANSWER, "it rounds data or noise"),
    cut_by_a_sum: (ANSWER, "sum with such arguments"),
    held_in_whole_numbers: (ANSWER, "a number of another type into an array"),
    held_in_single_precision: (ANSWER, "np.float32 is a type from outside"),
    changes_its_data: (ANSWER, "it changes its data"),
    adds_an_array_to_a_list: (ANSWER, "it adds an array to a list"),
    shares_a_table: (ANSWER, "use .flatten(), a copy"),
    rounds_a_constant: (ANSWER, "floats may round otherwise"),
    compares_a_constant: (ANSWER, "constants that are too close for floats"),
    orders_equal_numbers: (ANSWER, "it sorts equal numbers"),
    gives_a_power: (BIT, "a negative power of a whole number"),
    takes_an_empty_mean: (ANSWER, "the mean of nothing"),
    multiplies_a_list: (ANSWER, "other than a plain whole number"),
    divides_by_zero: (BIT, "it divides by zero"),
    chooses_a_zero: (BIT, "may be 0.0 or −0.0"),
    chooses_a_zero_of_noise: (BIT, "may be 0.0 or −0.0"),
    sums_up_zeros: (BIT, "may be 0.0 or −0.0"),
    chooses_a_whole_zero: (BIT, "may be 0.0 or −0.0"),
    sorts_by_a_truth_value: (ANSWER, "a truth value of NumPy's"),
    sorts_by_nothing: (BIT, "neither a truth value nor a whole number"),
    changes_an_empty_array: (BIT, "an empty array of another type"),
    joins_a_generator: (BIT, "simple lists only"),
    clips_twice: (BIT, "values and two bounds only"),
    clips_by_one_bound: (BIT, "values and two bounds only"),
    counts_in_a_tuple: (BIT, "other than a plain whole number"),
    sums_along_a_float: (BIT, "other than a plain whole number"),
    takes_a_large_exponential: (ANSWER, "too large or too small for floats"),
    compares_constants_in_an_array: (ANSWER, "constants that are too close for floats"),
    looks_for_a_constant: (ANSWER, "constants that are too close for floats"),
}


@pytest.mark.parametrize("mechanism", STEPS, ids=lambda x: x.__name__)
def test_a_step_that_is_not_understood_is_open_with_its_line(mechanism: Any) -> None:
    schema, said = STEPS[mechanism]
    found = dpv.certify(mechanism, schema, dpv.PureDP(epsilon=0.29), seconds=2.0)
    assert found.verdict == "open"
    assert any(said in text for text in found.tried), found.tried
    first, lines = mechanism.__code__.co_firstlineno, inspect.getsource(mechanism).count("\n")
    assert found.where is not None
    assert 0 <= int(found.where.removeprefix("test_language.py:")) - first < lines


# What shares memory, or looks at a list while it changes; so small that only a comparison beside
# the size of the numbers themselves shows it.


def ravels_a_slice(x: Any, rng: Rng) -> Any:
    a = np.array([1e-12 * x, 0.0, 0.0, 0.0])
    b = a[::2].ravel()  # a copy
    b[0] = 1e-12 * x + rng.laplace(scale=1e-12)
    return a[0]


def clips_by_nothing(x: Any, rng: Rng) -> Any:
    a = np.array([1e-12 * x, 0.0])
    b = np.clip(a, None, None)  # a copy
    b[0] = 1e-12 * x + rng.laplace(scale=1e-12)
    return a[0]


def extends_by_what_looks_on(x: Any, rng: Rng) -> Any:
    w: list[int] = []
    w.extend(len(w) for _ in range(2))
    return 1e-10 * x * w[1] + rng.laplace(scale=1e-12)


def adds_what_looks_on(x: Any, rng: Rng) -> Any:
    w: list[int] = []
    w += (len(w) for _ in range(2))
    return 1e-10 * x * w[1] + rng.laplace(scale=1e-12)


def sorts_what_is_empty_meanwhile(x: Any, rng: Rng) -> Any:
    w = [1, 0]
    w.sort(key=lambda v: v if len(w) else -v)
    return 1e-10 * x * w[0] + rng.laplace(scale=1e-12)


def sums_up_exactly(x: Any, rng: Rng) -> Any:
    k = 1 if math.fsum([0.1] * 10) == 1.0 else 0
    return 1e-10 * x * k + rng.laplace(scale=1e-12)


def sums_up_by_halves(x: Any, rng: Rng) -> Any:
    k = 1 if np.sum(np.array([0.1] * 10)) != sum([0.1] * 10) else 0
    return 1e-10 * x * k + rng.laplace(scale=1e-12)


def stores_what_changes_the_list(x: Any, rng: Rng) -> Any:
    w = [1.0, 0.0]
    w[-1:] = (w.append(0.0) or 7.0 for _ in [0])  # type: ignore[func-returns-value]
    k = 1 if w[1] == 7.0 else 0  # the part that is changed was chosen before
    return 1e12 + k * 100.0 * x + rng.laplace()


def ravels_a_row_of_columns(x: Any, rng: Rng) -> Any:
    a = np.array([[1.0 * x, 0.0], [0.0, 0.0]])
    b = a.T + 1.0  # its columns lie in one piece, as those of a do
    c = b[0].ravel()
    c[0] = x + rng.laplace()
    return 1e12 + b[0, 0] - 1.0


@pytest.mark.parametrize(
    "mechanism",
    [
        stores_what_changes_the_list,
        ravels_a_row_of_columns,
        ravels_a_slice,
        clips_by_nothing,
        extends_by_what_looks_on,
        adds_what_looks_on,
        sorts_what_is_empty_meanwhile,
        sums_up_exactly,
        sums_up_by_halves,
    ],
)
def test_leaks_of_any_size_are_no_proofs(mechanism: Any) -> None:
    assert dpv.certify(mechanism, NUMBER, ONE).verdict != "proved"


def far_out(d: Any, rng: Rng) -> Any:
    w: list[int] = []
    w.extend(len(w) for _ in range(2))
    z = rng.laplace(scale=1.0)
    if d[2] > 1.0 and d[1] > 100000.0 * d[2] and d[0] > 100000.0 * d[1]:
        return 100.0 * (d[0] - 4e10) * w[1] + z
    return z


def test_a_path_that_is_far_out_is_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an interpreter that errs: it makes a list of a generator first."""
    monkeypatch.setitem(functions.CHANGES, "extend", lambda own, more: own.extend(list(more)))
    schema = Answers(dimension=3, sensitivity=1.0)
    assert dpv.certify(far_out, schema, ONE).verdict != "proved"


NOTHING_DRAWN: list[Callable[..., Any]] = [
    lambda data, rng: [rng.laplace(0.0, 1.0 - 2.0 * data, size=0), rng.integers(2)][1],
    lambda data, rng: [rng.binomial(0, 0.5 + data), rng.integers(2)][1],
    lambda data, rng: [rng.binomial(-data, 0.5), rng.integers(2)][1],
    lambda data, rng: [rng.geometric(0.5 + data, size=0), rng.integers(2)][1],
    lambda data, rng: [rng.choice([1, 2], size=0, p=[0.5, 0.5 + data]), rng.integers(2)][1],
]


@pytest.mark.parametrize("number", range(len(NOTHING_DRAWN)))
def test_parameters_of_no_draws_are_not_passed_over(number: int) -> None:
    """NumPy looks at them all the same, and raises on one of two neighbors."""
    found = dpv.certify(NOTHING_DRAWN[number], BIT, dpv.PureDP(epsilon=0.01))
    assert found.verdict == "open"
    assert "no draws" in found.tried[0] or "no trials" in found.tried[0]


class Greatest:
    """An object that says it is `max`."""

    __name__ = "max"

    def __hash__(self) -> int:
        return hash(builtins.max)

    def __eq__(self, other: object) -> bool:
        return other is builtins.max

    def __call__(self, a: Any, b: Any) -> Any:
        return 1000.0 + a if 0.123 < a < 0.1230001 else builtins.max(a, b)


GREATEST = Greatest()


def takes_the_greatest(x: Any, rng: Rng) -> Any:
    return GREATEST(x, x) + rng.laplace()


def test_what_says_that_it_is_a_function_of_the_list_is_not() -> None:
    found = dpv.certify(takes_the_greatest, NUMBER, ONE)
    assert "GREATEST is a Greatest from outside" in found.tried[0]


def test_defaults_that_python_does_not_take_are_not_taken() -> None:
    def mechanism(x: Any, rng: Rng, scale: float = 0.01) -> Any:
        return x + rng.laplace(scale=scale)

    mechanism.__kwdefaults__ = {"scale": 1.0}
    assert dpv.certify(mechanism, NUMBER, ONE).refuted


def test_a_signature_of_a_partial_function_is_not_believed() -> None:
    def mechanism(x: Any, rng: Rng, epsilon: float = 100.0) -> Any:
        return x + rng.laplace(scale=1.0 / epsilon)

    partial = functools.partial(mechanism)
    partial.__signature__ = inspect.signature(  # type: ignore[attr-defined]
        lambda x, rng, epsilon: (x, rng, epsilon)
    )
    assert dpv.certify(partial, NUMBER, ONE).refuted


# The interpreter does what Python does.

ATOMS = ["x", "y", "k", "j", "b", "c", "a", "ai", "ab", "l", "lf", "t", "m", "e", "s", "None"]
ATOMS += ["0", "1", "2", "-1", "3", "0.5", "1.5", "True", "math.inf"]
BINARY = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "<",
    ">",
    "<=",
    ">=",
    "==",
    "!=",
    "and",
    "or",
    "in",
    "not in",
]
ONE_ARGUMENT = [
    *[
        "len",
        "sum",
        "min",
        "max",
        "sorted",
        "abs",
        "float",
        "int",
        "bool",
        "round",
        "list",
        "tuple",
        "any",
        "all",
        "range",
        "not",
        "-",
        "+",
        "~",
    ],
    *("list(reversed", "list(enumerate", "math.floor", "math.sqrt", "math.fsum", "math.trunc"),
    *(
        f"np.{f}"
        for f in [
            "sum",
            "mean",
            "max",
            "min",
            "argmax",
            "argsort",
            "sort",
            "cumsum",
            "array",
            "abs",
            "median",
        ]
    ),
    *(
        f"np.{f}"
        for f in ["floor", "rint", "zeros", "ones", "arange", "zeros_like", "any", "all", "diff"]
    ),
    *("np.count_nonzero", "np.logical_not", "np.asarray"),
]
TWO_ARGUMENTS = [
    *("min", "max", "sum", "pow", "list(zip", "np.minimum", "np.maximum", "np.dot", "np.append"),
    *("np.add", "np.divide", "np.logical_and", "np.full", "np.sum", "np.max"),
]
METHODS = [
    *(".sum()", ".mean()", ".max()", ".argmax()", ".cumsum()", ".copy()", ".tolist()", ".T"),
    *(".index({})", ".count({})", ".clip({}, {})", ".any()", ".reshape({})", ".astype(float)"),
    *(".astype(int)", ".shape", ".size", ".sum(axis={})", ".flatten()", ".dot({})"),
]
STARTS = ["np.array(a)", "list(l)", "np.array(ai)", "list(lf)", "np.array(m)"]
GIVEN = ["w", "z", "w[1:]", "np.asarray(w)", "w[::-1]", "w[0]", "z.reshape(-1)", "w.T", "[w, z]"]
PLACES = ["w", "z", "w[0]", "w[1:]", "z[0]", "w[k]", "z[-1]", "w[0, 0]"]
CHANGES = ["w.append(z)", "w.sort()", "w.reverse()", "w.extend(z)", "w.pop()", "w.fill(2)"]


class Written:
    """Random programs without noise, most of which make no sense."""

    def __init__(self, seed: int) -> None:
        self.rnd = random.Random(seed)  # noqa: S311

    def value(self, deep: int) -> str:
        choose: Callable[[list[str]], str] = self.rnd.choice
        inner: Callable[[], str] = lambda: self.value(deep - 1)  # noqa: E731
        if deep <= 0:
            return choose(ATOMS)
        match self.rnd.randrange(12):
            case 0:
                return choose(ATOMS)
            case 1 | 2 | 3:
                return f"({inner()} {choose(BINARY)} {inner()})"
            case 4 | 5:
                called = choose(ONE_ARGUMENT)
                return f"({called} ({inner()}{')' * called.count('(')}))"
            case 6:
                called = choose(TWO_ARGUMENTS)
                return f"{called}({inner()}, {inner()}{')' * called.count('(')})"
            case 7:
                return f"({inner()})" + choose(METHODS).format(inner(), inner())
            case 8:
                index = choose([inner(), f"{inner()}:", "::-1", f"{inner()}, {inner()}"])
                return f"({inner()})[{index}]"
            case 9:
                return choose([f"[{inner()}, {inner()}]", f"[(v > x) for v in {inner()}]"])
            case 10:
                return f"np.where({inner()}, {inner()}, {inner()})"
            case _:
                return f"({inner()} if {inner()} else {inner()})"

    def step(self) -> str:
        choose = self.rnd.choice
        match self.rnd.randrange(4):
            case 0:
                return f"{choose('wz')} = {choose([self.value(1), *GIVEN])}"
            case 1 | 2:
                return f"{choose(PLACES)} {choose(['+=', '-=', '*=', '='])} {self.value(1)}"
            case _:
                return choose([*CHANGES, f"for w in {self.value(1)}: z = {self.value(1)}"])

    def source(self) -> str:
        steps = [f"{name} = {self.rnd.choice(STARTS)}" for name in "wz"]
        steps += [self.step() for _ in range(self.rnd.randrange(4))]
        steps.append(f"return [w, z, {self.value(self.rnd.randrange(1, 4))}]")
        names = "x, y, k, j, b, c, a, ai, ab, l, lf, t, m, s, e = data"
        return "def program(data, rng):\n" + "".join(f"    {s}\n" for s in [names, *steps])


def data_of(number: Any, whole: Any, truth: Any) -> tuple[Any, ...]:
    """The same data with numbers of Python's, or of NumPy's."""
    return (
        *(number(0.25), number(-3.0), whole(2), whole(-1), truth(1), truth(0)),
        *(np.array([1.5, -2.0, 0.5]), np.array([3, -1, 2]), np.array([True, False, True])),
        *([whole(1), whole(2), whole(3)], [number(0.5), number(-1.0), number(2.5)]),
        *((whole(1), number(0.5)), np.array([[1.0, 2.0], [3.0, -4.0]]), "p", np.array([])),
    )


PYTHONS, NUMPYS = (float, int, bool), (np.float64, np.int64, np.bool_)


def computed(program: Any) -> Any:
    """What the interpreter finds; None where it refuses."""
    token = current.set(SymbolicRun(Shared(EpsilonUnit(), Limits()), []))
    try:
        found = Interpreter(Program(program)).call(data_of(*PYTHONS), None)
        return plain_output(as_python(found))
    except NotUnderstood:
        return None
    finally:
        current.reset(token)


def near(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return bool(abs(a - b) <= (1 + abs(a)) * Fraction(1, 10**9))
    return type(a) is type(b) and bool(a == b)


def written(seed: int) -> Any:
    """A random program, as a function with a source."""
    source, name = Written(seed).source(), f"<written {seed}>"
    names: dict[str, Any] = {"np": np, "math": math}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), names)
    return names["program"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("first", "count"), [(0, 250), pytest.param(1000, 20_000, marks=pytest.mark.slow)]
)
def test_the_interpreter_does_what_python_does_with_numbers_of_both_kinds(
    first: int, count: int
) -> None:
    """Or it refuses: both with Python's own numbers and with NumPy's."""
    compared = 0
    for seed in range(first, first + count):
        program = written(seed)
        found = computed(program)
        for kinds in () if found is None else (PYTHONS, NUMPYS):
            assert near(found, plain_output(program(data_of(*kinds), None))), Written(seed).source()
            compared += 1
    assert compared > count / 8


def evaluated_in_order(data: Any, rng: Rng) -> Any:
    """Draws in the order in which Python takes them."""

    def noise(scale: Any, shift: Any = 0) -> Any:
        told.append(scale)
        return rng.laplace(shift, scale)

    told: list[Any] = []
    kept = [0.0, 0.0]
    kept[0 if noise(1) > 0 else 1] = noise(2)
    kept[1] += noise(3) if noise(4) > 0 else noise(5)
    first, *rest = [noise(6), noise(shift=noise(7), scale=8), max(noise(9), noise(10))]
    late = (noise(11) + x for x in [data])
    short = any(noise(k) > 0 for k in (12, 13)) and noise(14) > 0 or noise(15) > 0  # noqa: RUF021
    both = noise(16) < noise(17) < noise(18)
    return [told, kept, first, rest, sum(late), short, both, sorted([noise(19), noise(20)])]


def test_draws_are_taken_in_the_order_of_python() -> None:
    """The same draws, in the same order, give the same numbers: else this raises."""
    extraction = Extraction(evaluated_in_order, NUMBER, *unit_of(1.0))
    extraction.courses[1] = []
    rehearse(extraction)


# What is natural stays in it.


def by_inf(data: Any, rng: Rng) -> Any:
    best = -math.inf
    for x in data:
        best = max(best, x + rng.laplace(scale=2.0))
    return best > 0


def by_tuples(data: Any, rng: Rng) -> Any:
    return max((x + rng.laplace(scale=2.0), i) for i, x in enumerate(data))[1]


def by_order(data: Any, rng: Rng) -> Any:
    return np.argsort(data + rng.laplace(scale=2.0, size=2))[-1]


def by_key(data: Any, rng: Rng) -> Any:
    noisy = [x + rng.laplace(scale=2.0) for x in data]
    return max(range(2), key=lambda i: noisy[i])


def by_names(data: Any, rng: Rng) -> Any:
    return {"a": data[0] + rng.laplace(scale=2.0), "b": data[1] + rng.laplace(scale=2.0)}


def by_a_mask(data: Any, rng: Rng) -> Any:
    noisy = data + rng.laplace(scale=2.0, size=2)
    return [noisy[noisy > 0], np.where(noisy > 1, noisy, 0.0)]


def by_copies(data: Any, rng: Rng) -> Any:
    own = np.array(data)
    own += rng.laplace(scale=2.0, size=2)
    own[own < 0] = 0
    return own.tolist()


NATURAL = [by_inf, by_tuples, by_order, by_key, by_names, by_a_mask, by_copies]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mechanism", NATURAL, ids=lambda x: x.__name__)
def test_natural_programs_are_proved(mechanism: Any) -> None:
    two = Answers(dimension=2, sensitivity=1.0)
    epsilon = 2.0 if mechanism is by_inf else 1.0
    found = dpv.certify(mechanism, two, dpv.PureDP(epsilon=epsilon))
    assert found.proved, found.tried
    assert not dpv.certify(mechanism, two, dpv.PureDP(epsilon=0.4), seconds=2.0).proved


# For every ε, one at which a constant is 0 is one of them: here ln 2.


def compared_with_zero(bit: Any, rng: Rng, epsilon: float) -> Any:
    return rng.integers(2) if (1 - 2 * math.exp(-epsilon)) ** 2 > 0 else bit


def taken_for_a_truth(bit: Any, _rng: Rng, epsilon: float) -> Any:
    return 0 if (1 - 2 * math.exp(-epsilon)) ** 2 else bit


def largest_of_two(bit: Any, _rng: Rng, epsilon: float) -> Any:
    return 0 if np.argmax([0, (1 - 2 * math.exp(-epsilon)) ** 2]) else bit


def divided_by(bit: Any, _rng: Rng, epsilon: float) -> Any:
    return [1 / (1 - 2 * math.exp(-epsilon)) ** 2 for _ in range(bit)][:0]


def raised_to(bit: Any, _rng: Rng, epsilon: float) -> Any:
    return [(1 - 2 * math.exp(-epsilon)) ** -2 for _ in range(bit)][:0]


def scaled_by(number: Any, rng: Rng, epsilon: float) -> Any:
    return number * 0.0 + rng.laplace(scale=(1 - 2 * math.exp(-epsilon)) ** 2 / epsilon)


AT_ONE_EPSILON = [
    *(compared_with_zero, taken_for_a_truth, largest_of_two),
    *(divided_by, raised_to, scaled_by),
]


@pytest.mark.parametrize("mechanism", AT_ONE_EPSILON, ids=lambda x: x.__name__)
def test_every_epsilon_is_every_one(mechanism: Any) -> None:
    found = dpv.certify(mechanism, BIT, dpv.PureDP, seconds=3.0)
    assert found.verdict == "open"
    assert any("depends on epsilon" in text for text in found.tried), found.tried


def test_a_bound_that_is_touched_at_one_epsilon_holds_for_every_one() -> None:
    every, gap = EpsilonUnit(every=True), 1 - ExactNumber.exponential(-1) * 2
    nothing = ExactNumber.of(0)
    assert every.gap_sign(gap * gap, nothing, Fraction(1), nothing) == 1
    with pytest.raises(NotUnderstood, match="depends on epsilon"):
        every.sign(gap * gap)
    with pytest.raises(NotUnderstood, match="depends on epsilon"):
        every.gap_sign(gap, nothing, Fraction(1), nothing)


# An exponential of ε that raises, or is infinite, where ε is merely large.


def overflowing(bit: Any, _rng: Rng, epsilon: float) -> Any:
    return [math.exp(700 * epsilon) for _ in range(bit)][:0]


def overflowing_power(bit: Any, _rng: Rng, epsilon: float) -> Any:
    return [math.exp(epsilon) ** 400 for _ in range(bit)][:0]


def overflowing_product(bit: Any, _rng: Rng, epsilon: float) -> Any:
    return [math.exp(8 * epsilon) / math.exp(-8 * epsilon) for _ in range(bit)][:0]


OVERFLOWING = [overflowing, overflowing_power, overflowing_product]


@pytest.mark.parametrize("mechanism", OVERFLOWING, ids=lambda x: x.__name__)
def test_exponentials_that_floats_do_not_hold_at_a_large_epsilon_are_open(mechanism: Any) -> None:
    found = dpv.certify(mechanism, BIT, dpv.PureDP, seconds=3.0)
    assert found.verdict == "open"
    assert any("floats do not hold beyond epsilon" in text for text in found.tried), found.tried


def four_valued(bit: Any, rng: Rng, epsilon: float) -> Any:
    weights = [math.exp(epsilon * score / 2) for score in (bit, 1 - bit, 7 + bit, 7)]
    return rng.choice(4, p=[w / sum(weights) for w in weights])


def test_exponentials_of_a_few_epsilon_are_proved_for_every_one() -> None:
    assert dpv.certify(four_valued, BIT, dpv.PureDP, seconds=10.0).proved


def told_by_the_last_digit(bit: Any, rng: Rng) -> Any:
    """Both are read as 3/10: beside so little noise, that would hide which one it is."""
    return (0.3 if bit else 0.1 + 0.2) + rng.laplace(scale=1e-17)


def test_noise_that_is_finer_than_floats_is_open() -> None:
    found = dpv.certify(told_by_the_last_digit, BIT, ONE, seconds=2.0)
    assert "the rounding of its constants may show" in found.reason


def test_partial_functions_are_read() -> None:
    def mechanism(scale: float, data: Any, rng: Rng, *, shift: float) -> Any:
        return data + shift + rng.laplace(scale=scale)

    made = functools.partial(functools.partial(mechanism, 1.0), shift=2.0)
    assert dpv.certify(made, NUMBER, ONE).proved
    thin = functools.partial(mechanism, 0.5, shift=2.0)
    assert dpv.certify(thin, NUMBER, ONE).refuted


# The guide lists what is in it.


def test_the_guide_lists_the_language() -> None:
    text = (Path(__file__).parents[2] / "docs" / "decide.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([a-z`]+(?: [a-z`]+)*) \| (`.*) \|$", text, re.MULTILINE))
    told = {what: re.findall("`(.+?)`", row) for what, row in rows.items()}
    assert told["statements"] == list(checked.STATEMENTS.values())
    assert told["expressions"] == list(checked.EXPRESSIONS.values())
    assert told["built in"] == sorted(functions.NAMED[""])
    assert told["`math`"] == sorted(functions.NAMED["math"])
    assert told["`numpy`"] == sorted(functions.NAMED["numpy"])
    lists = {*functions.LIST, *functions.COPIES, *functions.CHANGES}
    assert told["methods of lists"] == sorted(lists)
    assert told["methods of dictionaries"] == sorted(functions.DICT)
    assert told["methods of arrays"] == [*sorted(arrays.ARRAY), *sorted(arrays.FIELDS)]
    assert told["draws of `rng`"] == sorted(functions.DRAWS)
    symbols = {name for name in told["operators"] if not name[0].isalpha()}
    assert len(symbols) == len(BINARY_OPERATORS) + len(COMPARISONS)
