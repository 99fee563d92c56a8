"""Each part on the grid: above its profile, below its profile, and second order close to it."""

import math

import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from dpverify.accounting.numerical.cells import Tilt
from dpverify.accounting.numerical.discretize import GridLaw, LossGrid, discretize
from dpverify.accounting.numerical.engine import grid_for
from dpverify.accounting.numerical.sketch import Sketch
from dpverify.arrays import Floats
from dpverify.pairs import Mixed, Pair, SubsampledPair
from dpverify.pairs.loss_law import CutLaw
from tests.accounting.numerical.strategies import any_pairs, finite, gaussian, laplace, response

LOG_ABOVE, LOG_BELOW = -45.0, -40.0

PAIRS: list[Pair] = [
    gaussian(1.0),
    gaussian(20.0),
    *(SubsampledPair(gaussian(0.8), 0.004, mixed) for mixed in Mixed),
    *(SubsampledPair(laplace(1.0), 0.1, mixed) for mixed in Mixed),
]


def cut(pair: Pair) -> CutLaw:
    law = pair.loss_law().cut(LOG_ABOVE, LOG_BELOW)
    assert isinstance(law, CutLaw)
    return law


def untilted(law: GridLaw, grid: LossGrid, tilt: Tilt) -> tuple[Floats, Floats, Floats]:
    """Losses, and the masses of both ends without their weights."""
    losses = grid.losses(law.first, law.first + len(law.upper) - 1)
    exponents = -tilt.exponent(losses)
    with np.errstate(divide="ignore"):
        upper, lower = (np.exp(np.log(end) + exponents) for end in (law.upper, law.lower))
    return losses, upper, lower


def profile(losses: Floats, masses: Floats, epsilon: float) -> float:
    return math.fsum(masses * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))


@given(any_pairs, st.floats(-1.0, 7.0), st.booleans(), st.floats(0.0, 3.0), st.data())
def test_the_exact_profile_lies_between(
    pair: Pair,
    fineness: float,
    suited: bool,  # noqa: FBT001
    rate: float,
    data: st.DataObject,
) -> None:
    """At any ε, with any step, offset and tilt."""
    law = cut(pair)
    low, high = law.loss_range()
    step = min(max((high - low) / math.exp(fineness), 1e-9), 3.0)
    grid = grid_for(law, step, rate) if suited else LossGrid(step, data.draw(st.floats(0, step)))
    tilt = Tilt(rate=rate, log_scale=Sketch([(law, 1)]).log_moment(rate))
    found = discretize(law, grid, tilt)
    losses, upper, lower = untilted(found, grid, tilt)
    assert (found.lower >= 0.0).all()
    points = st.floats(low - step, high + step) | st.sampled_from(losses.tolist())
    for epsilon in data.draw(st.lists(points, min_size=4, max_size=4)):
        exact = pair.profile_ball(arb(epsilon)) - pair.singular_mass_ball()
        above = profile(losses, upper, epsilon - found.loss_error) + math.exp(law.log_above)
        below = profile(losses, lower, epsilon + found.loss_error)
        assert above * (1 + 1e-14) >= exact.lower()
        assert below * (1 - 1e-14) <= exact.upper()


@pytest.mark.parametrize("pair", PAIRS)
def test_both_ends_are_second_order(pair: Pair) -> None:
    """A step half as long leaves a quarter of the error, in the moment that ε depends on."""
    law = cut(pair)
    rate, widths = 3.0, []
    # The gap between atoms is divided, so that none falls beside a node.
    low, high = law.loss_range()
    unit = (high - low) if len(law.losses) else 1.0
    for step in (unit / 2**12, unit / 2**13):
        tilt = Tilt(rate=rate, log_scale=0.0)
        found = discretize(law, grid_for(law, step, rate), tilt)
        widths.append(float(found.upper.sum() - found.lower.sum()))
    assert 3.3 < widths[0] / widths[1] < 4.7


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("step", [1e-2, 1e-3, 1e-4])
def test_both_laws_keep_their_mass(pair: Pair, step: float) -> None:
    law = cut(pair)
    grid = grid_for(law, step, 0.0)
    losses, upper, lower = untilted(
        discretize(law, grid, Tilt(rate=0.0, log_scale=0.0)), grid, Tilt(rate=0.0, log_scale=0.0)
    )
    for masses in (upper, upper * np.exp(-losses)):
        assert math.fsum(masses) == pytest.approx(1.0, abs=1e-12)
    for masses in (lower, lower * np.exp(-losses)):
        assert math.fsum(masses) == pytest.approx(1.0, abs=1e-4)


def test_a_fine_grid_loses_no_digits() -> None:
    """Masses as second differences of the profile would be noise here: the step is 1e-9."""
    pair = SubsampledPair(gaussian(100.0), 1e-4)
    law = cut(pair)
    grid = LossGrid(1e-9, 0.0)
    losses, upper, lower = untilted(
        discretize(law, grid, Tilt(rate=0.0, log_scale=0.0)), grid, Tilt(rate=0.0, log_scale=0.0)
    )
    for epsilon in (0.0, 1e-7, 1e-6):
        exact = pair.delta(epsilon)
        assert profile(losses, upper, epsilon) == pytest.approx(exact, rel=1e-5)
        assert profile(losses, lower, epsilon) == pytest.approx(exact, rel=1e-5)


def test_a_part_narrower_than_a_step_keeps_its_mass_on_the_lower_end() -> None:
    """Its bulk sits on a node; at offset 0 almost a step of it would be lost, every time."""
    law = cut(SubsampledPair(gaussian(1.0), 1e-3))
    grid = grid_for(law, 0.01, 0.0)
    found = discretize(law, grid, Tilt(rate=0.0, log_scale=0.0))
    assert grid.offset < 0.0
    assert math.fsum(found.lower) > 1 - 1e-4
    beside = discretize(law, LossGrid(0.01, -0.005), Tilt(rate=0.0, log_scale=0.0))
    assert math.fsum(beside.lower) < math.fsum(found.lower)


def test_atoms_on_the_grid_are_exact() -> None:
    """Randomized response on a grid of step 2ε, and leaks left out."""
    pair = response(math.log(3.0), 0.25)
    law = cut(pair)
    grid = grid_for(law, 2 * math.log(3.0), 0.0)
    losses, upper, lower = untilted(
        discretize(law, grid, Tilt(rate=0.0, log_scale=0.0)), grid, Tilt(rate=0.0, log_scale=0.0)
    )
    for masses in (upper, lower):
        kept = masses > 1e-12
        assert losses[kept] == pytest.approx([-math.log(3.0), math.log(3.0)], rel=1e-14)
        assert masses[kept] == pytest.approx([3 / 16, 9 / 16], rel=1e-13)


def test_atoms_beside_the_grid_cost_at_most_a_step() -> None:
    pair = finite([5, 3, 2], [1, 4, 5])
    law = cut(pair)
    step = 1e-3
    losses, upper, lower = untilted(
        discretize(law, LossGrid(step, 0.3e-3), Tilt(rate=0.0, log_scale=0.0)),
        LossGrid(step, 0.3e-3),
        Tilt(rate=0.0, log_scale=0.0),
    )
    for epsilon in (0.0, 0.5, 1.0):
        assert (
            profile(losses, upper, epsilon) <= pair.delta(epsilon - step if epsilon else 0.0) + step
        )
        assert profile(losses, lower, epsilon) >= pair.delta(epsilon + step) - step
