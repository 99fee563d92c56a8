"""Sums of independent losses: by transform with its error, and directly."""

import math

import numpy as np
import pytest
from flint import fmpq_poly
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.accounting.numerical.convolution import Convolver, DirectConvolver, window_length
from dpverify.arrays import Floats

laws = st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any)
parts = st.lists(st.tuples(laws, st.integers(-5, 5), st.integers(1, 9)), min_size=1, max_size=3)


def exact_power(weights: list[int], times: int) -> fmpq_poly:
    power: fmpq_poly = fmpq_poly(weights) ** times / sum(weights) ** times
    return power


def exact_sum(drawn: list[tuple[list[int], int, int]]) -> tuple[Floats, int]:
    """Masses of the sum, as exact rationals rounded once, and the index of the first."""
    product, first = fmpq_poly([1]), 0
    for weights, start, times in drawn:
        product *= exact_power(weights, times)
        first += start * times
    return np.array([int(c.p) / int(c.q) for c in product.coeffs()]), first


@given(parts)
@settings(deadline=None)
def test_the_transform_is_within_its_error(drawn: list[tuple[list[int], int, int]]) -> None:
    truth, first = exact_sum(drawn)
    length = window_length(len(truth))
    convolver = Convolver(length)
    for weights, start, times in drawn:
        convolver.add(np.array(weights) / sum(weights), start, times)
    found = convolver.result()
    placed = np.roll(np.pad(truth, (0, length - len(truth))), first % length)
    assert math.sqrt(np.square(found.masses - placed).sum()) <= found.error
    assert found.error < 1e-11


@given(parts)
@settings(deadline=None)
def test_directly_every_mass_is_right_to_itself(drawn: list[tuple[list[int], int, int]]) -> None:
    truth, _ = exact_sum(drawn)
    convolver = DirectConvolver()
    for weights, start, times in drawn:
        convolver.add(np.array(weights) / sum(weights), start, times)
    found = convolver.result()
    masses = found.masses[: len(truth)]
    # Each given mass is itself rounded, once per time it is taken.
    rounded = 2.0**-52 * sum(times for _, _, times in drawn)
    assert (np.abs(masses - truth) <= (found.relative_error + rounded) * truth).all()


def test_what_leaves_the_window_comes_in_on_the_other_side() -> None:
    convolver = Convolver(16)
    convolver.add(np.array([0.5, 0.5]), 10, 3)  # 30 + binomial(3, 1/2), modulo 16
    masses = convolver.result().masses
    assert masses[14] == pytest.approx(1 / 8, rel=1e-12)
    assert masses[15] == pytest.approx(3 / 8, rel=1e-12)
    assert masses[1] == pytest.approx(1 / 8, rel=1e-12)


def test_the_error_of_a_power_grows_with_it() -> None:
    """Raising a transform to the k-th power multiplies its rounding error by k."""
    errors = []
    for times in (10**3, 10**6):
        convolver = Convolver(4096)
        convolver.add(np.array([0.25, 0.5, 0.25]), -1, times)
        errors.append(convolver.result().error)
    assert 100 < errors[1] / errors[0] < 2000
