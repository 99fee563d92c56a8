"""Noise for a budget is the inverse of composition."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.adaptive.batches import no_games
from dpverify.accounting.parts import Composable
from tests.conftest import examples

ADD = dpv.Relation.ADD_REMOVE


def gaussian(sigma: float) -> dpv.Gaussian:
    return dpv.Gaussian(sigma=sigma)


def test_the_analytic_gaussian() -> None:
    """σ for (1, 1e-6) by the analytic Gaussian mechanism, and √100 times it for 100 queries."""
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    one = dpv.calibrate(gaussian, budget=budget, relation=ADD)
    many = dpv.calibrate(gaussian, budget=budget, relation=ADD, times=100)
    assert one == pytest.approx(4.2246788893, rel=1e-9)
    assert many == pytest.approx(10 * one, rel=1e-11)


def test_laplace_pure_budget_is_the_textbook() -> None:
    found = dpv.calibration(
        lambda s: dpv.Laplace(scale=s), times=7, budget=dpv.PureDP(epsilon=0.5), relation=ADD
    )
    assert found.noise == pytest.approx(14.0, rel=1e-9)
    assert found.spent.upper <= 0.5


@given(
    st.floats(0.05, 20.0),
    st.sampled_from([1e-2, 1e-6, 1e-30]),
    st.integers(1, 500),
    st.booleans(),
)
@settings(max_examples=examples(quick=3, fresh=6), deadline=None)
def test_meets_the_budget_and_a_thousandth_less_does_not(
    epsilon: float,
    delta: float,
    times: int,
    response: bool,  # noqa: FBT001
) -> None:
    def maker(s: float) -> dpv.Gaussian | dpv.RandomizedResponse:
        return dpv.RandomizedResponse(epsilon=1 / s) if response else dpv.Gaussian(sigma=s)

    budget = dpv.ApproxDP(epsilon=epsilon, delta=delta)
    noise = dpv.calibrate(maker, budget=budget, relation=ADD, times=times)
    accountant = dpv.Accountant(relation=ADD)
    assert accountant.compose(maker(noise), times=times).epsilon(delta).upper <= epsilon
    less = accountant.compose(maker(noise * 0.999), times=times).epsilon(delta)
    assert less.lower > epsilon


def test_zero_epsilon_is_met_by_delta_alone() -> None:
    budget = dpv.ApproxDP(epsilon=0.0, delta=1e-3)
    sigma = dpv.calibrate(gaussian, budget=budget, relation=ADD)
    assert dpv.Gaussian(sigma=sigma).pair(ADD).delta(0.0) <= 1e-3
    # δ(0) = 2Φ(μ/2) − 1 ≈ μ/√(2π)
    assert sigma == pytest.approx(1 / (1e-3 * math.sqrt(2 * math.pi)), rel=1e-5)


@pytest.mark.parametrize("budget", [dpv.PureDP(epsilon=1.0), dpv.ApproxDP(epsilon=0.0)])
def test_says_when_no_noise_is_enough(budget: dpv.PureDP | dpv.ApproxDP) -> None:
    with pytest.raises(dpv.InvalidParameter, match="no noise is enough"):
        dpv.calibrate(gaussian, budget=budget, relation=ADD)


@pytest.mark.parametrize(
    "budget", [dpv.PureDP(epsilon=math.inf), dpv.ApproxDP(epsilon=1.0, delta=1.0)]
)
def test_says_when_any_noise_is_enough(budget: dpv.PureDP | dpv.ApproxDP) -> None:
    with pytest.raises(dpv.InvalidParameter, match="must be finite, with a delta below 1"):
        dpv.calibrate(gaussian, budget=budget, relation=ADD)


@pytest.mark.parametrize(("name", "value"), [("times", 0), ("times", 1.5), ("precision", 0.0)])
def test_refuses_bad_arguments(name: str, value: object) -> None:
    with pytest.raises(dpv.InvalidParameter, match=f"{name}="):
        dpv.calibrate(gaussian, budget=dpv.PureDP(epsilon=1.0), relation=ADD, **{name: value})  # type: ignore[arg-type]  # the point


@pytest.mark.parametrize(
    ("factory", "times"),
    [
        (
            lambda s: dpv.SubsampledWithoutReplacement(
                dpv.Gaussian(sigma=s, l2_sensitivity=2.0), batch=10, population=100
            ),
            20,
        ),
        (lambda s: dpv.RenyiDP(order=8.0, epsilon=1.0 / s), 5),
    ],
)
def test_where_the_ends_stay_apart_the_upper_one_meets_the_budget(
    factory: Callable[[float], Composable], times: int
) -> None:
    budget, relation = dpv.ApproxDP(epsilon=2.0, delta=1e-5), dpv.Relation.REPLACE_ONE
    found = dpv.calibration(factory, times=times, budget=budget, relation=relation)
    assert found.spent.upper <= budget.epsilon
    less = dpv.Accountant(relation=relation).compose(factory(0.999 * found.noise), times=times)
    with no_games():  # as searches do
        assert less.epsilon(budget.delta, tolerance=1e-4).upper > budget.epsilon
    assert found.insufficient < found.noise


@pytest.mark.parametrize(
    "factory",
    [
        lambda s: dpv.BestOf(dpv.Gaussian(s), runs="geometric", mean=5.0),
        lambda s: dpv.Subsampled(dpv.Gaussian(s), rate=0.1, records=3),
    ],
)
def test_too_little_time_is_said(factory: Callable[[float], Composable]) -> None:
    """It may be enough for a machine that has made the pair before: then the budget is met."""
    budget, relation = dpv.ApproxDP(3.0, 1e-5), dpv.Relation.ADD_REMOVE
    try:
        noise = dpv.calibrate(factory, budget=budget, relation=relation, seconds=0.0)
    except dpv.DPVerifyError as error:
        told = str(error)
    else:
        spent = dpv.Accountant(relation=relation).compose(factory(noise)).epsilon(1e-5)
        told = "seconds must be more" if spent.upper <= 3.0 else f"{spent} exceeds the budget"
    assert told.startswith("seconds must be more")


@pytest.mark.slow
def test_noise_without_exact_costs_has_its_evidence() -> None:
    """Brackets of ε that stay apart: less noise than their width is worth breaks the budget."""
    found = dpv.calibration(
        lambda s: dpv.Shuffled(dpv.Gaussian(s), batches=2),
        budget=dpv.ApproxDP(1.0, 1e-5),
        relation=dpv.Relation.REPLACE_ONE,
        precision=0.01,
    )
    assert 0.0 < found.insufficient < found.noise
