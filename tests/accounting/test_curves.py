"""Curves: both ends at every point, against closed forms."""

import math

import numpy as np
import pytest

import dpverify as dpv
from dpverify.accounting.curves import growth, profile, trade_off
from dpverify.pairs import GaussianPair, LaplacePair

ADD = dpv.Relation.ADD_REMOVE


def spent(part: object, times: int) -> dpv.Accountant:
    return dpv.Accountant(relation=ADD).compose(part, times=times)  # type: ignore[arg-type]  # any


def test_profile_brackets_the_closed_form() -> None:
    curve = profile(spent(dpv.Gaussian(sigma=10.0), 100), np.linspace(0.0, 6.0, 13))
    exact = GaussianPair.of(sigma=1.0, sensitivity=1.0)
    truth = np.array([exact.delta(float(x)) for x in curve.x])
    assert (curve.lower <= truth).all()
    assert (truth * (1 - 1e-15) <= curve.upper).all()
    assert (np.diff(curve.upper) <= 0).all()


def test_numerical_profile_brackets_the_closed_form() -> None:
    """One Laplace is not composed, two are: by the numerical rule, against enumeration in time."""
    two = spent(dpv.Laplace(scale=2.0), 2)
    curve = profile(two, [0.0, 0.25, 0.5, 0.75, 0.999])
    once = LaplacePair(scale=2.0, sensitivity=1.0)
    double = LaplacePair(scale=1.0, sensitivity=1.0)
    for x, lower, upper in zip(curve.x, curve.lower, curve.upper, strict=True):
        assert once.delta(float(x)) <= upper  # composing only loses
        assert lower <= double.delta(float(x))  # two shifts of 1/2 are dominated by one of 1


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0])
def test_trade_off_brackets_the_gaussian_curve(mu: float) -> None:
    curve = trade_off(spent(dpv.GaussianDP(mu=mu / 2), 4), np.linspace(0.0, 1.0, 21))
    exact = GaussianPair.of(sigma=1.0, sensitivity=mu)
    truth = np.array([exact.trade_off(float(x)) for x in curve.x])
    assert (curve.lower <= truth + 1e-15).all()
    assert (truth <= curve.upper + 1e-15).all()
    assert (curve.upper - curve.lower).max() < 0.03
    assert (np.diff(curve.lower) <= 1e-15).all()


def test_trade_off_of_what_reveals_all() -> None:
    curve = trade_off(spent(dpv.ApproxDP(epsilon=0.0, delta=0.5), 1), [0.0, 0.25, 1.0])
    assert curve.lower.tolist() == pytest.approx([0.5, 0.25, 0.0], abs=1e-12)
    assert curve.upper.tolist() == pytest.approx([0.5, 0.25, 0.0], abs=1e-12)


def test_growth_ends_at_the_whole_composition() -> None:
    accountant = spent(dpv.PureDP(epsilon=0.1), 100)
    curves = growth(accountant, 1e-6, points=5)
    assert {"basic", "advanced", "optimal", "rdp"} <= set(curves)
    optimal = curves["optimal"]
    assert optimal.x[-1] == 100
    assert optimal.upper[-1] == accountant.epsilon(1e-6).upper
    assert (np.diff(optimal.upper) > 0).all()
    assert curves["basic"].upper == pytest.approx(0.1 * curves["basic"].x)


@pytest.mark.parametrize("bad", [[], [-1.0], [math.nan], [[0.0, 1.0]], "x"])
def test_refuses_what_is_no_list_of_numbers(bad: object) -> None:
    with pytest.raises(dpv.InvalidParameter, match="epsilons="):
        profile(spent(dpv.PureDP(epsilon=0.1), 2), bad)  # type: ignore[arg-type]  # the point
    with pytest.raises(dpv.InvalidParameter, match="false_alarms="):
        trade_off(spent(dpv.PureDP(epsilon=0.1), 2), [1.5])
