"""NumPy's numbers as parameters: the same answer as Python's, or one clear refusal."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

import dpverify as dpv
from dpverify.errors import plain_number
from solvers import (
    Bounds,
    Descent,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateSelection,
    PrivateSVM,
    Problem,
    defaults,
)
from solvers.approximate_minima import ApproximateMinima
from solvers.descent import DescentSetting
from solvers.domains import Ball, Box
from solvers.exponential.quantiles import ExponentialQuantile
from solvers.gradient_descent import GradientDescent
from solvers.losses import HuberHinge, Logistic, Quantile, Softmax, Squared
from solvers.minimize.regularizers import ElasticNet, Lasso, Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation
from solvers.privacy.objective_rules import Setting as RuleSetting
from solvers.quality import excess_bounds
from solvers.sgd import (
    AllocatedBatches,
    FixedBatches,
    PoissonBatches,
    StochasticGradientDescent,
)
from solvers.sufficient_statistics import SufficientStatistics

PURE = dpv.PureDP(epsilon=1.0)
APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-5)
ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
SIGNS = Bounds(norm=1.0, labels=(-1, 1))
REALS = (np.float16, np.float32, np.float64, np.longdouble)
WHOLES = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64)
DATA = (np.array([[0.5, 0.25], [-0.5, 0.75], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0]))


def ridged(ridge: Any = 2.0) -> Problem:  # noqa: ANN401
    return Problem(loss=Logistic(), bounds=SIGNS, regularizer=Ridge(ridge))


def setting(**changes: Any) -> DescentSetting:  # noqa: ANN401
    given: dict[str, Any] = {"records": 100, "clip": 0.5, "ridge": 0.5} | changes
    return DescentSetting(loss=Logistic(), bounds=SIGNS, domain=Ball(2.0), relation=ADD, **given)


# every constructor with a number x, of the value 0.5 or 100
BUILT: dict[str, Callable[[Any], object]] = {
    "norm": lambda x: Bounds(norm=x, label_bound=x),
    "labels": lambda x: Bounds(norm=1.0, labels=[x, 0]),
    "ball": Ball,
    "box": lambda x: Box(0.0, x),
    "boxes": lambda x: Box((0.0, 0.25), (x, x)),
    "width": HuberHinge,
    "ridge": Ridge,
    "lasso": Lasso,
    "net": lambda x: ElasticNet(x, x),
    "descent": lambda x: setting(clip=x, ridge=x),
    "followed by": lambda x: Descent(learning_rate=x, clip=x),
    "rule": lambda x: RuleSetting(loss=Logistic(), bounds=SIGNS, ridge=x, relation=ADD),
    "output": lambda x: OutputPerturbation(
        problem=ridged(x), budget=PURE, relation=ADD, solver_error=x
    ),
    "approximate": lambda x: ApproximateMinima(
        problem=ridged(), budget=APPROX, relation=REPLACE, gradient_tolerance=x
    ),
    "statistics": lambda x: SufficientStatistics(
        bounds=Bounds(norm=1.0, label_bound=x), budget=PURE, relation=ADD, ridge=x
    ),
    "quantiles": lambda x: ExponentialQuantile(epsilon=x, low=0, high=x, relation=ADD),
    "rate": lambda x: StochasticGradientDescent(
        setting(), budget=APPROX, batches=PoissonBatches(0.5), steps=2, learning_rate=x
    ),
}
SHARES: dict[str, Callable[[Any], object]] = {
    "level": Quantile,
    "poisson": PoissonBatches,
    "momentum": lambda x: GradientDescent(setting(), budget=PURE, steps=1, momentum=x),
    "share": lambda x: ObjectivePerturbation(problem=ridged(), budget=PURE, relation=ADD, share=x),
    "quantile": lambda x: ExponentialQuantile(
        epsilon=1.0, low=0.0, high=1.0, relation=ADD, quantile=x
    ),
}
COUNTED: dict[str, Callable[[Any], object]] = {
    "classes": Softmax,
    "batch": FixedBatches,
    "batches": AllocatedBatches,
    "followed": lambda x: Descent(steps=x),
    "records": lambda x: setting(records=x),
    "steps": lambda x: GradientDescent(setting(), budget=PURE, steps=x),
}


def numbers_in(value: object) -> list[object]:
    """All values in a dataclass, and in those that it holds."""
    if is_dataclass(value):
        return [x for each in fields(value) for x in numbers_in(getattr(value, each.name))]
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("kind", [*REALS, *WHOLES])
@pytest.mark.parametrize("name", [*BUILT, *SHARES, *COUNTED])
def test_constructors_keep_no_numpy_number(name: str, kind: Callable[[float], Any]) -> None:
    build = (BUILT | SHARES | COUNTED)[name]
    whole = kind in WHOLES
    if (name in SHARES and whole) or (name in COUNTED and not whole):
        with pytest.raises(dpv.InvalidParameter, match="must"):
            build(kind(100.0))
        return
    value = 100 if whole else 0.5
    built = build(kind(value))
    assert built == build(value)
    assert not any(isinstance(each, np.generic) for each in numbers_in(built))


def test_products_of_small_integers_do_not_wrap() -> None:
    small: Any = np.int8(100)
    assert defaults.radius(dimension=small, norm=small) == 0.1
    squared = Squared().lipschitz(Bounds(norm=small, label_bound=small), Ball(1))
    assert squared == 2.0 * 100 * (100 + 100)
    short: dict[str, Any] = {
        "dimension": np.int8(5),
        "norm": np.float16(3.0),
        "lipschitz": small,
        "sharpness": np.float16(0.25),
        "records": np.int16(30_000),
    }
    usual = {name: plain_number(value) for name, value in short.items()}
    assert defaults.output_ridge(PURE, ADD, **short) == defaults.output_ridge(PURE, ADD, **usual)
    bound, half = excess_bounds.perturbed_excess, np.float32(0.5)
    few: dict[str, Any] = {"noise_norm": small, "strength": half, "records": small}
    assert bound(**few) == bound(noise_norm=100.0, strength=0.5, records=100)


@pytest.mark.parametrize("kind", [np.float32, np.int16])
def test_fits_do_not_ask_for_the_type(kind: Callable[[float], Any]) -> None:
    rows, y = DATA
    builders: tuple[Callable[[Any, Any], Any], ...] = (
        lambda x, n: PrivateLogisticRegression(
            budget=PURE, norm_bound=x, ridge=x, relation=ADD, records=n, random_state=0
        ),
        lambda x, n: PrivateSVM(
            budget=PURE, norm_bound=x, width=x, relation=ADD, records=n, random_state=0,
            method="output",
        ),
        lambda x, n: PrivateLinearRegression(
            budget=PURE, norm_bound=x, label_bound=x, radius=x, relation=ADD, records=n,
            random_state=0, method="output",
        ),
        lambda x, n: PrivateLogisticRegression(
            budget=PURE, norm_bound=x, relation=ADD, records=n, random_state=0, method="gradient"
        ),
    )  # fmt: skip
    for build in builders:
        fitted = build(kind(2.0), np.int8(100)).fit(rows, y)
        assert (fitted.coef_ == build(2.0, 100).fit(rows, y).coef_).all()
    medians = [
        PrivateMedian(budget=PURE, low=low, high=high, relation=ADD, random_state=0)
        .fit(rows, y)
        .median_
        for low, high in ((-2.0, 2.0), (kind(-2.0), kind(2.0)))
    ]
    assert medians[0] == medians[1]


def test_what_is_no_number_stays_what_it_is() -> None:
    assert plain_number("auto") == "auto"
    assert plain_number(np.bool_(True)) is True  # noqa: FBT003
    assert type(plain_number(np.longdouble(0.5))) is float
    for wrong in (np.bool_(True), np.nan, np.complex64(1.0), "1"):  # noqa: FBT003
        with pytest.raises(dpv.InvalidParameter, match="strength"):
            Ridge(wrong)  # type: ignore[arg-type]


def test_selections_take_numpy_shares() -> None:
    inner = PrivateLogisticRegression(budget=PURE, norm_bound=1.0, relation=ADD, classes=(-1, 1))
    found = [
        PrivateSelection(
            inner, candidates=[{"ridge": 2.0}, {"ridge": 5.0}], share=share, random_state=0
        )
        .fit(*DATA)
        .best_estimator_.coef_
        for share in (0.5, np.float32(0.5))
    ]
    assert (found[0] == found[1]).all()
