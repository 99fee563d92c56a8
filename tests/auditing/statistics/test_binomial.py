"""Joint test and limits: their error probabilities, computed and not sampled."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import beta, binom

from dpverify.auditing.statistics.binomial import (
    Chain,
    Counts,
    epsilon_lower,
    lower_limit,
    split_epsilon_lower,
    upper_limit,
    z_score,
)
from dpverify.errors import InvalidParameter

LEVEL = 0.05


def counts(hits: int, other: int, trials: int) -> Counts:
    return Counts(hits=hits, trials=trials, other_hits=other, other_trials=trials)


@pytest.mark.parametrize(
    ("hits", "trials", "level", "expected"),
    [
        (0, 10, 0.05, 0.0),
        (10, 10, 0.05, 0.05 ** (1 / 10)),  # P(10 of 10) = p^10
        (1, 10, 0.05, 1 - 0.95 ** (1 / 10)),  # P(at least 1) = 1 − (1 − p)^10
    ],
)
def test_lower_limit_by_hand(hits: int, trials: int, level: float, expected: float) -> None:
    assert lower_limit(hits, trials, level) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("p", [0.001, 0.3, 0.999])
def test_lower_limit_misses_at_most_level(p: float) -> None:
    hits = np.arange(51)
    missed = np.array([lower_limit(int(h), 50, 0.01) > p for h in hits])
    assert binom.pmf(hits, 50, p)[missed].sum() <= 0.01


def test_upper_limit_is_that_of_scipy() -> None:
    assert upper_limit(3, 40, 0.02) == pytest.approx(beta.ppf(0.98, 4, 37), rel=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("trials", "q", "epsilon", "delta"),
    [
        (20, 0.1, 0.5, 0.0),
        (30, 0.3, 1.0, 0.0),
        (30, 0.02, 1.0, 0.0),
        (25, 0.2, 0.3, 0.1),
        (40, 0.05, 2.0, 0.05),
        (30, 0.5, 0.6, 0.05),
        (12, 0.9, 0.0, 0.0),
        (12, 0.0, 1.0, 0.3),
    ],
)
def test_true_claims_are_rejected_with_at_most_the_level(
    trials: int, q: float, epsilon: float, delta: float
) -> None:
    p = min(1.0, math.exp(epsilon) * q + delta)
    hits = np.arange(trials + 1)
    rejected = [
        [
            Chain((counts(int(a), int(b), trials),), (1.0,)).rejects(
                [(epsilon, delta)], level=LEVEL
            )
            for b in hits
        ]
        for a in hits
    ]
    chance = binom.pmf(hits, trials, p) @ np.array(rejected) @ binom.pmf(hits, trials, q)
    assert chance <= LEVEL


@pytest.mark.parametrize("trials", [16, pytest.param(24, marks=pytest.mark.slow)])
def test_bound_exceeds_the_truth_with_at_most_the_level(trials: int) -> None:
    p, q = 0.6, 0.2
    hits = np.arange(trials + 1)
    beyond = [
        [epsilon_lower(counts(int(a), int(b), trials), level=LEVEL) > math.log(3) for b in hits]
        for a in hits
    ]
    chance = binom.pmf(hits, trials, p) @ np.array(beyond) @ binom.pmf(hits, trials, q)
    assert chance <= LEVEL


def test_two_blocks_reject_with_at_most_the_level() -> None:
    # The event of the second block depends on the first: P(E) = 0.6, 0.5 and Q(E) = 0.3, 0.25.
    trials, epsilon = 5, math.log(2)
    hits = range(trials + 1)
    chance = 0.0
    for a in hits:
        for b in hits:
            first = counts(a, b, trials)
            seen = binom.pmf(a, trials, 0.6) * binom.pmf(b, trials, 0.3)
            p, q = (0.6, 0.3) if a > 2 * b else (0.5, 0.25)
            for c in hits:
                for d in hits:
                    chain = Chain((first, counts(c, d, trials)), (0.5, 0.5))
                    weight = seen * binom.pmf(c, trials, p) * binom.pmf(d, trials, q)
                    # what is too rare to matter counts as rejected
                    if weight < 1e-5 or chain.rejects([(epsilon, 0.0)] * 2, level=LEVEL):
                        chance += weight
    assert chance <= LEVEL


def test_joint_bound_beats_two_limits() -> None:
    seen = counts(5_000, 1_840, 10_000)
    apart, joint = (
        split_epsilon_lower(seen, delta=0.0, level=LEVEL),
        epsilon_lower(seen, level=LEVEL),
    )
    # z·√(a² + b²) against a·z₁ + b·z₂, where a and b are the standard errors of ln p and ln q.
    error = math.hypot(math.sqrt(0.5 / 5_000), math.sqrt((1 - 0.184) / 1_840))
    assert joint == pytest.approx(math.log(5_000 / 1_840) - 1.645 * error, abs=2e-3)
    assert apart < joint < math.log(5_000 / 1_840)


def brute_force(seen: Counts, epsilon: float, delta: float, floor: float) -> float:
    """The minimum over a fine grid of q of the weighted scores, without cells."""
    best = math.inf
    for q in np.concatenate([np.geomspace(1e-9, 1e-3, 400), np.linspace(1e-3, 1.0, 4000)]):
        p = min(1.0, math.exp(epsilon) * q + delta)
        z1 = -ndtri(binom.sf(seen.hits - 1, seen.trials, p))
        z2 = -ndtri(binom.cdf(seen.other_hits, seen.other_trials, q))
        s1 = math.sqrt(p * (1 - p) / seen.trials)
        s2 = math.exp(epsilon) * math.sqrt(q * (1 - q) / seen.other_trials)
        angle = math.atan2(s1, s2) if p < 1.0 else 0.0
        best = min(best, math.sin(angle) * max(z1, floor) + math.cos(angle) * max(z2, floor))
    return best


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("hits", "other", "trials", "epsilon", "delta"),
    [
        (60, 20, 100, 0.5, 0.0),
        (60, 20, 100, 1.5, 0.0),
        (30, 2, 100, 1.0, 0.05),
        (9, 0, 50, 1.0, 0.0),
    ],
)
def test_cells_against_brute_force(
    hits: int, other: int, trials: int, epsilon: float, delta: float
) -> None:
    seen = counts(hits, other, trials)
    exact = brute_force(seen, epsilon, delta, -4.0)
    found = z_score(seen, epsilon=epsilon, delta=delta, floor=-4.0)
    assert exact - 0.02 <= found <= exact + 1e-3  # the grid's own minimum is a little high


@given(
    trials=st.integers(1, 3000),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    epsilon=st.floats(0, 6),
    more=st.floats(0, 2),
    delta=st.floats(0, 0.9),
)
def test_larger_claims_are_harder_to_reject(
    trials: int, shares: tuple[float, float], epsilon: float, more: float, delta: float
) -> None:
    seen = counts(round(shares[0] * trials), round(shares[1] * trials), trials)
    chain = Chain((seen,), (1.0,))
    if chain.rejects([(epsilon + more, delta)], level=LEVEL):
        assert chain.rejects([(epsilon, delta)], level=LEVEL)


@given(trials=st.integers(1, 2000), hits=st.floats(0, 1), other=st.floats(0, 1))
def test_bound_never_exceeds_the_observed_ratio(trials: int, hits: float, other: float) -> None:
    a, b = round(hits * trials), round(other * trials)
    lower = epsilon_lower(counts(a, b, trials), level=LEVEL)
    assert lower == 0.0 or b == 0 or lower <= math.log(a / b)


def test_no_evidence_gives_zero() -> None:
    assert epsilon_lower(counts(0, 0, 10), level=LEVEL) == 0.0
    assert epsilon_lower(counts(10, 10, 10), level=LEVEL) == 0.0


def test_bad_counts_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="hits=11 must lie in"):
        counts(11, 0, 10)
    with pytest.raises(InvalidParameter, match="trials=0 must be"):
        counts(0, 0, 0)
