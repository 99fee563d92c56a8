"""What diffprivlib's tools and models show, where it is installed."""

# ruff: noqa: ANN401  # data and models

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpverify as dpv

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    library = pytest.importorskip("diffprivlib")

pytestmark = pytest.mark.filterwarnings("ignore")

ONE = dpv.PureDP(epsilon=1.0)
LEFT, RIGHT = np.array([0.0, 1.0, 0.25, 1.0]), np.array([0.0, 1.0, 0.25, 0.0])
ROWS = np.array([[0.0, 1.0], [1.0, 0.25], [0.25, 1.0], [1.0, 0.0]])
REPLACED = np.array([[0.0, 1.0], [1.0, 0.25], [0.25, 1.0], [0.0, 0.0]])
BOX = {"epsilon": 1.0, "bounds": (0.0, 1.0)}


def _traced(mechanism: Callable[[Any], Any], left: Any = LEFT, right: Any = RIGHT) -> Any:
    return dpv.trace(
        lambda data, _: mechanism(data), left=left, right=right, claim=ONE, confirm=False
    )


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "nanmean"])
def test_tools_that_keep_their_claim(name: str) -> None:
    found = _traced(lambda data: getattr(library.tools, name)(data, **BOX))
    assert found.verdict == "shown"
    assert found.epsilon(0.0).upper == pytest.approx(1.0, rel=1e-6)


def test_a_histogram_is_paid_for_one_record_more_or_less() -> None:
    def histogram(data: Any) -> Any:
        return library.tools.histogram(data, epsilon=1.0, bins=4, range=(0.0, 1.0))[0]

    assert _traced(histogram, right=LEFT[:3]).verdict == "shown"
    replaced = _traced(histogram)
    assert replaced.verdict == "overspent"
    assert replaced.epsilon(0.0).upper == pytest.approx(2.0, rel=1e-6)


def test_bounds_that_are_read_off_the_data_leak() -> None:
    found = _traced(
        lambda data: library.tools.mean(data, epsilon=1.0), right=np.array([0.0, 1.0, 0.5, 9.0])
    )
    assert found.verdict == "leaking"
    assert found.leaks[0].kind == "scale"
    assert "library.tools.mean(data, epsilon=1.0)" in found.leaks[0].source


@pytest.mark.parametrize(
    "fit",
    [
        lambda data: library.models.StandardScaler(**BOX).fit(data).mean_,
        lambda data: library.models.GaussianNB(**BOX).fit(data, [0, 1, 0, 1]).theta_,
    ],
    ids=["StandardScaler", "GaussianNB"],
)
def test_models_that_keep_their_claim(fit: Callable[[Any], Any]) -> None:
    assert _traced(fit, ROWS, REPLACED).verdict == "shown"


def test_linear_regression_adds_no_noise_where_the_lower_bound_is_0() -> None:
    """In 0.6.6 the sensitivity of the sum of x² is the square of the lower bound alone."""
    found = _traced(
        lambda data: (
            library.models.LinearRegression(epsilon=1.0, bounds_X=(0.0, 1.0), bounds_y=(0.0, 1.0))
            .fit(data, [0, 1, 0, 1])
            .coef_
        ),
        ROWS,
        REPLACED,
    )
    if library.__version__ == "0.6.6":
        assert found.verdict == "overspent"
        assert any("told sensitivity 0" in release.distribution for release in found.releases)


def test_what_linear_regression_leaks_is_refuted_by_draws() -> None:
    """With one feature the coefficient is (Σxy + noise)/Σx², and Σx² is as it is.

    If it falls from 1 to 1e-6, |coefficient| > 100 in all but 3e-5 of the runs, instead of in
    exp(−33) of them: at ε = 1 no more than e times as many.
    """

    def large(last: float) -> int:
        fitted = [
            library.models.LinearRegression(
                epsilon=1.0,
                bounds_X=(0.0, 1.0),
                bounds_y=(0.0, 1.0),
                fit_intercept=False,
                random_state=seed,
            ).fit([[0.0], [last]], [1.0, 0.0])
            for seed in range(40)
        ]
        return sum(abs(float(model.coef_[0])) > 100.0 for model in fitted)

    if library.__version__ == "0.6.6":
        assert (large(1.0), large(1e-3)) == (0, 40)


@pytest.mark.parametrize(
    ("fit", "why"),
    [
        (
            lambda data: (
                library.models.LogisticRegression(epsilon=1.0, data_norm=2.0)
                .fit(data, [0, 1, 0, 1])
                .coef_
            ),
            "how far apart the inputs of diffprivlib Vector may be is not known",
        ),
        (
            lambda data: (
                library.models.PCA(1, epsilon=1.0, data_norm=2.0, bounds=(0.0, 1.0))
                .fit(data)
                .components_
            ),
            "how far apart the inputs of diffprivlib Bingham are is not known",
        ),
    ],
    ids=["LogisticRegression", "PCA"],
)
def test_models_that_are_not_understood(fit: Callable[[Any], Any], why: str) -> None:
    found = _traced(fit, ROWS, REPLACED)
    assert found.verdict == "not understood"
    assert any(why in puzzle.what for puzzle in found.puzzles), str(found)
