"""The numerical accountant on random compositions: the truth, found another way, lies inside.

Over 200 configurations are drawn. A bracket that misses the truth once is a defect.
"""

import math

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import dpverify as dpv
from dpverify.accounting.numerical import NumericalComposition
from dpverify.accounting.rules.optimal import OptimalComposition
from dpverify.accounting.rules.unequal import UnequalComposition
from dpverify.guarantees import ApproxDP, Bracket
from dpverify.pairs import FinitePair, GaussianPair, LaplacePair, LeakyResponsePair, Pair
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from tests.conftest import examples

deltas = st.sampled_from([0.1, 1e-3, 1e-6, 1e-10, 1e-20, 1e-60, 1e-150])
sigmas = st.floats(0.4, 30.0)
rates = st.floats(1e-4, 0.9)


def meet(found: Bracket, truth: Bracket) -> bool:
    """Whether two brackets of one number have a number in common."""
    return found.lower <= truth.upper and truth.lower <= found.upper


def gaussian(sigma: float) -> GaussianPair:
    return GaussianPair.of(sigma=sigma, sensitivity=1.0)


def profile(pair: Pair, epsilon: float) -> float:
    """The exact profile at any real ε, negative ones too."""
    return float(pair.profile_ball(arb(epsilon)).mid())


# closed forms


@given(st.lists(st.tuples(sigmas, st.integers(1, 3000)), min_size=1, max_size=3), deltas)
def test_gaussians(listed: list[tuple[float, int]], delta: float) -> None:
    parts = tuple((gaussian(sigma), times) for sigma, times in listed)
    total = GaussianPair(sum(pair.squared_mu * times for pair, times in parts))  # type: ignore[arg-type]  # a Fraction
    truth = total.epsilon_bracket(delta)
    if truth.upper > 500:
        return
    found = NumericalComposition(parts).epsilon(delta, tolerance=1e-2)
    assert meet(found, truth)
    assert found.width <= 1e-2


@given(st.floats(1e-3, 3.0), st.sampled_from([0.0, 1e-12, 1e-3]), st.integers(1, 400), deltas)
def test_leaky_responses(own: float, leak: float, times: int, delta: float) -> None:
    worst = ApproxDP(epsilon=own, delta=leak)
    truth = OptimalComposition(worst, times).epsilon(delta)
    found = NumericalComposition(((LeakyResponsePair(worst), times),)).epsilon(delta)
    assert meet(found, truth)
    assert found.width <= 1e-3


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=12), deltas)
@settings(max_examples=12, deadline=None)
def test_unequal_responses(own: list[float], delta: float) -> None:
    parts = tuple((ApproxDP(epsilon=e), 1) for e in own)
    truth = UnequalComposition(parts).epsilon(delta)
    found = NumericalComposition(tuple((LeakyResponsePair(p), k) for p, k in parts)).epsilon(delta)
    assert meet(found, truth)


bases = sigmas.map(gaussian) | sigmas.map(lambda s: LaplacePair(scale=s, sensitivity=1.0))


@pytest.mark.slow
@given(st.builds(SubsampledPair, bases, rates, st.sampled_from(Mixed)), deltas, st.floats(0.0, 5.0))
@settings(max_examples=examples(quick=2, fresh=2), deadline=None)
def test_one_subsampled_step(pair: SubsampledPair, delta: float, at: float) -> None:
    one = NumericalComposition(((pair, 1),))
    assert meet(one.epsilon(delta), pair.epsilon_bracket(delta))
    assert meet(one.delta(at), pair.delta_bracket(at))


# sums and integrals


@given(st.floats(0.4, 8.0), st.floats(0.01, 2.0), st.integers(1, 30), st.floats(0.0, 4.0))
@settings(max_examples=12, deadline=None)
def test_gaussian_with_responses(sigma: float, own: float, times: int, at: float) -> None:
    check_gaussian_with_responses(sigma, own, times, at)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "own", "times", "at"), [(29.6, 1.83, 10, 0.0), (17.0, 0.61, 25, 0.05)]
)
def test_a_faint_gaussian_with_responses(sigma: float, own: float, times: int, at: float) -> None:
    """Little noise beside large atoms takes a fine grid, and half a minute."""
    check_gaussian_with_responses(sigma, own, times, at)


def check_gaussian_with_responses(sigma: float, own: float, times: int, at: float) -> None:
    """The responses' loss is binomial: δ(ε) = Σ P(j)·δ_G(ε − (2j − k)·ε₀), a finite sum."""
    truthful = 1 / (1 + math.exp(-own))
    total = math.fsum(
        math.comb(times, j)
        * truthful**j
        * (1 - truthful) ** (times - j)
        * profile(gaussian(sigma), at - (2 * j - times) * own)
        for j in range(times + 1)
    )
    parts = ((gaussian(sigma), 1), (LeakyResponsePair(ApproxDP(epsilon=own)), times))
    found = NumericalComposition(parts).delta(at)
    assert found.lower <= total * (1 + 1e-11)
    assert total * (1 - 1e-11) <= found.upper
    assert found.width <= 1e-3 * found.upper or found.upper <= 1e-300


@pytest.mark.slow
@given(st.floats(0.5, 5.0), rates, st.booleans(), st.floats(0.0, 2.0))
@settings(max_examples=2, deadline=None)
def test_two_subsampled_steps(sigma: float, rate: float, added: bool, at: float) -> None:  # noqa: FBT001
    """δ of two steps is the mean of the second one's profile at ε minus the first one's loss."""
    pair = SubsampledPair(gaussian(sigma), rate)
    pair = pair.reversed if added else pair
    mu = 1 / sigma

    def density(z: float, shift: float) -> float:
        return math.exp(-((z - shift) ** 2) / 2) / math.sqrt(2 * math.pi)

    def integrand(z: float) -> float:
        mixed = (1 - rate) * density(z, 0.0) + rate * density(z, mu)
        loss = math.log1p(rate * math.expm1(mu * z - mu * mu / 2))
        weight, loss = (density(z, 0.0), -loss) if added else (mixed, loss)
        return weight * profile(pair, at - loss)

    total = sum(
        quad(integrand, low, low + 2, epsabs=0.0, epsrel=1e-9, limit=200)[0]
        for low in range(-14, 16, 2)
    )
    found = NumericalComposition(((pair, 2),)).delta(at)
    assert found.lower <= total * (1 + 1e-8) + 1e-40
    assert total * (1 - 1e-8) - 1e-40 <= found.upper


@given(st.lists(st.integers(1, 20), min_size=2, max_size=4), st.integers(1, 6), st.floats(0.0, 3.0))
@settings(max_examples=10, deadline=None)
def test_finite_pairs(weights: list[int], times: int, at: float) -> None:
    """Reversed weights on the other side; the product is enumerated exactly."""
    total = sum(weights)
    left = [w / total for w in weights]
    pair = FinitePair(left=left, right=left[::-1])
    truth = pair.exact.power(times).delta_bracket(at)
    found = NumericalComposition(((pair, times),)).delta(at)
    assert meet(found, truth)


# published truths and known traps


@pytest.mark.parametrize(
    ("sigma", "rate", "times", "delta", "truth"),
    [
        (0.8, 0.004, 10_000, 1e-5, 3.534821293),
        (0.8, 0.004, 10_000, 1e-15, 8.099549016),
        (1.0, 0.001, 1_000_000, 1e-6, 6.694272656),
        (0.6, 0.01, 2500, 1e-8, 15.56617246),
        (0.6, 0.01, 2500, 1e-20, 31.08069278),
    ],
)
def test_truths_by_contour_integration(
    sigma: float, rate: float, times: int, delta: float, truth: float
) -> None:
    """Truths: two contours at high precision, agreeing to 1e-9 (benchmarks/truth.py)."""
    step = dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=rate)
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(step, times=times)
    found = accountant.epsilon(delta)
    assert found.lower - 1e-8 <= truth <= found.upper + 1e-8
    assert found.width <= 1e-3


def test_a_finer_bracket_lies_within_a_coarser_one() -> None:
    """Where a finer grid gives a smaller ε than a coarse grid's lower end, digits were lost."""
    parts = ((SubsampledPair(gaussian(0.8), 0.004), 10_000),)
    coarse, fine = (NumericalComposition(parts).epsilon(1e-5, tolerance=t) for t in (0.1, 1e-5))
    assert coarse.lower <= fine.lower <= fine.upper <= coarse.upper
    assert fine.width <= 1e-5


def test_large_delta_is_never_a_negative_epsilon() -> None:
    parts = ((SubsampledPair(gaussian(0.8), 0.004), 100),)
    found = NumericalComposition(parts).epsilon(0.5)
    assert (found.lower, found.upper) == (0.0, 0.0)


def test_ten_million_steps() -> None:
    parts = ((SubsampledPair(gaussian(1.0), 0.0003), 10**7),)
    found = NumericalComposition(parts).epsilon(1e-9, tolerance=1e-2)
    assert 7 < found.lower < found.upper < 9
    assert found.width <= 1e-2


def test_composing_n_then_m_is_n_plus_m() -> None:
    pair = LaplacePair(scale=5.0, sensitivity=1.0)
    split = NumericalComposition(((pair, 7), (pair, 13))).epsilon(1e-6)
    assert meet(split, NumericalComposition(((pair, 20),)).epsilon(1e-6))


def test_the_assumption_is_stated() -> None:
    found = NumericalComposition(((gaussian(5.0), 10),)).epsilon(1e-6)
    assert any("FFT" in text for text in found.assumes)


def test_singular_mass_beyond_delta_is_infinite() -> None:
    parts = ((gaussian(5.0), 10), (LeakyResponsePair(ApproxDP(epsilon=0.1, delta=1e-3)), 5))
    found = NumericalComposition(parts).epsilon(1e-4)
    assert (found.lower, found.upper) == (math.inf, math.inf)


@pytest.mark.parametrize("bad", [math.nan, -1.0, 1.5, "x"])
def test_refuses_bad_delta(bad: object) -> None:
    with pytest.raises(dpv.InvalidParameter, match="delta="):
        NumericalComposition(((gaussian(5.0), 10),)).epsilon(bad)  # type: ignore[arg-type]  # the point


def test_refuses_what_is_no_composition() -> None:
    with pytest.raises(dpv.InvalidParameter, match="must not be empty"):
        NumericalComposition(())
    with pytest.raises(dpv.InvalidParameter, match="must be a pair"):
        NumericalComposition((("gaussian", 1),))  # type: ignore[arg-type]  # the point
    with pytest.raises(dpv.InvalidParameter, match="times"):
        NumericalComposition(((gaussian(5.0), 0),))
