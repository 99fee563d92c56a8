"""What the tests of mechanisms share: a generator, and an exact test of counts."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.stats import binom

FALSE_ALARM = 1e-9


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240229)


@pytest.fixture
def agree() -> Callable[[ArrayLike, ArrayLike, int], None]:
    """Fail if counts of disjoint events contradict their probabilities, at level FALSE_ALARM.

    Every count is binomial, so each gets an exact two-sided test and an equal share of the level.
    """

    def check(counts: ArrayLike, probabilities: ArrayLike, total: int) -> None:
        observed, expected = np.asarray(counts), np.asarray(probabilities, dtype=float)
        assert observed.shape == expected.shape
        low, high = binom.cdf(observed, total, expected), binom.sf(observed - 1, total, expected)
        share = FALSE_ALARM / observed.size
        worst = np.minimum(low, high).min()
        assert 2.0 * worst > share, (observed, total * expected)

    return check
