"""The exponential mechanism: its exact law, its ε, its draws."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from dpverify.guarantees import PureDP
from dpverify.mechanisms import ExponentialMechanism
from dpverify.mechanisms.sampling.choice import CutPoints, at_precision
from dpverify.neighbors import Relation

Agree = Callable[[ArrayLike, ArrayLike, int], None]


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "moves", "scores", "law"),
    [
        (2.0, 1.0, "freely", [0.0, math.log(3.0)], [1 / 4, 3 / 4]),
        (1.0, 1.0, "together", [0.0, math.log(3.0)], [1 / 4, 3 / 4]),
        (4.0, 2.0, "freely", [0.0, math.log(3.0)], [1 / 4, 3 / 4]),
        (0.0, 1.0, "freely", [0.0, 1e9, -5.0], [1 / 3, 1 / 3, 1 / 3]),
        (0.0, 1.0, "freely", [1e308, -1e308], [1 / 2, 1 / 2]),
        (1.0, 1.0, "freely", [7.0], [1.0]),
        (1.0, 1.0, "freely", [1e308, -1e308], [1.0, 0.0]),
    ],
)
def test_probabilities_by_hand(
    epsilon: float, sensitivity: float, moves: str, scores: list[float], law: list[float]
) -> None:
    pick = ExponentialMechanism(
        epsilon=epsilon, score_sensitivity=sensitivity, monotone=moves == "together"
    )
    outputs = np.arange(len(scores))
    assert np.exp(pick.log_density(outputs, scores)) == pytest.approx(law, rel=1e-14)
    assert pick.log_density([-1, len(scores)], scores).tolist() == [-math.inf, -math.inf]


def test_claim() -> None:
    pick = ExponentialMechanism(epsilon=1.5, score_sensitivity=1.0)
    assert pick.claim.guarantee == PureDP(epsilon=1.5)
    assert pick.claim.theorem.name == "exponential-mechanism"
    assert pick.pair(Relation.ADD_REMOVE).max_loss == 1.5
    assert any("2^-44" in words for words in pick.claim.assumes)
    real = ExponentialMechanism(epsilon=1.5, score_sensitivity=1.0, arithmetic="real")
    assert real.claim.assumes == ("real arithmetic",)


scores_and_moves = st.integers(2, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(-30.0, 30.0), min_size=n, max_size=n),
        st.lists(st.floats(-1.0, 1.0), min_size=n, max_size=n),
    )
)


@given(scores_and_moves, st.floats(0.01, 10.0), st.sampled_from(["freely", "together"]))
def test_no_probability_moves_by_more_than_epsilon(
    drawn: tuple[list[float], list[float]], epsilon: float, together: str
) -> None:
    monotone = together == "together"
    scores, moves = np.array(drawn[0]), np.array(drawn[1])
    moves = np.abs(moves) if monotone else moves
    pick = ExponentialMechanism(epsilon=epsilon, score_sensitivity=1.0, monotone=monotone)
    outputs = np.arange(len(scores))
    left = pick.log_density(outputs, scores)
    right = pick.log_density(outputs, scores + moves)
    assert np.abs(left - right).max() <= epsilon * (1 + 1e-12) + 1e-12


def test_epsilon_is_nearly_attained() -> None:
    """An unlikely candidate falls, the other rises; if monotone, only one of the two moves."""
    for monotone, other in [(False, 21.0), (True, 20.0)]:
        pick = ExponentialMechanism(epsilon=1.0, score_sensitivity=1.0, monotone=monotone)
        left = pick.log_density([0], [0.0, 20.0])[0]
        right = pick.log_density([0], [-1.0, other])[0]
        assert 0.999 < left - right <= 1.0


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
def test_choices_have_their_law(arithmetic: str, rng: np.random.Generator, agree: Agree) -> None:
    total, scores = 300_000, [0.0, 3.0, -1.0, 2.5, 3.0]
    pick = ExponentialMechanism(epsilon=1.0, score_sensitivity=1.0, arithmetic=arithmetic)  # type: ignore[arg-type]
    draws = pick.sample(scores, total, rng=rng)
    expected = np.exp(pick.log_density(np.arange(5), scores))
    agree(np.bincount(draws, minlength=5), expected, total)


def test_balls_and_floats_choose_alike() -> None:
    pick = ExponentialMechanism(epsilon=1.0, score_sensitivity=1.0)
    scores = np.array([0.0, 3.0, -1.0, 2.5, 3.0, -400.0])
    fast = pick.sample(scores, 2000, rng=np.random.default_rng(9))
    weights = np.cumsum(np.exp(pick._exponents(scores)))
    slow = CutPoints(
        floats=weights[:-1] / weights[-1],
        error=2.0,
        balls=at_precision(lambda: pick._cut_balls(scores)),
    )
    assert (fast == slow.draw((2000,), np.random.default_rng(9))).all()


@pytest.mark.parametrize("count", [2, 50, 2000])
def test_float_cuts_are_64_times_better_than_assumed(count: int, rng: np.random.Generator) -> None:
    pick = ExponentialMechanism(epsilon=0.7, score_sensitivity=0.3)
    scores = rng.normal(0.0, 20.0, count)
    cumulated = np.cumsum(np.exp(pick._exponents(scores)))
    floats = cumulated[:-1] / cumulated[-1]
    with ctx.workprec(160):
        exact = pick._cut_balls(scores)
        errors = [abs(e - f) for e, f in zip(exact, floats.tolist(), strict=True)]
    assert all(error < 2.0**-50 * (count + 1) for error in errors)


def test_draws_are_reproducible_indices() -> None:
    pick = ExponentialMechanism(epsilon=1.0, score_sensitivity=1.0)
    first = pick.sample([1, 2, 3], 100, rng=np.random.default_rng(4))
    assert first.shape == (100,)
    assert set(first.tolist()) <= {0, 1, 2}
    assert (first == pick.sample([1.0, 2.0, 3.0], 100, rng=np.random.default_rng(4))).all()
    assert (pick.sample([5.0], 10, rng=np.random.default_rng(4)) == 0).all()
