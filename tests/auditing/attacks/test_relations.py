"""What parts have to do with each other: counts, remainders, parities and weighted sums."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.auditing.attacks.draws import Bound, Draws
from dpverify.auditing.attacks.events import Linear
from dpverify.auditing.attacks.proposals import ATTACKS, Families, propose
from dpverify.auditing.attacks.relations import _null_space
from dpverify.auditing.sampling.outputs import Outputs
from dpverify.auditing.sampling.relations import UNRELATED
from dpverify.auditing.sampling.tabulating import from_array, from_objects

GOAL = Bound(delta=0.0, z=1.6, planned=500)

COUNTS: dict[str, tuple[Any, str, float]] = {
    "equal texts": (("ab", "ab"), "count of elements in both output[0] and output[1]", 1.0),
    "case": (
        ("aB", "Ab"),
        "count of elements, but for letter case, in both output[0] and output[1]",
        1.0,
    ),
    "reversed": (
        ("abc", "cba"),
        "count of elements, but for direction, in both output[0] and output[1]",
        1.0,
    ),
    "member": ((7, [5, 7, 7.0]), "count of elements in both output[0] and output[1]", 1.0),
    "two sets": (({1, 2, 3}, {2, 3, 4}), "count of elements in both output[0] and output[1]", 2.0),
    "keys": (("k", {"k": 1}), "count of elements in both output[0] and keys of output[1]", 1.0),
    "number in words": (
        (12, "id 12 b"),
        "count of elements in both output[0] and words of output[1]",
        1.0,
    ),
    "repeats": (["a", "b", "a", "a"], "count of repeats in output", 2.0),
    "falls": (["b", "a", "c", "a"], "count of falls in output", 2.0),
    "falls of a set": ({"a", "b", "c"}, "count of falls in output", 0.0),
    "within": (
        ("abcd", "bc"),
        "count of the shorter within the longer of output[0] and output[1]",
        1.0,
    ),
    "places": (("abcd", "axcy"), "count of places that agree in output[0] and output[1]", 2.0),
    "capitals": ("aBcD", "count of capitals in output", 2.0),
    "mirrored": ("abca", "count of places that agree with the mirrored in output", 2.0),
    "none": (("ab", "cd"), "count of elements in both output[0] and output[1]", 0.0),
}


@pytest.mark.parametrize(("output", "name", "value"), COUNTS.values(), ids=COUNTS)
def test_counts_by_hand(output: object, name: str, value: float) -> None:
    assert from_objects([output, None]).column(name).tolist() == [value, 0.0]


FEATURES: dict[str, tuple[list[float], str, float]] = {
    "remainder": ([-5.0, 0.0], "mod7(output[0])", 2.0),
    "distance to a multiple": ([0.372, 0.0], "mod0.01(output[0])", 0.002),
    "ones": ([11.0, 0.0], "ones(output[0])", 3.0),
    "no ones of a fraction": ([1.5, 0.0], "ones(output[0])", np.nan),
    "negative": ([-2.0, 0.0], "negative(output[0])", 1.0),
    "repeats": ([1.0, 3.0, 1.0, 1.0], "repeats(output)", 2.0),
    "falls": ([1.0, 3.0, 2.0, 2.0, 1.0], "falls(output)", 2.0),
    "inversions": ([3.0, 1.0, 2.0], "inversions(output)", 2.0),
    "turns": ([3.0, -1.0, -2.0, 1.0], "turns(output)", 2.0),
}


@pytest.mark.parametrize(("row", "name", "value"), FEATURES.values(), ids=FEATURES)
def test_features_by_hand(row: list[float], name: str, value: float) -> None:
    assert from_array(np.array([row])).column(name)[0] == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize("modulus", [*range(2, 65), 65_536])
def test_huge_integers_keep_their_remainders(modulus: int) -> None:
    huge = 3**60 + modulus
    block = from_objects([huge])
    found = {
        block.column(f"mod{modulus}({name})")[0]
        for name in block.columns
        if " mod " in name and int(name.rpartition(" ")[2]) % modulus == 0
    }
    assert found == {float(huge % modulus)}


def test_what_is_not_compared_is_said() -> None:
    block = from_objects([[f"text {i}", ["a"]] for i in range(2)])
    assert UNRELATED not in block.unread
    assert UNRELATED in from_objects([{str(i): ["a", "b"] for i in range(20)}]).unread


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=8))
def test_null_spaces_are_those_of_enumeration(rows: list[list[bool]]) -> None:
    matrix = np.array(rows)
    basis = _null_space(matrix)
    spanned = {
        tuple(sum((take * v for take, v in zip(takes, basis, strict=True)), np.zeros(5)) % 2)
        for takes in itertools.product((0, 1), repeat=len(basis))
    }
    every = itertools.product((0, 1), repeat=5)
    assert spanned == {v for v in every if not (matrix @ np.array(v) % 2).any()}
    assert len(spanned) == 2 ** len(basis)


def test_a_parity_of_three_bits_is_found() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, (2, 200, 20)).astype(float)
    for side in (0, 1):
        rows[side, :, 17] = (rows[side, :, 3] + rows[side, :, 9] + side) % 2
    found = propose_on(*rows)
    assert isinstance(found, Linear)
    names = [f"binary0(output[{i}])" for i in (3, 9, 17)]
    assert (sorted(found.features), found.modulus) == (sorted(names), 2.0)


def test_a_sum_of_others_is_found() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(2, 200, 5))
    rows[0, :, 4] = rows[0, :, 1] - 2.0 * rows[0, :, 2]
    rows[1, :, 4] *= np.sqrt(5.0)
    found = propose_on(*rows)
    assert isinstance(found, Linear)
    weights = dict(zip(found.features, found.weights, strict=True))
    ratios = [weights[f"output[{i}]"] / weights["output[4]"] for i in range(4)]
    assert ratios == pytest.approx([0.0, -1.0, 2.0, 0.0], abs=1e-8)


def propose_on(left: Any, right: Any) -> object:  # noqa: ANN401
    seen: Any = Draws(from_array(left), from_array(right))
    found = propose(seen, GOAL, Families(classifiers=False))
    return max(found.values(), key=lambda proposal: proposal.merit).event


def test_single_numbers_ask_for_no_relations() -> None:
    """What costs time is tried only where it can tell something."""
    numbers: Outputs = from_array(np.random.default_rng(3).normal(size=300))
    told = {a.name for a in ATTACKS if a.families(Draws(numbers, numbers))}
    assert not told & {"parities of sets of bits", "remainders of whole numbers"}


@pytest.mark.parametrize("make", [lambda a, b: [a, b, "x"], lambda a, b: {"a": a, "b": b}])
def test_whether_two_nan_are_one_object_is_no_matter_of_the_output(make: Any) -> None:  # noqa: ANN401
    """Two NaN of one process may be one object, and are two after they went to another."""
    nan = float("nan")
    once, twice = (from_objects([make(nan, other)]) for other in (nan, float("nan")))
    assert once.columns == twice.columns
    assert all(once.column(n) == twice.column(n) for n in once.columns if n.startswith("count of"))


def test_events_on_sums_beyond_floats_and_on_no_modulus_hold_nowhere() -> None:
    block = from_array(np.array([[1e308, 1e308], [3.0, 4.0]]))
    event = Linear(features=("output[0]", "output[1]"), weights=(2.0, 2.0), bound=0.0, modulus=2.0)
    assert event.holds(block).tolist() == [False, True]
    for malformed in ("mod1.2.3", "mod1e", "mod0", "mod1e999"):
        assert np.isnan(block.column(f"{malformed}(output[1])")).all()
