"""Shares of a level, and audits that were cut short."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.auditing import audit
from dpverify.auditing.sampling.processes import Stopped
from dpverify.auditing.search.judging import LevelShares, completed
from dpverify.errors import InvalidParameter

INTERRUPT = Stopped(why="interrupt", reason="interrupted")
FAILURE = Stopped(why="failure", reason="there was not enough memory")


def test_shares_by_hand() -> None:
    ledger = LevelShares(1e-6)
    assert ledger.next() == pytest.approx(3e-6 / math.pi**2, rel=1e-12)
    assert ledger.next() == pytest.approx(3e-6 / (4 * math.pi**2), rel=1e-12)
    assert ledger.last == 5e-7


@given(st.floats(1e-12, 0.5), st.integers(1, 3_000))
def test_the_sum_stays_below_the_level(level: float, tests: int) -> None:
    ledger = LevelShares(level)
    total = sum((Fraction(ledger.next()) for _ in range(tests)), Fraction(ledger.last))
    assert total < Fraction(level)


def test_an_audit_that_was_stopped_is_no_pass() -> None:
    laplace = dpv.Laplace(scale=1.0)
    whole = audit(laplace, left=0.0, right=1.0, claim=dpv.PureDP(epsilon=2.0), samples=200)
    assert completed(whole) is whole
    with pytest.raises(KeyboardInterrupt):
        completed(replace(whole, stopped=INTERRUPT))
    with pytest.raises(
        InvalidParameter, match="could not be finished: there was not enough memory"
    ):
        completed(replace(whole, stopped=FAILURE))


def test_a_refutation_stands_unless_somebody_interrupts() -> None:
    laplace = dpv.Laplace(scale=0.25)
    refuted = audit(laplace, left=0.0, right=1.0, claim=dpv.PureDP(epsilon=0.5), samples=2_000)
    assert refuted.refuted
    kept = replace(refuted, stopped=FAILURE)
    assert completed(kept) is kept
    with pytest.raises(KeyboardInterrupt):
        completed(replace(refuted, stopped=INTERRUPT))
