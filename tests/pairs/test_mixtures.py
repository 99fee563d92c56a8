"""Mixtures of Gaussians: quadrature and Poisson samples lie inside both ends."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import dpverify as dpv
from dpverify.cli.expression import parse
from dpverify.errors import InvalidParameter, NotSupported
from dpverify.pairs import GaussianPair, Mixed, SubsampledPair
from dpverify.pairs.subsampling.mixtures import GaussianMixturePair
from tests.conftest import examples

ADD = dpv.Relation.ADD_REMOVE
USER = GaussianMixturePair((0.0, 1.0, 2.0), (0.81, 0.18, 0.01))


def integrated(pair: GaussianMixturePair, epsilon: float, *, reverse: bool) -> float:
    """∫ (p − e^ε·q)₊ by quadrature in two dimensions' worth of care: split where the sign turns."""

    def densities(z: float) -> tuple[float, float]:
        q = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
        p = sum(
            float(w) * math.exp(-((z - float(c)) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
            for c, w in zip(pair.shifts, pair.weights, strict=True)
        )
        return (q, p) if reverse else (p, q)

    def over(z: float) -> float:
        left, right = densities(z)
        return max(left - math.exp(epsilon) * right, 0.0)

    grid = np.linspace(-12.0, 16.0, 281)
    return float(sum(quad(over, a, b, epsabs=1e-14)[0] for a, b in pairwise(grid)))


@pytest.mark.parametrize("epsilon", [0.0, 0.15, 1.0])
def test_against_quadrature(epsilon: float) -> None:
    for reverse, side in ((False, USER), (True, USER.reversed)):
        truth = integrated(USER, epsilon, reverse=reverse)
        found = side.delta_bracket(epsilon)
        assert found.lower - 1e-9 <= truth <= found.upper + 1e-9
        assert side.lower.delta_bracket(epsilon).lower <= found.upper
        assert found.lower <= side.upper.delta(epsilon) <= found.upper * 1.001 + 1e-9


@settings(max_examples=examples(quick=3, fresh=6), deadline=None)
@given(st.floats(0.1, 3.0), st.sampled_from([0.5, 0.25, 0.0625]), st.floats(0.0, 2.0))
def test_two_shifts_are_a_poisson_sample(shift: float, rate: float, epsilon: float) -> None:
    pair = GaussianMixturePair((0.0, shift), (1.0 - rate, rate))
    other = SubsampledPair(GaussianPair(Fraction(shift) ** 2), rate, Mixed.LEFT)
    for one, two in ((pair, other), (pair.reversed, other.reversed)):
        found, known = one.delta_bracket(epsilon), two.delta_bracket(epsilon)
        assert found.lower <= known.upper + 1e-40
        assert known.lower <= found.upper + 1e-40


def test_compositions_agree_with_poisson_samples() -> None:
    noise = dpv.GaussianMixture(sigma=1.0, l2_sensitivities=(0, 1), weights=(0.875, 0.125))
    sampled = dpv.Subsampled(dpv.Gaussian(sigma=1.0), rate=0.125)
    for times in (2, 50):
        found, known = (
            dpv.Accountant(relation=ADD).compose(each, times=times).epsilon(1e-5)
            for each in (noise, sampled)
        )
        assert found.lower <= known.upper
        assert known.lower <= found.upper
        assert found.width <= 1e-3


def test_one_shift_is_the_gaussian() -> None:
    noise = dpv.GaussianMixture(sigma=2.0, l2_sensitivities=(1.0, 3.0), weights=(1.0, 0.0))
    assert noise.pair(ADD) == GaussianPair(Fraction(1, 4))
    assert GaussianMixturePair((0.0,), (1.0,)).delta(0.0) == 0.0
    assert USER.max_loss == math.inf
    assert USER.reversed.max_loss == pytest.approx(-math.log(0.81))


def test_a_group_on_a_poisson_sample_lies_inside_the_bracket_of_groups() -> None:
    """Two records that join together: an instance, so above the lower and below the upper end."""
    q = 0.125
    both = dpv.GaussianMixture(
        sigma=2.0, l2_sensitivities=(0, 1, 2), weights=((1 - q) ** 2, 2 * q * (1 - q), q * q)
    )
    start = dpv.Accountant(relation=ADD)
    true = start.compose(both, times=3).epsilon(1e-5)
    group = start.compose(dpv.Subsampled(dpv.Gaussian(sigma=2.0), rate=q), times=3).group(2)
    bound = group.epsilon(1e-5)
    assert bound.lower <= true.upper
    assert true.lower <= bound.upper


def test_expression() -> None:
    text = "gaussian_mixture(sigma=2, l2_sensitivities=(0, 1), weights=[0.5, 0.5])*3"
    made = dpv.GaussianMixture(sigma=2, l2_sensitivities=(0, 1), weights=(0.5, 0.5))
    assert parse(text) == [(made, 3)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": 0.0}, r"^sigma=0.0 must be positive"),
        ({"weights": (0.5,)}, r"must be as many as"),
        ({"weights": (0.5, 0.6)}, r"sum\(weights\)=1.1 must be 1"),
        ({"weights": (-0.5, 1.5)}, r"^weights=-0.5 must lie in"),
        ({"weights": "ab"}, r"^weights='ab' must be a list of numbers"),
        ({"weights": None}, r"^weights=None must be a list of numbers"),
        ({"l2_sensitivities": (0.0, math.nan)}, r"^l2_sensitivities=nan must be a real number"),
        ({"l2_sensitivities": (0.0, math.inf)}, r"^l2_sensitivities=inf must lie in"),
        ({"l2_sensitivities": ()}, r"must be as many as"),
        ({"l2_sensitivities": 1.0}, r"must be a list of numbers"),
    ],
)
def test_refusals(change: dict[str, Any], message: str) -> None:
    valid: dict[str, Any] = {"sigma": 1.0, "l2_sensitivities": (0.0, 1.0), "weights": (0.5, 0.5)}
    with pytest.raises(InvalidParameter, match=message):
        dpv.GaussianMixture(**valid | change)


def test_replacing_a_record_is_refused() -> None:
    noise = dpv.GaussianMixture(sigma=1.0, l2_sensitivities=(0.0, 1.0), weights=(0.5, 0.5))
    with pytest.raises(NotSupported, match="add-remove"):
        noise.pair(dpv.Relation.REPLACE_ONE)
