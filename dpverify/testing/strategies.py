"""Hypothesis strategies: datasets, guarantees, finite pairs, compositions.

Every dataset strategy is made of records, so `neighbors` knows how to change one. All shrink to
fewer records and simpler values.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from dpverify.accounting.accountant import Accountant
from dpverify.arrays import Floats
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_count,
    check_nonempty,
    check_positive,
)
from dpverify.guarantees import ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, ZeroConcentratedDP
from dpverify.mechanisms import Gaussian, Laplace, LeakyRandomizedResponse, RandomizedResponse
from dpverify.neighbors import Relation
from dpverify.pairs import FinitePair
from dpverify.testing.neighboring import NeighboringPair, Recipe, datasets, neighbors

__all__ = [
    "Indistinguishable",
    "NeighboringPair",
    "arrays",
    "categories",
    "compositions",
    "frames",
    "guarantees",
    "indistinguishable_pairs",
    "labeled",
    "neighbors",
    "numbers",
    "vectors",
]

_MOST = 20  # records, unless more are asked for


def numbers(
    low: float, high: float, *, min_size: int = 0, max_size: int = _MOST
) -> SearchStrategy[list[float]]:
    """Lists of floats in [low, high].

    >>> datasets = numbers(0.0, 1.0)
    """
    return datasets(_recipe(st.floats(low, high), list, min_size, max_size))


def vectors(
    dimension: int, *, radius: float = 1.0, min_size: int = 0, max_size: int = _MOST
) -> SearchStrategy[Floats]:
    """Arrays of rows in the Euclidean ball: extreme points, zeros, and inner points."""
    check_count("dimension", dimension)
    check_positive("radius", radius)
    return datasets(_recipe(_in_ball(dimension, radius), _rows(dimension), min_size, max_size))


def arrays(
    width: int, *, low: float, high: float, min_size: int = 0, max_size: int = _MOST
) -> SearchStrategy[Floats]:
    """Arrays with `width` columns and entries in [low, high]."""
    check_count("width", width)
    row = st.lists(st.floats(low, high), min_size=width, max_size=width)
    return datasets(_recipe(row, _rows(width), min_size, max_size))


def labeled(
    dimension: int,
    *,
    labels: Sequence[Any] = (-1, 1),
    radius: float = 1.0,
    min_size: int = 0,
    max_size: int = _MOST,
) -> SearchStrategy[list[tuple[tuple[float, ...], Any]]]:
    """Lists of (features in a ball, label)."""
    check_count("dimension", dimension)
    check_positive("radius", radius)
    check_nonempty("labels", labels)
    record = st.tuples(_in_ball(dimension, radius).map(tuple), st.sampled_from(list(labels)))
    return datasets(_recipe(record, list, min_size, max_size))


def categories(
    columns: Mapping[str, Sequence[Any]], *, min_size: int = 0, max_size: int = _MOST
) -> SearchStrategy[list[dict[str, Any]]]:
    """Tables as lists of dictionaries, each column with its declared values."""
    return datasets(_recipe(_row(columns), list, min_size, max_size))


def frames(
    columns: Mapping[str, Sequence[Any] | SearchStrategy[Any]],
    *,
    min_size: int = 0,
    max_size: int = _MOST,
) -> SearchStrategy[Any]:
    """Tables as pandas frames; each column is a list of values or a strategy."""
    try:
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415  # an extra of those who have it
    except ImportError:
        raise NotSupported("frames(…) needs pandas, which is not installed") from None
    names = list(columns)

    def build(rows: list[Any]) -> Any:  # noqa: ANN401  # a frame
        return pd.DataFrame([[row[name] for name in names] for row in rows], columns=names)

    return datasets(_recipe(_row(columns), build, min_size, max_size))


def guarantees(*, largest: float = 10.0) -> SearchStrategy[Guarantee]:
    """Guarantees of every kind, with parameters up to `largest`."""
    check_positive("largest", largest)
    size = st.floats(0.0, largest)
    return st.one_of(
        st.builds(PureDP, epsilon=size),
        st.builds(ApproxDP, epsilon=size, delta=st.floats(0.0, 1.0)),
        st.builds(ZeroConcentratedDP, rho=size),
        st.builds(GaussianDP, mu=size),
        st.builds(RenyiDP, order=st.floats(1.0, 64.0, exclude_min=True), epsilon=size),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Indistinguishable:
    """A finite pair with exact facts about it, in rational numbers.

    max(Σ(p − ratio·q)₊, Σ(q − ratio·p)₊) = delta: the pair is (ln ratio, delta)-indistinguishable,
    and at this ratio for no smaller delta.
    """

    pair: FinitePair
    ratio: Fraction
    delta: Fraction


@st.composite
def indistinguishable_pairs(
    draw: st.DrawFn, *, outcomes: int = 6, largest_ratio: int = 20
) -> Indistinguishable:
    """Rational pairs on a few outcomes with the exact δ at a rational e^ε."""
    check_count("outcomes", outcomes)
    check_count("largest_ratio", largest_ratio)
    size = draw(st.integers(1, outcomes))
    left, right = draw(_law(size)), draw(_law(size))
    ratio = draw(st.fractions(1, largest_ratio, max_denominator=12))
    excess = [
        sum((max(p - ratio * q, Fraction(0)) for p, q in zip(a, b, strict=True)), Fraction(0))
        for a, b in ((left, right), (right, left))
    ]
    return Indistinguishable(
        pair=FinitePair(left=left, right=right), ratio=ratio, delta=max(excess)
    )


@st.composite
def compositions(
    draw: st.DrawFn, *, relation: Relation | str = Relation.ADD_REMOVE, most: int = 3
) -> Accountant:
    """Accountants with a few mechanisms composed, some of them many times."""
    check_count("most", most)
    noise = st.integers(1, 40).map(lambda tenths: tenths / 2.0)
    epsilon = st.integers(1, 20).map(lambda tenths: tenths / 10.0)
    part = st.one_of(
        st.builds(Gaussian, sigma=noise),
        st.builds(Laplace, scale=noise),
        st.builds(RandomizedResponse, epsilon=epsilon),
        st.builds(
            LeakyRandomizedResponse, epsilon=epsilon, delta=st.sampled_from([1e-8, 1e-4, 0.1])
        ),
    )
    spent = Accountant(relation=Relation.parse(relation))
    for mechanism, times in draw(
        st.lists(st.tuples(part, st.integers(1, 20)), min_size=1, max_size=most)
    ):
        spent = spent.compose(mechanism, times=times)
    return spent


def _recipe(record: SearchStrategy[Any], build: Any, min_size: int, max_size: int) -> Recipe:  # noqa: ANN401
    if isinstance(min_size, bool) or not isinstance(min_size, int) or min_size < 0:
        raise InvalidParameter(f"min_size={min_size!r} must be a whole number, at least 0")
    check_count("max_size", max_size)
    if min_size > max_size:
        raise InvalidParameter(f"min_size={min_size!r} must not exceed max_size={max_size!r}")
    return Recipe(record=record, build=build, min_size=min_size, max_size=max_size)


def _rows(width: int) -> Any:  # noqa: ANN401  # a function from rows to an array
    return lambda rows: np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _row(columns: Mapping[str, Any]) -> SearchStrategy[dict[str, Any]]:
    check_nonempty("columns", columns)
    cells = {}
    for name, allowed in columns.items():
        if not isinstance(allowed, SearchStrategy):
            check_nonempty(f"columns[{name!r}]", allowed)
        strategy = (
            allowed if isinstance(allowed, SearchStrategy) else st.sampled_from(list(allowed))
        )
        cells[name] = strategy
    return st.fixed_dictionaries(cells)


def _in_ball(dimension: int, radius: float) -> SearchStrategy[list[float]]:
    """Points of the ball, including the ends of its axes, where norms are largest."""

    def axis(at: tuple[int, float]) -> list[float]:
        return [at[1] if i == at[0] else 0.0 for i in range(dimension)]

    ends = st.tuples(st.integers(0, dimension - 1), st.sampled_from([radius, -radius])).map(axis)
    cube = st.lists(st.floats(-1.0, 1.0), min_size=dimension, max_size=dimension)
    return st.one_of(ends, cube.map(lambda row: _clipped(row, radius)))


def _clipped(row: list[float], radius: float) -> list[float]:
    """A point with coordinates in [−1, 1], scaled by the radius and projected to the ball."""
    norm = math.hypot(*row)
    shrink = radius if norm <= 1.0 else radius / norm
    inside = [value * shrink for value in row]
    while math.hypot(*inside) > radius:  # by a rounding
        inside = [value * (1.0 - 2.0**-50) for value in inside]
    return inside


def _law(size: int) -> SearchStrategy[tuple[Fraction, ...]]:
    weights = st.lists(st.integers(0, 12), min_size=size, max_size=size).filter(any)
    return weights.map(lambda w: tuple(Fraction(x, sum(w)) for x in w))
