"""Poisson-subsampled noise, and batches drawn without replacement."""

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest
from flint import arb
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from dpverify.errors import InvalidParameter, NotSupported
from dpverify.guarantees import ApproxDP
from dpverify.pairs import (
    GaussianPair,
    LaplacePair,
    LeakyResponsePair,
    Mixed,
    SubsampledPair,
    WithoutReplacementPair,
)
from dpverify.pairs.subsampling.poisson import falling_root

Base = GaussianPair | LaplacePair
Subsampled = SubsampledPair | WithoutReplacementPair

UNIT_GAUSSIAN = GaussianPair.of(sigma=1.0, sensitivity=1.0)
UNIT_LAPLACE = LaplacePair(scale=1.0, sensitivity=1.0)

sizes = st.floats(0.05, 5.0)
bases: st.SearchStrategy[Base] = st.one_of(
    sizes.map(lambda mu: GaussianPair.of(sigma=1.0, sensitivity=mu)),
    sizes.map(lambda shift: LaplacePair(scale=1.0, sensitivity=shift)),
)
rates = st.floats(1e-4, 0.999)
pairs: st.SearchStrategy[Subsampled] = st.one_of(
    st.builds(SubsampledPair, bases, rates, st.sampled_from(Mixed)),
    st.builds(WithoutReplacementPair, bases, rates),
)


def densities(
    pair: SubsampledPair,
) -> tuple[Callable[[mp.mpf], mp.mpf], Callable[[mp.mpf], mp.mpf]]:
    """Both laws as the definition has them, the shifted noise at ±s."""
    if isinstance(pair.base, GaussianPair):
        size = mp.sqrt(mp.mpf(pair.base.squared_mu.numerator) / pair.base.squared_mu.denominator)

        def noise(z: mp.mpf) -> mp.mpf:
            return mp.npdf(z)
    else:
        size = mp.mpf(pair.base.sensitivity) / mp.mpf(pair.base.scale)

        def noise(z: mp.mpf) -> mp.mpf:
            return mp.exp(-abs(z)) / 2

    q = mp.mpf(pair.rate)

    def plain(z: mp.mpf) -> mp.mpf:
        return noise(z)

    def mixed(z: mp.mpf, shift: mp.mpf) -> mp.mpf:
        return (1 - q) * noise(z) + q * noise(z - shift)

    if pair.mixed is Mixed.LEFT:
        return lambda z: mixed(z, size), plain
    if pair.mixed is Mixed.RIGHT:
        return plain, lambda z: mixed(z, size)
    return lambda z: mixed(z, size), lambda z: mixed(z, -size)


def integrate(
    function: Callable[[mp.mpf], mp.mpf], pair: SubsampledPair, corners: list[mp.mpf]
) -> mp.mpf:
    size = mp.mpf(float(pair.shift.size))
    inside = [corner for corner in corners if abs(corner) < 60]
    return mp.quad(function, sorted({mp.mpf(-60), -size, mp.mpf(0), size, mp.mpf(60), *inside}))


# by hand


def test_values_by_hand() -> None:
    """At ε = 0 sampling multiplies the profile by q: the unsampled part cancels."""
    for base in (UNIT_GAUSSIAN, UNIT_LAPLACE):
        for mixed in (Mixed.LEFT, Mixed.RIGHT):
            assert SubsampledPair(base, 0.25, mixed).delta(0.0) == 0.25 * base.delta(0.0)
        assert WithoutReplacementPair(base, 0.25).delta(0.0) == 0.25 * base.delta(0.0)
    # With e^s = 4 and q = 1/3 the likelihood ratio of the mixture runs from 3/4 to 2.
    pair = SubsampledPair(LaplacePair(scale=1.0, sensitivity=2 * math.log(2.0)), 1 / 3)
    assert pair.max_loss == pytest.approx(math.log(2.0), rel=1e-15)
    assert pair.reversed.max_loss == pytest.approx(math.log(4 / 3), rel=1e-15)
    both = SubsampledPair(pair.base, 1 / 3, Mixed.BOTH)
    assert both.max_loss == pytest.approx(math.log(2.0) - math.log(3 / 4), rel=1e-15)


@pytest.mark.parametrize("base", [UNIT_GAUSSIAN, UNIT_LAPLACE])
def test_everything_or_nothing_sampled(base: Base) -> None:
    for mixed in (Mixed.LEFT, Mixed.RIGHT):
        whole = SubsampledPair(base, 1, mixed)
        assert whole.delta(0.7) == base.delta(0.7)
        assert whole.max_loss == base.max_loss
        assert whole.renyi(3.0) == base.renyi(3.0)
        assert whole.trade_off(0.2) == base.trade_off(0.2)
    twice = (
        GaussianPair(4 * base.squared_mu)
        if isinstance(base, GaussianPair)
        else LaplacePair(scale=1.0, sensitivity=2.0)
    )
    assert SubsampledPair(base, 1.0, Mixed.BOTH).delta(0.7) == twice.delta(0.7)
    for pair in [*(SubsampledPair(base, 0.0, mixed) for mixed in Mixed)]:
        assert (pair.delta(0.0), pair.epsilon(0.0), pair.renyi(2.0)) == (0.0, 0.0, 0.0)
        assert pair.trade_off(0.25) == 0.75
    assert WithoutReplacementPair(base, 1.0).delta(0.7) == base.delta(0.7)
    assert WithoutReplacementPair(base, 0.0).epsilon(0.0) == 0.0


def test_gaussian_losses_are_bounded_on_the_added_side_only() -> None:
    pair = SubsampledPair(UNIT_GAUSSIAN, 0.75)
    assert pair.max_loss == math.inf
    assert pair.reversed.max_loss == pytest.approx(math.log(4.0), rel=1e-15)
    assert pair.reversed.delta(1.4) == 0.0
    assert 0.0 < pair.reversed.delta(1.38) < 1e-3


# laws


@given(pairs)
def test_reversing_twice(pair: Subsampled) -> None:
    assert pair.reversed.reversed == pair


@given(pairs, st.floats(0.0, 4.0))
def test_the_reversed_profile_is_the_dual(pair: Subsampled, epsilon: float) -> None:
    """δ_rev(ε) = 1 − e^ε + e^ε·δ(−ε): an event and its complement."""
    at = arb(epsilon)
    dual = 1 - at.exp() + at.exp() * pair.profile_ball(-at)
    assert pair.reversed.profile_ball(at).overlaps(dual)


@given(bases, st.sampled_from(Mixed), rates, rates, st.floats(0.0, 3.0))
def test_sampling_more_costs_more(
    base: Base, mixed: Mixed, first: float, second: float, epsilon: float
) -> None:
    low, high = sorted((first, second))
    less = SubsampledPair(base, low, mixed).delta_bracket(epsilon)
    more = SubsampledPair(base, high, mixed).delta_bracket(epsilon)
    assert less.lower <= more.upper


@given(pairs, st.floats(1e-6, 1 - 1e-6))
@example(WithoutReplacementPair(LaplacePair(scale=1.0, sensitivity=0.5), 0.5), 0.5)
def test_the_trade_off_is_dual_to_the_profile(pair: Subsampled, false_alarm: float) -> None:
    """No test misses less than 1 − δ(ε) − e^ε·α, and the best test misses the most of these.

    They are concave in e^ε, so that a search along ε climbs to the best. In the example, α lies
    where two pieces of the curve meet.
    """

    def short_of_one(epsilon: float) -> float:
        at = arb(epsilon)
        return float(pair.profile_ball(at) + at.exp() * false_alarm)

    miss = pair.trade_off(false_alarm)
    best = 1.0 - minimize_scalar(short_of_one, bounds=(-40.0, 40.0), method="bounded").fun
    assert best - 1e-15 <= miss <= best + 1e-6


# sandwich


@pytest.mark.sampled(3)
@pytest.mark.parametrize("base", [UNIT_GAUSSIAN, LaplacePair(scale=1.0, sensitivity=1.7)])
@pytest.mark.parametrize("mixed", Mixed)
@pytest.mark.parametrize("rate", [0.01, 0.6])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.7])
def test_profile_against_quadrature(base: Base, mixed: Mixed, rate: float, epsilon: float) -> None:
    """∫ (p − e^ε·q)₊ with nothing known but the two densities."""
    pair = SubsampledPair(base, rate, mixed)
    with mp.workdps(25):
        left, right = densities(pair)
        growth = mp.exp(mp.mpf(epsilon))

        def excess(z: mp.mpf) -> mp.mpf:
            return left(z) - growth * right(z)

        grid = [mp.mpf(z) / 50 for z in range(-600, 601)]
        signs = [excess(z) > 0 for z in grid]
        roots = [
            mp.findroot(excess, (grid[i], grid[i + 1]), solver="anderson", tol=1e-40)
            for i in range(len(grid) - 1)
            if signs[i] != signs[i + 1]
        ]
        integral = integrate(lambda z: max(excess(z), mp.mpf(0)), pair, roots)
        assert float(abs(pair.delta(epsilon) - integral)) <= 1e-15


@pytest.mark.sampled(3)
@pytest.mark.parametrize("base", [UNIT_GAUSSIAN, LaplacePair(scale=1.0, sensitivity=1.7)])
@pytest.mark.parametrize("mixed", Mixed)
@pytest.mark.parametrize("order", [1.0, 1.5, 4.0])
def test_renyi_against_quadrature(base: Base, mixed: Mixed, order: float) -> None:
    pair = SubsampledPair(base, 0.3, mixed)
    with mp.workdps(25):
        left, right = densities(pair)

        def integrand(z: mp.mpf) -> mp.mpf:
            loss = mp.log(left(z) / right(z))
            return left(z) * (loss if order == 1.0 else mp.exp((order - 1) * loss))

        value = integrate(integrand, pair, [])
        truth = value if order == 1.0 else mp.log(value) / (order - 1)
    assert pair.renyi(order) == pytest.approx(float(truth), rel=1e-13)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_renyi_of_whole_order_is_a_binomial_sum(order: int) -> None:
    """E(1 − q + q·r)^α = Σ C(α, j)·(1−q)^(α−j)·q^j·e^(j(j−1)μ²/2). [MTZ19 Sec. 3.3]"""
    rate = 0.2
    moment = math.fsum(
        math.comb(order, j) * (1 - rate) ** (order - j) * rate**j * math.exp(j * (j - 1) / 2)
        for j in range(order + 1)
    )
    found = SubsampledPair(UNIT_GAUSSIAN, rate).renyi(float(order))
    assert found == pytest.approx(math.log(moment) / (order - 1), rel=1e-14)


@pytest.mark.parametrize("base", [UNIT_GAUSSIAN, LaplacePair(scale=1.0, sensitivity=1.7)])
@pytest.mark.parametrize("order", [1.0, 2.5])
def test_renyi_without_replacement(base: Base, order: float) -> None:
    """By parts over the profile: E_P f(loss) needs no density, only δ on a fine grid of ratios."""
    pair = WithoutReplacementPair(base, 0.3)
    losses = np.linspace(-6.0, 6.0, 6001)
    ratios = np.exp(losses)
    profile = np.array([float(pair.profile_ball(arb(e)).mid()) for e in losses.tolist()])
    slopes = np.diff(profile) / np.diff(ratios)
    masses = np.diff(slopes, prepend=-1.0, append=0.0)  # of the ratio under Q, on nodes
    masses = np.append(masses, 0.0)[: len(ratios)]
    value = float((masses * ratios * (losses if order == 1.0 else ratios ** (order - 1))).sum())
    truth = value if order == 1.0 else math.log(value) / (order - 1)
    assert pair.renyi(order) == pytest.approx(truth, rel=2e-3)


# replace-one: no pair of contributions does worse


@given(
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, math.pi),
    st.floats(0.2, 3.0),
    st.floats(0.01, 0.99),
    st.floats(-2.0, 3.0),
)
def test_no_two_contributions_do_worse_than_opposite_ones(  # noqa: PLR0917  # drawn
    old: float, new: float, angle: float, mu: float, rate: float, epsilon: float
) -> None:
    """The profile of contributions v and w in the plane, by quadrature over the plane."""
    v = mu * old * np.array([1.0, 0.0])
    w = mu * new * np.array([math.cos(angle), math.sin(angle)])
    grid = np.linspace(-8.0, 8.0 + mu, 400)
    x, y = np.meshgrid(grid, grid - mu / 2, indexing="ij")
    base = np.exp(-(x**2 + y**2) / 2) / (2 * math.pi)
    left = (1 - rate) + rate * np.exp(x * v[0] + y * v[1] - v @ v / 2)
    right = (1 - rate) + rate * np.exp(x * w[0] + y * w[1] - w @ w / 2)
    area = (grid[1] - grid[0]) ** 2
    worst = SubsampledPair(GaussianPair.of(sigma=1.0, sensitivity=mu), rate, Mixed.BOTH)
    profile = float((base * np.maximum(left - math.exp(epsilon) * right, 0)).sum() * area)
    assert profile <= float(worst.profile_ball(arb(epsilon))) + 2e-4


@given(
    st.floats(-1.0, 1.0),
    st.floats(-1.0, 1.0),
    st.floats(0.2, 3.0),
    st.floats(0.01, 0.99),
    st.floats(-2.0, 3.0),
)
def test_no_two_contributions_do_worse_under_laplace_noise(
    old: float, new: float, size: float, rate: float, epsilon: float
) -> None:
    z = np.linspace(-25.0, 25.0, 100_001)

    def law(shift: float) -> np.ndarray:
        return ((1 - rate) * np.exp(-np.abs(z)) + rate * np.exp(-np.abs(z - size * shift))) / 2

    excess = np.maximum(law(old) - math.exp(epsilon) * law(new), 0.0)
    worst = SubsampledPair(LaplacePair(scale=1.0, sensitivity=size), rate, Mixed.BOTH)
    profile = float(excess.sum() * (z[1] - z[0]))
    assert profile <= float(worst.profile_ball(arb(epsilon))) + 1e-5


@given(
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.floats(0.2, 3.0),
    st.floats(0.01, 0.99),
    st.floats(0.0, 3.0),
)
def test_no_batch_does_worse_than_the_odd_record_out(
    old: float, share: float, mu: float, rate: float, epsilon: float
) -> None:
    """Contributions v and −w with v + w ≤ μ: all three answers within μ of each other."""
    v, w = mu * old, mu * (1 - old) * share
    z = np.linspace(-12.0, 12.0, 40_001)

    def law(shift: float) -> np.ndarray:
        return (1 - rate) * np.exp(-(z**2) / 2) + rate * np.exp(-((z - shift) ** 2) / 2)

    excess = np.maximum(law(v) - math.exp(epsilon) * law(-w), 0.0) / math.sqrt(2 * math.pi)
    worst = WithoutReplacementPair(GaussianPair.of(sigma=1.0, sensitivity=mu), rate)
    assert float(excess.sum() * (z[1] - z[0])) <= worst.delta(epsilon) + 1e-6


def test_without_replacement_attains_its_profile() -> None:
    pair = WithoutReplacementPair(UNIT_GAUSSIAN, 0.1)
    removed, added = pair.attained
    for epsilon in (0.0, 0.3, 2.0):
        assert pair.delta(epsilon) == removed.delta(epsilon)
    for epsilon in (-0.05, -1.0):
        assert pair.profile_ball(arb(epsilon)).overlaps(added.profile_ball(arb(epsilon)))
    atom = 0.9 * (1 - 2 * ndtr(-0.5))
    assert float(pair.atom_ball()) == pytest.approx(atom, rel=1e-14)


# refusals


def test_a_root_that_is_hit_exactly_is_found() -> None:
    found = falling_root(lambda x: 1 - x, arb(0.5), arb(0), arb(1))
    assert found.overlaps(arb(0.5))
    assert found.rad() < 1e-9


@pytest.mark.parametrize("rate", [-0.1, 1.1, math.nan, "half"])
def test_refuses_rates_that_are_none(rate: object) -> None:
    for kind in (SubsampledPair, WithoutReplacementPair):
        with pytest.raises(InvalidParameter, match="rate="):
            kind(UNIT_GAUSSIAN, rate)  # type: ignore[arg-type]  # the point


def test_refuses_pairs_that_it_cannot_sample() -> None:
    leaky = LeakyResponsePair(ApproxDP(epsilon=1.0))
    for kind in (SubsampledPair, WithoutReplacementPair):
        with pytest.raises(NotSupported, match="Gaussian or Laplace"):
            kind(leaky, 0.1)  # type: ignore[arg-type]  # the point
