"""Penalties by hand, against cvxpy, and refused."""

import math

import numpy as np
import pytest

from dpverify.errors import InvalidParameter
from solvers.minimize.regularizers import ElasticNet, Lasso, NoRegularizer, Regularizer, Ridge

ALL: list[Regularizer] = [Ridge(2.0), Lasso(3.0), ElasticNet(2.0, 3.0), NoRegularizer()]


@pytest.mark.parametrize(
    ("penalty", "expected"), list(zip(ALL, [25.0, 21.0, 46.0, 0.0], strict=True))
)
def test_values_by_hand(penalty: Regularizer, expected: float) -> None:
    """At (3, −4): (λ/2)·25 and 7 times the ℓ1 weight."""
    assert penalty.values(np.array([[3.0, -4.0]])).tolist() == [expected]


@pytest.mark.parametrize("penalty", ALL, ids=repr)
def test_expressions_have_the_same_values(penalty: Regularizer) -> None:
    import cvxpy as cp  # noqa: PLC0415

    variable = cp.Variable(2)
    variable.value = np.array([0.3, -1.7])
    expression = penalty.expression(variable)
    assert expression.is_convex()
    assert float(expression.value) == pytest.approx(penalty.values(variable.value))


def test_bad_strengths_are_refused() -> None:
    for wrong in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameter):
            Ridge(wrong)
        with pytest.raises(InvalidParameter):
            Lasso(wrong)
        with pytest.raises(InvalidParameter):
            ElasticNet(wrong, 1.0)
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameter):
            ElasticNet(1.0, wrong)
