"""Absurd parameters: the right limit or an honest bracket, at once, and never a wrong number."""

import math
from typing import Any

import pytest

import dpverify as dpv
from dpverify.accounting.rules.numerical import is_extreme, tamed
from dpverify.guarantees import ApproxDP, End
from dpverify.pairs import GaussianPair, LaplacePair, LeakyResponsePair, Pair
from dpverify.pairs.subsampling.poisson import Mixed, SubsampledPair
from dpverify.pairs.subsampling.without_replacement import WithoutReplacementPair

TINY = GaussianPair.of(sigma=1e-3, sensitivity=1.0)
SHARP = LaplacePair(scale=1e-4, sensitivity=1.0)
EXTREME: list[Pair] = [
    TINY,
    SHARP,
    LeakyResponsePair(ApproxDP(epsilon=900.0, delta=1e-3)),
    SubsampledPair(TINY, 0.1),
    SubsampledPair(TINY, 0.1, Mixed.RIGHT),
    SubsampledPair(TINY, 0.1, Mixed.BOTH),
    SubsampledPair(SHARP, 0.1),
    WithoutReplacementPair(SHARP, 0.1),
]


@pytest.mark.parametrize("pair", EXTREME)
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.2, 3.0, 400.0, 600.0])
def test_replacements_stand_on_either_side(pair: Pair, epsilon: float) -> None:
    assert is_extreme(pair)
    exact = pair.delta_bracket(epsilon)
    assert tamed(pair, End.LOWER).delta_bracket(epsilon).lower <= exact.upper
    assert exact.lower <= tamed(pair, End.UPPER).delta_bracket(epsilon).upper


@pytest.mark.parametrize("end", list(End))
def test_ordinary_pairs_stay_as_they_are(end: End) -> None:
    for pair in (
        GaussianPair.of(sigma=0.1, sensitivity=1.0),
        SubsampledPair(GaussianPair.of(sigma=0.5, sensitivity=1.0), 0.01),
        LeakyResponsePair(ApproxDP(epsilon=math.inf)),
    ):
        assert tamed(pair, end) is pair


def spent(part: object, times: int) -> dpv.Accountant:
    accountant = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE)
    return accountant.compose(part, times=times)  # type: ignore[arg-type]  # any part


def test_noise_that_protects_nothing() -> None:
    accountant = spent(dpv.Subsampled(dpv.Gaussian(sigma=1e-6), rate=0.01), 10)
    found = accountant.epsilon(1e-9)
    assert 1000 < found.lower < found.upper
    assert any("no grid holds" in text for text in found.assumes)
    # The record is in some batch with probability 1 − 0.99^10, about 0.0956.
    leaks = accountant.delta(3.0)
    assert leaks.lower <= 1 - 0.99**10 <= leaks.upper * (1 + 1e-12)
    assert accountant.epsilon(0.1).upper == 0.0


def test_epsilon_beyond_the_grid() -> None:
    found = spent(dpv.Subsampled(dpv.Gaussian(sigma=0.8), rate=0.004), 100).delta(1e4)
    assert found.lower == 0.0
    assert found.upper <= 1e-300


def test_losses_in_the_thousands_add_up() -> None:
    accountant = spent(dpv.PureDP(epsilon=1000.0), 3).compose(dpv.Laplace(scale=1.0))
    found = accountant.epsilon(1e-9)
    assert found.lower <= 3001 <= found.upper * (1 + 1e-12)
    assert accountant.epsilon(0.0).upper == 3001.0


SAMPLED = dpv.Subsampled(dpv.Gaussian(sigma=5.0), rate=0.01)


@pytest.mark.parametrize(
    ("part", "times", "size"),
    [
        (SAMPLED, 10, 10**6),  # nothing is left of the bound's losses but one at infinity
        (dpv.RandomizedResponse(epsilon=1e-300), 3, 2),
        (dpv.Subsampled(dpv.Laplace(scale=100.0, l1_sensitivity=1e9), rate=0.01), 5, 7),
        (dpv.LeakyRandomizedResponse(10.0, 0.5), 10**6, 1),  # 1 − L is no float
        (dpv.LeakyRandomizedResponse(1e12, 1e-100), 10**4, 1),
        (dpv.PureDP(37.0), 10**9, 1),
        (dpv.GaussianDP(1e6), 10**12, 1),
        (dpv.RandomizedResponse(epsilon=1e300, categories=3), 2, 1),
        (dpv.ExponentialMechanism(epsilon=1e-100, score_sensitivity=1.0), 4096, 1),
    ],
)
def test_absurd_parts_have_brackets(part: Any, times: int, size: int) -> None:  # noqa: ANN401
    accountant = spent(part, times).group(size)
    assert accountant.epsilon(1e-6, seconds=5).upper >= 0.0
    assert accountant.delta(1.0, seconds=5).upper <= 1.0
    if times <= 10**6 and size < 10**6:
        rows = accountant.compare(delta=1e-6, seconds=5).rows
        assert max(row.bracket.lower for row in rows) <= min(row.upper for row in rows)


def test_rounding_of_a_leak_next_to_one_is_a_refusal_to_say() -> None:
    """(1 − δ)^k is e^(−693,147): nothing can be promised at δ′ = 0.001."""
    leaky = spent(dpv.LeakyRandomizedResponse(10.0, 0.5), 10**6)
    rows = {row.rule: row.upper for row in leaky.compare(delta=1e-3).rows}
    assert rows["advanced"] == rows["optimal"] == math.inf


def test_wide_discrete_noise_far_out() -> None:
    """At δ = 1e-6, 100 runs of shift 1e-6·σ: of μ = 1e-5, ε is about 1.2e-5 by the Gaussian."""
    found = spent(dpv.DiscreteGaussian(sigma=1e12, sensitivity=10**6), 100).epsilon(1e-6)
    normal = spent(dpv.Gaussian(sigma=1e6), 100).epsilon(1e-6)
    assert found.lower <= normal.upper * (1 + 1e-6)
    assert normal.lower <= found.upper * (1 + 1e-6)


def test_mixtures_far_apart_are_answered() -> None:
    """Shifts of 2e9 standard deviations, whose ratios no float holds."""
    wide = dpv.GaussianMixture(sigma=1e-9, l2_sensitivities=(0.0, 2.0), weights=(0.75, 0.25))
    assert spent(wide, 2).group(7).epsilon(1e-6, seconds=1).upper == math.inf


def test_selected_steps_that_overflow_are_refused() -> None:
    with pytest.raises(dpv.NotSupported, match=r"^selected=1000 must be at most 256 here"):
        dpv.RandomAllocation(dpv.Gaussian(sigma=1.0), steps=1000, selected=1000)
