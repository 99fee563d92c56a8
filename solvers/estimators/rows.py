"""Rows as the solvers see them: within the declared norm, with a constant feature at the end."""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_positive
from dpverify.mechanisms.inputs import check_flag
from solvers.bounds import Bounds
from solvers.defaults import INTERCEPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """‖x‖₂ ≤ `bound`, and behind x the constant `constant`; 0 for no intercept.

    >>> rows = Rows.of(4.0, fit_intercept=True, clip=False)
    >>> rows.prepare(np.array([[2.0, 0.0]]), np.array([1.0]))[0].tolist()
    [[2.0, 0.0, 1.0]]
    """

    bound: float
    constant: float
    clip: bool

    @classmethod
    def of(cls, norm_bound: float | None, *, fit_intercept: bool, clip: bool) -> "Rows":
        if norm_bound is None:
            raise InvalidParameter("norm_bound=None must be declared: a bound on every row's norm")
        check_positive("norm_bound", norm_bound)
        check_flag("fit_intercept", fit_intercept)
        check_flag("clip", clip)
        bound = float(norm_bound)
        return cls(bound=bound, constant=INTERCEPT * bound if fit_intercept else 0.0, clip=clip)

    @property
    def norm(self) -> float:
        """A bound on the norm of the longer rows: √(bound² + constant²), rounded up.

        By 2^-40 of it, so that rows at the bound are certainly inside, and are not copied again.
        """
        return math.hypot(self.bound, self.constant) * (1.0 + 2.0**-40)

    def prepare(
        self, features: Floats, labels: Floats, *, label_bound: float | None = None
    ) -> tuple[Floats, Floats]:
        """Rows and labels, refused or clipped beyond their bounds."""
        bounds = Bounds(norm=self.bound, label_bound=label_bound)
        kept, targets = bounds.prepare(features, labels, clip=self.clip)
        if self.constant == 0.0:
            return kept, targets
        return np.hstack([kept, np.full((len(kept), 1), self.constant)]), targets

    def split(self, weights: Floats) -> tuple[Floats, Floats]:
        """Coefficients (m, d) and intercepts (m) from weights (m, d + 1), or (m, d)."""
        if self.constant == 0.0:
            return weights, np.zeros(len(weights))
        return weights[:, :-1], weights[:, -1] * self.constant


def scores(features: Floats, coefficients: Floats) -> Floats:
    """⟨θ, x⟩ for rows (n, d) and coefficients (m, d): (n, m), each row's by itself.

    A matrix product may add up a row's terms in an order that depends on how many rows there are.
    Then one record more could change the scores of all others in their last bits, and a selection
    that is charged for one record would be charged too little.
    """
    rows = np.ascontiguousarray(features)
    found: Floats = np.einsum("nd,md->nm", rows, coefficients, optimize=False)
    return found
