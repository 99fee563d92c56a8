"""The grid: rounding, its sensitivity, and what is added to the noise for it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverify.arrays import Ints
from dpverify.errors import InvalidParameter
from dpverify.mechanisms.sampling.grid import Grid, GridNoise

HALF_UNIT = Grid(-1)


@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        (0.0, 0),
        (0.25, 1),  # a tie goes up
        (0.24999999999999997, 0),
        (0.75, 2),  # and up again, where rounding to even would leave a gap of 2
        (-0.25, 0),
        (-0.25000000000000006, -1),
        (-5e-324, 0),
        (10.0, 20),
        (2.0**59, 2**60),
        (1e300, 2**61),  # clamped
        (-1e300, -(2**61)),
        (1.7e308, 2**61),  # 2·answer/g overflows
    ],
)
def test_rounding_by_hand(answer: float, steps: int) -> None:
    assert HALF_UNIT.steps(np.array(answer)) == steps


@given(st.floats(-1e6, 1e6), st.integers(-8, 8))
def test_rounding_is_that_of_fractions(answer: float, exponent: int) -> None:
    exact = math.floor(Fraction(answer) / Fraction(2) ** exponent + Fraction(1, 2))
    assert Grid(exponent).steps(np.array(answer)) == exact


vectors = st.lists(st.floats(-4.0, 4.0), min_size=1, max_size=6)


@given(vectors, st.data(), st.sampled_from([1.0, 1.5, 2.0, 3.0, math.inf]))
def test_rounded_answers_are_no_further_apart_than_stated(
    left: list[float], data: st.DataObject, norm: float
) -> None:
    shift = data.draw(st.lists(st.floats(-2.0, 2.0), min_size=len(left), max_size=len(left)))
    right = np.array(left) + np.array(shift)
    apart = np.linalg.norm(right - np.array(left), ord=norm)
    declared = Fraction(max(math.nextafter(apart, math.inf) * (1 + 2**-40), 2.0**-30))
    rounded = HALF_UNIT.steps(np.array(left)) - HALF_UNIT.steps(right)
    bound = HALF_UNIT.rounded_sensitivity(declared, norm, len(left))
    assert np.linalg.norm(rounded, ord=norm) <= float(bound.upper()) * (1 + 2**-40)


@pytest.mark.parametrize(
    ("norm", "left", "right", "sensitivity", "attained"),
    [
        (1.0, [0.24, 0.24], [0.26, 0.26], Fraction(1, 20), 2.0),  # ⌈Δ/g⌉ + d − 1 = 2
        (1.0, [0.24], [1.26], Fraction(11, 10), 3.0),  # ⌈2.2⌉
        (math.inf, [0.0, 0.24], [0.0, 0.26], Fraction(1, 20), 1.0),
        (2.0, [0.24], [0.75], Fraction(51, 100), 2.0),
    ],
)
def test_bounds_that_are_attained(
    norm: float, left: list[float], right: list[float], sensitivity: Fraction, attained: float
) -> None:
    steps: Ints = HALF_UNIT.steps(np.array(right)) - HALF_UNIT.steps(np.array(left))
    assert np.linalg.norm(steps, ord=norm) == attained
    assert HALF_UNIT.rounded_sensitivity(sensitivity, norm, len(left)) == arb(attained)


def noise(
    scale: float,
    sensitivity: float,
    *,
    norm: float = 2.0,
    dimension: int = 1,
    exponent: int | None = None,
) -> GridNoise:
    return GridNoise(
        scale=scale, sensitivity=sensitivity, norm=norm, dimension=dimension, exponent=exponent
    )


@pytest.mark.parametrize("norm", [1.0, 2.0, 7.5, math.inf])
@pytest.mark.parametrize("dimension", [1, 3, 100])
@pytest.mark.parametrize("ratio", [0.1, 1.0, 50.0])
def test_the_default_grid_costs_a_millionth(norm: float, dimension: int, ratio: float) -> None:
    at = noise(0.3 * ratio, 0.3, norm=norm, dimension=dimension)
    assert 1.0 <= at.inflation < 1.0 + 1e-6
    assert 0.3 * ratio * 2.0**-40 < 2.0**at.grid.exponent <= 0.3 * ratio * 2.0**-12


def test_whole_sensitivities_cost_nothing_in_one_dimension() -> None:
    assert noise(1.0, 1.0).inflation == 1.0
    assert noise(3.0, 1.0, exponent=0).scale_in_steps == 3.0


def test_a_coarse_grid_is_paid_for() -> None:
    # Δ = 1/4 becomes a whole step of 1, four times as much, and so does the scale.
    at = noise(0.5, 0.25, exponent=0)
    assert at.inflation == 4.0
    assert at.scale_in_steps == 2.0


@given(
    st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(1, 50), st.sampled_from([1.0, 2.0, 3.0])
)
def test_the_ratio_that_privacy_rests_on_is_kept(
    scale: float, sensitivity: float, dimension: int, norm: float
) -> None:
    at = noise(scale, sensitivity, norm=norm, dimension=dimension)
    moved = at.grid.rounded_sensitivity(Fraction(sensitivity), norm, dimension)
    kept = moved * Fraction(scale).numerator / Fraction(scale).denominator
    assert not arb(at.scale_in_steps) < kept * arb(1) / arb(sensitivity)


@pytest.mark.parametrize(
    ("scale", "sensitivity", "exponent", "message"),
    [
        (1e-300, 1e-300, None, "must lie between 1e-250 and 1e250"),
        (1e290, 1e290, None, "must lie between 1e-250 and 1e250"),
        (1e40, 1.0, None, "must be at most 2^52 grid steps"),
        (1.0, 1.0, -60, "must be at most 2^52 grid steps of 2^-60"),
    ],
)
def test_scales_that_no_grid_serves(
    scale: float, sensitivity: float, exponent: int | None, message: str
) -> None:
    with pytest.raises(InvalidParameter, match=r"noise scale=") as caught:
        _ = noise(scale, sensitivity, exponent=exponent).scale_in_steps
    assert message in str(caught.value)
