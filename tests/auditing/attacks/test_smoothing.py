"""Cuts placed by a smooth ratio: close to the best one, and left alone where nothing is smooth."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from dpverify.auditing.attacks.cuts import thresholds
from dpverify.auditing.attacks.draws import Bound, Draws
from dpverify.auditing.attacks.events import Between
from dpverify.auditing.attacks.smoothing import smoothed
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.tabulating import from_array

DELTA, SIZE = 1e-3, 16_384
GOAL = Bound(delta=DELTA, z=1.9, planned=180_000)


def draws(shift: Callable[[np.ndarray], np.ndarray], seed: int) -> Draws:
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal(SIZE), rng.standard_normal(SIZE)
    return Draws(from_array(left), from_array(shift(right)))


def promised(cut: float) -> float:
    """The merit of output ≤ cut by the true chances, of N(0, 1) against N(1, 1)."""
    p, q = norm.cdf(cut), norm.cdf(cut - 1.0)
    big = 1e9
    goal = Bound(delta=DELTA, z=1.9, planned=180_000, doubt=0.0)
    return float(goal.merit(np.array([p * big]), int(big), np.array([q * big]), int(big))[0])


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_far_out_is_close_to_the_best_one(seed: int) -> None:
    """The cut that the draws alone choose is worth less."""
    seen = draws(lambda noise: noise + 1.0, seed)
    raw = max(
        (one for one in thresholds("output", seen, GOAL) if one.favors is Side.LEFT),
        key=lambda one: one.merit,
    )
    found = smoothed(raw, seen, GOAL)
    assert found is not None
    assert isinstance(found.event, Between)
    assert isinstance(raw.event, Between)
    best = max(promised(cut) for cut in np.linspace(-4.0, 0.0, 401))
    assert promised(found.event.high) > best - 0.03
    assert promised(found.event.high) > promised(raw.event.high)


@pytest.mark.false_alarm(1e-9)
def test_where_the_ratio_jumps_the_cut_is_left_alone() -> None:
    """Beyond −2.5 only the left has draws: no smooth ratio expects that."""
    seen = draws(lambda noise: np.maximum(noise, -2.5 + 0.1 * np.abs(noise % 1.0)), 0)
    raw = max(thresholds("output", seen, GOAL), key=lambda one: one.merit)
    found = smoothed(raw, seen, GOAL)
    assert found is None or found.event == raw.event


def test_numbers_of_few_values_are_left_alone() -> None:
    seen = draws(np.round, 0)
    rounded = Draws(from_array(np.round(seen.left.column("output"))), seen.right)
    raw = max(thresholds("output", rounded, GOAL), key=lambda one: one.merit)
    assert smoothed(raw, rounded, GOAL) is None
