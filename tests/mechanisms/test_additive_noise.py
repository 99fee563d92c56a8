"""Gaussian and Laplace noise: claims, the exact law on coarse grids, draws, and their bits."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.stats import laplace, norm

from dpverify.errors import Arithmetic
from dpverify.guarantees import GaussianDP, PureDP
from dpverify.mechanisms import Gaussian, Laplace
from dpverify.mechanisms.sampling.grid import Grid, GridNoise
from dpverify.neighbors import Relation

Agree = Callable[[ArrayLike, ArrayLike, int], None]
Additive = Gaussian | Laplace
positive = st.floats(1e-3, 1e3)


def gaussian(scale: float, sensitivity: float, exponent: int | None = None) -> Gaussian:
    return Gaussian(sigma=scale, l2_sensitivity=sensitivity, grid_exponent=exponent)


def laplacian(scale: float, sensitivity: float, exponent: int | None = None) -> Laplace:
    return Laplace(scale=scale, l1_sensitivity=sensitivity, grid_exponent=exponent)


both = pytest.mark.parametrize("make", [gaussian, laplacian])
Make = Callable[..., Additive]


def tails(values: Sequence[arb]) -> list[arb]:
    """From tail probabilities at ascending bounds to the masses between them, ends included."""
    edges = [arb(1), *values, arb(0)]
    return [high - low for high, low in pairwise(edges)]


def excess(left: Sequence[arb], right: Sequence[arb], epsilon: float) -> arb:
    """Σ (P − e^ε·Q)₊: the smallest δ at ε for two finite laws."""
    growth = arb(epsilon).exp()
    return sum(((p - growth * q).max(arb(0)) for p, q in zip(left, right, strict=True)), arb(0))


def upper_tail(mechanism: Additive, x: arb) -> arb:
    """P(noise > x) for noise of scale 1."""
    if isinstance(mechanism, Gaussian):
        return (x / arb(2).sqrt()).erfc() / 2
    return (-x).exp() / 2 if x >= 0 else 1 - x.exp() / 2


def cells(mechanism: Additive, noise: GridNoise, shift: int, reach: int) -> list[arb]:
    """The law of shift + K: one mass for each step within `reach`, and one for each tail."""
    scale = arb(noise.scale_in_steps)
    edges = [arb(2 * step + 1) / 2 for step in range(-reach - 1, reach + 1)]
    return tails([upper_tail(mechanism, (edge - shift) / scale) for edge in edges])


@pytest.mark.parametrize(
    ("mechanism", "guarantee"),
    [
        (Gaussian(sigma=2.0, l2_sensitivity=1.0), GaussianDP(mu=0.5)),
        (Gaussian(sigma=1.0, l2_sensitivity=3.0), GaussianDP(mu=3.0)),
        (Laplace(scale=2.0, l1_sensitivity=1.0), PureDP(epsilon=0.5)),
        (Laplace(scale=0.5, l1_sensitivity=1), PureDP(epsilon=2.0)),
    ],
)
def test_claims_by_hand(mechanism: Additive, guarantee: GaussianDP | PureDP) -> None:
    claim = mechanism.claim
    assert claim.guarantee == guarantee
    assert claim.relation is None
    assert claim.theorem.name in {"analytic-gaussian", "laplace"}
    assert any("bits are uniform" in words for words in claim.assumes)
    assert any("2^-43" in words for words in claim.assumes)


@given(positive, positive)
def test_guarantees_are_rounded_up_and_match_the_pair(scale: float, sensitivity: float) -> None:
    ratio = Fraction(sensitivity) / Fraction(scale)
    mu = gaussian(scale, sensitivity).claim.guarantee
    epsilon = laplacian(scale, sensitivity).claim.guarantee
    assert isinstance(mu, GaussianDP)
    assert isinstance(epsilon, PureDP)
    assert Fraction(mu.mu) >= ratio > Fraction(math.nextafter(mu.mu, 0.0))
    assert Fraction(epsilon.epsilon) >= ratio
    for relation in Relation:
        assert gaussian(scale, sensitivity).pair(relation).squared_mu == ratio**2
        assert laplacian(scale, sensitivity).pair(relation).max_loss == epsilon.epsilon


def test_real_arithmetic_is_said() -> None:
    assert Gaussian(sigma=1.0, arithmetic="real").claim.assumes == ("real arithmetic",)
    assert Laplace(scale=1.0, arithmetic="real").claim.assumes == ("real arithmetic",)
    assert Gaussian(sigma=1.0, arithmetic="real").noise_inflation(100) == 1.0


@both
@pytest.mark.parametrize(
    ("scale", "sensitivity", "exponent"),
    [
        (1.0, 1.0, 0),  # one step
        (1.0, 0.75, 0),  # three quarters of a step, which rounding makes one
        (0.5, 1.0, 1),  # half a step
        (2.0, 1.0, -2),  # four steps
        (0.3, 1.1, -1),  # 2.2 steps, which rounding makes three
    ],
)
def test_the_exact_grid_law_keeps_the_claim(
    make: Make, scale: float, sensitivity: float, exponent: int
) -> None:
    """The profile of the two grid laws, at the largest shift and all smaller ones."""
    mechanism = make(scale, sensitivity, exponent)
    noise = mechanism._noise(1)
    largest = noise.grid.whole_steps_in(Fraction(sensitivity))
    pair = mechanism.pair(Relation.REPLACE_ONE)
    with ctx.workprec(800):
        reach = 60
        right = cells(mechanism, noise, 0, reach)
        for shift in range(-largest, largest + 1):
            left = cells(mechanism, noise, shift, reach)
            assert abs(sum(left, arb(0)) - 1) < arb(2) ** -700
            for epsilon in [0.0, 0.1, 0.5, 1.0, 2.0, 3.6, 5.0, 9.0, 20.0]:
                assert excess(left, right, epsilon) < pair.delta(epsilon) + arb(2) ** -600


def test_laplace_noise_attains_its_epsilon_on_the_grid() -> None:
    mechanism = Laplace(scale=2.0, l1_sensitivity=1.0, grid_exponent=-2)
    outputs = np.arange(-40, 41) / 4
    losses = mechanism.log_density(outputs, 0.0) - mechanism.log_density(outputs, 1.0)
    assert np.abs(losses).max() == pytest.approx(0.5, rel=1e-12)


@both
@pytest.mark.parametrize("sensitivity", [0.02, 0.5, 1.0])
def test_the_exact_grid_law_keeps_the_claim_in_two_dimensions(
    make: Make, sensitivity: float
) -> None:
    """All whole shifts that answers this near can be rounded to, summed over a large square."""
    mechanism = make(0.8 * sensitivity + 0.02, sensitivity, 0)
    order = 2 if isinstance(mechanism, Gaussian) else 1
    noise = mechanism._noise(2)
    bound = float(noise.grid.rounded_sensitivity(Fraction(sensitivity), order, 2).upper())
    steps = np.arange(-120, 121) * 2.0**noise.grid.exponent
    pair = mechanism.pair(Relation.REPLACE_ONE)
    side = mechanism.log_density(
        np.stack([steps, np.zeros_like(steps)], axis=1), [0.0, 0.0]
    ) - 0.5 * mechanism.log_density([[0.0, 0.0]], [0.0, 0.0])
    law = np.exp(np.add.outer(side, side))
    assert law.sum() == pytest.approx(1.0, rel=1e-12)
    shifts = [s for s in product(range(-2, 3), repeat=2) if np.linalg.norm(s, order) <= bound]
    assert (1, 1) in shifts
    for shift in shifts:
        moved = np.roll(law, shift, axis=(0, 1))[2:-2, 2:-2]
        for epsilon in [0.0, 0.3, 1.0, 2.5, 6.0]:
            delta = np.maximum(moved - math.exp(epsilon) * law[2:-2, 2:-2], 0.0).sum()
            assert delta <= pair.delta(epsilon) + 1e-13


@both
def test_probabilities_on_a_coarse_grid_add_up_to_one(make: Make) -> None:
    mechanism = make(1.0, 1.0, -1)
    outputs = np.arange(-160, 161) / 2
    assert np.exp(mechanism.log_density(outputs, 0.3)).sum() == pytest.approx(1.0, rel=1e-13)
    assert mechanism.log_density([0.25, 1.0], 0.3)[0] == -math.inf
    assert mechanism.log_density([0.25, 1.0], 0.3)[1] > -math.inf


@both
def test_the_fine_grid_has_the_continuous_density(make: Make) -> None:
    mechanism = make(3.0, 1.0)
    real = replace(mechanism, arithmetic="real")
    step = 2.0 ** mechanism._noise(1).grid.exponent
    outputs = np.array([-20.0, 0.0, 1.0, 7.5])
    expected = real.log_density(outputs, 1.0) + math.log(step)
    assert mechanism.log_density(outputs, 1.0) == pytest.approx(expected, abs=1e-5)
    frozen = norm(1.0, 3.0) if make is gaussian else laplace(1.0, 3.0)
    assert real.log_density(outputs, 1.0) == pytest.approx(frozen.logpdf(outputs), rel=1e-13)


@both
def test_log_density_of_vectors_is_a_sum(make: Make) -> None:
    grid = make(1.0, 1.0, -3)
    both_move, none, first, second = grid.log_density(
        [[[2.0, 3.0]], [[0.0, 0.0]], [[2.0, 0.0]], [[0.0, 3.0]]], [[0.0, 0.0]]
    )
    assert both_move + none == pytest.approx(first + second, rel=1e-14)
    real = replace(grid, arithmetic="real")
    data, outputs = np.array([[0.0, 1.0], [2.0, 3.0]]), np.arange(8.0).reshape(2, 2, 2)
    parts = [real.log_density(outputs.reshape(2, 4)[:, i], data.ravel()[i]) for i in range(4)]
    assert real.log_density(outputs, data) == pytest.approx(sum(parts), rel=1e-13)


@both
@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
def test_draws_have_the_continuous_law(
    make: Make, arithmetic: Arithmetic, rng: np.random.Generator, agree: Agree
) -> None:
    """On the fine grid a cell's probability differs by less than 1e-6 from the continuous one."""
    total = 400_000
    mechanism = replace(make(2.0, 1.0), arithmetic=arithmetic)
    draws = mechanism.sample(5.0, total, rng=rng)
    frozen = norm(5.0, 2.0) if make is gaussian else laplace(5.0, 2.0)
    edges = frozen.ppf([1e-4, 0.01, 0.25, 0.5, 0.75, 0.99, 1 - 1e-4])
    counts = np.bincount(np.searchsorted(edges, draws), minlength=8)
    agree(counts, np.diff(frozen.cdf(edges), prepend=0.0, append=1.0), total)


@both
@pytest.mark.false_alarm(1e-9)
def test_coarse_draws_have_the_exact_law(
    make: Make, rng: np.random.Generator, agree: Agree
) -> None:
    total = 300_000
    mechanism = make(1.0, 0.75, 0)
    draws = mechanism.sample(2.2, total, rng=rng)
    outputs = np.arange(-3.0, 8.0)
    expected = np.exp(mechanism.log_density(outputs, 2.2))
    agree([np.count_nonzero(draws == output) for output in outputs], expected, total)


@both
@pytest.mark.false_alarm(2e-9)
def test_outputs_of_neighbors_share_their_residues_and_low_bits(
    make: Make, rng: np.random.Generator, agree: Agree
) -> None:
    """1/3 and 1/3 + 1 fill different low bits of a float; nothing of that survives."""
    total = 200_000
    mechanism = make(1.0, 1.0)
    step = 2.0 ** mechanism._noise(1).grid.exponent
    for answer in (1 / 3, 1 / 3 + 1):
        steps = mechanism.sample(answer, total, rng=rng) / step
        assert (steps == np.floor(steps)).all()
        residues = np.bincount(steps.astype(np.int64) % 8, minlength=8)
        agree(residues, np.full(8, 1 / 8), total)


@both
def test_shapes_and_reproducibility(make: Make) -> None:
    mechanism = make(1.0, 1.0)
    for shape in [(), (2,), (2, 3)]:
        data = np.zeros(shape)
        first = mechanism.sample(data, 5, rng=np.random.default_rng(1))
        again = mechanism.sample(data, 5, rng=np.random.default_rng(1))
        other = mechanism.sample(data, 5, rng=np.random.default_rng(2))
        assert first.shape == (5, *shape)
        assert (first == again).all()
        assert (first != other).any()


@both
def test_answers_far_away_are_clamped_before_noise(make: Make, rng: np.random.Generator) -> None:
    mechanism = make(1.0, 1.0, -20)
    limit = 2.0**41
    assert (mechanism.sample(1e300, 100, rng=rng) <= limit).all()
    assert (mechanism.sample(-1e300, 100, rng=rng) >= -limit).all()
    huge = np.array([2**63 - 1, -(2**63)])  # clamped to ±2^53 as integers
    outputs = mechanism.sample(huge, 10, rng=rng)
    assert (np.sign(outputs) == [1, -1]).all()


@both
def test_integer_and_float_answers_are_the_same_answer(make: Make) -> None:
    mechanism = make(1.0, 1.0)
    draws = [
        mechanism.sample(data, 4, rng=np.random.default_rng(3))
        for data in (7, 7.0, np.float32(7.0), np.uint8(7), np.int64(7))
    ]
    assert all((draw == draws[0]).all() for draw in draws)


@both
@pytest.mark.parametrize("dimension", [1, 2, 100, 10_000])
def test_inflation_is_what_the_noise_grows_by(make: Make, dimension: int) -> None:
    mechanism = make(10.0, 0.7)
    noise = mechanism._noise(dimension)
    step = 2.0**noise.grid.exponent
    added = noise.scale_in_steps * step / 10.0
    assert added == pytest.approx(mechanism.noise_inflation(dimension), rel=1e-15)
    assert 1.0 < mechanism.noise_inflation(dimension) < 1.0 + (1e-6 if dimension <= 100 else 1e-4)
    assert isinstance(noise.grid, Grid)
