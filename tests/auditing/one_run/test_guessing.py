"""Guesses after one run: the worst case by hand, by linear programming and by enumeration."""

import math
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

from dpverify.accounting.conversion import to_approx
from dpverify.auditing.one_run.guessing import Guessed, guess_tail
from dpverify.auditing.one_run.limits import one_run_epsilon, one_run_mu, one_run_p_value
from dpverify.auditing.one_run.tiers import TierBound, Tiers, best_tier_bound
from dpverify.claims import ProfileClaim
from dpverify.errors import InvalidParameter
from dpverify.guarantees import (
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)

LN3 = math.log(3)


def guessed(guesses: int, correct: int, canaries: int | None = None) -> Guessed:
    return Guessed(guesses=guesses, correct=correct, canaries=canaries or guesses)


@pytest.mark.parametrize(
    ("found", "delta", "expected"),
    [
        (guessed(2, 2), 0.0, 9 / 16),
        (guessed(2, 1), 0.0, 15 / 16),
        (guessed(1, 1), 0.1, 3 / 4 + 0.1 / 4),  # a leak helps only if the answer was wrong
        (
            guessed(1, 1, 4),
            0.1,
            3 / 4 + 0.4 / 4,
        ),  # four canaries, each guessed a quarter of the time
        (guessed(2, 2), 0.01, 9 / 16 + 2 * 0.01 * (9 / 16) * (7 / 16) / (2 * 9 / 16)),
        (guessed(5, 0), 0.0, 1.0),
        (guessed(1, 1), 1.0, 1.0),
    ],
)
def test_tail_by_hand(found: Guessed, delta: float, expected: float) -> None:
    assert guess_tail(found, epsilon=LN3, delta=delta) == pytest.approx(expected, rel=1e-13)


def worst_case(r: int, v: int, m: int, points: list[tuple[float, float]]) -> float:
    """The largest P(N ≥ v) over all laws of N that the points allow, by linear programming.

    A mechanism may be averaged over who is guessed and over the coins, so that a pattern's chance
    depends on its number of right guesses; then turning one coin compares k + 1 with k.
    """
    k = np.arange(r)
    pattern = np.array([comb(r - 1, int(i)) for i in k], dtype=float)
    size, blocks = r + 1, 2 * len(points)
    rows, limits = [], []
    for j, (epsilon, _) in enumerate(points):
        for up in (0, 1):  # both ways of turning
            for i in k:
                row = np.zeros(size + blocks * r)
                row[i + 1 - up] += pattern[i]
                row[i + up] -= math.exp(epsilon) * pattern[i]
                row[size + (2 * j + up) * r + i] = -1.0
                rows.append(row)
                limits.append(0.0)
    for j, (_, delta) in enumerate(points):
        row = np.zeros(size + blocks * r)
        row[size + 2 * j * r : size + (2 * j + 2) * r] = 1.0
        rows.append(row)
        limits.append(m / r * delta)
    weights = np.array([comb(r, i) for i in range(r + 1)], dtype=float)
    total = np.concatenate([weights, np.zeros(blocks * r)])
    gain = np.concatenate([-weights * (np.arange(r + 1) >= v), np.zeros(blocks * r)])
    found = linprog(gain, A_ub=rows, b_ub=limits, A_eq=[total], b_eq=[1.0], method="highs")
    assert found.fun is not None
    return -float(found.fun)


@pytest.mark.parametrize(
    ("found", "epsilon", "delta"),
    [
        (guessed(10, 9), 1.0, 0.0),
        (guessed(10, 9), 1.0, 0.01),
        (guessed(10, 10), 0.5, 0.02),
        (guessed(12, 9, 40), 0.3, 0.003),
        (guessed(16, 13), 0.0, 0.05),
        (guessed(20, 19, 25), 2.0, 0.001),
    ],
)
def test_tail_is_the_optimum_of_the_program(found: Guessed, epsilon: float, delta: float) -> None:
    best = worst_case(found.guesses, found.correct, found.canaries, [(epsilon, delta)])
    assert guess_tail(found, epsilon=epsilon, delta=delta) == pytest.approx(best, abs=1e-8)


def test_claims_with_many_points_are_bounded_from_above() -> None:
    points = [(0.0, 0.3), (0.5, 0.1), (1.0, 0.02), (2.0, 0.001)]
    found = guessed(14, 13)
    bound = one_run_p_value(found, ProfileClaim(points=tuple(points)))
    assert worst_case(14, 13, 14, points) <= bound + 1e-9
    assert bound <= min(guess_tail(found, epsilon=e, delta=d) for e, d in points)


@pytest.mark.parametrize(("r", "v", "m"), [(14, 13, 14), (20, 18, 60), (30, 24, 30)])
def test_all_points_together_are_the_optimum_of_the_program(r: int, v: int, m: int) -> None:
    points = [(0.0, 0.2), (0.5, 0.05), (1.0, 0.01), (1.5, 0.002)]
    found = guessed(r, v, m)
    epsilons, deltas = (np.array(column) for column in zip(*points, strict=True))
    tiers = Tiers((r,), (1,))
    proof = best_tier_bound(tiers, r - v, epsilons=epsilons, deltas=deltas, canaries=m)
    assert proof is not None
    bound, best = proof.bound(m, deltas), worst_case(r, v, m, points)
    assert best - 1e-7 <= bound <= best + 1e-5
    assert bound < min(guess_tail(found, epsilon=e, delta=d) for e, d in points)


@given(
    tests=st.lists(st.floats(0, 0.4), min_size=24, max_size=24),
    v=st.integers(1, 12),
    epsilon=st.floats(0.1, 2.0),
)
def test_any_numbers_give_a_bound(tests: list[float], v: int, epsilon: float) -> None:
    points = [(0.0, 0.2), (epsilon, 0.05), (epsilon + 1.0, 0.01)]
    epsilons, deltas = (np.array(column) for column in zip(*points, strict=True))
    table = np.array(tests).reshape(1, 3, 8)
    bound = TierBound(Tiers((12,), (1,)), 12 - v, epsilons, table).bound(12, deltas)
    assert bound >= min(worst_case(12, v, 12, points), 1.0) - 1e-7


@given(
    guesses=st.integers(1, 300),
    share=st.floats(0, 1),
    more=st.integers(0, 1000),
    epsilon=st.floats(0, 5),
    delta=st.floats(0, 0.01),
)
def test_never_below_the_bound_without_a_leak(
    guesses: int, share: float, more: int, epsilon: float, delta: float
) -> None:
    found = guessed(guesses, round(share * guesses), guesses + more)
    ours = guess_tail(found, epsilon=epsilon, delta=delta)
    assert ours >= binom.sf(found.correct - 1, guesses, 1 / (1 + math.exp(-epsilon))) * (1 - 1e-9)


@given(
    guesses=st.integers(1, 200),
    share=st.floats(0, 1),
    epsilons=st.tuples(st.floats(0, 4), st.floats(0, 4)),
    deltas=st.tuples(st.floats(0, 0.1), st.floats(0, 0.1)),
)
def test_weaker_claims_allow_more(
    guesses: int, share: float, epsilons: tuple[float, float], deltas: tuple[float, float]
) -> None:
    found = guessed(guesses, round(share * guesses))
    strong = guess_tail(found, epsilon=min(epsilons), delta=min(deltas))
    weak = guess_tail(found, epsilon=max(epsilons), delta=max(deltas))
    assert strong <= weak * (1 + 1e-12)


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1e-3])
@pytest.mark.parametrize(("guesses", "correct"), [(50, 48), (200, 187), (1000, 902), (30, 30)])
def test_lower_bound_inverts_the_tail(guesses: int, correct: int, delta: float) -> None:
    lower = one_run_epsilon(
        guesses=guesses, correct=correct, canaries=5000, delta=delta, level=0.05
    )
    found = guessed(guesses, correct, 5000)
    if lower == 0.0:
        assert guess_tail(found, epsilon=0.0, delta=delta) > 0.05
    else:
        assert guess_tail(found, epsilon=lower, delta=delta) <= 0.05
        assert guess_tail(found, epsilon=lower + 1e-6, delta=delta) > 0.05


@pytest.mark.parametrize(
    ("r", "epsilon", "delta"), [(12, 1.0, 0.0), (25, 1.0, 2e-3), (9, 0.2, 0.02)]
)
def test_bound_exceeds_the_truth_with_at_most_the_level(
    r: int, epsilon: float, delta: float
) -> None:
    """Exactly, for the worst mechanism of every threshold: its law of N is known."""
    level = 0.1
    q = 1 / (1 + math.exp(-epsilon))
    masses = binom.pmf(np.arange(r + 1), r, q)
    beyond = np.array(
        [
            one_run_epsilon(guesses=r, correct=k, canaries=r, delta=delta, level=level) > epsilon
            for k in range(r + 1)
        ]
    )
    for v in range(1, r + 1):
        beta = masses[v:].sum()
        x = r * delta / (v * masses[v])
        if beta * x <= 1.0:
            law = masses * np.where(np.arange(r + 1) >= v, 1 + (1 - beta) * x, 1 - beta * x)
            assert law[beyond].sum() <= level


def test_gaussian_bound_is_rejected_and_beats_the_published_figures() -> None:
    # 10,000 canaries, scores of N(1, 1) against N(0, 1): of the 1,000 most extreme 90 % are right.
    mu = one_run_mu(guesses=1000, correct=902, canaries=10_000, level=0.05)
    found = guessed(1000, 902, 10_000)
    assert one_run_p_value(found, GaussianDP(mu=mu * 0.98)) <= 0.05
    assert one_run_p_value(found, GaussianDP(mu=mu * 1.02)) > 0.05
    implied = to_approx(GaussianDP(mu=mu), delta=1e-5).guarantee
    assert isinstance(implied, ApproxDP)
    assert 2.9 < implied.epsilon < 4.38  # peers' f-DP bound: 2.83 from these guesses; the truth
    lower = one_run_epsilon(guesses=200, correct=187, canaries=10_000, delta=1e-5, level=0.05)
    assert 1.90 < lower < 4.38


@pytest.mark.parametrize(
    "claim",
    [
        PureDP(epsilon=0.5),
        ApproxDP(epsilon=0.5, delta=1e-4),
        GaussianDP(mu=0.3),
        ZeroConcentratedDP(rho=0.045),
        RenyiDP(order=8.0, epsilon=0.36),
    ],
)
def test_p_values_fall_with_every_right_guess(claim: Guarantee) -> None:
    values = [one_run_p_value(guessed(60, correct, 100), claim) for correct in (0, 30, 45, 58, 60)]
    assert values == sorted(values, reverse=True)
    assert values[0] == 1.0
    assert values[-1] < 1e-3


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"guesses": 5, "correct": 6, "canaries": 9}, "correct=6 must lie in"),
        ({"guesses": 5, "correct": 2, "canaries": 4}, "guesses=5 must not exceed canaries=4"),
        ({"guesses": 0, "correct": 0, "canaries": 4}, "guesses=0 must be a whole number"),
        ({"guesses": 5, "correct": 2.5, "canaries": 9}, "correct=2.5 must be a whole number"),
    ],
)
def test_refuses_impossible_counts(fields: dict[str, int], match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        one_run_epsilon(**fields, level=0.05)


def test_limits_of_the_parameters() -> None:
    assert guess_tail(guessed(5, 5), epsilon=math.inf, delta=0.1) == 1.0
    assert guess_tail(guessed(5, 5), epsilon=800.0) == 1.0
    assert one_run_mu(guesses=10, correct=5, canaries=10, level=0.05) == 0.0
    # A million canaries: ln(0.8/0.2) = 1.386 less the deviation of the rate.
    many = one_run_epsilon(guesses=10**6, correct=800_000, canaries=10**6, level=0.05)
    assert many == pytest.approx(math.log(4) - 1.645 * 0.0004 / 0.16, abs=1e-4)


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan, 2.0])
def test_refuses_levels_out_of_range(level: float) -> None:
    with pytest.raises(InvalidParameter, match="level="):
        one_run_epsilon(guesses=5, correct=5, canaries=5, level=level)
