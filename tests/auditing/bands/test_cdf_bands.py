"""Bands for distribution functions: their coverage, computed; their tails, sharper than DKW's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, ksone

from dpverify.auditing.bands.cdf_bands import TailLimits, count_limits, coverage, missed
from dpverify.errors import InvalidParameter


@pytest.mark.parametrize(
    ("draws", "at", "low", "high", "expected"),
    [
        (2, [0.5], [1], [2], 3 / 4),
        (2, [0.5], [1], [1], 1 / 2),
        (2, [0.25, 0.5], [0, 1], [0, 2], (3 / 4) ** 2 - (1 / 2) ** 2),  # none below, one between
        (3, [0.5], [0], [3], 1.0),
        (3, [0.5], [2], [1], 0.0),
    ],
)
def test_coverage_by_hand(
    draws: int, at: list[float], low: list[int], high: list[int], expected: float
) -> None:
    found = coverage(draws, np.array(at), np.array(low), np.array(high))
    assert found == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 2000), st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1))
def test_one_point_is_binomial(draws: int, t: float, a: float, b: float) -> None:
    low, high = sorted((round(a * draws), round(b * draws)))
    found = coverage(draws, np.array([t]), np.array([low]), np.array([high]))
    exact = binom.cdf(high, draws, t) - binom.cdf(low - 1, draws, t)
    assert found == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("draws", [5, 50])
def test_one_sided_kolmogorov_is_recovered(draws: int) -> None:
    """The k-th smallest draw is at least k/n − d for all k: Birnbaum and Tingey's exact law."""
    d = 0.25
    k = np.arange(math.floor(draws * d) + 1, draws + 1)
    found = coverage(draws, k / draws - d, np.zeros_like(k), k - 1)
    assert found == pytest.approx(ksone.cdf(d, draws), abs=1e-9)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("draws", [1, 2, 30, 1000, 20_000])
@pytest.mark.parametrize("level", [0.2, 0.05, 1e-9])
def test_chosen_limits_cover(draws: int, level: float) -> None:
    found = count_limits(draws, level)
    chance = missed(draws, found.at, found.low, found.high)
    assert chance <= level
    if draws >= 1000:
        assert chance > 0.9 * level  # not merely cautious
    assert (np.diff(found.low) >= 0).all()
    assert (found.low <= found.high).all()


def test_tails_are_sharper_than_dvoretzky_kiefer_wolfowitz() -> None:
    draws, level = 5_000, 0.05
    massart = math.sqrt(math.log(2 / level) / (2 * draws))
    found = count_limits(draws, level)
    width = (found.high - found.low) / (2 * draws)
    assert width[found.at < 0.01].max() < massart / 3
    assert width.max() < 1.3 * massart  # the price, in the middle


@pytest.mark.false_alarm(1e-9)
@pytest.mark.parametrize("kind", ["continuous", "atoms", "infinite"])
def test_simulated_coverage(kind: str) -> None:
    rng, level, runs, draws = np.random.default_rng(7), 0.1, 400, 120
    failures = 0
    x = np.linspace(-3, 3, 61)
    for _ in range(runs):
        values = rng.normal(size=draws)
        if kind == "atoms":
            values = np.round(values)
        if kind == "infinite":
            values = np.where(values > 1.0, np.inf, -np.inf)
        low, high = TailLimits.of(values, level).at_least(x)
        truth = survival(kind, x)
        failures += bool(((truth < low - 1e-12) | (truth > high + 1e-12)).any())
    assert failures <= binom.isf(3e-10, runs, level)


def survival(kind: str, x: np.ndarray) -> np.ndarray:
    """P(S ≥ x)."""
    normal = np.vectorize(lambda y: math.erfc(y / math.sqrt(2)) / 2)
    match kind:
        case "atoms":
            return np.asarray(normal(np.ceil(x) - 0.5))
        case "infinite":
            return np.full_like(x, normal(1.0))
        case _:
            return np.asarray(normal(x))


@pytest.mark.parametrize(("draws", "level"), [(0, 0.05), (10, 0.0), (10, 0.9), (10, math.nan)])
def test_refuses_nonsense(draws: int, level: float) -> None:
    with pytest.raises(InvalidParameter, match="must"):
        count_limits(draws, level)
