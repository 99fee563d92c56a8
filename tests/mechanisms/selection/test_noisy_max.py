"""Report noisy max: output probabilities by enumeration on coarse grids, and its draws."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import ArrayLike

from dpverify.guarantees import PureDP
from dpverify.mechanisms import NoisyMax
from dpverify.neighbors import Relation

Agree = Callable[[ArrayLike, ArrayLike, int], None]
_REACH = 2000  # steps; beyond, the noise of these tests has probability below 1e-40

both_noises = pytest.mark.parametrize("noise", ["exponential", "laplace"])


def tail(mechanism: NoisyMax, steps: np.ndarray) -> np.ndarray:
    """P(K ≥ steps), from the definition: K is scale·X rounded down, or to the nearest."""
    scale = mechanism._grid_noise().scale_in_steps
    if mechanism.noise == "exponential":
        beyond: np.ndarray = np.exp(-np.maximum(steps, 0) / scale)
        return beyond
    edge = (steps - 0.5) / scale
    return np.where(edge > 0, 0.5 * np.exp(-np.abs(edge)), 1.0 - 0.5 * np.exp(-np.abs(edge)))


def law(mechanism: NoisyMax, scores: ArrayLike) -> np.ndarray:
    """P(index), summed over the value of the noisy winner; the first of equals wins."""
    rounded = mechanism._grid_noise().grid.steps(np.asarray(scores, dtype=float))
    values = np.arange(rounded.min() - _REACH, rounded.max() + _REACH)
    result = np.empty(len(rounded))
    for i, own in enumerate(rounded):
        mass = tail(mechanism, values - own) - tail(mechanism, values - own + 1)
        for j, other in enumerate(rounded):
            if j < i:
                mass = mass * (1.0 - tail(mechanism, values - other))
            elif j > i:
                mass = mass * (1.0 - tail(mechanism, values - other + 1))
        result[i] = mass.sum()
    return result


def largest_loss(mechanism: NoisyMax, starts: list[tuple[float, ...]]) -> float:
    """Over all starts and all moves of each score by −Δ, 0 or Δ, as far as they are monotone."""
    step = mechanism.score_sensitivity
    worst = 0.0
    for scores in starts:
        left = np.log(law(mechanism, scores))
        for move in product((-step, 0.0, step), repeat=len(scores)):
            if mechanism.monotone and min(move) < 0 < max(move):
                continue
            right = np.log(law(mechanism, np.add(scores, move)))
            worst = max(worst, float(np.abs(left - right).max()))
    return worst


STARTS: list[tuple[float, ...]] = [
    (0.0, 0.0, 0.0),
    (0.0, 3.0, 3.0),
    (2.0, -1.0, 5.0),
    (6.0, 0.25, 0.0),
    (0.0, 0.4, -0.4),
]


@both_noises
@pytest.mark.parametrize("moves", ["freely", "together"])
@pytest.mark.parametrize("exponent", [0, 1, -2])
def test_epsilon_holds_for_the_exact_law(noise: str, moves: str, exponent: int) -> None:
    """At a grid of 2 a score that moves by Δ = 1 moves by a whole step, twice as much."""
    mechanism = NoisyMax(
        epsilon=0.8,
        score_sensitivity=1.0,
        monotone=moves == "together",
        noise=noise,  # type: ignore[arg-type]  # parametrized
        grid_exponent=exponent,
    )
    assert law(mechanism, STARTS[2]).sum() == pytest.approx(1.0, rel=1e-12)
    loss = largest_loss(mechanism, STARTS)
    assert loss <= 0.8 + 1e-10
    assert loss > (0.7 if noise == "exponential" else 0.6)


def test_exponential_noise_attains_epsilon() -> None:
    """The index that can only win from behind loses exactly the factor e^ε."""
    mechanism = NoisyMax(epsilon=0.8, score_sensitivity=1.0, grid_exponent=0)
    left, right = law(mechanism, [0.0, 3.0]), law(mechanism, [-1.0, 4.0])
    assert math.log(left[0] / right[0]) == pytest.approx(0.8, rel=1e-12)


def test_moves_that_are_not_monotone_cost_twice() -> None:
    """What `monotone` promises is needed: the check above would see its absence."""
    mechanism = NoisyMax(epsilon=0.8, score_sensitivity=1.0, monotone=True, grid_exponent=0)
    left, right = law(mechanism, [0.0, 3.0]), law(mechanism, [-1.0, 4.0])
    assert math.log(left[0] / right[0]) == pytest.approx(1.6, rel=1e-12)


@pytest.mark.false_alarm(1e-9)
@both_noises
@pytest.mark.parametrize("scores", [(0.0, 0.0, 0.0), (1.0, 0.0, 2.5, 2.5)])
def test_draws_have_the_exact_law(
    noise: str, scores: tuple[float, ...], rng: np.random.Generator, agree: Agree
) -> None:
    total = 200_000
    mechanism = NoisyMax(epsilon=1.0, score_sensitivity=1.0, noise=noise, grid_exponent=0)  # type: ignore[arg-type]
    draws = mechanism.sample(scores, total, rng=rng)
    agree(np.bincount(draws, minlength=len(scores)), law(mechanism, scores), total)


@pytest.mark.false_alarm(1e-9)
@both_noises
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
def test_two_candidates_against_the_continuous_law(
    noise: str, arithmetic: str, rng: np.random.Generator, agree: Agree
) -> None:
    """With gap t ≥ 0 in units of the scale, the lesser of two wins with probability e^-t/2 under
    exponential noise and e^-t·(1/2 + t/4) under Laplace noise; the grid moves it by below 1e-6.
    """
    total, gap = 300_000, 0.75
    mechanism = NoisyMax(
        epsilon=2.0,
        score_sensitivity=1.0,
        noise=noise,  # type: ignore[arg-type]  # parametrized
        arithmetic=arithmetic,  # type: ignore[arg-type]  # parametrized
    )
    draws = mechanism.sample([0.0, gap], total, rng=rng)
    factor = 0.5 if noise == "exponential" else 0.5 + gap / 4
    lesser = math.exp(-gap) * factor
    agree(np.bincount(draws, minlength=2), [lesser, 1.0 - lesser], total)


def test_claim_and_scale() -> None:
    mechanism = NoisyMax(epsilon=0.5, score_sensitivity=2.0)
    assert mechanism.scale == 8
    assert NoisyMax(epsilon=0.5, score_sensitivity=2.0, monotone=True).scale == 4
    assert mechanism.claim.guarantee == PureDP(epsilon=0.5)
    assert mechanism.claim.theorem.name == "noisy-max"
    assert mechanism.pair(Relation.REPLACE_ONE).max_loss == 0.5
    real = NoisyMax(epsilon=0.5, score_sensitivity=2.0, arithmetic="real")
    assert real.claim.assumes == ("real arithmetic",)


def test_draws_are_reproducible_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = NoisyMax(epsilon=1.0, score_sensitivity=1.0)
    first = mechanism.sample([1, 2, 3], 100, rng=np.random.default_rng(4))
    assert first.shape == (100,)
    assert (first == mechanism.sample([1.0, 2.0, 3.0], 100, rng=np.random.default_rng(4))).all()
    assert (mechanism.sample([5.0], 10, rng=np.random.default_rng(4)) == 0).all()
    assert (mechanism.sample([0.0, 1e300], 10, rng=np.random.default_rng(4)) == 1).all()
    monkeypatch.setattr("dpverify.mechanisms.selection.noisy_max._BLOCK", 7)  # two rows at a time
    assert mechanism.sample([1.0, 2.0, 3.0], 100, rng=np.random.default_rng(4)).shape == (100,)
