"""What an attacker can do, against closed forms, exact tests of finite pairs, and bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import dpverify as dpv
from tests.conftest import examples

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE


def spent(subject: dpv.Guarantee | dpv.Pair, times: int = 1) -> dpv.Accountant:
    return dpv.Accountant(relation=ADD).compose(subject, times=times)


@pytest.mark.parametrize(
    ("alarm", "rate"),
    [
        (0.0, 0.0),
        (1 / 8, 3 / 8),  # three times the false alarms
        (1 / 4, 3 / 4),  # the corner: 1/4 and 3/4 are the two answers
        (1 / 2, 5 / 6),  # 1 − (1 − 1/2)/3
        (1.0, 1.0),
    ],
)
def test_randomized_response_with_odds_three(alarm: float, rate: float) -> None:
    found = dpv.risk(dpv.PureDP(math.log(3))).true_positive_rate(alarm)
    assert found.lower <= rate + 1e-12
    assert found.upper == pytest.approx(rate, abs=1e-12)


def test_the_rest_by_hand() -> None:
    risk = dpv.risk(dpv.PureDP(math.log(3)))
    assert risk.advantage().upper == pytest.approx(1 / 2)  # (3 − 1)/(3 + 1)
    assert risk.posterior(prior=0.5).upper == pytest.approx(3 / 4)
    assert risk.posterior(prior=0.1).upper == pytest.approx(1 / 4)  # odds 1 : 9 become 3 : 9
    assert risk.success(prior=0.5).upper == pytest.approx(3 / 4)
    assert risk.success(prior=0.2).upper == pytest.approx(0.8)  # odds 1 : 4 stay below 1 : 1
    found = risk.positive_predictive_value(1 / 8, prior=0.1)
    assert found.upper == pytest.approx(1 / 4)  # 0.1·3/8 of 0.1·3/8 + 0.9/8
    assert risk.reconstruction(1 / 8).upper == pytest.approx(3 / 8)
    assert risk.singling_out(10, 0.01).upper == pytest.approx(0.3)
    assert risk.singling_out(10, 0.01).lower == pytest.approx(0.1 * 0.99**9)


@given(st.floats(0.01, 6.0), st.floats(1e-12, 0.999))
def test_gaussian_noise(mu: float, alarm: float) -> None:
    found = dpv.risk(dpv.GaussianDP(mu)).true_positive_rate(alarm, tolerance=1e-6)
    exact = float(norm.sf(norm.isf(alarm) - mu))
    assert found.lower <= exact * (1 + 1e-9)
    assert exact <= found.upper * (1 + 1e-9)
    assert found.width <= 1.01e-6 * found.upper


weights = st.lists(st.integers(1, 9), min_size=2, max_size=4)


@given(weights, st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=60))
def test_both_directions_of_a_finite_pair(masses: list[int], alarm: Fraction) -> None:
    """The rate is above that of either direction, and attained where they are the same."""
    total = sum(masses)
    left = [Fraction(m, total) for m in masses]
    uneven = dpv.FinitePair(left=left, right=[Fraction(1, len(left))] * len(left))
    found = spent(uneven).true_positive_rate(alarm, tolerance=1e-6)
    for side in (uneven, uneven.reversed):
        assert 1 - side.exact_trade_off(alarm) <= Fraction(found.upper)
    even = dpv.FinitePair(left=left, right=left[::-1])
    found = spent(even).true_positive_rate(alarm, tolerance=1e-6)
    assert Fraction(found.lower) <= 1 - even.exact_trade_off(alarm) <= Fraction(found.upper)
    assert found.width <= 1.01e-6


@given(st.floats(0.05, 3.0), st.floats(0.01, 0.99))
@settings(max_examples=examples(quick=8))
def test_risks_agree_with_each_other(mu: float, prior: float) -> None:
    """No rate exceeds its false alarms by more than the advantage, and one guess is half of it."""
    risk = dpv.risk(dpv.GaussianDP(mu))
    advantage = risk.advantage()
    for alarm in (0.01, 0.3, 0.9):
        found = risk.true_positive_rate(alarm)
        assert found.lower - alarm <= advantage.upper
        assert risk.positive_predictive_value(alarm, prior).upper >= prior * (1 - 1e-12)
    assert risk.success(0.5).upper == pytest.approx((1 + advantage.upper) / 2)
    assert risk.success(prior).upper == pytest.approx(risk.success(1 - prior).upper)
    assert risk.success(prior).upper >= max(prior, 1 - prior)
    assert risk.posterior(prior).upper == 1.0  # some output leaves hardly a doubt


def test_subsampled_steps_against_the_profile_on_a_grid() -> None:
    """An upper bound from every ε of a grid is not below the lower end, the best of them near."""
    steps = dpv.Accountant(relation=ADD).compose(
        dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.02), times=200
    )
    found = steps.true_positive_rate(0.05)
    grid = np.linspace(0.0, 2.0, 21)
    bounds = [steps.delta(float(e), tolerance=1e-2).upper + 0.05 * math.exp(e) for e in grid]
    assert found.lower <= min(bounds)
    assert found.upper <= min(bounds) * (1 + 1e-3)
    assert found.width <= 1e-3 * found.upper


def test_extremes() -> None:
    nothing = dpv.Accountant(relation=ADD)
    assert nothing.true_positive_rate(0.3).upper == pytest.approx(0.3)
    assert nothing.advantage().upper == 0.0
    everything = dpv.risk(dpv.ApproxDP(math.inf, 0.0))
    assert everything.true_positive_rate(1e-300).lower == pytest.approx(1.0)
    assert everything.posterior(0.01).upper == 1.0
    leak = dpv.risk(dpv.ApproxDP(0.0, 1e-300))
    assert leak.true_positive_rate(0.0).upper == pytest.approx(1e-300, rel=1e-12)
    assert leak.true_positive_rate(1e-300).upper == pytest.approx(2e-300, rel=1e-3)
    steep = dpv.risk(dpv.PureDP(700.0))
    assert steep.true_positive_rate(1e-305).upper == pytest.approx(math.exp(700) * 1e-305)
    assert dpv.risk(dpv.PureDP(1)).success(0).upper == 1.0
    assert dpv.risk(dpv.PureDP(1)).posterior(1).lower == 1.0


@pytest.mark.parametrize("alarm", [5e-324, 1e-310, 1e-304, 1 - 1e-6, 1 - 1e-8, 1 - 2.0**-53])
def test_rates_at_either_end_are_bounds(alarm: float) -> None:
    """e·α for randomized response near 0, 1 − (1 − α)/e near 1."""
    found = dpv.risk(dpv.PureDP(1.0)).true_positive_rate(alarm)
    exact = min(math.e * alarm, 1 - (1 - alarm) / math.e)
    assert found.lower <= exact <= found.upper
    assert found.upper <= max(1.001 * exact, 1e-304)


def test_guarantees_without_a_worst_pair_are_bounded() -> None:
    """zCDP holds a Gaussian: its rate is below the upper end."""
    found = dpv.risk(dpv.ZeroConcentratedDP(0.5)).true_positive_rate(0.05)
    gaussian = dpv.risk(dpv.GaussianDP(1.0)).true_positive_rate(0.05)
    assert found.lower <= gaussian.upper
    assert gaussian.lower <= found.upper < 1.0


@pytest.mark.parametrize("number", [np.float32(0.25), np.float64(0.25), Fraction(1, 4)])
def test_every_kind_of_number(number: float) -> None:
    risk = dpv.risk(dpv.PureDP(1.0))
    assert risk.true_positive_rate(number) == risk.true_positive_rate(0.25)
    assert risk.posterior(number) == risk.posterior(0.25)
    assert risk.success(number) == risk.success(0.25)
    assert risk.reconstruction(number) == risk.reconstruction(0.25)
    assert risk.singling_out(100, number) == risk.singling_out(100, 0.25)


def test_a_theorem_stands_behind_every_number() -> None:
    risk = dpv.risk(dpv.GaussianDP(1.0))
    named = [
        risk.true_positive_rate(0.1),
        risk.posterior(),
        risk.success(),
        risk.positive_predictive_value(0.1),
        risk.reconstruction(0.1),
        risk.singling_out(10, 0.1),
    ]
    names = [found.theorem.name if found.theorem else "" for found in named]
    assert names == ["trade-off", *["attack-risk"] * 3, "reconstruction", "singling-out"]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, "0.5", None, True])
def test_what_is_no_probability_is_refused(wrong: float) -> None:
    risk = dpv.risk(dpv.PureDP(1.0))
    with pytest.raises(dpv.InvalidParameter, match="false_positive_rate"):
        risk.true_positive_rate(wrong)
    with pytest.raises(dpv.InvalidParameter, match="prior"):
        risk.posterior(wrong)
    with pytest.raises(dpv.InvalidParameter, match="baseline"):
        risk.reconstruction(wrong)
    with pytest.raises(dpv.InvalidParameter, match="prior"):
        risk.success(wrong)
    with pytest.raises(dpv.InvalidParameter, match="weight"):
        risk.singling_out(5, wrong)


def test_refusals() -> None:
    with pytest.raises(dpv.InvalidParameter, match="relation"):
        dpv.risk(dpv.Gaussian(sigma=1.0))
    with pytest.raises(dpv.InvalidParameter, match="relation"):
        dpv.risk(dpv.Accountant(relation=ADD), relation=REPLACE)
    with pytest.raises(dpv.InvalidParameter, match="instance"):
        dpv.risk(dpv.PureDP)  # type: ignore[arg-type]
    with pytest.raises(dpv.InvalidParameter, match="records"):
        dpv.risk(dpv.PureDP(1.0)).singling_out(0, 0.1)


def test_noise_for_a_risk() -> None:
    """σ for one Gaussian answer: the test at 5 % finds 10 % where μ = z(0.05) − z(0.1)."""
    budget = dpv.AttackRisk(true_positive_rate=0.1, false_positive_rate=0.05)
    sigma = dpv.calibrate(lambda s: dpv.Gaussian(sigma=s), budget=budget, relation=ADD)
    assert sigma == pytest.approx(1 / (norm.isf(0.05) - norm.isf(0.1)), rel=2e-4)
    implied = dpv.ApproxDP(math.log((0.1 - 1e-5) / 0.05), 1e-5)
    assert dpv.calibrate(lambda s: dpv.Gaussian(sigma=s), budget=implied, relation=ADD) > sigma


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "an advantage alone, or both rates"),
        ({"advantage": 0.1, "true_positive_rate": 0.2}, "an advantage alone, or both rates"),
        ({"true_positive_rate": 0.2}, "an advantage alone, or both rates"),
        (
            {"advantage": 0.1, "true_positive_rate": 0.2, "false_positive_rate": 0.1},
            "an advantage alone, or both rates",
        ),
        ({"true_positive_rate": 0.1, "false_positive_rate": 0.1}, "guessing blindly"),
        ({"true_positive_rate": 1, "false_positive_rate": 0.1}, "true_positive_rate=1"),
        ({"advantage": 1}, "advantage=1"),
        ({"advantage": math.nan}, "advantage=nan"),
    ],
)
def test_risks_that_are_no_budget(options: dict[str, float], message: str) -> None:
    with pytest.raises(dpv.InvalidParameter, match=message):
        dpv.AttackRisk(**options)
