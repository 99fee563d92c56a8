"""Noise on whole multiples: its law is that of the library's mechanisms; its grid, its moments."""

import math

import numpy as np
import pytest

from dpverify.errors import Arithmetic, InvalidParameter
from dpverify.mechanisms import Gaussian, Laplace
from solvers.privacy.noise import Kind, StepNoise

KINDS: list[Kind] = ["gaussian", "norm", "laplace"]
ARITHMETICS: list[Arithmetic] = ["grid", "real"]


def noise(kind: Kind, dimension: int, arithmetic: Arithmetic = "grid") -> StepNoise:
    return StepNoise(
        kind=kind, scale=3.0, sensitivity=1.5, dimension=dimension, arithmetic=arithmetic
    )


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_densities_are_those_of_the_mechanisms(dimension: int, arithmetic: Arithmetic) -> None:
    """Both are releases of the same answer with the same grid."""
    answer = np.array([5, -7, 11])[:dimension]
    exact = np.ldexp(answer.astype(float), -4)
    gaussian = Gaussian(sigma=3.0, l2_sensitivity=1.5, arithmetic=arithmetic)
    laplace = Laplace(scale=3.0, l1_sensitivity=1.5, arithmetic=arithmetic)
    draws = gaussian.sample(exact, 50, rng=np.random.default_rng(0))
    fine = np.tile(answer << 36, (50, 1))
    shown = noise("gaussian", dimension, arithmetic).log_density(draws, fine, -40)
    assert shown == pytest.approx(gaussian.log_density(draws, exact), rel=1e-12)
    draws = laplace.sample(exact, 50, rng=np.random.default_rng(0))
    shown = noise("laplace", dimension, arithmetic).log_density(draws, fine, -40)
    assert shown == pytest.approx(laplace.log_density(draws, exact), rel=1e-12)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
@pytest.mark.parametrize("dimension", [1, 4])
def test_second_moments(kind: Kind, arithmetic: Arithmetic, dimension: int) -> None:
    """E‖z‖² within 7 standard errors; the grid makes the noise a little larger, never smaller."""
    law = noise(kind, dimension, arithmetic)
    sums = np.full((40_000, dimension), 9 << 40)
    squares = ((law.release(sums, -40, np.random.default_rng(1)) - 9.0) ** 2).sum(axis=1)
    error = 7.0 * squares.std() / math.sqrt(len(squares))
    assert abs(squares.mean() - law.second_moment) < error + 1e-3 * law.second_moment


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_gets_its_own_noise_on_one_grid(kind: Kind) -> None:
    law = noise(kind, 2)
    sums = np.arange(40).reshape(20, 2) << 38
    released = law.release(sums, -40, np.random.default_rng(2))
    steps = np.ldexp(released, -law._grid.grid.exponent)
    assert (steps == np.floor(steps)).all()
    shifts = released - np.ldexp(sums.astype(float), -40)
    assert len(np.unique(shifts[:, 0])) == 20


def test_rounding_to_the_grid_is_exact() -> None:
    """⌊sum/step + 1/2⌋ in integers, far beyond what floats hold."""
    law = noise("gaussian", 1)
    shift = law._grid.grid.exponent + 40
    for total in (0, 1, (1 << shift) // 2, (1 << shift) // 2 - 1, -(1 << shift) // 2, 3**38):
        rounded = law._steps(np.array([[total]]), -40)
        assert int(rounded[0, 0]) == (2 * total + (1 << shift)) // (2 << shift)


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_released_has_no_density(kind: Kind) -> None:
    law = noise(kind, 2)
    step = 2.0**law._grid.grid.exponent
    outputs = np.array([[step, step], [step / 2, step], [2.0**80, step]])
    logs = law.log_density(outputs, np.zeros((3, 2), np.int64), -40)
    assert math.isfinite(logs[0])
    assert logs[1:].tolist() == [-math.inf, -math.inf]


def test_a_norm_density_is_within_half_a_step_of_its_cells_mean() -> None:
    """In two dimensions, against the sum over the whole plane, which must be 1."""
    law = StepNoise(kind="norm", scale=0.05, sensitivity=64.0, dimension=2)
    scale = law._grid.scale_in_steps
    reach = int(12 * scale)
    if reach > 2_000:
        coarse = np.arange(-reach, reach + 1, reach // 500)
        cell = float(reach // 500) ** 2
    else:
        coarse, cell = np.arange(-reach, reach + 1), 1.0
    grid = np.stack(np.meshgrid(coarse, coarse), axis=-1).reshape(-1, 2)
    outputs = np.ldexp(grid.astype(float), law._grid.grid.exponent)
    logs = law.log_density(outputs, np.zeros_like(grid), law._grid.grid.exponent)
    assert np.exp(logs).sum() * cell == pytest.approx(1.0, abs=2e-3)


def test_refusals() -> None:
    for scale in (0.0, math.inf, math.nan):
        with pytest.raises(InvalidParameter, match="scale="):
            StepNoise(kind="gaussian", scale=scale, sensitivity=1.0, dimension=1)
    tiny = StepNoise(kind="gaussian", scale=2.0**-40, sensitivity=1.0, dimension=1)
    with pytest.raises(InvalidParameter, match="2\\^-28"):
        tiny.release(np.zeros((1, 1), np.int64), -40, np.random.default_rng(0))
