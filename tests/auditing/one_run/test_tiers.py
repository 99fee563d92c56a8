"""Guesses in tiers and guesses as it goes: never above the worst case, and stronger than counts."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import binom

import dpverify as dpv
from dpverify.auditing.one_run.as_it_goes import Played
from dpverify.auditing.one_run.limits import Tiered
from dpverify.auditing.one_run.tiers import TierBound, Tiers, best_tier_bound

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
POINTS = ((0.0, 0.25), (0.7, 0.06), (1.5, 0.01))


def gaussian(included: Mask, rng: np.random.Generator) -> Floats:
    return included + rng.normal(size=len(included))


def worst_case(tiers: Tiers, penalty: int, canaries: int) -> float:
    """The largest P(Z ≤ penalty) over laws of the wrong guesses in each tier that POINTS allow.

    By symmetry of the canaries: for each j the excess of (r_t − d_t)·P(d) over
    E_j·(d_t + 1)·P(d + e_t), added up where positive, is at most m·δ_j.
    """
    states = list(itertools.product(*(range(size + 1) for size in tiers.sizes)))
    index = {state: i for i, state in enumerate(states)}
    steps = [
        (t, state) for t in range(len(tiers.sizes)) for state in states if state[t] < tiers.sizes[t]
    ]
    width = len(states) + len(POINTS) * len(steps)
    rows: list[Any] = []
    limits: list[float] = []
    for j, (epsilon, delta) in enumerate(POINTS):
        total = np.zeros(width)
        for k, (t, state) in enumerate(steps):
            raised = (*state[:t], state[t] + 1, *state[t + 1 :])
            row = np.zeros(width)
            # P(d) is of all patterns together: of each, the chance that turning keeps it.
            row[index[state]] = tiers.sizes[t] - state[t]
            row[index[raised]] = -math.exp(epsilon) * (state[t] + 1)
            excess = len(states) + j * len(steps) + k
            row[excess] = -1.0
            total[excess] = 1.0
            rows.append(row)
            limits.append(0.0)
        rows.append(total)
        limits.append(canaries * delta)
    goal = np.array([-1.0 * (tiers.penalty(state) <= penalty) for state in states])
    solved = linprog(
        np.concatenate([goal, np.zeros(width - len(states))]),
        A_ub=np.array(rows),
        b_ub=limits,
        A_eq=[[1.0] * len(states) + [0.0] * (width - len(states))],
        b_eq=[1.0],
    )
    assert solved.status == 0
    assert solved.fun is not None
    return -float(solved.fun)


SMALL = [
    Tiers((2, 4), (2, 1)),
    Tiers((3, 3), (3, 2)),
    Tiers((2, 2, 2), (3, 2, 1)),
    Tiers((5,), (1,)),
]


@pytest.mark.parametrize("tiers", SMALL)
@pytest.mark.parametrize("penalty", [0, 1, 3])
def test_the_program_is_above_the_worst_case(tiers: Tiers, penalty: int) -> None:
    epsilons, deltas = np.array(POINTS).T
    proof = best_tier_bound(tiers, penalty, epsilons=epsilons, deltas=deltas, canaries=8)
    assert proof is not None
    worst = worst_case(tiers, penalty, 8)
    assert proof.bound(8, deltas) >= worst - 1e-8
    if len(tiers.sizes) == 1:
        assert proof.bound(8, deltas) == pytest.approx(worst, abs=1e-6)


@given(
    tests=st.lists(st.floats(0, 0.5), min_size=30, max_size=30),
    penalty=st.integers(0, 8),
    which=st.integers(0, 1),
)
def test_any_numbers_are_above_the_worst_case(tests: list[float], penalty: int, which: int) -> None:
    epsilons, deltas = np.array(POINTS).T
    table = np.array(tests).reshape(2, 3, 5)
    proof = TierBound(SMALL[which], penalty, epsilons, table)
    assert proof.bound(8, deltas) >= worst_case(SMALL[which], penalty, 8) - 1e-8


def test_wrong_guesses_are_counted_by_tier() -> None:
    included = np.array([True, False, False, True, True, False])
    order = np.arange(6)  # canary 5 has the highest score, and is out
    assert Tiers((2, 2), (2, 1)).wrong(order, included) == (2, 0)
    assert Tiers((1, 3), (2, 1)).wrong(order, included) == (1, 1)
    assert Tiers((2, 2), (2, 1)).penalty((2, 0)) == 4


def test_tiers_show_more_than_one_count() -> None:
    tiered = Tiered(Tiers((20, 80), (3, 1)), (0, 8), 2_000)
    counted = dpv.one_run_mu(guesses=100, correct=92, canaries=2_000, level=0.05)
    found = tiered.mu(0.05)
    assert counted < found < 1.0
    assert tiered.p_value(dpv.GaussianDP(mu=found - 0.02)) <= 0.05
    assert tiered.p_value(dpv.GaussianDP(mu=1.0)) > 0.05


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("runs", [25, pytest.param(40, marks=pytest.mark.slow)])
def test_honest_claims_stand(runs: int) -> None:
    claim, level = dpv.GaussianDP(1.0), 0.2
    tiers, going = Tiers((4, 12), (2, 1)), dpv.AsItGoes(most=40)
    refuted = np.zeros(2)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        included = rng.random(100) < 0.5
        scores = gaussian(included, rng)
        order = np.argsort(scores)
        played = Played(going.play(scores, order, included), 100)
        tiered = Tiered(tiers, tiers.wrong(order, included), 100)
        refuted += [tiered.p_value(claim) <= level, played.p_value(claim, level) <= level]
    assert (refuted <= binom.isf(5e-10, runs, level)).all()


def blatant(included: Mask, rng: np.random.Generator) -> Floats:
    return 5.0 * included + rng.normal(size=len(included))


@pytest.mark.parametrize(
    "claim", [dpv.PureDP(1.0), dpv.ApproxDP(1.0, 1e-5), dpv.GaussianDP(0.5), dpv.Gaussian(2.0)]
)
@pytest.mark.parametrize("plan", [Tiers((20, 40), (2, 1)), dpv.AsItGoes(most=60)])
def test_leaks_are_refuted(plan: Any, claim: Any) -> None:  # noqa: ANN401
    found = dpv.audit_one_run(blatant, canaries=300, claim=claim, plans=[plan], seed=1)
    assert found.refuted
    assert found.epsilon_lower > 1.0
    assert found.theorem.name == "one-run-tiers"
    assert found.to_dict()["best"]
    assert found.guesses == 60


def test_whoever_chooses_sees_only_what_was_shown() -> None:
    asked: list[int] = []

    def choose(scores: Floats, shown: Mapping[int, bool]) -> tuple[int, bool] | None:
        asked.append(len(shown))
        left = [i for i in range(len(scores)) if i not in shown]
        best = max(left, key=lambda i: abs(scores[i] - 2.5))
        return None if len(shown) == 30 else (best, bool(scores[best] > 2.5))

    plan = dpv.AsItGoes(most=50, choose=choose)
    found = dpv.audit_one_run(blatant, canaries=100, claim=dpv.PureDP(1.0), plans=[plan], seed=2)
    assert found.refuted
    assert asked == list(range(31))
    assert found.guesses == 30
    assert "chosen as it went" in str(found)


def test_abstaining_pays_when_guesses_go_wrong() -> None:
    """Right first, then a coin: the later guesses are not staked on."""
    rng = np.random.default_rng(0)
    good, coins = (True,) * 40, tuple(bool(c) for c in rng.random(400) < 0.5)
    claim = dpv.ApproxDP(1.0, 1e-6)
    assert Played(good + coins, 1000).p_value(claim, 0.01) <= 0.01
    assert Played(coins, 1000).p_value(claim, 0.01) > 0.5


@pytest.mark.parametrize("returned", [(0, True), "in", (200, True), (-1, False), 3])
def test_choices_that_are_none_are_refused(returned: Any) -> None:  # noqa: ANN401
    plan = dpv.AsItGoes(most=3, choose=lambda _scores, _shown: returned)
    with pytest.raises(dpv.InvalidParameter, match="choose returned"):
        dpv.audit_one_run(gaussian, canaries=100, claim=dpv.PureDP(1.0), plans=[plan])


@pytest.mark.parametrize(
    ("sizes", "weights", "message"),
    [
        ((), (), "sizes=\\(\\) must"),
        ((3,), (1, 2), "must be as many as"),
        ((3, 0), (1, 2), "sizes=0 must"),
        ((3, 1), (1.5, 2), "weights=1.5 must"),
        ("ab", (1, 2), "sizes='ab' must"),
    ],
)
def test_tiers_that_are_none_are_refused(sizes: Any, weights: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(dpv.InvalidParameter, match=message):
        Tiers(sizes, weights)


def test_gaussian_noise_is_said_in_epsilon() -> None:
    found = dpv.audit_one_run(
        gaussian, canaries=1600, claim=dpv.GaussianDP(0.3), level=0.05, seed=1
    )
    assert found.refuted
    assert found.mu_lower is not None
    assert 0.3 < found.mu_lower < 1.0
    assert found.epsilon_if_gaussian is not None
    assert found.epsilon_lower <= found.epsilon_if_gaussian < 4.38
    assert "for Gaussian noise" in str(found)


@pytest.mark.parametrize(
    ("sizes", "weights"), [((10**30,), (1,)), ((10, 10**9), (2, 1)), ((10,), (10**30,))]
)
def test_tiers_beyond_all_measure_are_refused(
    sizes: tuple[int, ...], weights: tuple[int, ...]
) -> None:
    with pytest.raises(dpv.InvalidParameter, match=r"must be at most .* each"):
        Tiers(sizes=sizes, weights=weights)


@pytest.mark.parametrize(("canaries", "runs"), [(10**30, 1), (10, 10**30), (10**5, 10**5)])
def test_canaries_beyond_all_measure_are_refused(canaries: int, runs: int) -> None:
    with pytest.raises(dpv.InvalidParameter, match="must be at most 100,000,000"):
        dpv.audit_one_run(print, canaries=canaries, runs=runs, claim=dpv.PureDP(1.0))
