"""What data must satisfy: refused, clipped, and never exceeded by a rounding error."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpverify.errors import InvalidParameter
from solvers.bounds import Bounds, Obeying
from solvers.losses import Logistic
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge

SIGNS = Bounds(norm=1.0, labels=(-1, 1))


def squared_norm(row: np.ndarray) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))


@pytest.mark.parametrize(
    ("row", "expected"),
    [([3.0, 4.0], [0.6, 0.8]), ([0.0, 0.5], [0.0, 0.5]), ([1e300, 1e300], [2**-0.5, 2**-0.5])],
)
def test_clipping_by_hand(row: list[float], expected: list[float]) -> None:
    clipped, _ = SIGNS.clip([row], [1])
    assert clipped[0] == pytest.approx(expected, rel=1e-14)


@given(arrays(float, (3, 4), elements=st.floats(-1e6, 1e6)), st.floats(1e-3, 1e3))
def test_clipped_rows_are_inside_exactly(rows: np.ndarray, norm: float) -> None:
    clipped, _ = Bounds(norm=norm, labels=(-1, 1)).clip(rows, [1, 1, -1])
    assert all(squared_norm(row) <= Fraction(norm) ** 2 for row in clipped)


@given(arrays(float, (5, 3), elements=st.floats(-1, 1)))
def test_normalized_rows_are_accepted_and_inside_exactly(rows: np.ndarray) -> None:
    rows = rows + np.array([2.0, 0.0, 0.0])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    prepared, _ = SIGNS.prepare(rows, np.ones(5))
    assert np.abs(prepared - rows).max() <= 1e-14
    assert all(squared_norm(row) <= 1 for row in prepared)


@given(
    arrays(float, (4, 3), elements=st.floats(-1, 1)),
    st.sampled_from([2.0**-410, 1e-3, 1.0, 1e200]),
    st.floats(0.5, 1.0 + 2.0**-45),
)
def test_a_row_is_judged_alike_whatever_is_beside_it(
    rows: np.ndarray, norm: float, share: float
) -> None:
    """Rows that are tiny or huge are measured in units of their own, and so is all of a block."""
    rows = rows[np.linalg.norm(rows, axis=1) > 1e-3]
    scaled = share * norm * rows / np.linalg.norm(rows, axis=1, keepdims=True)
    bounds, labels = Bounds(norm=norm, labels=(-1, 1)), np.ones(len(rows))
    alone, _ = bounds.clip(scaled, labels)
    for other in (0.0, 2.0**-500 * norm, 1e300):
        beside, _ = bounds.clip(np.vstack([scaled, np.full((1, 3), other)]), [*labels, 1])
        assert (alone == beside[:-1]).all()
    assert all(squared_norm(row) <= Fraction(norm) ** 2 for row in alone)


def test_numbers_whose_sum_overflows_are_finite_all_the_same() -> None:
    kept, _ = Bounds(norm=1e308, labels=(-1, 1)).prepare(np.full((4, 1), 1e308), [1, 1, 1, 1])
    assert (kept > 0.99e308).all()
    for bad in (math.inf, math.nan):
        with pytest.raises(InvalidParameter, match="X must be finite"):
            SIGNS.prepare([[bad], [0.5], [-bad]], [1, 1, 1])


def test_what_is_known_to_obey_its_bounds_is_not_looked_at_again() -> None:
    rows, labels = np.array([[3.0]]), np.array([1.0])
    wide = Bounds(norm=4.0, labels=(-1, 1))
    known = Obeying.of((rows, labels), wide)
    problem = Problem(loss=Logistic(), bounds=wide, regularizer=Ridge(1.0))
    assert problem.prepare(known)[0] is rows
    other = Problem(loss=Logistic(), bounds=SIGNS, regularizer=Ridge(1.0))
    with pytest.raises(InvalidParameter, match=r"must be at most norm=1\.0"):
        other.prepare(known)


def test_labels_are_clipped_to_a_declared_bound() -> None:
    _, labels = Bounds(norm=1.0, label_bound=2.0).clip([[1.0], [1.0]], [3.0, -0.5])
    assert labels.tolist() == [2.0, -0.5]


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([[2.0]], [1], "the norm of every row of X must be at most norm=1.0"),
        ([[0.5]], [0], "every label in y must be one of: -1, 1"),
        ([[math.nan]], [1], "X must be finite"),
        ([[0.5]], [math.inf], "y must be finite"),
        ([[0.5]], [1, 1], "equally many"),
        (np.zeros((2, 0)), [1, 1], "at least one column"),
        ([0.5], [1], "must be a matrix"),
        ([[0.5]], [[1]], "must be a list of numbers"),
        ([["a"]], [1], "must hold real numbers"),
    ],
)
def test_bad_data_is_refused(X: object, y: object, said: str) -> None:  # noqa: N803
    with pytest.raises(InvalidParameter) as refused:
        SIGNS.check(X, y)  # type: ignore[arg-type]
    assert said in str(refused.value)


def test_labels_beyond_the_bound_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="within ±1"):
        Bounds(norm=1.0, label_bound=1.0).check([[0.5]], [1.5])


@pytest.mark.parametrize(
    "wrong",
    [
        {"norm": 0.0},
        {"norm": math.inf},
        {"norm": math.nan},
        {"norm": 1.0, "labels": (1,)},
        {"norm": 1.0, "labels": (1, math.nan)},
        {"norm": 1.0, "label_bound": 0.0},
        {"norm": 1.0, "labels": (-1, 1), "label_bound": 1.0},
    ],
)
def test_bad_bounds_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        Bounds(**wrong)  # type: ignore[arg-type]
