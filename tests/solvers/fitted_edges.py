"""Models fitted on the edge of their bounds: every estimator, method, relation and kind of data.

What is refused must be refused from public numbers alone, so a model either ends on a dataset, on
a neighbor of it and on one that shares nothing with it but the shape, or is refused on all three
in the same words. Where fits end, everything released is finite.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import solvers
from dpverify.arrays import Floats
from dpverify.errors import DPVerifyError
from dpverify.guarantees import ApproxDP, PureDP
from dpverify.neighbors import Relation
from solvers.domains import Ball, Box
from tests.solvers.edges import KINDS, edge_rows

Data: TypeAlias = tuple[Floats, Any]
Draw: TypeAlias = Callable[[np.random.Generator, float], tuple[Any, str]]

# A few budgets and record numbers, so that noise need not be calibrated anew for every case.
BUDGETS = (
    PureDP(epsilon=0.01),
    PureDP(epsilon=1.0),
    PureDP(epsilon=30.0),
    ApproxDP(epsilon=0.1, delta=1e-9),
    ApproxDP(epsilon=1.0, delta=1e-5),
    ApproxDP(epsilon=20.0, delta=1e-3),
)
COUNTS = (1, 7, 40, 1000)
LABEL_BOUND = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class FittedCase:
    """A model with nothing fitted yet, and datasets that it may not treat differently."""

    model: Any
    datasets: tuple[Data, ...]
    seed: int

    def __str__(self) -> str:
        n, d = self.datasets[0][0].shape
        return f"fitted case {self.seed}: {self.model!r} on {n} records of {d} features"


def fitted_case(seed: int) -> FittedCase:
    """The case of a seed."""
    rng = np.random.default_rng([1729, seed])
    norm = 10.0 ** rng.uniform(-12.0, 12.0)
    model, labels = MODELS[rng.integers(len(MODELS))](rng, norm)
    relation = list(Relation)[rng.integers(2)]
    budget = BUDGETS[rng.integers(len(BUDGETS))]
    model.set_params(random_state=seed, relation=relation, budget=budget)
    n = _records(rng)
    replaced = relation is Relation.REPLACE_ONE
    n = max(n, 1) if replaced else n
    if replaced and "records" in model.get_params():
        model.set_params(records=None)  # it is public, and read off the data
    d = int(rng.choice([1, 2, 3, 8, 60]))
    data = _data(rng, labels, norm, (n, d))
    neighbor = _replaced(rng, labels, norm, data) if replaced else _more(rng, labels, norm, data)
    other = _data(rng, labels, norm, (n if replaced else int(rng.integers(4)), d))
    return FittedCase(model, (data, neighbor, other), seed)


def _records(rng: np.random.Generator) -> int:
    most = 10_000 if rng.random() < 0.03 else 50
    return int(rng.choice([0, 1, 2, 3, int(rng.integers(most + 1)), int(rng.integers(most + 1))]))


def _data(rng: np.random.Generator, labels: str, norm: float, shape: tuple[int, int]) -> Data:
    rows = edge_rows(rng, KINDS[rng.integers(len(KINDS))], norm, shape)
    numbers = [-LABEL_BOUND, LABEL_BOUND, 0.0, float(rng.uniform(-LABEL_BOUND, LABEL_BOUND))]
    sets = {"two": [0, 1], "three": [0, 1, 2], "counts": np.abs(numbers)}
    allowed = np.array(sets.get(labels, numbers))
    if rng.random() < 0.4:
        return rows, np.full(shape[0], allowed[rng.integers(len(allowed))])
    return rows, rng.choice(allowed, shape[0])


def _more(rng: np.random.Generator, labels: str, norm: float, data: Data) -> Data:
    """One record less, or one more at the edge."""
    rows, targets = data
    if len(rows) and rng.random() < 0.5:
        gone = int(rng.integers(len(rows)))
        return np.delete(rows, gone, axis=0), np.delete(targets, gone)
    more, label = _data(rng, labels, norm, (1, rows.shape[1]))
    return np.concatenate([rows, more]), np.concatenate([targets, label])


def _replaced(rng: np.random.Generator, labels: str, norm: float, data: Data) -> Data:
    rows, targets = data[0].copy(), data[1].copy()
    at = int(rng.integers(len(rows)))
    more, label = _data(rng, labels, norm, (1, rows.shape[1]))
    rows[at], targets[at] = more[0], label[0]
    return rows, targets


# which models there are


def _declared(rng: np.random.Generator, norm: float, methods: tuple[str, ...]) -> dict[str, Any]:
    """What linear models take; a ridge at any scale, or none."""
    ridge = norm**2 * 10.0 ** rng.uniform(-6.0, 6.0) if rng.random() < 0.4 else None
    count = int(rng.choice(COUNTS)) if rng.random() < 0.9 else None
    return {
        "norm_bound": norm,
        "method": str(rng.choice(methods)),
        "ridge": ridge,
        "records": count,
        "fit_intercept": bool(rng.random() < 0.7),
    }


_CLASSIFIED = ("auto", "objective", "output", "gradient", "sgd")


def _classes(rng: np.random.Generator) -> tuple[tuple[int, ...], str]:
    return ((0, 1), "two") if rng.random() < 0.6 else ((0, 1, 2), "three")


def _logistic(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    classes, labels = _classes(rng)
    given = _declared(rng, norm, _CLASSIFIED)
    return solvers.PrivateLogisticRegression(classes=classes, **given), labels


def _svm(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    classes, labels = _classes(rng)
    width = float(rng.choice([1e-3, 0.5]))
    given = _declared(rng, norm, _CLASSIFIED)
    return solvers.PrivateSVM(classes=classes, width=width, **given), labels


def _classifier(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    loss = str(rng.choice(["hinge", "huber-hinge", "logistic"]))
    radius = 10.0 ** rng.uniform(-2.0, 2.0) / norm
    domain = (None, Ball(radius), Box(-radius, 2.0 * radius), "simplex")[rng.integers(4)]
    given = _declared(rng, norm, _CLASSIFIED)
    return solvers.PrivateClassifier(loss=loss, domain=domain, classes=(0, 1), **given), "two"


def _least_squares(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    radius = 10.0 ** rng.uniform(-2.0, 2.0) / norm if rng.random() < 0.6 else None
    given = _declared(rng, norm, ("auto", "statistics", "output", "gradient", "sgd"))
    model = solvers.PrivateLinearRegression(label_bound=LABEL_BOUND, radius=radius, **given)
    return model, "numbers"


def _regressor(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    loss = str(rng.choice(["squared", "absolute"]))
    radius = 10.0 ** rng.uniform(-2.0, 2.0) / norm
    domain = (None, Ball(radius), Box(-radius, 2.0 * radius))[rng.integers(3)]
    given = _declared(rng, norm, _CLASSIFIED)
    model = solvers.PrivateRegressor(loss=loss, domain=domain, label_bound=LABEL_BOUND, **given)
    return model, "numbers"


def _median(rng: np.random.Generator, norm: float) -> tuple[Any, str]:  # noqa: ARG001
    quantile = float(rng.choice([0.01, 0.1, 0.5, 0.99]))
    model = solvers.PrivateMedian(low=-LABEL_BOUND, high=LABEL_BOUND, quantile=quantile)
    return model, "numbers"


def _bayes(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    classes, labels = _classes(rng)
    return solvers.PrivateNaiveBayes(low=-norm, high=norm, classes=classes), labels


def _standardized(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    """Standardized by itself; what it makes of rows is checked, and there is nothing to predict."""
    flags = {"with_mean": bool(rng.random() < 0.5), "with_std": bool(rng.random() < 0.5)}
    return solvers.PrivateStandardizer(low=-norm, high=norm, **flags), "two"


def _poisson(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    largest = 10.0 ** rng.uniform(-6.0, 6.0) if rng.random() < 0.6 else None
    given = _declared(rng, norm, _CLASSIFIED)
    model = solvers.PrivatePoissonRegression(label_bound=LABEL_BOUND, largest_mean=largest, **given)
    return model, "counts"


def _components(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    kept = 1 if rng.random() < 0.3 else None
    return solvers.PrivatePCA(norm_bound=norm, n_components=kept), "two"


def _clusters(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    counts = {"n_clusters": int(rng.choice([1, 2, 9])), "max_iter": int(rng.choice([1, 3]))}
    return solvers.PrivateKMeans(low=-norm, high=norm, **counts), "two"


def _forest(rng: np.random.Generator, norm: float) -> tuple[Any, str]:
    classes, labels = _classes(rng)
    sizes = {"n_estimators": int(rng.choice([1, 5])), "max_depth": int(rng.choice([1, 4]))}
    return solvers.PrivateForest(low=-norm, high=norm, classes=classes, **sizes), labels


MODELS: list[Draw] = [
    *(_logistic, _svm, _classifier, _least_squares, _regressor, _median, _bayes, _standardized),
    *(_poisson, _components, _clusters, _forest),
]


# what must hold


def check_fitted(each: FittedCase) -> str:
    """Raise unless all fits end, or none does, for one and the same public reason."""
    found = [_outcome(each.model, data) for data in each.datasets]
    if len(set(found)) > 1:
        raise AssertionError(f"neighbors were told apart by a refusal: {found}")
    return found[0]


def _outcome(model: Any, data: Data) -> str:  # noqa: ANN401
    """ "ends", or the words of the refusal; anything but a refusal of ours is a defect."""
    rows, labels = data
    try:
        model.fit(rows, labels)
    except DPVerifyError as refusal:
        return f"{type(refusal).__name__}: {refusal}"
    released = [value for name, value in vars(model).items() if name in _RELEASED]
    assert released
    assert all(np.isfinite(np.asarray(value, np.float64)).all() for value in released)
    if len(rows):
        seen = model.predict if hasattr(model, "predict") else model.transform
        assert len(seen(rows[:3])) == len(rows[:3])
    return "ends"


_RELEASED = {
    *("coef_", "intercept_", "median_", "theta_", "class_prior_", "mean_", "scale_"),
    *("components_", "explained_variance_", "cluster_centers_", "counts_"),
}
