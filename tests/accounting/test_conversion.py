"""Conversions exist only where a theorem gives them, and are upper bounds."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv


@pytest.mark.parametrize(
    ("guarantee", "expected", "theorem"),
    [
        (dpv.PureDP(epsilon=1.0), dpv.ZeroConcentratedDP(rho=0.5), "pure-to-zcdp"),
        (dpv.ApproxDP(epsilon=2.0), dpv.ZeroConcentratedDP(rho=2.0), "pure-to-zcdp"),
        (dpv.GaussianDP(mu=2.0), dpv.ZeroConcentratedDP(rho=2.0), "gdp-to-zcdp"),
        (dpv.PureDP(epsilon=math.inf), dpv.ZeroConcentratedDP(rho=math.inf), "pure-to-zcdp"),
    ],
)
def test_to_zcdp(guarantee: dpv.Guarantee, expected: dpv.Guarantee, theorem: str) -> None:
    found = dpv.to_zcdp(guarantee)
    assert found.guarantee == expected
    assert found.theorem.name == theorem


@pytest.mark.parametrize(
    "guarantee",
    [
        dpv.ApproxDP(epsilon=1.0, delta=1e-9),
        dpv.RenyiDP(order=2.0, epsilon=1.0),
    ],
)
def test_what_no_theorem_gives_is_refused(guarantee: dpv.Guarantee) -> None:
    with pytest.raises(dpv.NotSupported, match="must be pure"):
        dpv.to_zcdp(guarantee)
    with pytest.raises(dpv.NotSupported, match="must be pure"):
        dpv.to_gdp(guarantee)


def test_to_gdp_and_to_renyi() -> None:
    assert dpv.to_gdp(dpv.PureDP(epsilon=0.0)).guarantee == dpv.GaussianDP(mu=0.0)
    assert dpv.to_gdp(dpv.GaussianDP(mu=3.0)).guarantee == dpv.GaussianDP(mu=3.0)
    assert dpv.to_gdp(dpv.PureDP(epsilon=math.inf)).guarantee == dpv.GaussianDP(mu=math.inf)
    assert dpv.to_renyi(dpv.ZeroConcentratedDP(rho=0.5), order=4.0).guarantee == dpv.RenyiDP(
        order=4.0, epsilon=2.0
    )
    assert dpv.to_renyi(dpv.GaussianDP(mu=1.0), order=4.0).guarantee == dpv.RenyiDP(
        order=4.0, epsilon=2.0
    )
    lower = dpv.to_renyi(dpv.RenyiDP(order=8.0, epsilon=1.0), order=4.0)
    assert lower.guarantee == dpv.RenyiDP(order=4.0, epsilon=1.0)
    with pytest.raises(dpv.NotSupported, match="order 16"):
        dpv.to_renyi(dpv.RenyiDP(order=8.0, epsilon=1.0), order=16.0)
    pure = dpv.to_renyi(dpv.PureDP(epsilon=1.0), order=math.inf).guarantee
    assert pure == dpv.RenyiDP(order=math.inf, epsilon=1.0)


@given(st.floats(0.01, 5.0), st.sampled_from([1e-3, 1e-9]))
@settings(max_examples=25, deadline=None)
def test_longer_ways_round_are_never_tighter(epsilon: float, delta: float) -> None:
    """Pure → zCDP → (ε, δ) cannot beat pure → (ε, δ); nor can the way through Gaussian DP."""
    start = dpv.PureDP(epsilon=epsilon)
    direct = dpv.to_approx(start, delta=delta).guarantee
    for step in (dpv.to_zcdp(start), dpv.to_gdp(start)):
        around = dpv.to_approx(step.guarantee, delta=delta).guarantee
        assert direct.epsilon <= around.epsilon  # type: ignore[union-attr]  # both ApproxDP


@pytest.mark.parametrize(
    ("guarantee", "delta", "expected"),
    [
        (dpv.PureDP(epsilon=math.log(3)), 0.25, math.log(2)),
        (dpv.ApproxDP(epsilon=1.0, delta=0.1), 0.05, math.inf),
        (dpv.ApproxDP(epsilon=1.0, delta=0.1), 0.1, 1.0),
        (dpv.GaussianDP(mu=math.inf), 1.0, 0.0),
        (dpv.GaussianDP(mu=math.inf), 0.9, math.inf),
        (dpv.GaussianDP(mu=1.0), 0.12693673750664397, 1.0),
    ],
)
def test_to_approx_by_hand(guarantee: dpv.Guarantee, delta: float, expected: float) -> None:
    found = dpv.to_approx(guarantee, delta=delta).guarantee
    assert found.epsilon == pytest.approx(expected, rel=1e-14)  # type: ignore[union-attr]  # ApproxDP
