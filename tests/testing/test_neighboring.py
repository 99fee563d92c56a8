"""Pairs are neighbors, stay within the bounds, and shrink to the smallest."""

from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dpverify.errors import InvalidParameter, NotSupported
from dpverify.neighbors import Relation
from dpverify.schema.rows import check_neighboring, differ_in_one
from dpverify.testing import NeighboringPair, neighbors
from dpverify.testing import strategies as dst

DATASETS: dict[str, SearchStrategy[Any]] = {
    "lists": st.lists(st.floats(0, 1)),
    "short lists": st.lists(st.integers(0, 9), min_size=2, max_size=3),
    "numbers": dst.numbers(0.0, 1.0, max_size=5),
    "vectors": dst.vectors(2, max_size=5),
    "arrays": dst.arrays(3, low=0.0, high=1.0, max_size=5),
    "labeled": dst.labeled(2, max_size=5),
    "categories": dst.categories({"city": ["Oslo", "Rome"], "old": [False, True]}, max_size=5),
    "tuples": st.lists(st.integers(0, 9), max_size=4).map(tuple),
    "distinct": st.lists(st.integers(0, 99), unique=True),
    "mapped arrays": st.lists(st.integers(0, 9), min_size=1, max_size=4).map(np.array),
}


@pytest.mark.parametrize("relation", list(Relation), ids=lambda r: r.value)
@pytest.mark.parametrize("name", DATASETS)
def test_pairs_are_neighbors(name: str, relation: Relation) -> None:
    @settings(max_examples=settings().max_examples * 2 // 5)
    @given(neighbors(DATASETS[name], relation=relation))
    def run(pair: NeighboringPair) -> None:
        check_neighboring(pair.left, pair.right, relation)
        assert type(pair.left) is type(pair.right)

    run()


@given(neighbors(DATASETS["short lists"], relation="add-remove"))
def test_sizes_stay_within_bounds(pair: NeighboringPair) -> None:
    assert {len(pair.left), len(pair.right)} == {2, 3}


@pytest.mark.parametrize(
    ("relation", "condition", "smallest"),
    [
        ("replace-one", lambda _pair: True, ([0], [1])),
        ("add-remove", lambda _pair: True, ([], [0])),
        ("add-remove", lambda pair: len(pair.left) > len(pair.right), ([0], [])),
        ("replace-one", lambda pair: sum(pair.right) > sum(pair.left) + 5, ([0], [6])),
        ("add-remove", lambda pair: len(pair.right) == 4, ([0, 0, 0], [0, 0, 0, 0])),
        ("replace-one", lambda pair: min(pair.left) >= 4, ([4], [0])),
    ],
)
def test_pairs_shrink(relation: str, condition: Any, smallest: Any) -> None:  # noqa: ANN401
    """Fewer records first, then simpler ones; the differing record is the last to be simple."""
    pairs = neighbors(st.lists(st.integers(0, 9)), relation=relation)
    found = find(pairs, condition, settings=settings(database=None, max_examples=2_000))
    assert (found.left, found.right) == smallest


def test_long_pairs_shrink_to_one_simple_difference() -> None:
    pairs = neighbors(st.lists(st.integers(0, 9)), relation="replace-one")
    found = find(pairs, lambda pair: len(pair.left) >= 3, settings=settings(database=None))
    assert len(found.left) == len(found.right) == 3
    assert sorted(found.left + found.right) == [0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("left", "right", "relation", "holds"),
    [
        ([1, 2], [2, 1], "replace-one", False),
        ([1, 2], [3, 1], "replace-one", True),
        ([1, 2], [3, 4], "replace-one", False),
        ([1], [1, 1], "add-remove", True),
        ([1], [2, 3], "add-remove", False),
        ([1], [2], "add-remove", False),
        (np.eye(2), np.eye(2)[:1], "add-remove", True),
        (0.0, 1.0, lambda left, right: abs(left - right) <= 1, True),
        (0.0, 2.0, lambda left, right: abs(left - right) <= 1, False),
    ],
)
def test_neighbors_by_hand(left: Any, right: Any, relation: Any, holds: bool) -> None:  # noqa: ANN401, FBT001
    assert differ_in_one(left, right, relation) is holds


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InvalidParameter, match="datasets=3 must be a hypothesis strategy"):
        neighbors(3, relation="add-remove")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="relation='swap' must be one of"):
        neighbors(st.lists(st.booleans()), relation="swap")
    with pytest.raises(InvalidParameter, match="must leave room for add-remove"):
        neighbors(st.lists(st.booleans(), min_size=2, max_size=2), relation="add-remove")
    with pytest.raises(NotSupported, match="give a predicate"):
        differ_in_one(0.0, 1.0, "add-remove")
