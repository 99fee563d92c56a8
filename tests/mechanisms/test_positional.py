"""The number that everybody would write first may be positional, and nothing else."""

import pytest

import dpverify as dpv


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (dpv.Gaussian(2.0), dpv.Gaussian(sigma=2.0)),
        (dpv.Laplace(2.0), dpv.Laplace(scale=2.0)),
        (dpv.RandomizedResponse(1.0), dpv.RandomizedResponse(epsilon=1.0)),
        (
            dpv.LeakyRandomizedResponse(1.0, 1e-6),
            dpv.LeakyRandomizedResponse(epsilon=1.0, delta=1e-6),
        ),
        (dpv.DiscreteGaussian(2.0), dpv.DiscreteGaussian(sigma=2.0)),
        (dpv.DiscreteLaplace(2.0), dpv.DiscreteLaplace(scale=2.0)),
        (dpv.NormMechanism(2.0), dpv.NormMechanism(scale=2.0)),
    ],
)
def test_the_obvious_number_needs_no_name(short: object, long: object) -> None:
    assert short == long
    assert repr(short) == repr(long)


def test_sensitivities_are_always_named() -> None:
    with pytest.raises(TypeError, match="positional"):
        dpv.Gaussian(2.0, 1.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        dpv.DiscreteLaplace(2.0, 1)  # type: ignore[call-arg]
