"""Projections against their definition, and against cvxpy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpverify.errors import InvalidParameter
from solvers.domains import Ball, Box, Domain, Simplex, WholeSpace

DOMAINS: list[Domain] = [
    WholeSpace(),
    Ball(1.5),
    Box(-1.0, 2.0),
    Box((-1.0, 0.0, 0.0), (0.0, 0.0, 3.0)),
    Simplex(),
]
POINTS = arrays(float, (4, 3), elements=st.floats(-5, 5))


@pytest.mark.parametrize(
    ("domain", "diameter", "norm"),
    [
        (Ball(1.5), 3.0, 1.5),
        (Box(-1.0, 2.0), 3.0 * math.sqrt(3.0), 2.0 * math.sqrt(3.0)),
        (Simplex(), math.sqrt(2.0), 1.0),
        (WholeSpace(), math.inf, math.inf),
    ],
)
def test_sizes_by_hand(domain: Domain, diameter: float, norm: float) -> None:
    assert domain.diameter(3) == pytest.approx(diameter, rel=1e-14)
    assert domain.diameter(3) >= diameter
    assert domain.largest_norm(3) == pytest.approx(norm, rel=1e-14)
    assert domain.bounded == math.isfinite(diameter)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@given(points=POINTS, others=POINTS)
def test_projections_are_nearest_points(
    domain: Domain, points: np.ndarray, others: np.ndarray
) -> None:
    near, inside = domain.project(points), domain.project(others)
    assert domain.contains(near).all()
    assert domain.project(near) == pytest.approx(near, abs=1e-12)
    # The variational inequality characterizes the projection.
    assert (((points - near) * (inside - near)).sum(axis=1) <= 1e-9).all()
    assert (np.linalg.norm(near, axis=1) <= domain.largest_norm(3) * (1 + 1e-12)).all()
    assert (np.linalg.norm(near - inside, axis=1) <= domain.diameter(3) * (1 + 1e-12)).all()


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_constraints_describe_the_same_set(domain: Domain) -> None:
    import cvxpy as cp  # noqa: PLC0415

    point = np.array([2.0, -1.5, 0.7])
    variable = cp.Variable(3)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(variable - point)), domain.constraints(variable)
    )
    problem.solve(solver=cp.CLARABEL)
    assert variable.value == pytest.approx(domain.project(point), abs=1e-4)


def test_tiny_and_huge_domains_have_sizes_and_hold_their_points() -> None:
    for size in (1e-200, 1e200):
        box = Box(-size, size)
        assert 2.0 * math.sqrt(2.0) * size <= box.diameter(2) <= 2.8284271247462 * size
        assert math.sqrt(2.0) * size <= box.largest_norm(2) <= 1.4142135623731 * size
        assert Ball(size).project([30.0 * size, 40.0 * size]) == pytest.approx(
            [0.6 * size, 0.8 * size], rel=1e-14
        )


@pytest.mark.parametrize(
    "build",
    [
        lambda: Ball(0.0),
        lambda: Ball(math.inf),
        lambda: Box(1.0, 0.0),
        lambda: Box(-math.inf, 0.0),
        lambda: Box((0.0, 0.0), (1.0, 1.0, 1.0)),
        lambda: Box((0.0, 0.0), 1.0).diameter(3),
        lambda: Box(0.0, 1.0).largest_norm(),
        lambda: Simplex().diameter(0),
    ],
)
def test_bad_domains_are_refused(build: object) -> None:
    with pytest.raises(InvalidParameter):
        build()  # type: ignore[operator]
