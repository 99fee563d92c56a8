"""Mechanisms and estimators of diffprivlib itself, where it can be imported."""

import math
import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from dpverify.auditing import audit
from dpverify.auditing.adapters import adapted, from_diffprivlib
from dpverify.auditing.adapters.diffprivlib import (
    OWN_RANDOMNESS,
    RESEEDED,
    DiffprivlibEstimator,
    DiffprivlibMechanism,
)
from dpverify.auditing.search import audit_over
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP, Guarantee, PureDP
from dpverify.schema import Answers

try:
    mechanisms: Any = import_module("diffprivlib.mechanisms")
    models: Any = import_module("diffprivlib.models")
    models.LogisticRegression(data_norm=1.0)
except (ImportError, TypeError) as error:
    # Its latest release, 0.6.6, works with scikit-learn 1.7; with 1.8 its models fail, and 1.9 it
    # cannot even be imported with.
    pytest.skip(f"diffprivlib cannot be used here: {error}", allow_module_level=True)

ONE = PureDP(epsilon=1.0)
X = np.array([[0.5, 0.0], [-0.5, 0.2], [0.4, 0.1], [-0.6, -0.1]])
Y = np.array([1, 0, 1, 0])


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        (mechanisms.Laplace(epsilon=1.0, sensitivity=1.0), ONE),
        (
            mechanisms.GaussianAnalytic(epsilon=2.0, delta=0.01, sensitivity=1.0),
            ApproxDP(epsilon=2.0, delta=0.01),
        ),
        (mechanisms.Uniform(delta=0.2, sensitivity=1.0), ApproxDP(epsilon=0.0, delta=0.2)),
        (models.LogisticRegression(epsilon=3.0, data_norm=1.0), PureDP(epsilon=3.0)),
    ],
)
def test_the_claim_is_what_the_parameters_say(mechanism: Any, expected: Guarantee) -> None:  # noqa: ANN401
    assert from_diffprivlib(mechanism).claim.guarantee == expected


def test_the_schema_follows_the_sensitivity() -> None:
    plain = from_diffprivlib(mechanisms.Laplace(epsilon=1.0, sensitivity=2.5))
    assert plain.schema == Answers(sensitivity=2.5)
    folded = mechanisms.LaplaceTruncated(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=5.0)
    assert from_diffprivlib(folded).schema == Answers(sensitivity=1.0, low=0.0, high=5.0)
    whole = from_diffprivlib(mechanisms.Geometric(epsilon=1.0, sensitivity=1))
    assert whole.schema == Answers(sensitivity=1.0, integer=True)


def test_who_owns_the_randomness_is_said() -> None:
    own = from_diffprivlib(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0))
    assert own.claim.assumes == (OWN_RANDOMNESS,)
    seeded = from_diffprivlib(mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=1))
    assert seeded.claim.assumes == (RESEEDED,)
    assert isinstance(seeded, DiffprivlibMechanism)
    one, two, three = (seeded.sample(0.0, 3, rng=np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert one == two != three


def test_bounds_read_off_the_data_are_said() -> None:
    told = from_diffprivlib(models.LogisticRegression(epsilon=1.0)).claim.assumes
    assert "data_norm is None, so diffprivlib reads it off the private data" in told


HONEST = (
    mechanisms.Laplace(epsilon=1.0, sensitivity=1.0, random_state=0),
    mechanisms.Geometric(epsilon=1.0, sensitivity=1, random_state=0),
    mechanisms.GaussianAnalytic(epsilon=1.0, delta=0.05, sensitivity=1.0, random_state=0),
    mechanisms.Staircase(epsilon=1.0, sensitivity=1.0, random_state=0),
    mechanisms.Binary(epsilon=1.0, value0="no", value1="yes", random_state=0),
)


@pytest.mark.false_alarm(5e-9)
@pytest.mark.parametrize("mechanism", HONEST, ids=lambda m: type(m).__name__)
def test_honest_mechanisms_stand_and_half_their_claim_falls(mechanism: Any) -> None:  # noqa: ANN401
    found = adapted(mechanism)
    assert found.schema is not None
    verdict = audit_over(mechanism, found.schema, level=1e-9, samples=2_000, pairs=8)
    assert not verdict.refuted
    assert RESEEDED in verdict.notes[-1]
    claimed = found.claim.guarantee
    delta = getattr(claimed, "delta", 0.0)
    half = ApproxDP(epsilon=claimed.epsilon / 2.0, delta=delta)
    assert audit_over(mechanism, found.schema, claim=half, samples=6_000, pairs=8, seed=1).refuted


def test_an_estimator_is_fitted_and_its_coefficients_are_the_output() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.LogisticRegression(epsilon=2.0, data_norm=1.0, random_state=0)
    found = from_diffprivlib(model)
    assert isinstance(found, DiffprivlibEstimator)
    output = found((X, Y), np.random.default_rng(1))
    assert output.keys() == {"coef_", "intercept_"}
    assert output == found((X, Y), np.random.default_rng(1))
    assert output != found((X, Y), np.random.default_rng(2))


@pytest.mark.false_alarm(1e-9)
def test_an_estimator_stands_and_half_its_claim_falls() -> None:
    model = models.StandardScaler(epsilon=1.0, bounds=(-1, 1), with_std=False, random_state=0)
    found = from_diffprivlib(model)
    left = np.zeros((4, 1)) - 1.0
    right = np.array([[-1.0], [-1.0], [-1.0], [1.0]])
    assert not audit(found, left=left, right=right, samples=600, level=1e-9).refuted
    half = PureDP(epsilon=0.5)
    assert audit(found, left=left, right=right, claim=half, samples=3_000, seed=1).refuted


def test_attributes_may_be_named() -> None:
    model = models.StandardScaler(epsilon=1.0, bounds=(-1.0, 1.0), random_state=0)
    found = from_diffprivlib(model, attributes=["mean_"], relation="replace-one")
    assert isinstance(found, DiffprivlibEstimator)
    output = found(X, np.random.default_rng(1))
    assert list(output) == ["mean_"]
    assert all(math.isfinite(x) for x in output["mean_"])  # type: ignore[attr-defined]


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="must be a mechanism or an estimator"):
        from_diffprivlib(3)
