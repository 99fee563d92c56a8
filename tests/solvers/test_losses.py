"""Every loss against its own derivatives, its constants, and its cvxpy expression."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter
from solvers.bounds import Bounds
from solvers.domains import Ball, Box
from solvers.losses import (
    Absolute,
    Hinge,
    HuberHinge,
    Logistic,
    Loss,
    Quantile,
    Softmax,
    Squared,
)
from solvers.registry import LOSSES

SIGNS = Bounds(norm=2.0, labels=(-1, 1))
NUMBERS = Bounds(norm=2.0, label_bound=1.0)
SCALAR: list[Loss] = [*LOSSES.values(), HuberHinge(width=0.01), Quantile(0.2)]
WITH_EXPRESSION = [loss for loss in SCALAR if type(loss).expression is not Loss.expression]


def bounds_of(loss: Loss) -> Bounds:
    return SIGNS if loss.labels == "signs" else NUMBERS


@pytest.mark.parametrize(
    ("loss", "lipschitz", "smoothness"),
    [
        (Logistic(), 2.0, 1.0),  # r, r²/4
        (Hinge(), 2.0, math.inf),
        (HuberHinge(width=0.5), 2.0, 4.0),  # r²/(2h)
        (Squared(), 28.0, 8.0),  # 2r(rR + s) with R = 3, 2r²
        (Absolute(), 2.0, math.inf),
        (Quantile(0.2), 1.6, math.inf),
    ],
)
def test_constants_by_hand(loss: Loss, lipschitz: float, smoothness: float) -> None:
    bounds = bounds_of(loss)
    assert loss.lipschitz(bounds, Ball(3.0)) == pytest.approx(lipschitz, rel=1e-15)
    assert loss.smoothness(bounds) == pytest.approx(smoothness, rel=1e-15)


def test_squares_are_lipschitz_on_bounded_domains_only() -> None:
    assert Squared().lipschitz(NUMBERS) == math.inf
    assert Squared().lipschitz(NUMBERS, Box(-1.0, 1.0), 4) == pytest.approx(20.0)


@pytest.mark.parametrize("loss", SCALAR, ids=lambda loss: loss.name)
@given(s=st.floats(-30, 30), y=st.sampled_from([-1.0, 1.0]))
def test_slopes_are_subgradients(loss: Loss, s: float, y: float) -> None:
    others = np.linspace(-40, 40, 161)
    below = loss.values(s, y) + loss.slopes(s, y) * (others - s)
    room = 1e-9 * (1.0 + np.abs(others)) ** 2
    assert (loss.values(others, y) >= below - room).all()


@pytest.mark.parametrize("loss", [loss for loss in SCALAR if loss.smooth], ids=lambda x: x.name)
@given(s=st.floats(-30, 30), y=st.sampled_from([-1.0, 1.0]))
def test_curvature_is_the_derivative_of_the_slope(loss: Loss, s: float, y: float) -> None:
    step = 1e-6
    quotient = (loss.slopes(s + step, y) - loss.slopes(s - step, y)) / (2 * step)
    if loss.curvatures(s + step, y) == loss.curvatures(s - step, y) or not isinstance(
        loss, HuberHinge
    ):
        assert loss.curvatures(s, y) == pytest.approx(quotient, abs=1e-6)


@pytest.mark.parametrize("loss", SCALAR, ids=lambda loss: loss.name)
def test_constants_bound_the_derivatives_on_a_grid(loss: Loss) -> None:
    bounds, domain = bounds_of(loss), Ball(3.0)
    reach = bounds.norm * domain.radius
    scores = np.linspace(-reach, reach, 2001)
    for y in (-1.0, 1.0):
        assert np.abs(loss.slopes(scores, y)).max() <= loss.slope_bound(bounds, domain)
        assert loss.curvatures(scores, y).max() <= loss.curvature_bound(bounds)
        signs = np.sign(loss.slopes(scores, y))
        assert loss.monotone == (signs.min() >= 0 or signs.max() <= 0)


@pytest.mark.parametrize("loss", SCALAR, ids=lambda loss: loss.name)
def test_extreme_scores_neither_overflow_nor_warn(loss: Loss) -> None:
    scores = np.array([-1e300, -800.0, 0.0, 800.0, 1e300])
    with np.errstate(all="raise", under="ignore", over="warn"):
        if not isinstance(loss, Squared):
            assert np.isfinite(loss.values(scores, 1.0)).all()
        assert np.isfinite(loss.slopes(scores, 1.0)).all()
        assert np.isfinite(loss.curvatures(scores, 1.0)).all()


@pytest.mark.parametrize("loss", WITH_EXPRESSION, ids=lambda loss: loss.name)
def test_expressions_have_the_same_values(loss: Loss) -> None:
    import cvxpy as cp  # noqa: PLC0415

    scores, labels = np.linspace(-3, 3, 25), np.resize([-1.0, 1.0], 25)
    variable = cp.Variable(25)
    expression = loss.expression(variable, labels)
    assert expression.is_convex()
    variable.value = scores
    assert expression.value == pytest.approx(loss.values(scores, labels), abs=1e-12)


def test_softmax_derivatives_and_expression() -> None:
    import cvxpy as cp  # noqa: PLC0415

    loss, rng = Softmax(3), np.random.default_rng(0)
    scores, labels = rng.normal(size=(6, 3)), np.array([0, 1, 2, 2, 1, 0])
    step = 1e-6
    for k in range(3):
        move = step * np.eye(3)[k]
        values = loss.values(scores + move, labels) - loss.values(scores - move, labels)
        assert loss.slopes(scores, labels)[:, k] == pytest.approx(values / (2 * step), abs=1e-8)
        slopes = loss.slopes(scores + move, labels) - loss.slopes(scores - move, labels)
        assert loss.curvatures(scores, labels)[:, k] == pytest.approx(slopes / (2 * step), abs=1e-8)
    variable = cp.Variable((6, 3))
    variable.value = scores
    expression = loss.expression(variable, labels)
    assert expression.is_convex()
    assert expression.value == pytest.approx(loss.values(scores, labels))


@given(st.lists(st.floats(-50, 50), min_size=4, max_size=4), st.integers(0, 3))
def test_softmax_constants_hold(scores: list[float], label: int) -> None:
    loss, bounds = Softmax(4), Bounds(norm=1.0, labels=(0, 1, 2, 3))
    slope = loss.slopes([scores], [label])[0]
    hessian = loss.curvatures([scores], [label])[0]
    assert np.linalg.norm(slope) <= loss.slope_bound(bounds) + 1e-12
    assert np.linalg.eigvalsh(hessian).max() <= loss.curvature_bound(bounds) + 1e-12


@pytest.mark.parametrize("loss", SCALAR, ids=lambda loss: loss.name)
def test_labels_of_another_kind_are_refused(loss: Loss) -> None:
    wrong = NUMBERS if loss.labels == "signs" else Bounds(norm=1.0)
    with pytest.raises(InvalidParameter, match="must be"):
        loss.lipschitz(wrong)
    with pytest.raises(InvalidParameter, match="must be"):
        loss.smoothness(wrong)


def test_bad_parameters_are_refused() -> None:
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidParameter, match="level"):
            Quantile(wrong)
    with pytest.raises(InvalidParameter, match="width"):
        HuberHinge(width=0.0)
    with pytest.raises(InvalidParameter, match="classes"):
        Softmax(1)
    with pytest.raises(InvalidParameter, match="labels"):
        Softmax(3).lipschitz(SIGNS)
