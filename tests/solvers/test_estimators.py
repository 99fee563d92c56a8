"""The private models of scikit-learn's kind: what they declare, claim, refuse and predict."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpverify as dpv
from dpverify.arrays import Array
from dpverify.errors import DPVerifyError, InvalidParameter
from solvers import (
    AllocatedBatches,
    Bounds,
    Chunks,
    Descent,
    Logistic,
    PoissonBatches,
    PrivateClassifier,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateSVM,
    defaults,
)
from solvers.estimators.classifiers import LABELS_READ_OFF
from solvers.minimize.problem import Problem
from solvers.minimize.regularizers import Ridge
from solvers.objective_perturbation import ObjectivePerturbation
from tests.solvers.scikit_learn import NO_WEIGHT, ROUNDED

Budget: TypeAlias = dpv.PureDP | dpv.ApproxDP
Classifier: TypeAlias = PrivateLogisticRegression | PrivateSVM

PURE = dpv.PureDP(epsilon=1.0)
APPROX = dpv.ApproxDP(epsilon=1.0, delta=1e-6)
LARGE = dpv.PureDP(epsilon=200.0)  # the checks of scikit-learn are about interface, not noise
DECLARED: dict[str, Any] = {"budget": PURE, "norm_bound": 1.0, "relation": dpv.Relation.ADD_REMOVE}
REGRESSION = DECLARED | {"label_bound": 1.0}
MEDIAN = {"budget": PURE, "low": -1.0, "high": 1.0, "relation": dpv.Relation.ADD_REMOVE}


def halves(n: int = 400, seed: int = 0) -> tuple[Array, Array]:
    """Points in a square, labeled by the side they are on."""
    rows = np.random.default_rng(seed).uniform(-0.7, 0.7, (n, 2))
    return rows, np.where(rows[:, 0] > 0, 1, -1)


# scikit-learn's own laws; none is excepted, but for weights. They want no records refused, which is
# right where their number is public: where it is private, none at all are a dataset like any other.


@pytest.mark.sampled(3)
@parametrize_with_checks(  # type: ignore[untyped-decorator]  # scikit-learn has no types
    [
        PrivateLogisticRegression(
            budget=LARGE, norm_bound=10.0, relation=dpv.Relation.REPLACE_ONE, clip=True,
            weight_bound=10.0, random_state=0,
        ),
        PrivateSVM(
            budget=LARGE, norm_bound=10.0, relation="replace-one", clip=True, weight_bound=10.0,
            random_state=0,
        ),
        PrivateClassifier(
            loss="huber-hinge", budget=LARGE, norm_bound=10.0, relation="replace-one", clip=True,
            weight_bound=10.0, random_state=0,
        ),
        PrivateLinearRegression(
            budget=dpv.PureDP(epsilon=1e6), norm_bound=30.0, label_bound=1e3, clip=True,
            relation="replace-one", weight_bound=10.0, random_state=0,
        ),
        PrivateMedian(
            budget=LARGE, low=-1e3, high=1e3, relation="replace-one", clip=True, random_state=0
        ),
    ],
    expected_failed_checks=lambda model: (
        {}
        if isinstance(model, PrivateMedian)
        else NO_WEIGHT | (ROUNDED if isinstance(model, PrivateLinearRegression) else {})
    ),
)  # fmt: skip
def test_laws_of_scikit_learn(estimator: object, check: Callable[[object], None]) -> None:
    check(estimator)


# what is claimed is what was declared, and the mechanism is the core's own


@pytest.mark.parametrize("relation", list(dpv.Relation))
@pytest.mark.parametrize("budget", [PURE, APPROX])
@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateSVM])
@pytest.mark.parametrize("method", ["auto", "objective", "output", "gradient", "sgd"])
def test_classifiers_claim_what_was_declared(
    kind: type[Classifier], method: str, budget: Budget, relation: dpv.Relation
) -> None:
    rows, y = halves(200)
    model = kind(
        budget=budget, norm_bound=1.0, relation=relation, method=method, classes=(-1, 1),
        records=200, random_state=0,
    ).fit(rows, y)  # fmt: skip
    assert model.claim_.guarantee == budget
    assert model.claim_.relation is relation
    assert model.claim_.theorem.proof is not None
    assert LABELS_READ_OFF not in model.claim_.assumes
    assert np.isfinite(model.coef_).all()
    solved = model.method_ in {"objective", "output"}
    assert (model.certificate_ is not None) is solved


@pytest.mark.parametrize("method", ["auto", "statistics", "output", "gradient", "sgd"])
@pytest.mark.parametrize("budget", [PURE, APPROX])
def test_regression_claims_what_was_declared(method: str, budget: Budget) -> None:
    rows, _ = halves(200)
    model = PrivateLinearRegression(
        budget=budget, norm_bound=1.0, label_bound=1.0, relation="add-remove", method=method,
        radius=2.0, records=200, random_state=0,
    ).fit(rows, rows[:, 0])  # fmt: skip
    assert (model.claim_.guarantee, model.claim_.relation) == (budget, dpv.Relation.ADD_REMOVE)
    assert np.linalg.norm([*model.coef_, model.intercept_ / 0.25]) <= 2.0 + 1e-9


def test_weights_of_least_squares_are_repetitions_and_cost_no_more() -> None:
    """√w is rounded to 20 bits, so the statistics are the same to about that."""
    rows, _ = halves(200)
    weights = np.random.default_rng(0).integers(0, 5, 200)
    given = REGRESSION | {"budget": dpv.PureDP(epsilon=50.0), "weight_bound": 4.0}
    model = PrivateLinearRegression(**given, random_state=0)
    y = rows[:, 0]
    weighted = model.fit(rows, y, sample_weight=weights).coef_.copy()
    claim = model.claim_
    model.fit(np.repeat(rows, weights, axis=0), np.repeat(y, weights))
    assert weighted == pytest.approx(model.coef_, abs=1e-4)
    assert claim == model.claim_
    with pytest.raises(InvalidParameter, match="every weight must lie between 0 and weight_bound"):
        model.fit(rows, y, sample_weight=weights + 1.0)
    dense = model.fit(rows, y, sample_weight=weights).coef_
    assert (model.fit(csr_matrix(rows), y, sample_weight=weights).coef_ == dense).all()
    assert (model.fit(Chunks.arrays(rows, y, weights)).coef_ == dense).all()


@pytest.mark.parametrize("kind", [PrivateSVM, PrivateClassifier])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_classifier_has_probabilities(kind: type[Any], classes: int) -> None:
    rows = halves(600)[0]
    y = np.digitize(rows[:, 0], [0.0] if classes == 2 else [-0.2, 0.2])
    model = kind(**DECLARED | {"budget": LARGE}, random_state=0).fit(rows, y)
    shares = model.predict_proba(rows)
    assert shares.shape == (600, classes)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert (model.classes_[shares.argmax(axis=1)] == model.predict(rows)).all()


def test_a_fit_is_one_sample_of_objective_perturbation() -> None:
    """The constant feature is part of every row, of the norm bound and of the ridge."""
    rows, y = halves(50)
    model = PrivateLogisticRegression(**DECLARED, classes=(-1, 1), random_state=3).fit(rows, y)
    norm = np.hypot(1.0, 0.25) * (1 + 2.0**-40)
    ridge = defaults.ridge(PURE, dpv.Relation.ADD_REMOVE, dimension=3, norm=norm)
    problem = Problem(
        loss=Logistic(), bounds=Bounds(norm=norm, labels=(-1, 1)), regularizer=Ridge(ridge)
    )
    mechanism = ObjectivePerturbation(
        problem=problem, budget=PURE, relation=dpv.Relation.ADD_REMOVE
    )
    longer = np.column_stack([rows, np.full(len(rows), 0.25)])
    theta = mechanism.sample((longer, y), 1, rng=np.random.default_rng(3))[0]
    assert model.coef_.tolist() == [theta[:2].tolist()]
    assert model.intercept_.tolist() == [theta[2] * 0.25]
    assert model.ridge_ == ridge


def test_without_intercept_rows_are_left_as_they_are() -> None:
    rows, y = halves(50)
    for kind in (PrivateLogisticRegression, PrivateSVM):
        model = kind(**DECLARED, fit_intercept=False, random_state=0).fit(rows, y)
        assert (model.coef_.shape, model.intercept_.tolist()) == ((1, 2), [0.0])
        assert model.decision_function(np.zeros((3, 2))).tolist() == [0.0, 0.0, 0.0]
    regression = PrivateLinearRegression(**REGRESSION, fit_intercept=False).fit(rows, rows[:, 0])
    assert regression.predict(np.zeros((1, 2))).tolist() == [0.0]


def test_approx_with_no_delta_is_pure() -> None:
    rows, y = halves(50)
    declared = DECLARED | {"budget": dpv.ApproxDP(epsilon=1.0)}
    model = PrivateLogisticRegression(**declared, random_state=0).fit(rows, y)
    assert model.claim_.guarantee == PURE


def test_labels_read_off_the_data_are_in_the_claim() -> None:
    rows, y = halves(50)
    assert LABELS_READ_OFF in PrivateLogisticRegression(**DECLARED).fit(rows, y).claim_.assumes


def test_a_declared_label_need_not_occur() -> None:
    """An error would tell which labels occur."""
    rows, _ = halves(50)
    model = PrivateSVM(**DECLARED, classes=("no", "yes"), random_state=0)
    fitted = model.fit(rows, np.full(50, "yes"))
    assert fitted.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("budget", [dpv.PureDP(epsilon=30.0), dpv.ApproxDP(epsilon=30, delta=1e-6)])
def test_several_classes_of_a_support_vector_machine_share_the_budget(budget: Budget) -> None:
    rng = np.random.default_rng(0)
    corners = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    y = rng.integers(0, 3, 1500)
    rows = 0.6 * corners[y] + rng.normal(0, 0.05, (1500, 2))
    model = PrivateSVM(
        budget=budget, norm_bound=1.0, relation="add-remove", classes=(0, 1, 2), random_state=0
    ).fit(rows, y)
    assert model.claim_.guarantee == budget
    assert model.claim_.theorem.name == "basic-composition"
    assert any("objective-perturbation" in text for text in model.claim_.assumes)
    assert not model.joint_
    assert model.coef_.shape == (3, 2)
    assert model.predict_proba(rows).sum(axis=1) == pytest.approx(np.ones(1500))
    assert model.score(rows, y) > 0.95


@pytest.mark.parametrize(
    ("method", "theorem"),
    [
        ("objective", "objective-perturbation-softmax"),
        ("output", "output-perturbation"),
        ("gradient", "basic-composition"),
    ],
)
def test_all_classes_jointly_have_the_whole_budget(method: str, theorem: str) -> None:
    rng = np.random.default_rng(0)
    corners = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])
    y = rng.integers(0, 3, 1500)
    rows = 0.6 * corners[y] + rng.normal(0, 0.05, (1500, 2))
    budget = dpv.PureDP(epsilon=4.0)
    model = PrivateLogisticRegression(
        budget=budget, norm_bound=1.0, relation="replace-one", classes=(0, 1, 2), method=method,
        random_state=0,
    ).fit(rows, y)  # fmt: skip
    assert (model.joint_, model.method_) == (True, method)
    assert (model.claim_.guarantee, model.claim_.theorem.name) == (budget, theorem)
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 2), (3,))
    assert model.score(rows, y) > 0.95
    likely = model.predict_proba(rows)
    assert likely.sum(axis=1) == pytest.approx(np.ones(1500))
    assert (likely.argmax(axis=1) == model.predict(rows)).all()


@pytest.mark.parametrize(
    ("kind", "options", "method", "why"),
    [
        (PrivateLogisticRegression, {"records": 200}, "gradient", "are 53.6 to one, at most 1000"),
        (PrivateSVM, {"records": 200}, "gradient", "are 53.6 to one, at most 1000"),
        (PrivateLogisticRegression, {"records": 9000}, "objective", "more than 1000"),
        (PrivateLogisticRegression, {"records": 9000}, "objective", "neither output perturb"),
        (PrivateSVM, {"records": 200}, "gradient", "nor the last iterate alone did better"),
        (PrivateLogisticRegression, {"classes": (-1, 0, 1), "records": 1 << 22}, "gradient", "3 c"),
        (PrivateLogisticRegression, {}, "objective", "no number of records was declared"),
        (PrivateLogisticRegression, {"records": 200, "ridge": 1.0}, "objective", "a ridge"),
        (PrivateLogisticRegression, {"method": "sgd", "records": 200}, "sgd", "it was asked for"),
        (PrivateLogisticRegression, {"budget": PURE, "records": 9000}, "objective", "than 64"),
        (PrivateLogisticRegression, {"classes": (-1, 0, 1)}, "objective", "no number of records"),
        (
            PrivateLogisticRegression,
            {"classes": (-1, 0, 1), "budget": PURE, "records": 9000},
            "objective",
            "more than 32",
        ),
        (PrivateLogisticRegression, {"classes": (-1, 0, 1), "records": 9000}, "gradient", "and"),
    ],
)
def test_auto_chooses_by_public_numbers_and_says_why(
    kind: type[Classifier], options: dict[str, Any], method: str, why: str
) -> None:
    """ε = 1 at δ = 1e-5 needs σ = 3.7306, and 200 records are 53.6 times that."""
    given = {"budget": dpv.ApproxDP(epsilon=1.0, delta=1e-5), "classes": (-1, 1), **options}
    model = kind(norm_bound=1.0, relation="add-remove", random_state=0, **given)
    model.fit(*halves(200))
    assert model.method_ == method
    assert why in model.reason_


@pytest.mark.parametrize(("records", "least"), [(1437, 0.85), (None, 0.7)])
def test_digits_are_told_apart_from_a_small_budget(records: int | None, least: float) -> None:
    """Ten classes, 1,437 records, and 360 to be told apart; by gradients, or in the objective."""
    rows, labels = load_digits(return_X_y=True)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    order = np.random.default_rng(0).permutation(len(rows))
    train, test = order[:1437], order[1437:]
    model = PrivateLogisticRegression(
        budget=dpv.ApproxDP(epsilon=1.0, delta=1e-5), norm_bound=1.0, relation="add-remove",
        records=records, clip=True, classes=range(10), random_state=0,
    ).fit(rows[train], labels[train])  # fmt: skip
    assert model.joint_
    assert model.score(rows[test], labels[test]) > least


@pytest.mark.parametrize(("features", "joint"), [(665, True), (666, False)])
def test_minima_of_many_weights_are_found_class_by_class(features: int, joint: bool) -> None:  # noqa: FBT001
    """Three classes and an intercept: 1,998 weights, and 2,001."""
    rows = np.eye(3, features)
    model = PrivateLogisticRegression(
        budget=PURE, norm_bound=1.0, relation="add-remove", classes=range(3), random_state=0
    ).fit(rows, [0, 1, 2])
    assert (model.method_, model.joint_) == ("objective", joint)
    assert model.coef_.shape == (3, features)
    assert model.claim_.guarantee == PURE


# accuracy: with little noise the plain solution, with more noise a sensible one


def test_little_noise_gives_the_plain_solution() -> None:
    """Against scikit-learn, on the same rows and ridge: ‖b‖/λ is about 3·1e-3/2."""
    rows, y = halves(300)
    model = PrivateLogisticRegression(
        budget=dpv.PureDP(epsilon=1e3), norm_bound=1.0, relation="add-remove", ridge=2.0,
        classes=(-1, 1), random_state=0,
    ).fit(rows, y)  # fmt: skip
    longer = np.column_stack([rows, np.full(len(rows), 0.25)])
    plain = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10).fit(longer, y)
    assert model.coef_[0] == pytest.approx(plain.coef_[0, :2], abs=2e-3)
    assert model.intercept_[0] == pytest.approx(plain.coef_[0, 2] * 0.25, abs=2e-3)


def test_accuracy_on_a_bundled_data_set() -> None:
    """Digits, odd or even, five folds; not private, the same model has 0.90."""
    bundled = load_digits()
    rows, y = bundled.data / 16.0, bundled.target % 2
    model = PrivateLogisticRegression(
        budget=dpv.ApproxDP(epsilon=1.0, delta=1e-5), norm_bound=1.0, relation="add-remove",
        classes=(0, 1), random_state=0,
    )  # fmt: skip
    scores = cross_val_score(make_pipeline(Normalizer(), model), rows, y, cv=5)
    assert scores.mean() > 0.84


def test_seeds_repeat_and_fresh_noise_differs() -> None:
    rows, y = halves(60)
    model = PrivateLogisticRegression(**DECLARED, classes=(-1, 1))
    seeded = [clone(model).set_params(random_state=5).fit(rows, y).coef_ for _ in range(2)]
    assert (seeded[0] == seeded[1]).all()
    fresh = [clone(model).fit(rows, y).coef_ for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_a_constant_column_is_no_obstacle() -> None:
    """The ridge makes the minimum unique, so the claim stands."""
    rows, y = halves(60)
    rows = np.column_stack([rows, np.full(60, 0.1), np.zeros(60)])
    for kind in (PrivateLogisticRegression, PrivateSVM):
        assert np.isfinite(kind(**DECLARED, random_state=0).fit(rows, y).coef_).all()
    regression = PrivateLinearRegression(**REGRESSION, random_state=0).fit(rows, rows[:, 0])
    assert np.isfinite(regression.coef_).all()


def test_clipping_changes_long_rows_only() -> None:
    rows, y = halves(60)
    far = rows.copy()
    far[0] = [30.0, 40.0]
    near = rows.copy()
    near[0] = [0.6, 0.8]
    fits = [
        PrivateLogisticRegression(**DECLARED, clip=True, random_state=0).fit(each, y)
        for each in (far, near)
    ]
    assert fits[0].coef_ == pytest.approx(fits[1].coef_, rel=1e-9)


# refusals: before any noise, in one sentence


X50, Y50 = halves(50)
NAN = np.where(np.arange(100).reshape(50, 2) == 7, np.nan, X50)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": None}, "budget=None must be declared"),
        ({"budget": 1.0}, "budget=1.0 must be declared"),
        ({"budget": dpv.GaussianDP(mu=1.0)}, "must be declared: PureDP or ApproxDP"),
        ({"budget": dpv.PureDP(epsilon=0.0)}, "epsilon=0.0 must be positive"),
        ({"budget": dpv.PureDP(epsilon=np.inf)}, "epsilon=inf must be positive and finite"),
        ({"budget": dpv.ApproxDP(epsilon=1.0, delta=1.0)}, "delta=1.0 must be below 1"),
        ({"norm_bound": None}, "norm_bound=None must be declared"),
        ({"norm_bound": -1.0}, "norm_bound=-1.0 must be positive"),
        ({"norm_bound": np.nan}, "norm_bound=nan must be a real number"),
        ({"norm_bound": 0.1}, "must be at most norm=0.1, or be clipped"),
        ({"relation": None}, "relation=None must be declared"),
        ({"relation": "swap"}, "relation='swap' must be one of"),
        ({"method": "magic"}, "method='magic' must be one of"),
        ({"method": "gradient"}, "records=None must be declared"),
        ({"method": "sgd"}, "records=None must be declared"),
        ({"method": "output"}, "records=None must be declared"),
        ({"records": 0}, "records=0 must be a whole number"),
        ({"ridge": 0.0}, "ridge=0.0 must be positive"),
        ({"ridge": 0.01}, "ridge=0.01 must be more than"),
        ({"classes": (1,)}, "must be at least two"),
        ({"classes": (0, 1)}, "every label in y must be one of: 0, 1"),
        ({"fit_intercept": 1}, "fit_intercept=1 must be"),
        ({"clip": "yes"}, "clip='yes' must be"),
    ],
)
def test_misuse_of_a_classifier(change: dict[str, Any], message: str) -> None:
    model = PrivateLogisticRegression(**DECLARED | {"random_state": 0} | change)
    with pytest.raises(InvalidParameter) as refusal:
        model.fit(X50, Y50)
    assert message in str(refusal.value)
    assert not hasattr(model, "claim_")


@pytest.mark.parametrize(
    ("rows", "y", "message"),
    [
        (X50[:0], Y50[:0], "classes=None must be declared"),
        (X50[:1], Y50[:1], "classes=None must be declared"),
        (X50[:, :0], Y50, "0 feature"),
        (NAN, Y50, "NaN"),
        (X50, np.ones(50), "one class only"),
        (X50, Y50[:-1], "inconsistent numbers of samples"),
        (X50, X50[:, 0], "Unknown label type"),
    ],
)
@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateSVM])
def test_data_that_no_classifier_takes(
    kind: type[Classifier], rows: Array, y: Array, message: str
) -> None:
    model = kind(**DECLARED, random_state=0)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, y)
    assert not hasattr(model, "claim_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_bound": None}, "label_bound=None must be declared"),
        ({"label_bound": 0.1}, "must lie within ±0.1, or be clipped"),
        ({"method": "output", "records": 50}, "radius=None must be declared"),
        ({"method": "objective"}, "method='objective' must be one of"),
        ({"radius": 0.0}, "radius=0.0 must be positive"),
        ({"norm_bound": 0.1}, "must be at most norm=0.1"),
    ],
)
def test_misuse_of_a_regression(change: dict[str, Any], message: str) -> None:
    model = PrivateLinearRegression(**REGRESSION | {"random_state": 0} | change)
    with pytest.raises(InvalidParameter) as refusal:
        model.fit(X50, X50[:, 0])
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": None}, "low=None and high=1.0 must be declared"),
        ({"low": 2.0}, "low=2.0 must be below high=1.0"),
        ({"low": 0.5}, "must lie in [0.5, 1.0], or be clipped"),
        ({"quantile": 1.0}, "quantile=1.0 must"),
    ],
)
def test_misuse_of_a_median(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        PrivateMedian(**MEDIAN | change).fit(X50, X50[:, 0])
    assert message in str(refusal.value)


def test_refusals_come_before_noise() -> None:
    """A row too long is found with the generator untouched."""
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    model = PrivateLogisticRegression(**DECLARED | {"norm_bound": 0.1}, random_state=rng)
    with pytest.raises(DPVerifyError):
        model.fit(X50, Y50)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_generators_of_both_kinds_move_on(source: Callable[[int], Any]) -> None:
    """Two fits from one generator have different noise; the same start gives the same two."""
    model = PrivateLogisticRegression(**DECLARED, classes=(-1, 1))
    runs = []
    for _ in range(2):
        rng = source(4)
        runs.append([model.set_params(random_state=rng).fit(X50, Y50).coef_ for _ in range(2)])
    assert (runs[0][0] != runs[0][1]).any()
    assert (np.array(runs[0]) == np.array(runs[1])).all()


def test_a_random_state_that_is_none_of_these() -> None:
    with pytest.raises(InvalidParameter, match="random_state='seed' must be"):
        PrivateLogisticRegression(**DECLARED, random_state="seed").fit(X50, Y50)


# how gradients are followed


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"momentum": 0.5}, "gradient"),
        ({"steps": 12, "learning_rate": 2.0, "clip": 0.2, "output": "tail"}, "gradient"),
        ({"batches": AllocatedBatches(3)}, "sgd"),
        ({"batches": PoissonBatches(0.5), "steps": 5}, "sgd"),
        ({"accounting": "last", "steps": 300}, "gradient"),
    ],
)
@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearRegression])
def test_a_declared_descent_is_followed(kind: Any, options: Any, method: str) -> None:  # noqa: ANN401
    rows, y = halves(400)
    bound = {"label_bound": 1.0} if kind is PrivateLinearRegression else {"classes": (-1, 1)}
    model = kind(
        budget=dpv.ApproxDP(epsilon=2.0, delta=1e-3), norm_bound=1.0, relation="replace-one",
        ridge=2.0, descent=Descent(**options), random_state=0, **bound,
    )  # fmt: skip
    model.fit(rows, y)
    assert model.method_ == method
    assert model.claim_.guarantee == dpv.ApproxDP(epsilon=2.0, delta=1e-3)
    theorem = {"gradient": "gaussian-composition", "sgd": "noisy-batches"}[method]
    hidden = options.get("accounting") == "last"
    assert model.claim_.theorem.name == ("last-iterate" if hidden else theorem)
    assert ((rows @ model.coef_.ravel() + model.intercept_ > 0.0) == (y > 0)).mean() > 0.8
    if kind is PrivateLogisticRegression:
        assert model.reason_ == "a descent was declared"


def test_an_empty_descent_is_the_default_one() -> None:
    rows, y = halves(200)
    given: dict[str, Any] = {
        "budget": dpv.ApproxDP(epsilon=1.0, delta=1e-3), "norm_bound": 1.0, "records": 200,
        "relation": "add-remove", "random_state": 0,
    }  # fmt: skip
    for method in ("gradient", "sgd"):
        one, other = (
            PrivateLogisticRegression(**given, method=method, descent=descent).fit(rows, y)
            for descent in (None, Descent())
        )
        assert (one.coef_ == other.coef_).all()
        assert one.claim_ == other.claim_


@pytest.mark.parametrize(
    ("options", "method", "message"),
    [
        ({}, "objective", "method='objective' must be 'auto' or 'gradient' or 'sgd' for descent="),
        ({"batches": AllocatedBatches(2)}, "gradient", "must be 'auto' or 'sgd' for descent="),
        ({"accounting": "last"}, "sgd", "must be 'auto' or 'gradient' for descent="),
    ],
)
def test_a_descent_that_the_method_has_no_use_for_is_refused(
    options: Any,  # noqa: ANN401
    method: str,
    message: str,
) -> None:
    model = PrivateLogisticRegression(**DECLARED, method=method, descent=Descent(**options))
    with pytest.raises(InvalidParameter, match=message):
        model.fit(*halves(50))
    with pytest.raises(InvalidParameter, match=r"descent=0\.9 must be a solvers\.Descent"):
        PrivateLogisticRegression(**DECLARED, descent=0.9).fit(*halves(50))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps=0 must"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 must"),
        ({"clip": math.inf}, "clip=inf must"),
        ({"momentum": 1.0}, "momentum=1.0 must be at least 0 and below 1"),
        ({"output": "first"}, "output='first' must"),
        ({"batches": 7}, "batches=7 must"),
        ({"accounting": "none"}, "accounting='none' must"),
        ({"accounting": "last", "batches": AllocatedBatches(2)}, "must be 'steps' for batches"),
    ],
)
def test_no_such_descent(options: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidParameter, match=message):
        Descent(**options)
