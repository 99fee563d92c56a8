"""Discrete laws multiplied out, and the gaps between their atoms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.accounting.numerical.preparation import common_gap, merge, multiply_out, prepare
from dpverify.pairs import GaussianPair, Mixed, SubsampledPair, WithoutReplacementPair
from dpverify.pairs.loss_law import LossLaw
from tests.accounting.numerical.strategies import finite, gaussian, laplace, response


def atoms(*losses: float) -> LossLaw:
    return LossLaw(losses=np.array(losses), log_masses=np.full(len(losses), -1.0))


@pytest.mark.parametrize(
    ("laws", "gap"),
    [
        ([atoms(-0.1, 0.1)], 0.2),
        ([atoms(-0.1, 0.1), atoms(-0.3, 0.3)], 0.2),
        ([atoms(-0.2, 0.2), atoms(-0.3, 0.3)], 0.2),  # gaps 0.4 and 0.6
        ([atoms(0.0, 1.0, 2.5)], 0.5),
        ([atoms(0.7)], 0.0),
        ([], 0.0),
    ],
)
def test_gaps_with_a_common_divisor(laws: list[LossLaw], gap: float) -> None:
    assert common_gap(laws) == pytest.approx(gap, rel=1e-12)


def test_gaps_without_one() -> None:
    assert common_gap([atoms(0.0, 1.0), atoms(0.0, math.sqrt(2.0))]) is None
    assert common_gap([atoms(*(k**2 for k in range(100)))]) is None


def test_many_atoms_may_lie_evenly() -> None:
    assert common_gap([atoms(*range(100))]) == 1.0
    assert common_gap([atoms(*range(100)), atoms(0.0, 1.5)]) == 0.5


@given(st.integers(1, 300), st.floats(0.01, 2.0))
def test_the_power_of_a_response_is_binomial(times: int, epsilon: float) -> None:
    parts = multiply_out([(response(epsilon).loss_law(), times)])
    ((law, count),) = parts
    assert count == 1
    assert len(law.losses) == times + 1
    truth = 1 / (1 + math.exp(-epsilon))
    j = np.round((law.losses / epsilon + times) / 2).astype(int)
    assert np.allclose(law.losses, (2 * j - times) * epsilon, atol=law.loss_error)
    exact = [math.comb(times, i) * truth**i * (1 - truth) ** (times - i) for i in j.tolist()]
    assert np.allclose(np.exp(law.log_masses), exact, rtol=1e-10)


def test_parts_without_a_common_gap_are_multiplied_out() -> None:
    pairs = [(response(0.1 * math.sqrt(p)), 3) for p in (2, 3, 5, 7)]
    prepared = prepare(pairs)
    assert prepared.gap is None
    ((law, times),) = prepared.laws
    assert (len(law.losses), times) == (4**4, 1)


def test_a_large_power_is_kept_as_a_power() -> None:
    parts = multiply_out([(finite([1, 2, 4], [4, 2, 2]).loss_law(), 10**6)])
    assert sum(len(law.losses) for law, _ in parts) < 1 << 18
    assert parts[0][1] > 1


def test_equal_parts_are_counted_and_gaussians_added_up() -> None:
    """4·(1/2)² + 5·1² = 6, and what is wholly sampled counts as if it were not."""
    parts = [
        (gaussian(2.0), 4),
        (laplace(3.0), 2),
        (gaussian(1.0), 3),
        (SubsampledPair(gaussian(1.0), 1.0), 2),
        (SubsampledPair(laplace(3.0), 1.0, Mixed.RIGHT), 5),
        (WithoutReplacementPair(laplace(3.0), 1.0), 1),
        (SubsampledPair(gaussian(1.0), 0.0), 7),
    ]
    merged = dict(merge(parts))
    assert merged == {GaussianPair(gaussian(1.0).squared_mu * 6): 1, laplace(3.0): 8}
