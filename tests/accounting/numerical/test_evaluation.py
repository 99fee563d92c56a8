"""Profiles read off composed grid laws, and their inverses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.accounting.numerical.evaluation import Composed
from dpverify.accounting.numerical.hull import tail_profile
from dpverify.accounting.numerical.targets import largest_epsilon, smallest_epsilon
from dpverify.arrays import Floats


def composed(masses: Floats, *, step: float, rate: float, error: float = 0.0) -> Composed:
    """A law with these masses at 0, step, 2·step, …, tilted at `rate`."""
    losses = step * np.arange(len(masses))
    return Composed(
        masses=masses * np.exp(rate * losses),
        start=0.0,
        step=step,
        rate=rate,
        log_scale=0.0,
        scale_error=0.0,
        error=error,
        relative_error=0.0,
        outside=0.0,
        below=0.0,
        log_infinite=-math.inf,
        loss_error=0.0,
    )


def profile(masses: Floats, step: float, epsilon: float) -> float:
    losses = step * np.arange(len(masses))
    return math.fsum(masses * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0.0)), 0.0))


masses_lists = st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=20).map(np.array)


@given(masses_lists, st.floats(0.01, 1.0), st.floats(0.0, 5.0), st.floats(0.0, 0.95))
def test_reading_brackets_the_profile(
    masses: Floats, step: float, rate: float, share: float
) -> None:
    law = composed(masses, step=step, rate=rate)
    epsilon = share * step * (len(masses) - 1)
    exact = math.log(profile(masses, step, epsilon))
    assert law.log_lower(epsilon) <= exact + 1e-15 <= law.log_upper(epsilon) + 2e-15
    assert law.log_upper(epsilon) - law.log_lower(epsilon) < 1e-12


@given(masses_lists, st.floats(0.01, 1.0), st.floats(0.0, 5.0), st.floats(0.05, 0.95))
def test_the_inverse_lies_on_the_safe_side(
    masses: Floats, step: float, rate: float, share: float
) -> None:
    law = composed(masses, step=step, rate=rate)
    log_delta = math.log(share * profile(masses, step, 0.0))
    for guess in (0.0, 0.5 * step, 3.0 * step):
        high = smallest_epsilon(law, log_delta, guess)
        low = largest_epsilon(law, log_delta, guess)
        assert low <= high <= low + 1e-7 * (1 + high)
        assert math.log(profile(masses, step, high)) <= log_delta


def test_a_delta_above_the_whole_profile_needs_no_epsilon() -> None:
    law = composed(np.array([0.5, 0.5]), step=0.1, rate=1.0)
    assert smallest_epsilon(law, math.log(0.9), 0.05) == 0.0
    assert largest_epsilon(law, math.log(0.9), 0.05) == 0.0


def test_an_error_of_the_masses_is_charged_to_both_ends() -> None:
    plain = composed(np.full(50, 0.02), step=0.1, rate=2.0)
    rough = composed(np.full(50, 0.02), step=0.1, rate=2.0, error=1e-6)
    assert rough.log_lower(1.0) < plain.log_lower(1.0)
    assert rough.log_upper(1.0) > plain.log_upper(1.0)
    assert 0.0 < rough.delta_noise(1.0) < 1e-3
    # An error as large as all there is leaves nothing certain.
    hopeless = composed(np.full(50, 0.02), step=0.1, rate=2.0, error=1e6)
    assert hopeless.log_lower(1.0) == -math.inf
    assert largest_epsilon(hopeless, math.log(0.01), 1.0) == 0.0


def test_mass_at_infinity_allows_no_epsilon_at_smaller_delta() -> None:
    law = composed(np.array([0.5, 0.5]), step=0.1, rate=0.0)
    leaking = Composed(
        **{name: getattr(law, name) for name in law.__slots__} | {"log_infinite": -2.0}
    )
    assert smallest_epsilon(leaking, -3.0, 0.1) == math.inf
    assert math.exp(leaking.log_upper(50.0)) == pytest.approx(math.exp(-2.0), rel=1e-12)


@given(masses_lists, st.floats(0.01, 1.0), st.floats(-6.0, 60.0))
def test_tail_profiles_at_all_nodes_at_once(masses: Floats, step: float, rate: float) -> None:
    found = tail_profile(masses, step, rate)
    for i in range(len(masses)):
        distance = step * (np.arange(i + 1, len(masses)) - i)
        exact = math.fsum(masses[i + 1 :] * np.exp(-rate * distance) * -np.expm1(-distance))
        assert found[i] == pytest.approx(exact, rel=1e-11, abs=1e-300)
