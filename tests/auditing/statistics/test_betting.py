"""Bets: fair under the claim, growing against it, and stopped where they should be."""

import math

import numpy as np
import pytest

from dpverify.auditing.attacks.draws import Confirm, Draws, Explore
from dpverify.auditing.attacks.events import Between
from dpverify.auditing.sampling.drawing import Side
from dpverify.auditing.sampling.tabulating import from_array
from dpverify.auditing.statistics.betting import (
    Bet,
    Ladder,
    Stake,
    Wealth,
    wager,
)
from dpverify.auditing.statistics.points import Point


def pair_growth(p: float, q: float, epsilon: float) -> float:
    """Largest mean log growth per draw of bets on pairs, an event having chances p and q."""
    fractions = np.linspace(0.0, 0.9999, 4001)
    ratio = math.exp(epsilon)
    growth = sum(
        chance * np.log1p(fractions * (x - ratio * y) / ratio)
        for x, y, chance in (
            (1, 0, p * (1 - q)),
            (0, 1, (1 - p) * q),
            (1, 1, p * q),
        )
    )
    return float(np.max(growth)) / 2.0


def prior_odds_growth(p: float, q: float, epsilon: float) -> float:
    """The same for single draws from a side chosen at random with odds 1 : e^ε."""
    left = 1.0 / (1.0 + math.exp(epsilon))
    fractions = np.linspace(0.0, 0.9999, 4001)
    growth = left * p * np.log1p(fractions) + (1.0 - left) * q * np.log1p(-fractions)
    return float(np.max(growth))


LOW, HIGH = Between(feature="output", high=0.0), Between(feature="output", low=1.0)


def stakes(epsilon: float, delta: float = 0.0) -> tuple[Stake, Stake]:
    point = Point(epsilon=epsilon, delta=delta)
    return (
        Stake(event=LOW, favors=Side.LEFT, point=point),
        Stake(event=HIGH, favors=Side.RIGHT, point=point),
    )


def ladder(epsilon: float) -> Ladder:
    return Ladder.of([Point(epsilon=epsilon, delta=0.0)])


def pairs(left: list[float], right: list[float]) -> Draws:
    return Draws(from_array(np.array(left)), from_array(np.array(right)))


def test_payoffs_by_hand() -> None:
    one = Bet(stakes(math.log(3), 0.5)[:1])
    shares = one.payoffs(np.zeros(1))[0] * 3.5  # the risk is 3 + 0.5
    codes = one.codes(pairs([0, 0, 5, 5], [0, 5, 0, 5]), 4)
    assert shares[codes] == pytest.approx([1 - 3 - 0.5, 1 - 0.5, -3 - 0.5, -0.5])


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("epsilon", [0.0, math.log(2), 3.0])
def test_factors_are_fair_under_every_pair_of_laws_that_keeps_the_claim(
    epsilon: float, delta: float
) -> None:
    """Exact: the mean factor over codes, for laws on {low, middle, high}."""
    seen = Explore(pairs([0.0] * 60 + [0.5] * 40, [0.0] * 10 + [0.5] * 40 + [1.0] * 50))
    chosen = wager([stakes(0.0)], seen, ladder(0.0))
    assert chosen is not None
    bet = Bet(stakes(epsilon, delta))
    ratio = math.exp(epsilon)
    for low in np.linspace(0.0, 1.0, 21):
        for high in np.linspace(0.0, 1.0 - low, 11):
            p_low = min(ratio * low + delta, 1.0)
            p_high = max((high - delta) / ratio, 0.0)
            if p_low + p_high > 1.0:
                continue
            left = {0: 1 - p_low - p_high, 1: p_low, 2: p_high}
            right = {0: 1 - low - high, 1: low, 2: high}
            mean = sum(
                left[a] * right[b] * bet.payoffs(np.zeros(1))[0][a + 4 * b]
                for a in left
                for b in right
            )
            assert mean <= 1e-12


def test_wealth_stops_at_the_first_pair_that_reaches_the_target() -> None:
    seen = Explore(pairs([0.0] * 100, [0.5] * 100))
    chosen = wager([stakes(0.0)[:1]], seen, ladder(0.0))
    assert chosen is not None
    step = chosen.logs[0][1]
    target = 5.5 * step
    fresh = Confirm(pairs([0.0] * 50, [0.5] * 50))
    after, used = Wealth.start(ladder(0.0)).after(chosen, fresh, target)
    assert used == 6
    assert after.logs[0] == pytest.approx(6 * step)
    assert after.rejects(target)
    assert after.highest[0] >= target


def test_higher_epsilons_reject_later() -> None:
    seen = Explore(pairs([0.0] * 400 + [0.5] * 100, [0.0] * 100 + [0.5] * 400))
    grid = ladder(0.1)
    chosen = wager([stakes(0.1)[:1]], seen, grid)
    assert chosen is not None
    after, _ = Wealth.start(grid).after(chosen, Confirm(seen), math.inf)
    shown = after.epsilon_lower(grid, 0.1, (math.log(100), math.log(800)))
    assert 0.5 < shown < math.log(4)


def test_below_a_claim_that_stands_smaller_epsilons_are_rejected() -> None:
    seen = Explore(pairs([0.0] * 400 + [0.5] * 100, [0.0] * 100 + [0.5] * 400))
    grid = ladder(2.0)
    chosen = wager([stakes(2.0)[:1]], seen, grid)
    assert chosen is not None
    after, _ = Wealth.start(grid).after(chosen, Confirm(seen), math.inf)
    assert after.logs[0] == 0.0
    assert 0.5 < after.epsilon_lower(grid, 2.0, (math.log(100), math.log(800))) < math.log(4)


def test_tests_count_only_without_a_gap() -> None:
    grid = ladder(0.1)
    assert grid.grid[:3] == pytest.approx([0.0, 0.02, 0.0416], abs=1e-3)
    first = len(grid.more)
    reached = np.full(len(grid), 9.0)

    def shown(low: list[int]) -> float:
        highest = reached.copy()
        highest[low] = 0.0
        return Wealth(highest, highest).epsilon_lower(grid, 0.1, (9.0, 9.0))

    assert shown([3]) == pytest.approx(0.1 + grid.more[2])
    assert shown([0, first + 2]) == pytest.approx(grid.grid[1])
    assert shown([0, first]) == 0.0
    assert shown([0]) == pytest.approx(grid.grid[-1])


def test_a_watched_point_has_tests_of_its_own_delta() -> None:
    """1 − e^ε·0 − δ over the risk e^ε + δ, for the watched δ whatever the stake is against."""
    points = [Point(epsilon=0.0, delta=0.4), Point(epsilon=1.0, delta=0.02)]
    grid = Ladder.of(points)
    one = Stake(event=Between(feature="output", high=0.0), favors=Side.LEFT, point=points[0])
    shares = Bet((one,)).payoffs_on(grid)
    ratios = np.exp(grid.grid)
    assert shares[len(grid.more) :, 1] == pytest.approx((1.0 - 0.02) / (ratios + 0.02))
    assert shares[0, 1] == pytest.approx((1.0 - 0.4) / (1.0 + 0.4))


def test_no_bet_where_nothing_would_have_grown() -> None:
    seen = Explore(pairs([0.0] * 50 + [0.5] * 50, [0.0] * 50 + [0.5] * 50))
    grid = ladder(0.0)
    assert wager([stakes(0.0)], seen, grid) is None
    after, used = Wealth.start(grid).after(None, Confirm(seen), 1.0)
    assert used == 100
    assert (after.logs == 0).all()


def test_pairs_grow_faster_than_prior_odds_where_epsilon_is_small() -> None:
    for truth, claim in ((1.0, 0.5), (1.0, 0.9), (0.2, 0.1)):
        p, q = 0.5, 0.5 * math.exp(-truth)
        assert pair_growth(p, q, claim) > 1.3 * prior_odds_growth(p, q, claim)
    p, q = 0.5, 0.5 * math.exp(-8.0)
    assert pair_growth(p, q, 4.0) > 0.7 * prior_odds_growth(p, q, 4.0)
