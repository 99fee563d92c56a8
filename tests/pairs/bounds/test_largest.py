"""The least pair that dominates several: its profile is the largest of theirs."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter
from dpverify.pairs import Dominates, FinitePair, GaussianPair, LaplacePair, dominates
from dpverify.pairs.bounds.largest import LargestPair, largest_finite
from tests.pairs.strategies import rational_pairs


@given(st.lists(rational_pairs(), min_size=1, max_size=4), st.fractions(0, 8, max_denominator=50))
def test_finite_pairs_exactly(pairs: list[FinitePair], ratio: Fraction) -> None:
    found = largest_finite(pairs)
    assert sum(found.left) == sum(found.right) == 1
    assert found.delta_at_ratio(ratio) == max(pair.delta_at_ratio(ratio) for pair in pairs)
    assert all(isinstance(dominates(found, pair), Dominates) for pair in pairs)


def test_profiles_of_any_kind() -> None:
    gaussian, laplace = GaussianPair(Fraction(1)), LaplacePair(scale=1.0, sensitivity=1.0)
    both = LargestPair((gaussian, laplace))
    for epsilon in (0.0, 0.25, 0.5, 1.0, 2.0):
        assert both.delta(epsilon) == max(gaussian.delta(epsilon), laplace.delta(epsilon))
    assert both.reversed.pairs == (gaussian, laplace)
    assert both.singular_mass == 0.0
    assert math.isinf(both.max_loss)


def test_no_pair_at_all_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"pairs=\(\) must be one or more pairs"):
        LargestPair(())
