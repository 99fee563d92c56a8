"""Time limits: what is known by then is a valid bracket, and it says that time ran out."""

import math
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import dpverify as dpv
from dpverify.accounting import deadline
from dpverify.accounting.deadline import (
    OUT_OF_TIME,
    ended_by_interrupt,
    is_limited,
    is_over,
    time_limit,
)

ADD = dpv.Relation.ADD_REMOVE
SLOW = dpv.Accountant(relation=ADD).compose(
    dpv.Subsampled(dpv.Gaussian(sigma=0.5), rate=1e-6), times=10**7
)
QUICK = dpv.Accountant(relation=ADD).compose(dpv.Laplace(scale=20.0), times=500)


def test_no_time_at_all_still_gives_a_bracket() -> None:
    """Ten million steps take seconds; δ = 1e-6 is reached at ε = 0.1463."""
    found = SLOW.epsilon(1e-6, seconds=0)
    assert found.lower <= 0.1463 <= found.upper < math.inf
    assert OUT_OF_TIME in found.assumes
    delta = SLOW.delta(0.1463, seconds=0)
    assert delta.lower <= 1e-6 <= delta.upper <= 1.0
    assert OUT_OF_TIME in delta.assumes


def test_orders_that_were_cut_off_are_not_remembered() -> None:
    """ρ = 0.1234 is asked for nowhere else: its divergences are first computed without time."""
    spent = dpv.Accountant(relation=ADD).compose(dpv.ZeroConcentratedDP(0.1234), times=3)
    hurried = spent.epsilon(1e-6, seconds=0)
    found = spent.epsilon(1e-6)
    textbook = 0.3702 + 2 * math.sqrt(0.3702 * math.log(1e6))
    assert found.upper <= textbook <= hurried.upper * 10
    assert found.upper < hurried.upper


@pytest.mark.parametrize(
    "part",
    [
        dpv.ZeroConcentratedDP(0.01),
        dpv.RenyiDP(2, 0.1),
        dpv.ApproxDP(0.1, 1e-9),
        dpv.Subsampled(dpv.Laplace(scale=1.0), rate=0.1),
    ],
)
def test_a_cut_bracket_holds_the_full_one(part: Any) -> None:  # noqa: ANN401
    both = QUICK.compose(part, times=2)
    cut, full = both.epsilon(1e-6, seconds=0), both.epsilon(1e-6, tolerance=0.1)
    assert cut.lower <= full.upper
    assert cut.upper >= full.lower
    again = both.epsilon(1e-6, tolerance=0.1)
    assert again == full  # and what was cut off is not remembered as the answer


def test_enough_time_changes_nothing() -> None:
    assert QUICK.epsilon(1e-6, seconds=1e6) == QUICK.epsilon(1e-6)
    assert QUICK.delta(1.0, seconds=math.inf) == QUICK.delta(1.0)


def test_rules_without_time_are_named() -> None:
    table = SLOW.compare(delta=1e-6, seconds=0)
    assert [row.rule for row in table.rows] == ["basic"]
    assert {"numerical", "rdp"} <= set(table.skipped)
    assert "no time was left for: " in str(table)
    assert table.to_dict()["skipped"] == list(table.skipped)
    assert QUICK.compare(delta=1e-6).skipped == ()


def test_noise_found_without_time_is_enough() -> None:
    budget = dpv.ApproxDP(3.0, 1e-5)

    def step(noise: float) -> dpv.Subsampled:
        return dpv.Subsampled(dpv.Gaussian(sigma=noise), rate=0.01)

    found = dpv.calibration(step, budget=budget, relation=ADD, times=100, seconds=0)
    assert OUT_OF_TIME in found.spent.assumes
    assert found.spent.upper <= 3.0
    checked = dpv.Accountant(relation=ADD).compose(step(found.noise), times=100)
    assert checked.epsilon(1e-5).upper <= 3.0


def test_the_shorter_of_two_limits_holds() -> None:
    assert not is_limited()
    with time_limit(1e9), time_limit(0):
        assert is_over()
    with time_limit(0), time_limit(1e9):
        assert is_over()
    with time_limit(None):
        assert not is_limited()


@pytest.mark.parametrize("wrong", [-1, math.nan, "1", True])
def test_what_is_no_time_is_refused(wrong: Any) -> None:  # noqa: ANN401
    with pytest.raises(dpv.InvalidParameter, match="seconds="):
        QUICK.epsilon(1e-6, seconds=wrong)


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Shells start jobs in the background with interrupts ignored, and Python keeps to that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_ends_the_time_and_not_the_work() -> None:
    with ended_by_interrupt() as is_interrupted:
        assert (is_over(), is_limited(), is_interrupted()) == (False, False, False)
        signal.raise_signal(signal.SIGINT)
        assert (is_over(), is_limited(), is_interrupted()) == (True, True, True)
        found = SLOW.epsilon(1e-6)
        assert found.lower <= 0.1463 <= found.upper < math.inf
        assert OUT_OF_TIME in found.assumes
        with pytest.raises(KeyboardInterrupt):  # a second one is meant
            signal.raise_signal(signal.SIGINT)
    assert (is_over(), is_limited()) == (False, False)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_in_the_middle_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    check = deadline.check
    spent = dpv.Accountant(relation=ADD).compose(
        dpv.Subsampled(dpv.Gaussian(sigma=0.7), rate=0.0123), times=321
    )
    with ended_by_interrupt(), monkeypatch.context() as patched:

        def interrupted() -> None:
            signal.raise_signal(signal.SIGINT)
            patched.undo()
            check()

        patched.setattr(deadline, "check", interrupted)
        cut = spent.epsilon(1e-5)
    assert OUT_OF_TIME in cut.assumes
    whole = spent.epsilon(1e-5)
    assert OUT_OF_TIME not in whole.assumes
    assert cut.lower <= whole.lower <= whole.upper <= cut.upper
    assert whole.upper - whole.lower <= 1e-3
