"""Budgets and charges in words: what was spent is never shown as less."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.ledger.words import amounts_in_words, at_most, budget_in_words, percent

ALMOST = 1 - Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0%"),
        (0.1, "10%"),
        (0.1 + 0.1 + 0.1, "30%"),  # 0.30000000000000004
        (1 / 3, "33.34%"),
        (0.99991, "100%"),
        (1e-9, "1e-07%"),
        (float("inf"), "∞%"),
    ],
)
def test_shares_round_up(share: float, shown: str) -> None:
    assert percent(share) == shown


@given(st.fractions(min_value=0, max_value=1000))
def test_no_charge_is_shown_as_less(amount: Fraction) -> None:
    assert Fraction(at_most(amount)) >= amount * ALMOST
    assert Fraction(at_most(amount)) <= amount * (1 + Fraction(1, 10**5))


def test_budgets_are_shown_as_they_were_given() -> None:
    assert budget_in_words(dpv.PureDP(epsilon=2.9999999)) == "ε = 2.9999999"
    assert amounts_in_words({"epsilon": Fraction(29999999, 10**7)}) == "ε = 3"
    assert budget_in_words(dpv.PureDP(epsilon=1 / 3), at_most) == "ε = 0.333334"
