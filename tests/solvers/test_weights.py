"""Records with weights: losses, minima, claims, and what one weighted record can do."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from scipy.sparse import csr_matrix

import dpverify as dpv
from dpverify.errors import InvalidParameter
from solvers import (
    Chunks,
    PrivateClassifier,
    PrivateForest,
    PrivateGridSearch,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivatePoissonRegression,
    PrivateRegressor,
    PrivateSelection,
    PrivateStandardizer,
    PrivateSVM,
)
from solvers.bounds import Bounds
from solvers.chunks import split_labels, weighted_labels
from solvers.domains import Box, WholeSpace
from solvers.losses import Absolute, Hinge, HuberHinge, Logistic, Loss, Poisson, Softmax
from solvers.losses.weighted import weighted
from solvers.minimize.precise import LossTerm, PreciseSum, minimize_precisely
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from solvers.output_perturbation import OutputPerturbation
from solvers.privacy.clipped_sums import ClippedSums
from solvers.privacy.weights import WEIGHTS_BELONG

PURE, APPROX = dpv.PureDP(epsilon=1.0), dpv.ApproxDP(epsilon=1.0, delta=1e-3)
ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
SIGNS = Bounds(norm=1.0, labels=(-1, 1), weighted=True)
MODELS: list[tuple[type[Any], dict[str, Any], list[str]]] = [
    (PrivateLogisticRegression, {}, ["objective", "output", "gradient", "sgd"]),
    (PrivateSVM, {}, ["objective", "output", "gradient", "sgd"]),
    (PrivateClassifier, {"loss": "hinge", "ridge": 5.0}, ["output", "gradient"]),
    (PrivatePoissonRegression, {"label_bound": 3.0}, ["objective", "output", "gradient", "sgd"]),
    (PrivateRegressor, {"label_bound": 3.0, "loss": "absolute", "ridge": 5.0}, ["output"]),
]
FITS = [(kind, {**more, "method": m}) for kind, more, methods in MODELS for m in methods]


def records(n: int = 200, classes: int = 2) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    rows = rng.uniform(-0.5, 0.5, (n, 3))
    cuts = [0.0] if classes == 2 else [-0.2, 0.2]
    return rows, np.digitize(rows[:, 0], cuts), rng.integers(0, 5, n)


def model(kind: type[Any], **more: Any) -> Any:  # noqa: ANN401
    given = {"budget": PURE, "norm_bound": 1.0, "relation": ADD, "records": 200, "random_state": 1}
    return kind(**given | more)


# by hand


def test_weights_multiply_losses_slopes_and_curvatures() -> None:
    labels = weighted_labels([1.0, -1.0], [0.5, 0.25])
    loss = weighted(Logistic())
    assert loss.values([0.0, 0.0], labels) == pytest.approx([np.log(2) / 2, np.log(2) / 4])
    assert loss.slopes([0.0, 0.0], labels).tolist() == [-0.25, 0.125]
    assert loss.curvatures([0.0, 0.0], labels).tolist() == [0.125, 0.0625]
    assert (loss.lipschitz(SIGNS), loss.smoothness(SIGNS)) == (1.0, 0.25)
    both = weighted(Softmax(2))
    pairs = weighted_labels([0.0, 1.0], [0.5, 1.0])
    assert both.slopes(np.zeros((2, 2)), pairs).tolist() == [[-0.25, 0.25], [0.5, -0.5]]
    assert both.curvatures(np.zeros((2, 2)), pairs)[0].tolist() == [
        [0.125, -0.125],
        [-0.125, 0.125],
    ]
    assert weighted(Hinge()).slopes([0.0], weighted_labels([1.0], [0.5])).tolist() == [-0.5]


@pytest.mark.parametrize(
    "loss", [Logistic(), HuberHinge(), Hinge(), Absolute(), Poisson(2.0), Softmax(3)],
    ids=lambda loss: loss.name,
)  # fmt: skip
def test_a_weight_is_so_many_repetitions_of_a_record(loss: Loss) -> None:
    """Half weights and a ridge of 1 against repetitions and a ridge of 2, to what is certified."""
    rows, labels, _ = records(30, 3 if loss.labels == "classes" else 2)
    times = np.arange(30) % 3
    y = (2.0 * labels - 1.0) if loss.labels != "classes" else labels.astype(float)
    values = {"signs": (-1, 1), "classes": (0, 1, 2), "bounded": None}[loss.labels]
    bounds = Bounds(norm=1.0, labels=values, label_bound=None if values else 1.0)
    plain = Problem(loss=loss, bounds=bounds, regularizer=Ridge(2.0))
    given = Problem(
        loss=weighted(loss),
        bounds=Bounds(norm=1.0, labels=values, label_bound=bounds.label_bound, weighted=True),
        regularizer=Ridge(1.0),
    )
    one = plain.minimize((np.repeat(rows, times, axis=0), np.repeat(y, times)), within=1e-6)
    other = given.minimize((rows, weighted_labels(y, times / 2.0)), within=1e-6)
    assert np.linalg.norm(one.points - other.points) <= 2e-6


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.integers(0, 2**32 - 1))
def test_certificates_hold_with_weights(weights: list[float], seed: int) -> None:
    """The distance that Newton's method certifies is not below that to the minimum in balls."""
    rng = np.random.default_rng(seed)
    rows, signs = rng.uniform(-0.5, 0.5, (4, 2)), rng.choice([-1.0, 1.0], 4)
    labels = weighted_labels(signs, weights)
    problem = Problem(loss=weighted(Logistic()), bounds=SIGNS, regularizer=Ridge(0.25))
    linear = rng.normal(size=2)
    solution = problem.minimize((rows, labels), linear)
    sums = PreciseSum([LossTerm(problem.loss, rows, labels)], 0.25, linear.tolist())
    exact, off = minimize_precisely(sums, solution.points[0].tolist(), distance=1e-20)
    away = np.linalg.norm(solution.points[0] - np.array([float(x.mid()) for x in exact]))
    assert away <= solution.certificate.distance + off + 1e-17


@dataclass(frozen=True)
class Declares(HuberHinge):
    """A loss whose constants are its own: larger ones than the methods of all losses give it."""

    sharpness = np.inf

    def slope_bound(self, bounds: Bounds, *_: object) -> float:
        self.check_bounds(bounds)
        return 3.0

    def curvature_bound(self, bounds: Bounds) -> float:
        self.check_bounds(bounds)
        return 5.0

    def lipschitz(self, bounds: Bounds, *_: object) -> float:
        return 7.0 * self.slope_bound(bounds)

    def smoothness(self, bounds: Bounds) -> float:
        return 11.0 * self.curvature_bound(bounds)


def test_constants_that_a_loss_declares_are_those_with_weights() -> None:
    loss = weighted(Declares(width=0.5))
    found = (
        loss.slope_bound(SIGNS), loss.curvature_bound(SIGNS), loss.lipschitz(SIGNS),
        loss.smoothness(SIGNS),
    )  # fmt: skip
    assert found == (3.0, 5.0, 21.0, 55.0)
    rows, y, weights = records()
    made = {"loss": Declares(width=0.5), "weight_bound": 4.0, "method": "objective"}
    fitted = model(PrivateClassifier, budget=APPROX, **made).fit(rows, y, weights)
    assert np.isfinite(fitted.coef_).all()
    for ask in (loss.slope_bound, loss.curvature_bound, loss.lipschitz, loss.smoothness):
        with pytest.raises(InvalidParameter, match="weighted=False must be True"):
            ask(SIGNS.unweighted())


# no weights at all, and weights of 1 within 1, are the same to the last bit


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "more"), FITS, ids=str)
@pytest.mark.parametrize("budget", [PURE, APPROX], ids=["pure", "approximate"])
def test_weights_of_one_change_nothing(kind: type[Any], more: dict[str, Any], budget: Any) -> None:  # noqa: ANN401
    if kind is PrivateLogisticRegression and more["method"] == "objective":
        # By default the ridge of unweighted records depends on their number.
        more = {**more, "ridge": 8.0}
    for classes in (2, 3) if kind in {PrivateLogisticRegression, PrivateSVM} else (2,):
        rows, y, weights = records(classes=classes)
        plain = model(kind, budget=budget, **more).fit(rows, y)
        for ones in (None, np.ones(200)):
            same = model(kind, budget=budget, weight_bound=1.0, **more).fit(rows, y, ones)
            assert (same.coef_ == plain.coef_).all()
            assert np.array_equal(same.intercept_, plain.intercept_)
        other = model(kind, budget=budget, weight_bound=4.0, **more).fit(rows, y, weights)
        assert (other.coef_ != plain.coef_).any()
        assert other.claim_.guarantee == plain.claim_.guarantee
        assert WEIGHTS_BELONG in other.claim_.assumes
        assert WEIGHTS_BELONG not in plain.claim_.assumes


def test_sparse_rows_and_columns_of_labels_take_weights_as_well() -> None:
    rows, y, weights = records(classes=3)
    names = np.array(["low", "middle", "high"])[y]
    made = {"weight_bound": 4.0, "method": "gradient"}
    dense = model(PrivateLogisticRegression, **made).fit(rows, names, weights)
    sparse = model(PrivateLogisticRegression, **made).fit(csr_matrix(rows), names, weights)
    assert (dense.coef_ == sparse.coef_).all()


# what one record with a weight can do is what one without can


def objective(
    budget: Any,  # noqa: ANN401
    relation: dpv.Relation,
    loss: Loss,
    ridge: float = 0.5,
) -> ObjectivePerturbation:
    problem = Problem(loss=weighted(loss), bounds=SIGNS, regularizer=Ridge(ridge))
    return ObjectivePerturbation(
        problem=problem, budget=budget, relation=relation, arithmetic="real"
    )


def neighbors(relation: dpv.Relation) -> list[tuple[Any, Any]]:
    """Of one column: two records and one more with any weight, against none or another."""
    rest, ends = [(1.0, -1.0, 0.5), (-0.5, 1.0, 1.0)], []
    for one in product((1.0, 0.5), (-1.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0)):
        others = [(1.0, 1.0, 1.0), (1.0, -1.0, 0.5)] if relation is REPLACE else [None]
        for other in others:
            ends += [(with_(rest, one), with_(rest, other)), (with_(rest, other), with_(rest, one))]
    return ends


def with_(rest: list[tuple[float, float, float]], more: tuple[float, float, float] | None) -> Any:  # noqa: ANN401
    table = np.array([*rest, *([more] if more else [])])
    return table[:, :1], weighted_labels(table[:, 1], table[:, 2])


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(width=0.5)], ids=lambda loss: loss.name)
def test_exact_losses_stay_within_a_pure_budget(loss: Loss, relation: dpv.Relation) -> None:
    private = objective(dpv.PureDP(epsilon=2.0), relation, loss)
    theta = np.linspace(-40.0, 40.0, 4001)[:, None]
    worst = max(
        float((private.log_density(theta, left) - private.log_density(theta, right)).max())
        for left, right in neighbors(relation)
    )
    assert 1.0 < worst <= 2.0 + 1e-9


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(width=0.5)], ids=lambda loss: loss.name)
def test_exact_profiles_stay_within_an_approximate_budget(
    loss: Loss, relation: dpv.Relation
) -> None:
    """At the budget's own ε, and at one where a record shows more."""
    private = objective(dpv.ApproxDP(epsilon=1.0, delta=1e-3), relation, loss, ridge=4.0)
    sigma = private.noise(1).scale
    theta = np.linspace(-30.0, 30.0, 12_001)
    pairs = [
        [np.exp(private.log_density(theta[:, None], side)) for side in both]
        for both in neighbors(relation)
    ]
    for epsilon, least in ((1.0, 0.0), (0.25, 1e-3)):
        allowed = private.setting(1).gaussian(sigma, epsilon).guarantee
        assert isinstance(allowed, dpv.ApproxDP)
        deltas = [trapezoid(np.maximum(p - np.exp(epsilon) * q, 0.0), theta) for p, q in pairs]
        assert least <= max(deltas) <= allowed.delta * (1.0 + 1e-6)


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Poisson(2.0)], ids=lambda loss: loss.name)
def test_minima_move_no_further_than_output_perturbation_pays_for(loss: Loss) -> None:
    signs = loss.labels == "signs"
    bounds = SIGNS if signs else Bounds(norm=1.0, label_bound=2.0, weighted=True)
    problem = Problem(loss=weighted(loss), bounds=bounds, regularizer=Ridge(0.5))
    for relation in (ADD, REPLACE):
        private = OutputPerturbation(problem=problem, budget=PURE, relation=relation)
        moved = [
            abs(float(np.subtract(*(problem.minimize(d, within=1e-6).points[0, 0] for d in both))))
            for both in neighbors(relation)
        ]
        assert 0.1 < max(moved) <= private.exact_sensitivity(1) + 2e-6


@pytest.mark.parametrize("loss", [Logistic(), Softmax(2)], ids=lambda loss: loss.name)
@given(
    weight=st.floats(0, 1),
    x=st.floats(-0.7, 0.7),
    theta=st.floats(-50, 50),
    clip=st.sampled_from([0.125, 0.5, 2.0]),
)
def test_gradients_are_clipped_behind_their_weights(
    loss: Loss, weight: float, x: float, theta: float, clip: float
) -> None:
    """The weighted gradient, or that shortened to the clipping norm, and never longer."""
    row = np.array([[x, 0.7]])
    label = weighted_labels([1.0], [weight])
    point = np.array([[theta, -theta]] if loss.labels == "signs" else [[theta, 0.5, -theta, 1.0]])
    sums = ClippedSums.of(weighted(loss), (row, label), norm=1.0, clip=clip)
    found = np.ldexp(sums.total(point)[0].astype(float), sums.exponent)
    scores = row @ point.reshape(2, -1)
    slope = weighted(loss).slopes(scores[:, 0] if loss.labels == "signs" else scores, label)
    exact = (row.T * slope).ravel()
    length = float(np.linalg.norm(exact))
    wanted = exact * min(1.0, clip / length) if length else exact
    assert np.linalg.norm(found) <= clip
    assert found == pytest.approx(wanted, abs=1e-5)


# refusals


def test_weights_outside_their_bound_are_refused() -> None:
    rows, y, weights = records()
    fit = model(PrivateLogisticRegression, weight_bound=2.0)
    with pytest.raises(InvalidParameter, match=r"between 0 and weight_bound=2\.0, or be clipped"):
        fit.fit(rows, y, weights)
    with pytest.raises(InvalidParameter, match="between 0 and weight_bound"):
        fit.fit(rows, y, -0.1 * weights)
    with pytest.raises(InvalidParameter, match="weight_bound=None must be declared"):
        model(PrivateSVM).fit(rows, y, weights)
    with pytest.raises(InvalidParameter, match="sample_weight has 3 entries and X 200 rows"):
        fit.fit(rows, y, [1.0, 1.0, 1.0])
    with pytest.raises(InvalidParameter, match="sample_weight must be finite"):
        fit.fit(rows, y, np.where(weights == 0, np.nan, 1.0))
    clipped = model(PrivateLogisticRegression, weight_bound=2.0, clip=True)
    assert np.isfinite(clipped.fit(rows, y, weights).coef_).all()


def test_what_is_wrong_with_weights_is_said() -> None:
    rows, y, weights = records()
    fit = model(PrivateLogisticRegression, weight_bound=4.0)
    chunks = Chunks.arrays(rows, y)
    with pytest.raises(InvalidParameter, match="sample_weight=ndarray must not be given beside"):
        model(PrivateLogisticRegression, classes=(0, 1)).fit(chunks, None, weights)
    low = model(PrivateLogisticRegression, weight_bound=0.5)
    with pytest.raises(InvalidParameter, match=r"weight_bound=0\.5 must be at least 1 without"):
        low.fit(rows, y)
    assert np.isfinite(low.set_params(clip=True).fit(rows, y).coef_).all()
    with pytest.raises(InvalidParameter, match="sample_weight must be an array of numbers"):
        fit.fit(rows, y, [[1.0], [1.0, 2.0]])
    hidden = np.ma.masked_array(np.ones(200), mask=np.arange(200) == 7)
    for masked in (hidden, np.ma.masked_array(np.ones(200), mask=True)):
        with pytest.raises(InvalidParameter, match="sample_weight must be finite: it has masked"):
            fit.fit(rows, y, masked)
    assert np.isfinite(fit.fit(rows, y, np.ma.masked_array(np.ones(200))).coef_).all()


@pytest.mark.parametrize(
    "fit",
    [
        model(PrivateLogisticRegression, classes=(0, 1)),
        model(PrivateLinearRegression, label_bound=1.0),
        PrivateForest(budget=PURE, low=-1.0, high=1.0, classes=(0, 1), relation=ADD),
    ],
    ids=lambda fit: type(fit).__name__,
)
def test_labels_bring_no_weights_of_their_own(fit: Any) -> None:  # noqa: ANN401
    rows, y, _ = records()
    pairs = weighted_labels(y, np.ones(200))
    for data in ((rows, pairs), (Chunks.arrays(rows, pairs),)):
        with pytest.raises(InvalidParameter, match="weights stand in sample_weight"):
            fit.fit(*data)
    if isinstance(fit, PrivateLogisticRegression):
        with pytest.raises(InvalidParameter, match="weights stand in sample_weight"):
            fit.set_params(classes=None).fit(rows, pairs)


def test_searches_hand_weights_to_the_fits() -> None:
    """What is kept is the fit with weights; a model without them refuses, and so does a search."""
    rows, y, weights = records()
    inner = model(PrivateLogisticRegression, classes=(0, 1), weight_bound=4.0)
    candidates = [{"ridge": 1.0}, {"ridge": 2.0}]
    for method in ("splitting", "repetition"):
        found = []
        for some in (weights, 4 - weights, None):
            search = PrivateSelection(inner, candidates=candidates, method=method, random_state=0)
            found.append(search.fit(rows, y, sample_weight=some))
            assert WEIGHTS_BELONG in search.claim_.assumes
        assert (found[0].best_estimator_.coef_ != found[1].best_estimator_.coef_).any()
    grid = PrivateGridSearch(inner, {"ridge": [1.0, 2.0]}, random_state=0).fit(rows, y, weights)
    assert WEIGHTS_BELONG in grid.claim_.assumes
    with pytest.raises(InvalidParameter, match="sample_weight has 3 entries"):
        grid.fit(rows, y, [1.0, 1.0, 1.0])
    median = PrivateMedian(budget=PURE, low=0.0, high=1.0, relation=ADD)
    search = PrivateSelection(median, candidates=[{"quantile": 0.5}, {"quantile": 0.9}])
    scaler = PrivateStandardizer(budget=PURE, low=-1.0, high=1.0, relation=ADD)
    for each in (median, scaler, search):
        with pytest.raises(
            InvalidParameter, match=r"must not be given: Private.* takes no weights"
        ):
            each.fit(rows, y, sample_weight=weights)
    for each in (median, scaler):
        with pytest.raises(InvalidParameter, match="sample_weight=ndarray must not be given"):
            each.fit(rows, y, weights)
        each.fit(rows, y, sample_weight=None)


def test_losses_and_bounds_must_agree_about_weights() -> None:
    plain = Bounds(norm=1.0, labels=(-1, 1))
    for loss, bounds in ((Logistic(), SIGNS), (weighted(Logistic()), plain)):
        with pytest.raises(InvalidParameter, match="weighted="):
            Problem(loss=loss, bounds=bounds, regularizer=Ridge(1.0))
    with pytest.raises(InvalidParameter, match="weighted=True must come with a weighted loss"):
        Softmax(2).check_bounds(Bounds(norm=1.0, labels=(0, 1), weighted=True))
    with pytest.raises(InvalidParameter, match="y of type float64 must be weighted labels"):
        SIGNS.prepare([[1.0]], [1.0])
    with pytest.raises(InvalidParameter, match="every weight of y must lie between 0 and 1"):
        SIGNS.prepare([[1.0]], weighted_labels([1.0], [1.5]))
    _, clipped = SIGNS.clip([[1.0]], weighted_labels([1.0], [1.5]))
    assert split_labels(clipped)[1].tolist() == [1.0]


def test_domains_take_weights_as_well() -> None:
    """A minimum on a box, with a corner or smooth, is that of repeated records."""
    rows, labels, _ = records(12)
    y, times = 2.0 * labels - 1.0, np.arange(12) % 3
    for loss, domain in product((Logistic(), Hinge()), (Box(-0.1, 0.1), WholeSpace())):
        plain = Problem(
            loss=loss, bounds=SIGNS.unweighted(), regularizer=Ridge(2.0), domain=domain
        ).minimize((np.repeat(rows, times, axis=0), np.repeat(y, times)), within=1e-5)
        given = Problem(
            loss=weighted(loss), bounds=SIGNS, regularizer=Ridge(1.0), domain=domain
        ).minimize((rows, weighted_labels(y, times / 2.0)), within=1e-5)
        assert np.linalg.norm(plain.points - given.points) <= 2e-5
