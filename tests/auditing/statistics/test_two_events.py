"""The test of two events at once: its level by enumeration, and its statistic by definition."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom, multinomial

from dpverify.auditing.statistics.binomial import Counts, epsilon_lower, rejects
from dpverify.errors import InvalidParameter


def outcomes(size: int) -> list[tuple[int, int, int]]:
    """How many of the draws may be in the one event, in the other, in neither."""
    both = product(range(size + 1), repeat=2)
    return [(a, b, size - a - b) for a, b in both if a + b <= size]


def counts(own: tuple[int, int], back: tuple[int, int], size: int) -> Counts:
    """The hits of the first event left and right, and of the second right and left."""
    also = Counts(hits=back[0], trials=size, other_hits=back[1], other_trials=size)
    return Counts(hits=own[0], trials=size, other_hits=own[1], other_trials=size, also=also)


def rejected(size: int, epsilon: float, delta: float, level: float) -> np.ndarray:
    """By outcome on the left (first event, second) and on the right (second, first)."""
    return np.array(
        [
            [
                rejects(counts((a, d), (c, b), size), epsilon=epsilon, delta=delta, level=level)
                for c, d, _ in outcomes(size)
            ]
            for a, b, _ in outcomes(size)
        ]
    )


@pytest.mark.parametrize(
    ("size", "epsilon", "delta", "level"),
    [
        (5, 0.0, 0.0, 0.6),  # so few draws reject at no smaller level
        pytest.param(14, 0.5, 0.0, 0.4, marks=pytest.mark.slow),
        pytest.param(10, 0.2, 0.05, 0.4, marks=pytest.mark.slow),
    ],
)
def test_a_true_claim_is_rejected_with_probability_at_most_the_level(
    size: int, epsilon: float, delta: float, level: float
) -> None:
    """Both events at the boundary of the claim, over a grid of all their chances."""
    found, ends = rejected(size, epsilon, delta, level), outcomes(size)
    assert found.any()
    worst = 0.0
    for q, p in product([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.49], repeat=2):
        first, second = math.exp(epsilon) * q + delta, math.exp(epsilon) * p + delta
        if first + p <= 1.0 and second + q <= 1.0:
            left = multinomial.pmf(ends, size, [first, p, 1.0 - first - p])
            right = multinomial.pmf(ends, size, [second, q, 1.0 - second - q])
            worst = max(worst, float(left @ found @ right))
    assert 0.0 < worst <= level


def test_what_is_rejected_exceeds_the_critical_value_at_every_point() -> None:
    """The sum of four scores, from scipy's binomial law, at points on a fine grid."""
    size, delta, level = 1_000, 0.01, 0.05
    tested = counts((66, 9), (58, 8), size)
    lower = epsilon_lower(tested, delta=delta, level=level)
    assert lower > 0.5
    needed, floor = -ndtri(level), ndtri(level / 1000)
    for at in np.linspace(0.0, lower, 7):
        q = np.linspace(1e-5, (1.0 - delta) * math.exp(-at), 4_001)
        one = least(66, 9, (58, size), q, (at, delta, floor))
        other = least(58, 8, (66, size), q, (at, delta, floor))
        assert (one + other) / math.sqrt(2.0) >= needed
    assert not rejects(tested, epsilon=lower + 0.05, delta=delta, level=level)
    assert rejects(tested, epsilon=lower, delta=delta, level=level)


def test_what_is_undecided_within_the_limits_is_not_rejected() -> None:
    """Just at the critical value: millions of pieces would have to be looked at."""
    tested = counts((5, 1), (5, 0), 10)
    assert not rejects(tested, epsilon=0.2, delta=0.05, level=0.4)


def least(
    hits: int, other: int, beside: tuple[int, int], q: np.ndarray, at: tuple[float, float, float]
) -> float:
    """The least score of one event; `beside` are the other side's hits of the second, and size."""
    (gone, size), (epsilon, delta, floor) = beside, at
    p = np.minimum(1.0, math.exp(epsilon) * q + delta)
    many = -ndtri(binom.sf(hits - 1, size, p))
    few = -ndtri(binom.cdf(other, size - gone, q))
    angle = np.arctan2(np.sqrt(p * (1 - p)), math.exp(epsilon) * np.sqrt(q * (1 - q)))
    return float(
        (np.sin(angle) * np.maximum(many, floor) + np.cos(angle) * np.maximum(few, floor)).min()
    )


def test_two_rare_events_show_more_than_either() -> None:
    both = counts((60, 10), (60, 10), 1_000)
    one = Counts(hits=60, trials=1_000, other_hits=10, other_trials=1_000)
    assert epsilon_lower(both, level=0.05) > epsilon_lower(one, level=0.05) + 0.05


@pytest.mark.parametrize(
    "also",
    [
        Counts(hits=1, trials=9, other_hits=0, other_trials=10),  # of other draws
        Counts(hits=8, trials=10, other_hits=0, other_trials=10),  # 8 + 3 of 10
        Counts(hits=1, trials=10, other_hits=5, other_trials=10),  # 6 + 5 of 10
    ],
)
def test_a_second_event_is_apart_and_on_the_same_draws(also: Counts) -> None:
    with pytest.raises(InvalidParameter, match="also="):
        Counts(hits=6, trials=10, other_hits=3, other_trials=10, also=also)
