"""What selections cost: between two candidates by enumeration, and no lower end above the truth."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.arrays import Floats

REPLACE = dpv.Relation.REPLACE_ONE
EPSILON = 1.5


def permute_and_flip(scores: Floats) -> Floats:
    """Over all orders: each candidate is reached if all before it showed tails."""
    heads = np.exp(EPSILON / 2.0 * (scores - scores.max()))
    found = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for candidate in order:
            found[candidate] += reached * heads[candidate] / len(orders)
            reached *= 1.0 - heads[candidate]
    return found


def noisy_max(scores: Floats) -> Floats:
    """Laplace noise of scale 2/ε, by quadrature over the winner's sum."""
    scale = 2.0 / EPSILON
    at = np.linspace(-80.0, 80.0, 80001)
    centered = (at[:, None] - scores) / scale
    density = np.exp(-np.abs(centered)) / (2.0 * scale)
    tails = np.exp(-np.abs(centered)) / 2.0
    below = np.where(centered < 0.0, tails, 1.0 - tails)
    masses = np.array(
        [
            (density[:, i] * np.delete(below, i, axis=1).prod(axis=1)).sum() * (at[1] - at[0])
            for i in range(len(scores))
        ]
    )
    found: Floats = masses / masses.sum()
    return found


LAWS: dict[str, tuple[Any, Callable[[Floats], Floats]]] = {
    "permute-and-flip": (
        dpv.PermuteAndFlip(epsilon=EPSILON, score_sensitivity=1.0), permute_and_flip,
    ),
    "exponential noise": (  # the same law
        dpv.NoisyMax(epsilon=EPSILON, score_sensitivity=1.0), permute_and_flip,
    ),
    "laplace noise": (
        dpv.NoisyMax(epsilon=EPSILON, score_sensitivity=1.0, noise="laplace"), noisy_max,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 1.4])
def test_two_candidates_that_change_places_cost_the_lower_end(name: str, epsilon: float) -> None:
    mechanism, law = LAWS[name]
    left, right = law(np.array([0.5, -0.5])), law(np.array([-0.5, 0.5]))
    truth = np.maximum(left - math.exp(epsilon) * right, 0.0).sum()
    found = dpv.Accountant(relation=REPLACE).compose(mechanism).delta(epsilon)
    assert found.lower == pytest.approx(truth, rel=1e-5, abs=1e-9)
    assert truth <= found.upper
    assert "worst scores" in " ".join(found.assumes)


@pytest.mark.parametrize("name", LAWS)
def test_no_scores_cost_more_than_the_upper_end(name: str) -> None:
    """Two to four candidates, every score moved up or down by the whole sensitivity."""
    mechanism, law = LAWS[name]
    rng = np.random.default_rng(0)
    spent = dpv.Accountant(relation=REPLACE).compose(mechanism)
    worst = dict.fromkeys((0.0, 0.7, 1.3), 0.0)
    for _ in range(30):
        scores = rng.uniform(-2.0, 2.0, rng.integers(2, 5))
        left, right = law(scores), law(scores + rng.choice([-1.0, 1.0], len(scores)))
        for epsilon, most in worst.items():
            cost = np.maximum(left - math.exp(epsilon) * right, 0.0).sum()
            worst[epsilon] = max(most, float(cost))
    for epsilon, most in worst.items():
        found = spent.delta(epsilon)
        assert found.lower <= -math.expm1((epsilon - EPSILON) / 2.0)  # what no scores exceed
        assert most <= found.upper


def test_a_coarse_grid_promises_no_difference() -> None:
    """A score that moves by one step may not move a choice that was rounded to steps at all."""
    coarse = dpv.NoisyMax(epsilon=1.0, score_sensitivity=1.0, monotone=True, grid_exponent=0)
    found = dpv.Accountant(relation=REPLACE).compose(coarse).delta(0.0)
    assert (found.lower, round(found.upper, 5)) == (0.0, 0.46212)


def test_sparse_vector_is_bounded_from_above_alone() -> None:
    sparse = dpv.SparseVector(epsilon=1.0, threshold=0.0, sensitivity=1.0, answers=1)
    found = dpv.Accountant(relation=REPLACE).compose(sparse, times=3).epsilon(delta=1e-6)
    assert found.lower == 0.0
    assert found.upper == pytest.approx(3.0, abs=1e-4)


def test_samples_of_selections_lie_between_samples() -> None:
    pick = dpv.NoisyMax(epsilon=1.0, score_sensitivity=1.0)
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    found = spent.compose(dpv.Subsampled(pick, rate=0.1), times=3).epsilon(delta=1e-5)
    worst = spent.compose(dpv.Subsampled(dpv.RandomizedResponse(1.0), rate=0.1), times=3)
    assert found.upper == pytest.approx(worst.epsilon(delta=1e-5).upper, abs=1e-6)
    assert 0.5 * found.upper < found.lower < found.upper
