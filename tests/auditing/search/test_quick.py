"""Looks and tests of single pairs."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpverify.auditing.attacks.draws import Draws
from dpverify.auditing.sampling.sampler import Sampler
from dpverify.auditing.search.quick import Outcome, few, glimpse, judge, look
from dpverify.auditing.search.trials import Calls
from dpverify.auditing.statistics.points import Point

Rng = np.random.Generator
CLAIM = (Point(epsilon=1.0, delta=0.0),)


def laplace(scale: float) -> Calls:
    return Calls(lambda data, rng: data + rng.laplace(scale=scale))


def response(data: int, rng: Rng) -> int:
    return data if rng.random() < 1.0 / (1.0 + math.exp(-1.0)) else 1 - data


def sampler(mechanism: Calls, right: Any = 1, seed: int = 0) -> Sampler:  # noqa: ANN401
    return Sampler(mechanism=mechanism, left=0, right=right, seed=seed)


def test_few_points_are_spread() -> None:
    points = [Point(epsilon=float(i), delta=0.0) for i in range(8)]
    assert [p.epsilon for p in few(points)] == [0.0, 4.0, 7.0]
    assert few(points[:2]) == tuple(points[:2])


@pytest.mark.parametrize("see", [glimpse, lambda seen, at: look(seen, at, classify=False)])
def test_scores_order_pairs_by_their_loss(see: Any) -> None:  # noqa: ANN401
    """Laplace noise of ε = ¼, 1, 4: far below the claim, near it, far above."""
    scores = [
        see(Draws.of(sampler(laplace(1.0 / e)), 0, 400), CLAIM).score for e in (0.25, 1.0, 4.0)
    ]
    assert scores == sorted(scores)
    assert scores[0] < -0.5
    assert scores[2] > 0.5


def test_equal_outputs_promise_nothing() -> None:
    found = glimpse(Draws.of(sampler(Calls(lambda _data, _rng: 3)), 0, 64), CLAIM)
    assert found.wager is None
    assert found.score < -1.0


def test_a_gross_violation_is_refuted_soon() -> None:
    pair = sampler(laplace(0.2))
    first = glimpse(Draws.of(pair, 0, 128), CLAIM)
    found = judge(pair, first, CLAIM, level=1e-9, most=4_000)
    assert found.refuted
    assert found.look.size <= 1_024
    assert 1.0 <= found.epsilon_lower <= 5.0


def test_a_test_gives_up_early_on_a_private_pair() -> None:
    pair = sampler(laplace(4.0))
    seen = Draws.of(pair, 0, 128)
    hopeful = glimpse(Draws.of(sampler(laplace(0.2)), 0, 128), CLAIM)
    start = glimpse(seen, CLAIM)
    assert start.wager is None
    found = judge(pair, hopeful, CLAIM, level=1e-6, most=100_000)
    assert not found.refuted
    assert found.look.size <= 1_024


def outcome(mechanism: Calls, seed: int) -> Outcome:
    pair = sampler(mechanism, seed=seed)
    first = look(Draws.of(pair, 0, 64), CLAIM, classify=False)
    return judge(pair, first, CLAIM, level=0.2, most=512)


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("runs", [50, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mechanism", [Calls(response), laplace(1.0)], ids=["response", "laplace"])
def test_true_claims_are_refuted_no_more_often_than_allowed(mechanism: Calls, runs: int) -> None:
    """Tight claims, judged whatever the first look says, at level 0.2."""
    refuted = sum(outcome(mechanism, seed).refuted for seed in range(runs))
    assert refuted <= binom.isf(1e-9, runs, 0.2)
