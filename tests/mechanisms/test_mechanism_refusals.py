"""Bad input: one sentence that names the argument, its value and what is allowed."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpverify.claims import Mechanism
from dpverify.errors import InvalidParameter
from dpverify.mechanisms import (
    ExponentialMechanism,
    Gaussian,
    Laplace,
    LeakyRandomizedResponse,
    NoisyMax,
    NormMechanism,
    RandomizedResponse,
    SparseVector,
)

VALID: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (Gaussian, {"sigma": 1.0}),
    (Laplace, {"scale": 1.0}),
    (NormMechanism, {"scale": 1.0}),
    (RandomizedResponse, {"epsilon": 1.0}),
    (LeakyRandomizedResponse, {"epsilon": 1.0, "delta": 0.1}),
    (ExponentialMechanism, {"epsilon": 1.0, "score_sensitivity": 1.0}),
    (NoisyMax, {"epsilon": 1.0, "score_sensitivity": 1.0}),
    (SparseVector, {"epsilon": 1.0, "threshold": 0.0}),
]
NOT_POSITIVE = (0.0, -1.0, math.nan, math.inf, "1", None, True)
NOT_EPSILON = (-1.0, math.nan, "1", None, True)
BAD: dict[str, tuple[object, ...]] = {
    "sigma": NOT_POSITIVE,
    "scale": NOT_POSITIVE,
    "l2_sensitivity": NOT_POSITIVE,
    "l1_sensitivity": NOT_POSITIVE,
    "sensitivity": NOT_POSITIVE,
    "score_sensitivity": NOT_POSITIVE,
    "epsilon": NOT_EPSILON,
    "delta": (-0.1, 1.1, math.nan, "0"),
    "norm": (0.5, -2.0, math.nan, "2"),
    "categories": (0, 1, -3, 2.5, True, "2"),
    "threshold": (math.nan, math.inf, "0", None),
    "answers": (0, -1, 1.5, True),
    "split": (0.0, 1.0, -0.5, math.nan, "half"),
    "monotone": (1, "yes", None),
    "noise": ("gumbel", 1, None),
    "arithmetic": ("float", "", None, 1),
    "grid_exponent": (0.5, "0", True, -1001, 901),
}
CASES = [
    (make, valid, name, value)
    for make, valid in VALID
    for name, values in BAD.items()
    if name in make.__dataclass_fields__  # type: ignore[attr-defined]  # all are dataclasses
    for value in values
]


@pytest.mark.parametrize(("make", "valid", "name", "value"), CASES)
def test_parameters(
    make: Callable[..., Any], valid: dict[str, Any], name: str, value: object
) -> None:
    with pytest.raises(InvalidParameter, match=rf"^{name}=.* must ") as caught:
        make(**valid | {name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("epsilon", [0.0, math.inf])
@pytest.mark.parametrize("make", [NoisyMax, SparseVector])
def test_noise_needs_a_positive_finite_epsilon(make: Callable[..., Any], epsilon: float) -> None:
    fields = {"score_sensitivity": 1.0} if make is NoisyMax else {"threshold": 0.0}
    with pytest.raises(InvalidParameter, match=r"^epsilon=.* must be positive and finite"):
        make(epsilon=epsilon, **fields)


def test_the_exponential_mechanism_needs_a_finite_and_sane_epsilon() -> None:
    with pytest.raises(InvalidParameter, match=r"^epsilon=inf must be finite"):
        ExponentialMechanism(epsilon=math.inf, score_sensitivity=1.0)
    with pytest.raises(InvalidParameter, match=r"must lie within a factor of 1e280"):
        ExponentialMechanism(epsilon=1e200, score_sensitivity=1e-200)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (math.nan, r"^data=nan must be finite"),
        ([0.0, -math.inf], r"^data\[1\]=-inf must be finite"),
        ([], r"^data=\[\] must not be empty"),
        ("text", r"^data='text' must be real numbers"),
        ([1j], r"^data=\[1j\] must be real numbers"),
        (None, r"^data=None must be real numbers"),
        ([10**30], r"must be real numbers, as integers or floats"),
    ],
)
@pytest.mark.parametrize("index", [0, 1, 2])
def test_answers(index: int, data: Any, message: str) -> None:  # noqa: ANN401 -- that is the point
    make, valid = VALID[index]
    with pytest.raises(InvalidParameter, match=message):
        make(**valid).sample(data, 1, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match=message):
        make(**valid, arithmetic="real").sample(data, 1, rng=np.random.default_rng(0))


@pytest.mark.parametrize("index", [5, 6, 7])
def test_scores_must_be_a_list(index: int) -> None:
    make, valid = VALID[index]
    for data in (1.0, [[1.0, 2.0]]):
        with pytest.raises(InvalidParameter, match=r"^data=.* must be a list of numbers"):
            make(**valid).sample(data, 1, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match=r"^data\[0\]=nan must be finite"):
        make(**valid).sample([math.nan, 1.0], 1, rng=np.random.default_rng(0))


@pytest.mark.parametrize("index", [3, 4])
def test_categories_must_exist(index: int) -> None:
    make, valid = VALID[index]
    for data in (2, -1, 0.5, "0", [0, 7], math.nan):
        with pytest.raises(InvalidParameter, match=r"^data.* must be a whole number from 0 to 1"):
            make(**valid).sample(data, 1, rng=np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match=r"^data=\[\] must not be empty"):
        make(**valid).sample([], 1, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("make", "valid"), VALID)
def test_sizes_and_generators(make: Callable[..., Any], valid: dict[str, Any]) -> None:
    mechanism = make(**valid)
    data = 1 if "Response" in str(make) else [1, 0]
    for size in (0, -1, 2.5, "3", None):
        with pytest.raises(InvalidParameter, match=r"^size=.* must be a whole number"):
            mechanism.sample(data, size, rng=np.random.default_rng(0))
    for rng in (None, 7, np.random.RandomState(0)):
        with pytest.raises(InvalidParameter, match=r"^rng=.* must be a numpy.random.Generator"):
            mechanism.sample(data, 1, rng=rng)
    with pytest.raises(InvalidParameter, match=r"^relation=.* must be one of"):
        mechanism.pair("nonsense")


@pytest.mark.parametrize(("make", "valid"), VALID)
def test_all_are_mechanisms_and_values(make: Callable[..., Any], valid: dict[str, Any]) -> None:
    mechanism = make(**valid)
    assert mechanism == make(**valid)
    assert hash(mechanism) == hash(make(**valid))
    with pytest.raises(AttributeError):
        mechanism.arithmetic = "real"
    with pytest.raises(TypeError):
        make(1.0, 1.0, 1.0)  # at most the numbers that everybody would write first
    assert isinstance(mechanism, Mechanism)


@pytest.mark.parametrize("make", [Gaussian, Laplace])
def test_outputs_of_the_wrong_shape_or_size(make: Callable[..., Any]) -> None:
    mechanism = make(**{"sigma" if make is Gaussian else "scale": 1.0}, grid_exponent=0)
    with pytest.raises(InvalidParameter, match=r"must have the shape \(size, 2\)"):
        mechanism.log_density([1.0, 2.0], [0.0, 0.0])
    with pytest.raises(InvalidParameter, match=r"within 2\^53 grid steps"):
        mechanism.log_density([1e17], 0.0)
    with pytest.raises(InvalidParameter, match=r"^dimension=0 must be a whole number"):
        mechanism.noise_inflation(0)


def test_scales_beyond_any_grid_are_refused_when_drawn() -> None:
    mechanism = Gaussian(sigma=1e300)  # fine as a thing that is composed
    assert mechanism.claim.guarantee is not None
    with pytest.raises(InvalidParameter, match=r"noise scale=1e\+300 must be at most 2\^52"):
        mechanism.sample(0.0, 1, rng=np.random.default_rng(0))
    assert np.isfinite(
        Gaussian(sigma=1e300, arithmetic="real").sample(0.0, 1, rng=np.random.default_rng(0))
    ).all()
