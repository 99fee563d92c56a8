"""A limit of time leaves no alarm behind, whatever is raised while it ends."""

import signal
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.auditing.sampling import processes


def test_what_is_raised_while_a_limit_ends_leaves_no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another thread does that watches over time: it raises at any step."""
    set_timer, before, raised = signal.setitimer, signal.getsignal(signal.SIGALRM), list[float]()

    def disturbed(which: int, seconds: float) -> Any:  # noqa: ANN401
        if seconds == 0.0 and not raised:
            raised.append(seconds)
            raise processes.OutOfTime
        return set_timer(which, seconds)

    monkeypatch.setattr(signal, "setitimer", disturbed)
    try:
        with pytest.raises(processes.OutOfTime), processes.time_limit(1000.0):
            pass
        assert signal.getsignal(signal.SIGALRM) == before
    finally:
        signal.signal(signal.SIGALRM, before)


def test_an_audit_that_ends_after_one_failure_is_refused() -> None:
    """Whatever ends it: here a call that asks to stop, after one pair of calls that raise."""
    calls = iter(range(100))

    def mechanism(_data: float, _rng: np.random.Generator) -> float:
        if next(calls) >= 2:
            raise KeyboardInterrupt
        raise ValueError("no")

    with pytest.raises(dpv.InvalidParameter, match="every call raises ValueError: no"):
        dpv.audit(mechanism, left=0.0, right=1.0, claim=dpv.PureDP(epsilon=1.0), samples=64)
