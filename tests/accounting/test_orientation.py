"""Pairs that are not their own mirror image: which way round each step goes."""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.adaptive.batches import no_games
from dpverify.pairs import FinitePair, GaussianPair, Mixed, Pair, SubsampledPair
from tests.pairs.strategies import rational_pairs

ADD_REMOVE, REPLACE_ONE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
TENTH, HUNDREDTH = Fraction(1, 10), Fraction(1, 100)
LOPSIDED = FinitePair(left=[1 - TENTH, TENTH], right=[1 - HUNDREDTH, HUNDREDTH])


def epsilon(pair: Pair, relation: dpv.Relation, *, times: int, delta: float) -> dpv.Bracket:
    return dpv.Accountant(relation=relation).compose(pair, times=times).epsilon(delta=delta)


def enumerated(pair: FinitePair, times: int, delta: Fraction) -> float:
    """The largest ε over all ways to turn `times` steps, on exact products."""
    ratios = []
    for turns in product([pair, pair.reversed], repeat=times):
        total = turns[0]
        for step in turns[1:]:
            total = total.product(step)
        ratios.append(total.ratio_at_delta(delta))
    return math.log(max(ratios))


def test_the_record_stays_on_one_side_when_it_is_added_or_removed() -> None:
    found = epsilon(LOPSIDED, ADD_REMOVE, times=2, delta=0.01)
    square = LOPSIDED.product(LOPSIDED)
    truth = max(p.epsilon(0.01) for p in (square, square.reversed))
    assert found.lower <= truth <= found.upper
    assert 2.2022 < found.lower <= found.upper < 2.2023


def test_each_step_may_turn_when_a_record_is_replaced() -> None:
    found = epsilon(LOPSIDED, REPLACE_ONE, times=2, delta=0.01)
    mixed = LOPSIDED.product(LOPSIDED.reversed).epsilon(0.01)
    assert 2.2914 < mixed < 2.2915
    assert mixed == pytest.approx(found.lower, abs=1e-6)
    assert mixed <= found.upper < 2.3


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 16)])
def test_all_turns_lie_below_the_upper_end(times: int, delta: Fraction) -> None:
    found = epsilon(LOPSIDED, REPLACE_ONE, times=times, delta=float(delta))
    truth = enumerated(LOPSIDED, times, Fraction(float(delta)))
    assert truth <= found.upper * (1 + 1e-12)
    assert found.lower <= found.upper


def adaptive(pair: FinitePair, times: int, ratio: Fraction) -> Fraction:
    """δ where each step is turned after the outputs before it were seen, the best way."""
    if times == 0:
        return max(1 - ratio, Fraction(0))
    ways = []
    for side in (pair, pair.reversed):
        steps = (
            p * adaptive(pair, times - 1, ratio * q / p) if p else Fraction(0)
            for p, q in side.masses()
        )
        ways.append(sum(steps, Fraction(0)))
    return max(ways)


@given(rational_pairs(most=3), st.integers(1, 3), st.fractions(1, 8))
def test_turns_that_look_at_the_past_lie_below_too(
    pair: FinitePair, times: int, ratio: Fraction
) -> None:
    assert adaptive(pair, times, ratio) <= pair.either_way.power(times).delta_at_ratio(ratio)


@pytest.mark.parametrize("level", [0.0, 0.5, 1.0, 2.0])
def test_the_bracket_holds_the_adaptive_optimum(level: float) -> None:
    found = dpv.Accountant(relation=REPLACE_ONE).compose(LOPSIDED, times=3).delta(epsilon=level)
    truth = float(adaptive(LOPSIDED, 3, Fraction(math.exp(level))))
    assert found.lower <= truth * (1 + 1e-12)
    assert truth <= found.upper * (1 + 1e-12)


@given(rational_pairs(), st.fractions(0, 8))
def test_the_symmetric_pair_has_the_greater_profile(pair: FinitePair, ratio: Fraction) -> None:
    both = pair.either_way
    sides = max(side.delta_at_ratio(ratio) for side in (pair, pair.reversed))
    assert both.delta_at_ratio(ratio) == sides
    assert both.reversed.delta_at_ratio(ratio) == sides
    assert sum(both.left) == sum(both.right) == 1


def test_a_pair_that_is_its_own_mirror_image_is_kept() -> None:
    response = FinitePair.leaky_response(Fraction(3), Fraction(1, 8))
    assert response.either_way is response
    assert LOPSIDED.either_way.either_way is LOPSIDED.either_way or (
        LOPSIDED.either_way.either_way == LOPSIDED.either_way
    )


def test_a_sampled_pair_turned_is_that_of_a_batch_without_replacement() -> None:
    removed = SubsampledPair(GaussianPair(Fraction(1)), 0.25, Mixed.LEFT)
    batch = dpv.SubsampledWithoutReplacement(dpv.Gaussian(sigma=1.0), batch=1, population=4)
    with no_games():  # which are played for both, or for neither
        one = epsilon(removed, REPLACE_ONE, times=8, delta=1e-4)
        other = dpv.Accountant(relation=REPLACE_ONE).compose(batch, times=8).epsilon(delta=1e-4)
    assert (one.lower, one.upper) == (other.lower, other.upper)


def test_a_lopsided_pair_of_a_users_own_is_turned_as_well() -> None:
    """The greater of two profiles stands for both orders, as it does for known pairs."""

    @dataclass(frozen=True)
    class Lopsided(Pair):
        inner: Pair

        def profile_ball(self, epsilon: arb) -> arb:
            return self.inner.profile_ball(epsilon)

        @property
        def reversed(self) -> Pair:
            return Lopsided(self.inner.reversed)

    removed = SubsampledPair(GaussianPair(Fraction(1)), 0.25, Mixed.LEFT)
    found = epsilon(Lopsided(removed), REPLACE_ONE, times=2, delta=1e-3)
    direct = epsilon(removed, REPLACE_ONE, times=2, delta=1e-3)
    assert direct.lower <= found.upper <= direct.upper + 1e-3
    assert found.lower <= direct.upper


def test_float_pairs_compose_as_their_exact_values() -> None:
    pair = FinitePair(left=[0.9, 0.1], right=[0.99, 0.01])
    found = epsilon(pair, ADD_REMOVE, times=3, delta=0.01)
    cube = pair.exact.power(3)
    truth = max(cube.epsilon(0.01), cube.reversed.epsilon(0.01))
    assert found.lower <= truth <= found.upper + 1e-12
    assert found.width < 1e-3
