"""Prices and sums: by hand, and against direct computations of the same divergences."""

# ruff: noqa: ANN401  # requests of any kind

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.parts import Part, part_of
from dpverify.balls import shortened
from dpverify.errors import InvalidParameter
from dpverify.ledger import prices
from dpverify.ledger.amounts import Amount, added, read, written

ADD_REMOVE, REPLACE_ONE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
STEP = dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.1)


def part(mechanism: Any, relation: dpv.Relation = ADD_REMOVE) -> Part:
    return part_of(mechanism, times=1, relation=relation)


@pytest.mark.parametrize(
    ("mechanism", "loss", "spread", "rho"),
    [
        (dpv.Gaussian(sigma=2.0), math.inf, Fraction(1, 4), Fraction(1, 8)),
        (dpv.ZeroConcentratedDP(rho=0.5), math.inf, math.inf, Fraction(1, 2)),
        (dpv.RenyiDP(order=2.0, epsilon=0.5), math.inf, math.inf, math.inf),
        (STEP, math.inf, Fraction(1, 4), Fraction(1, 8)),
    ],
)
def test_prices_by_hand(mechanism: Any, loss: object, spread: object, rho: object) -> None:
    seen = part(mechanism)
    assert prices.largest_loss(seen) == loss
    assert prices.squared_mu(seen) == spread
    assert prices.rho(seen) == rho


def test_pure_prices_are_exact_for_laplace_noise() -> None:
    seen = part(dpv.Laplace(scale=20.0))
    assert prices.largest_loss(seen) == Fraction(1, 20)
    assert prices.rho(seen) == Fraction(1, 800)
    assert prices.squared_mu(seen) > Fraction(1, 400)


@pytest.mark.parametrize(("sigma", "shift"), [(0.5, 1), (0.7, 3), (2.0, 1), (20.0, 2)])
def test_discrete_gaussian_noise_costs_no_less_than_its_divergences(
    sigma: float, shift: int
) -> None:
    """Divergences summed by hand: α·ρ where α·shift is whole, less between; ℓ1 is the worst."""
    seen = part(dpv.DiscreteGaussian(sigma=sigma, sensitivity=shift))
    assert prices.rho(seen) == Fraction(shift) ** 2 / (2 * Fraction(sigma) ** 2)
    assert prices.is_linear(seen)

    def divergence(order: float, moved: int) -> float:
        reach = range(-int(60 * sigma + 50 * shift), int(60 * sigma + 50 * shift) + 1)
        top = order * (order - 1) * moved**2 / (2 * sigma**2)
        parts = (
            math.exp((-order * (k - moved) ** 2 - (1 - order) * k**2) / (2 * sigma**2) - top)
            for k in reach
        )
        total = math.fsum(math.exp(-(k**2) / (2 * sigma**2)) for k in reach)
        return (top + math.log(math.fsum(parts) / total)) / (order - 1)

    for order in (1.3, 1.5, 2.0, 3.7, 8.0, 16.0):
        told, exact = prices.divergence(seen, order), divergence(order, shift)
        assert float(told) >= exact * (1 - 1e-12)
        if order == int(order):
            assert float(told) == pytest.approx(exact, rel=1e-12)
        assert shift * divergence(order, 1) <= float(told) * (1 + 1e-12)  # in as many coordinates
    guard = dpv.Filter(dpv.ZeroConcentratedDP(rho=20.0), ADD_REMOVE)
    assert guard.request(dpv.DiscreteGaussian(sigma=sigma, sensitivity=shift))
    assert guard.spent["rho"] == prices.rho(seen)


def test_a_record_replaced_in_a_sample_moves_twice_as_far() -> None:
    step = dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.1)
    assert prices.squared_mu(part(step, REPLACE_ONE)) == 1
    seen = part(step, REPLACE_ONE).pair
    assert seen is not None
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        bound = dpv.Gaussian(sigma=1.0).pair(REPLACE_ONE).delta(epsilon)
        assert seen.delta(epsilon) <= bound


@pytest.mark.parametrize("order", [1.25, 1.5, 2.5, 7.5])
def test_a_chord_bounds_what_lies_between_whole_orders(order: float) -> None:
    seen = part(dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.05))
    assert seen.pair is not None
    exact = max(seen.pair.renyi(order), seen.pair.reversed.renyi(order))
    assert exact <= prices.divergence(seen, order) <= 2 * exact


@pytest.mark.parametrize("order", [512.0, 4096.0])
def test_high_orders_are_bounded_by_the_noise_alone(order: float) -> None:
    step = part(dpv.Subsampled(dpv.Gaussian(sigma=4.0), rate=0.05))
    assert prices.divergence(step, order) == Fraction(order) / 32


def test_a_leak_and_the_rest() -> None:
    chance, rest = prices.split(part(dpv.ApproxDP(epsilon=0.5, delta=0.25)))
    assert chance == Fraction(1, 4)
    assert rest is not None
    assert prices.largest_loss(rest) == Fraction(1, 2)
    assert prices.split(part(dpv.ApproxDP(epsilon=math.inf))) == (Fraction(1), None)
    assert prices.split(part(dpv.ApproxDP(epsilon=0.0, delta=0.25))) == (Fraction(1, 4), None)


@given(st.lists(st.fractions(0, 100, max_denominator=10**30), min_size=1, max_size=60))
def test_sums_are_never_below_and_stay_short(values: list[Fraction]) -> None:
    total: Any = Fraction()
    for value in values:
        total = added(total, value)
        assert total.denominator.bit_length() <= 640
    exact = sum(values, Fraction())
    assert exact <= total <= exact * (1 + Fraction(1, 2**240))


def test_short_sums_are_exact_and_unknown_ones_stay_unknown() -> None:
    assert added(Fraction(1, 3), Fraction(1, 6)) == Fraction(1, 2)
    assert added(math.inf, Fraction(1)) == math.inf
    assert shortened(Fraction(10**300 + 1, 10**200)) >= Fraction(10**300 + 1, 10**200)


def test_amounts_are_read_as_they_were_written() -> None:
    amounts: dict[str, Amount] = {"rho": Fraction(1, 3), "renyi:8.0": math.inf}
    assert read(written(amounts)) == amounts
    with pytest.raises(InvalidParameter, match="fractions by name"):
        read({"rho": "a third"})
