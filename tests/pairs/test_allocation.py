"""Random allocation: quadrature, sampling and identities lie inside both ends."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import beta

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.pairs import GaussianPair, LaplacePair
from dpverify.pairs.subsampling.allocation import AllocationPair

ADD = dpv.Relation.ADD_REMOVE
UNIT = GaussianPair.of(sigma=1.0, sensitivity=1.0)


def normal_density(z: float) -> float:
    return math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)


def over(mu: float, x: float) -> float:
    """E(Y − x)₊ for the ratio Y of N(μ, 1) against N(0, 1)."""
    if x <= 0.0:
        return 1.0 - x
    cut = math.log(x) / mu + mu / 2.0
    return float(ndtr(mu - cut) - x * ndtr(-cut))


def mean_over(mu: float, steps: int, x: float) -> float:
    """E((Y₁ + … + Y_t) − x)₊ by integrating out one ratio after the other."""
    if x <= 0.0:
        return steps - x
    if steps == 1:
        return over(mu, x)

    def inner(z: float) -> float:
        return normal_density(z) * mean_over(mu, steps - 1, x - math.exp(mu * z - mu * mu / 2.0))

    kink = math.log(x) / mu + mu / 2.0  # where one ratio alone reaches x
    tight = 1e-12 if steps == 2 else 1e-9
    parts = [(-12.0, kink - 2.0), (kink - 2.0, kink), (kink, kink + 12.0)]
    return sum(quad(inner, low, high, epsabs=tight, limit=200)[0] for low, high in parts)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.2])
@pytest.mark.parametrize("sigma", [0.6, 1.0, 3.0])
def test_two_steps_against_quadrature(sigma: float, epsilon: float) -> None:
    mu, x = 1.0 / sigma, math.exp(epsilon)
    pair = AllocationPair(GaussianPair.of(sigma=sigma, sensitivity=1.0), 2)
    removed = mean_over(mu, 2, 2.0 * x) / 2.0
    found = pair.delta_bracket(epsilon)
    assert found.lower - 1e-11 <= removed <= found.upper + 1e-11
    assert found.width <= 1e-3 * found.upper
    added = 1.0 - x + x * mean_over(mu, 2, 2.0 / x) / 2.0  # E(1 − xR)₊ from E(R − 1/x)₊
    found = pair.reversed.delta_bracket(epsilon)
    assert found.lower - 1e-11 <= added <= found.upper + 1e-11


@pytest.mark.slow
def test_three_steps_against_quadrature() -> None:
    found = AllocationPair(UNIT, 3).delta_bracket(0.4)
    truth = mean_over(1.0, 3, 3.0 * math.exp(0.4)) / 3.0
    assert found.lower - 1e-8 <= truth <= found.upper + 1e-8
    assert found.width <= 1e-3 * found.upper


@pytest.mark.parametrize("steps", [2, 3, 100])
def test_bounded_losses_stay_bounded(steps: int) -> None:
    base = LaplacePair(scale=1.0, sensitivity=1.0)
    for side in (AllocationPair(base, steps), AllocationPair(base, steps).reversed):
        assert side.singular_mass < 1e-14
        assert side.upper.max_loss == pytest.approx(1.0, rel=1e-12) or steps > 3
        assert side.epsilon_bracket(1e-6).upper <= 1.0


@pytest.mark.parametrize("base", [UNIT, LaplacePair(scale=1.0, sensitivity=1.3)])
def test_one_step_is_the_mechanism(base: GaussianPair | LaplacePair) -> None:
    pair = AllocationPair(base, 1)
    assert pair.simplest is base
    for epsilon in (0.0, 0.2, 1.0):
        found = pair.delta_bracket(epsilon)
        assert found.lower <= base.delta(epsilon) <= found.upper
        assert found.width < 1e-4


@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_hundred_steps_of_laplace_noise_against_draws(reverse: bool) -> None:  # noqa: FBT001
    """P(R > x) − x·Q(R > x) is the profile; both probabilities by Clopper and Pearson."""
    rng = np.random.default_rng(3)
    draws, steps, shift, x = 200_000, 100, 1.0, 1.03

    def ratios(noise: Floats) -> Floats:
        losses = np.abs(noise) - np.abs(noise - shift)
        return np.asarray(np.exp(losses).mean(axis=1))

    blank = np.concatenate([ratios(rng.laplace(size=(draws // 10, steps))) for _ in range(10)])
    held = []
    for _ in range(10):
        noise = rng.laplace(size=(draws // 10, steps))
        noise[:, 0] += shift  # by symmetry the record may be in the first step
        held.append(ratios(noise))
    present = np.concatenate(held)
    if reverse:
        yes, no = int((blank < 1.0 / x).sum()), int((present < 1.0 / x).sum())
    else:
        yes, no = int((present > x).sum()), int((blank > x).sum())
    low = beta.ppf(5e-10, yes, draws - yes + 1) - x * beta.ppf(1.0 - 5e-10, no + 1, draws - no)
    high = beta.ppf(1.0 - 5e-10, yes + 1, draws - yes) - x * beta.ppf(5e-10, no, draws - no + 1)
    pair = AllocationPair(LaplacePair(scale=1.0, sensitivity=1.0), steps)
    found = (pair.reversed if reverse else pair).delta_bracket(math.log(x))
    assert low <= found.upper
    assert found.lower <= high
    assert 0.005 < found.upper < 0.1


def test_epochs_compose_to_a_narrow_bracket() -> None:
    epoch = dpv.RandomAllocation(dpv.Gaussian(sigma=1.0), steps=100)
    spent = dpv.Accountant(relation=ADD).compose(epoch, times=10)
    found = spent.epsilon(delta=1e-6)
    assert found.width <= 3e-3
    poisson = dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.01)
    other = dpv.Accountant(relation=ADD).compose(poisson, times=1000).epsilon(delta=1e-6)
    assert found.upper < other.upper  # less random, yet no worse than a Poisson sample


def test_it_is_compared_by_every_rule_that_applies() -> None:
    epoch = dpv.RandomAllocation(dpv.Laplace(scale=1.0, l1_sensitivity=1.0), steps=5)
    compared = dpv.Accountant(relation=ADD).compose(epoch, times=3).compare(delta=1e-6)
    answers = {row.rule: row.upper for row in compared.rows}
    assert answers["numerical"] == min(answers.values())
    assert answers["basic"] == pytest.approx(3.0, rel=1e-3)  # a mean is at most its largest term


def test_more_steps_hide_better() -> None:
    deltas = [AllocationPair(UNIT, steps).delta_bracket(0.1) for steps in (1, 2, 8)]
    for few, many in pairwise(deltas):
        assert many.upper < few.lower


def test_refusals() -> None:
    noise = dpv.Gaussian(sigma=1.0)
    with pytest.raises(NotSupported, match="replaced"):
        dpv.RandomAllocation(noise, steps=10).pair(dpv.Relation.REPLACE_ONE)
    with pytest.raises(NotSupported, match="selected=2 must be 1"):
        dpv.RandomAllocation(noise, steps=10, selected=2)
    with pytest.raises(InvalidParameter, match="selected=3 must not exceed steps=2"):
        dpv.RandomAllocation(noise, steps=2, selected=3)
    with pytest.raises(InvalidParameter, match="steps=0"):
        dpv.RandomAllocation(noise, steps=0)
    with pytest.raises(NotSupported, match="Gaussian or Laplace"):
        dpv.RandomAllocation(dpv.RandomizedResponse(epsilon=1.0), steps=3)
    with pytest.raises(NotSupported, match="noise"):
        dpv.RandomAllocation(dpv.Gaussian(sigma=0.01), steps=3)
