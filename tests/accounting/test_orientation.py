"""Pairs that are not their own mirror image: which way round each step goes."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.errors import NotSupported
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
    one = epsilon(removed, REPLACE_ONE, times=8, delta=1e-4)
    other = dpv.Accountant(relation=REPLACE_ONE).compose(batch, times=8).epsilon(delta=1e-4)
    assert (one.lower, one.upper) == (other.lower, other.upper)


def test_an_unknown_lopsided_pair_is_refused() -> None:
    class Lopsided(Pair):
        singular_mass = 0.0
        max_loss = 1.0

        @property
        def reversed(self) -> Pair:
            return Lopsided()

        profile_ball = trade_off_ball = renyi_ball = kullback_leibler_ball = None  # type: ignore[assignment]

    with pytest.raises(NotSupported, match="must equal its own `reversed`"):
        epsilon(Lopsided(), REPLACE_ONE, times=2, delta=0.01)


def test_float_pairs_compose_as_their_exact_values() -> None:
    pair = FinitePair(left=[0.9, 0.1], right=[0.99, 0.01])
    found = epsilon(pair, ADD_REMOVE, times=3, delta=0.01)
    cube = pair.exact.power(3)
    truth = max(cube.epsilon(0.01), cube.reversed.epsilon(0.01))
    assert found.lower <= truth <= found.upper + 1e-12
    assert found.width < 1e-3
