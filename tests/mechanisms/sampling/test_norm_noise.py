"""The norm mechanism: claims, the two paths of its sampler, and its law."""

import math
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.stats import gamma, kstwo

from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import PureDP
from dpverify.mechanisms import Laplace, NormMechanism
from dpverify.mechanisms.sampling.euclidean_noise import EuclideanNoise
from dpverify.mechanisms.sampling.magnitudes import EXPONENTIAL, HALF_NORMAL
from dpverify.mechanisms.sampling.norm_noise import NormNoise, lengths
from dpverify.mechanisms.sampling.uniform import LazyUniform
from dpverify.neighbors import Relation
from dpverify.pairs import LaplacePair

Agree = Callable[[ArrayLike, ArrayLike, int], None]

NORMS = (1.0, 1.5, 2.0, 3.0, math.inf)
each_norm = pytest.mark.parametrize("norm", NORMS)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


def cell_probability(norm: float, scale: float, cell: tuple[int, ...]) -> float:
    """P(z in the unit square around `cell`) for density ∝ exp(−‖z‖_p/scale), by quadrature.

    Split at 0 and at the diagonals' crossings, where p = 1 and p = ∞ have kinks.
    """
    reference = NormMechanism(scale=scale, norm=norm, arithmetic="real")

    def inner(x: float) -> float:
        low, high = cell[1] - 0.5, cell[1] + 0.5
        breaks = sorted({low, high, *(b for b in (0.0, x, -x) if low < b < high)})
        total = 0.0
        for left, right in pairwise(breaks):
            nodes = 0.5 * (left + right) + 0.5 * (right - left) * _NODES
            points = np.stack([np.full_like(nodes, x), nodes], axis=1)
            densities = np.exp(reference.log_density(points, [0.0, 0.0]))
            total += 0.5 * (right - left) * float(densities @ _WEIGHTS)
        return total

    low, high = cell[0] - 0.5, cell[0] + 0.5
    kinks = [b for b in (0.0, *(cell[1] + h for h in (-0.5, 0.5))) if low < b < high]
    return float(quad(inner, low, high, points=kinks or None, epsabs=1e-10)[0])


def test_claims_by_hand() -> None:
    mechanism = NormMechanism(scale=2.0, sensitivity=1.0)
    assert mechanism.claim.guarantee == PureDP(epsilon=0.5)
    assert mechanism.claim.theorem.name == "norm-mechanism"
    assert mechanism.claim.relation is None
    assert len(mechanism.claim.assumes) == 3  # bits, logarithms, normal quantiles
    assert len(NormMechanism(scale=2.0, norm=1).claim.assumes) == 2
    real = NormMechanism(scale=2.0, norm=math.inf, arithmetic="real")
    assert real.claim.assumes == ("real arithmetic",)
    assert real.noise_inflation(5) == 1.0


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.sampled_from(NORMS))
def test_the_pair_has_the_claimed_epsilon(scale: float, sensitivity: float, norm: float) -> None:
    mechanism = NormMechanism(scale=scale, sensitivity=sensitivity, norm=norm)
    pair = mechanism.pair(Relation.ADD_REMOVE)
    laplace = LaplacePair(scale=scale, sensitivity=sensitivity)
    assert pair.delta(0.0) == laplace.delta(0.0)
    assert isinstance(mechanism.claim.guarantee, PureDP)
    assert pair.max_loss == mechanism.claim.guarantee.epsilon


@pytest.mark.parametrize("norm", [*NORMS[1:], 1000.0])
@pytest.mark.parametrize("dimension", [2, 7])
@pytest.mark.parametrize("scale", [0.6, 2.0**20])
def test_balls_and_floats_settle_the_same_digits_alike(
    norm: float, dimension: int, scale: float
) -> None:
    fast = NormNoise(norm=norm, dimension=dimension, scale=scale)
    slow = NormNoise(norm=norm, dimension=dimension, scale=scale, caution=1e30)
    by_floats = fast.draw(40, np.random.default_rng(11))
    by_balls = slow.draw(40, np.random.default_rng(11))
    assert by_floats.shape == (40, dimension)
    assert (by_floats == by_balls).all()


@pytest.mark.parametrize("norm", [*NORMS[1:], 1000.0])
@pytest.mark.parametrize("dimension", [2, 30])
def test_float_vectors_are_128_times_better_than_their_slack(
    norm: float, dimension: int, rng: np.random.Generator
) -> None:
    noise = NormNoise(norm=norm, dimension=dimension, scale=2.0**20)
    width = noise.exponentials + dimension
    tails = np.concatenate(
        [rng.uniform(2.0**-15, 1.0, (6, width)), 2.0 ** -rng.uniform(0.0, 15.0, (6, width))]
    )
    positions, slacks = noise._positions(tails)
    with ctx.workprec(160):
        for row, position, slack in zip(tails, positions, slacks, strict=True):
            exact = noise._position_balls([arb(u) for u in row.tolist()])
            errors = [abs(x - p) for x, p in zip(exact, position.tolist(), strict=True)]
            assert all(e * 128 < s for e, s in zip(errors, slack.tolist(), strict=True))


@pytest.mark.parametrize("dimension", [2, 7])
@pytest.mark.parametrize("scale", [0.6, 2.0**26])
def test_balls_and_floats_settle_euclidean_noise_alike(dimension: int, scale: float) -> None:
    fast = EuclideanNoise(dimension, scale)
    slow = EuclideanNoise(dimension, scale, caution=1e30)
    by_floats = fast.draw(100, np.random.default_rng(11))
    by_balls = slow.draw(100, np.random.default_rng(11))
    assert by_floats.shape == (100, dimension)
    assert (by_floats == by_balls).all()


@pytest.mark.parametrize("dimension", [2, 3, 30, 301])
def test_float_coordinates_are_128_times_better_than_their_slack(
    dimension: int, rng: np.random.Generator
) -> None:
    noise = EuclideanNoise(dimension, 2.0**20)
    width = noise.shared + dimension
    tails = np.concatenate(
        [rng.uniform(2.0**-15, 1.0, (2, width)), 2.0 ** -rng.uniform(0.0, 15.0, (2, width))]
    )
    common, own = np.split(tails, [noise.shared], axis=1)
    positions, slacks = noise._positions(*noise._roots(common), own)
    with ctx.workprec(160):
        for first, row, position, slack in zip(common, own, positions, slacks, strict=True):
            root = noise._root_ball([arb(u) for u in first.tolist()])
            for u, p, s in zip(row.tolist(), position.tolist(), slack.tolist(), strict=True):
                assert abs(HALF_NORMAL.quantile_ball(arb(u)) * root + 0.5 - p) * 128 < s


class _Resolved(list[int]):
    """Counts how often balls are asked."""

    def watch(self, monkeypatch: pytest.MonkeyPatch, noise: type) -> None:
        original = noise.resolve  # type: ignore[attr-defined]  # of both kinds of noise

        def counted(*arguments: object) -> object:
            self.append(1)
            return original(*arguments)

        monkeypatch.setattr(noise, "resolve", counted)


@pytest.mark.parametrize(("norm", "noise"), [(3.0, NormNoise), (2.0, EuclideanNoise)])
def test_most_draws_are_settled_by_floats(
    norm: float, noise: type, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _Resolved()
    calls.watch(monkeypatch, noise)
    NormMechanism(scale=1.0, norm=norm).sample(np.zeros(10), 10_000, rng=rng)
    assert 0 < len(calls) < 100


def test_coordinates_of_long_vectors_do_not_wait_for_each_other(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where a shared uniform is one that floats are not trusted with."""
    calls = _Resolved()
    calls.watch(monkeypatch, EuclideanNoise)
    EuclideanNoise(4000, 2.0**20).draw(40, rng)
    assert 0 < len(calls) < 200


@pytest.mark.false_alarm(1e-9)
@each_norm
def test_coarse_draws_have_the_exact_law(
    norm: float, rng: np.random.Generator, agree: Agree
) -> None:
    total = 20_000 if norm in {1.5, 3.0} else 100_000
    mechanism = NormMechanism(scale=0.8, sensitivity=1.0, norm=norm, grid_exponent=0)
    scale = mechanism._noise(2).scale_in_steps
    draws = mechanism.sample([3.0, -1.0], total, rng=rng) - [3.0, -1.0]
    cells = list(product(range(-1, 2), repeat=2))
    expected = [cell_probability(norm, scale, cell) for cell in cells]
    agree([np.count_nonzero((draws == cell).all(axis=1)) for cell in cells], expected, total)


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("arithmetic", ["grid", "real"])
@pytest.mark.parametrize("norm", [1.0, 2.0, 4.0, math.inf])
def test_the_norm_of_the_noise_is_gamma(
    norm: float, arithmetic: str, rng: np.random.Generator
) -> None:
    """Kolmogorov's test of ‖z‖/b against Gamma(d); the grid shifts it by less than 1e-4."""
    total, dimension = 5_000, 5
    mechanism = NormMechanism(scale=3.0, norm=norm, arithmetic=arithmetic)  # type: ignore[arg-type]
    draws = mechanism.sample(np.zeros(dimension), total, rng=rng) / 3.0
    lengths = np.sort(gamma.cdf(np.linalg.norm(draws, ord=norm, axis=1), dimension))
    ranks = np.arange(total + 1) / total
    distance = max((ranks[1:] - lengths).max(), (lengths - ranks[:-1]).max())
    assert kstwo.sf(distance - 1e-4, total) > 1e-9


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("norm", [1.0, 2.0, 4.0, math.inf])
def test_exact_and_plain_directions_agree(
    norm: float, rng: np.random.Generator, agree: Agree
) -> None:
    """Signs are fair, and which coordinate is largest is equally likely to be any."""
    total, dimension = 6_000, 3
    draws = NormMechanism(scale=1.0, norm=norm).sample(np.zeros(dimension), total, rng=rng)
    largest = np.abs(draws).argmax(axis=1)
    agree(np.bincount(largest, minlength=dimension), np.full(dimension, 1 / dimension), total)
    octants = (draws > 0) @ [1, 2, 4]
    agree(np.bincount(octants, minlength=8), np.full(8, 1 / 8), total)


@each_norm
def test_the_grid_law_keeps_the_claim_in_two_dimensions(norm: float) -> None:
    """Whole shifts within the rounded sensitivity change no cell by more than e^(Δ/b)."""
    mechanism = NormMechanism(scale=0.9, sensitivity=0.5, norm=norm, grid_exponent=0)
    noise = mechanism._noise(2)
    epsilon = 0.5 / 0.9
    cells = list(product(range(-3, 4), repeat=2))
    log_mass = {c: math.log(cell_probability(norm, noise.scale_in_steps, c)) for c in cells}
    bound = float(noise._rounded().upper())
    losses = [
        abs(log_mass[a] - log_mass[b])
        for a in cells
        for b in cells
        if np.linalg.norm(np.subtract(a, b), ord=norm) <= bound
    ]
    assert 0.5 * epsilon < max(losses) <= epsilon + 1e-8


def test_one_dimension_and_the_sum_norm_are_laplace_noise() -> None:
    cases: list[tuple[float, ArrayLike]] = [(2.0, 1.5), (1.0, [1.5, 2.0]), (math.inf, [1.5])]
    for norm, data in cases:
        mechanism = NormMechanism(scale=2.0, norm=norm, grid_exponent=-4)
        twin = Laplace(scale=2.0, grid_exponent=-4)
        draws = mechanism.sample(data, 50, rng=np.random.default_rng(2))
        assert (draws == twin.sample(data, 50, rng=np.random.default_rng(2))).all()
        expected = twin.log_density(draws, data)
        assert mechanism.log_density(draws, data) == pytest.approx(expected, rel=1e-15)


@each_norm
def test_real_density_integrates_to_one(norm: float) -> None:
    cells = product(range(-4, 5), repeat=2)
    total = math.fsum(cell_probability(norm, 0.25, cell) for cell in cells)
    assert total == pytest.approx(1.0, abs=1e-6)


def test_sampling_is_reproducible_and_keeps_the_shape() -> None:
    mechanism = NormMechanism(scale=1.0)
    data = np.zeros((2, 3))
    first = mechanism.sample(data, 4, rng=np.random.default_rng(8))
    assert first.shape == (4, 2, 3)
    assert (first == mechanism.sample(data, 4, rng=np.random.default_rng(8))).all()
    step = 2.0 ** mechanism._noise(6).grid.exponent
    assert (first / step == np.floor(first / step)).all()


def test_inflation_is_small() -> None:
    assert NormMechanism(scale=1.0, norm=math.inf).noise_inflation(1000) == 1.0
    assert 1.0 < NormMechanism(scale=1.0).noise_inflation(1000) < 1.0 + 1e-5


@given(st.lists(st.integers(1 << 48, (1 << 63) - 1), min_size=1, max_size=20))
def test_balls_of_many_digits_are_those_of_each(numerators: list[int]) -> None:
    """One logarithm of a product, quantiles of a list, and digits to the working precision."""
    uniforms = [LazyUniform(numerator, 63) for numerator in numerators]
    with ctx.workprec(96):
        tails = [uniform.ball() for uniform in uniforms]
        for uniform, tail in zip(uniforms, tails, strict=True):
            assert uniform.rounded_ball().contains(tail)
        total = sum((EXPONENTIAL.quantile_ball(tail) for tail in tails), arb(0))
        assert EXPONENTIAL.sum_ball(tails).overlaps(total)
        found = HALF_NORMAL.quantile_balls(tails)
        for x, tail in zip(found, tails, strict=True):
            assert x.overlaps(HALF_NORMAL.quantile_ball(tail))
            assert (x / arb(2).sqrt()).erfc().overlaps(tail)


def test_lengths_survive_where_powers_do_not() -> None:
    rows = np.array([[3.0, 4.0], [1e-3, 1e-3], [1e200, 0.0], [0.0, 0.0]])
    assert lengths(rows, 2.0)[:, 0] == pytest.approx([5.0, 2**0.5 * 1e-3, 1e200, 0.0], rel=1e-15)
    assert lengths(rows, 1000.0)[:2, 0] == pytest.approx([4.0, 2**1e-3 * 1e-3], rel=1e-13)
    assert lengths(rows, math.inf)[:, 0].tolist() == [4.0, 1e-3, 1e200, 0.0]


def test_norms_that_no_ball_can_power() -> None:
    mechanism = NormMechanism(scale=1.0, norm=1e16)
    with pytest.raises(InvalidParameter, match=r"^norm=1e\+16 must be at most 1000, or inf"):
        mechanism.sample([0.0, 0.0], 1, rng=np.random.default_rng(0))
    assert mechanism.sample(0.0, 1, rng=np.random.default_rng(0)).shape == (1,)
    real = NormMechanism(scale=1.0, norm=1e16, arithmetic="real")
    assert np.isfinite(real.sample([0.0, 0.0], 100, rng=np.random.default_rng(0))).all()


def test_no_formula_is_pretended() -> None:
    with pytest.raises(NotSupported, match=r"has no formula in 2 dimensions"):
        NormMechanism(scale=1.0).log_density([[0.0, 0.0]], [0.0, 0.0])
