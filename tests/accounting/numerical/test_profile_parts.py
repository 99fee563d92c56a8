"""Parts known by their profile alone, on a grid: above and below the true profile everywhere."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.numerical import NumericalComposition
from dpverify.accounting.numerical.cells import Tilt
from dpverify.accounting.numerical.discretize import LossGrid, discretize
from dpverify.arrays import Floats
from dpverify.guarantees import ApproxDP
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair, LeakyResponsePair, Pair
from dpverify.pairs.profile_law import CutProfile, ProfileLaw
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from tests.pairs.test_open import Hidden

PAIRS: list[Pair] = [
    GaussianPair(Fraction(1, 4)),
    GaussianPair(Fraction(9)),
    LaplacePair(scale=2.0, sensitivity=1.0),
    LeakyResponsePair(ApproxDP(epsilon=0.5)),
    LeakyResponsePair(ApproxDP(epsilon=0.3, delta=0.05)),
    SubsampledPair(GaussianPair(Fraction(1)), 0.1, Mixed.LEFT),
    SubsampledPair(GaussianPair(Fraction(1)), 0.1, Mixed.RIGHT),
    FinitePair(left=[0.5, 0.3, 0.2], right=[0.2, 0.3, 0.5]),
    FinitePair(left=[0.1, 0.6, 0.3], right=[0.7, 0.3, 0.0]),
]


def profile(losses: Floats, masses: Floats, epsilon: float) -> float:
    return math.fsum(masses * np.maximum(-np.expm1(epsilon - losses), 0.0))


def check(pair: Pair, law: CutProfile, grid: LossGrid, rate: float, *, stated: float = 0.0) -> None:
    """At nodes, between them and beyond; both ends of what is finite, and what lies at ∞."""
    tilt = Tilt(rate=rate, log_scale=0.3)
    found = discretize(law, grid, tilt)
    losses = grid.losses(found.first, found.first + len(found.upper) - 1)
    weights = np.exp(-tilt.exponent(losses))
    upper, lower = found.upper * weights, found.lower * weights
    assert (lower >= 0.0).all()
    infinite = float(law.pair.singular_mass) + math.exp(law.log_above)
    for epsilon in np.linspace(losses[0] - 1.0, losses[-1] + 1.0, 60):
        ball = pair.delta_ball(arb(float(epsilon)))
        truth, slack = float(ball), 1e-12
        assert profile(losses, upper, epsilon) + infinite >= truth - slack
        assert profile(losses, lower, epsilon) + stated <= truth + slack


@pytest.mark.parametrize(("rate", "step"), [(0.0, 0.3), (2.0, 0.11)])
@pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))
def test_both_ends_enclose_the_profile(pair: Pair, rate: float, step: float) -> None:
    law = ProfileLaw(Hidden(pair)).cut(-30.0, -30.0)
    for offset in (0.013, law.anchor):
        check(pair, law, LossGrid(step, offset), rate)


@pytest.mark.parametrize("pair", [PAIRS[4], PAIRS[8]])
def test_a_stated_limit_is_kept_apart(pair: Pair) -> None:
    """What is known to have loss ∞ is no part of the finite law."""
    law = ProfileLaw(pair).cut(-30.0, -30.0)
    check(pair, law, LossGrid(0.05, 0.0), 1.0, stated=pair.singular_mass)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.data())
@settings(max_examples=15, deadline=None)
def test_random_finite_pairs(left: list[int], data: st.DataObject) -> None:
    size = len(left)
    right = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    pair = FinitePair(
        left=[Fraction(p, sum(left)) for p in left], right=[Fraction(q, sum(right)) for q in right]
    )
    law = ProfileLaw(Hidden(pair)).cut(-30.0, -30.0)
    check(pair, law, LossGrid(data.draw(st.floats(0.05, 0.5)), data.draw(st.floats(0, 0.4))), 1.0)


def test_the_gap_between_the_ends_is_second_order() -> None:
    pair = GaussianPair(Fraction(1))
    law = ProfileLaw(Hidden(pair)).cut(-40.0, -40.0)
    gaps = []
    for step in (0.2, 0.1, 0.05):
        grid = LossGrid(step, 0.0)
        found = discretize(law, grid, Tilt(rate=0.0, log_scale=0.0))
        losses = grid.losses(found.first, found.first + len(found.upper) - 1)
        gaps.append(profile(losses, found.upper, 0.5) - profile(losses, found.lower, 0.5))
    assert gaps[0] / gaps[1] == pytest.approx(4.0, rel=0.3)
    assert gaps[1] / gaps[2] == pytest.approx(4.0, rel=0.3)


class Constant(Pair):
    """A leak of 1e-3, and no loss besides; it does not say that the leak is one."""

    @property
    def reversed(self) -> "Constant":
        return self

    def profile_ball(self, epsilon: arb) -> arb:  # noqa: ARG002  # the same everywhere
        return arb(1) / 1000


def test_a_profile_that_is_constant() -> None:
    """Its leak counts at the upper end; below, nothing says that any loss is infinite."""
    both = NumericalComposition(((Constant(), 2),))
    assert both.epsilon(0.0021).upper == 0.0
    assert both.epsilon(0.5).upper == 0.0
    leaks = 1.0 - 0.999**2
    for epsilon in (0.0, 1.0, 50.0):
        found = both.delta(epsilon)
        assert found.lower <= leaks <= found.upper < 1.001 * leaks
    assert both.epsilon(1e-3).upper == math.inf
