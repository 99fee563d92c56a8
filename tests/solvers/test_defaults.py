"""Defaults: formulas by hand, monotone in the budget, and the balance that they claim to strike."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dpverify as dpv
from dpverify.errors import InvalidParameter
from solvers import Bounds, HuberHinge, Logistic, PrivateLogisticRegression, Softmax, defaults
from solvers.privacy.objective_rules import Setting

ADD, REPLACE = dpv.Relation.ADD_REMOVE, dpv.Relation.REPLACE_ONE
EPSILONS = st.floats(0.01, 20.0)


@pytest.mark.parametrize(
    ("budget", "relation", "dimension", "norm", "expected"),
    [
        (dpv.PureDP(epsilon=1.0), ADD, 3, 1.0, 1.0),  # √4/1/2
        (dpv.PureDP(epsilon=1.0), REPLACE, 3, 1.0, 2.0),
        (dpv.PureDP(epsilon=0.5), ADD, 3, 2.0, 8.0),  # 2²·(2/0.5)/2
        (dpv.ApproxDP(epsilon=1.0, delta=1e-5), ADD, 3, 1.0, 3.730632 / 2),  # analytic Gaussian
        (dpv.ApproxDP(epsilon=1.0, delta=1e-5), ADD, 99, 1.0, 3.730632 / 2),
    ],
)
def test_ridge_by_hand(
    budget: dpv.PureDP | dpv.ApproxDP,
    relation: dpv.Relation,
    dimension: int,
    norm: float,
    expected: float,
) -> None:
    found = defaults.ridge(budget, relation, dimension=dimension, norm=norm)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("records", "factor"),
    [
        (None, 1.0),
        (24, 1.0),  # 8·3·1
        (96, 0.5),
        (6, 2.0),
        (1, 4.0),
        (10**9, 0.25),
    ],
)
def test_more_public_records_ask_for_less(records: int | None, factor: float) -> None:
    """√(8·d·s/n) times as much, for noise that is as large as a record."""
    budget = dpv.PureDP(epsilon=2.0)  # √4/2
    found = defaults.ridge(budget, ADD, dimension=3, norm=2.0, records=records)
    assert found == pytest.approx(max(2.0 * factor, 1.0 / math.expm1(1.0)), rel=1e-12)


@given(
    EPSILONS | st.sampled_from([1e-3, 100.0]),
    st.integers(1, 200),
    st.floats(0.1, 10.0),
    st.sampled_from([ADD, REPLACE]),
    st.none() | st.integers(1, 10**9),
)
@example(2.0, 3, 0.25, ADD, None)  # the noise of the sum itself, to the last digit
@example(1e-3, 1, 1.0, REPLACE, 10**9)
@example(100.0, 1, 1.0, ADD, 10**9)
@example(100.0, 200, 1.0, REPLACE, 1)
def test_a_default_ridge_is_always_feasible(
    epsilon: float, dimension: int, norm: float, relation: dpv.Relation, records: int | None
) -> None:
    """The noise that the ridge asks for exists, for both losses that need one."""
    budget = dpv.PureDP(epsilon=epsilon)
    bounds = Bounds(norm=norm, labels=(-1, 1))
    for loss in (Logistic(), HuberHinge(width=0.5)):
        charged = 0.0 if isinstance(loss, Logistic) else loss.smoothness(bounds)
        ridge = defaults.ridge(
            budget, relation, dimension=dimension, norm=norm, smoothness=charged,
            records=None if charged else records,
        )  # fmt: skip
        setting = Setting(loss=loss, bounds=bounds, ridge=ridge, relation=relation)
        scale = setting.pure_noise(budget)
        assert setting.pure(scale).guarantee.epsilon <= epsilon
        # and it is not much more than that of a sum of unit vectors
        plain = defaults.coordinate_noise(budget, relation, dimension) * norm
        assert scale * math.sqrt(dimension + 1) < 2.5 * plain


@given(EPSILONS, st.integers(3, 40), st.integers(1, 50), st.sampled_from([ADD, REPLACE]))
@example(2.0, 3, 1, ADD)
def test_the_default_ridge_of_softmax_leaves_three_quarters_to_the_noise(
    epsilon: float, classes: int, features: int, relation: dpv.Relation
) -> None:
    """(K−1)·ln(1 + R²/(Kλ)) ≤ ε/4, with equality where the noise asks for less than that."""
    bounds = Bounds(norm=0.5, labels=tuple(range(classes)))
    loss, dimension = Softmax(classes), features * classes
    for budget in (dpv.PureDP(epsilon), dpv.ApproxDP(epsilon, 1e-6)):
        ridge = defaults.ridge(
            budget, relation, dimension=dimension, norm=0.5, classes=classes,
            smoothness=loss.smoothness(bounds), steepness=loss.steepest,
        )  # fmt: skip
        setting = Setting(loss=loss, bounds=bounds, ridge=ridge, relation=relation)
        noise = 0.5 * loss.steepest * defaults.coordinate_noise(budget, relation, dimension)
        assert setting.unavoidable <= epsilon / 4 * (1 + 1e-12)
        if ridge > 0.5 * noise * (1 + 1e-12):
            assert setting.unavoidable == pytest.approx(epsilon / 4, rel=1e-9)
        else:
            assert ridge == pytest.approx(0.5 * noise, rel=1e-12)


@given(st.floats(0.1, 100.0), st.integers(1, 100))
def test_ridge_balances_noise_and_shrinkage(noise: float, dimension: int) -> None:
    """d·s²/(8λ) + (λ/2)·d/R² is least at λ = R·s/2."""

    def bound(ridge: float) -> float:
        return dimension * noise**2 / (8 * ridge) + ridge * dimension / 2

    best = noise / 2
    assert all(bound(best) <= bound(best * factor) for factor in (0.5, 0.9, 1.1, 2.0))


@given(st.floats(0.1, 100.0), st.floats(0.1, 100.0))
def test_noise_along_a_curvature_costs_at_most_an_eighth(h: float, ridge: float) -> None:
    """h·s²/(2(h + λ)²) ≤ s²/(8λ): the bound behind the default."""
    assert h / (2 * (h + ridge) ** 2) <= 1 / (8 * ridge) * (1 + 1e-12)


@given(EPSILONS, EPSILONS, st.integers(1, 50))
def test_more_budget_asks_for_less(one: float, other: float, dimension: int) -> None:
    low, high = sorted((one, other))
    kwargs = {"dimension": dimension, "records": 1000}
    less, more = dpv.PureDP(epsilon=low), dpv.PureDP(epsilon=high)
    assert defaults.ridge(less, ADD, dimension=dimension, norm=1.0) >= defaults.ridge(
        more, ADD, dimension=dimension, norm=1.0
    )
    assert defaults.steps(less, ADD, **kwargs) <= defaults.steps(more, ADD, **kwargs)


@given(EPSILONS, st.integers(1, 50), st.integers(1, 10**6), st.sampled_from([1.0, 1.5]))
def test_noise_on_a_path_of_gradients_moves_a_score_by_three_halves_at_most(
    epsilon: float, dimension: int, records: int, power: float
) -> None:
    """p·k·s/n ≤ 3/2, p·k^(3/2)·s/n ≤ 3/2 for pure budgets; two steps more would be too many."""
    budget = dpv.PureDP(epsilon) if power == 1.5 else dpv.ApproxDP(epsilon, 1e-6)
    plan = defaults.schedule(
        budget, ADD, dimension=dimension, records=records, norm=2.0, lipschitz=3.0
    )
    pace = plan.learning_rate * plan.clip * 2.0
    noise = defaults.coordinate_noise(budget, ADD, dimension) / records
    assert pace <= 8.0 * (1.0 + 1e-9)
    least = 1 if power == 1.5 else 8
    assert (plan.clip, least <= plan.steps <= 200) == (0.75, True)
    assert pace * plan.steps**power * noise <= 1.5 * (1.0 + 1e-9)
    assert plan.steps == 200 or pace * (plan.steps + 1.001) ** power * noise > 1.5


def test_batches_of_gradients_by_hand() -> None:
    pure = dpv.PureDP(epsilon=1.0)
    assert defaults.batch_rate(pure, ADD, dimension=3, records=1600) == 0.1  # √(32/(1600·2))
    assert defaults.batch_rate(pure, REPLACE, dimension=3, records=3200) == 0.05
    assert defaults.batch_rate(pure, ADD, dimension=3, records=1) == 1.0


def test_output_ridge_is_the_least_of_its_bound() -> None:
    budget, d, n = dpv.PureDP(epsilon=0.7), 5, 300
    s = np.sqrt(d + 1) / 0.7
    best = defaults.output_ridge(
        budget, ADD, dimension=d, norm=2.0, lipschitz=3.0, sharpness=0.25, records=n
    )

    def bound(ridge: float) -> float:
        return float(n * 2.0**2 * 0.25 / 2 * (3.0 * s / ridge) ** 2 / 2 + ridge * d / 2.0**2 / 2)

    assert all(bound(best) <= bound(best * factor) for factor in (0.5, 0.99, 1.01, 2.0))


def test_public_records() -> None:
    assert defaults.public_records(None, REPLACE, 7) == 7
    assert defaults.public_records(100, ADD, 7) == 100
    with pytest.raises(InvalidParameter, match="records=None must be declared"):
        defaults.public_records(None, ADD, 7)
    with pytest.raises(InvalidParameter, match="records=0 must be"):
        defaults.public_records(0, ADD, 7)


def test_a_public_number_of_records_must_be_the_true_one() -> None:
    """Where records are replaced their number is known; where they come and go it is a guess."""
    assert defaults.public_records(None, REPLACE, 7) == 7
    assert defaults.public_records(7, REPLACE, 7) == 7
    assert defaults.public_records(9, ADD, 7) == 9
    with pytest.raises(InvalidParameter, match="records=9 must be None or the 7 rows of X"):
        defaults.public_records(9, REPLACE, 7)
    with pytest.raises(InvalidParameter, match="records=None must be declared for output"):
        defaults.public_records(None, ADD, 7)


@pytest.mark.parametrize("method", ["auto", "objective", "output", "gradient", "sgd"])
def test_no_method_ignores_a_wrong_number_of_records(method: str) -> None:
    model = PrivateLogisticRegression(
        budget=dpv.PureDP(epsilon=1.0), norm_bound=1.0, relation=REPLACE, classes=(0, 1),
        records=9, method=method,
    )  # fmt: skip
    with pytest.raises(InvalidParameter, match="records=9 must be None or the 7 rows of X"):
        model.fit(np.zeros((7, 2)), np.zeros(7, np.int64))


def test_a_ridge_is_for_two_classes_at_least() -> None:
    with pytest.raises(InvalidParameter, match="classes=1 must be a whole number, at least 2"):
        defaults.ridge(dpv.PureDP(epsilon=1.0), ADD, dimension=2, norm=1.0, classes=1)


def test_a_ridge_is_for_one_record_at_least() -> None:
    with pytest.raises(InvalidParameter, match="records=0 must be"):
        defaults.ridge(dpv.PureDP(epsilon=1.0), ADD, dimension=2, norm=1.0, records=0)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1e-3, 1e-12), (1e-3, 1e-5), (1.0, 1e-5), (4.0, 0.1), (100.0, 1e-5)]
)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_gaussian_noise_affords_the_ridge_of_any_number_of_records(
    epsilon: float, delta: float, relation: dpv.Relation
) -> None:
    """Also where as little as may be is left of the ridge."""
    budget = dpv.ApproxDP(epsilon=epsilon, delta=delta)
    bounds = Bounds(norm=1.0, labels=(-1, 1))
    plain = defaults.ridge(budget, relation, dimension=9, norm=1.0)
    ridge = defaults.ridge(budget, relation, dimension=9, norm=1.0, records=10**9)
    assert ridge <= plain
    setting = Setting(loss=Logistic(), bounds=bounds, ridge=ridge, relation=relation)
    scale = setting.gaussian_noise(budget)
    spent = setting.gaussian(scale, epsilon).guarantee
    assert isinstance(spent, dpv.ApproxDP)
    assert spent.delta <= delta


def fitted_ridge(relation: dpv.Relation, records: int | None, weight: float | None) -> float | None:
    rows = np.full((40, 2), 0.5)
    model = PrivateLogisticRegression(
        budget=dpv.PureDP(epsilon=1.0), norm_bound=1.0, relation=relation, classes=(0, 1),
        records=records, method="objective", weight_bound=weight, random_state=0,
    )  # fmt: skip
    weights = None if weight is None else np.ones(40)
    found: float | None = model.fit(rows, np.arange(40) % 2, sample_weight=weights).ridge_
    return found


def test_only_a_public_number_of_records_makes_the_ridge() -> None:
    """Declared, or known since records are replaced; weights leave open how much they count."""
    norm = np.hypot(1.0, 0.25) * (1 + 2.0**-40)
    for relation, records, public, weight in (
        (ADD, None, None, None),
        (ADD, 1000, 1000, None),  # a declared number, true or not
        (REPLACE, None, 40, None),
        (REPLACE, 40, 40, None),
        (REPLACE, None, None, 1.0),
        (ADD, 1000, None, 1.0),
    ):
        expected = defaults.ridge(
            dpv.PureDP(epsilon=1.0), relation, dimension=3, norm=norm, records=public
        )
        assert fitted_ridge(relation, records, weight) == expected
