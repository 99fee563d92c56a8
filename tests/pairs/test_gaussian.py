"""N(μ, 1) against N(0, 1)."""

import math
from fractions import Fraction
from functools import cache

import mpmath as mp
import pytest

from dpverify.errors import InvalidParameter
from dpverify.pairs import GaussianPair
from dpverify.pairs.gaussian import crossing
from tests.pairs.reference import encloses, gaussian_profile, normal_cdf

MUS = [1e-150, 1e-20, 1e-3, 0.5, 1.0, 10.0, 1e5, 1e150]
EPSILONS = [0.0, 1e-300, 1e-10, 0.5, 1.0, 30.0, 700.0, 5e3]
DELTAS = [1e-300, 1e-100, 1e-6, 0.1, 0.9]


def test_values_by_hand() -> None:
    pair = GaussianPair.of(sigma=1.0, sensitivity=1.0)
    # 2Φ(1/2) − 1 = erf(1/√8), and Φ(Φ⁻¹(1/2) − 1) = Φ(−1), from tables of the normal law.
    assert pair.delta(0.0) == pytest.approx(0.3829249225480262, rel=1e-15)
    assert pair.trade_off(0.5) == pytest.approx(0.15865525393145707, rel=1e-15)
    assert pair.renyi(2.0) == 1.0
    assert pair.renyi(1.0) == 0.5
    assert pair.renyi(math.inf) == math.inf
    assert GaussianPair.of(sigma=4.0, sensitivity=2.0).squared_mu == Fraction(1, 4)


@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.5, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-100, 1e-6, 0.1])
def test_the_crossing_in_floats_is_close(mu: float, delta: float) -> None:
    exact = GaussianPair(Fraction(mu) ** 2).epsilon(delta)
    found = crossing(mu, delta)
    assert found == pytest.approx(exact, rel=1e-8) or found == 0.0
    assert found > 0.0 or exact == 0.0 or exact > 300


@pytest.mark.parametrize("mu", [1e-200, 1e160, 1e200])
def test_where_floats_know_no_crossing_the_inverse_is_found_all_the_same(mu: float) -> None:
    pair = GaussianPair(Fraction(mu) ** 2)
    found = pair.epsilon_bracket(1e-6)
    assert pair.delta_bracket(found.upper).lower <= 1e-6


def test_limits() -> None:
    pair = GaussianPair(Fraction(1))
    assert pair.delta(math.inf) == 0.0
    assert pair.epsilon(0.0) == math.inf
    assert pair.epsilon(1.0) == 0.0
    assert (pair.trade_off(0.0), pair.trade_off(1.0)) == (1.0, 0.0)
    assert pair.reversed is pair
    nothing = GaussianPair(Fraction(0))
    assert (nothing.delta(0.0), nothing.epsilon(0.0), nothing.renyi(7.0)) == (0.0, 0.0, 0.0)
    assert nothing.trade_off(0.25) == 0.75
    assert nothing.profile_ball(-nothing.mu) == 0


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_profile_against_mpmath(mu: float, epsilon: float) -> None:
    found = GaussianPair(Fraction(mu) ** 2).delta_bracket(epsilon)
    with mp.workdps(700):
        assert encloses(found.lower, gaussian_profile(mp.mpf(mu), mp.mpf(epsilon)), found.upper)


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", DELTAS)
def test_inverse_against_mpmath(mu: float, delta: float) -> None:
    found = GaussianPair(Fraction(mu) ** 2).epsilon_bracket(delta)
    assert math.nextafter(found.lower, math.inf) >= found.upper
    with mp.workdps(700):
        assert gaussian_profile(mp.mpf(mu), mp.mpf(found.upper)) <= delta
        if found.lower > 0.0:
            assert gaussian_profile(mp.mpf(mu), mp.mpf(found.lower)) >= delta


@cache
def normal_threshold(false_alarm: float) -> mp.mpf:
    """At the precision of the caller, the same for the same rate."""
    return mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(false_alarm))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mu", [1e-150, 1e-3, 1.0, 10.0, 1e150])
@pytest.mark.parametrize("false_alarm", [1e-300, 1e-9, 0.3, 0.5, 0.999999])
def test_trade_off_against_mpmath(mu: float, false_alarm: float) -> None:
    found = GaussianPair(Fraction(mu) ** 2).trade_off(false_alarm)
    with mp.workdps(700 if false_alarm < 1e-100 else 350):
        threshold = normal_threshold(false_alarm)
        assert encloses(found, normal_cdf(threshold - mu), math.nextafter(found, math.inf))


@pytest.mark.parametrize("order", [1.0001, 2.0, 64.0])
def test_renyi_against_quadrature(order: float) -> None:
    mu = 0.75
    with mp.workdps(30):
        center = order * mu  # where the integrand p^α·q^(1−α) peaks
        points = [center - 12, center, center + 12]
        moment = mp.quad(
            lambda x: mp.npdf(x, mu, 1) ** order * mp.npdf(x, 0, 1) ** (1 - order), points
        )
        assert GaussianPair(Fraction(mu) ** 2).renyi(order) == pytest.approx(
            float(mp.log(moment) / (order - 1)), rel=1e-12
        )


@pytest.mark.parametrize(
    ("sigma", "sensitivity", "message"),
    [
        (0.0, 1.0, "sigma=0.0 must be positive and finite"),
        (math.inf, 1.0, "sigma=inf must be positive and finite"),
        (1.0, -1.0, "sensitivity=-1.0 must be positive and finite"),
        (math.nan, 1.0, "sigma=nan must be a real number"),
        ("1", 1.0, "sigma='1' must be a real number"),
    ],
)
def test_bad_parameters_are_named(sigma: float, sensitivity: float, message: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        GaussianPair.of(sigma=sigma, sensitivity=sensitivity)
    assert str(error.value) == message


def test_a_negative_square_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="squared_mu"):
        GaussianPair(Fraction(-1))
