"""Measured excess risk beside its bound: below it everywhere, and drawn as it is."""

import numpy as np
import pytest

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from dpverify.guarantees import ApproxDP
from dpverify.neighbors import Relation
from dpverify.reporting.plots import risk_figure
from solvers import Ball, Logistic
from solvers.descent import DescentSetting
from solvers.quality.risks import Measured, measure_descent, series
from tests.solvers.spoiled_iterates import BOTH_SIGNS, hinge_setting


def drawn(records: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    rows = rng.normal(size=(records, 2))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * 1.001
    return rows, np.where(rows[:, 0] + 0.3 * rng.normal(size=records) > 0.0, 1.0, -1.0)


@pytest.mark.false_alarm(1e-9)
def test_measured_excess_is_below_its_bound_and_falls() -> None:
    setting = DescentSetting(
        loss=Logistic(),
        bounds=BOTH_SIGNS,
        domain=Ball(2.0),
        relation=Relation.REPLACE_ONE,
        records=1,
    )
    budgets = [ApproxDP(epsilon=epsilon, delta=1e-5) for epsilon in (0.3, 1.0, 3.0)]
    table = measure_descent(setting, drawn, budgets=budgets, records=[100, 1000], steps=20)
    assert [(m.records, m.epsilon) for m in table] == [
        (n, epsilon) for n in (100, 1000) for epsilon in (0.3, 1.0, 3.0)
    ]
    for each in table:
        assert 0.0 < each.excess < each.bound - 7.0 * each.error
    assert table[0].bound > table[1].bound > table[2].bound > table[5].bound


def test_the_picture_has_a_pair_of_curves_for_each_n() -> None:
    table = [
        Measured(epsilon=epsilon, records=n, excess=0.1 / epsilon, error=0.01, bound=1.0 / epsilon)
        for n in (10, 20)
        for epsilon in (0.5, 1.0)
    ]
    axes = risk_figure(series(table)).axes[0]
    dashes = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert [np.asarray(line.get_ydata()).tolist() for line in dashes] == [[2.0, 1.0]] * 2


def test_refusals() -> None:
    setting = hinge_setting(Relation.REPLACE_ONE, 1)
    budget = ApproxDP(epsilon=1.0, delta=1e-5)
    with pytest.raises(InvalidParameter, match="budgets"):
        measure_descent(setting, drawn, budgets=[], records=[10])
    with pytest.raises(InvalidParameter, match="records=0"):
        measure_descent(setting, drawn, budgets=[budget], records=[0])
