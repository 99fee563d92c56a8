"""Odometers: the formula by hand, laws of spending, the best adversary, refusals."""

# ruff: noqa: ANN401  # requests of any kind

import math
import sys
import threading
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.renyi_conversion import simple_epsilon
from proofs.support.interactions import Counts, Game, below_exp
from tests.ledger.adversary import POOL

ADD_REMOVE = dpv.Relation.ADD_REMOVE


def after(*mechanisms: Any, **options: Any) -> dpv.Odometer:
    meter = dpv.Odometer(relation=ADD_REMOVE, **options)
    for mechanism in mechanisms:
        meter.spend(mechanism)
    return meter


def test_one_order_by_hand() -> None:
    """ρ = 1/2 at order 3 is γ = 3/2; ε = 3/2 + ln(2/3) − ln(3·δ)/2 with δ = 1/300: ln(100)/2."""
    meter = after(dpv.Gaussian(sigma=1.0), orders=[3.0])
    expected = 1.5 + math.log(2 / 3) + math.log(100) / 2
    assert meter.epsilon(1 / 300).upper == pytest.approx(expected, rel=1e-14)
    assert meter.rho == 0.5


def test_nothing_spent_is_nothing() -> None:
    bracket = dpv.Odometer(relation=ADD_REMOVE).epsilon(1e-9)
    assert (bracket.lower, bracket.upper) == (0.0, 0.0)


def test_the_bracket_names_its_theorem() -> None:
    found = after(dpv.Gaussian(sigma=50.0)).epsilon(1e-6)
    assert found.theorem is not None
    assert found.theorem.name == "renyi-odometer"
    assert found.theorem.proof == "proofs/renyi_odometer.py"


@given(
    sigmas=st.lists(st.floats(5.0, 500.0), min_size=1, max_size=40),
    delta=st.floats(1e-12, 0.1),
)
def test_between_the_fixed_cost_and_each_orders_own(sigmas: list[float], delta: float) -> None:
    """Not below what a fixed sequence costs; not above any single order with its share of δ."""
    meter = after(*(dpv.Gaussian(sigma=sigma) for sigma in sigmas))
    found = meter.epsilon(delta)
    spent = dpv.Accountant(relation=ADD_REMOVE)
    for sigma in sigmas:
        spent = spent.compose(dpv.Gaussian(sigma=sigma))
    static = spent.epsilon(delta)
    assert found.lower <= static.upper
    assert found.lower >= static.lower * (1 - 1e-8)
    assert static.lower <= found.upper
    rho = math.fsum(sigma**-2 / 2 for sigma in sigmas)
    for order, weight in zip(meter.orders, meter.weights, strict=True):
        own = simple_epsilon(order, order * rho * (1 + 1e-12), float(weight) * delta)
        assert found.upper <= own * (1 + 1e-12)


@settings(max_examples=20)
@given(
    first=st.sampled_from([dpv.Gaussian(sigma=9.0), dpv.Laplace(scale=9.0), dpv.PureDP(0.1)]),
    rate=st.floats(0.001, 0.5),
)
def test_spending_more_never_shows_less(first: Any, rate: float) -> None:
    meter = after(first)
    shown = [meter.epsilon(1e-6).upper]
    for mechanism in (dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=rate), dpv.Laplace(scale=50.0)):
        meter.spend(mechanism)
        shown.append(meter.epsilon(1e-6).upper)
    assert shown == sorted(shown)
    assert meter.epsilon(1e-3).upper <= meter.epsilon(1e-6).upper


def test_all_times_at_once_against_the_best_adversary() -> None:
    """Whatever runs, and whenever it stops: Σ(p − e^ε·q)₊ ≤ δ with the ε shown at the end."""
    menu, delta = (POOL[2], POOL[6], POOL[10]), 1 / 50

    @cache
    def ratio(counts: Counts) -> Fraction:
        meter = dpv.Odometer(relation=ADD_REMOVE)
        for pair, times in zip(menu, counts, strict=True):
            if times:
                meter.spend(pair, times=times)
        return below_exp(math.nextafter(meter.epsilon(delta).upper, 0.0))

    game = Game(menu, lambda _, __: True, 3)
    assert max(game.best_gain(ratio, exchanged=way) for way in (False, True)) <= Fraction(delta)


def test_the_least_noise_that_keeps_a_budget() -> None:
    meter = after(*[dpv.Gaussian(sigma=50.0)] * 50)
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    sigma = meter.remaining(dpv.Gaussian, budget=budget)
    after_it = after(*[dpv.Gaussian(sigma=50.0)] * 50, dpv.Gaussian(sigma=sigma))
    too_much = after(*[dpv.Gaussian(sigma=50.0)] * 50, dpv.Gaussian(sigma=sigma * 0.999))
    assert after_it.epsilon(1e-6).upper <= 1.0 < too_much.epsilon(1e-6).upper
    assert meter.remaining(dpv.Gaussian, budget=dpv.ApproxDP(0.1, 1e-6)) == math.inf


def test_leaks_take_their_share_of_delta() -> None:
    leaky = dpv.ApproxDP(epsilon=0.1, delta=1e-8)
    with pytest.raises(dpv.InvalidParameter, match="leak_share"):
        after(leaky)
    meter = after(*[leaky] * 10, leak_share=0.5)
    assert meter.epsilon(1e-6).upper < 2.0
    assert meter.epsilon(1e-7).upper == math.inf  # 1e-7 leaks, of 5e-8


@pytest.mark.parametrize(
    "mechanism",
    [
        dpv.BestOf(dpv.Gaussian(sigma=4.0), runs="poisson", mean=3.0),
        dpv.BestOf(dpv.Laplace(scale=2.0), runs="geometric", mean=3.0),
        dpv.Shuffled(dpv.Gaussian(sigma=2.0), batches=3),
    ],
    ids=["best-gaussian", "best-laplace", "shuffled"],
)
def test_the_lower_end_is_of_actual_runs(mechanism: Any) -> None:
    """A pair that only dominates what is run says nothing from below: its instances do."""
    relation = dpv.Relation.REPLACE_ONE
    meter = dpv.Odometer(relation, leak_share=0.5)
    meter.spend(mechanism)
    fixed = dpv.Accountant(relation=relation).compose(mechanism).epsilon(0.05)
    assert 0.0 < meter.epsilon(0.05).lower <= fixed.lower + 1e-3 < fixed.upper - 0.1


def test_threads_lose_no_request() -> None:
    """4 · 200 requests of μ² = 1/2500: ρ = 800/5000."""
    meter = dpv.Odometer(ADD_REMOVE)
    often = sys.getswitchinterval()

    def work() -> None:
        for _ in range(200):
            meter.spend(dpv.Gaussian(sigma=50.0))

    threads = [threading.Thread(target=work) for _ in range(4)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(often)
    assert meter.rho == 0.16


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_the_ends_of_delta(delta: float) -> None:
    found = after(dpv.Gaussian(sigma=5.0)).epsilon(delta)
    assert found.upper == (0.0 if delta else math.inf)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"relation": "all"}, "relation"),
        ({"orders": []}, "at least one"),
        ({"orders": [math.inf]}, "finite"),
        ({"leak_share": -1}, "leak_share"),
    ],
)
def test_bad_odometers_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(dpv.InvalidParameter, match=told):
        dpv.Odometer(**{"relation": ADD_REMOVE} | options)


def test_what_has_no_bounded_divergence_is_refused() -> None:
    meter = dpv.Odometer(ADD_REMOVE, orders=[2.0, 8.0])
    with pytest.raises(dpv.NotSupported, match="bounded Rényi divergence"):
        meter.spend(dpv.RandomAllocation(dpv.Gaussian(sigma=2.0), steps=3))
    assert meter.epsilon(1e-6).upper == 0.0


def test_bad_questions_are_refused() -> None:
    meter = after(dpv.Gaussian(sigma=5.0))
    with pytest.raises(dpv.InvalidParameter, match="delta=2"):
        meter.epsilon(2)
    with pytest.raises(dpv.InvalidParameter, match="must be an ApproxDP"):
        meter.remaining(dpv.Gaussian, budget=dpv.PureDP(epsilon=1.0))  # type: ignore[arg-type]
    with pytest.raises(dpv.InvalidParameter, match="kind="):
        meter.remaining(3, budget=dpv.ApproxDP(1.0, 1e-6))  # type: ignore[arg-type]
