"""Rare large losses: expanded by their number, and read where no tilt can read them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.numerical.jumps import expand
from dpverify.arrays import Complex
from dpverify.pairs.loss_law import LossLaw


def moment_excess(z: Complex, sigma: float, rate: float) -> Complex:
    """E e^(zL) − 1 for one step with a record removed, as a trapezoid sum of E r^(z+1) − 1."""
    far = float(z.real.max()) + 1.0
    x = np.arange(-9.0 * sigma, far + 9.0 * sigma, sigma / 16.0)
    log_ratio = np.log1p(rate * np.expm1((2.0 * x - 1.0) / (2.0 * sigma**2)))
    weights = np.exp(-x * x / (2.0 * sigma**2)) / math.sqrt(2.0 * math.pi) / 16.0
    return np.asarray((np.expm1(np.multiply.outer(z + 1.0, log_ratio)) * weights).sum(axis=1))


def true_delta(sigma: float, rate: float, times: int, epsilon: float, reach: float) -> float:
    """δ(ε) = 1/(2πi) ∫ M(z)·e^(−zε)/(z(z+1)) dz over Re z = c, for any c > 0.

    Sums of step h add δ(ε + 2πn/h)·e^(2πnc/h) for all n ≠ 0: nothing, where c is not small.
    """

    def height(c: float) -> float:
        excess = float(moment_excess(np.array([c + 0j]), sigma, rate).real[0])
        return times * math.log1p(excess) - c * epsilon

    c = min(np.arange(2.0, 13.0).tolist(), key=height)
    step = 0.2
    z = c + 1j * np.arange(0.0, reach, step)
    excess = np.concatenate([moment_excess(part, sigma, rate) for part in np.array_split(z, 20)])
    x, y = excess.real, excess.imag
    log_moment = np.log1p(x * (2.0 + x) + y * y) / 2.0 + 1j * np.arctan2(y, 1.0 + x)
    terms = (np.exp(times * log_moment - z * epsilon) / (z * (z + 1.0))).real
    found = float((terms.sum() - terms[0] / 2.0) * step / math.pi)
    assert np.abs(terms[-200:]).sum() < 1e-4 * found
    return found


@pytest.mark.parametrize(
    ("sigma", "rate", "times", "delta", "reach"),
    [
        (1.0, 1e-4, 10**5, 1e-13, 1000.0),
        pytest.param(0.5, 1e-6, 10**7, 1e-6, 3000.0, marks=pytest.mark.slow),
    ],
)
def test_steps_that_are_nearly_an_atom(
    sigma: float, rate: float, times: int, delta: float, reach: float
) -> None:
    step = dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=rate)
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(step, times=times)
    found = spent.epsilon(delta=delta)
    assert found.width <= 1e-3
    # Removing a record costs more than adding one here, so it decides both ends.
    assert true_delta(sigma, rate, times, found.upper, reach) <= delta
    assert true_delta(sigma, rate, times, found.lower, reach) >= delta


@pytest.mark.slow
def test_small_deltas_of_steps_that_are_nearly_an_atom() -> None:
    step = dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=1e-4)
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(step, times=10**5)
    found = spent.delta(epsilon=0.2871)
    assert found.lower <= true_delta(1.0, 1e-4, 10**5, 0.2871, 1000.0) <= found.upper
    assert found.width <= 1e-3 * found.upper


def exact_delta(weights: list[tuple[int, Fraction]], unit: float, times: int, at: float) -> float:
    """δ of a product of equal laws on whole multiples of a unit of loss, in rationals."""
    product = {0: Fraction(1)}
    for _ in range(times):
        following: dict[int, Fraction] = {}
        for place, mass in product.items():
            for loss, weight in weights:
                following[place + loss] = following.get(place + loss, Fraction(0)) + mass * weight
        product = following
    return math.fsum(
        -float(mass) * math.expm1(at - place * unit)
        for place, mass in product.items()
        if place * unit > at
    )


@given(
    times=st.integers(3, 12),
    rare=st.integers(6, 40),
    heights=st.lists(st.integers(40, 90), min_size=1, max_size=2, unique=True),
    share=st.floats(0.2, 1.8),
)
@settings(max_examples=12, deadline=None)
def test_terms_add_up_to_the_exact_profile(
    times: int, rare: int, heights: list[int], share: float
) -> None:
    unit = 0.01
    jump = Fraction(1, 2**rare)
    small = 1 - len(heights) * jump
    weights = [(1, small * Fraction(1, 2)), (-1, small * Fraction(1, 2))]
    weights += [(height, jump) for height in heights]
    law = LossLaw(
        losses=np.array([unit * place for place, _ in weights]),
        log_masses=np.array([math.log(mass) for _, mass in weights]),
        loss_error=1e-15,
        mass_error=1e-14,
    )
    epsilon = share * unit * heights[0]
    truth = exact_delta(weights, unit, times, epsilon)
    if truth == 0.0:
        return
    expansion = expand([(law.cut(-700.0, -700.0), times)], epsilon, math.log(truth) - 9.0)
    if expansion is None:
        return
    upper, lower = expansion.compose(epsilon, math.log(truth) - 9.0, unit / 4.0)
    assert math.exp(lower.log_lower(epsilon)) <= truth <= math.exp(upper.log_upper(epsilon))
    assert lower.log_lower(epsilon) >= math.log(truth) - 0.01
    assert upper.log_upper(epsilon) <= math.log(truth) + 0.01


def test_many_different_parts_end() -> None:
    """Ways to have a few jumps are listed one by one, never all 2^60 that there are."""
    laws = [
        LossLaw(losses=np.array([-0.1, 0.1, 5 + k / 64]), log_masses=np.log([0.5, 0.4999, 1e-4]))
        for k in range(60)
    ]
    parts = [(law.cut(-700.0, -700.0), 1) for law in laws]
    assert expand(parts, 5.5, -20.0) is None
