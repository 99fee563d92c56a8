"""Very long sums by their low frequencies: within their error, or refused; and right in the end."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.accounting.numerical.spectrum import LowFrequencies, Spectrum, Unresolved
from dpverify.arrays import Floats
from tests.accounting.numerical.test_convolution import exact_sum
from tests.accounting.truth import subsampled_delta
from tests.conftest import examples

_LENGTH = 4001
laws = st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(lambda law: law[0] and law[-1])
parts = st.lists(
    st.tuples(laws, st.integers(-50, 50), st.integers(600, 1500)), min_size=1, max_size=2
)


def masses_of(spectrum: Spectrum) -> Floats:
    return np.fft.irfft(
        np.pad(spectrum.values, (0, spectrum.length // 2 + 1 - len(spectrum.values))),
        spectrum.length,
    )


@given(parts)
@settings(max_examples=examples(quick=5), deadline=None)
def test_low_frequencies_are_within_their_error(drawn: list[tuple[list[int], int, int]]) -> None:
    convolver = LowFrequencies(_LENGTH)
    for weights, first, times in drawn:
        convolver.add(np.array(weights) / sum(weights), first, times)
    try:
        found = convolver.result()
    except Unresolved:
        return
    truth, first = exact_sum(drawn)
    placed = np.bincount((first + np.arange(len(truth))) % _LENGTH, truth, _LENGTH)
    off = math.sqrt(np.square(masses_of(found.masses) - placed).sum())
    # Each given mass is itself rounded, once per time it is taken.
    rounded = 2.0**-52 * sum(times for _, _, times in drawn) * math.sqrt(np.square(placed).sum())
    assert off <= found.error + rounded
    assert found.error < 1e-8


def test_a_long_sum_is_resolved() -> None:
    length, times, decay = 10**6, 10**8, 1e-10
    convolver = LowFrequencies(length)
    convolver.add(np.array([0.25, 0.5, 0.25]), -1, times)
    found = convolver.result()
    assert len(found.masses.values) < 1000
    assert found.error < 1e-5 * found.masses.norm()
    # Half of it lies on either side of 0, and half of the mass there, 1/√(πk), belongs to each.
    below = math.exp(-decay * length / 2) * found.masses.decayed(length // 2, decay)
    above = found.masses.decayed(0, decay) - below
    lost = decay * math.sqrt(times / (4.0 * math.pi))
    assert above - 0.5 + lost == pytest.approx(0.5 / math.sqrt(math.pi * times), abs=1e-9)


@pytest.mark.parametrize("weights", [[1, 0, 1], [1, 0, 0, 1, 0, 0, 1], [1]])
def test_a_coarser_lattice_is_refused(weights: list[int]) -> None:
    """Its transform has modulus 1 again at a higher frequency."""
    convolver = LowFrequencies(10**9)
    convolver.add(np.array(weights) / sum(weights), 0, 10**9)
    with pytest.raises(Unresolved):
        convolver.result()


def test_few_frequencies_are_not_enough_for_few_runs() -> None:
    convolver = LowFrequencies(10**6)
    convolver.add(np.full(1000, 1e-3), 0, 3)
    with pytest.raises(Unresolved):
        convolver.result()


@given(st.lists(st.floats(0.0, 1.0), min_size=9, max_size=9), st.integers(0, 8), st.floats(0, 5))
def test_decayed_sums(masses: list[float], first: int, decay: float) -> None:
    spectrum = Spectrum(9, np.fft.rfft(masses))
    exact = math.fsum(m * math.exp(-decay * i) for i, m in enumerate(masses[first:]))
    assert spectrum.decayed(first, decay) == pytest.approx(exact, abs=1e-13)
    rolled = spectrum.rolled(first).decayed(0, decay)
    turned = masses[first:] + masses[:first]
    exact = math.fsum(m * math.exp(-decay * i) for i, m in enumerate(turned))
    assert rolled == pytest.approx(exact, abs=1e-13)


@pytest.mark.parametrize(
    ("sigma", "rate", "times", "delta"),
    [
        pytest.param(0.4256, 0.5333, 1_742_000, 2.787e-10, marks=pytest.mark.slow),
        (6.18, 0.08505, 5_716_000, 2.428e-05),
    ],
)
def test_millions_of_steps_with_a_huge_epsilon(
    sigma: float, rate: float, times: int, delta: float
) -> None:
    """A window of hundreds of millions of nodes, against an integral over a contour."""
    step = dpv.Subsampled(dpv.Gaussian(sigma=sigma), rate=rate)
    spent = dpv.Accountant(relation=dpv.Relation.ADD_REMOVE).compose(step, times=times)
    found = spent.epsilon(delta=delta, tolerance=1e-3)
    assert found.width <= 1e-3
    above, below = (
        subsampled_delta(sigma=sigma, rate=rate, times=times, epsilon=end)
        for end in (found.lower, found.upper)
    )
    assert above > delta > below


@pytest.mark.parametrize("decay", [0.0, 1e-300, 1e-12, 1e-3, 1.0, 40.0])
@pytest.mark.parametrize("first", [0, 1, 7, 15])
def test_decayed_sums_are_those_of_the_masses(decay: float, first: int) -> None:
    """Without a tilt too, where the geometric sum of frequency 0 is its number of terms."""
    spectrum = Spectrum(16, np.array([1.0, 0.3 - 0.2j, 0.05j]))
    whole = np.zeros(9, dtype=np.complex128)
    whole[:3] = spectrum.values
    masses = np.fft.irfft(whole, 16)
    exact = math.fsum(masses[first:] * np.exp(-decay * np.arange(16 - first)))
    assert abs(spectrum.decayed(first, decay) - exact) <= spectrum.rounding(decay) + 1e-15
    assert spectrum.rounding(decay) < 1e-12


def test_whole_turns_are_taken_off_exactly() -> None:
    """Of numpy's integers too, whose products overflow beyond 2^63."""
    spectrum = Spectrum(1_000_003, np.array([1.0, 0.3 - 0.2j, 0.05j]))
    far = 5 * 10**18
    exact = spectrum.rolled(far % spectrum.length).values
    assert np.array_equal(spectrum.rolled(far).values, exact)
    assert np.array_equal(spectrum.rolled(np.int64(far)).values, exact)  # type: ignore[arg-type]
