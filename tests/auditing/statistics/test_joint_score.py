"""Boxes bound the joint statistic from below, and the bound on ε is valid for every ε at once."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import binom

from dpverify.auditing.statistics.binomial import Counts, critical, epsilon_lower, rejects
from dpverify.auditing.statistics.joint_score import Joint, certified, least_at

LEVEL = 0.05
shares = st.floats(0, 1)


def statistic(joint: Joint, q: Any, epsilon: float) -> Any:  # noqa: ANN401  # numbers or arrays
    """By the definition, with scipy's binomial law."""
    p = np.minimum(1.0, math.exp(epsilon) * q + joint.delta)
    z1 = -ndtri(binom.sf(joint.hits - 1, joint.trials, p))
    z2 = -ndtri(binom.cdf(joint.other_hits, joint.other_trials, q))
    s1 = np.sqrt(p * (1 - p) * joint.balance)
    s2 = math.exp(epsilon) * np.sqrt(q * (1 - q))
    angle = np.arctan2(s1, s2)
    floored = np.maximum(z1, joint.floor), np.maximum(z2, joint.floor)
    return np.sin(angle) * floored[0] + np.cos(angle) * floored[1]


def joint_of(hits: int, trials: int, other: int) -> Joint:
    sizes = {"trials": trials, "other_trials": trials}
    return Joint(hits=hits, other_hits=other, **sizes, delta=0.0, floor=-4.0, balance=1.0)


@st.composite
def joints(draw: st.DrawFn) -> Joint:
    trials, other = draw(st.integers(1, 500)), draw(st.integers(1, 500))
    return Joint(
        hits=draw(st.integers(0, trials)),
        trials=trials,
        other_hits=draw(st.integers(0, other)),
        other_trials=other,
        delta=draw(st.sampled_from([0.0, 1e-3, 0.1, 0.6])),
        floor=-4.0,
        balance=draw(st.sampled_from([other / trials, 0.5, 3.0])),
    )


@given(
    joints(), st.tuples(shares, shares), st.floats(0, 4), st.floats(0, 1), st.tuples(shares, shares)
)
def test_a_box_is_below_all_its_points(
    joint: Joint,
    ends: tuple[float, float],
    epsilon: float,
    width: float,
    where: tuple[float, float],
) -> None:
    (a, b), (s, t) = ends, where
    edge = float(joint.edge(np.array([epsilon]))[0])
    low, high = sorted((a * edge, b * edge))
    q = low + s * (high - low)
    inside = epsilon + t * width
    box = joint.least(
        (np.array([low]), np.array([high])), (np.array([epsilon]), np.array([epsilon + width]))
    )
    if q < 1e-300 or q == 1.0 or q > float(joint.edge(np.array([inside]))[0]):
        return
    point = statistic(joint, q, inside)
    assert box[0] <= point + 1e-6 or (box[0] < 0.0 and point < 0.0)


@pytest.mark.parametrize("q", [5e-324, 1e-310, 1e-300, 1e-200])
def test_a_box_next_to_zero_is_below_its_points(q: float) -> None:
    """One hit of one at p = q, and no other hit: Φ⁻¹(1 − q) and Φ⁻¹(q), half a right angle."""
    joint = Joint(
        hits=1, trials=1, other_hits=0, other_trials=1, delta=0.0, floor=-4.0, balance=1.0
    )
    none = np.array([0.0])
    box = joint.least((none, np.array([q])), (none, none))
    assert box[0] <= (-ndtri(q) - 4.0) / math.sqrt(2.0) + 1e-6


@pytest.mark.parametrize(
    ("hits", "other", "trials", "delta"),
    [(60, 20, 100, 0.0), (500, 90, 1_000, 0.0), (30, 2, 100, 0.05), (9, 0, 50, 0.0)],
)
def test_every_smaller_epsilon_is_rejected_with_all_its_points(
    hits: int, other: int, trials: int, delta: float
) -> None:
    seen = Counts(hits=hits, trials=trials, other_hits=other, other_trials=trials)
    lower = epsilon_lower(seen, delta=delta, level=LEVEL)
    assert lower > 0.3
    joint = Joint(
        hits=hits,
        trials=trials,
        other_hits=other,
        other_trials=trials,
        delta=delta,
        floor=float(ndtri(LEVEL / 1000)),
        balance=1.0,
    )
    rng = np.random.default_rng(0)
    for epsilon in np.append(lower * rng.random(200), lower):
        edge = float(joint.edge(np.array([epsilon]))[0])
        q = np.concatenate([edge * rng.random(500), rng.normal(other / trials, 0.05, 500)])
        points = np.clip(q, 1e-9, edge * (1 - 1e-9))
        assert statistic(joint, points, float(epsilon)).min() >= critical(LEVEL)
    # and not much more could have been shown
    assert least_at(joint, lower) < critical(LEVEL) + 0.1


def test_the_bound_is_valid_for_every_pair_of_laws() -> None:
    """Exact: the chance that L > ε is summed over all counts, for a grid of (p, q)."""
    trials, delta = 14, 0.05
    hits = np.arange(trials + 1)
    for level in (0.05, 0.2):
        bounds = np.array(
            [
                [
                    epsilon_lower(
                        Counts(hits=a, trials=trials, other_hits=b, other_trials=trials),
                        delta=delta,
                        level=level,
                    )
                    for b in hits.tolist()
                ]
                for a in hits.tolist()
            ]
        )
        for p in np.linspace(0.02, 1.0, 25):
            for q in np.linspace(0.01, 0.99, 25):
                truth = max(0.0, math.log((p - delta) / q)) if p > delta else 0.0
                seen = np.outer(binom.pmf(hits, trials, p), binom.pmf(hits, trials, q))
                assert seen[bounds > truth].sum() <= level


@settings(max_examples=40)
@given(st.integers(1, 3_000), shares, shares, st.floats(0, 5), st.floats(0, 2))
def test_rejecting_is_being_below_the_bound(
    trials: int, hits: float, other: float, epsilon: float, more: float
) -> None:
    seen = Counts(
        hits=round(hits * trials),
        trials=trials,
        other_hits=round(other * trials),
        other_trials=trials,
    )
    lower = epsilon_lower(seen, level=LEVEL)
    if rejects(seen, epsilon=epsilon, delta=0.0, level=LEVEL):
        assert lower >= epsilon - 0.2
    if epsilon < lower * 0.98 - 0.01:
        assert rejects(seen, epsilon=epsilon, delta=0.0, level=LEVEL)
    if rejects(seen, epsilon=epsilon + more, delta=0.0, level=LEVEL):
        assert rejects(seen, epsilon=epsilon, delta=0.0, level=LEVEL)
    stricter = epsilon_lower(seen, level=LEVEL / 10)
    assert stricter <= lower + 0.02


def test_slices_are_counted_up_to_the_first_that_fails() -> None:
    joint = Joint(
        hits=500,
        trials=1_000,
        other_hits=100,
        other_trials=1_000,
        delta=0.0,
        floor=-4.0,
        balance=1.0,
    )
    cuts = np.array([0.0, 0.5, 1.0, 1.3, 1.5, 2.0])
    assert certified(joint, cuts, critical(LEVEL)) == 3
    assert certified(joint, cuts[:3], critical(LEVEL)) == 2
    assert certified(joint, cuts, 1e3) == 0
