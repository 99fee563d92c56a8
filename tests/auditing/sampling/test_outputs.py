"""Outputs of any kind as columns and texts."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.auditing.sampling.outputs import MISSING, joined
from dpverify.auditing.sampling.parts import Raised, TimedOut
from dpverify.auditing.sampling.spelling import canonical
from dpverify.auditing.sampling.tabulating import from_array, from_objects


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (True, "True"),
        (None, "None"),
        ("a", "'a'"),
        (np.str_("a"), "'a'"),
        (b"a", "b'a'"),
        (np.int64(7), "7"),
        (np.array([[1, 2], [3, 4]]), "((1, 2), (3, 4))"),
        ([1, None, (True, 2.5)], "(1, None, (True, 2.5))"),
        ({"b": 1, "a": 2}, "{'a': 2, 'b': 1}"),
        ({3, 1}, "{1, 3}"),
        (Raised("ValueError", "no"), "raises ValueError"),
        (TimedOut(), "times out"),
        (object(), "object"),
    ],
)
def test_canonical_texts(output: object, text: str) -> None:
    assert canonical(output) == text


def test_only_numeric_texts_take_true_for_one() -> None:
    assert canonical([True, {False: 1}], numeric=True) == "(1, {0: 1})"
    assert canonical([True, {False: 1}]) == "(True, {False: 1})"


def test_mixed_outputs_become_columns_and_texts() -> None:
    block = from_objects([1.5, None, (2, "x"), {"a": 3}, Raised("KeyError", "k"), math.nan])
    assert block.text("output").tolist() == [
        *("1.5", "None", "(2, 'x')", "{'a': 3}", "raises KeyError", "nan")
    ]
    assert block.column("output")[0] == 1.5
    assert block.column("output[0]")[2] == 2.0
    assert block.column("output['a']")[3] == 3.0
    assert block.text("output[1]").tolist() == ["", "", "'x'", "", "", ""]
    assert block.text("output[0]").tolist() == ["", "", "2", "", "", ""]
    assert block.text("message of output")[4] == "k"
    assert np.isnan(block.column("nothing like it")).all()


def test_varying_lengths() -> None:
    block = from_objects([[1.0], [1.0, 2.0], []])
    assert block.column("len(output)").tolist() == [1.0, 2.0, 0.0]
    assert block.column("output[1]")[1] == 2.0
    assert np.isnan(block.column("output[1]")[[0, 2]]).all()


def test_summaries_and_bits() -> None:
    rows = from_array(np.array([[3.0, 1.0], [2.0, 5.0]]))
    assert rows.column("max(output)").tolist() == [3.0, 5.0]
    assert rows.column("argmin(output)").tolist() == [1.0, 0.0]
    assert rows.column("spread(output)").tolist() == [2.0, 3.0]
    bits = from_array(np.array([1.0, 6.0, 0.75, 1.0 + 2.0**-52, 0.0]))
    assert bits.column("lowest_bit(output)")[:4].tolist() == [0.0, 1.0, -2.0, -52.0]
    assert bits.column("zero_bits(output)")[3] == 0.0
    assert np.isnan(bits.column("lowest_bit(output)")[4])
    assert bits.text("zero_bits(output)").tolist() == ["52", "51", "51", "0", MISSING]


def test_a_part_that_is_a_number_only_sometimes() -> None:
    block = from_objects([{"x": 3}, {"x": None}, {"x": "3"}, {}, {"x": math.nan}])
    assert block.text("output['x']").tolist() == ["3", "None", "'3'", MISSING, MISSING]
    assert block.is_one_of("output['x']", ["3"]).tolist() == [True, False, False, False, False]
    assert block.is_one_of("output['x']", [MISSING]).tolist() == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("output", "text"),
    [(3.0, "(3)"), (3.0, "3.0"), (3.0, " 3"), (2.0**53, "9007199254740993"), (math.nan, MISSING)],
)
def test_only_the_canonical_text_is_a_number(output: float, text: str) -> None:
    assert not from_objects([output]).is_one_of("output", [text]).any()


@pytest.mark.parametrize(
    "text", ["1, 2", "((1, 2))", "(1, 2, 3)", "(1.0, 2)", "(1 2)", "(1,2)", "3"]
)
def test_only_the_canonical_text_is_a_row(text: str) -> None:
    block = from_array(np.array([[1.0, 2.0]]))
    assert block.is_one_of("output", ["(1, 2)"]).all()
    assert not block.is_one_of("output", [text]).any()


numbers = st.one_of(st.integers(-5, 5), st.floats(allow_nan=True))


@given(st.lists(numbers, min_size=1, max_size=20))
def test_membership_follows_texts(outputs: list[float]) -> None:
    for block in (from_objects(outputs), from_array(np.array(outputs, np.float64))):
        texts = block.text("output")
        assert block.is_one_of("output", [str(texts[0])]).tolist() == (texts == texts[0]).tolist()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20))
def test_rows_are_the_same_as_array_and_as_objects(rows: list[tuple[int, int]]) -> None:
    one, two = from_array(np.array(rows)), from_objects(rows)
    assert one.text("output").tolist() == two.text("output").tolist()
    wanted = [str(one.text("output")[0])]
    assert one.is_one_of("output", wanted).tolist() == two.is_one_of("output", wanted).tolist()
    keys = one.keys("output")
    same = (keys == keys[0]).tolist()
    assert same == [row == rows[0] for row in rows]


def test_joining_fills_what_is_missing() -> None:
    both = joined([from_objects([1.0, 2.0]), from_objects([None, "a"])])
    assert both.size == 4
    assert both.text("output").tolist() == ["1", "2", "None", "'a'"]
    assert np.isnan(both.column("output")[2:]).all()
    assert both.text("output[0]").tolist() == [MISSING] * 4
    assert both.between(1, 3).text("output").tolist() == ["2", "None"]


@pytest.mark.parametrize("array", [np.array([2**60, 2**60 + 1]), np.array(["a", "b"])])
def test_what_no_float_holds_is_kept_as_text(array: Any) -> None:  # noqa: ANN401
    assert len(set(from_array(array).text("output").tolist())) == 2
