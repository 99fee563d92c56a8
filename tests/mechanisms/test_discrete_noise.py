"""Discrete Laplace and Gaussian noise: plain sums lie inside the brackets, draws fit the masses."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

import dpverify as dpv
from dpverify.accounting.rules.numerical import tamed
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter
from dpverify.guarantees import End
from dpverify.pairs import DiscreteGaussianPair, DiscreteLaplacePair, FinitePair, Pair

ADD = dpv.Relation.ADD_REMOVE
Agree = Callable[[ArrayLike, ArrayLike, int], None]


def spent(mechanism: Any, times: int = 1) -> dpv.Accountant:  # noqa: ANN401
    return dpv.Accountant(relation=ADD).compose(mechanism, times=times)


def gaussian_weight(k: int, sigma: float) -> mp.mpf:
    return mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(sigma) ** 2))


def laplace_weight(k: int, scale: float) -> mp.mpf:
    return mp.exp(-abs(mp.mpf(k)) / scale)


def profile(weight: Any, scale: float, shift: int, epsilon: float, reach: int) -> mp.mpf:  # noqa: ANN401
    """Σ (P(k) − e^ε·Q(k))₊ over all k that matter, at forty digits."""
    with mp.workdps(40):
        total = mp.fsum(weight(k, scale) for k in range(-reach, reach + 1))
        over = (
            max(weight(k - shift, scale) - mp.exp(epsilon) * weight(k, scale), mp.mpf(0))
            for k in range(-reach, reach + shift + 1)
        )
        return mp.fsum(over) / total


def test_a_table_by_hand() -> None:
    """a = 1/2: P(0) = 1/3, and a shift of 1 has loss ±ln 2 with masses 2/3 and 1/3."""
    pair = DiscreteLaplacePair(scale=1.0 / math.log(2.0), shift=1)
    assert pair.delta(0.0) == pytest.approx(1.0 / 3.0, rel=1e-14)
    assert pair.max_loss == pytest.approx(math.log(2.0), rel=1e-15)
    # θ = 1 + 2·(e^(−1/2) + e^(−2) + …) for σ = 1; at ε = 0 the event is k ≥ 1: P − Q = P(Z = 0).
    total = 1.0 + 2.0 * sum(math.exp(-(k**2) / 2.0) for k in range(1, 40))
    assert DiscreteGaussianPair(sigma=1.0, shift=1).delta(0.0) == pytest.approx(1.0 / total)


@pytest.mark.parametrize(("scale", "shift"), [(0.5, 2), (1.0, 1), (3.3, 4), (12.0, 5)])
@pytest.mark.parametrize("epsilon", [0.0, 0.31, 2.0])
def test_profiles_against_plain_sums(scale: float, shift: int, epsilon: float) -> None:
    kinds: list[tuple[Pair, Any, int]] = [
        (DiscreteGaussianPair(sigma=scale, shift=shift), gaussian_weight, int(14 * scale) + 20),
        (DiscreteLaplacePair(scale=scale, shift=shift), laplace_weight, int(95 * scale) + 20),
    ]
    for pair, weight, reach in kinds:
        truth = profile(weight, scale, shift, epsilon, reach)
        found = pair.delta_bracket(epsilon)
        slack = 1e-35
        assert found.lower - slack <= truth <= found.upper + slack
        assert found.width <= 1e-15 * found.upper


def finite(weight: Any, scale: float, shift: int, reach: int) -> FinitePair:  # noqa: ANN401
    """The pair between ±reach with rational masses, ends merged; rounded by less than 1e-39."""
    unit = 10**40
    with mp.workdps(60):
        far = range(-reach - 200, reach + shift + 201)
        total = mp.fsum(weight(k, scale) for k in far)

        def law(center: int) -> list[Fraction]:
            ends = (mp.fsum(weight(k - center, scale) for k in far if k <= -reach) / total,)
            inside = (weight(k - center, scale) / total for k in range(1 - reach, reach + shift))
            masses = [int(mp.nint(mass * unit)) for mass in (*ends, *inside)]
            return [Fraction(mass, unit) for mass in (*masses, unit - sum(masses))]

        return FinitePair(left=law(shift), right=law(0))


@pytest.mark.parametrize(("scale", "shift", "times"), [(0.8, 1, 2), (1.0, 2, 2)])
def test_compositions_against_products_of_rationals(scale: float, shift: int, times: int) -> None:
    kinds: list[tuple[Any, Any, int]] = [
        (dpv.DiscreteGaussian(sigma=scale, sensitivity=shift), gaussian_weight, 10),
        (dpv.DiscreteLaplace(scale=scale, sensitivity=shift), laplace_weight, 0),
    ]
    for mechanism, weight, reach in kinds:
        truth = finite(weight, scale, shift, reach).power(times)
        for epsilon in (0.25, 1.5):
            exact = truth.delta_bracket(epsilon)
            found = spent(mechanism, times).delta(epsilon, tolerance=1e-6)
            assert found.lower <= exact.upper + 1e-18
            assert exact.lower <= found.upper + 1e-18
            assert found.width <= 1e-6 * found.upper


def test_brackets_under_composition_are_narrow() -> None:
    found = spent(dpv.DiscreteGaussian(sigma=1000.0), times=10_000).epsilon(delta=1e-6)
    smooth = spent(dpv.Gaussian(sigma=1000.0), times=10_000).epsilon(delta=1e-6)
    assert found.width <= 1e-3
    assert found.lower <= smooth.upper * 1.001
    assert smooth.lower * 0.999 <= found.upper
    few = spent(dpv.DiscreteGaussian(sigma=3.0), times=10).epsilon(delta=1e-6)
    assert 5.1907 < few.lower <= few.upper < 5.1908  # more than the 5.1890 of the Gaussian
    assert spent(dpv.DiscreteLaplace(scale=50.0, sensitivity=3), 100).epsilon(1e-6).width < 1e-6


def test_wide_noise_is_composed_by_its_profile() -> None:
    found = spent(dpv.DiscreteGaussian(sigma=2.0**20, sensitivity=2**19), 1).epsilon(delta=1e-6)
    smooth = spent(dpv.Gaussian(sigma=2.0), 1).epsilon(delta=1e-6)
    assert found.upper == pytest.approx(smooth.upper, rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.3, 40.0), st.integers(1, 6), st.floats(0.0, 3.0))
def test_shifts_rise_and_the_claim_holds(scale: float, shift: int, epsilon: float) -> None:
    for kind, name in ((DiscreteGaussianPair, "sigma"), (DiscreteLaplacePair, "scale")):
        small, large = (kind(**{name: scale}, shift=s) for s in (shift, shift + 1))
        assert small.delta_bracket(epsilon).lower <= large.delta_bracket(epsilon).upper
    laplace = dpv.DiscreteLaplace(scale=scale, sensitivity=shift)
    assert laplace.pair(ADD).delta(float(laplace.claim.guarantee.epsilon)) == 0.0  # type: ignore[union-attr]


def test_renyi_divergences() -> None:
    """Against sums: exact for whole orders, and for the discrete Laplace at any order."""
    with mp.workdps(30):
        for order in (2, 3.5):
            for shift in (1, 3):
                masses = [
                    (laplace_weight(k - shift, 1.7), laplace_weight(k, 1.7))
                    for k in range(-150, 151)
                ]
                total = mp.fsum(q for _, q in masses)
                moment = mp.fsum((p / q) ** (order - 1) * p for p, q in masses) / total
                truth = float(mp.log(moment) / (order - 1))
                found = DiscreteLaplacePair(scale=1.7, shift=shift).renyi(order)
                assert found == pytest.approx(truth, rel=1e-12)
    assert DiscreteGaussianPair(sigma=2.0, shift=3).renyi(4.0) == 4.0 * 9.0 / 8.0
    near = DiscreteLaplacePair(scale=1.7, shift=3)
    assert near.renyi(1.0) == pytest.approx(near.renyi(1.0 + 1e-7), rel=1e-5)


@pytest.mark.false_alarm(8e-9)
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5, 30.0])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_draws_fit_the_masses(
    kind: str, scale: float, rng: np.random.Generator, agree: Agree
) -> None:
    noise: Any = (
        dpv.DiscreteGaussian(sigma=scale)
        if kind == "gaussian"
        else dpv.DiscreteLaplace(scale=scale)
    )
    draws = noise.sample(7, size=100_000, rng=rng)
    values = np.arange(7 - 4, 7 + 5)
    counts = [(draws == value).sum() for value in values]
    masses = np.exp(noise.log_density(values, 7))
    agree([*counts, draws.size - sum(counts)], [*masses, 1.0 - masses.sum()], draws.size)


def test_densities_and_huge_answers(rng: np.random.Generator) -> None:
    noise = dpv.DiscreteGaussian(sigma=2.0)
    assert noise.log_density([0.5, 1.0], 0)[0] == -math.inf
    for kind in (dpv.DiscreteGaussian(sigma=1.0), dpv.DiscreteLaplace(scale=1.0)):
        far = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max])
        assert np.abs(kind.sample(far, 3, rng=rng) - [-(2**61), 2**61]).max() < 100
        assert kind.sample(np.uint64(2**64 - 1), 1, rng=rng)[0] > 2**60


def test_extremes_are_bounded_from_both_sides() -> None:
    for pair in (
        DiscreteLaplacePair(scale=1e-3, shift=10**6),
        DiscreteGaussianPair(sigma=1e-3, shift=1),
    ):
        assert tamed(pair, End.UPPER).max_loss == 0.0  # gives itself away
        found = spent(pair, 3).epsilon(delta=1e-6)
        assert found.lower > 70.0
        lower = tamed(pair, End.LOWER)
        assert lower.delta(1.0) <= pair.delta(1.0)


def test_expression_and_calibration() -> None:
    parsed = parse("discrete_gaussian(sigma=3, sensitivity=2)*10 + discrete_laplace(scale=4)")
    expected: list[tuple[Any, int]] = [
        (dpv.DiscreteGaussian(sigma=3, sensitivity=2), 10),
        (dpv.DiscreteLaplace(scale=4), 1),
    ]
    assert parsed == expected
    budget = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
    sigma = dpv.calibrate(
        lambda s: dpv.DiscreteGaussian(sigma=s), budget=budget, relation=ADD, times=10
    )
    assert sigma == pytest.approx(13.36, rel=2e-3)  # that of the Gaussian
    scale = dpv.calibrate(
        lambda s: dpv.DiscreteLaplace(scale=s), budget=dpv.PureDP(epsilon=0.5), relation=ADD
    )
    assert scale == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("data", [0.5, [1.0], "1", None, True, [10**30], 1j])
def test_answers_that_are_not_whole_are_refused(data: Any, rng: np.random.Generator) -> None:  # noqa: ANN401
    for noise in (dpv.DiscreteGaussian(sigma=1.0), dpv.DiscreteLaplace(scale=1.0)):
        with pytest.raises(InvalidParameter, match=r"^data=.* must be whole numbers"):
            noise.sample(data, 1, rng=rng)
        with pytest.raises(InvalidParameter, match="must not be empty"):
            noise.sample(np.array([], dtype=int), 1, rng=rng)


@pytest.mark.parametrize("value", [0, -1, 1.5, math.nan, math.inf, "1", None, True, 10**400])
def test_parameters_are_refused(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=r"^sensitivity=.* must"):
        dpv.DiscreteGaussian(sigma=1.0, sensitivity=value)
    with pytest.raises(InvalidParameter, match=r"^sensitivity=.* must"):
        dpv.DiscreteLaplace(scale=1.0, sensitivity=value)
    if value != 1.5:
        for make in (
            lambda: dpv.DiscreteGaussian(sigma=value),
            lambda: dpv.DiscreteLaplace(scale=value),
        ):
            with pytest.raises(InvalidParameter, match=r"^(sigma|scale)=.* must"):
                make()


def test_scales_out_of_reach_are_refused() -> None:
    for scale in (1e-4, 1e17, 5e-324):
        with pytest.raises(InvalidParameter, match=r"must lie in \[0.001, 4.5036e\+15\]"):
            dpv.DiscreteGaussian(sigma=scale)
