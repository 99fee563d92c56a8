"""Minima by floats of twice the digits, and by ridges that fall: against 100 digits and balls."""

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.arrays import Floats
from solvers import Bounds, Problem
from solvers.chunks import Chunks, weighted_labels
from solvers.losses import HuberHinge, Logistic, Loss, Poisson, Softmax, Squared
from solvers.losses.weighted import weighted
from solvers.minimize.certificate import gradient_bounds
from solvers.minimize.compensated import minimize_compensated
from solvers.minimize.newton import minimize
from solvers.minimize.objective import objective_of
from solvers.minimize.precise import LossTerm, PreciseSum, follow_precisely, minimize_precisely
from solvers.minimize.regularizers import Ridge
from tests.solvers.edges import DIGITS, exact_minimum

LOSSES: tuple[Loss, ...] = (Logistic(), HuberHinge(0.5), Softmax(3), Squared())


def problem_of(loss: Loss, ridge: float) -> Problem:
    labels = {"signs": (-1, 1), "classes": (0, 1, 2), "bounded": None}[loss.labels]
    bound = None if labels else 2.0
    bounds = Bounds(norm=1.0, labels=labels, label_bound=bound)
    return Problem(loss=loss, bounds=bounds, regularizer=Ridge(ridge))


def drawn(loss: Loss, n: int, d: int, *, twins: bool, seed: int = 0) -> tuple[Floats, Floats]:
    """Records within the unit ball; of `twins` the last column is the first."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d))
    if twins:
        rows[:, -1] = rows[:, 0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * 1.001
    labels = {"signs": [-1.0, 1.0], "classes": [0.0, 1.0, 2.0], "bounded": [-2.0, 0.5, 2.0]}
    return rows, rng.choice(labels[loss.labels], n)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@settings(max_examples=8)
@given(twins=st.booleans(), exponent=st.integers(-13, 2), seed=st.integers(0, 2**32 - 1))
def test_bounds_hold_against_a_hundred_digits(
    loss: Loss, *, twins: bool, exponent: int, seed: int
) -> None:
    ridge = 10.0**exponent
    data = drawn(loss, 5, 2, twins=twins, seed=seed)
    size = 6 if isinstance(loss, Softmax) else 2
    linear = np.random.default_rng(seed).normal(size=size)
    point, bound = minimize_compensated(
        objective_of(loss, *data, ridge), linear, np.zeros(size), distance=1e-9 / ridge
    )
    with mpmath.workdps(DIGITS):
        exact = exact_minimum(problem_of(loss, ridge), data, linear)
        assert exact is not None
        pairs = zip(point.tolist(), exact, strict=True)
        off = mpmath.sqrt(mpmath.fsum((mpmath.mpf(x) - y) ** 2 for x, y in pairs))
    assert off <= bound


@pytest.mark.parametrize(
    "loss", [*LOSSES, weighted(Logistic()), weighted(Softmax(3)), Poisson(2.0)]
)
def test_bounds_hold_for_many_records(loss: Any) -> None:  # noqa: ANN401
    """Few records many times over: their minimum in balls is that of one of each, in 1/times."""
    few, times, ridge = 25, 256, 2.0**-33
    rows, y = drawn(loss, few, 3, twins=True)
    labels = weighted_labels(y, np.linspace(0.1, 1.0, few)) if loss is not loss.core else y
    linear = 3.0 * np.random.default_rng(1).normal(size=9 if loss.labels == "classes" else 3)
    objective = objective_of(loss, np.tile(rows, (times, 1)), np.tile(labels, times), ridge)
    start = minimize(replace(objective, ridge=1e-2), linear[None])[0]
    point, bound = minimize_compensated(objective, linear, start, distance=1e3)
    assert bound <= 1e3 < gradient_bounds(objective, point[None], linear[None])[0] / ridge
    sums = PreciseSum([LossTerm(loss, rows, labels)], ridge / times, (linear / times).tolist())
    exact, near = follow_precisely(sums, point.tolist(), distance=1.0)
    away = np.linalg.norm(point - np.array([float(x.mid()) for x in exact]))
    assert away <= bound + near + 1e-15 * np.abs(point).max()


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("chunked", [False, True])
def test_hidden_directions_of_many_records_need_no_balls(
    monkeypatch: pytest.MonkeyPatch, loss: Loss, *, chunked: bool
) -> None:
    """Columns that are equal, as one-hot ones with an intercept are, and hardly any ridge."""
    monkeypatch.delattr("solvers.minimize.problem.Problem._precise")
    data = drawn(loss, 5000, 4, twins=True)
    linear = np.random.default_rng(1).normal(size=12 if isinstance(loss, Softmax) else 4)
    given = Chunks.arrays(*data, rows=2000) if chunked else data
    problem = problem_of(loss, 1e-12)
    solution = problem.minimize(given, linear, within=1e5)
    assert solution.certificate.distance <= 1e5
    assert np.abs(solution.points).max() > 1e10


# ridges that fall


def asked(loss: Loss, ridge: float, n: int, d: int) -> tuple[PreciseSum, int]:
    size = 3 * d if isinstance(loss, Softmax) else d
    linear = 3.0 * np.random.default_rng(2).normal(size=size)
    term = LossTerm(loss, *drawn(loss, n, d, twins=False))
    return PreciseSum([term], ridge, linear.tolist()), size


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Softmax(3)], ids=lambda x: x.name)
def test_both_ways_lead_to_the_minimum(loss: Loss) -> None:
    sums, size = asked(loss, 1e-12, 4, 6)
    found = [
        way(sums, [0.0] * size, distance=1e-9) for way in (follow_precisely, minimize_precisely)
    ]
    apart = sum((float(x - y) ** 2 for x, y in zip(found[0][0], found[1][0], strict=True)), 0.0)
    assert apart**0.5 <= found[0][1] + found[1][1] <= 2e-9


@pytest.mark.parametrize("ridge", [1e-40, 1e-300])
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=lambda x: x.name)
def test_tiny_ridges_take_few_steps(
    loss: Loss, ridge: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """33 parameters and fewer records: Newton's method alone creeps from corner to corner."""
    looks = [0]
    gradient = PreciseSum.gradient

    def counted(self: PreciseSum, point: Any) -> Any:  # noqa: ANN401
        looks[0] += 1
        return gradient(self, point)

    monkeypatch.setattr(PreciseSum, "gradient", counted)
    sums, size = asked(loss, ridge, 5, 11 if isinstance(loss, Softmax) else 33)
    _, bound = follow_precisely(sums, [0.0] * size, distance=1e-6 / ridge)
    assert bound <= 1e-6 / ridge
    assert looks[0] <= 150


def test_problems_with_tiny_ridges_end() -> None:
    data = drawn(Softmax(3), 4, 12, twins=False)
    linear = 3.0 * np.random.default_rng(2).normal(size=36)
    solution = problem_of(Softmax(3), 1e-300).minimize(data, linear, within=1e294)
    assert solution.certificate.distance <= 1e294
    limit = solution.points[0] * 1e-300  # λθ: −b and what the records' slopes hold against it
    pull = -(limit + linear).reshape(12, 3)
    slopes = np.linalg.lstsq(data[0].T, pull, rcond=None)[0]
    assert data[0].T @ slopes == pytest.approx(pull, abs=1e-5)
    assert slopes.sum(axis=1) == pytest.approx(0.0, abs=1e-5)  # p − e_y
    assert (np.abs(slopes) <= 1.0 + 1e-5).all()
