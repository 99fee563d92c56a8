"""Calibration over anything: what is found meets the budget, and a little more of it does not."""

import math
from typing import Any

import pytest

import dpverify as dpv
from dpverify.accounting.budgets import Spent

ADD = dpv.Relation.ADD_REMOVE
START = dpv.Accountant(relation=ADD)
BUDGET = dpv.ApproxDP(1.0, 1e-5)


def gaussian(noise: float) -> dpv.Gaussian:
    return dpv.Gaussian(sigma=noise)


def sampled(noise: float) -> dpv.Subsampled:
    return dpv.Subsampled(dpv.Gaussian(sigma=noise), rate=0.1)


@pytest.mark.parametrize(
    ("budget", "times", "expected"),
    [
        (dpv.GaussianDP(0.5), 100, 20.0),  # √100/σ
        (dpv.ZeroConcentratedDP(0.5), 100, 10.0),  # 100/(2σ²)
        (dpv.RenyiDP(8, 0.5), 16, math.sqrt(128.0)),  # 16·8/(2σ²)
    ],
)
def test_closed_forms(budget: Any, times: int, expected: float) -> None:  # noqa: ANN401
    found = dpv.calibrate(gaussian, budget=budget, relation=ADD, times=times)
    assert found == pytest.approx(expected, rel=1e-11)


def test_an_advantage_is_the_profile_at_zero() -> None:
    """Φ(μ/2) − Φ(−μ/2) = erf(μ/√8)."""
    found = dpv.calibrate(gaussian, budget=dpv.AttackRisk(advantage=0.1), relation=ADD)
    assert math.erf(1 / found / math.sqrt(8)) == pytest.approx(0.1, rel=1e-11)


@pytest.mark.parametrize(
    ("factory", "budget"),
    [
        (sampled, BUDGET),
        (sampled, dpv.AttackRisk(advantage=0.2)),
        (sampled, dpv.RenyiDP(4, 0.3)),
        (gaussian, [dpv.ApproxDP(0.5, 1e-3), dpv.ApproxDP(1.0, 1e-5), dpv.ApproxDP(0.0, 0.2)]),
        (lambda s: START.compose(gaussian(s)).compose(dpv.PureDP(0.01)), BUDGET),
    ],
)
def test_less_noise_breaks_the_budget(factory: Any, budget: Any) -> None:  # noqa: ANN401
    found = dpv.calibration(factory, budget=budget, relation=ADD, times=5, precision=1e-3)
    listed = budget if isinstance(budget, list) else [budget]
    assert all(_meets(factory(found.noise), each) for each in listed)
    assert not all(_meets(factory(found.noise * 0.999), each) for each in listed)


def _meets(subject: Any, budget: Any) -> bool:  # noqa: ANN401
    accountant = START.compose(subject, times=5)
    match budget:
        case dpv.ApproxDP(epsilon=epsilon, delta=delta):
            return accountant.delta(epsilon, tolerance=1e-5).upper <= delta
        case dpv.AttackRisk(advantage=float(advantage)):
            return accountant.delta(0.0, tolerance=1e-5).upper <= advantage
        case dpv.RenyiDP(order=order, epsilon=epsilon):
            divergence = max(
                pair.renyi(order) for pair in (subject.pair(ADD), subject.pair(ADD).reversed)
            )
            return bool(5 * divergence <= epsilon * (1 + 1e-9))
        case _:
            raise AssertionError(budget)


def test_one_more_step_breaks_the_budget() -> None:
    def steps(count: int) -> dpv.Accountant:
        return START.compose(sampled(2.0), times=count)

    found = dpv.largest(steps, budget=BUDGET, relation=ADD, most=10**6, whole=True)
    assert isinstance(found.value, int)
    assert found.beyond == found.value + 1
    assert steps(found.value).epsilon(1e-5, tolerance=1e-6).upper <= 1.0
    assert steps(found.value + 1).epsilon(1e-5, tolerance=1e-6).lower > 1.0


def test_the_largest_rate_and_the_largest_batch() -> None:
    def at(rate: float) -> dpv.Accountant:
        return START.compose(dpv.Subsampled(gaussian(2.0), rate=rate), times=20)

    rate = dpv.largest(at, budget=BUDGET, relation=ADD, most=1.0, precision=1e-3)
    assert at(rate.value).epsilon(1e-5).upper <= 1.0
    assert at(min(rate.value * 1.002, 1.0)).epsilon(1e-5, tolerance=1e-5).lower > 1.0
    batch = dpv.largest(lambda b: at(b / 1000), budget=BUDGET, relation=ADD, most=1000, whole=True)
    assert batch.value == math.floor(rate.value * 1000)
    everything = dpv.largest(at, budget=dpv.ApproxDP(100.0, 1e-5), relation=ADD, most=1.0)
    assert (everything.value, everything.beyond) == (1.0, math.inf)


class Half:
    """A budget of one's own: ε at δ = 1e-5 is at most ½."""

    def spent(self, accountant: dpv.Accountant, precision: float) -> Spent:
        found = accountant.epsilon(1e-5, tolerance=precision)
        return Spent(found, 0.5, precision)


def test_a_budget_of_ones_own() -> None:
    found = dpv.calibrate(gaussian, budget=Half(), relation=ADD)
    expected = dpv.calibrate(gaussian, budget=dpv.ApproxDP(0.5, 1e-5), relation=ADD)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (None, "budget=None must be a guarantee"),
        ([], r"budget=\[\] must be a guarantee"),
        (Half, "budget=.*Half.* must be a guarantee"),
        (dpv.GaussianDP(math.inf), "must be finite"),
        (dpv.ApproxDP(1.0, 1.0), "must be finite, with a delta below 1"),
    ],
)
def test_what_is_no_budget_is_refused(budget: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(dpv.InvalidParameter, match=message):
        dpv.calibrate(gaussian, budget=budget, relation=ADD)


def test_what_has_no_such_number_is_refused() -> None:
    for budget in (dpv.GaussianDP(1.0), dpv.ZeroConcentratedDP(1.0)):
        with pytest.raises(dpv.NotSupported, match="must come with"):
            dpv.calibrate(sampled, budget=budget, relation=ADD)
    with pytest.raises(dpv.InvalidParameter, match="must allow at least 1"):
        dpv.largest(
            lambda n: START.compose(gaussian(0.1), times=n),
            budget=BUDGET,
            relation=ADD,
            most=9,
            whole=True,
        )
    with pytest.raises(dpv.InvalidParameter, match="factory=3 must be a function"):
        dpv.largest(3, budget=BUDGET, relation=ADD, most=9)  # type: ignore[arg-type]
