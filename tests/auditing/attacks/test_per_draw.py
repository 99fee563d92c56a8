"""What a block of draws says of one draw does not depend on the other draws in it."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpverify.auditing import audit
from dpverify.auditing.attacks.draws import Draws, numeric_features
from dpverify.auditing.attacks.events import Between, Event, Linear, OneOf, Tree, Trees
from dpverify.auditing.sampling.features import BITS, ORDER, SUMMARIES
from dpverify.auditing.sampling.outputs import WHOLE, Outputs, joined
from dpverify.auditing.sampling.parts import Raised, TimedOut
from dpverify.auditing.sampling.relations import is_counted
from dpverify.auditing.sampling.tabulating import from_array, from_objects
from dpverify.auditing.search.trials import Calls
from dpverify.guarantees import PureDP

few = st.sampled_from([1.0, 2.0])
numbers = st.sampled_from([0.0, 1.0, 2.5, -0.0, 3, 0.1, 1e16, math.nan, math.inf, -math.inf])
failures = st.sampled_from([None, Raised("E", "m"), Raised("E", ""), TimedOut()])
leaves = numbers | st.sampled_from([True, None, "s", "", "3", "nan", 2**53, 2**53 + 1])
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)

KINDS: dict[str, st.SearchStrategy[Any]] = {
    "numbers and failures": numbers | failures,
    "booleans": st.sampled_from([True, False, 1, 0, np.True_]),
    "huge integers": st.sampled_from([3, 4, 2**53, 2**53 + 1, -(2**70), 1e17, 10**17]),
    "numbers and rows of one": st.sampled_from([3, (3,), 4, ((3,),), "3"]),
    "strings": st.sampled_from(["a", "b", "3", "nan", "", "(3)"]),
    "strings and numbers": st.sampled_from(["a", "3", "nan", "", 3, math.nan]),
    "sets": st.sampled_from([{1, 2}, {1}, frozenset([2])]),
    "sometimes no number": st.fixed_dictionaries({"x": st.sampled_from([1.0, 2.5, None, "a"])}),
    "some of the keys": st.permutations("abc").flatmap(
        lambda keys: st.lists(few, max_size=3).map(lambda row: dict(zip(keys, row, strict=False)))
    ),
    "keys that are numbers": st.dictionaries(st.sampled_from([0, 1, 10, -1, 0.5]), few),
    "lists of any length": st.lists(few, max_size=11),
    "long sums": st.lists(st.sampled_from([0.1, 1e16, -1e16, 1 / 3]), min_size=7, max_size=12),
    "mixed lists": st.tuples(st.sampled_from([1.0, "s", None, -math.inf, []]), numbers),
    "booleans in lists": st.sampled_from([[True, 2.0], [False, 2.0], [1.0, 2.0], [1.0]]),
    "matrices and failures": st.sampled_from([[[1.0, 2.0], [3, 4]], np.ones((2, 2))]) | failures,
    "ragged matrices": st.lists(st.lists(few, max_size=2), max_size=3),
    "texts and what holds them": st.tuples(
        st.sampled_from(["aB", "Ba", "ab", "12 12"]),
        st.sampled_from(["aB", 12, ["aB", "c"], ["c", "aB", "c"], {"aB": 12}, frozenset(["aB"])]),
    ),
    "anything": anything,
}
OF_ONE = ("mod3", "mod0.01", "ones", "negative")
FOREIGN = ("", "nan", "3", "(3)", "1", "True", "9007199254740993", "9007199254740992", "(1, 2)")


def events(past: Outputs) -> Iterator[Event]:
    """Every kind of event about every feature, at the values that were seen."""
    base = [name for name in past.columns if name.startswith(WHOLE)]
    bits = [f"{function}({name})" for name in base[:3] for function in BITS]
    summaries = [f"{function}({WHOLE})" for function in SUMMARIES]
    more = [f"{function}({name})" for function in OF_ONE for name in base[:2]]
    more += [f"{function}({WHOLE})" for function in ORDER]
    more += [name for name in past.columns if is_counted(name)]
    known = [*numeric_features(Draws(past, past)), *summaries, *bits, *more]
    features = list(dict.fromkeys(known))
    for name in features:
        for cut in set(past.ordered(name).tolist()):
            yield Between(feature=name, low=cut)
            yield Between(feature=name, high=cut)
        for missing_left in (True, False):
            tree = Tree(
                (0, 0, 0), (1.5, 0.0, 0.0), (missing_left,) * 3, (1, 0, 0), (2, 0, 0), (0, 1, 2)
            )
            yield Trees(features=(name,), trees=(tree,), bound=1.5)
    for name in dict.fromkeys([WHOLE, *past.texts, *features]):
        for text in {*past.text(name).tolist(), *FOREIGN}:
            yield OneOf(feature=name, texts=(text,))
    weights = tuple(0.1 * i - 0.3 for i in range(len(features)))
    linear = Linear(features=tuple(features), weights=weights, bound=0.0)
    for bound in set(linear.score(past).tolist()):
        yield replace(linear, bound=bound)
        yield replace(linear, bound=bound - 0.5, high=bound)
    yield replace(linear, weights=(1.0,) * len(features), bound=1.0, modulus=2.0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_an_event_is_about_one_draw(kind: str, data: st.DataObject) -> None:
    outputs = data.draw(st.lists(KINDS[kind], min_size=2, max_size=5))
    more = data.draw(st.lists(KINDS[kind], max_size=4))
    alone = [from_objects([output]) for output in outputs]
    size = len(outputs)
    past = from_objects([*more, *outputs])
    blocks = [
        from_objects(outputs),
        joined(alone),
        joined([from_objects(more), from_objects(outputs)]).between(len(more), len(more) + size),
        past.pick(np.arange(len(more), len(more) + size)),
    ]
    for event in events(past):
        each = [bool(event.happens(one)[0]) for one in alone]
        for block in blocks:
            assert event.happens(block).tolist() == each, event


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_texts_numbers_and_keys_agree(kind: str, data: st.DataObject) -> None:
    outputs = data.draw(st.lists(KINDS[kind], min_size=2, max_size=5))
    block = from_objects(outputs)
    for name in dict.fromkeys([WHOLE, *block.texts, *block.columns]):
        texts, keys = block.text(name), block.keys(name)
        assert texts.tolist() == [str(from_objects([o]).text(name)[0]) for o in outputs]
        for text, key in zip(texts, keys, strict=True):
            assert (keys == key).tolist() == (texts == text).tolist()
            assert block.is_one_of(name, [str(text)]).tolist() == (texts == text).tolist()


entries = {
    "float64": numbers,
    "int64": st.sampled_from([0, 1, -3, 2**53]),
    "uint64": st.sampled_from([0, 1, 2**53, 2**53 + 1]),
    "bool": st.booleans(),
}
shapes = st.sampled_from([(), (1,), (2,), (3,), (2, 2), (1, 2), (2, 1, 2), (1, 1, 1, 2), (65,)])


@st.composite
def arrays(draw: st.DrawFn) -> NDArray[Any]:
    """Some draws of one shape, of numbers of one kind."""
    dtype = draw(st.sampled_from(sorted(entries)))
    shape = (draw(st.integers(1, 4)), *draw(shapes))
    pool = np.array(draw(st.lists(entries[dtype], min_size=8, max_size=8)), dtype)
    return np.resize(pool, shape)


@settings(max_examples=settings().max_examples * 2 // 5, deadline=None)
@given(arrays(), st.sampled_from([None, "s", 1.5, [1.0]]))
def test_arrays_say_what_objects_say(array: NDArray[Any], other: object) -> None:
    block, mixed = from_array(array), from_objects([*array, other])
    size = len(array)
    as_objects = mixed.between(0, size)
    both = joined([block, from_objects([other]), from_array(array)])
    ways = (
        block,
        from_objects(array.tolist()),
        both.between(0, size),
        both.between(size + 1, both.size),
    )
    for event in events(mixed):
        for way in ways:
            assert event.happens(way).tolist() == event.happens(as_objects).tolist(), event
    for way in ways:
        assert way.text(WHOLE).tolist() == as_objects.text(WHOLE).tolist()


def test_arrays_of_different_shapes_join() -> None:
    arrays = [np.ones(2), np.ones((2, 1)), np.ones((2, 2)), np.ones((0, 2)), np.ones((2, 2, 1))]
    both = joined([from_array(array) for array in arrays])
    rows = ["1", "(1)", "(1, 1)", "((1), (1))"]
    assert both.text(WHOLE).tolist() == [row for row in rows for _ in range(2)]
    assert np.nan_to_num(both.column("len(output)")[::2]).tolist() == [0.0, 1.0, 2.0, 2.0]
    assert both.is_one_of(WHOLE, ["(1)"]).tolist() == [False, False, True, True, *[False] * 4]


class Shown:
    """A key that looks like others."""

    def __repr__(self) -> str:
        return "same"


def test_parts_of_the_same_name_do_not_shift_other_draws() -> None:
    block = from_objects([{Shown(): "a", Shown(): "b"}, {"x": 1.0}, {Shown(): "c"}])
    assert block.text("output[same]").tolist() == ["'b'", "", "'c'"]


def test_places_are_those_of_the_list() -> None:
    rows = [[1.0, 2.0], ["s", 5.0, 3.0], [None, -math.inf], {"a": 1.0}, [None], [[9.0], 1.0], 4.0]
    block = from_objects([{"z": 7.0}, *rows])
    nan = math.nan
    for function, places in (
        ("argmax", [nan, 1.0, 1.0, 1.0, nan, nan, 1.0, nan]),
        ("argmin", [nan, 0.0, 2.0, 1.0, nan, nan, 1.0, nan]),
    ):
        assert np.array_equal(block.column(f"{function}(output)"), places, equal_nan=True)


def subset(_data: object, rng: np.random.Generator) -> dict[str, float]:
    """A histogram without small counts, the largest first; the same for all data."""
    counts = {key: n + rng.laplace(scale=2.0) for key, n in (("a", 10.0), ("b", 10.0), ("c", 9.0))}
    return dict(sorted(((k, v) for k, v in counts.items() if v > 8), key=lambda item: -item[1]))


def order(_data: object, rng: np.random.Generator) -> dict[str, float]:
    """Keys in random order."""
    return {"a": 1.0, "b": 2.0} if rng.random() < 0.5 else {"b": 2.0, "a": 1.0}


def none_part(_data: object, rng: np.random.Generator) -> dict[str, float | None]:
    """A part that is hardly ever missing."""
    return {"x": None if rng.random() < 1e-3 else 1.0}


def ragged(_data: object, rng: np.random.Generator) -> list[float]:
    """A list that is hardly ever longer."""
    return [1.0] * (3 if rng.random() < 0.01 else 2)


@pytest.mark.false_alarm(2e-9)  # an audit at level 1e-9, two statements
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("mechanism", "samples"),
    [(subset, 2_000), (order, 2_000), (none_part, 2_000), (Calls(ragged), 4_000)],
    ids=["subset", "order", "none_part", "ragged"],
)
def test_laws_that_are_the_same_are_not_refuted(mechanism: Any, samples: int, seed: int) -> None:  # noqa: ANN401
    verdict = audit(
        mechanism,
        left=0,
        right=1,
        claim=PureDP(epsilon=0.1),
        level=1e-9,
        seed=seed,
        samples=samples,
    )
    assert not verdict.refuted
    assert verdict.epsilon_lower == 0.0
