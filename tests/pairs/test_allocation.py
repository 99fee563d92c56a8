"""Random allocation: quadrature, sampling and identities lie inside both ends."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta

import dpverify as dpv
from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.pairs import GaussianPair, LaplacePair
from dpverify.pairs.subsampling.allocation import AllocationPair

ADD = dpv.Relation.ADD_REMOVE
UNIT = GaussianPair.of(sigma=1.0, sensitivity=1.0)


def mean_over(mu: float, steps: int, x: float) -> float:
    """E((Y₁ + … + Y_t) − x)₊: all ratios but one by the trapezoidal rule, which is spectrally good.

    The integrand is smooth and falls like a normal density; halving the step changes nothing.
    """
    z = np.arange(-14.0, 14.0 + mu, 1.0 / 32.0)
    weights = np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi) / 32.0
    ratios = np.exp(mu * z - mu * mu / 2.0)
    rest: Floats = np.array([x])
    density: Floats = np.array([1.0])
    for _ in range(steps - 1):
        rest = np.subtract.outer(rest, ratios).ravel()
        density = np.multiply.outer(density, weights).ravel()
    positive = np.maximum(rest, 1e-300)
    cut = np.log(positive) / mu + mu / 2.0
    above = np.where(rest > 0.0, ndtr(mu - cut) - positive * ndtr(-cut), 1.0 - rest)
    return float((density * above).sum())


@pytest.mark.sampled(5)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.2])
@pytest.mark.parametrize(("sigma", "steps"), [(0.6, 1), (0.6, 2), (1.0, 3), (3.0, 3)])
def test_few_steps_against_quadrature(sigma: float, steps: int, epsilon: float) -> None:
    mu, x = 1.0 / sigma, math.exp(epsilon)
    pair = AllocationPair(GaussianPair.of(sigma=sigma, sensitivity=1.0), steps)
    removed = mean_over(mu, steps, steps * x) / steps
    found = pair.delta_bracket(epsilon)
    assert found.lower - 1e-9 <= removed <= found.upper + 1e-9
    assert found.width <= 1e-3 * found.upper + 1e-9
    added = 1.0 - x + x * mean_over(mu, steps, steps / x) / steps  # E(1 − xR)₊ from E(R − 1/x)₊
    found = pair.reversed.delta_bracket(epsilon)
    assert found.lower - 1e-9 <= added <= found.upper + 1e-9


@pytest.mark.parametrize("steps", [2, 3, pytest.param(40, marks=pytest.mark.slow)])
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


def bounds(yes: int, no: int, draws: int, x: float) -> tuple[float, float]:
    """P(E) − x·Q(E) by Clopper and Pearson, wrong with probability 2e-9 at most."""
    low = beta.ppf(5e-10, yes, draws - yes + 1) - x * beta.ppf(1.0 - 5e-10, no + 1, draws - no)
    high = beta.ppf(1.0 - 5e-10, yes + 1, draws - yes) - x * beta.ppf(5e-10, no, draws - no + 1)
    return float(low), float(high)


def mean_product(ratios: Floats, selected: int) -> Floats:
    """The mean over all sets of `selected` columns of their product: a symmetric polynomial."""
    sums = [np.ones(len(ratios)), *(np.zeros(len(ratios)) for _ in range(selected))]
    for column in ratios.T:
        for k in range(selected, 0, -1):
            sums[k] = sums[k] + sums[k - 1] * column
    return np.asarray(sums[selected] / math.comb(ratios.shape[1], selected))


def ratios_of(base: GaussianPair | LaplacePair, noise: Floats, sign: int = 1) -> Floats:
    if isinstance(base, GaussianPair):
        mu = sign * float(base.mu)
        return np.asarray(np.exp(mu * noise - mu * mu / 2.0))
    shift = sign * float(base.shift)
    return np.asarray(np.exp(np.abs(noise) - np.abs(noise - shift)))


@pytest.mark.sampled(9)
@pytest.mark.false_alarm(2e-9)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("base", "steps", "selected", "both", "x"),
    [
        (LaplacePair(scale=1.0, sensitivity=1.0), 40, 1, False, 1.03),
        (UNIT, 40, 1, False, 1.1),
        (UNIT, 20, 3, False, 1.5),
        (GaussianPair.of(sigma=2.0, sensitivity=1.0), 20, 1, True, 1.1),
        (LaplacePair(scale=2.0, sensitivity=1.0), 10, 2, True, 1.2),
    ],
)
def test_many_steps_against_draws(  # noqa: PLR0917
    base: GaussianPair | LaplacePair,
    steps: int,
    selected: int,
    both: bool,  # noqa: FBT001
    x: float,
    reverse: bool,  # noqa: FBT001
) -> None:
    """P(R > x) − x·Q(R > x) is the profile; both probabilities by Clopper and Pearson."""
    rng = np.random.default_rng(3)
    draws, shift = 50_000, float(base.mu if isinstance(base, GaussianPair) else base.shift)

    def drawn(moved: float) -> Floats:
        normal = isinstance(base, GaussianPair)
        noise = (rng.standard_normal if normal else rng.laplace)(size=(draws, steps))
        noise[:, :selected] += moved  # by symmetry the record may be in the first steps
        return np.asarray(noise)

    def tells(noise: Floats) -> Floats:
        found = mean_product(ratios_of(base, noise), selected)
        return found / mean_product(ratios_of(base, noise, -1), selected) if both else found

    present, other = tells(drawn(shift)), tells(drawn(-shift if both else 0.0))
    if reverse:
        yes, no = int((other < 1.0 / x).sum()), int((present < 1.0 / x).sum())
    else:
        yes, no = int((present > x).sum()), int((other > x).sum())
    low, high = bounds(yes, no, draws, x)
    pair = AllocationPair(base, steps, selected, both)
    found = (pair.reversed if reverse else pair).delta_bracket(math.log(x))
    assert low <= found.upper
    assert found.lower <= high
    assert 0.004 < found.upper < 0.3


@pytest.mark.parametrize("base", [UNIT, LaplacePair(scale=1.0, sensitivity=0.5)])
def test_all_steps_are_the_mechanism_as_often(base: GaussianPair | LaplacePair) -> None:
    truth = dpv.Accountant(relation=ADD).compose(base, times=3).delta(epsilon=0.5)
    found = AllocationPair(base, 3, 3).delta_bracket(0.5)
    assert found.lower <= truth.upper
    assert truth.lower <= found.upper
    assert found.width < 2e-3


def test_one_step_of_a_replaced_record_is_twice_the_shift() -> None:
    twice = GaussianPair(4 * UNIT.squared_mu)
    assert AllocationPair(UNIT, 1, both=True).simplest == twice
    found = AllocationPair(UNIT, 1, both=True).delta_bracket(0.5)
    assert found.lower <= twice.delta(0.5) <= found.upper
    assert found.width < 1e-2


def test_several_steps_say_what_lies_between() -> None:
    epoch = dpv.RandomAllocation(dpv.Gaussian(sigma=2.0), steps=20, selected=4)
    found = dpv.Accountant(relation=ADD).compose(epoch, times=2).epsilon(delta=1e-5)
    assert found.width <= 0.05 * found.upper
    assert any("in which block of steps" in said for said in found.assumes)
    poisson = dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=0.2)
    other = dpv.Accountant(relation=ADD).compose(poisson, times=40).epsilon(delta=1e-5)
    assert found.upper < other.lower


def test_epochs_compose_to_a_narrow_bracket() -> None:
    epoch = dpv.RandomAllocation(dpv.Gaussian(sigma=1.0), steps=20)
    spent = dpv.Accountant(relation=ADD).compose(epoch, times=5)
    found = spent.epsilon(delta=1e-6)
    assert found.width <= 3e-3
    poisson = dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.05)
    other = dpv.Accountant(relation=ADD).compose(poisson, times=100).epsilon(delta=1e-6)
    assert found.upper < other.upper  # less random, yet no worse than a Poisson sample


def test_it_is_compared_by_every_rule_that_applies() -> None:
    epoch = dpv.RandomAllocation(dpv.Laplace(scale=1.0, l1_sensitivity=1.0), steps=5)
    compared = dpv.Accountant(relation=ADD).compose(epoch, times=3).compare(delta=1e-6)
    answers = {row.rule: row.upper for row in compared.rows}
    assert answers["numerical"] == min(answers.values())
    assert answers["basic"] == pytest.approx(3.0, rel=1e-3)  # a mean is at most its largest term


def test_more_steps_hide_better() -> None:
    deltas = [AllocationPair(UNIT, steps).delta_bracket(0.1) for steps in (1, 2, 4)]
    for few, many in pairwise(deltas):
        assert many.upper < few.lower


def test_refusals() -> None:
    noise = dpv.Gaussian(sigma=1.0)
    with pytest.raises(InvalidParameter, match="selected=True must be"):
        dpv.RandomAllocation(noise, steps=10, selected=True)
    with pytest.raises(InvalidParameter, match="selected=3 must not exceed steps=2"):
        dpv.RandomAllocation(noise, steps=2, selected=3)
    with pytest.raises(InvalidParameter, match="steps=0"):
        dpv.RandomAllocation(noise, steps=0)
    with pytest.raises(NotSupported, match="Gaussian or Laplace"):
        dpv.RandomAllocation(dpv.RandomizedResponse(epsilon=1.0), steps=3)
    with pytest.raises(NotSupported, match="noise"):
        dpv.RandomAllocation(dpv.Gaussian(sigma=0.01), steps=3)
