"""A problem that is built once in cvxpy and solved for every new linear part.

The linear part b is a parameter (DPP), so that only numbers change from solve to solve. What a
conic solver returns is a guess: gradients of 1e-3 have been seen at its default tolerances. It is
polished, and certified by what this module computes itself, never by the solver's status.
"""

import math
import warnings
from typing import Any

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import DPVerifyError
from solvers.domains import Domain, Simplex
from solvers.losses.base import UNIT, Loss
from solvers.minimize.certificate import BLOCK_ERROR, NotSolved, block_sums, gamma, row_lengths
from solvers.minimize.regularizers import Regularizer


class ConicProblem:
    """min Σf(sᵢ) + penalty(θ) + ⟨b, θ⟩ over θ in the domain and s = Xθ, for one dataset."""

    def __init__(
        self, loss: Loss, data: tuple[Floats, Floats], regularizer: Regularizer, domain: Domain
    ) -> None:
        import cvxpy as cp  # noqa: PLC0415

        self.loss, self.regularizer, self.domain = loss, regularizer, domain
        self.features, self.labels = data
        n, d = self.features.shape
        self._theta, self._scores, self._linear = cp.Variable(d), cp.Variable(n), cp.Parameter(d)
        self._tie = self._scores == self.features @ self._theta
        total = cp.sum(loss.expression(self._scores, self.labels))
        goal = total + regularizer.expression(self._theta) + self._linear @ self._theta
        self._problem = cp.Problem(cp.Minimize(goal), [self._tie, *domain.constraints(self._theta)])
        if not self._problem.is_dpp():
            raise DPVerifyError(
                f"loss={loss.name!r} must be an expression that cvxpy finds to be DPP"
            )

    def solve(self, linear: Floats) -> tuple[Floats, Floats]:
        """The solver's θ, projected to the domain, and its slopes: one dual variable per record."""
        import cvxpy as cp  # noqa: PLC0415

        self._linear.value = linear
        try:
            with warnings.catch_warnings():
                # "may be inaccurate": what it is worth is computed, not believed.
                warnings.simplefilter("ignore", UserWarning)
                self._problem.solve(solver=cp.CLARABEL, **_TOLERANCES)
        except Exception:  # noqa: BLE001  # whatever it is, it came from the data: not to be shown
            raise NotSolved("the conic solver failed; nothing was released") from None
        theta: Any = self._theta.value
        if theta is None or not np.isfinite(theta).all():
            raise NotSolved("the conic solver found no point; nothing was released")
        dual: Any = self._tie.dual_value
        return self.domain.project(theta), np.asarray(-dual, np.float64)

    def gap_solution(self, linear: Floats) -> tuple[Floats, float]:
        """The better θ of the solver's and the dual's, and a bound on its distance to the minimum.

        For slopes a the dual is −Σf*(a) + min over θ of ⟨Xᵀa + b, θ⟩ and the penalty. J is
        λ-strongly convex, so a duality gap g, rounding included, gives ‖θ − θ*‖ ≤ √(2g/λ).
        """
        theta, dual = self.solve(linear)
        signs = (dual, -dual)  # which sign the solver gives its multipliers is a convention
        options = [self._gaps(theta, sign, linear) for sign in signs]
        gap, best = min((option for pair in options for option in pair), key=lambda o: o[0])
        return best, float(np.sqrt(2.0 * gap / self.regularizer.ridge) * (1.0 + 2.0**-30))

    def _gaps(
        self, theta: Floats, dual: Floats, linear: Floats
    ) -> tuple[tuple[float, Floats], tuple[float, Floats]]:
        corner, low, high = self.loss.corners(self.labels)
        slopes = np.clip(dual, low, high)  # the nearest that f can have; there f*(a) = a·c
        conjugates = slopes * corner
        columns = np.concatenate([block_sums(slopes, self.features), linear[None]]).T
        pull = np.array([math.fsum(column.tolist()) for column in columns])
        answer = self._pulled(pull)
        lower = float(pull @ answer) - math.fsum(conjugates.tolist())
        lower += float(self.regularizer.values(answer))
        slack = self._rounding(slopes, conjugates, linear, answer)
        first = self._value(theta, linear) - lower + slack + self._size(theta, linear)
        second = self._value(answer, linear) - lower + slack + self._size(answer, linear)
        return (max(first, 0.0), theta), (max(second, 0.0), answer)

    def _pulled(self, pull: Floats) -> Floats:
        """argmin over the domain of ⟨pull, θ⟩ + (λ/2)‖θ‖² + lasso·‖θ‖₁."""
        ridge, lasso = self.regularizer.ridge, self.regularizer.lasso
        if not lasso or isinstance(self.domain, Simplex):
            return self.domain.project(-pull / ridge)
        shrunk = -np.sign(pull) * np.maximum(np.abs(pull) - lasso, 0.0) / ridge
        return self.domain.project(shrunk)

    def _value(self, theta: Floats, linear: Floats) -> float:
        losses = math.fsum(self.loss.values(self.features @ theta, self.labels).tolist())
        return losses + float(self.regularizer.values(theta) + linear @ theta)

    def _size(self, theta: Floats, linear: Floats) -> float:
        """A bound on the rounding error of `_value`: γ times the sum of its terms' absolute values.

        The sum over records is exact, so γ is that of one score and one loss.
        """
        d = self.features.shape[1]
        reach = row_lengths(self.features) * float(np.linalg.norm(theta))
        ends = [self.loss.slopes(end, self.labels) for end in (-1e300, 1e300)]
        slope = float(np.abs(ends).max(initial=0.0))
        losses = float(np.abs(self.loss.values(0.0, self.labels)).sum() + slope * reach.sum())
        rest = float(self.regularizer.values(theta) + np.abs(linear * theta).sum())
        size: float = gamma(d + 24) * 2.0 * (losses + rest)
        return size

    def _rounding(
        self, slopes: Floats, conjugates: Floats, linear: Floats, answer: Floats
    ) -> float:
        """A bound on the rounding error of the dual value, with that of its argmin θ(a).

        The dual's inner problem is strongly convex: an error e of its argmin and an error p of
        `pull` cost at most p·‖θ‖ + (‖pull‖ + λ‖θ‖ + lasso·√d)·e.
        """
        d = self.features.shape[1]
        lengths, size = row_lengths(self.features), float(np.linalg.norm(answer))
        pulled = float(np.abs(slopes) @ lengths) + float(np.linalg.norm(linear))
        off = (4 * d + 32) * UNIT * (size + pulled / self.regularizer.ridge)
        steep = pulled + self.regularizer.ridge * size + self.regularizer.lasso * d
        sums = (BLOCK_ERROR + gamma(d + 24)) * (float(np.abs(conjugates).sum()) + pulled * size)
        rest = 8 * UNIT * float(self.regularizer.values(answer))
        return float(2.0 * (sums + steep * off + rest))


_TOLERANCES = {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12, "max_iter": 200}
