"""Questions at the ends of what floats hold: each ends, with a bound or with one sentence."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dpverify as dpv
from dpverify.accounting.adaptive.batches import no_games
from dpverify.accounting.parts import Part
from dpverify.accounting.rules.rdp import renyi_divergence
from dpverify.errors import InvalidParameter
from dpverify.pairs import GaussianPair, WithoutReplacementPair

ADD_REMOVE, REPLACE_ONE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE


def run(subject: Any, times: int = 1, relation: dpv.Relation = ADD_REMOVE) -> dpv.Accountant:  # noqa: ANN401
    return dpv.Accountant(relation=relation).compose(subject, times=times)


def batch(sigma: float) -> dpv.SubsampledWithoutReplacement:
    return dpv.SubsampledWithoutReplacement(dpv.Gaussian(sigma=sigma), batch=10, population=1000)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: run(dpv.PureDP(epsilon=10**400)), "epsilon=1000.* must be a number that a float"),
        (lambda: run(dpv.PureDP(epsilon=1.0)).delta(epsilon=10**400), "epsilon=1000.* must be"),
        (lambda: run(dpv.PureDP(epsilon=1.0), times=10**30), "times=1000.* must be at most"),
        (lambda: run(run(dpv.PureDP(epsilon=1), times=10**10), times=10**10), "times=.* must be"),
        (lambda: run(dpv.Gaussian), r"subject=Gaussian must be an instance"),
        (lambda: dpv.Subsampled(dpv.Gaussian, rate=0.1), r"mechanism=Gaussian must be an instance"),  # type: ignore[arg-type]
        (lambda: calibrated(None), "budget=None must be a guarantee"),
        (lambda: dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=256), "rate=256 must lie in"),
        (lambda: dpv.SubsampledWithoutReplacement(dpv.Gaussian(sigma=1.0), 9, 8), "batch=9 must"),
    ],
)
def test_one_sentence(ask: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ask()


def calibrated(budget: Any) -> float:  # noqa: ANN401
    return dpv.calibrate(lambda s: dpv.Gaussian(sigma=s), budget=budget, relation=ADD_REMOVE)


@pytest.mark.parametrize("tiny", [1e-15, 1e-20, 1e-100, 1e-300, 1e-320])
def test_what_floats_round_away_is_bounded(tiny: float) -> None:
    noise = dpv.Gaussian(sigma=1.0)
    sampled = run(dpv.Subsampled(noise, rate=tiny), times=10)
    # One step is (0, q·δ(0))-DP, and so ten are at most ten times that.
    most = 10 * tiny * noise.pair(ADD_REMOVE).delta(0.0)
    assert sampled.delta(epsilon=0.0).upper <= most * (1 + 1e-9) + 1e-322
    assert sampled.epsilon(delta=1e-6).upper <= 1e-6
    faint = run(dpv.Laplace(scale=min(1 / tiny, 1e308)), times=10)
    assert faint.epsilon(delta=1e-6).upper <= 10 * tiny * (1 + 1e-9) + 1e-300
    with_more = faint.compose(dpv.Laplace(scale=1.0)).epsilon(delta=1e-6)
    alone = run(dpv.Laplace(scale=1.0)).epsilon(delta=1e-6)
    assert with_more.upper >= alone.lower
    assert with_more.upper <= alone.upper + 10 * tiny + 1e-6


def test_very_many_runs_of_an_equal_part_end() -> None:
    found = run(dpv.PureDP(epsilon=1e-5), times=10**15).epsilon(delta=1e-6)
    # Nearly Gaussian: mean k·ε·tanh(ε/2) and 4.75 to 5.3 standard deviations ε·√k.
    mean, spread = 1e15 * 1e-5 * math.tanh(5e-6), 1e-5 * math.sqrt(1e15)
    assert mean + 4.7 * spread < found.lower <= found.upper < mean + 5.3 * spread


@pytest.mark.parametrize("sigma", [0.02, pytest.param(0.5, marks=pytest.mark.slow), 8.0])
def test_batches_without_replacement_are_compared_and_mixed(sigma: float) -> None:
    spent = run(batch(sigma), times=100, relation=REPLACE_ONE)
    with no_games():  # they have their own tests
        table = spent.compare(delta=1e-5)
    assert {"basic", "advanced", "rdp", "numerical"} <= {row.rule for row in table.rows}
    assert table["rdp"].upper >= table["numerical"].bracket.lower
    mixed = spent.compose(dpv.ZeroConcentratedDP(rho=0.01)).epsilon(delta=1e-5)
    assert mixed.upper >= table["numerical"].bracket.lower
    assert math.isfinite(mixed.upper)


@pytest.mark.parametrize("order", [2.0, 2.5, 5.0, pytest.param(12.0, marks=pytest.mark.slow)])
def test_the_closed_form_bounds_the_integral(order: float) -> None:
    pair = WithoutReplacementPair(GaussianPair(Fraction(36)), 0.25)
    bound = renyi_divergence(Part(pair, 1, "batch"), order)
    assert pair.renyi(order) <= bound
    if order.is_integer():
        assert bound <= pair.renyi(order) * (1 + 1e-6)


def test_a_leak_beside_a_concentrated_part_costs_its_probability() -> None:
    concentrated = run(dpv.ZeroConcentratedDP(rho=0.01), times=100)
    leaky = concentrated.compose(dpv.ApproxDP(epsilon=0.0, delta=1e-10))
    found = leaky.epsilon(delta=1e-6).upper
    assert concentrated.epsilon(delta=1e-6).upper <= found
    assert found <= concentrated.epsilon(delta=1e-6 - 1.0001e-10).upper
    both = concentrated.compose(dpv.ApproxDP(epsilon=0.01, delta=1e-10)).epsilon(delta=1e-6)
    # A Gaussian and a leaky response satisfy the two guarantees.
    instance = run(dpv.GaussianDP(mu=math.sqrt(2))).compose(dpv.ApproxDP(epsilon=0.01, delta=1e-10))
    assert instance.epsilon(delta=1e-6).lower <= both.upper < 7.77
    assert math.isinf(leaky.epsilon(delta=0.5e-10).upper)
    assert leaky.delta(epsilon=7.0).upper <= concentrated.delta(epsilon=7.0).upper + 1.0001e-10


def test_everything_sampled_is_the_mechanism_itself() -> None:
    noise = dpv.Gaussian(sigma=1.0)
    assert dpv.Subsampled(noise, rate=1).pair(ADD_REMOVE) == noise.pair(ADD_REMOVE)
    twice = dpv.Gaussian(sigma=1.0, l2_sensitivity=2.0).pair(REPLACE_ONE)
    assert dpv.Subsampled(noise, rate=1).pair(REPLACE_ONE) == twice
    whole = dpv.SubsampledWithoutReplacement(noise, batch=10, population=10)
    assert whole.pair(REPLACE_ONE) == noise.pair(REPLACE_ONE)
