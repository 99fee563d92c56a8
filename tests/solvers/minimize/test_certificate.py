"""Certificates against gradients computed with fifty digits."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.errors import InvalidParameter
from solvers.losses import HuberHinge, Logistic, Loss, Softmax, Squared
from solvers.minimize import certificate
from solvers.minimize.certificate import (
    MinimumCertificate,
    certified_gradients,
    gamma,
    gradient_bounds,
)
from solvers.minimize.compensated import minimize_compensated
from solvers.minimize.newton import minimize
from solvers.minimize.objective import MulticlassObjective, Objective
from solvers.privacy.theorems import PERTURBED_MINIMUM

LOSSES: list[Loss] = [Logistic(), HuberHinge(width=0.25), Squared()]


def exact_slope(loss: Loss, s: mpmath.mpf, y: float) -> mpmath.mpf:
    if isinstance(loss, Logistic):
        return -y / (1 + mpmath.exp(y * s))
    if isinstance(loss, HuberHinge):
        h = mpmath.mpf(loss.width)
        return -y * min(mpmath.mpf(1), max(mpmath.mpf(0), (1 + h - y * s) / (2 * h)))
    return 2 * (s - y)


def exact_gradient(J: Objective, point: np.ndarray, b: np.ndarray) -> list[mpmath.mpf]:  # noqa: N803
    with mpmath.workdps(50):
        theta = [mpmath.mpf(float(t)) for t in point]
        total = [
            mpmath.mpf(J.ridge) * t + mpmath.mpf(float(v)) for t, v in zip(theta, b, strict=True)
        ]
        for row, y in zip(J.features, J.labels, strict=True):
            x = [mpmath.mpf(float(v)) for v in row]
            slope = exact_slope(J.loss, mpmath.fdot(x, theta), float(y))
            total = [t + slope * v for t, v in zip(total, x, strict=True)]
        return total


def build(loss: Loss, n: int, seed: int, size: float) -> tuple[Objective, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-3, 1, size=(n, 1))
    labels = rng.choice([-1.0, 1.0], n)
    linear = size * rng.normal(size=(3, 3))
    return Objective(loss, features, labels, 0.5), linear, rng.normal(size=(3, 3)) * size


@settings(max_examples=30)
@given(st.sampled_from(LOSSES), st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 1e4]))
def test_bounds_hold_at_minima_and_elsewhere(loss: Loss, seed: int, size: float) -> None:
    J, linear, others = build(loss, 12, seed, size)  # noqa: N806
    for points in (minimize(J, linear), others):
        bounds = gradient_bounds(J, points, linear)
        floats, errors = certified_gradients(J, points, linear)
        for i, point in enumerate(points):
            exact = exact_gradient(J, point, linear[i])
            assert mpmath.norm(exact) <= bounds[i]
            off = [e - mpmath.mpf(float(f)) for e, f in zip(exact, floats[i], strict=True)]
            assert mpmath.norm(off) <= errors[i]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_blocks_hold_too_and_are_sharper(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    J, linear, _ = build(loss, 700, 5, 1.0)  # noqa: N806
    points = minimize(J, linear)
    together = gradient_bounds(J, points, linear)
    monkeypatch.setattr(certificate, "_LARGE", 1)
    blockwise = gradient_bounds(J, points, linear)
    for i, point in enumerate(points):
        assert mpmath.norm(exact_gradient(J, point, linear[i])) <= blockwise[i]
    assert (blockwise < together).all()


@pytest.mark.parametrize("blocks", [False, True])
def test_bounds_hold_for_several_classes(monkeypatch: pytest.MonkeyPatch, *, blocks: bool) -> None:
    if blocks:
        monkeypatch.setattr(certificate, "_LARGE", 1)
    rng = np.random.default_rng(4)
    features, labels = rng.normal(size=(300, 2)), rng.integers(0, 3, 300).astype(float)
    J = MulticlassObjective(Softmax(3), features, labels, 0.5)  # noqa: N806
    linear = rng.normal(size=(2, 6))
    for points in (minimize(J, linear), 5.0 * rng.normal(size=(2, 6))):
        bounds = gradient_bounds(J, points, linear)
        for i, point in enumerate(points):
            assert softmax_gradient(J, point, linear[i]) <= bounds[i]
    assert gradient_bounds(J, minimize(J, linear), linear).max() < 1e-9


def softmax_gradient(J: Objective, point: np.ndarray, b: np.ndarray) -> mpmath.mpf:  # noqa: N803
    """‖∇J‖ with fifty digits."""
    with mpmath.workdps(50):
        theta = mpmath.matrix(point.reshape(-1, 3).tolist())
        total = mpmath.mpf(J.ridge) * theta + mpmath.matrix(b.reshape(-1, 3).tolist())
        for row, y in zip(J.features, J.labels, strict=True):
            x = mpmath.matrix(row.tolist())
            weights = [mpmath.exp(s) for s in x.T * theta]
            slopes = [w / mpmath.fsum(weights) for w in weights]
            slopes[int(y)] -= 1
            total += x * mpmath.matrix(slopes).T
        return mpmath.norm(list(total))


def test_bounds_are_small_at_minima() -> None:
    J, linear, _ = build(Logistic(), 1000, 1, 4.0)  # noqa: N806
    assert gradient_bounds(J, minimize(J, linear), linear).max() < 1e-9


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("records", [0, 12])
def test_gradients_whose_squares_underflow_are_not_taken_for_zero(loss: Loss, records: int) -> None:
    J, linear, points = build(loss, records, 5, 1e-200)  # noqa: N806
    J = replace(J, ridge=1e-300, features=np.zeros_like(J.features))  # noqa: N806
    for point, b in zip(points, linear, strict=True):
        true = mpmath.norm(exact_gradient(J, point, b))
        rows = records * 2.0**-500  # what rows of zeros are taken for
        assert true <= gradient_bounds(J, point[None], b[None])[0] <= 1.0001 * true + rows
        found, distance = minimize_compensated(J, b, np.zeros(3), distance=1e70)
        assert mpmath.norm(exact_gradient(J, found, b)) <= mpmath.mpf(1e-300) * distance


def test_gamma_by_hand() -> None:
    assert gamma(1) == pytest.approx(2.0**-53, rel=1e-15)
    assert gamma(1000) > 1000 * 2.0**-53


def test_bad_certificates_are_refused() -> None:
    for wrong in (-1.0, math.nan):
        with pytest.raises(InvalidParameter, match="distance"):
            MinimumCertificate(distance=wrong, theorem=PERTURBED_MINIMUM)
    with pytest.raises(InvalidParameter, match="solves"):
        MinimumCertificate(distance=0.0, theorem=PERTURBED_MINIMUM, solves=0)
