"""Composing in a loop: the same answers as all at once, and accountants that branch stay apart."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.accounting.accountant import Accountant
from dpverify.accounting.growth import Growth
from dpverify.accounting.parts import Part, Parts
from dpverify.guarantees import PureDP
from dpverify.mechanisms import Gaussian
from dpverify.neighbors import Relation
from dpverify.pairs import GaussianPair
from dpverify.theorems import GAUSSIAN_COMPOSITION

EMPTY = Accountant(relation=Relation.ADD_REMOVE)


def test_accountants_that_branch_count_for_themselves() -> None:
    trunk = EMPTY.compose(PureDP(epsilon=0.1))
    one = trunk.compose(PureDP(epsilon=0.2))
    two = trunk.compose(PureDP(epsilon=0.3)).compose(PureDP(epsilon=0.2))
    one = one.compose(PureDP(epsilon=0.2)).compose(PureDP(epsilon=0.3))
    assert [part.times for part in trunk.parts] == [1]
    assert [(part.label, part.times) for part in one.parts] == [
        ("PureDP(epsilon=0.1)", 1),
        ("PureDP(epsilon=0.2)", 2),
        ("PureDP(epsilon=0.3)", 1),
    ]
    assert [part.label[-4:] for part in two.parts] == ["0.1)", "0.3)", "0.2)"]
    assert two.compose(PureDP(epsilon=0.2)).parts[-1].times == 2


def test_many_gaussian_parts_are_summed_to_one() -> None:
    """σ = 10, 11, …, 39: exact rationals beside what the loop keeps."""
    spent = EMPTY
    for sigma in range(10, 40):
        spent = spent.compose(Gaussian(sigma=float(sigma)))
    exact = GaussianPair(sum((Fraction(1, sigma**2) for sigma in range(10, 40)), Fraction()))
    found = spent.epsilon(1e-6)
    assert (found.lower, found.upper) == (exact.epsilon_bracket(1e-6).lower, exact.epsilon(1e-6))
    assert found.theorem is GAUSSIAN_COMPOSITION
    assert exact.delta(1.0) in spent.delta(1.0)


@given(st.lists(st.floats(0.1, 1e6), min_size=17, max_size=60))
def test_sums_that_grow_long_hold_the_exact_one(sigmas: list[float]) -> None:
    growth = Growth()
    parts: Parts = ()
    for sigma in sigmas:
        pair = GaussianPair.of(sigma=sigma, sensitivity=1.0)
        parts, growth = growth.after(parts, (Part(pair, 2, "noise"),))
    exact = sum((2 / Fraction(sigma) ** 2 for sigma in sigmas), Fraction())
    assert growth.squares is not None
    low, high = growth.squares
    assert low <= exact <= high <= low * (1 + Fraction(1, 2**240))
    assert max(low.denominator.bit_length(), high.denominator.bit_length()) <= 640


def test_one_part_of_another_kind_ends_the_sums() -> None:
    spent = EMPTY
    for sigma in range(10, 40):
        spent = spent.compose(Gaussian(sigma=float(sigma)))
    mixed = spent.compose(PureDP(epsilon=1e-6))
    assert mixed.epsilon(1e-3, tolerance=0.1).upper >= spent.epsilon(1e-3).lower


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_the_ends_of_delta(delta: float) -> None:
    spent = EMPTY
    for sigma in range(10, 40):
        spent = spent.compose(Gaussian(sigma=float(sigma)))
    assert spent.epsilon(delta).upper == (0.0 if delta else float("inf"))
