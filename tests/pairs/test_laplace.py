"""Laplace(Δ, b) against Laplace(0, b)."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.balls import ball, float_above
from dpverify.errors import InvalidParameter
from dpverify.pairs import LaplacePair
from tests.pairs.reference import encloses, laplace_density, laplace_profile

SHIFTS = [1e-150, 1e-9, 0.5, 1.0, 30.0, 700.0, 1e150]


def laplace(shift: float) -> LaplacePair:
    return LaplacePair(scale=1.0, sensitivity=shift)


def test_values_by_hand() -> None:
    pair = laplace(2.0 * math.log(2.0))  # a = ln 4
    # 1 − e^((ε−a)/2): at ε = 0 this is 1 − 1/2, and at ε = ln 2 it is 1 − 1/√2.
    assert pair.delta(0.0) == pytest.approx(1 / 2, rel=1e-15)
    assert pair.delta(math.log(2.0)) == pytest.approx(1 - math.sqrt(0.5), rel=1e-14)
    # 1 − 4α up to α = 1/8, then 1/(16α), then (1 − α)/4 from α = 1/2 on.
    for false_alarm, miss in [(1 / 16, 3 / 4), (1 / 8, 1 / 2), (1 / 4, 1 / 4), (3 / 4, 1 / 16)]:
        assert pair.trade_off(false_alarm) == pytest.approx(miss, rel=1e-15)
    assert pair.renyi(1.0) == pytest.approx(math.log(4) - 3 / 4, rel=1e-15)
    assert pair.renyi(2.0) == pytest.approx(math.log((2 * 4 + 1 / 16) / 3), rel=1e-15)
    assert pair.renyi(math.inf) == pair.max_loss == 2.0 * math.log(2.0)


def test_limits() -> None:
    pair = LaplacePair(scale=3.0, sensitivity=1.0)
    assert pair.reversed is pair
    assert pair.delta(math.inf) == 0.0
    assert (pair.trade_off(0.0), pair.trade_off(1.0)) == (1.0, 0.0)
    # a = 1/3 is no float: both ends of its bracket are needed.
    found = pair.epsilon_bracket(0.0)
    assert Fraction(found.lower) < Fraction(1, 3) < Fraction(found.upper)
    assert pair.epsilon(1.0) == 0.0


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("fraction", [0.0, 1e-300, 1e-6, 0.5, 0.999999, 1.0, 2.0])
def test_profile_against_mpmath(shift: float, fraction: float) -> None:
    epsilon = shift * fraction
    found = laplace(shift).delta_bracket(epsilon)
    with mp.workdps(800):
        assert encloses(found.lower, laplace_profile(mp.mpf(shift), mp.mpf(epsilon)), found.upper)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("delta", [1e-300, 1e-20, 0.1, 0.9])
def test_inverse_against_mpmath(shift: float, delta: float) -> None:
    found = laplace(shift).epsilon_bracket(delta)
    with mp.workdps(800):
        truth = max(mp.mpf(0), mp.mpf(shift) + 2 * mp.log1p(-mp.mpf(delta)))
        assert encloses(found.lower, truth, found.upper)


@pytest.mark.parametrize("shift", [1e-9, 0.5, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.0, 2.9])
def test_profile_against_quadrature(shift: float, epsilon: float) -> None:
    """∫ (p − e^ε·q)₊ with nothing known but the two densities."""
    with mp.workdps(30):
        a, growth = mp.mpf(shift), mp.exp(mp.mpf(epsilon))
        corner = (a + epsilon) / 2 if epsilon < a else a
        points = sorted({mp.mpf(-60), mp.mpf(0), corner, a, a + 60})

        def positive_part(x: mp.mpf) -> mp.mpf:
            return max(laplace_density(x, a) - growth * laplace_density(x, mp.mpf(0)), mp.mpf(0))

        integral = mp.quad(positive_part, points)
        assert abs(laplace(shift).delta(epsilon) - integral) < 1e-16


@pytest.mark.parametrize("shift", [0.1, 2.0])
@pytest.mark.parametrize("order", [1.0, 1.5, 8.0])
def test_renyi_against_quadrature(shift: float, order: float) -> None:
    with mp.workdps(30):
        a = mp.mpf(shift)

        def integrand(x: mp.mpf) -> mp.mpf:
            p, loss = laplace_density(x, a), abs(x) - abs(x - a)
            return p * (loss if order == 1.0 else mp.exp((order - 1) * loss))

        value = mp.quad(integrand, [-80, 0, a, a + 80])
        divergence = value if order == 1.0 else mp.log(value) / (order - 1)
        assert laplace(shift).renyi(order) == pytest.approx(float(divergence), rel=1e-14)


@pytest.mark.parametrize("shift", [0.1, 1.0, 5.0])
def test_trade_off_is_dual_to_the_profile(shift: float) -> None:
    """f(α) = max over t of 1 − δ(t) − t·α, the maximum taken over a fine grid of t."""
    ratios = np.exp(np.linspace(-shift, shift, 20001))
    deltas = np.maximum(1 - np.sqrt(ratios * math.exp(-shift)), np.maximum(1 - ratios, 0))
    for false_alarm in (1e-6, 0.01, 0.2, 0.5, 0.7, 0.999):
        best = float((1 - deltas - ratios * false_alarm).max())
        assert laplace(shift).trade_off(false_alarm) == pytest.approx(best, abs=1e-6)


def test_a_ball_across_a_joint_of_the_curve_is_enclosed() -> None:
    pair = laplace(math.log(4.0))
    wide = ball(0.5).union(ball(0.5 + 2.0**-40))
    found = pair.trade_off_ball(wide)
    for inside in (0.5, 0.5 + 2.0**-41, 0.5 + 2.0**-40):
        assert found.overlaps(pair.trade_off_ball(ball(inside)))
    edge = ball(0.125).union(ball(0.125 + 2.0**-40))
    assert pair.trade_off_ball(edge).overlaps(pair.trade_off_ball(ball(0.125 + 2.0**-41)))


def product_profile(first: float, second: float, epsilon: float) -> mp.mpf:
    """The profile of two Laplace pairs together: the mean over the first loss of the second's."""
    s, t = mp.mpf(first), mp.mpf(second)

    def at_loss(loss: mp.mpf) -> mp.mpf:
        return laplace_profile(t, mp.mpf(epsilon) - loss)

    def inside(x: mp.mpf) -> mp.mpf:
        return laplace_density(x, s) * at_loss(2 * x - s)

    # Below 0 the loss is −s and beyond s it is s, with P-masses e^(−s)/2 and 1/2.
    ends = mp.exp(-s) / 2 * at_loss(-s) + at_loss(s) / 2
    corners = {c for c in ((s + epsilon - t) / 2, (s + epsilon + t) / 2) if 0 < c < s}
    return ends + mp.quad(inside, sorted({mp.mpf(0), s, *corners}))


@given(st.floats(0.01, 4.0), st.floats(0.01, 4.0), st.floats(0.0, 1.0))
def test_one_shift_dominates_two(first: float, second: float, fraction: float) -> None:
    """Shifts s and t in two coordinates are dominated by s + t in one, at every ε."""
    epsilon = fraction * (first + second)
    with mp.workdps(25):
        together = product_profile(first, second, epsilon)
        one = laplace_profile(mp.mpf(first) + mp.mpf(second), mp.mpf(epsilon))
        assert together <= one + mp.mpf(10) ** -20
        pair = LaplacePair(scale=1.0, sensitivity=float_above(ball(first) + ball(second)))
        assert pair.delta(epsilon) >= together - mp.mpf(10) ** -20


@pytest.mark.parametrize(("first", "second", "epsilon"), [(1.0, 1.0, 0.5), (0.3, 2.0, 1.0)])
def test_the_product_by_brute_force(first: float, second: float, epsilon: float) -> None:
    """The same profile once more, by the midpoint rule over the plane of both outputs."""
    step = 0.01
    grid = np.arange(-14.0, 18.0, step) + step / 2

    def density(center: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return step * np.exp(-np.abs(grid - center)) / 2

    both = np.outer(density(first), density(second))
    neither = np.outer(density(0.0), density(0.0))
    brute = float(np.maximum(both - math.exp(epsilon) * neither, 0.0).sum())
    assert brute == pytest.approx(float(product_profile(first, second, epsilon)), abs=2e-5)
    assert brute < laplace(first + second).delta(epsilon)


@pytest.mark.parametrize(
    ("scale", "sensitivity", "message"),
    [
        (0.0, 1.0, "scale=0.0 must be positive and finite"),
        (1.0, -2.0, "sensitivity=-2.0 must be positive and finite"),
        (math.nan, 1.0, "scale=nan must be a real number"),
        (1.0, "2", "sensitivity='2' must be a real number"),
    ],
)
def test_bad_parameters_are_named(scale: float, sensitivity: float, message: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        LaplacePair(scale=scale, sensitivity=sensitivity)
    assert str(error.value) == message
