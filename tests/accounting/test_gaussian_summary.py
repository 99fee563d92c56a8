"""One μ for a profile, and its regret: against closed forms, the definition, and finite pairs."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import dpverify as dpv
from dpverify.accounting.parts import Composable
from dpverify.arrays import Floats
from tests.conftest import examples

ADD = dpv.Relation.ADD_REMOVE
Curve = Callable[[Floats], Floats]
ALARMS = np.unique(np.concatenate([np.geomspace(1e-7, 0.5, 4000), np.linspace(0, 1, 4001)]))


def spent(subject: Composable, times: int = 1) -> dpv.Accountant:
    return dpv.Accountant(relation=ADD).compose(subject, times=times)


RENYI = spent(dpv.RenyiDP(order=4.0, epsilon=0.5))


def gaussian(mu: float) -> Curve:
    def curve(alarm: Floats) -> Floats:
        missed: Floats = norm.cdf(norm.isf(alarm) - mu)
        return missed

    return curve


def response(alarm: Floats) -> Floats:
    """Randomized response with odds 3."""
    missed: Floats = np.maximum(1 - 3 * alarm, (1 - alarm) / 3)
    return missed


def laplace(alarm: Floats) -> Floats:
    """Laplace noise of scale 1 on answers that differ by 1. [DRS22 Lemma A.6]"""
    middle = np.exp(-1) / (4 * np.maximum(alarm, 1e-300))
    cut = np.exp(-1) / 2
    return np.where(
        alarm < cut, 1 - math.e * alarm, np.where(alarm < 0.5, middle, np.exp(-1) * (1 - alarm))
    )


def least_mu(curve: Curve) -> float:
    inside = ALARMS[1:-1]
    return float(np.max(norm.isf(inside) - norm.ppf(curve(inside))))


def least_shift(curve: Curve, mu: float) -> float:
    """The definition: the least κ with f(α + κ) − κ ≤ g(α), by bisection."""
    low, high = 0.0, 1.0
    for _ in range(40):
        shift = (low + high) / 2
        moved = curve(np.minimum(ALARMS + shift, 1.0)) - shift
        low, high = (low, shift) if np.all(moved <= gaussian(mu)(ALARMS)) else (shift, high)
    return high


@pytest.mark.parametrize(
    ("subject", "curve"),
    [(dpv.PureDP(math.log(3)), response), (dpv.Laplace(scale=1.0), laplace)],
    ids=["randomized response", "Laplace"],
)
def test_closed_forms_and_the_definition(subject: dpv.Guarantee, curve: Curve) -> None:
    found = spent(subject).gaussian_summary(tolerance=1e-4)
    exact = least_mu(curve)
    assert found.mu.lower == pytest.approx(exact, rel=2e-4)
    assert found.mu.upper == pytest.approx(exact, rel=2e-4)
    assert exact <= found.mu.upper * (1 + 1e-9)
    shift = least_shift(curve, found.mu.upper)
    assert found.regret.lower - 1e-6 <= shift <= found.regret.upper + 1e-9
    assert found.regret.width <= 1e-4
    assert found.mu.theorem is not None
    assert found.mu.theorem.name == "gaussian-summary"


def test_gaussian_noise_is_its_own_summary() -> None:
    found = spent(dpv.Gaussian(sigma=2.0), times=9).gaussian_summary()
    assert found.mu.lower == found.mu.upper == 1.5
    assert found.regret.upper == 0
    assert found.guarantee == dpv.GaussianDP(1.5)


def test_one_step_on_a_sample() -> None:
    """The curve of (1−q)·N(0, 1) + q·N(1, 1) against N(0, 1), and of the sides exchanged."""
    rate, leak = 0.2, 1e-6
    found = spent(dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=rate)).gaussian_summary(leak=leak)
    cut = np.linspace(-6, 9, 30_001)
    plain, mixed = norm.sf(cut), (1 - rate) * norm.sf(cut) + rate * norm.sf(cut - 1)
    needed = 0.0
    for alarm, power in ((plain, mixed), (1 - mixed, 1 - plain)):
        # With a leak the best test finds leak + (1 − leak)·T(α/(1 − leak)).
        rates, alarms = (power - leak) / (1 - leak), alarm / (1 - leak)
        told = (rates > 0) & (alarms < 1) & (alarms > 1e-14)
        needed = max(needed, float(np.max(norm.ppf(rates[told]) - norm.ppf(alarms[told]))))
    assert found.mu.lower <= needed * (1 + 1e-6)
    assert needed <= found.mu.upper
    assert found.mu.width <= 1e-3 * found.mu.upper


def test_agrees_with_what_others_publish() -> None:
    """The example of gdpnum 0.1, which cuts rates below 1e-10: (1.56856…, 0.00102…)."""
    step = dpv.Subsampled(dpv.Gaussian(sigma=9.4), rate=0.328)
    found = spent(step, times=2000).gaussian_summary(leak=1e-10, tolerance=0.02)
    assert found.mu.lower <= 1.5685621993129137 * (1 + 1e-3)
    assert found.mu.upper >= 1.5685621993129137
    assert 0.0010208 <= found.regret.upper <= 0.02


masses = st.lists(st.integers(1, 9), min_size=2, max_size=4)


@given(masses, masses)
@settings(max_examples=examples(quick=8))
def test_no_test_beats_the_summary_of_a_finite_pair(first: list[int], second: list[int]) -> None:
    size = min(len(first), len(second))
    left, right = ([Fraction(m, sum(each[:size])) for m in each[:size]] for each in (first, second))
    assume(left != right)
    pair = dpv.FinitePair(left=left, right=right)
    found = spent(pair).gaussian_summary()
    curve, kinks = gaussian(found.mu.upper), set()
    for side in (pair, pair.reversed):
        for part in side.corners:
            kinks.add(sum(q for p, q in side.masses() if p > part * q))
            kinks.add(sum(q for p, q in side.masses() if p >= part * q))
    for alarm in kinks:
        exact = min(side.exact_trade_off(Fraction(alarm)) for side in (pair, pair.reversed))
        assert curve(np.array([float(alarm)]))[0] <= float(exact) + 1e-9
    assert found.mu.width <= 2e-3 * found.mu.upper
    assert 0 <= found.regret.lower <= found.regret.upper <= 0.5


def test_where_no_gaussian_curve_dominates() -> None:
    found = spent(dpv.ApproxDP(1.0, 1e-6)).gaussian_summary()
    assert found.mu.lower == math.inf
    assert str(found) == "no Gaussian curve dominates"
    assert found.regret.upper == pytest.approx(1 / (1 + math.e), rel=1e-5)
    leaky = dpv.risk(dpv.ApproxDP(1.0, 1e-6)).gaussian_summary(leak=1e-6)
    assert leaky.mu.upper == pytest.approx(2 * norm.ppf(math.e / (1 + math.e)), rel=1e-3)
    assert "except on an event of probability 1e-06" in str(leaky)
    assert "regret in" in leaky._repr_html_()
    far = spent(dpv.Subsampled(dpv.Gaussian(sigma=0.8), rate=0.1)).gaussian_summary()
    assert str(far) == "no Gaussian curve is known to dominate"
    assert far.mu.lower < 1.25 < far.mu.upper == math.inf  # 1/σ, far out in the tail


@given(st.floats(1e-5, 0.5), st.floats(1e-6, 0.4), st.floats(0.0, 1.0))
@settings(max_examples=examples(quick=6))
def test_no_pair_within_a_renyi_bound_beats_its_summary(
    event: float, rare: float, shift: float
) -> None:
    """Upper ends that no profile has, near ε = 0, do not keep μ from being known."""
    order, bound, leak = 4.0, 0.5, 1e-3
    found = RENYI.gaussian_summary(leak=leak)
    assert found.mu.upper < 0.8
    left = np.array([event, rare, 1 - event - rare])
    other = np.array([event, rare * 0.1, 1 - event - rare * 0.1]) ** 2
    other /= other.sum()
    right = left
    for share in np.linspace(0, 1, 60):  # as far from `left` as the bound allows
        moved = (1 - share) * left + share * (shift * other + (1 - shift) * left[::-1])
        with np.errstate(divide="ignore"):
            sides = ((left, moved), (moved, left))
            losses = [np.log(np.sum(p**order * q ** (1 - order))) / (order - 1) for p, q in sides]
        if max(losses) > bound:
            break
        right = moved
    for x in np.exp(np.linspace(0, 4, 80)):
        exact = max(np.maximum(p - x * q, 0).sum() for p, q in ((left, right), (right, left)))
        assert exact <= leak + (1 - leak) * gaussian_delta(found.mu.upper, x) + 1e-12


def gaussian_delta(mu: float, x: float) -> float:
    epsilon = math.log(x)
    return float(norm.cdf(mu / 2 - epsilon / mu) - x * norm.cdf(-mu / 2 - epsilon / mu))


def test_what_leaks_anyway_is_not_regretted() -> None:
    found = spent(dpv.ApproxDP(1.0, 0.3)).gaussian_summary(leak=0.3)
    epsilons = np.linspace(0, 3, 3001)
    exact = max(
        0.7 * (gaussian_delta(found.mu.upper, x) - max((math.e - x) / (1 + math.e), 0)) / (1 + x)
        for x in np.exp(epsilons)
    )
    assert exact <= found.regret.upper <= exact + 1e-6
    more = spent(dpv.ApproxDP(1.0, 0.2)).gaussian_summary(leak=0.3)  # regretted at every ε
    assert more.regret.width <= 1e-3
    only = spent(dpv.ApproxDP(0.0, 0.3)).gaussian_summary(leak=0.3)
    assert only.mu.upper == only.regret.upper == 0
    assert str(only) == "μ ≤ 0 except on an event of probability 0.3, with nothing lost"


def test_regret_is_at_most_what_the_best_guess_errs() -> None:
    assert spent(dpv.Gaussian(sigma=1e-150)).gaussian_summary().regret.upper <= 1e-300


def test_little_regret_next_to_little_gain_is_told() -> None:
    found = spent(dpv.PureDP(1e-13)).gaussian_summary()
    assert found.regret.lower > 0.1 * math.tanh(5e-14)
    assert "overstates" in str(found)
    assert "nothing lost" in str(spent(dpv.Gaussian(sigma=20_000.0)).gaussian_summary())


@pytest.mark.parametrize("leak", ["1e-10", "1e-08", "0.01"])
def test_a_leak_is_told_as_given(leak: str) -> None:
    found = spent(dpv.PureDP(1.0)).gaussian_summary(leak=float(leak))
    assert f"except on an event of probability {leak}," in str(found)


def test_nothing_learned_and_everything_leaked() -> None:
    assert dpv.Accountant(relation=ADD).gaussian_summary().mu.upper == 0
    assert dpv.risk(dpv.ZeroConcentratedDP(math.inf)).gaussian_summary().mu.upper == math.inf
    found = spent(dpv.PureDP(1.0)).gaussian_summary(leak=1.0)
    assert found.mu.upper == 0
    assert found.regret.lower <= (1 - math.tanh(0.5)) / 2 <= found.regret.upper


@pytest.mark.parametrize("leak", [-0.1, 1.5, math.nan, "much", True])
def test_leaks_that_are_none(leak: float) -> None:
    with pytest.raises(dpv.InvalidParameter, match="leak="):
        spent(dpv.PureDP(1.0)).gaussian_summary(leak=leak)


@pytest.mark.parametrize("tolerance", [0.0, -1.0, math.nan])
def test_tolerances_that_are_none(tolerance: float) -> None:
    with pytest.raises(dpv.InvalidParameter, match="tolerance="):
        spent(dpv.PureDP(1.0)).gaussian_summary(tolerance=tolerance)
