"""Outputs of many numbers: a leak in any of them, in their sum or their largest is found."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverify.auditing import audit
from dpverify.auditing.attacks.cuts import most_linked, most_telling
from dpverify.auditing.attacks.draws import Bound, Draws
from dpverify.auditing.attacks.events import Linear
from dpverify.auditing.sampling.features import PROJECTIONS, SUMMARIES
from dpverify.auditing.sampling.outputs import WHOLE
from dpverify.auditing.sampling.tabulating import from_array
from dpverify.guarantees import PureDP

Row = NDArray[np.float64]
FEATURES = [
    f"{f}({WHOLE})" for f in (*SUMMARIES, *PROJECTIONS, "hole", "repeats", "falls", "turns")
]


def in_entry(place: int) -> Callable[[Row, float, np.random.Generator], Row]:
    def planted(row: Row, bit: float, _rng: np.random.Generator) -> Row:
        row[place] = bit + 0.1 * row[place]
        return row

    return planted


def in_sum(row: Row, bit: float, _rng: np.random.Generator) -> Row:
    row += bit / len(row) - row.mean()
    return row


def in_largest(row: Row, bit: float, rng: np.random.Generator) -> Row:
    row[rng.integers(len(row))] = 1e3 + bit
    return row


LEAKS = {
    "first": in_entry(0),
    "some": in_entry(123),
    "last": in_entry(-1),
    "sum": in_sum,
    "max": in_largest,
}


@pytest.mark.parametrize("width", [300, pytest.param(20_001, marks=pytest.mark.slow)])
@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_in_one_of_many_numbers_is_found(leak: str, width: int) -> None:
    """One bit with ε = 10, against a claim of 1; in lists, or in longer arrays."""

    def mechanism(data: float, rng: np.random.Generator) -> object:
        bit = data if rng.random() < 1.0 / (1.0 + np.exp(-10.0)) else 1.0 - data
        row = LEAKS[leak](rng.uniform(-1.0, 1.0, width), bit, rng)
        return row.tolist() if width == 300 else row

    verdict = audit(mechanism, left=0.0, right=1.0, claim=PureDP(1.0), samples=300, seed=1)
    assert verdict.refuted, verdict


def odd_rows(size: int, width: int) -> Row:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((size, width)) * 10.0 ** rng.integers(-6, 6, (size, width))
    rows[1, 5:] = np.nan
    rows[2, [3, -1]] = np.inf, -np.inf
    rows[3] = np.round(rows[3])
    rows[4] = np.nan
    return rows


@pytest.mark.parametrize("width", [80, 600])
def test_of_many_numbers_a_draw_says_the_same_alone(width: int) -> None:
    """Sums in another order would differ in their last bits."""
    rows = odd_rows(7, width)
    names = tuple(f"{WHOLE}[{i}]" for i in range(width))
    weights = tuple(np.random.default_rng(4).standard_normal(width).tolist())
    score = Linear(features=names, weights=weights, bound=0.0)
    block = from_array(rows)
    for i, row in enumerate(rows):
        alone = from_array(row[None])
        for name in FEATURES:
            assert np.array_equal(block.column(name)[[i]], alone.column(name), equal_nan=True), name
        assert np.array_equal(score.score(block)[[i]], score.score(alone), equal_nan=True)
        assert block.keys(WHOLE)[i] == alone.keys(WHOLE)[0]


def test_numbers_near_the_largest_float_have_features_without_a_warning() -> None:
    rows = np.array([[1.7e308, -1.7e308, 3.0], [1.0, 2.0, 4.0]])
    block = from_array(rows)
    for name in (*FEATURES, f"mod0.02({WHOLE}[0])", f"mod0.02({WHOLE}[1])"):
        alone = from_array(rows[1:]).column(name)
        assert np.array_equal(block.column(name)[1:], alone, equal_nan=True), name
    assert block.column(f"jump({WHOLE})").tolist() == [np.inf, 2.0]
    assert block.column(f"gap({WHOLE})").tolist() == [1.7e308, 1.0]


def test_a_table_of_columns_holds_what_the_columns_do() -> None:
    block = from_array(odd_rows(7, 80)).between(1, 6)
    stored = [f"{WHOLE}[{i}]" for i in range(80)]
    derived = [f"{f}({WHOLE}[{i}])" for f in ("negative", "ones", "mod3") for i in (2, 79, 5)]
    for names in (stored, stored[3:9], stored[::-1], derived, [*derived, f"max({WHOLE})"], []):
        table = block.rows(names)
        assert table.shape == (len(names), block.size)
        for name, row in zip(names, table, strict=True):
            assert np.array_equal(row, block.column(name), equal_nan=True), name


def test_draws_that_differ_in_one_number_have_different_keys() -> None:
    rows = np.repeat(np.arange(300.0)[None], 301, axis=0)
    rows[np.arange(300), np.arange(300)] += 1.0
    keys = from_array(np.concatenate([rows, rows])).keys(WHOLE)
    assert len(np.unique(keys)) == 301
    assert np.array_equal(keys[:301], keys[301:])


@pytest.mark.parametrize("ones", [1, 2])
@pytest.mark.parametrize("width", [4, 5, 31, 300])
def test_rows_of_zeros_and_few_ones_have_different_keys(width: int, ones: int) -> None:
    """Answers as one-hot rows, where a row is told by the places of its ones alone."""
    places = list(itertools.islice(itertools.combinations(range(width), ones), 2_000))
    rows = np.zeros((len(places), width))
    for row, own in zip(rows, places, strict=True):
        row[list(own)] = 1.0
    block = from_array(rows)
    assert len(np.unique(block.keys(WHOLE))) == len(rows)
    if width <= 31:
        text = str(block.text(WHOLE)[1])
        assert np.flatnonzero(block.is_one_of(WHOLE, [text])).tolist() == [1]


def test_small_whole_numbers_have_different_keys() -> None:
    rows = np.array(list(itertools.product([-1.0, 0.0, 1.0, 2.0], repeat=7)))
    assert len(np.unique(from_array(rows).keys(WHOLE))) == len(rows)


@pytest.mark.parametrize("sizes", [(30, 40), (150, 130)])
def test_a_scan_ranks_as_counting_every_range_does(sizes: tuple[int, int]) -> None:
    """The ranges between 8 quantiles and the missing numbers, counted one by one."""
    rng = np.random.default_rng(5)
    sides = [np.round(rng.standard_normal((size, 20)), 1) for size in sizes]
    sides[0] += np.linspace(0.0, 2.0, 20)
    sides[1][::3, 7] = np.nan
    goal = Bound(delta=0.0, z=2.0, planned=100)

    def best(i: int) -> float:
        left, right = sides[0][:, i], sides[1][:, i]
        known = np.sort(np.concatenate([left, right]))
        known = known[~np.isnan(known)]
        cuts = known[np.floor(np.linspace(0.0, 1.0, 8) * (len(known) - 1)).astype(int)]
        counts = []
        for side in (left, right):
            ends = [np.zeros(len(side), np.bool_)]
            for cut in cuts:
                ends += [side < cut, side <= cut]
            ends.append(~np.isnan(side))
            events = [np.isnan(side), *(b & ~a for a, b in itertools.combinations(ends, 2))]
            counts.append(np.array([event.sum() for event in events], np.float64))
        one, other = counts
        return float(
            max(
                goal.merit(one, sizes[0], other, sizes[1]).max(),
                goal.merit(other, sizes[1], one, sizes[0]).max(),
            )
        )

    merits = [best(i) for i in range(20)]
    ranked = most_telling(
        [f"{WHOLE}[{i}]" for i in range(20)], Draws(*map(from_array, sides)), goal, 20
    )
    found = [merits[int(name[7:-1])] for name in ranked]
    assert found == pytest.approx(sorted(merits, reverse=True), rel=1e-12)


def test_the_most_linked_pair_is_the_one_that_is_equal_on_one_side() -> None:
    rng = np.random.default_rng(6)
    left, right = rng.standard_normal((2, 400, 90))
    left[:, 11] = left[:, 83]
    names = [f"{WHOLE}[{i}]" for i in range(90)]
    assert most_linked(names, Draws(from_array(left), from_array(right)), 4)[:2] == [
        f"{WHOLE}[11]",
        f"{WHOLE}[83]",
    ]
