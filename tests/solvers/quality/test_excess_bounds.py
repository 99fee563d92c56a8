"""Utility: risks by hand, the least risk between its ends, and bounds that measured fits keep."""

import math
from typing import Any

import numpy as np
import pytest

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP
from dpverify.mechanisms import Gaussian, NormMechanism
from dpverify.neighbors import Relation
from solvers import Absolute, Ball, Box, Hinge, Logistic, Simplex, Squared, WholeSpace
from solvers.descent import DescentSetting
from solvers.exponential.candidates import ExponentialERM, lattice
from solvers.exponential.quantiles import ExponentialQuantile
from solvers.gradient_descent import GradientDescent
from solvers.quality.excess_bounds import (
    ball_excess,
    descent_excess,
    finite_excess,
    of_quantile,
    output_excess,
    perturbed_distance,
    perturbed_excess,
    quantile_miss,
    records_for_uniform_convergence,
)
from solvers.quality.risks import excess_risks, holdout_risk, least_risk, risks
from tests.solvers.spoiled_iterates import BOTH_SIGNS


def classified(records: int, dimension: int, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(records, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * 1.001
    labels = np.where(rows[:, 0] + 0.3 * rng.normal(size=records) > 0.0, 1.0, -1.0)
    return rows, labels


def test_risks_by_hand() -> None:
    data = [[1.0], [2.0]], [1.0, 1.0]
    assert risks(Squared(), [[0.0], [1.0]], data).tolist() == [1.0, 0.5]
    assert risks(Squared(), [[0.0], [1.0]], data, ridge=2.0).tolist() == [1.0, 1.5]


@pytest.mark.parametrize("domain", [Ball(1.0), Box(-1.0, 1.0), Simplex(), WholeSpace()], ids=str)
def test_the_least_risk_lies_between_its_ends(domain: Any) -> None:  # noqa: ANN401
    data = classified(60, 2)
    ridge = 0.1
    found = least_risk(Logistic(), data, domain, ridge=ridge)
    assert found.width < 1e-5
    axis = np.linspace(-3.0, 3.0, 121)
    points = domain.project(np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))
    lowest = risks(Logistic(), points, data, ridge=ridge).min()
    assert found.lower <= lowest
    assert found.upper <= lowest + 1e-7
    assert (excess_risks(Logistic(), points, data, domain, ridge=ridge) >= -1e-7).all()


def test_without_a_bound_there_is_no_lower_end() -> None:
    found = least_risk(Squared(), ([[1.0], [1.0]], [0.0, 1.0]), WholeSpace())
    assert found.lower == -math.inf
    assert found.upper == pytest.approx(0.25)


def test_holdout_risk_covers_the_population() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        labels = rng.uniform(0.0, 1.0, 50)
        found = holdout_risk(
            Absolute(), [0.5], (np.ones((50, 1)), labels), largest_loss=0.5, failure=0.1
        )
        inside += 0.25 in found  # E|U − 1/2|
    assert inside >= 180


def test_bounds_by_hand() -> None:
    assert descent_excess(radius=1.0, second_moment=1.0, iterates=100) == pytest.approx(0.1)
    replaced: dict[str, Any] = {"epsilon": 1.0, "records": 100, "failure": math.exp(-1.0)}
    ball = ball_excess(
        radius=1.0, lipschitz=1.0, dimension=1, relation=Relation.REPLACE_ONE, **replaced
    )
    assert ball == pytest.approx(2.0 / 100 + 4.0 / 100 * (math.log(100.0) + 1.0))
    finite = finite_excess(
        largest_loss=2.0, candidates=1, relation=Relation.REPLACE_ONE, **replaced
    )
    assert finite == pytest.approx(4.0 / 100)
    added = finite_excess(largest_loss=2.0, candidates=1, relation=Relation.ADD_REMOVE, **replaced)
    assert added == pytest.approx(2.0 / 100)
    assert perturbed_distance(noise_norm=3.0, strength=2.0) == 1.5
    assert perturbed_excess(noise_norm=3.0, strength=2.0, records=9) == pytest.approx(0.25)
    assert records_for_uniform_convergence(1, accuracy=10.0, failure=0.5) == 1


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("relation", Relation)
def test_choices_keep_their_bounds(relation: Relation) -> None:
    """Of 20,000 fits the share beyond the bound is at most β plus 7 standard errors."""
    data, domain = classified(200, 2), Ball(1.0)
    points = lattice(domain, 2, 0.1)
    erm = ExponentialERM(
        loss=Hinge(),
        bounds=BOTH_SIGNS,
        candidates=points,
        epsilon=1.0,
        relation=relation,
        domain=domain,
    )
    fits = erm.sample(data, 20_000, rng=np.random.default_rng(1))
    table = risks(Hinge(), points, data)
    excess = risks(Hinge(), fits, data) - table.min()
    shared: dict[str, Any] = {"epsilon": 1.0, "records": 200, "failure": 0.1, "relation": relation}
    finite = finite_excess(largest_loss=erm.largest_loss, candidates=len(points), **shared)
    whole = ball_excess(radius=1.0, lipschitz=1.0, dimension=2, **shared)
    for bound in (finite, whole):
        assert (excess > bound).mean() <= 0.1 + 7.0 * math.sqrt(0.09 / 20_000)
    exact = float(np.exp(erm.log_density(points, data)) @ (table - table.min()))
    assert abs(excess.mean() - exact) < 7.0 * excess.std() / math.sqrt(20_000)


@pytest.mark.false_alarm(1e-9)
def test_quantiles_keep_their_bound() -> None:
    values = np.random.default_rng(2).normal(0.0, 1.0, 301)
    median = ExponentialQuantile(
        epsilon=0.5, low=-10.0, high=10.0, relation=Relation.REPLACE_ONE, grid_exponent=-10
    )
    draws = median.sample(values, 20_000, rng=np.random.default_rng(3))
    misses = np.abs(np.searchsorted(np.sort(values), draws) - 150.5)
    bound = quantile_miss(median, failure=0.1)
    # rounding values to the grid moves a rank by a few records at most
    assert (misses > bound + 3.0).mean() <= 0.1 + 7.0 * math.sqrt(0.09 / 20_000)
    assert bound < 50.0


def test_perturbed_minima_of_quadratics_attain_their_bounds() -> None:
    """n·J(θ) = (λ/2)‖θ‖² + ⟨b, θ⟩, without losses: the minimum is −b/λ."""
    b, strength, records = np.array([3.0, -4.0]), 2.5, 8
    theta = -b / strength
    assert np.linalg.norm(theta) == pytest.approx(
        perturbed_distance(noise_norm=5.0, strength=strength)
    )
    gain = 0.5 * strength * theta @ theta / records
    assert gain == pytest.approx(
        perturbed_excess(noise_norm=5.0, strength=strength, records=records)
    )


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("noise", ["gaussian", "norm"])
def test_output_perturbation_keeps_its_bound(noise: str) -> None:
    data, ridge, radius = classified(100, 3), 0.2, 2.0
    best = least_risk(Logistic(), data, Ball(radius)).upper
    rows, labels = data
    theta = np.zeros(3)
    for _ in range(3000):
        slopes = Logistic().slopes(rows @ theta, labels)
        theta -= 1.0 * (slopes @ rows / 100 + ridge * theta)
    rng = np.random.default_rng(4)
    if noise == "gaussian":
        fits = Gaussian(sigma=0.3).sample(theta, 4_000, rng=rng)
        length = math.sqrt(3) * 0.3
    else:
        fits = NormMechanism(scale=0.3).sample(theta, 4_000, rng=rng)
        length = 3 * 0.3
    excess = risks(Logistic(), fits, data) - best
    bound = output_excess(lipschitz=1.0, noise_norm=length, ridge=ridge, radius=radius)
    assert bound / 50 < excess.mean() < bound - 7.0 * excess.std() / math.sqrt(4_000)


def test_the_bound_of_descent_is_that_of_its_parameters() -> None:
    setting = DescentSetting(
        loss=Logistic(),
        bounds=BOTH_SIGNS,
        domain=Ball(2.0),
        relation=Relation.REPLACE_ONE,
        records=400,
    )
    fit = GradientDescent(setting, budget=ApproxDP(epsilon=1.0, delta=1e-5), steps=60)
    bound = descent_excess(radius=2.0, second_moment=fit.second_moment(3), iterates=61)
    assert bound == pytest.approx(
        2.0**2 / (2 * fit.rate(3) * 61) + fit.rate(3) * fit.second_moment(3) / 2
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: descent_excess(radius=0.0, second_moment=1.0, iterates=1), "radius=0"),
        (lambda: descent_excess(radius=1.0, second_moment=1.0, iterates=0), "iterates=0"),
        (lambda: perturbed_excess(noise_norm=-1.0, strength=1.0, records=1), "noise_norm=-1"),
        (lambda: perturbed_distance(noise_norm=1.0, strength=0.0), "strength=0"),
        (lambda: records_for_uniform_convergence(5, accuracy=0.1, failure=1.0), "failure=1"),
        (lambda: risks(Squared(), [[0.0]], ([[1.0, 2.0]], [1.0])), "shape"),
        (lambda: risks(Squared(), [[math.nan]], ([[1.0]], [1.0])), "finite"),
    ],
)
def test_bad_input(call: Any, words: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=words):
        call()


def test_what_no_theorem_covers() -> None:
    with pytest.raises(NotSupported, match="dimension=10"):
        ball_excess(
            radius=1.0,
            lipschitz=1.0,
            dimension=10,
            epsilon=1.0,
            records=5,
            failure=0.1,
            relation=Relation.REPLACE_ONE,
        )
    real = ExponentialQuantile(
        epsilon=1.0, low=0.0, high=1.0, relation=Relation.ADD_REMOVE, arithmetic="real"
    )
    with pytest.raises(NotSupported, match="grid"):
        quantile_miss(real, failure=0.1)


def test_a_promise_in_words_is_not_below_the_bound() -> None:
    for epsilon in (0.3, 0.7, 1.1, 1.3):
        promised = of_quantile(
            ExponentialQuantile(
                epsilon=epsilon, low=0.0, high=1.0, relation=Relation.ADD_REMOVE, grid_exponent=-8
            )
        )
        said = float(promised.statement.split("at most ")[1].split()[0])
        assert promised.bound <= said <= promised.bound * (1 + 1e-5)
