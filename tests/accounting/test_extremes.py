"""Absurd parameters: the right limit or an honest bracket, at once, and never a wrong number."""

import math

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
