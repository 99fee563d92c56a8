"""Schemas: what is a dataset, what a neighbor, and that all they make is both."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter
from dpverify.neighbors import Relation
from dpverify.schema import (
    Answers,
    BoxedVector,
    Category,
    Labeled,
    Number,
    Records,
    Table,
    Vector,
    load_schema,
    schema_from_dict,
    schema_to_dict,
)
from dpverify.schema.vectors import distance, length_of

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE_ONE
UNIT = Number(low=0, high=1)
POINT = Vector(dimension=2, radius=1.0, norm=2)
EXAMPLE = Labeled(x=POINT, y=Category(values=(-1, 1)))
ROW = Table(
    cells=(("age", Number(low=0, high=99, integer=True)), ("sex", Category(values=("f", "m"))))
)
SCHEMAS: dict[str, Any] = {
    "numbers, add": Records(record=UNIT, length=(0, 6), relation=ADD),
    "numbers, replace": Records(record=UNIT, length=4, relation=REPLACE),
    "numbers as a list": Records(record=UNIT, length=(1, 300), relation=REPLACE, layout="rows"),
    "integers": Records(record=Number(low=-2, high=7, integer=True), length=3, relation=REPLACE),
    "l1 ball": Records(record=Vector(dimension=3, radius=2.0, norm=1), length=(2, 3), relation=ADD),
    "l2 ball": Records(record=POINT, length=2, relation=REPLACE),
    "max ball": Records(
        record=Vector(dimension=2, radius=0.3, norm=math.inf), length=2, relation=REPLACE
    ),
    "box": Records(
        record=BoxedVector(low=(0.0, 1.0), high=(1.0, 3.0)), length=(0, 4), relation=ADD
    ),
    "one bit": Records(record=Category(values=(0, 1)), length=None, relation=REPLACE),
    "one of many": Records(record=Category(values=tuple("abcdefgh")), length=2, relation=REPLACE),
    "examples": Records(record=EXAMPLE, length=5, relation=REPLACE),
    "examples as a list": Records(record=EXAMPLE, length=(0, 5), relation=ADD, layout="rows"),
    "table": Records(record=ROW, length=(2, 4), relation=ADD),
    "table as a list": Records(record=ROW, length=3, relation=REPLACE, layout="rows"),
    "multisets": Records(record=UNIT, length=3, relation=REPLACE, ordered=False),
    "one answer": Answers(sensitivity=2.0),
    "answers": Answers(dimension=5, sensitivity=1.0),
    "l1 answers": Answers(dimension=4, sensitivity=0.7, norm=1),
    "l2 answers": Answers(dimension=3, sensitivity=0.1, norm=2),
    "counts": Answers(dimension=3, sensitivity=1, low=0, integer=True, monotone=True, norm=1),
    "narrow answers": Answers(sensitivity=1.0, low=0.0, high=0.5),
    "narrow counts": Answers(dimension=2, sensitivity=5, low=0.5, high=3.5, integer=True),
    "bounded answers": Answers(dimension=2, sensitivity=0.5, low=3.0, high=4.0, relation=ADD),
}
EVERY = pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS.keys())


def text(data: Any) -> str:  # noqa: ANN401
    return repr(data)


@EVERY
def test_patterns_are_neighbors_and_all_different(schema: Any) -> None:  # noqa: ANN401
    pairs = list(schema.patterns())
    assert pairs
    assert len({frozenset([text(p.left), text(p.right)]) for p in pairs}) == len(pairs)
    for pair in pairs:
        schema.check_neighbors(pair.left, pair.right)


@EVERY
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32))
def test_what_is_drawn_changed_or_simplified_stays_neighboring(schema: Any, seed: int) -> None:  # noqa: ANN401
    rng = np.random.default_rng(seed)
    schema.check(schema.draw(rng))
    pair = schema.draw_pair(rng)
    for _ in range(4):
        schema.check_neighbors(pair.left, pair.right)
        for simple in islice(schema.simpler(pair), 40):
            schema.check_neighbors(simple.left, simple.right)
        pair = schema.mutate(pair, rng)


@EVERY
def test_simplifying_comes_to_an_end(schema: Any) -> None:  # noqa: ANN401
    for seed in range(4):
        pair = schema.draw_pair(np.random.default_rng(seed))
        for _ in range(2_000):
            following = next(schema.simpler(pair), None)
            if following is None:
                break
            pair = following
        else:
            raise AssertionError(f"still simplifying: {pair}")


@EVERY
def test_same_generator_same_pairs(schema: Any) -> None:  # noqa: ANN401
    one, two = (schema.draw_pair(np.random.default_rng(3)) for _ in range(2))
    assert one == two
    assert text(one.left) == text(two.left)


@EVERY
def test_json_and_back(schema: Any, tmp_path: Path) -> None:  # noqa: ANN401
    described = json.dumps(schema_to_dict(schema), allow_nan=False)
    assert schema_from_dict(json.loads(described)) == schema
    (tmp_path / "schema.json").write_text(described, encoding="utf-8")
    assert load_schema(tmp_path / "schema.json") == schema


NUMBERS = st.lists(st.sampled_from([0.0, 0.5, 1.0]), max_size=4)


@given(left=NUMBERS, right=NUMBERS, ordered=st.booleans(), relation=st.sampled_from(Relation))
def test_neighbors_are_those_that_the_definition_says(
    left: list[float],
    right: list[float],
    ordered: bool,  # noqa: FBT001
    relation: Relation,
) -> None:
    schema = Records(record=UNIT, length=(0, 4), relation=relation, ordered=ordered)
    expected = neighbors(left, right, relation, ordered=ordered)
    try:
        schema.check_neighbors(left, right)
    except InvalidParameter:
        assert not expected
    else:
        assert expected


def neighbors(left: list[float], right: list[float], relation: Relation, *, ordered: bool) -> bool:
    """By trying every step."""
    kind: Any = tuple if ordered else (lambda rows: frozenset(Counter(rows).items()))
    if relation is REPLACE:
        steps = [[*left[:i], x, *left[i + 1 :]] for i in range(len(left)) for x in (0.0, 0.5, 1.0)]
        return kind(right) in map(kind, steps) and kind(left) != kind(right)
    removed = [[*left[:i], *left[i + 1 :]] for i in range(len(left))]
    added = [[*left[:i], x, *left[i:]] for i in range(len(left) + 1) for x in (0.0, 0.5, 1.0)]
    return kind(right) in map(kind, removed + added)


def test_known_bad_patterns_come_first() -> None:
    answers = [(p.left.tolist(), p.right.tolist()) for p in SCHEMAS["answers"].patterns()]
    assert ([1.0] * 5, [2.0] * 5) in answers[:3]
    assert ([1.0] * 5, [2.0, 2.0, 0.0, 0.0, 0.0]) in answers[:10]
    assert ([0.0, 0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0, 0.0]) in answers[:60]
    assert ([1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0]) in answers[:60]
    first = next(SCHEMAS["numbers, replace"].patterns())
    assert (first.left.tolist(), first.right.tolist()) == ([0.0] * 4, [0.0, 0.0, 0.0, 1.0])
    added = [(p.left.tolist(), p.right.tolist()) for p in SCHEMAS["numbers, add"].patterns()]
    assert ([], [1.0]) in added[:4]
    assert ([0.0, 0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]) in added


def test_data_has_the_layout_that_mechanisms_take() -> None:
    examples = next(SCHEMAS["examples"].patterns()).left
    assert (examples[0].shape, examples[1].shape) == ((5, 2), (5,))
    assert SCHEMAS["table"].draw(np.random.default_rng(1)).keys() == {"age", "sex"}
    assert isinstance(next(SCHEMAS["table as a list"].patterns()).left[0], dict)
    assert next(SCHEMAS["one bit"].patterns()).left in (0, 1)
    assert next(SCHEMAS["one answer"].patterns()).right == 4.0


@pytest.mark.parametrize(
    ("vector", "norm", "expected"),
    [
        ([3.0, -4.0], 1, 7.0),
        ([3.0, -4.0], 2, 5.0),
        ([3.0, -4.0], math.inf, 4.0),
        ([], 2, 0.0),
        ([3e-200, 4e-200], 2, 5e-200),
    ],
)
def test_norms(vector: list[float], norm: float, expected: float) -> None:
    assert length_of(vector, norm) == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4), st.sampled_from([1, 2, math.inf]))
def test_a_norm_is_the_exact_value_rounded_up(vector: list[float], norm: float) -> None:
    found = length_of(vector, norm)
    sizes = [abs(Fraction(x)) for x in vector]
    power = max(sizes) if norm == math.inf else sum(x ** int(norm) for x in sizes)
    exponent = 2 if norm == 2 else 1
    below = math.nextafter(math.nextafter(found, -1.0), -1.0)
    assert Fraction(found) ** exponent >= power
    assert below < 0.0 or Fraction(below) ** exponent <= power
    assert distance(vector, [0.0] * len(vector), norm) == found


def test_rounding_may_exceed_a_bound_in_given_data_and_no_more() -> None:
    SCHEMAS["one answer"].check_neighbors(0.1, 2.1)
    assert distance([0.1], [2.1], 1) != 2.0
    POINT.record("x", (0.6, 0.8000000000000002))
    with pytest.raises(InvalidParameter, match="must have ℓ2 norm 1 at most"):
        POINT.record("x", (0.6, 0.81))


@pytest.mark.parametrize(
    ("schema", "left", "right", "message"),
    [
        ("numbers, replace", [0, 0, 0, 0], [0, 0, 0, 0], "must differ from left"),
        ("numbers, replace", [0, 0, 0, 0], [0, 0, 1, 1], "replace-one neighbor of left: 2 records"),
        ("numbers, replace", [0, 0, 0, 2], [0, 0, 0, 1], r"left\[3\]=2 must be a number in"),
        ("numbers, replace", [0, 0, 0, 0], [0, 0, 0], r"right=\[0, 0, 0\] must have 4 records"),
        ("numbers, add", [0, 1], [1, 0, 1, 1], "add-remove neighbor of left: the lengths are 2"),
        ("numbers, add", [0, 1], [1, 1], "the lengths are 2 and 2"),
        ("numbers, add", [0, 0], [1, 1, 1], "an add-remove neighbor of left: 3 records"),
        ("multisets", [0, 1, 1], [1, 0, 1], "must differ from left"),
        ("numbers, add", 3, [1], "left=3 must be a list"),
        ("integers", [0, 0.5, 1], [0, 0, 1], r"left\[1\]=0.5 must be a whole number"),
        ("examples as a list", [3], [], r"left\[0\]=3 must be a pair"),
        ("examples", [np.zeros((5, 2)), np.zeros(5)], [], "must be one of: -1, 1"),
        ("examples", [np.zeros((5, 2)), np.ones(4)], [], "columns of one length"),
        ("table", {"age": [1, 2]}, {}, "must be a dict with the keys"),
        ("box", [(0, 0)], [], r"must lie between \[0.0, 1.0\]"),
        ("l2 ball", [(0, math.nan), (0, 0)], [], "must be finite"),
        ("l2 ball", [("a", "b"), (0, 0)], [], "must be 2 numbers"),
        ("one bit", 2, 1, "left=2 must be one of: 0, 1"),
        ("one answer", 0.0, 2.5, "must be within 2 of left in ℓ∞, not 2.5 apart"),
        ("one answer", math.nan, 2.5, "left=nan must be a real number"),
        ("one answer", 1.0, 1, "must differ from left"),
        ("counts", [1, 1, 1], [2, 0, 1], "must be within 1 of left in ℓ1"),
        ("counts", [1, 1, 1], [2, 1, -1], r"must be whole numbers in \[0, inf\]"),
    ],
)
def test_what_is_no_pair_of_neighbors_is_refused(
    schema: str,
    left: Any,  # noqa: ANN401
    right: Any,  # noqa: ANN401
    message: str,
) -> None:
    with pytest.raises(InvalidParameter, match=message) as caught:
        SCHEMAS[schema].check_neighbors(left, right)
    assert "\n" not in str(caught.value)


def test_monotone_answers_move_one_way() -> None:
    schema = Answers(dimension=2, sensitivity=1.0, monotone=True)
    schema.check_neighbors([0, 0], [1, 1])
    with pytest.raises(InvalidParameter, match="the queries are monotone"):
        schema.check_neighbors([0, 1], [1, 0])


RECORDS = {"kind": "records", "length": 3, "relation": "replace-one"}


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (3, r"schema=3 must be an object with a kind"),
        ({}, "schema.kind=None must be one of: records, answers"),
        (RECORDS, "schema must have .*record"),
        (RECORDS | {"record": {"kind": "numbr"}}, "schema.record.kind='numbr' must be one of"),
        (RECORDS | {"record": {"kind": "number"}}, "schema.record must have .*low"),
        (
            RECORDS | {"record": {"kind": "number", "low": 1, "high": 0}},
            "schema.record.high=0 must exceed low=1",
        ),
        (
            RECORDS | {"record": {"kind": "number", "low": 0, "high": "big"}},
            "schema.record.high='big' must be a number",
        ),
        (RECORDS | {"lenght": 3}, "schema.lenght must be one of: record, length"),
        (
            {"kind": "answers", "sensitivity": 1, "norm": 3},
            "schema.norm=3 must be one of: 1, 2, inf",
        ),
        ({"kind": "answers", "sensitivity": -1}, "schema.sensitivity=-1 must be positive"),
        (
            RECORDS | {"record": {"kind": "table", "cells": [1]}},
            r"schema.record.cells=\[1\] must be an object",
        ),
        (
            RECORDS | {"record": {"kind": "category", "values": ["a"]}},
            r"schema.record.values=\('a',\) must be two or more",
        ),
    ],
)
def test_bad_json_gives_one_line(described: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=message) as caught:
        schema_from_dict(described)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("{", encoding="utf-8")
    for name in ("s.json", "missing.json"):
        with pytest.raises(InvalidParameter, match="must be a JSON file"):
            load_schema(tmp_path / name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Number(low=0, high=math.inf), "high=inf must be finite"),
        (
            lambda: Records(record=None, length=2, relation="replace-one"),  # type: ignore[arg-type]
            "record=None must say which records are allowed",
        ),
        (
            lambda: Labeled(x=Number(low=0, high=1), y=Category),  # type: ignore[arg-type]
            "y=<class .* must say which records are allowed",
        ),
        (lambda: Table(cells=(("a", 3),)), r"cells\['a'\]=3 must say"),  # type: ignore[arg-type]
        (lambda: Number(low=0.5, high=2, integer=True), "low=0.5 must be a whole number"),
        (lambda: Vector(dimension=0, radius=1.0, norm=2), "dimension=0 must"),
        (lambda: Vector(dimension=1, radius=1.0, norm=3), "norm=3 must be one of"),
        (lambda: BoxedVector(low=(0.0,), high=(0.0,)), "must exceed low"),
        (lambda: Category(values=(1, True)), "all different"),
        (lambda: Table(cells=()), "must be one or more different names"),
        (lambda: Records(record=UNIT, length=3, relation=ADD), "add-remove changes the length"),
        (lambda: Records(record=UNIT, length=None, relation=ADD), "must go with replace-one"),
        (lambda: Records(record=UNIT, length=(3, 1), relation=ADD), "whole number or a range"),
        (lambda: Records(record=UNIT, length=True, relation=REPLACE), "whole number or a range"),
        (lambda: Answers(sensitivity=0.5, integer=True), "must be at least 1"),
        (lambda: Answers(sensitivity=1.0, low=1.0, high=1.0), "must exceed low"),
        (
            lambda: Answers(sensitivity=1.0, low=0.5, high=1.5, integer=True),
            "must leave two whole numbers",
        ),
    ],
)
def test_bad_schemas_are_refused(make: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=message):
        make()
