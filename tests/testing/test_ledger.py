import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter
from dpverify.testing.ledger import Ledger, check_level


def test_shares_by_hand() -> None:
    ledger = Ledger(1e-6)
    assert ledger.next() == pytest.approx(3e-6 / math.pi**2, rel=1e-12)
    assert ledger.next() == pytest.approx(3e-6 / (4 * math.pi**2), rel=1e-12)
    assert ledger.last == 5e-7


@given(st.floats(1e-12, 0.5), st.integers(1, 3_000))
def test_the_sum_stays_below_the_level(level: float, tests: int) -> None:
    ledger = Ledger(level)
    total = sum((Fraction(ledger.next()) for _ in range(tests)), Fraction(ledger.last))
    assert total < Fraction(level)


@pytest.mark.parametrize("level", [0.0, -1.0, 0.6, 1e-13, math.nan, "1e-6", True, None])
def test_bad_levels_are_named(level: object) -> None:
    with pytest.raises(InvalidParameter, match="level="):
        check_level(level)
