"""One of many candidates: bounded range and permute-and-flip, against enumeration."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import dpverify as dpv
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter
from dpverify.pairs import BoundedRangePair, FinitePair, LeakyResponsePair
from dpverify.pairs.bounded_range import two_outcomes

ADD = dpv.Relation.ADD_REMOVE
SCORES = [0.0, 1.0, 2.5, -3.0, 2.5]
Agree = Callable[[ArrayLike, ArrayLike, int], None]


def spent(subject: Any, times: int = 1) -> dpv.Accountant:  # noqa: ANN401
    return dpv.Accountant(relation=ADD).compose(subject, times=times)


def test_a_table_by_hand() -> None:
    pair = BoundedRangePair(2.0)
    assert pair.delta(0.0) == pytest.approx(math.tanh(0.5), rel=1e-15)
    assert pair.max_loss == 2.0
    assert pair.epsilon(0.0) == 2.0
    assert BoundedRangePair(0.0).delta(0.0) == 0.0
    assert pair.grouped(3) == BoundedRangePair(6.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.floats(0.0, 1.5))
def test_exponential_mechanisms_lie_below(seed: int, monotone: bool, epsilon: float) -> None:  # noqa: FBT001
    """Random scores and random moves, through `log_density`."""
    rng = np.random.default_rng(seed)
    pick = dpv.ExponentialMechanism(epsilon=1.5, score_sensitivity=1.0, monotone=monotone)
    scores = rng.normal(size=6) * 3.0
    moved = scores + rng.uniform(0.0 if monotone else -1.0, 1.0, 6)
    one, two = (np.exp(pick.log_density(np.arange(6), each)) for each in (scores, moved))
    bound = pick.pair(ADD).delta(epsilon)
    for left, right in ((one, two), (two, one)):
        assert np.maximum(left - math.exp(epsilon) * right, 0.0).sum() <= bound + 1e-12


@pytest.mark.parametrize("times", [1, 2, 3])
def test_fixed_candidates_lie_below_the_composition(times: int) -> None:
    for share in (0.3, 0.5, 0.7, 0.9):
        truth = two_outcomes(1.0, share).power(times)
        for delta in (1e-3, 0.1):
            found = spent(BoundedRangePair(1.0), times).epsilon(delta)
            assert truth.epsilon_bracket(delta).lower <= found.upper


def test_the_range_is_worth_a_factor() -> None:
    """Two directions of order: above RR(ε/2), below RR(ε)."""
    pick = dpv.ExponentialMechanism(epsilon=0.5, score_sensitivity=1.0)
    found = spent(pick, 100).epsilon(1e-6)
    half = spent(dpv.PureDP(epsilon=0.25), 100).epsilon(1e-6)
    assert half.lower - 1e-3 <= found.lower <= found.upper < 17.0
    assert spent(dpv.PureDP(epsilon=0.5), 100).epsilon(1e-6).lower > 33.0
    one = spent(pick).epsilon(1e-6)
    assert one.width < 1e-12
    assert spent(BoundedRangePair(2000.0), 4).epsilon(1e-6).upper <= 8000.0


def played(heads: list[Fraction]) -> list[float]:
    """Permute-and-flip by going through all orders."""
    wins = [Fraction(0)] * len(heads)
    orders = list(permutations(range(len(heads))))
    for order in orders:
        missed = Fraction(1, len(orders))
        for index in order:
            wins[index] += missed * heads[index]
            missed *= 1 - heads[index]
    return [float(win) for win in wins]


@pytest.mark.parametrize("monotone", [False, True])
def test_permute_and_flip_against_all_orders(monotone: bool) -> None:  # noqa: FBT001
    pick = dpv.PermuteAndFlip(epsilon=1.0, score_sensitivity=1.0, monotone=monotone)
    rate = 1.0 if monotone else 0.5
    heads = [Fraction(math.exp(rate * (score - 2.5))) for score in SCORES]
    found = np.exp(pick.log_density(np.arange(5), SCORES))
    assert found == pytest.approx(np.array(played(heads)), rel=1e-12)
    assert pick.log_density([7], SCORES)[0] == -math.inf


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("scores", [SCORES, [0.0, -2000.0, 0.0]])
def test_draws_fit_the_probabilities(
    scores: list[float], rng: np.random.Generator, agree: Agree
) -> None:
    pick = dpv.PermuteAndFlip(epsilon=1.0, score_sensitivity=1.0)
    draws = pick.sample(scores, size=50_000, rng=rng)
    counts = np.bincount(draws, minlength=len(scores))
    agree(counts, np.exp(pick.log_density(np.arange(len(scores)), scores)), draws.size)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_permute_and_flip_keeps_its_claim(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pick = dpv.PermuteAndFlip(epsilon=1.0, score_sensitivity=1.0)
    scores = rng.normal(size=5) * 2.0
    moved = scores + rng.uniform(-1.0, 1.0, 5)
    one, two = (pick.log_density(np.arange(5), each) for each in (scores, moved))
    assert np.abs(one - two).max() <= 1.0 + 1e-9


def test_expression() -> None:
    text = "permute_and_flip(epsilon=0.5, score_sensitivity=2)*3"
    assert parse(text) == [(dpv.PermuteAndFlip(epsilon=0.5, score_sensitivity=2), 3)]
    budget = dpv.PureDP(epsilon=1.0)
    scale = dpv.calibrate(
        lambda s: dpv.PermuteAndFlip(epsilon=1.0 / s, score_sensitivity=1.0),
        budget=budget,
        relation=ADD,
        times=4,
    )
    assert scale == pytest.approx(4.0, rel=1e-9)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "1", None, True])
def test_refusals(value: Any) -> None:  # noqa: ANN401
    for name in ("epsilon", "score_sensitivity"):
        with pytest.raises(InvalidParameter, match=rf"^{name}=.* must"):
            dpv.PermuteAndFlip(**{"epsilon": 1.0, "score_sensitivity": 1.0} | {name: value})
    with pytest.raises(InvalidParameter, match=r"^monotone=.* must be True or False"):
        dpv.PermuteAndFlip(epsilon=1.0, score_sensitivity=1.0, monotone="yes")  # type: ignore[arg-type]
    if value != 0.0:
        with pytest.raises(InvalidParameter, match=r"^epsilon_range=.* must"):
            BoundedRangePair(value)
    with pytest.raises(InvalidParameter, match=r"^data=.* must be a list"):
        dpv.PermuteAndFlip(epsilon=1.0, score_sensitivity=1.0).sample(
            1.0, 1, rng=np.random.default_rng(0)
        )


def test_instances_are_pairs_of_two_outcomes() -> None:
    one, other = BoundedRangePair(1.0).attained
    assert one == LeakyResponsePair(dpv.ApproxDP(epsilon=Fraction(1, 2)))  # type: ignore[arg-type]
    assert isinstance(other, FinitePair)
    losses = other.loss().losses
    assert losses[-1] - losses[0] == pytest.approx(1.0, rel=1e-12)
