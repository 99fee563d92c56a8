"""Poisson regression: a loss that is Lipschitz, claims under audit and exact, and sense."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from sklearn.linear_model import PoissonRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers import (
    Bounds,
    Chunks,
    ObjectivePerturbation,
    OutputPerturbation,
    Poisson,
    PrivatePoissonRegression,
    PrivateSelection,
    Problem,
    Ridge,
)
from tests.solvers.scikit_learn import NO_WEIGHT

PURE, APPROX = PureDP(epsilon=1.0), ApproxDP(epsilon=1.0, delta=1e-3)
BOUNDS = Bounds(norm=1.0, label_bound=2.0)


def counted(n: int = 5000) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.7, 0.7, (n, 2))
    return rows, np.minimum(rng.poisson(np.exp(1.5 * rows[:, 0] + 0.2)), 8).astype(float)


def model(**changes: object) -> PrivatePoissonRegression:
    given: dict[str, Any] = {
        "budget": PURE, "norm_bound": 1.0, "label_bound": 8.0, "relation": "add-remove",
        "random_state": 0,
    }  # fmt: skip
    return PrivatePoissonRegression(**given | changes)


# the loss


def test_values_by_hand() -> None:
    loss = Poisson(math.e)
    assert loss.values([0.0, 1.0, 3.0], [0.0, 1.0, 2.0]) == pytest.approx(
        [1.0, math.e - 1.0, math.e + 2.0 * math.e - 6.0]
    )
    assert loss.curvatures([0.0, 3.0], [0.0, 0.0]).tolist() == [1.0, 0.0]
    assert loss.lipschitz(Bounds(norm=3.0, label_bound=2.0)) == pytest.approx(3.0 * math.e)
    assert loss.lipschitz(Bounds(norm=3.0, label_bound=5.0)) == 15.0
    assert loss.smoothness(Bounds(norm=3.0, label_bound=5.0)) == pytest.approx(9.0 * math.e)


@pytest.mark.parametrize("cap", [0.01, 1.0, 3.0, 1e5])
def test_slopes_are_those_of_balls_within_their_errors(cap: float) -> None:
    from flint import arb  # noqa: PLC0415

    loss = Poisson(cap)
    scores = [*np.linspace(-30.0, 30.0, 241), loss.cap, math.nextafter(loss.cap, 99.0), 800.0]
    for y in (-1.0, 0.0, 0.5, 3.0):
        errors = loss.slope_errors(scores, np.full(len(scores), y))
        slopes = loss.slopes(scores, np.full(len(scores), y))
        for s, slope, error in zip(scores, slopes, errors, strict=True):
            exact = loss.precise([arb(float(s))], y)[1][0]
            assert abs(exact - arb(float(slope))) < arb(float(error))
        assert np.abs(slopes).max() <= max(cap, y)


def test_an_adversary_finds_no_steeper_loss() -> None:
    """It looks for the largest slope, and for two scores between which slopes rise fastest."""
    loss = Poisson(1.5)

    def steep(x: Floats) -> float:
        return -abs(float(loss.slopes(x[0], np.clip(x[1], -2.0, 2.0))))

    def rise(x: Floats) -> float:
        slopes = loss.slopes(x, np.zeros(2))
        return -abs(float(slopes[0] - slopes[1])) / max(abs(float(x[0] - x[1])), 1e-6)

    rng = np.random.default_rng(0)
    found = [
        [-minimize(f, 5.0 * rng.normal(size=2), method="Nelder-Mead").fun for _ in range(9)]
        for f in (steep, rise)
    ]
    assert 1.99 < max(found[0]) <= loss.slope_bound(BOUNDS)
    assert 1.49 < max(found[1]) <= loss.sharpness * (1 + 1e-9)


# exact losses in one dimension: b is a function of θ, so the density of θ is known


def exact_density(record: tuple[float, float] | None, ridge: float, scale: float) -> Any:  # noqa: ANN401
    """θ ↦ density of the exact minimum with Laplace b, for one record that stays and one more."""
    loss = Poisson(1.5)
    records = [(0.3, 1.0), *([] if record is None else [record])]

    def density(theta: float) -> float:
        slope = sum(x * float(loss.slopes(x * theta, y)) for x, y in records)
        bend = sum(x * x * float(loss.curvatures(x * theta, y)) for x, y in records)
        b = -(slope + ridge * theta)
        return (bend + ridge) * math.exp(-abs(b) / scale) / (2.0 * scale)

    return density


@pytest.mark.parametrize("relation", list(Relation))
def test_an_optimized_pair_keeps_to_the_claim_exactly(relation: Relation) -> None:
    """The largest loss over θ, climbed over records in d = 1: at most ε, and most of it."""
    ridge = 6.0
    problem = Problem(loss=Poisson(1.5), bounds=BOUNDS, regularizer=Ridge(ridge))
    private = ObjectivePerturbation(
        problem=problem, budget=PURE, relation=relation, arithmetic="real"
    )
    scale = float(private.noise(1).scale)

    def worst(numbers: Floats) -> float:
        pairs = np.clip(numbers[:-1].reshape(-1, 2), [-1.0, -2.0], [1.0, 2.0])
        one, other = tuple(pairs[0]), tuple(pairs[1]) if len(pairs) > 1 else None
        theta = float(numbers[-1])
        ratio = exact_density(one, ridge, scale)(theta) / exact_density(other, ridge, scale)(theta)
        return -abs(math.log(ratio))

    count = 5 if relation is Relation.REPLACE_ONE else 3
    rng = np.random.default_rng(1)
    found = max(
        -float(minimize(worst, 2.0 * rng.normal(size=count), method="Nelder-Mead").fun)
        for _ in range(12)
    )
    assert 0.6 < found <= 1.0
    whole = quad(exact_density((1.0, 2.0), ridge, scale), -50.0, 50.0, limit=400)[0]
    assert whole == pytest.approx(1.0, abs=1e-4)


# audits


@pytest.mark.sampled(3)
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_honest_minima_are_not_refuted(kind: Any, budget: Any, relation: Relation) -> None:  # noqa: ANN401
    problem = Problem(loss=Poisson(1.5), bounds=BOUNDS, regularizer=Ridge(20.0))
    private = kind(problem=problem, budget=budget, relation=relation)
    left = np.array([[0.1], [1.0]]), np.array([0.0, 2.0])
    right = np.array([[0.1], [-1.0]]), np.array([0.0, 2.0])
    if relation is Relation.ADD_REMOVE:
        right = right[0][:1], right[1][:1]
    verdict = dpv.audit(private, left=left, right=right, level=1e-9, samples=20_000, seed=0)
    assert not verdict.refuted
    # The rule for any convex loss and Gaussian noise is far from tight where one is replaced.
    assert 0.02 < verdict.epsilon_lower <= 1.0


# the estimator


@pytest.mark.parametrize("method", ["auto", "objective", "output", "gradient", "sgd"])
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_it_claims_what_was_declared(method: str, budget: Any) -> None:  # noqa: ANN401
    rows, y = counted(300)
    fitted = model(budget=budget, method=method, records=300).fit(rows, y)
    assert (fitted.claim_.guarantee, fitted.claim_.relation) == (budget, Relation.ADD_REMOVE)
    assert (fitted.certificate_ is not None) is (fitted.method_ in {"objective", "output"})
    assert (fitted.predict(rows) > 0.0).all()
    assert (fitted.predict(rows) <= 8.0 * (1 + 1e-12)).all()


@pytest.mark.parametrize("relation", list(Relation))
def test_with_many_records_it_is_scikit_learns(relation: Relation) -> None:
    rows, y = counted(20_000)
    private = model(relation=relation, budget=PureDP(epsilon=100.0), ridge=1.0).fit(rows, y)
    plain = PoissonRegressor(alpha=0.0).fit(rows, y)
    assert private.coef_ == pytest.approx(plain.coef_, abs=0.05)
    assert private.intercept_ == pytest.approx(plain.intercept_, abs=0.05)
    assert private.score(rows, y) == pytest.approx(plain.score(rows, y), abs=0.01)


def test_the_solver_finds_the_minimum() -> None:
    """Of one record x = 1, y = 2 and the ridge 1/2: min(e^θ, 1.5) − 2 + θ/2 = 0."""
    problem = Problem(loss=Poisson(1.5), bounds=BOUNDS, regularizer=Ridge(0.5))
    solution = problem.minimize((np.array([[1.0]]), np.array([2.0])), np.zeros((1, 1)))
    root = brentq(lambda t: min(math.exp(t), 1.5) - 2.0 + 0.5 * t, 0.0, 5.0, xtol=1e-14)
    assert abs(solution.points[0, 0] - root) <= solution.distances[0] + 1e-12


def test_chunks_and_a_selection_take_it() -> None:
    rows, y = counted(600)
    whole = model(budget=PureDP(epsilon=50.0)).fit(rows, y)
    cut = model(budget=PureDP(epsilon=50.0)).fit(Chunks.arrays(rows, y, rows=100))
    assert cut.coef_ == pytest.approx(whole.coef_, abs=1e-3)
    search = PrivateSelection(
        model(budget=PureDP(epsilon=6.0)), candidates=[{"ridge": 30.0}, {"ridge": 1e6}],
        random_state=0,
    )  # fmt: skip
    assert search.fit(rows, y).claim_.guarantee == PureDP(epsilon=6.0)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("largest", [1e-6, 1.0, 1e6])
def test_any_records_within_the_bounds_will_do(n: int, size: float, largest: float) -> None:
    rows = np.tile([size, 0.0], (n, 1))
    fitted = model(norm_bound=size, largest_mean=largest).fit(rows, np.full(n, 8.0))
    assert np.isfinite(fitted.predict(np.full((2, 2), -size))).all()


@pytest.mark.parametrize(
    ("change", "y", "message"),
    [
        ({"label_bound": None}, None, "label_bound=None must be declared"),
        ({"largest_mean": 0.0}, None, "largest_mean=0.0 must be"),
        ({"label_bound": 1.0}, None, "every label in y must lie within ±1"),
        ({}, -np.ones(50), "every target in y must be 0 or more"),
        ({"norm_bound": 0.1}, None, "the norm of every row of X must be at most"),
        ({"method": "statistics"}, None, "method='statistics' must be one of"),
        ({"budget": None}, None, "budget=None must be declared"),
    ],
)
def test_misuse_is_refused_before_any_noise(change: Any, y: Any, message: str) -> None:  # noqa: ANN401
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    rows, counts = counted(50)
    with pytest.raises(InvalidParameter) as refusal:
        model(**change, random_state=rng).fit(rows, counts if y is None else y)
    assert message in str(refusal.value)
    assert rng.bit_generator.state == before


def test_negative_targets_in_the_last_chunk_are_refused_or_taken_for_none() -> None:
    rows, y = counted(50)
    y[-1] = -1.0
    with pytest.raises(InvalidParameter, match="every target in y must be 0 or more"):
        model().fit(Chunks.arrays(rows, y, rows=20))
    clipped = model(clip=True).fit(rows, y)
    y[-1] = 0.0
    assert (clipped.coef_ == model(clip=True).fit(rows, y).coef_).all()


@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [
        PrivatePoissonRegression(
            budget=PureDP(epsilon=1e3), norm_bound=10.0, label_bound=10.0, clip=True,
            relation="replace-one", weight_bound=10.0, random_state=0,
        )
    ],
    expected_failed_checks=lambda _: NO_WEIGHT,
)  # fmt: skip
def test_laws_of_scikit_learn(estimator: Any, check: Any) -> None:  # noqa: ANN401
    check(estimator)
