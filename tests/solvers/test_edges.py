"""Every fit on the edge of its bounds ends, and its certificate is true in 100 digits."""

from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb

import dpverify as dpv
from solvers import (
    Bounds,
    PrivateClassifier,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateRegressor,
    PrivateSelection,
    PrivateSVM,
    Problem,
)
from solvers.domains import Ball, Box, Domain, Simplex, WholeSpace
from solvers.losses import Absolute, Hinge, HuberHinge, Logistic, Loss, Softmax, Squared
from solvers.minimize.precise import LossTerm, PreciseSum, minimize_precisely
from solvers.minimize.precise_corners import minimize_corners_precisely
from solvers.minimize.regularizers import ElasticNet, Regularizer, Ridge
from solvers.output_perturbation import OutputPerturbation
from tests.solvers.edges import case, check, exact_minimum
from tests.solvers.fitted_edges import check_fitted, fitted_case

SIGNS = Bounds(norm=1.0, labels=(-1, 1))
NUMBERS = Bounds(norm=1.0, label_bound=1.0)
APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-5)

SHARE = 50  # of 20,000 cases; `benchmarks/edges.py` runs them all


@pytest.mark.parametrize("first", range(0, SHARE, 10))
def test_fits_on_the_edge_end(first: int) -> None:
    for seed in range(first, first + 10):
        each = case(seed)
        check(each, exactly=seed % 5 == 0)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SHARE, 1_000, 50))
def test_more_fits_on_the_edge_end(first: int) -> None:
    for seed in range(first, first + 50):
        each = case(seed)
        check(each, exactly=seed % 10 == 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_models_on_the_edge_end_or_are_refused_by_public_numbers(first: int) -> None:
    for seed in range(first, first + 10):
        check_fitted(fitted_case(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 1_000, 50))
def test_more_models_on_the_edge_end(first: int) -> None:
    for seed in range(first, first + 50):
        check_fitted(fitted_case(seed))


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_corners_are_refused_by_objective_perturbation_in_words(loss: str) -> None:
    kind = PrivateClassifier if loss == "hinge" else PrivateRegressor
    model = kind(loss=loss, budget=APPROX, norm_bound=1.0, relation="add-remove")
    model.set_params(method="objective")
    if loss == "absolute":
        model.set_params(label_bound=1.0)
    with pytest.raises(dpv.NotSupported, match="needs a smooth loss; use output perturbation"):
        model.fit([[0.5], [0.1]], [0, 1])


@pytest.mark.parametrize("norm", [1e-12, 1e-8, 1e-5, 1.0, 1e12])
def test_one_record_more_is_no_reason_to_refuse(norm: float) -> None:
    """Two zero rows, and (R, 0, 0) with them: whether a fit raises must not tell the two apart."""
    rows = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [norm, 0.0, 0.0]])
    for seed, n in product(range(5), (0, 1, 2, 3)):
        model = PrivateLogisticRegression(
            budget=APPROX, norm_bound=norm, relation="add-remove", classes=(0, 1), random_state=seed
        )
        assert np.isfinite(model.fit(rows[:n], [0, 1, 1][:n]).coef_).all()


# the precise solvers, against floats where those are known to be right


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Squared(), Softmax(3)])
@pytest.mark.parametrize("shape", [(12, 3), (2, 7), (0, 2)])
def test_balls_find_minima_to_any_accuracy(loss: Loss, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, shape)
    labels = rng.choice([0.0, 1.0, 2.0] if isinstance(loss, Softmax) else [-1.0, 1.0], shape[0])
    bounds = Bounds(norm=2.0, labels=(0, 1, 2)) if isinstance(loss, Softmax) else SIGNS
    if isinstance(loss, Squared):
        bounds = NUMBERS
    problem = Problem(loss=loss, bounds=bounds, regularizer=Ridge(1e-3))
    linear = rng.standard_normal(shape[1] * (3 if isinstance(loss, Softmax) else 1))
    sums = PreciseSum([LossTerm(loss, rows, labels)], 1e-3, linear.tolist())
    found, bound = minimize_precisely(sums, [0.0] * len(linear), distance=1e-50)
    assert bound <= 1e-50
    with mpmath.workdps(100):
        exact = exact_minimum(problem, (rows, labels), linear)
        assert exact is not None
        for x, y in zip(found, exact, strict=True):
            assert abs(mpmath.mpf(x.mid().str(90, radius=False)) - y) < 1e-48


@pytest.mark.sampled(3)
@pytest.mark.parametrize("penalty", [Ridge(0.5), ElasticNet(0.5, 0.7)])
@pytest.mark.parametrize("domain", [WholeSpace(), Ball(0.3), Box(-0.2, 0.1), Simplex()])
@pytest.mark.parametrize("loss", [Logistic(), Squared(), Hinge(), Absolute()])
def test_balls_find_minima_with_corners(loss: Loss, domain: Domain, penalty: Regularizer) -> None:
    rng = np.random.default_rng(3)
    rows = rng.uniform(-0.5, 0.5, (6, 2))
    signs = isinstance(loss, (Logistic, Hinge))
    labels = rng.choice([-1.0, 1.0], 6) if signs else rng.uniform(-1.0, 1.0, 6)
    problem = Problem(
        loss=loss, bounds=SIGNS if signs else NUMBERS, regularizer=penalty, domain=domain
    )
    linear = rng.standard_normal(2)
    usual = problem.minimize((rows, labels), linear)
    found, bound = minimize_corners_precisely(
        problem, (rows, labels), linear, start=np.zeros(2), distance=1e-6
    )
    point = np.array([float(x.mid()) for x in found])
    assert bound <= 1e-6
    assert domain.contains(point)
    assert np.linalg.norm(point - usual.points[0]) <= bound + usual.distances[0]


def test_where_floats_stop_balls_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """At every scale the answer is within what was asked, whoever gives it."""
    monkeypatch.setattr("solvers.minimize.newton._ITERATIONS", 0)
    for norm, domain in product((1e-12, 1.0, 1e12), (WholeSpace(), Ball(0.5))):
        scaled = domain if isinstance(domain, WholeSpace) else Ball(0.5 / norm)
        problem = Problem(
            loss=Logistic(),
            bounds=Bounds(norm=norm, labels=(-1, 1)),
            regularizer=Ridge(norm**2),
            domain=scaled,
        )
        data = (norm * np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, 1.0]))
        solution = problem.minimize(data, within=1e-8 / norm)
        assert solution.certificate.distance <= 1e-8 / norm
        assert scaled.contains(solution.points[0])


@pytest.mark.parametrize("domain", [WholeSpace(), Ball(2.0), Box(-1.0, 1.0)])
@pytest.mark.parametrize("loss", [Squared(), Absolute()])
def test_balls_find_a_minimum_that_is_zero(loss: Loss, domain: Domain) -> None:
    """Balls around 0 have no roots, and there is no dividing by them."""
    problem = Problem(loss=loss, bounds=NUMBERS, regularizer=ElasticNet(1.0, 0.5), domain=domain)
    data = (np.array([[0.5], [-0.5]]), np.array([1.0, 1.0]))
    found, bound = minimize_corners_precisely(
        problem, data, np.zeros(1), start=np.array([1e-9]), distance=1e-12
    )
    assert abs(float(found[0].mid())) <= bound <= 1e-12


def test_what_floats_do_not_resolve_is_cut() -> None:
    """A minimum of about −2^60 distances: both it and its float are cut at 2^50 of them."""
    problem = Problem(loss=Squared(), bounds=NUMBERS, regularizer=Ridge(1.0))
    solution = problem.minimize((np.zeros((0, 1)), []), [[2.0**60]], within=1.0)
    assert solution.points.tolist() == [[-(2.0**50)]]


@pytest.mark.parametrize(
    "ridge",
    [pytest.param(1.0, marks=pytest.mark.slow), pytest.param(100.0, marks=pytest.mark.slow), 1e5],
)
def test_the_true_hinge_works_at_ten_thousand_records(ridge: float) -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((10_000, 20))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.where(rows[:, 0] + 0.3 * rng.standard_normal(10_000) > 0.0, 1.0, -1.0)
    private = OutputPerturbation(
        problem=Problem(loss=Hinge(), bounds=SIGNS, regularizer=Ridge(ridge)),
        budget=dpv.PureDP(epsilon=1.0),
        relation=dpv.Relation.ADD_REMOVE,
    )
    assert private.certificate((rows, labels)).distance <= private.tolerance(20)


@pytest.mark.parametrize("ridge", [0.1, 500.0, 1e4])
def test_thousands_of_records_may_share_one_corner(ridge: float) -> None:
    """In floats, and against rationals: equal records are all at their corner at once."""
    problem = Problem(loss=Hinge(), bounds=SIGNS, regularizer=Ridge(ridge))
    data = (np.full((4_000, 1), 0.75), np.ones(4_000))
    allowed = 2.0**-10 * 0.75 / ridge
    solution = problem.minimize(data, within=allowed)
    with mpmath.workdps(50):
        exact = exact_minimum(problem, data, np.zeros(1))
        assert exact is not None
        off = abs(mpmath.mpf(float(solution.points[0, 0])) - exact[0])
    assert off <= solution.distances[0] <= allowed


def test_softmax_steps_that_no_row_accepts() -> None:
    problem = Problem(
        loss=Softmax(3), bounds=Bounds(norm=1.0, labels=(0, 1, 2)), regularizer=Ridge(1e-3)
    )
    data = (-np.ones((5, 1)), np.array([0.0, 1.0, 1.0, 1.0, 1.0]))
    linear = np.array([-0.4596, -2.2505, 2.7867])
    solution = problem.minimize(data, linear)
    with mpmath.workdps(100):
        exact = exact_minimum(problem, data, linear)
        assert exact is not None
        off = mpmath.norm(
            [mpmath.mpf(x) - y for x, y in zip(solution.points[0], exact, strict=True)]
        )
        assert off <= solution.distances[0] < 1e-6


# no records at all, and one


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("method", ["auto", "objective", "output", "gradient", "sgd"])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateSVM])
def test_classifiers_take_any_number_of_records(
    kind: type[PrivateLogisticRegression | PrivateSVM],
    classes: tuple[int, ...],
    method: str,
    n: int,
) -> None:
    model = kind(
        budget=APPROX, norm_bound=1.0, relation="add-remove", classes=classes, records=5,
        method=method, random_state=0,
    )  # fmt: skip
    assert np.isfinite(model.fit(np.zeros((n, 2)), np.zeros(n, np.int64)).coef_).all()


@pytest.mark.parametrize("n", [0, 1])
def test_regressions_medians_and_selections_do_too(n: int) -> None:
    rows, y = np.zeros((n, 2)), np.zeros(n)
    shared: dict[str, Any] = {"budget": APPROX, "relation": "add-remove", "random_state": 0}
    for method in ("statistics", "output", "gradient", "sgd"):
        model = PrivateLinearRegression(
            **shared, norm_bound=1.0, label_bound=1.0, records=5, radius=2.0, method=method
        )
        assert np.isfinite(model.fit(rows, y).coef_).all()
    assert 0.0 <= PrivateMedian(**shared, low=0.0, high=1.0).fit(rows, y).median_ <= 1.0
    inner = PrivateLogisticRegression(**shared, norm_bound=1.0, classes=(0, 1))
    search = PrivateSelection(inner, candidates=[{"ridge": 2.0}, {"ridge": 5.0}], random_state=0)
    assert search.fit(rows, y.astype(np.int64)).best_index_ in {0, 1}


def test_where_the_number_of_records_is_public_none_are_refused() -> None:
    model = PrivateLogisticRegression(
        budget=APPROX, norm_bound=1.0, relation="replace-one", classes=(0, 1)
    )
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(np.zeros((0, 2)), [])


# what refusals say


@pytest.mark.parametrize(
    ("rows", "labels"), [([[7.25]], [1]), ([[0.5]], [7.25]), ([[np.nan]], [1]), ([[0.5]], [np.inf])]
)
def test_refusals_quote_no_record(rows: list[list[float]], labels: list[float]) -> None:
    with pytest.raises(dpv.InvalidParameter) as refusal:
        SIGNS.prepare(rows, labels)
    assert "7.25" not in str(refusal.value)
    assert "[0" not in str(refusal.value)


def test_balls_that_hold_zero_hold_both_slopes() -> None:
    """A score known only up to its sign: the slope's ball holds the slopes of both."""
    (slope,) = Logistic().precise([arb(0, 1e-3)], 1.0)[1]
    for score in (-1e-3, 0.0, 1e-3):
        assert slope.overlaps(-1 / (1 + arb(score).exp()))
