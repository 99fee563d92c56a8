"""Smooth losses on a domain or with an ℓ1 norm: proximal Newton steps, for many b at once.

J(θ) = S(θ) + lasso·‖θ‖₁ over a closed convex domain, S(θ) = Σℓ + (λ/2)‖θ‖² + ⟨b, θ⟩. A step
minimizes the quadratic model of S plus the rest by accelerated proximal gradients, which cost
nothing in the number of records, and is halved until J falls as the model promises. The answer is
the last proximal gradient step θ⁺ = prox(θ − t·∇S(θ)), since it carries a certificate: the vector
ξ = ∇S(θ⁺) − ∇S(θ) + (θ − θ⁺)/t is a subgradient of J at θ⁺, so ‖θ⁺ − θ*‖ ≤ ‖ξ‖/λ.
"""

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from solvers.domains import Domain, Simplex
from solvers.losses.base import UNIT
from solvers.minimize.certificate import certified_gradients
from solvers.minimize.objective import Objective, Squares

_ITERATIONS = 100
_INNER = 5000
_HALVINGS = 50
_ARMIJO = 1e-4
_ENOUGH = 1e-12  # a step that is this small against 1 + ‖θ‖ is the last
_BLOCK = 1 << 20  # scores a pass


def minimize_on(
    objective: Objective, linear: Floats, *, lasso: float, domain: Domain, start: Floats
) -> tuple[Floats, Floats]:
    """For each row b of `linear` (B, d) a point, and a bound on its distance from the minimum."""
    lasso = 0.0 if isinstance(domain, Simplex) else lasso  # the ℓ1 norm is 1 all over it
    rows = max(1, _BLOCK // max(1, len(objective.features)))
    points, distances = np.empty_like(linear), np.empty(len(linear))
    squares = Squares(objective.features)
    gram = objective.features.T @ objective.features
    most = objective.ridge + objective.loss.sharpness * float(np.linalg.eigvalsh(gram)[-1])
    for first in range(0, len(linear), rows):
        part = slice(first, first + rows)
        batch = _Batch(objective, squares, lasso, domain, linear[part], most * (1.0 + 2.0**-20))
        points[part], distances[part] = batch.run(np.broadcast_to(start, linear[part].shape))
    return points, distances


class _Batch:
    """One block of rows."""

    def __init__(  # noqa: PLR0913, PLR0917  # what a problem consists of
        self,
        objective: Objective,
        squares: Squares,
        lasso: float,
        domain: Domain,
        linear: Floats,
        most: float,
    ) -> None:
        self.objective, self.squares, self.linear = objective, squares, linear
        self.lasso, self.domain, self.most = lasso, domain, most

    def run(self, start: Floats) -> tuple[Floats, Floats]:
        points = self.domain.project(start)
        active = np.arange(len(points))
        for _ in range(_ITERATIONS):
            moved = self._step(points[active], self.linear[active])
            change = np.linalg.norm(moved - points[active], axis=1)
            points[active] = moved
            active = active[change > _ENOUGH * (1.0 + np.linalg.norm(moved, axis=1))]
            if len(active) == 0:
                break
        return self._certified(points)

    def _prox(self, points: Floats, length: Floats | float) -> Floats:
        """argmin of ‖· − point‖²/2 + length·(lasso·‖·‖₁) on the domain.

        Soft thresholds, then the projection: right for boxes, where both act on single
        coordinates, and for balls around 0, whose projection rescales. [Yu, NIPS 2013, Thm 4]
        """
        if self.lasso:
            shrunk = np.abs(points) - length * self.lasso
            points = np.sign(points) * np.maximum(shrunk, 0.0)
        return self.domain.project(points)

    def _values(self, points: Floats, linear: Floats) -> Floats:
        values = self.objective.values(points, linear)
        values += self.lasso * np.abs(points).sum(axis=1)
        return values

    def _step(self, points: Floats, linear: Floats) -> Floats:
        objective = self.objective
        slopes, bends = objective.loss.derivatives(objective.scores(points), objective.labels)
        gradients = objective.total(slopes, points, linear)
        hessians = self.squares.hessians(bends, objective.ridge)
        target = self._model_minimum(points, gradients, hessians)
        direction = target - points
        promised = np.einsum("ij,ij->i", gradients, direction) + self.lasso * (
            np.abs(target).sum(axis=1) - np.abs(points).sum(axis=1)
        )
        before = self._values(points, linear)
        result, waiting, length = points.copy(), np.arange(len(points)), 1.0
        room = 1e-14 * (1.0 + np.abs(before))  # below this, values cannot tell better from worse
        for _ in range(_HALVINGS):
            trial = points[waiting] + length * direction[waiting]
            after = self._values(trial, linear[waiting])
            fine: NDArray[np.bool_] = (
                after <= before[waiting] + _ARMIJO * length * promised[waiting] + room[waiting]
            )
            result[waiting[fine]] = trial[fine]
            waiting = waiting[~fine]
            if len(waiting) == 0:
                break
            length /= 2.0
        return result

    def _model_minimum(self, points: Floats, gradients: Floats, hessians: Floats) -> Floats:
        """The minimum of the quadratic model plus the penalty, by accelerated proximal steps."""
        values: Floats = np.linalg.eigvalsh(hessians).astype(np.float64, copy=False)
        high, low = values[:, -1:] * (1.0 + 1e-9), np.maximum(values[:, :1], self.objective.ridge)
        ratio = np.sqrt(low / high)
        momentum = (1.0 - ratio) / (1.0 + ratio)
        here = ahead = points
        for _ in range(_INNER):
            slope = gradients + np.einsum("bij,bj->bi", hessians, ahead - points)
            there = self._prox(ahead - slope / high, 1.0 / high)
            change = np.abs(there - here).max()
            ahead = there + momentum * (there - here)
            here = there
            if change <= 1e-15 * (1.0 + np.abs(here).max()):
                break
        return here

    def _certified(self, points: Floats) -> tuple[Floats, Floats]:
        objective, linear, t = self.objective, self.linear, 1.0 / self.most
        before, first = certified_gradients(objective, points, linear)
        moved = points - t * before
        answers = self._prox(moved, t)
        after, second = certified_gradients(objective, answers, linear)
        residual = np.linalg.norm(after - before + (points - answers) / t, axis=1)
        d = points.shape[1]
        sizes = np.linalg.norm(points, axis=1) + np.linalg.norm(moved, axis=1)
        # The computed prox is off by a few roundings of its argument, as are the quotient and sum.
        off = (4.0 * d + 32.0) * UNIT * (sizes + t * self.lasso * np.sqrt(d))
        total = residual + first + second + 4.0 * self.most * off
        total += 8.0 * UNIT * (np.linalg.norm(before, axis=1) + np.linalg.norm(after, axis=1))
        return answers, (total / objective.ridge + off) * (1.0 + 2.0**-30)
