"""Blackwell's order between finite pairs."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import NotSupported
from dpverify.pairs import Dominates, FinitePair, NotDominates, dominates
from dpverify.pairs.domination import linear_program_kernel
from tests.conftest import examples
from tests.pairs.strategies import kernels, post_processed, rational_laws, rational_pairs

F = Fraction


def test_by_hand() -> None:
    strong = FinitePair.leaky_response(F(3), F(0))
    weak = FinitePair.leaky_response(F(2), F(0))
    assert isinstance(dominates(strong, weak), Dominates)
    # At ratio 2 the weak pair's profile is 0 and the strong one's 3/4 − 2 · 1/4.
    assert dominates(weak, strong) == NotDominates(ratio=F(2), gap=F(1, 4))


def test_extremes() -> None:
    disjoint = FinitePair(left=[1, 0], right=[0, 1])
    equal = FinitePair(left=[1], right=[1])
    some = FinitePair(left=[F(1, 2), F(1, 2), 0], right=[0, F(1, 3), F(2, 3)])
    assert isinstance(dominates(disjoint, some), Dominates)
    assert isinstance(dominates(some, equal), Dominates)
    assert isinstance(dominates(some, disjoint), NotDominates)
    assert dominates(equal, some) == NotDominates(ratio=F(1), gap=F(2, 3))


@given(rational_pairs(), st.data())
def test_post_processing_is_dominated(pair: FinitePair, data: st.DataObject) -> None:
    kernel = data.draw(kernels(rows=len(pair)))
    assert isinstance(dominates(pair, post_processed(pair, kernel)), Dominates)


@given(rational_pairs(most=4), rational_pairs(most=4))
def test_the_decision_is_that_of_the_whole_profile(strong: FinitePair, weak: FinitePair) -> None:
    """The corners of both pairs, midpoints and reversals: nothing is missed between corners."""
    corners = sorted({F(0), *strong.corners, *weak.corners, F(1000)})
    ratios = [*corners, *((a + b) / 2 for a, b in pairwise(corners))]
    gaps = [weak.delta_at_ratio(t) - strong.delta_at_ratio(t) for t in ratios]
    decision = dominates(strong, weak)
    match decision:
        case Dominates():
            assert max(gaps) <= 0
        case NotDominates(ratio=ratio, gap=gap):
            assert gap == weak.delta_at_ratio(ratio) - strong.delta_at_ratio(ratio) > 0
    backwards = dominates(strong.reversed, weak.reversed)
    assert type(backwards) is type(decision)


@given(rational_pairs(), rational_pairs(), rational_pairs())
def test_domination_is_transitive(a: FinitePair, b: FinitePair, c: FinitePair) -> None:
    if isinstance(dominates(a, b), Dominates) and isinstance(dominates(b, c), Dominates):
        assert isinstance(dominates(a, c), Dominates)
    assert isinstance(dominates(a, a), Dominates)


@settings(max_examples=examples(quick=8, fresh=15))
@given(rational_pairs(most=4), rational_pairs(most=4))
def test_the_linear_program_agrees(strong: FinitePair, weak: FinitePair) -> None:
    """It reaches residual 0 exactly where the decision says so."""
    match dominates(strong, weak):
        case Dominates() as decision:
            assert decision.kernel.residual < 1e-6
            matrix = np.asarray(decision.kernel.matrix)
            assert (matrix >= 0.0).all()
            assert np.allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
        case NotDominates(ratio=ratio, gap=gap):
            # Off by ρ in each of n outcomes, a kernel explains a gap of n·(1 + ratio)·ρ at most.
            least = float(gap) / (len(weak) * (1.0 + float(ratio)))
            assert linear_program_kernel(strong, weak).residual > 0.99 * least - 1e-9


@settings(max_examples=10)
@given(rational_laws(4), rational_laws(4), kernels(rows=4, most=4))
def test_kernels_map_named_outcomes(
    left: tuple[Fraction, ...], right: tuple[Fraction, ...], kernel: list[tuple[Fraction, ...]]
) -> None:
    strong = FinitePair(left=left, right=right, outcomes="abcd")
    weak = post_processed(strong, kernel)
    decision = dominates(strong, weak)
    assert isinstance(decision, Dominates)
    assert decision.kernel.rows == ("a", "b", "c", "d")
    assert decision.kernel.outcomes == tuple(range(len(weak)))
    image = decision.kernel.apply(np.array(left, dtype=np.float64))
    assert np.abs(image - np.array(weak.left, dtype=np.float64)).max() < 1e-6


def test_floats_are_taken_as_they_are() -> None:
    strong = FinitePair(left=[0.75, 0.25], right=[0.25, 0.75])
    bit = math.nextafter(0.75, 1.0)
    stronger = FinitePair(left=[bit, 1.0 - bit], right=[0.25, 0.75])
    assert isinstance(dominates(strong, strong), Dominates)
    assert isinstance(dominates(stronger, strong), Dominates)
    answer = dominates(strong, stronger)
    assert isinstance(answer, NotDominates)
    assert 0 < answer.gap < F(1, 10**15)


def test_a_program_too_large_is_refused() -> None:
    size = 500
    law = [F(1, size)] * size
    pair = FinitePair(left=law, right=law)
    with pytest.raises(NotSupported, match="500 by 500 entries must have at most"):
        linear_program_kernel(pair, pair)
