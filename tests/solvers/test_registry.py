"""A loss and a domain of one's own: registered once, known to models and the command line."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import dpverify as dpv
import solvers
from dpverify.arrays import Floats
from dpverify.cli import run
from dpverify.errors import InvalidParameter, NotSupported
from solvers import registry
from solvers.domains import Domain
from solvers.losses import Logistic, Squared
from solvers.losses.base import Loss, TwoLines

BUDGET = dpv.ApproxDP(epsilon=2.0, delta=1e-5)


def of_the_recipe() -> Loss:
    """The loss of CONTRIBUTING.md, registered by its own last line."""
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    block = text.split("```python title=loss\n")[1].split("```")[0]
    recipe = ModuleType("recipe")
    exec(block, recipe.__dict__)  # noqa: S102
    return registry.LOSSES["log-cosh"]


@dataclass(frozen=True)
class Steep(TwoLines):
    """max(0, 1 − y·s/2): a hinge of half the slope."""

    name = "half-hinge"
    labels = "signs"
    monotone = True
    steepest = 0.5

    def corners(self, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:
        signs = np.asarray(labels, np.float64)
        return 2.0 * signs, np.where(signs > 0, -0.5, 0.0), np.where(signs > 0, 0.0, 0.5)


@dataclass(frozen=True)
class Orthant(Domain):
    """0 ≤ θ ≤ 1 in every coordinate."""

    name = "unit-orthant"
    bounded = True

    def diameter(self, dimension: int) -> float:
        return math.nextafter(math.sqrt(dimension), math.inf)

    def largest_norm(self, dimension: int | None = None) -> float:
        return self.diameter(dimension or 1)

    def project(self, points: ArrayLike) -> Floats:
        return np.clip(np.asarray(points, np.float64), 0.0, 1.0)

    def constraints(self, variable: Any) -> list[Any]:  # noqa: ANN401
        return [variable >= 0, variable <= 1]


@pytest.fixture(autouse=True)
def unchanged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The registry as it was, after each test."""
    monkeypatch.setattr(registry, "LOSSES", dict(registry.LOSSES))
    monkeypatch.setattr(registry, "DOMAINS", dict(registry.DOMAINS))
    monkeypatch.setattr("solvers.estimators.LOSSES", registry.LOSSES)
    return iter([None])


def line(records: int = 3000) -> tuple[Floats, Floats]:
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, (records, 2))
    return rows, rows[:, 0] - 0.5 * rows[:, 1]


@pytest.mark.false_alarm(1e-9)
def test_an_own_regression_loss_is_fitted_by_name() -> None:
    of_the_recipe()
    rows, targets = line()
    for method in ("auto", "output", "gradient"):
        model = solvers.PrivateRegressor(
            loss="log-cosh",
            budget=BUDGET,
            norm_bound=1.0,
            label_bound=1.0,
            relation=dpv.Relation.REPLACE_ONE,
            method=method,
            random_state=0,
        ).fit(rows, targets)
        assert model.claim_.guarantee == BUDGET
        assert model.coef_[0] > model.coef_[1]  # by 1.35 ± 0.21 over seeds for "output", or more
    assert model.method_ == "gradient"


@pytest.mark.false_alarm(1e-9)
def test_an_own_loss_with_a_corner_is_certified() -> None:
    """Its minima come from its corners alone: no values, slopes or cvxpy expression are written."""
    solvers.register(Steep())
    rows, targets = line(400)
    model = solvers.PrivateClassifier(
        loss="half-hinge",
        budget=dpv.PureDP(epsilon=20.0),
        norm_bound=1.0,
        relation="replace-one",
        ridge=5.0,
        random_state=0,
    ).fit(rows, targets > 0)
    assert model.method_ == "output"
    assert model.certificate_ is not None
    assert model.score(rows, targets > 0) > 0.8


@pytest.mark.false_alarm(1e-9)
def test_an_own_domain_is_kept_by_gradient_methods_only() -> None:
    solvers.register(Orthant())
    rows, targets = line()
    model = solvers.PrivateRegressor(
        loss="squared",
        domain="unit-orthant",
        budget=BUDGET,
        norm_bound=1.0,
        label_bound=1.0,
        relation="replace-one",
        method="gradient",
        fit_intercept=False,
        random_state=0,
    ).fit(rows, targets)
    assert (model.coef_ >= 0.0).all()
    assert model.coef_[0] > 0.15  # 0.283 ± 0.014 over seeds
    with pytest.raises(NotSupported, match="domain='unit-orthant' must be known to ball arith"):
        model.set_params(method="output").fit(rows, targets)


def test_the_command_line_knows_registered_losses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_the_recipe()
    rows, targets = line(500)
    table = np.column_stack([rows, targets])
    data = tmp_path / "data.csv"
    np.savetxt(data, table, delimiter=",", header="a,b,y", comments="", fmt="%.6f")
    page = tmp_path / "page.html"
    words = ["--target", "y", "--loss", "log-cosh", "--epsilon", "5", "--norm-bound", "1"]
    words += ["--label-bound", "1", "--seed", "0", "--json", "--report", str(page)]
    assert run(["fit", str(data), *words]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["loss"] == "log-cosh"
    assert shown["method"] == "objective"
    assert "log-cosh" in page.read_text(encoding="utf-8")


class _Fewer(Loss):
    name = "fewer"
    monotone = True

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        raise NotImplementedError


class _NoCorners(TwoLines):
    name = "none"
    labels = "signs"
    monotone = True
    steepest = 1.0


class _Nowhere(Domain):
    name = "nowhere"
    bounded = True


@pytest.mark.parametrize(
    ("half", "missing"),
    [
        (_Fewer, "curvatures, labels, precise, sharpness, slopes, steepest"),
        (_NoCorners, "corners"),
        (_Nowhere, "constraints, diameter, largest_norm, project"),
    ],
)
def test_half_written_types_are_refused_by_what_is_missing(half: Any, missing: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=f"=_.* must define {missing}$"):
        half()


@dataclass(frozen=True)
class Monotone(Squared):
    """Squares that claim to be monotone."""

    name = "monotone"
    monotone = True


@dataclass(frozen=True)
class Wrong(Logistic):
    """The logistic loss with one mistake."""

    name: str = "wrong"
    steepest: float = 1.0
    sharpness: float = 0.25
    sign: float = 1.0

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return self.sign * Logistic.slopes(self, scores, labels)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (Wrong, "thing=Wrong must be an instance"),
        (3, "must be a Loss or a Domain"),
        (solvers.Softmax(3), "labels='classes' must be"),
        (solvers.Squared(), None),
        (Wrong(name="squared"), "name='squared' must be new"),
        (Wrong(steepest=0.5), "slopes at most `steepest`"),
        (Wrong(sharpness=0.1), "curvatures at most `sharpness`"),
        (Wrong(sign=-1.0), "slopes that do not fall"),
        (Wrong(sign=0.5), "slopes that are those of its values"),
        (Monotone(), "slopes of one sign"),
    ],
)
def test_wrong_constants_are_refused_where_they_show(thing: Any, message: str | None) -> None:  # noqa: ANN401
    if message is None:
        assert solvers.register(thing) is thing
        return
    with pytest.raises(InvalidParameter, match=message):
        solvers.register(thing)
