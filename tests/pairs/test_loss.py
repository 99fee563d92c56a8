"""The privacy loss as a random variable."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, LeakyResponsePair, leaky_loss
from dpverify.pairs.loss import PrivacyLoss
from tests.pairs.strategies import float_pairs, rational_pairs

F = Fraction
LN3 = math.log(3.0)


def test_loss_of_a_finite_pair_by_hand() -> None:
    loss = FinitePair(
        left=[F(1, 2), F(1, 4), F(1, 4), 0], right=[F(1, 4), F(1, 4), 0, F(1, 2)]
    ).loss()
    assert loss.losses == pytest.approx([0.0, math.log(2)])
    assert loss.masses.tolist() == [0.25, 0.5]
    assert loss.infinite_mass == 0.25
    assert loss.mean == math.inf
    assert finite_mean(loss) == pytest.approx(math.log(2) * 2 / 3)
    assert [loss.tail(x) for x in (-1.0, 0.0, 0.1, 0.7, math.inf)] == [1.0, 1.0, 0.75, 0.25, 0.25]


def finite_mean(loss: PrivacyLoss) -> float:
    """The expected loss under P, given that it is finite."""
    return math.fsum(loss.losses * loss.masses) / math.fsum(loss.masses)


def test_loss_of_leaky_response_by_hand() -> None:
    loss = leaky_loss(ApproxDP(epsilon=LN3, delta=1 / 4), 2)
    assert loss.losses == pytest.approx([-2 * LN3, 0.0, 2 * LN3])
    assert loss.masses == pytest.approx(np.array([1, 6, 9]) / 16 * 9 / 16, rel=1e-15)
    assert loss.infinite_mass == loss.leak_probability == pytest.approx(7 / 16)
    assert loss.round_mean == pytest.approx(LN3 / 2)
    assert loss.threshold(1.0) == pytest.approx(LN3 * (1 + math.sqrt(2)))
    assert loss.chernoff_tail(1.0) == pytest.approx(math.exp(-0.5))
    assert loss.exact_tail(0.5) == pytest.approx(9 / 16)  # 2 ≥ 1 + 0.5·√2
    assert loss.exact_tail(1.0) == 0.0
    assert loss.mean == math.inf


@pytest.mark.parametrize("times", [1, 2, 17, 1000])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.1, 1.0, 30.0, 700.0, 1e4])
def test_leaky_masses_against_mpmath(epsilon: float, times: int) -> None:
    loss = leaky_loss(ApproxDP(epsilon=epsilon, delta=0.01), times)
    for wins in {0, 1, times // 3, times // 2, times - 1, times}:
        with mp.workdps(60):
            growth = mp.exp(mp.mpf(epsilon))
            log_mass = (
                mp.log(mp.binomial(times, wins)) + wins * mp.mpf(epsilon) - times * mp.log1p(growth)
            )
            assert abs(loss.walk_log_masses[wins] - log_mass) < 1e-14 * max(1, abs(log_mass), 10)
            mass = float(mp.exp(log_mass) * (1 - mp.mpf(0.01)) ** times)
        assert loss.masses[wins] == pytest.approx(mass, rel=1e-12 * (1 + abs(float(log_mass))))
    assert loss.masses.sum() + loss.infinite_mass == pytest.approx(1.0, rel=1e-13)


def test_a_million_leaky_responses() -> None:
    epsilon, times = 0.001, 10**6
    loss = leaky_loss(ApproxDP(epsilon=epsilon, delta=1e-9), times)
    assert loss.masses.sum() + loss.infinite_mass == pytest.approx(1.0, rel=1e-12)
    assert finite_mean(loss) == pytest.approx(times * epsilon * math.tanh(epsilon / 2), rel=1e-10)
    with mp.workdps(40):
        middle = mp.log(mp.binomial(times, times // 2)) + times // 2 * mp.mpf(epsilon)
        middle -= times * mp.log1p(mp.exp(mp.mpf(epsilon)))
    assert abs(loss.walk_log_masses[times // 2] - middle) < 1e-13
    assert np.isfinite(loss.walk_log_masses).all()


@given(st.floats(0.0, 5.0), st.integers(1, 300), st.floats(0.0, 6.0))
def test_the_second_bad_event_is_bounded(epsilon: float, times: int, deviation: float) -> None:
    loss = leaky_loss(ApproxDP(epsilon=epsilon, delta=0.0), times)
    assert loss.exact_tail(deviation) <= loss.chernoff_tail(deviation) * (1 + 1e-12)


@given(st.floats(0.01, 5.0), st.floats(0.0, 1.0), st.integers(1, 300))
def test_the_loss_of_leaky_responses(epsilon: float, delta: float, times: int) -> None:
    loss = leaky_loss(ApproxDP(epsilon=epsilon, delta=delta), times)
    assert loss.leak_probability <= times * delta * (1 + 1e-12)
    assert loss.tail(-math.inf) == pytest.approx(1.0, rel=1e-12)
    if delta < 0.5:
        assert finite_mean(loss) == pytest.approx(times * loss.round_mean, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("worst", [ApproxDP(epsilon=math.inf), ApproxDP(epsilon=1.0, delta=1.0)])
def test_everything_leaks(worst: ApproxDP) -> None:
    loss = leaky_loss(worst, 5)
    assert loss.infinite_mass == 1.0
    assert loss.tail(1e9) == 1.0
    assert loss.mean == math.inf
    assert loss.leak_probability == worst.delta


def test_powers_and_leaky_loss_agree() -> None:
    """The loss of four leaky responses from their exact table, and in closed form."""
    table = FinitePair.leaky_response(F(3), F(1, 10)).power(4).loss()
    closed = leaky_loss(ApproxDP(epsilon=LN3, delta=0.1), 4)
    assert table.losses == pytest.approx(closed.losses, abs=1e-14)
    assert table.masses == pytest.approx(closed.masses, rel=1e-14)
    assert table.infinite_mass == pytest.approx(closed.infinite_mass, rel=1e-14)


@given(st.one_of(rational_pairs(), float_pairs()))
def test_the_mean_is_the_divergence(pair: FinitePair) -> None:
    loss = pair.loss()
    assert (np.diff(loss.losses) >= 0).all()
    assert loss.mean == pytest.approx(pair.renyi(1.0), rel=1e-10, abs=1e-14)
    assert loss.infinite_mass == pytest.approx(pair.singular_mass, abs=1e-15)


def test_one_round_has_the_mean_of_the_pair() -> None:
    worst = ApproxDP(epsilon=0.7)
    assert leaky_loss(worst, 1).mean == pytest.approx(
        LeakyResponsePair(worst).renyi(1.0), rel=1e-14
    )


def test_bad_input_is_named() -> None:
    worst = ApproxDP(epsilon=1.0)
    for times in (0, -1, 2.5, True):
        with pytest.raises(InvalidParameter, match=f"times={times} must be a whole number"):
            leaky_loss(worst, times)  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match="times=100000000 must be at most 10000000"):
        leaky_loss(worst, 10**8)
    loss = leaky_loss(worst, 3)
    for question in (loss.threshold, loss.chernoff_tail, loss.exact_tail):
        with pytest.raises(InvalidParameter, match=r"deviation=-1\.0 must be at least 0"):
            question(-1.0)
    with pytest.raises(InvalidParameter, match="threshold=nan must be a real number"):
        loss.tail(math.nan)
