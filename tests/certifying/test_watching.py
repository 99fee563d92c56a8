"""What stops a mechanism that does not end must not hang by itself, nor hit whoever comes next."""

import itertools
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import dpverify as dpv
from dpverify.certifying.symbolic.reasons import OverTime
from dpverify.certifying.symbolic.watching import endless_at, watched
from tests.certifying.schemas import Answers

ROOT = Path(__file__).parents[2]
MEMORY = 1 << 30


def test_a_loop_without_end_is_stopped() -> None:
    with pytest.raises(OverTime), watched(0.05, MEMORY):
        _endless()


def _endless() -> None:
    while True:
        pass


def test_nothing_is_raised_after_the_block() -> None:
    """Blocks that end just when the time is over, before and after."""
    for step in range(20):
        try:
            with watched(0.03, MEMORY):
                end = time.monotonic() + 0.036 + 0.0005 * step
                while time.monotonic() < end:
                    pass
        except OverTime:
            continue
        assert sum(range(2_000)) == 1_999_000


def test_what_is_lost_in_callbacks_is_raised_again_and_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    ran = 0

    def other(_: object) -> None:
        nonlocal ran
        ran += 1
        if ran == 1:
            raise ValueError
        _spin(0.001)

    def endless() -> None:
        while True:
            kept = {ran}
            reference = weakref.ref(kept, other)  # its callback takes most of the time
            del kept
            assert reference() is None
            _spin(0.0005)

    with pytest.raises(OverTime), watched(0.5, MEMORY):
        endless()
    assert ran > 1
    assert told == [ValueError]


def _spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_a_debugger_is_no_hindrance() -> None:
    """Under a trace function the block must end; in a process of its own, which can be stopped."""
    code = (
        "import sys; from dpverify.certifying.symbolic.watching import watched\n"
        "def block():\n    with watched(5.0, 1 << 30):\n        return 1\n"
        "sys.settrace(lambda *_: None); print(block())"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
    )
    assert told.stdout == "1\n"


def _never_back(x: Any, rng: Any) -> Any:  # noqa: ANN401
    return sum(itertools.repeat(1.0)) + x + rng.laplace(scale=1.0)


def _asks_to_exit() -> None:
    sys.exit(3)


def _catches_all() -> None:
    while True:
        try:
            _spin(0.001)
        except BaseException:  # noqa: BLE001, S112
            continue


def test_a_call_that_never_comes_back_is_found_out() -> None:
    """No exception reaches it in its process; what ends or can be stopped is of another kind."""
    assert endless_at(lambda: _never_back(0.0, None), 0.3, MEMORY) is not None
    for run in (lambda: 1, lambda: 1 / 0, _asks_to_exit, _catches_all):
        assert endless_at(run, 5.0, MEMORY) is None


def test_a_mechanism_that_never_comes_back_is_no_matter_for_the_next_rungs() -> None:
    claim = dpv.PureDP(epsilon=1.0)
    found = dpv.certify(_never_back, Answers(sensitivity=1.0), claim, seconds=4.0)
    line = _never_back.__code__.co_firstlineno + 1
    assert (found.verdict, found.where) == ("open", f"test_watching.py:{line}")
    with pytest.raises(dpv.InvalidParameter, match=rf"test_watching.py:{line}: .* not come back"):
        dpv.decide(_never_back, Answers(sensitivity=1.0), claim, seconds=4.0)
