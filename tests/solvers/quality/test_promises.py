"""What fits promise about their quality holds when it is measured."""

import numpy as np
import pytest

import dpverify as dpv
from solvers import Ball, Bounds, Logistic
from solvers.descent import DescentSetting
from solvers.exponential.quantiles import ExponentialQuantile
from solvers.gradient_descent import GradientDescent
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation
from solvers.quality import excess_bounds
from solvers.quality.risks import excess_risks, risks

RUNS = 400
ALLOWED = 60  # more failures of probability 0.05 have probability below 1e-12
BOUNDS = Bounds(norm=1.0, labels=(-1, 1))
ADD = dpv.Relation.ADD_REMOVE


def data(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rows = np.random.default_rng(1).uniform(-0.5, 0.5, (n, 3))
    return rows, np.where(rows[:, 0] + 0.2 * rows[:, 1] > 0, 1.0, -1.0)


@pytest.mark.parametrize("dimension", [1, 3, 50])
@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.false_alarm(1e-9)
def test_noise_is_as_long_as_said(dimension: int, gaussian: bool) -> None:  # noqa: FBT001
    """Of 20,000 draws 1,000 ± 200 are longer, 6.5 standard deviations."""
    rng = np.random.default_rng(5)
    directions = rng.standard_normal((20_000, dimension))
    lengths = np.linalg.norm(directions, axis=1) if gaussian else rng.gamma(dimension, size=20_000)
    limit = excess_bounds.noise_length(1.0, dimension, gaussian=gaussian)
    assert 800 < (lengths > limit).sum() < 1200


@pytest.mark.parametrize("budget", [dpv.PureDP(epsilon=1.0), dpv.ApproxDP(epsilon=1.0, delta=1e-6)])
@pytest.mark.false_alarm(1e-12)
def test_objective_perturbation(budget: dpv.PureDP | dpv.ApproxDP) -> None:
    problem = Problem(loss=Logistic(), bounds=BOUNDS, regularizer=Ridge(3.0))
    mechanism = ObjectivePerturbation(problem=problem, budget=budget, relation=ADD)
    promise = excess_bounds.of_objective(mechanism, 3)
    drawn = mechanism.sample(data(), RUNS, rng=np.random.default_rng(5))
    best = problem.risk(problem.minimize(data()).points, data())[0]
    excess = problem.risk(drawn, data()) - best
    assert (excess > promise.bound).sum() < ALLOWED
    assert excess.mean() > promise.bound / 100  # a bound, and not an empty one


@pytest.mark.parametrize("budget", [dpv.PureDP(epsilon=1.0), dpv.ApproxDP(epsilon=1.0, delta=1e-6)])
@pytest.mark.false_alarm(1e-12)
def test_output_perturbation(budget: dpv.PureDP | dpv.ApproxDP) -> None:
    problem = Problem(loss=Logistic(), bounds=BOUNDS, regularizer=Ridge(5.0))
    mechanism = OutputPerturbation(problem=problem, budget=budget, relation=ADD)
    promise = excess_bounds.of_output(mechanism, 3)
    drawn = mechanism.sample(data(), RUNS, rng=np.random.default_rng(5))
    best = risks(Logistic(), problem.minimize(data()).points, data())[0]
    excess = risks(Logistic(), drawn, data()) - best
    assert (excess > promise.bound).sum() < ALLOWED
    assert excess.max() > promise.bound / 100


@pytest.mark.false_alarm(1e-9)
def test_gradient_descent_on_average() -> None:
    """The mean excess is a tenth of the bound or less; 400 means do not stray that far."""
    setting = DescentSetting(
        loss=Logistic(), bounds=BOUNDS, domain=Ball(3.0), relation=ADD, records=60
    )
    descent = GradientDescent(setting, budget=dpv.ApproxDP(epsilon=1.0, delta=1e-6), steps=5)
    promise = excess_bounds.of_descent(descent, 3)
    drawn = descent.sample(data(), RUNS, rng=np.random.default_rng(5))
    assert excess_risks(Logistic(), drawn, data(), Ball(3.0)).mean() < promise.bound
    assert promise.failure is None


@pytest.mark.false_alarm(1e-12)
def test_quantile() -> None:
    ages = np.arange(1000) / 10.0
    mechanism = ExponentialQuantile(epsilon=0.5, low=0.0, high=200.0, relation=ADD)
    promise = excess_bounds.of_quantile(mechanism)
    drawn = mechanism.sample(ages, RUNS, rng=np.random.default_rng(5))
    misses = np.abs((ages[:, None] <= drawn).sum(axis=0) - 500)
    assert (misses > promise.bound + 1).sum() < ALLOWED
    assert "at most 60.9496 records" in promise.statement  # the bound, rounded up
    assert 60.9495 < promise.bound <= 60.9496
