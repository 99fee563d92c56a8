"""One problem, whatever solves it: the same minimum, and certificates that hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter, NotSupported
from solvers import (
    Absolute,
    Ball,
    Bounds,
    Box,
    Domain,
    ElasticNet,
    Hinge,
    HuberHinge,
    Lasso,
    Logistic,
    Loss,
    NoRegularizer,
    NotSolved,
    Problem,
    Quantile,
    Regularizer,
    Ridge,
    Simplex,
    Softmax,
    Squared,
    WholeSpace,
)
from solvers.minimize.conic import ConicProblem

SIGNS, NUMBERS = Bounds(norm=1.0, labels=(-1, 1)), Bounds(norm=1.0, label_bound=1.0)
DOMAINS: list[Domain] = [WholeSpace(), Ball(0.5), Box(-0.2, 0.3), Simplex()]
PENALTIES: list[Regularizer] = [Ridge(1.0), ElasticNet(1.0, 3.0)]
SMOOTH: list[Loss] = [Logistic(), HuberHinge(width=0.5), Squared()]
CORNERED: list[Loss] = [Hinge(), Absolute(), Quantile(0.3)]


def data(n: int = 60, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d))
    features /= np.maximum(1.0, np.linalg.norm(features, axis=1, keepdims=True))
    return features, np.where(rng.normal(size=n) + features.sum(axis=1) > 0, 1.0, -1.0)


def problem(loss: Loss, penalty: Regularizer, domain: Domain) -> Problem:
    bounds = SIGNS if isinstance(loss, (Logistic, HuberHinge, Hinge)) else NUMBERS
    return Problem(loss=loss, bounds=bounds, regularizer=penalty, domain=domain)


def test_a_clipped_mean_by_hand() -> None:
    """2·Σ(θ − y) + 2θ = 0 for y = 0, 1/2, 1: θ = 3/8, and 1/4 on a ball of that radius."""
    records = (np.ones((3, 1)), np.array([0.0, 0.5, 1.0]))
    free = problem(Squared(), Ridge(2.0), WholeSpace()).minimize(records)
    assert free.points[0] == pytest.approx([0.375], abs=1e-12)
    tight = problem(Squared(), Ridge(2.0), Ball(0.25)).minimize(records)
    assert tight.points[0] == pytest.approx([0.25], abs=1e-12)
    # An ℓ1 weight of 1 takes 1/8 off: 8θ − 3 + 1 = 0.
    shrunk = problem(Squared(), ElasticNet(2.0, 1.0), WholeSpace()).minimize(records)
    assert shrunk.points[0] == pytest.approx([0.25], abs=1e-12)


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_smooth_problems_agree_with_cvxpy(loss: Loss, penalty: Regularizer, domain: Domain) -> None:
    asked, records = problem(loss, penalty, domain), data()
    linear = np.array([[0.0, 0.0, 0.0], [4.0, -3.0, 1.0]])
    found = asked.minimize(records, linear)
    again = asked.minimize(records, linear, solver="conic")
    assert found.certificate.distance < 1e-10
    assert again.certificate.distance < 1e-10
    assert domain.contains(found.points).all()
    conic = ConicProblem(loss, records, penalty, domain)
    for i, b in enumerate(linear):
        raw = conic.solve(b)[0]
        assert found.points[i] == pytest.approx(raw, abs=2e-4)
        # Certified distances are true of each other.
        apart = np.linalg.norm(found.points[i] - again.points[i])
        assert apart <= found.distances[i] + again.distances[i]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("loss", CORNERED, ids=lambda loss: loss.name)
def test_problems_with_corners_have_small_gaps(loss: Loss, domain: Domain) -> None:
    for penalty in PENALTIES:
        found = problem(loss, penalty, domain).minimize(data())
        assert found.certificate.distance < 1e-3
        assert found.certificate.gradient is None
        # No nearby feasible point is better by more than the gap allows.
        rng = np.random.default_rng(1)
        moves = domain.project(found.points + 0.05 * rng.normal(size=(200, 3)))
        asked = problem(loss, penalty, domain)
        least = asked.risk(moves, data()).min()
        slack = 3.0 * 60 * found.certificate.distance
        assert asked.risk(found.points, data())[0] <= least + slack


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from(DOMAINS), st.sampled_from(PENALTIES))
def test_proximal_certificates_hold(seed: int, domain: Domain, penalty: Regularizer) -> None:
    """For squares, dense grids around the answer never come closer to optimal than it."""
    asked, records = problem(Squared(), penalty, domain), data(20, 2, seed)
    found = asked.minimize(records)
    rng = np.random.default_rng(seed)
    for size in (1e-1, 1e-3, 1e-5):
        moves = domain.project(found.points + size * rng.normal(size=(300, 2)))
        gain = asked.risk(found.points, records)[0] - asked.risk(moves, records).min()
        assert gain <= 1e-11


def test_softmax_agrees_with_the_logistic_loss() -> None:
    """Two classes with θ = (−w/2, w/2) halve the ridge: λ·‖w‖²/4 against λ′·‖w‖²/2."""
    features, signs = data(40, 2)
    pair = Problem(
        loss=Softmax(2), bounds=Bounds(norm=1.0, labels=(0, 1)), regularizer=Ridge(2.0)
    ).minimize((features, (signs + 1) / 2))
    single = problem(Logistic(), Ridge(1.0), WholeSpace()).minimize((features, signs))
    weights = pair.points[0].reshape(2, 2)
    assert weights[:, 1] - weights[:, 0] == pytest.approx(single.points[0], abs=1e-9)
    assert pair.certificate.distance < 1e-9


def test_risk_of_softmax_is_least_at_the_minimum() -> None:
    asked = Problem(
        loss=Softmax(3), bounds=Bounds(norm=1.0, labels=(0, 1, 2)), regularizer=Ridge(1.0)
    )
    features = data(30, 2)[0]
    records = (features, np.arange(30) % 3)
    best = asked.minimize(records).points
    others = best + 1e-3 * np.random.default_rng(0).normal(size=(50, 6))
    assert asked.risk(best, records)[0] < asked.risk(others, records).min()


@pytest.mark.parametrize("penalty", [Lasso(1.0), NoRegularizer()], ids=repr)
def test_problems_without_a_ridge_are_refused(penalty: Regularizer) -> None:
    with pytest.raises(InvalidParameter, match="must have a ridge"):
        problem(Logistic(), penalty, WholeSpace()).minimize(data())


def test_bad_input_is_refused() -> None:
    asked = problem(Logistic(), Ridge(1.0), WholeSpace())
    features, labels = data()
    for wrong, said in (
        ((2.0 * features, labels), "norm"),
        ((features, labels + 5), "label"),
        ((features * np.nan, labels), "finite"),
        ((features[:, :0], labels), "at least one column"),
        ([features, labels], "pair"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            asked.minimize(wrong)
    with pytest.raises(InvalidParameter, match="columns"):
        asked.minimize((features, labels), np.zeros((2, 7)))
    with pytest.raises(InvalidParameter, match="linear must be finite"):
        asked.minimize((features, labels), np.full((1, 3), np.inf))
    with pytest.raises(InvalidParameter, match="solver"):
        asked.minimize((features, labels), solver="guess")
    with pytest.raises(InvalidParameter, match="dimension"):
        problem(Logistic(), Ridge(1.0), Box((0.0, 0.0), 1.0)).minimize(data())
    with pytest.raises(InvalidParameter, match="labels"):
        Problem(loss=Logistic(), bounds=NUMBERS, regularizer=Ridge(1.0))
    with pytest.raises(NotSupported, match="softmax"):
        Problem(
            loss=Softmax(2),
            bounds=Bounds(norm=1.0, labels=(0, 1)),
            regularizer=Ridge(1.0),
            domain=Ball(1.0),
        ).minimize((features, (labels + 1) / 2))


def test_one_record_and_a_constant_column_are_no_trouble() -> None:
    found = problem(Logistic(), Ridge(1.0), WholeSpace()).minimize(([[0.5, 0.5]], [1]))
    assert found.certificate.distance < 1e-9


def test_a_solver_that_stops_early_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = problem(Logistic(), Ridge(1.0), WholeSpace())
    monkeypatch.setattr("solvers.minimize.newton._ITERATIONS", 1)
    solution = asked.minimize(data())
    assert solution.certificate.distance > 1e-6
    with pytest.raises(NotSolved, match="nothing was released"):
        solution.within(1e-9)


def test_a_conic_solver_that_fails_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import cvxpy as cp  # noqa: PLC0415

    conic = ConicProblem(Hinge(), data(), Ridge(1.0), WholeSpace())

    def fail(*_: object, **__: object) -> None:
        raise cp.error.SolverError("out of luck")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(NotSolved, match="failed; nothing was released"):
        conic.solve(np.zeros(3))
    monkeypatch.setattr(cp.Problem, "solve", lambda *_, **__: None)
    with pytest.raises(NotSolved, match="found no point"):
        conic.solve(np.zeros(3))


def test_minima_beyond_all_floats_are_cut_and_certified() -> None:
    problem = Problem(
        loss=Logistic(), bounds=Bounds(norm=1.0, labels=(-1, 1)), regularizer=Ridge(1e-300)
    )
    data = np.array([[1.0], [1.0], [1.0]]), np.array([1.0, -1.0, 1.0])
    solution = problem.minimize(data, [[1e10]], within=1e295)  # its minimum is about −1e310
    assert solution.points == -(2.0**1000)
    assert solution.distances <= 1e295
