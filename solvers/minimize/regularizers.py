"""Penalties: ridge, ℓ1, both, or none. Weights are relative to the *sum* of losses."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_between, check_positive, settle_fields


class Regularizer:
    """A penalty on the weights, added to the sum of losses.

    (ridge/2)·‖θ‖² + lasso·‖θ‖₁, of all coordinates: an intercept is regularized too.
    """

    @property
    def ridge(self) -> float:
        """The strong convexity that the penalty adds."""
        return 0.0

    @property
    def lasso(self) -> float:
        """The weight of the ℓ1 norm."""
        return 0.0

    def scaled(self, unit: float) -> "Regularizer":
        """The same penalty as a function of θ·unit."""
        ridge, lasso = self.ridge / unit / unit, self.lasso / unit
        if ridge and lasso:
            return ElasticNet(ridge, lasso)
        return Ridge(ridge) if ridge else Lasso(lasso) if lasso else NoRegularizer()

    def values(self, points: Floats) -> Floats:
        """The penalty of each point (…, d)."""
        squares = 0.5 * self.ridge * (points**2).sum(axis=-1)
        values: Floats = squares + self.lasso * np.abs(points).sum(axis=-1)
        return values

    def expression(self, variable: Any) -> Any:  # noqa: ANN401  # cvxpy has no types here
        """The penalty of a cvxpy variable."""
        import cvxpy as cp  # noqa: PLC0415

        return 0.5 * self.ridge * cp.sum_squares(variable) + self.lasso * cp.norm1(variable)


@dataclass(frozen=True, slots=True)
class Ridge(Regularizer):
    """A ridge penalty.

    (strength/2)·‖θ‖².

    >>> Ridge(2.0).values(np.array([[3.0, 4.0]])).tolist()
    [25.0]
    """

    strength: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("strength", self.strength)

    @property
    def ridge(self) -> float:
        return float(self.strength)


@dataclass(frozen=True, slots=True)
class Lasso(Regularizer):
    """A lasso penalty.

    strength·‖θ‖₁: convex, not strongly; no private solver here accepts it without a ridge.

    >>> Lasso(2.0).values(np.array([[3.0, -4.0]])).tolist()
    [14.0]
    """

    strength: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("strength", self.strength)

    @property
    def lasso(self) -> float:
        return float(self.strength)


@dataclass(frozen=True, slots=True)
class ElasticNet(Regularizer):
    """A ridge and a lasso penalty.

    (ridge/2)·‖θ‖² + lasso·‖θ‖₁.

    >>> ElasticNet(2.0, 1.0).values(np.array([[3.0, -4.0]])).tolist()
    [32.0]
    """

    ridge_strength: float
    lasso_strength: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("ridge_strength", self.ridge_strength)
        check_between("lasso_strength", self.lasso_strength, 0.0, math.inf)
        if self.lasso_strength == math.inf:
            raise InvalidParameter(f"lasso_strength={self.lasso_strength!r} must be finite")

    @property
    def ridge(self) -> float:
        return float(self.ridge_strength)

    @property
    def lasso(self) -> float:
        return float(self.lasso_strength)


@dataclass(frozen=True, slots=True)
class NoRegularizer(Regularizer):
    """No penalty."""
