"""Last iterates: quadratics attain the bound, and a diameter caps it."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter
from dpverify.pairs import GaussianPair
from dpverify.pairs.bounds.between import BetweenPair

ADD = dpv.Relation.ADD_REMOVE


def run(**changed: Any) -> dpv.LastIterate:  # noqa: ANN401
    given: dict[str, Any] = {"sigma": 1.0, "l2_sensitivity": 0.5, "steps": 3, "contraction": 0.5}
    return dpv.LastIterate(**given | changed)


@pytest.mark.parametrize(
    ("given", "squared_mu"),
    [
        ({"steps": 1}, 0.25),  # one Gaussian step
        ({"contraction": 0.0, "steps": 7}, 0.25),  # all but the last step are forgotten
        ({"contraction": 1.0, "steps": 4}, 1.0),  # four steps compose
        ({}, 0.25 * 1.75**2 / 1.3125),
    ],
)
def test_a_table_by_hand(given: dict[str, Any], squared_mu: float) -> None:
    pair = run(**given).pair(ADD)
    assert isinstance(pair, GaussianPair)
    assert float(pair.squared_mu) == pytest.approx(squared_mu, rel=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.0, 1.0), st.integers(1, 60), st.floats(0.1, 10.0))
def test_quadratics_are_exact(contraction: float, steps: int, sigma: float) -> None:
    """x ← c·x + s + noise against x ← c·x + noise: two Gaussians that one can write down."""
    mean = variance = 0.0
    for _ in range(steps):
        mean, variance = contraction * mean + 0.5, contraction**2 * variance + sigma**2
    pair = run(contraction=contraction, steps=steps, sigma=sigma).pair(ADD)
    assert float(pair.squared_mu) == pytest.approx(mean**2 / variance, rel=1e-9)  # type: ignore[attr-defined]
    composed = (0.5 / sigma) ** 2 * steps
    assert float(pair.squared_mu) <= composed * (1.0 + 1e-12)  # type: ignore[attr-defined]


def test_many_steps_cost_no_more_than_a_few() -> None:
    few, many = (run(steps=n, contraction=0.9).pair(ADD).epsilon(1e-6) for n in (200, 10**6))
    assert many == pytest.approx(few, rel=1e-6)


def test_a_diameter_caps_what_convex_steps_cost() -> None:
    """At c = 1: (D + k·s)²/k with k = D/s is 4·D·s, whatever the number of steps."""
    for steps in (100, 10_000):
        pair = run(contraction=1.0, steps=steps, diameter=10.0).pair(ADD)
        assert isinstance(pair, BetweenPair)
        upper = pair.upper
        assert isinstance(upper, GaussianPair)
        assert float(upper.squared_mu) == pytest.approx(20.0, rel=1e-3)
    far = run(contraction=1.0, steps=10, diameter=1e6).pair(ADD)
    assert isinstance(far, BetweenPair)
    assert far.upper == run(contraction=1.0, steps=10).pair(ADD)


def test_projections_may_hide_what_a_quadratic_shows() -> None:
    """The last iterate but one is within TV(6/100) = τ, so δ(0) ≤ (1−τ)·TV(1/100) + τ·TV(6/100)."""
    small = run(sigma=100.0, l2_sensitivity=1.0, steps=50, contraction=0.5, diameter=10.0)
    tau, last = (math.erf(mu / 2**1.5) for mu in (0.06, 0.01))
    found = dpv.Accountant(relation=ADD).compose(small).delta(0.0)
    assert found.lower <= (1 - tau) * last + tau * tau
    assert found.upper >= 0.0069


def test_it_composes_and_calibrates() -> None:
    spent = dpv.Accountant(relation=ADD).compose(run(contraction=0.9, steps=100), times=2)
    assert spent.epsilon(1e-6).width < 1e-12
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    sigma = dpv.calibrate(
        lambda s: run(sigma=s, contraction=0.0, l2_sensitivity=1.0), budget=budget, relation=ADD
    )
    assert sigma == pytest.approx(4.224679, rel=1e-6)
    text = "last_iterate(sigma=1, l2_sensitivity=0.5, steps=3, contraction=0.5)"
    assert parse(text) == [(run(), 1)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": 0.0}, r"^sigma=0.0 must be positive"),
        ({"l2_sensitivity": math.inf}, r"^l2_sensitivity=inf must be positive"),
        ({"steps": 0}, r"^steps=0 must be a whole number"),
        ({"steps": 10**9}, r"^steps=1000000000 must be at most"),
        ({"contraction": 1.5}, r"^contraction=1.5 must lie in"),
        ({"contraction": -0.5}, r"^contraction=-0.5 must lie in"),
        ({"contraction": None}, r"^contraction=None must be a real number"),
        ({"diameter": 0.0}, r"^diameter=0.0 must be positive"),
        ({"diameter": "1"}, r"^diameter='1' must be a real number"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        run(**change)
