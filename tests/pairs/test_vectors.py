"""What counts as two probability vectors."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpverify.errors import InvalidParameter
from dpverify.pairs.vectors import parse_laws, parse_outcomes

HALVES = [Fraction(1, 2), Fraction(1, 2)]


def test_exact_vectors_become_fractions() -> None:
    left, right = parse_laws(HALVES, np.array([0, 1]))
    assert left == (Fraction(1, 2), Fraction(1, 2))
    assert right == (Fraction(0), Fraction(1))
    assert all(type(entry) is Fraction for entry in (*left, *right))
    objects, _ = parse_laws(np.array(HALVES, dtype=object), [1, 0])
    assert objects == left


def test_float_vectors_become_arrays() -> None:
    left, right = parse_laws([0.5, 0.5], [1, 0])
    assert isinstance(left, np.ndarray)
    assert isinstance(right, np.ndarray)
    assert left.dtype == right.dtype == np.float64
    assert right.tolist() == [1.0, 0.0]
    assert not left.flags.writeable
    mixed, _ = parse_laws(np.array([0.5, 0.5], dtype=object), [0.5, 0.5])
    assert isinstance(mixed, np.ndarray)


def test_the_caller_keeps_a_writable_array() -> None:
    given = np.array([0.5, 0.5])
    law, _ = parse_laws(given, given)
    given[0] = 7.0
    assert np.asarray(law).tolist() == [0.5, 0.5]


def test_rounded_sums_are_accepted() -> None:
    thirds = np.full(3, 1 / 3)
    tenths = [0.1] * 10
    assert len(parse_laws(thirds, thirds)[0]) == 3
    assert len(parse_laws(tenths, tenths)[0]) == 10


def test_outcomes() -> None:
    assert parse_outcomes(None, 3) is None
    assert parse_outcomes("ab", 2) == ("a", "b")
    with pytest.raises(InvalidParameter, match="outcomes has length 3 and must have length 2"):
        parse_outcomes("abc", 2)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([], [], "left=[] must not be empty"),
        ([1, 0], [1], "right has length 1 and must have the length of left, 2"),
        ([0.5, 0.6], [0.5, 0.5], "sum(left)=1.1 must be 1 to within 4.4e-16"),
        ([0.5, 0.5], [0.5, 0.4], "sum(right)=0.9 must be 1 to within 4.4e-16"),
        (HALVES, [Fraction(1, 2), Fraction(1, 3)], "sum(right)=5/6 must be exactly 1"),
        ([1.5, -0.5], [0.5, 0.5], "left[0]=1.5 must lie in [0, 1]"),
        ([-0.5, 1.5], [0.5, 0.5], "left[0]=-0.5 must lie in [0, 1]"),
        ([0.5, math.nan], [0.5, 0.5], "left[1]=nan must be a real number"),
        ([0.5, math.inf], [0.5, 0.5], "left[1]=inf must lie in [0, 1]"),
        ([Fraction(3, 2), Fraction(-1, 2)], HALVES, "left[0]=Fraction(3, 2) must lie in [0, 1]"),
        (["a", "b"], HALVES, "left[0]='a' must be a real number"),
        ([True, False], HALVES, "left[0]=True must be a real number"),
        ([Decimal("0.5")] * 2, HALVES, "left[0]=Decimal('0.5') must be a real number"),
        ([None, 1], HALVES, "left[0]=None must be a real number"),
        (0.5, 0.5, "left=0.5 must be a flat list of probabilities"),
        ([[0.5, 0.5]], [0.5, 0.5], "left=[[0.5, 0.5]] must be a flat list of probabilities"),
        ([[1], [1, 0]], [1, 0], "left=[[1], [1, 0]] must be a flat list of probabilities"),
        (
            [Fraction(1, 2), 0.5],
            HALVES,
            "left=[Fraction(1, 2), 0.5] must not mix Fractions with floats",
        ),
        (
            HALVES,
            [0.5, 0.5],
            "right holds floats and left Fractions; they must be of the same type",
        ),
        (
            [0.5, 0.5],
            HALVES,
            "left holds floats and right Fractions; they must be of the same type",
        ),
    ],
)
def test_bad_vectors_are_named(left: object, right: object, message: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        parse_laws(left, right)  # type: ignore[arg-type]
    assert str(error.value) == message
