from dataclasses import replace

import pytest

import dpverify as dpv
from dpverify.auditing import audit
from dpverify.auditing.sampling.limits import Stopped
from dpverify.errors import InvalidParameter
from dpverify.testing.completed import completed

INTERRUPT = Stopped(why="interrupt", reason="interrupted")
FAILURE = Stopped(why="failure", reason="there was not enough memory")


def test_an_audit_that_was_stopped_is_no_pass() -> None:
    laplace = dpv.Laplace(scale=1.0)
    whole = audit(laplace, left=0.0, right=1.0, claim=dpv.PureDP(epsilon=2.0), samples=200)
    assert completed(whole) is whole
    with pytest.raises(KeyboardInterrupt):
        completed(replace(whole, stopped=INTERRUPT))
    with pytest.raises(InvalidParameter, match="to the end: there was not enough memory"):
        completed(replace(whole, stopped=FAILURE))


def test_a_refutation_stands_unless_somebody_interrupts() -> None:
    laplace = dpv.Laplace(scale=0.25)
    refuted = audit(laplace, left=0.0, right=1.0, claim=dpv.PureDP(epsilon=0.5), samples=2_000)
    assert refuted.refuted
    kept = replace(refuted, stopped=FAILURE)
    assert completed(kept) is kept
    with pytest.raises(KeyboardInterrupt):
        completed(replace(refuted, stopped=INTERRUPT))
