"""Adversaries that optimize the neighbors: honest methods keep their δ, spoiled ones are found.

`python -m benchmarks.adversaries` searches longer, in more dimensions.
"""

import numpy as np
import pytest

import dpverify as dpv
from tests.solvers.adversary import (
    Estimate,
    Pairs,
    Target,
    allocated,
    gradient,
    objective,
    output,
    softmax,
    statistics,
)

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
GAUSSIAN, PURE = dpv.ApproxDP(epsilon=1.0, delta=0.02), dpv.PureDP(epsilon=1.0)
TARGETS = [objective(ADD, 2), output(ADD, 3), gradient(ADD, 2), statistics(ADD, 2)]
HARDER = [
    *(objective(REPLACE, 3), output(REPLACE, 5), gradient(REPLACE, 4), softmax(ADD, 2)),
    *(allocated(ADD, 2), allocated(REPLACE, 2)),
]
SEARCH = {"starts": 2, "evaluations": 40, "seed": 3}
LEVEL = 1e-9

each = pytest.mark.parametrize(
    "target",
    [*TARGETS, *(pytest.param(target, marks=pytest.mark.slow) for target in HARDER)],
    ids=lambda target: f"{target.name}, {target.pairs.relation.value}",
)


@pytest.mark.false_alarm(2e-9)
@each
def test_no_pair_that_the_search_finds_breaks_a_claim(target: Target) -> None:
    found, _ = target.under(GAUSSIAN).worst_delta(draws=500, fresh=20_000, **SEARCH)
    assert found.lower(LEVEL) <= GAUSSIAN.delta


@each
def test_no_loss_exceeds_a_pure_claim(target: Target) -> None:
    loss = target.under(PURE).worst_loss(draws=200, **SEARCH)
    assert 0.3 <= loss <= 1.0 + 1e-6


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_twice_what_was_claimed_is_found(target: Target) -> None:
    found, _ = target.spoiled(GAUSSIAN, 2.0).worst_delta(draws=500, fresh=20_000, **SEARCH)
    assert found.lower(LEVEL) > GAUSSIAN.delta
    assert target.spoiled(PURE, 1.5).worst_loss(draws=200, **SEARCH) > 1.2


@pytest.mark.false_alarm(4e-9)
def test_weighted_draws_agree_with_the_exact_profile() -> None:
    """Statistics with Gaussian noise: δ of a pair is that of its distance, in closed form."""
    target = statistics(ADD, 2)
    pair = (np.array([[1.0, 0.0]]), np.array([1.0])), (np.empty((0, 2)), np.empty(0))
    found = target.under(GAUSSIAN).delta(pair, 200_000, seed=5)
    # One record of norm and label one moves them by all of the sensitivity: δ is what was claimed.
    assert found.value == pytest.approx(GAUSSIAN.delta, abs=6.0 * found.error)
    assert found.error < 0.02 * GAUSSIAN.delta


def test_pairs_by_hand() -> None:
    pairs = Pairs(relation=REPLACE, features=2, common=1, labels=(1.0,))
    labels = pairs.drawn_labels(np.random.default_rng(0))
    left, right = pairs.at(np.array([0.5, 0.0, 3.0, 4.0, 0.0, -1.0]), labels)
    assert left[0].tolist() == [[0.5, 0.0], [0.6, 0.8]]
    assert right[0].tolist() == [[0.5, 0.0], [0.0, -1.0]]
    twice = Pairs(relation=ADD, features=1, common=1, copies=2, labels=(1.0,))
    left, right = twice.at(np.array([0.5, -1.0]), np.ones(2))
    assert (left[0].tolist(), right[0].tolist()) == ([[0.5], [0.5], [-1.0]], [[0.5], [0.5]])
    fewer = Pairs(relation=ADD, features=1, common=1, label_bound=2.0)
    left, right = fewer.at(np.array([0.0, 0.25, 9.0, -1.0]), np.zeros(2))
    assert (len(left[1]), len(right[1])) == (2, 1)
    assert left[1] == pytest.approx([0.0, 2.0])


def test_a_lower_bound_by_hand() -> None:
    found = Estimate(value=0.5, error=0.01, draws=701, largest=1.0, loss=0.0)
    # ln(2/level) = 2: 0.5 − 0.01·√4 − 7·2/(3·700)
    assert found.lower(2.0 * np.exp(-2.0)) == pytest.approx(0.5 - 0.02 - 14.0 / 2100.0)
