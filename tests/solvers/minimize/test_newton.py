"""Newton's method against scipy, from any start, for any noise; and the large path against it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from solvers.losses import Hinge, HuberHinge, Logistic, Loss, Softmax, Squared
from solvers.minimize import newton, newton_large
from solvers.minimize.newton import minimize
from solvers.minimize.newton_large import minimize_large
from solvers.minimize.objective import Objective, objective_of

LOSSES: list[Loss] = [Logistic(), HuberHinge(width=0.3), Squared()]


def problem(loss: Loss, n: int, d: int, ridge: float, seed: int = 0) -> Objective:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d))
    features /= np.maximum(1.0, np.linalg.norm(features, axis=1, keepdims=True))
    labels = np.where(rng.random(n) < 1 / (1 + np.exp(-3 * features[:, 0])), 1.0, -1.0)
    return Objective(loss, features, labels, ridge)


def test_a_mean_by_hand() -> None:
    """2·Σ(θ − y) + λθ + b = 0 for y = 0, 1, 5 and λ = 2: θ = (12 − b)/8."""
    J = Objective(Squared(), np.ones((3, 1)), np.array([0.0, 1.0, 5.0]), 2.0)  # noqa: N806
    assert minimize(J, np.array([[0.0], [8.0], [-4.0]])).ravel().tolist() == [1.5, 0.5, 2.0]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("scale", [1e-3, 4.0, 1e3])
def test_minima_agree_with_scipy(loss: Loss, scale: float) -> None:
    J = problem(loss, 60, 3, 0.5)  # noqa: N806
    linear = scale * np.random.default_rng(1).normal(size=(5, 3))
    points = minimize(J, linear)
    assert np.linalg.norm(J.gradients(points, linear), axis=1).max() <= 1e-8
    for point, b in zip(points, linear, strict=True):
        value, found = by_scipy(J, b)
        assert J.values(point[None], b[None])[0] <= value + 1e-9 * (1.0 + abs(value))
        assert point == pytest.approx(found, rel=1e-3, abs=1e-3)


def by_scipy(J: Objective, b: Floats) -> tuple[float, Floats]:  # noqa: N803
    def value(theta: Floats) -> float:
        return float(J.values(theta[None], b[None])[0])

    def slope(theta: Floats) -> Floats:
        return J.gradients(theta[None], b[None]).ravel()

    found = scipy_minimize(
        value, np.zeros(len(b)), jac=slope, method="BFGS", options={"gtol": 1e-10, "maxiter": 2000}
    )
    return float(found.fun), found.x


@settings(max_examples=40)
@given(
    st.sampled_from(LOSSES),
    st.floats(1e-6, 1e3),
    st.floats(0.0, 1e6),
    st.integers(0, 1000),
    st.integers(1, 4),
)
def test_every_start_converges(
    loss: Loss, ridge: float, scale: float, seed: int, dimension: int
) -> None:
    J = problem(loss, 30, dimension, ridge, seed)  # noqa: N806
    rng = np.random.default_rng(seed)
    linear = scale * rng.normal(size=(4, dimension))
    start = 100.0 * rng.normal(size=(4, dimension))
    points = minimize(J, linear, start=start)
    lengths = np.linalg.norm(J.gradients(points, linear), axis=1)
    # Rounding of terms as large as b, θ·ridge and n slopes is all that may remain.
    size = 1.0 + np.linalg.norm(linear, axis=1) + 30 * (1.0 + np.linalg.norm(points, axis=1))
    assert (lengths <= 1e-10 + 1e-12 * size).all()


def test_more_rows_than_a_block_and_repeated_rows_agree() -> None:
    J = problem(Logistic(), 300, 2, 1.0)  # noqa: N806
    linear = np.repeat(np.random.default_rng(3).normal(size=(3, 2)), 200, axis=0)
    points = minimize(J, linear)
    assert np.abs(points - np.repeat(points[::200], 200, axis=0)).max() <= 1e-10


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_large_path_agrees_with_the_batched_one(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    J = problem(loss, 40_000, 6, 2.0)  # noqa: N806
    b = np.array([3.0, -2.0, 0.0, 1.0, 5.0, -4.0])
    batched = minimize(J, b[None])[0]
    assert minimize_large(J, b) == pytest.approx(batched, abs=1e-10)
    monkeypatch.setattr(newton_large, "_DENSE", 1)  # conjugate gradients
    assert minimize_large(J, b) == pytest.approx(batched, abs=1e-10)


def test_many_products_take_the_large_path(monkeypatch: pytest.MonkeyPatch) -> None:
    J = problem(Logistic(), 500, 3, 1.0)  # noqa: N806
    linear = np.random.default_rng(2).normal(size=(3, 3))
    batched = minimize(J, linear)
    monkeypatch.setattr("solvers.minimize.newton.PRODUCTS", 1)
    assert minimize(J, linear) == pytest.approx(batched, abs=1e-10)


def test_blocks_of_products_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    J = problem(Logistic(), 50, 3, 1.0)  # noqa: N806
    points = np.random.default_rng(2).normal(size=(20, 3))
    whole = J.hessians(points)
    monkeypatch.setattr("solvers.minimize.objective.PRODUCTS", 42)  # seven records at a time
    assert J.hessians(points) == pytest.approx(whole, rel=1e-13)
    assert J.hessians(points[:2]) == pytest.approx(whole[:2], rel=1e-13)  # one by one


@given(st.integers(0, 100))
def test_noise_is_the_inverse_of_the_minimum(seed: int) -> None:
    """b ↦ θ and θ ↦ −Σ∇ℓ − λθ invert each other, and ∇²J is the derivative of −b."""
    J = problem(Logistic(), 20, 2, 0.7, seed)  # noqa: N806
    linear = 3.0 * np.random.default_rng(seed).normal(size=(5, 2))
    points = minimize(J, linear)
    assert J.noise_at(points) == pytest.approx(linear, abs=1e-8)
    step = 1e-6
    for k in range(2):
        move = step * np.eye(2)[k]
        change = (J.noise_at(points - move) - J.noise_at(points + move)) / (2 * step)
        assert J.hessians(points)[:, k] == pytest.approx(change, abs=1e-6)


def test_bad_objectives_are_refused() -> None:
    features, labels = np.ones((2, 1)), np.ones(2)
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidParameter, match="ridge"):
            Objective(Logistic(), features, labels, wrong)
    with pytest.raises(InvalidParameter, match="smooth"):
        Objective(Hinge(), features, labels, 1.0)
    with pytest.raises(InvalidParameter, match="one score"):
        Objective(Softmax(2), features, labels, 1.0)


def test_a_ridge_that_floats_cannot_see_is_no_refusal() -> None:
    """Two equal columns and a ridge of 1e-300: the Hessian is singular in floats."""
    J = Objective(Squared(), np.ones((3, 2)), np.array([0.0, 1.0, 5.0]), 1e-300)  # noqa: N806
    for solve in (minimize, lambda J, b: minimize_large(J, b[0])[None]):  # noqa: N803
        found = solve(J, np.zeros((1, 2)))
        assert found.sum() == pytest.approx(2.0)  # the scores are known, the split of them is not


def test_many_records_of_several_classes_start_from_a_share_of_them() -> None:
    """The same minimum as from any other start, whatever the start is made of."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 3))
    labels = (rows[:, 0] + rng.normal(size=2000) > 0).astype(float) + (rows[:, 1] > 1)
    objective = objective_of(Softmax(3), rows, labels, 0.5)
    linear = rng.normal(scale=5.0, size=(4, 9))
    found = minimize(objective, linear)
    assert np.abs(objective.gradients(found, linear)).max() < 1e-9
    assert minimize(objective, linear, start=np.ones(9)) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("records", [0, 1])
def test_several_classes_without_a_record_or_with_one(records: int) -> None:
    objective = objective_of(Softmax(3), np.ones((records, 2)), np.zeros(records), 2.0)
    linear = np.arange(6.0)[None]
    found = minimize(objective, linear)
    assert np.abs(objective.gradients(found, linear)).max() < 1e-9
    if records == 0:
        assert found == pytest.approx(-linear / 2.0)


def test_iterations_end_where_rounding_hides_every_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps by chance, as J cannot tell points apart, went on for thousands of Hessians."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3000, 2))
    objective = objective_of(Softmax(3), rows, rng.integers(0, 3, 3000).astype(float), 1e-3)
    made = []
    step = newton._Batch._step

    def counted(batch: Any, *given: Any) -> Any:  # noqa: ANN401
        made.append(1)
        return step(batch, *given)

    monkeypatch.setattr(newton._Batch, "_step", counted)
    minimize(objective, np.ones((1, 6)), tolerance=1e-300)
    assert len(made) < 60
