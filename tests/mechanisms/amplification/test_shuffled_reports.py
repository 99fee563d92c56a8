"""Shuffled reports: exact counts of small shuffles lie between both ends."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import dpverify as dpv
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.pairs.bounds.shuffling import shuffled

REPLACE = dpv.Relation.REPLACE_ONE


def clones(epsilon0: float, reports: int, epsilon: float) -> float:
    """Σ over C and a of (P − e^ε·Q)₊, one count after the other."""
    truth, total = 1.0 / (1.0 + math.exp(-epsilon0)), 0.0
    for count in range(reports):
        many = binom.pmf(count, reports - 1, math.exp(-epsilon0))
        a = np.arange(count + 2)
        up, still = binom.pmf(a - 1, count, 0.5), binom.pmf(a, count, 0.5)
        left, right = truth * up + (1 - truth) * still, (1 - truth) * up + truth * still
        total += many * np.maximum(left - math.exp(epsilon) * right, 0.0).sum()
    return float(total)


def responses(epsilon0: float, reports: int, epsilon: float) -> float:
    """Randomized response by going through all reports; the others hold a 1."""
    truth = 1.0 / (1.0 + math.exp(-epsilon0))
    laws = np.zeros((2, reports + 1))
    for own, bits in product((0, 1), product((0, 1), repeat=reports)):
        mass = truth if bits[0] == own else 1.0 - truth
        for bit in bits[1:]:
            mass *= truth if bit == 1 else 1.0 - truth
        laws[own, sum(1 - bit for bit in bits)] += mass
    return float(np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0).sum())


@pytest.mark.parametrize(("epsilon0", "reports"), [(0.5, 2), (1.0, 7), (2.0, 10)])
def test_small_shuffles_lie_between_the_ends(epsilon0: float, reports: int) -> None:
    pair = shuffled(epsilon0, reports)
    for epsilon in (0.0, 0.1, 0.4):
        found = pair.delta_bracket(epsilon)
        bound = clones(epsilon0, reports, epsilon)
        assert bound * (1.0 - 1e-9) <= found.upper <= bound * 1.02 + 1e-6
        instance = responses(epsilon0, reports, epsilon)
        assert instance * (1.0 - 1e-6) - 1e-9 <= found.lower <= instance * (1.0 + 1e-9)


def test_many_reports_hide_well() -> None:
    few, many = (shuffled(1.0, reports).epsilon_bracket(1e-6) for reports in (100, 3_000))
    assert many.upper < few.lower
    assert many.upper < 0.12
    assert many.lower > 0.05
    spent = dpv.Accountant(relation=REPLACE).compose(
        dpv.ShuffledReports(local_epsilon=1.0, reports=300), times=2
    )
    found = spent.epsilon(1e-6)
    assert 0.2 < found.lower < found.upper < 0.8


def test_one_report_is_not_hidden() -> None:
    alone = dpv.ShuffledReports(local_epsilon=1.0, reports=1)
    assert alone.pair(REPLACE).epsilon(0.0) == 1.0
    two = dpv.ShuffledReports(local_epsilon=1.0, reports=2).pair(REPLACE)
    assert two.epsilon_bracket(0.0).upper == 1.0


def test_expression() -> None:
    text = "shuffled_reports(local_epsilon=2, reports=1000)*2"
    assert parse(text) == [(dpv.ShuffledReports(local_epsilon=2, reports=1000), 2)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"local_epsilon": 0.0}, r"^local_epsilon=0.0 must be positive"),
        ({"local_epsilon": 25.0}, r"^local_epsilon=25.0 must lie in"),
        ({"local_epsilon": 1e-4}, r"^local_epsilon=0.0001 must lie in"),
        ({"local_epsilon": "1"}, r"must be a real number"),
        ({"reports": 0}, r"^reports=0 must be a whole number"),
        ({"reports": 1.5}, r"^reports=1.5 must be a whole number"),
        ({"reports": 10**9}, r"^reports=1000000000 must be at most"),
        ({"reports": None}, r"^reports=None must be a whole number"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        dpv.ShuffledReports(**{"local_epsilon": 1.0, "reports": 10} | change)


def test_adding_a_report_is_refused() -> None:
    with pytest.raises(NotSupported, match="the number of reports is seen"):
        dpv.ShuffledReports(local_epsilon=1.0, reports=10).pair(dpv.Relation.ADD_REMOVE)
