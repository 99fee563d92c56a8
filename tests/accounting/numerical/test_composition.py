"""Compositions of everything with everything, against sums and integrals spelled out here.

The truth is δ(ε) = Σ P(loss)·δ_G(ε − loss) over the loss of all parts that are not Gaussian, which
is enumerated for discrete parts and integrated by a rule of this file for the others.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import erfcx, ndtr

from dpverify.accounting.numerical import NumericalComposition
from dpverify.accounting.numerical.composition import INSTANCE
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from dpverify.pairs import (
    FinitePair,
    GaussianPair,
    LaplacePair,
    LeakyResponsePair,
    Mixed,
    Pair,
    SubsampledPair,
    WithoutReplacementPair,
)
from dpverify.pairs.base import Pair as BasePair
from tests.accounting.numerical.strategies import (
    finites,
    gaussian,
    laplace,
    noises,
    powers,
    response,
)
from tests.conftest import examples

Law = tuple[Floats, Floats]  # losses, and their masses under P

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def panels(low: float, high: float, count: int) -> Law:
    edges = np.linspace(low, high, count + 1)
    centers, radii = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    points = (centers[:, None] + radii[:, None] * NODES).ravel()
    return points, (radii[:, None] * WEIGHTS).ravel()


def gaussian_profile(epsilon: Floats, mu: float) -> Floats:
    low, high = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    root = math.sqrt(2.0)
    with np.errstate(over="ignore", invalid="ignore"):
        far = 0.5 * np.exp(-low * low / 2) * (erfcx(low / root) - erfcx(high / root))
        near = ndtr(-low) - np.exp(np.minimum(epsilon, 700.0)) * ndtr(-high)
    return np.where(low > 1.0, far, near)


def law_of(pair: Pair) -> Law:
    """Losses and masses of a pair that is not Gaussian, the continuous ones by quadrature."""
    match pair:
        case LeakyResponsePair(worst=worst):
            truth = 1 / (1 + math.exp(-worst.epsilon))
            masses = (1 - worst.delta) * np.array([truth, 1 - truth])
            return np.array([worst.epsilon, -worst.epsilon]), masses
        case FinitePair(left=left, right=right):
            p, q = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
            return np.log(p / q), p
        case LaplacePair():
            return law_of(SubsampledPair(pair, 1.0))
        case SubsampledPair(base=GaussianPair() as base):
            mu = float(base.mu)
            z, w = panels(-11.0, 11.0 + mu, 24)
            up, down = mixtures(pair, np.exp(mu * z - mu * mu / 2), np.exp(-mu * z - mu * mu / 2))
            return np.log(up / down), w * up * np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        case SubsampledPair(base=LaplacePair() as base):
            s = float(base.shift)
            parts = [panels(-s, 0.0, 8), panels(0.0, s, 8)]
            ends = (np.array([-s, s]), np.full(2, math.exp(-s) / 2))
            z = np.concatenate([part[0] for part in parts] + [ends[0]])
            w = np.concatenate([w * np.exp(-np.abs(z)) / 2 for z, w in parts] + [ends[1]])
            ratios = (np.exp(np.clip(sign * 2 * z - s, -s, s)) for sign in (1, -1))
            up, down = mixtures(pair, *ratios)
            return np.log(up / down), w * up
        case _:
            raise TypeError(pair)


def mixtures(pair: SubsampledPair, up: Floats, down: Floats) -> tuple[Floats, Floats]:
    a, b = pair.left_rate, pair.right_rate
    return 1 - a + a * up, 1 - b + b * down


def product(first: Law, second: Law) -> Law:
    losses = np.add.outer(first[0], second[0]).ravel()
    return losses, np.multiply.outer(first[1], second[1]).ravel()


def merged(law: Law) -> Law:
    order = np.argsort(law[0])
    losses, masses = law[0][order], law[1][order]
    starts = np.flatnonzero(np.append(True, np.diff(losses) > 1e-12))
    return losses[starts], np.add.reduceat(masses, starts)


def truth(parts: list[tuple[Pair, int]], epsilon: float) -> float:
    squared_mu, singular = 0.0, 1.0
    law: Law = (np.zeros(1), np.ones(1))
    for pair, times in parts:
        if isinstance(pair, GaussianPair):
            squared_mu += float(pair.squared_mu) * times
            continue
        one = law_of(pair)
        singular *= (1 - pair.singular_mass) ** times
        for _ in range(times):
            law = merged(product(law, one))
    return 1 - singular + float(law[1] @ gaussian_profile(epsilon - law[0], math.sqrt(squared_mu)))


rates = powers(1e-3, 1.0)
discrete = st.one_of(
    st.tuples(
        st.builds(response, powers(0.02, 1.5), st.sampled_from([0.0, 1e-5])), st.integers(1, 9)
    ),
    st.tuples(finites, st.integers(1, 3)),
)
continuous = st.tuples(
    st.one_of(
        st.builds(SubsampledPair, noises, rates, st.sampled_from(Mixed)),
        powers(0.3, 20.0).map(laplace),
    ),
    st.just(1),
)
smooth = st.tuples(powers(0.3, 5.0).map(gaussian), st.integers(1, 5))


@given(
    st.lists(smooth, min_size=1, max_size=2),
    st.lists(discrete, max_size=2),
    st.lists(continuous, max_size=1),
    powers(1e-12, 0.3),
    powers(1e-4, 3e-2),
)
def test_the_truth_lies_between(
    smooth: list[tuple[Pair, int]],
    discrete: list[tuple[Pair, int]],
    continuous: list[tuple[Pair, int]],
    share: float,
    tolerance: float,
) -> None:
    parts = smooth + discrete + continuous
    composition = NumericalComposition(tuple(parts))
    singular = truth(parts, 1e9)
    delta = singular + share * (1 - singular)
    found = composition.epsilon(delta, tolerance=tolerance)
    assert found.width <= tolerance
    assert truth(parts, found.upper) <= delta * (1 + 1e-9)
    if found.lower > 0.0:
        assert truth(parts, found.lower) >= delta * (1 - 1e-9)
    read = composition.delta(found.upper, tolerance=1e-2)
    assert read.lower * (1 - 1e-9) <= truth(parts, found.upper) <= read.upper * (1 + 1e-9)


def test_two_continuous_parts_and_a_gaussian() -> None:
    parts: list[tuple[Pair, int]] = [
        (gaussian(2.0), 1),
        (SubsampledPair(gaussian(0.7), 0.05), 1),
        (SubsampledPair(laplace(0.8), 0.2, Mixed.BOTH), 1),
    ]
    found = NumericalComposition(tuple(parts)).epsilon(1e-7, tolerance=1e-4)
    assert truth(parts, found.upper) <= 1e-7 * (1 + 1e-9)
    assert truth(parts, found.lower) >= 1e-7 * (1 - 1e-9)
    assert found.width <= 1e-4


@given(noises, rates, st.sampled_from(Mixed), powers(1e-60, 0.3))
def test_one_step_is_its_own_closed_form(
    base: GaussianPair | LaplacePair, rate: float, mixed: Mixed, delta: float
) -> None:
    pair = SubsampledPair(base, rate, mixed)
    found = NumericalComposition(((pair, 1),)).epsilon(delta, tolerance=1e-3)
    exact = pair.epsilon_bracket(delta)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert found.width <= 1e-3


@given(noises, rates, powers(1e-9, 0.3))
@settings(max_examples=examples(quick=2, fresh=5), deadline=None)
def test_one_batch_without_replacement(
    base: GaussianPair | LaplacePair, rate: float, delta: float
) -> None:
    pair = WithoutReplacementPair(base, rate)
    found = NumericalComposition(((pair, 1),)).epsilon(delta)
    exact = pair.epsilon_bracket(delta)
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper
    assert INSTANCE in found.assumes


def test_many_batches_lie_between_an_instance_and_a_bound() -> None:
    """The lower end is the odd record out, which is a Poisson sample's removed record."""
    base = gaussian(2.0)
    found = NumericalComposition(((WithoutReplacementPair(base, 0.01), 1000),)).epsilon(1e-5)
    removed = NumericalComposition(((SubsampledPair(base, 0.01), 1000),)).epsilon(1e-5)
    assert found.lower >= removed.lower - 1e-3
    assert found.lower < found.upper < 1.3 * removed.upper


def test_replacing_costs_more_than_removing_and_less_than_both() -> None:
    base = gaussian(0.8)
    removed, added, both = (
        NumericalComposition(((SubsampledPair(base, 0.004, mixed), 10**4),)).epsilon(1e-5)
        for mixed in (Mixed.LEFT, Mixed.RIGHT, Mixed.BOTH)
    )
    assert added.upper < removed.lower < both.lower
    assert both.upper < removed.upper + added.upper


# known traps


def test_a_rare_large_loss_is_inside_the_window() -> None:
    """One step in a hundred thousand is sampled: the normal approximation knows no such loss."""
    pair = SubsampledPair(gaussian(0.5), 1e-5)
    found = NumericalComposition(((pair, 20),)).epsilon(1e-9)
    # 20 steps give away no less than one and no more than 20 times its profile.
    assert pair.epsilon(1e-9) <= found.upper
    assert found.lower <= pair.epsilon(1e-9 / 20) + 1e-3
    assert found.lower >= pair.epsilon(1e-9) - 1e-3
    assert found.width <= 1e-3


@pytest.mark.parametrize("pair", [laplace(5.0), response(0.2), SubsampledPair(gaussian(1.0), 0.05)])
def test_times_counts_for_every_kind(pair: Pair) -> None:
    listed = NumericalComposition(tuple((pair, 1) for _ in range(30))).epsilon(1e-5)
    counted = NumericalComposition(((pair, 30),)).epsilon(1e-5)
    assert listed == counted
    assert counted.lower > NumericalComposition(((pair, 29),)).epsilon(1e-5).upper - 1e-3


@pytest.mark.parametrize("delta", [1e-40, 1e-100, 1e-300])
def test_tiny_deltas_keep_their_relative_accuracy(delta: float) -> None:
    """Many equal Gaussians merge; one unsampled and one all but unsampled part do not."""
    almost = SubsampledPair(gaussian(3.0), 1 - 2.0**-50)
    found = NumericalComposition(((almost, 64),)).epsilon(delta)
    exact = GaussianPair(gaussian(3.0).squared_mu * 64).epsilon_bracket(delta)
    assert found.lower - 1e-9 <= exact.upper
    assert exact.lower - 1e-9 <= found.upper
    assert found.width <= 1e-3


def test_ten_million_runs_stay_small_and_fast() -> None:
    found = NumericalComposition(((SubsampledPair(gaussian(2.0), 4e-4), 10**7),)).epsilon(1e-9)
    assert found.width <= 1e-3
    assert 4.0 < found.lower < 4.03


def test_grids_of_different_fineness_agree() -> None:
    parts = ((SubsampledPair(gaussian(0.6), 0.01), 2500), (laplace(7.0), 30))
    found = [NumericalComposition(parts).epsilon(1e-8, tolerance=t) for t in (0.1, 1e-2, 1e-4)]
    assert max(b.lower for b in found) <= min(b.upper for b in found)


@pytest.mark.parametrize("delta", [0.5, 0.9, 1.0])
def test_epsilon_is_never_negative(delta: float) -> None:
    found = NumericalComposition(((SubsampledPair(gaussian(1.0), 0.1), 10),)).epsilon(delta)
    assert (found.lower, found.upper) == (0.0, 0.0)


# limits


def test_limits() -> None:
    bounded = NumericalComposition(((laplace(2.0), 3), (response(0.25), 2)))
    assert bounded.epsilon(0.0).upper == pytest.approx(2.0, rel=1e-15)
    assert bounded.delta(2.1).upper == 0.0
    assert NumericalComposition(((gaussian(1.0), 2),)).epsilon(0.0).lower == math.inf
    leaky = NumericalComposition(((response(0.1, 1e-3), 10), (gaussian(5.0), 1)))
    assert leaky.epsilon(1e-3).lower == math.inf
    assert leaky.delta(math.inf).upper == pytest.approx(1 - 0.999**10, rel=1e-14)
    assert leaky.epsilon(0.02).upper < math.inf
    revealing = NumericalComposition(((response(math.inf), 1), (gaussian(5.0), 1)))
    assert (revealing.delta(3.0).lower, revealing.epsilon(0.9).lower) == (1.0, math.inf)
    nothing = NumericalComposition(((SubsampledPair(gaussian(1.0), 0.0), 5),))
    assert (nothing.epsilon(1e-9).upper, nothing.delta(0.0).upper) == (0.0, 0.0)


@pytest.mark.slow
def test_a_tolerance_that_cannot_be_met_is_said_so() -> None:
    found = NumericalComposition(((SubsampledPair(gaussian(1.0), 0.01), 10**3),)).epsilon(
        1e-6, tolerance=1e-13
    )
    assert found.width > 1e-13
    assert any("limits the width" in text or "does not narrow" in text for text in found.assumes)


def test_what_is_enough_need_not_be_known_better() -> None:
    composition = NumericalComposition(((SubsampledPair(gaussian(0.8), 0.004), 1000),))
    told: list[str] = []
    composition.epsilon(1e-5, tolerance=1e-9, enough=100.0, progress=told.append)
    assert len(told) == 1
    assert "nodes" in told[0]


class Unknown(BasePair):
    """A pair whose profile is no method."""

    reversed = property(lambda self: self)
    profile_ball = None  # type: ignore[assignment]  # that is the point


def test_refusals() -> None:
    composition = NumericalComposition(((gaussian(1.0), 2),))
    for tolerance in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidParameter, match="tolerance="):
            composition.epsilon(1e-6, tolerance=tolerance)
    for epsilon in (-1.0, math.nan):
        with pytest.raises(InvalidParameter, match="epsilon="):
            composition.delta(epsilon)
    with pytest.raises(InvalidParameter, match="profile_ball=None must be a method"):
        NumericalComposition(((Unknown(), 2),))


def test_nearly_all_in_the_batch_is_nearly_no_sampling() -> None:
    """The atom of the pair is then below what floats tell, and the lower end must not suffer."""
    pair = WithoutReplacementPair(laplace(1.0), 0.9999999999999998)
    found = NumericalComposition(((pair, 1),)).epsilon(math.exp(-2.0), tolerance=0.01)
    truth = 1.0 + 2.0 * math.log(-math.expm1(-2.0))
    assert found.lower <= truth <= found.upper
