"""Where a claim would be wider than what holds: selection, published rules, odd inputs."""

import pickle

import numpy as np
import pytest

import dpverify as dpv
import solvers
from solvers.bounds import _norms
from solvers.descent import DescentSetting

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE


def problem(loss: solvers.Loss, ridge: float) -> solvers.Problem:
    bounds = solvers.Bounds(norm=1.0, labels=(-1, 1))
    return solvers.Problem(loss=loss, bounds=bounds, regularizer=solvers.Ridge(ridge))


def selection(records: int = 60) -> tuple[solvers.PrivateSelection, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    features = rng.uniform(-0.5, 0.5, (records, 2))
    labels = np.where(features[:, 0] > 0, 1, 0)
    model = solvers.PrivateLogisticRegression(
        budget=dpv.PureDP(epsilon=4.0), norm_bound=1.0, relation=ADD, classes=(0, 1)
    )
    search = solvers.PrivateSelection(model, candidates=[{"ridge": 1.0}, {"ridge": 9.0}])
    return search, features, labels


def test_a_selected_model_holds_no_generator() -> None:
    """A generator can be run backwards, and whoever does takes the noise away."""
    search, features, labels = selection()
    search.fit(features, labels)
    kept = pickle.loads(pickle.dumps(search))  # noqa: S301  # our own
    held = [*vars(kept).values(), *vars(kept.best_estimator_).values()]
    assert not [each for each in held if isinstance(each, np.random.Generator)]
    assert kept.best_estimator_.random_state is None


def test_labels_in_a_column_are_one_label_a_record() -> None:
    search, features, labels = selection()
    search.random_state = 3
    with pytest.warns(UserWarning, match="column-vector"):
        as_column = search.fit(features, labels[:, None]).best_index_
    assert as_column == search.fit(features, labels).best_index_


@pytest.mark.parametrize(("epsilon", "holds"), [(10.0, True), (30.0, False)])
def test_the_published_rule_ends_where_it_is_false(epsilon: float, holds: bool) -> None:  # noqa: FBT001
    """At (30, 1e-5) its true δ is 2.8e-4."""

    def built() -> solvers.ApproximateMinima:
        return solvers.ApproximateMinima(
            problem=problem(solvers.HuberHinge(width=0.5), 1e4),
            budget=dpv.ApproxDP(epsilon=epsilon, delta=1e-5),
            relation=REPLACE,
            gradient_tolerance=1e-3,
            rule=solvers.Rule.PUBLISHED,
        )

    if holds:
        assert built().claim.guarantee == dpv.ApproxDP(epsilon=epsilon, delta=1e-5)
    else:
        with pytest.raises(dpv.InvalidParameter, match="published rule is false"):
            built()


class TwoSided(solvers.Logistic):  # type: ignore[misc]  # loaded when used
    """As the logistic loss, but not declared to be monotone."""

    @property
    def monotone(self) -> bool:
        return False


def test_two_noises_are_charged_together_or_refused() -> None:
    with pytest.raises(dpv.NotSupported, match="no rule charges both noises"):
        solvers.ApproximateMinima(
            problem=problem(TwoSided(), 2.0),
            budget=dpv.ApproxDP(epsilon=1.0, delta=1e-5),
            relation=ADD,
            gradient_tolerance=1e-3,
        )


def test_candidates_of_a_softmax_are_refused() -> None:
    with pytest.raises(dpv.NotSupported, match="softmax"):
        solvers.ExponentialERM(
            loss=solvers.Softmax(3),
            bounds=solvers.Bounds(norm=1.0, labels=(0, 1, 2)),
            candidates=np.eye(3),
            epsilon=1.0,
            relation=REPLACE,
        )


def test_parameters_that_run_away_are_refused() -> None:
    setting = DescentSetting(
        loss=solvers.Logistic(),
        bounds=solvers.Bounds(norm=1.0, labels=(-1, 1)),
        domain=solvers.Ball(5.0),
        relation=ADD,
        records=2,
    )
    sums = setting.sums((np.eye(2), np.array([1.0, -1.0])))
    for wrong in (np.inf, np.nan, 1e200):
        with pytest.raises(dpv.InvalidParameter, match="parameters must be at most"):
            sums.total(np.array([[wrong, 0.0]]))


def test_a_norm_depends_on_its_row_alone() -> None:
    rng = np.random.default_rng(0)
    for dimension in (9, 17, 64, 100):
        rows = np.asfortranarray(rng.normal(size=(50, dimension)))
        sizes = np.abs(rows)
        for bound in (1.0, 2.0**500):  # plainly, and in units of the row's own
            each = [_norms(np.asfortranarray(rows[[i]]), sizes[[i]], bound) for i in range(50)]
            assert np.array_equal(_norms(rows, sizes, bound), np.concatenate(each))
        assert np.array_equal(_norms(rows, sizes, 1.0), _norms(rows, sizes, 2.0**500))
