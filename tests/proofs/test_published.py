"""Published bounds against ours: where they are proved to hold, and where they fail."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.auditing.one_run.guessing import Guessed, guess_tail
from proofs.published.default_grid import TOLD, exact
from proofs.published.one_run_p_value import exact_slope, in_range, published_bound, published_slope

LEVEL = Fraction(1, 2)


def test_the_published_p_value_of_three_canaries() -> None:
    found = published_bound(3, 1, 3, Fraction(1), Fraction(1, 128))
    assert float(found) == pytest.approx(0.88086, abs=1e-5)
    ours = guess_tail(Guessed(guesses=3, correct=1, canaries=3), epsilon=0.0, delta=1 / 128)
    assert Fraction(903, 1024) <= Fraction(ours) <= Fraction(903, 1024) + Fraction(1, 10**14)
    assert ours > found


@given(
    guesses=st.integers(1, 60),
    share=st.floats(0, 1),
    more=st.integers(0, 1000),
    ratio=st.fractions(1, 100, max_denominator=20),
    delta=st.fractions(0, 1, max_denominator=10_000),
)
def test_ours_is_sharper_where_theirs_is_proved(
    guesses: int, share: float, more: int, ratio: Fraction, delta: Fraction
) -> None:
    correct = max(round(share * guesses), 1)
    theirs = published_bound(guesses, correct, guesses + more, ratio, delta)
    found = Guessed(guesses=guesses, correct=correct, canaries=guesses + more)
    ours = guess_tail(found, epsilon=math.log(ratio), delta=float(delta))
    if theirs <= LEVEL:
        assert in_range(guesses, correct, ratio)
    if in_range(guesses, correct, ratio) and ours < 1.0:  # beyond 0.999 it says 1
        assert exact_slope(guesses, correct, ratio) <= 2 * published_slope(guesses, correct, ratio)
        assert ours <= theirs * (1 + Fraction(1, 10**9))


def test_the_default_grid_of_dp_accounting_gives_what_is_quoted() -> None:
    events = pytest.importorskip("dp_accounting.dp_event")
    accounting = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")
    step = events.PoissonSampledDpEvent(1e-3, events.GaussianDpEvent(2.0))
    told = accounting.PLDAccountant().compose(step, 10**6).get_epsilon(1e-10)
    assert told == pytest.approx(float(TOLD), abs=1e-9)
    assert told < exact().lower
