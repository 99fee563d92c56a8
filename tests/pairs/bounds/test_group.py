"""Groups of records: shifts that scale are exact, everything else is bounded by every chain."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.pairs import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FinitePair,
    GaussianPair,
    LaplacePair,
    LeakyResponsePair,
    Pair,
)
from dpverify.pairs.bounds.group import group_points
from dpverify.pairs.bounds.points import PointsPair
from tests.conftest import examples

ADD = dpv.Relation.ADD_REMOVE


def spent(subject: Any, times: int = 1) -> dpv.Accountant:  # noqa: ANN401
    return dpv.Accountant(relation=ADD).compose(subject, times=times)


def test_shifts_scale() -> None:
    three = {
        dpv.Gaussian(sigma=4.0): dpv.Gaussian(sigma=4.0, l2_sensitivity=3.0),
        dpv.Laplace(scale=4.0): dpv.Laplace(scale=4.0, l1_sensitivity=3.0),
        dpv.DiscreteGaussian(sigma=4.0): dpv.DiscreteGaussian(sigma=4.0, sensitivity=3),
        dpv.DiscreteLaplace(scale=4.0): dpv.DiscreteLaplace(scale=4.0, sensitivity=3),
    }
    for one, group in three.items():
        found, expected = spent(one, 5).group(3), spent(group, 5)
        assert found.epsilon(1e-5) == expected.epsilon(1e-5)


def test_a_table_by_hand() -> None:
    """ε-DP for groups of 2: losses 2ε, 0, −2ε with masses 1/(1+a), …; TV = 1 − a, a = e^(−ε)."""
    pair = LeakyResponsePair(dpv.ApproxDP(epsilon=0.5)).grouped(2)
    a = math.exp(-0.5)
    assert pair.delta(0.0) == pytest.approx(1.0 - a, rel=1e-14)
    assert pair.max_loss == 1.0
    assert spent(dpv.PureDP(epsilon=0.5)).group(2).epsilon(0.0).upper == 1.0
    leak = LeakyResponsePair(dpv.ApproxDP(epsilon=0.0, delta=0.25)).grouped(3)
    assert leak.delta(5.0) == 0.75
    rho = spent(dpv.ZeroConcentratedDP(rho=0.125)).group(3).parts[0].seen
    assert rho == dpv.ZeroConcentratedDP(rho=1.125)
    # δ·(1 + e^ε + e^2ε) at 3ε: the classical rule.
    classical = 1e-8 * (1.0 + math.exp(0.5) + math.exp(1.0))
    found = spent(dpv.ApproxDP(epsilon=0.5, delta=1e-8)).group(3).delta(1.5)
    assert found.upper == pytest.approx(classical, rel=1e-6)


@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow), 7])
def test_the_profile_alone_meets_the_shifted_noise(size: int) -> None:
    pairs: tuple[Pair, ...] = (
        GaussianPair(Fraction(1, 16)),
        LaplacePair(scale=4.0, sensitivity=1.0),
        DiscreteGaussianPair(sigma=4.0, shift=1),
        DiscreteLaplacePair(scale=4.0, shift=1),
    )
    for pair in pairs:
        bound, exact = group_points(pair, size), pair.grouped(size)
        for epsilon in (0.0, 0.2, 0.7, 1.6):
            truth = exact.delta_bracket(epsilon)
            assert truth.lower <= bound.delta(epsilon) <= truth.upper * 1.005 + 1e-6


@settings(max_examples=examples(quick=3, fresh=5), deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 3))
def test_every_chain_lies_below_the_bound(seed: int, size: int) -> None:
    """Random chains of laws; the pair of one step is the greatest profile of all of them."""
    rng = np.random.default_rng(seed)
    chain = rng.dirichlet(np.ones(4), size + 1) * 0.5 + 0.125
    laws = [[Fraction(int(x * 2**20), 2**20) for x in row] for row in chain]
    exact = [[*law[:-1], 1 - sum(law[:-1])] for law in laws]
    steps = [FinitePair(left=a, right=b) for a, b in pairwise(exact)]
    sides = [side for step in steps for side in (step, step.reversed)]
    nodes = np.linspace(0.0, 3.0, 61)
    deltas = tuple(max(side.delta(float(e)) for side in sides) for e in nodes)
    step = PointsPair(tuple(nodes.tolist()), deltas, deltas)
    bound, truth = group_points(step, size), FinitePair(left=exact[0], right=exact[-1])
    for epsilon in (0.0, 0.1, 0.5, 1.3):
        assert truth.delta_bracket(epsilon).lower <= bound.delta(epsilon)
        assert truth.reversed.delta_bracket(epsilon).lower <= bound.delta(epsilon)


def test_other_pairs_are_bounded_from_both_sides() -> None:
    step = spent(dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01), 10)
    one, two = step.epsilon(1e-6), step.group(2).epsilon(1e-6)
    assert one.lower - 1e-3 <= two.lower <= two.upper
    # Two records on a Poisson sample: mixtures with shifts 0, 1, 2 lie inside.
    assert two.upper > one.upper
    assert step.group(1) is step


def test_points() -> None:
    pair = PointsPair((0.0, 1.0), (0.5, 0.1), (0.5, 0.1))
    assert pair.delta(0.0) == pytest.approx(0.5)
    assert pair.delta(1.0) == pytest.approx(0.1)
    assert pair.singular_mass == pytest.approx(0.1)
    assert pair.epsilon_bracket(0.05).upper == math.inf
    assert pair.reversed == pair
    for wrong in ((1.0, 2.0), (), (0.0, 0.0)):
        with pytest.raises(InvalidParameter, match="must rise from 0"):
            PointsPair(wrong, (0.1,) * len(wrong), (0.1,) * len(wrong))
    with pytest.raises(InvalidParameter, match="must have 2 entries"):
        PointsPair((0.0, 1.0), (0.1,), (0.1, 0.0))
    with pytest.raises(InvalidParameter, match="must lie in"):
        PointsPair((0.0,), (1.5,), (0.1,))


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "2", None, math.nan])
def test_sizes_are_refused(size: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=r"^size=.* must be a whole number"):
        spent(dpv.Gaussian(sigma=1.0)).group(size)


def test_a_renyi_guarantee_is_refused() -> None:
    with pytest.raises(NotSupported, match="one Rényi order"):
        spent(dpv.RenyiDP(order=4.0, epsilon=0.1)).group(2)
