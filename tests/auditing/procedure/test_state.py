"""How the level is shared, and when an audit does what."""

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.auditing.procedure.state import (
    LEARN_FROM,
    Levels,
    Method,
    choices_passed,
    classifies,
    searches,
    stages,
    tunes,
)


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("level", [1e-12, 0.01, 0.5])
def test_no_way_of_erring_exceeds_the_level(method: Method, level: float) -> None:
    shared = Levels.of(level, method)
    most = level * (1 + 1e-12)
    assert shared.whole == level
    assert shared.bets + shared.block <= most
    assert shared.bets + shared.bound + shared.fresh <= most
    assert shared.below + shared.bets + shared.block <= most
    assert shared.bound <= shared.block


@given(st.integers(1, 10**8))
def test_stages_follow_each_other_up_to_the_budget(budget: int) -> None:
    found = list(stages(budget))
    assert found[0][0] == 0
    assert found[-1][1] == budget
    assert all(before[1] == after[0] for before, after in pairwise(found))
    assert all(begin < end for begin, end in found)


@given(st.integers(64, 10**7))
def test_every_moment_comes_with_a_stage(budget: int) -> None:
    ends = [end for _, end in stages(budget)]
    passed = [choices_passed(end, budget) for end in ends]
    assert passed == sorted(passed)
    assert passed[-1] == 3
    assert sum(classifies(end, budget) for end in ends) >= 1


def test_searches_grow_rare() -> None:
    ends = [end for _, end in stages(10**6)]
    assert [end for end in ends if searches(end)] == [64, 128, 256, 512, 1_024, 4_096, LEARN_FROM]
    assert all(tunes(end) for end in ends if searches(end))
