"""Exact cuts through tables of floats, without a loop over outcomes."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpverify.pairs.likelihood import (
    Cut,
    DyadicSums,
    ExactLikelihood,
    FloatLikelihood,
    exceeds,
    merge_by_ratio,
    two_product,
)

F = Fraction
mantissas = st.floats(0.5, 1.0)
probabilities = st.one_of(
    st.floats(0.0, 1.0), st.floats(0.0, 1e-300), st.integers(-1074, 0).map(lambda e: 2.0**e)
)


def test_merging_by_hand() -> None:
    masses = [
        (F(1, 4), F(1, 8)),
        (F(1, 2), F(1, 4)),
        (F(1, 4), F(0)),
        (F(0), F(5, 8)),
        (F(0), F(0)),
    ]
    assert merge_by_ratio(masses) == {
        F(2): Cut(F(3, 4), F(3, 8)),
        math.inf: Cut(F(1, 4), F(0)),
        F(0): Cut(F(0), F(5, 8)),
    }
    table = ExactLikelihood.of(masses)
    assert table.cut(F(1)) == Cut(F(1), F(3, 8))
    assert table.cut(F(2)) == Cut(F(1, 4), F(0))
    assert (table.top, table.bottom, table.singular) == (F(2), F(2), F(1, 4))


@given(st.lists(probabilities, min_size=1, max_size=30), st.data())
def test_sums_are_exact(values: list[float], data: st.DataObject) -> None:
    size = len(values)
    where = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    total = DyadicSums(np.array(values)).total(np.array(where))
    assert total == sum((F(v) for v, take in zip(values, where, strict=True) if take), F(0))


def test_sums_of_many_entries_are_exact() -> None:
    values = np.random.default_rng(3).random(50_000) * 2.0 ** -np.arange(50_000.0).clip(0, 900)
    total = DyadicSums(values).total(np.ones(len(values), dtype=bool))
    assert total == sum(map(F, values.tolist()))


@given(mantissas, mantissas)
def test_products_are_exact(a: float, b: float) -> None:
    product, error = two_product(np.array([a]), np.array([b]))
    assert F(float(product[0])) + F(float(error[0])) == F(a) * F(b)


@given(mantissas, st.integers(-4, 4), mantissas, st.integers(-2, 2), st.booleans())
@example(p=1.0, steps=0, q=1.0, shift=0, small=True)
def test_close_comparisons_are_exact(
    p: float,
    steps: int,
    q: float,
    shift: int,
    small: bool,  # noqa: FBT001
) -> None:
    """Ratios at, or a hair's breadth from, a tie: of two floats, and of longer numbers."""
    ratio = F(p) / F(q)
    if small:
        near = p + steps * 2.0**-53
    else:
        ratio, near = ratio * (1 + shift * F(1, 2**110)), p + steps * 2.0**-53
    found = exceeds(np.array([near]), ratio, np.array([q]))
    assert bool(found[0]) == (F(near) > ratio * F(q))


def test_far_longer_ratios_are_compared_too() -> None:
    """A ratio between two others that differ in the 106th bit only."""
    p, q = np.array([1.0 - 2.0**-53, 1.0 - 2.0**-52]), np.array([1.0, 1.0 - 2.0**-53])
    first, second = (F(x) / F(y) for x, y in zip(p.tolist(), q.tolist(), strict=True))
    assert 0 < first - second < F(1, 2**105)
    for ratio, expected in [
        ((first + second) / 2, [True, False]),
        (second, [True, False]),
        (first, [False, False]),
        (second - F(1, 2**300), [True, True]),
        (first + F(1, 2**300), [False, False]),
    ]:
        assert exceeds(p, ratio, q).tolist() == expected


@given(st.lists(st.tuples(probabilities, probabilities), min_size=1, max_size=8), st.data())
def test_cuts_are_exact(rows: list[tuple[float, float]], data: st.DataObject) -> None:
    left, right = np.array([p for p, _ in rows]), np.array([q for _, q in rows])
    if not left.any() or not right.any():
        return
    table = FloatLikelihood(left, right)
    sums = sum(map(F, left.tolist())), sum(map(F, right.tolist()))
    assert (table.left_total, table.right_total) == sums
    exact = ExactLikelihood.of((F(p) / sums[0], F(q) / sums[1]) for p, q in rows)
    ratio = data.draw(st.sampled_from([F(0), F(1), *exact.ratios, F(10) ** 400, F(1, 10**400)]))
    nudge = data.draw(st.sampled_from([F(0), F(1, 2**60), F(-1, 2**60), F(1, 2**200)]))
    assert table.cut(ratio * (1 + nudge)) == exact.cut(ratio * (1 + nudge))
    assert (table.top, table.singular) == (exact.top, exact.singular)
    assert all(table.bottom <= positive for positive in exact.ratios if positive)


@pytest.mark.parametrize("false_alarm", [F(0), F(1, 3), F(1, 2), F(99, 100)])
def test_straddling_cuts_straddle(false_alarm: Fraction) -> None:
    rng = np.random.default_rng(4)
    left, right = rng.dirichlet(np.full(500, 0.1)), rng.dirichlet(np.full(500, 0.1))
    low, high = FloatLikelihood(left, right).straddle(false_alarm)
    assert low.right > false_alarm >= high.right
