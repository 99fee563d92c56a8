"""What strategies draw is what they say: bounds, kinds, exact δ."""

import math
from fractions import Fraction
from itertools import chain, combinations
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from dpverify.accounting.accountant import Accountant
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import GUARANTEES, Guarantee
from dpverify.testing import strategies as dst


@given(dst.numbers(-2.0, 3.0, min_size=1, max_size=4))
def test_numbers(data: list[float]) -> None:
    assert 1 <= len(data) <= 4
    assert all(-2.0 <= x <= 3.0 for x in data)


@given(dst.vectors(3, radius=2.5))
def test_vectors_lie_in_the_ball(data: np.ndarray[Any, Any]) -> None:
    assert data.shape[1] == 3
    assert all(math.hypot(*row) <= 2.5 for row in data.tolist())


def test_vectors_reach_the_sphere() -> None:
    found = find(dst.vectors(2, radius=3.0), lambda x: bool((abs(x) == 3.0).any()))
    assert np.array_equal(found, [[3.0, 0.0]])


@given(dst.arrays(2, low=-1.0, high=0.0))
def test_arrays(data: np.ndarray[Any, Any]) -> None:
    assert data.ndim == 2
    assert data.shape[1] == 2
    assert ((data >= -1.0) & (data <= 0.0)).all()


@given(dst.labeled(2, labels=["spam", "ham"]))
def test_labeled(data: list[Any]) -> None:
    assert all(math.hypot(*x) <= 1.0 and y in {"spam", "ham"} for x, y in data)


@given(dst.categories({"city": ["Oslo", "Rome"], "age": [1, 2, 3]}))
def test_categories(data: list[dict[str, Any]]) -> None:
    assert all(set(row) == {"city", "age"} and row["age"] in {1, 2, 3} for row in data)


def test_frames() -> None:
    try:
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415
    except ImportError:
        with pytest.raises(NotSupported, match="needs pandas"):
            dst.frames({"x": [1, 2]})
        return

    @settings(max_examples=25, deadline=None)
    @given(dst.neighbors(dst.frames({"x": [1, 2], "y": st.floats(0, 1)}), relation="replace-one"))
    def run(pair: dst.NeighboringPair) -> None:
        assert isinstance(pair.left, pd.DataFrame)
        assert list(pair.left.columns) == ["x", "y"]
        assert (pair.left != pair.right).any(axis=1).sum() == 1

    run()


@given(dst.guarantees(largest=3.0))
def test_guarantees(guarantee: Guarantee) -> None:
    assert isinstance(guarantee, GUARANTEES)


@given(dst.indistinguishable_pairs(outcomes=5))
def test_indistinguishable_pairs_are_exact(found: dst.Indistinguishable) -> None:
    """Against all events, one by one."""
    masses = list(found.pair.masses())
    events = chain.from_iterable(combinations(masses, n) for n in range(len(masses) + 1))
    excess = [
        max(
            sum((p - found.ratio * q for p, q in event), Fraction(0)),
            sum((q - found.ratio * p for p, q in event), Fraction(0)),
        )
        for event in events
    ]
    assert max(excess) == found.delta
    assert found.pair.delta_at_ratio(found.ratio) <= found.delta


def test_indistinguishable_pairs_shrink() -> None:
    alike = Random(1)  # noqa: S311  # the same examples every time
    found = find(dst.indistinguishable_pairs(), lambda pair: pair.delta > 0, random=alike)
    assert len(list(found.pair.masses())) == 2


@settings(max_examples=20, deadline=None)
@given(dst.compositions())
def test_compositions(spent: Accountant) -> None:
    assert spent.parts
    assert 0.0 < spent.delta(epsilon=0.0).lower < 1.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: dst.vectors(0), "dimension=0 must be"),
        (lambda: dst.vectors(2, radius=-1.0), "radius=-1.0 must be"),
        (lambda: dst.numbers(0, 1, min_size=-1), "min_size=-1 must be"),
        (
            lambda: dst.numbers(0, 1, min_size=5, max_size=4),
            "min_size=5 must not exceed max_size=4",
        ),
        (lambda: dst.categories({}), "columns={} must not be empty"),
        (lambda: dst.categories({"x": []}), "must not be empty"),
        (lambda: dst.labeled(1, labels=[]), "labels=\\[\\] must not be empty"),
        (lambda: dst.guarantees(largest=0.0), "largest=0.0 must be"),
    ],
)
def test_bad_arguments_are_named(build: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=message):
        build()
