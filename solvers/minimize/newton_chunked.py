"""Newton's method on chunked data: one pass gives J, its gradient and its Hessian at a point.

The certificate is one pass more: the gradient as exact sums of what blocks give, and all that
blocks may have lost to rounding. Chunks are summed in their order, so that a fit can be repeated.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats, lengths
from solvers.chunks import Block, Chunks
from solvers.losses.base import UNIT, Loss
from solvers.minimize.certificate import BLOCK_ERROR, ROOM, block_gradient, gamma, underflow
from solvers.minimize.newton import solved
from solvers.minimize.objective import objective_of

_PASSES = 500
_HALVINGS = 60
_ARMIJO = 1e-4
_SHORTER = 0.9
_ROUNDING = 1e-14  # a share of the sum of n slopes that its rounding exceeds anyway


@dataclass(frozen=True, slots=True)
class ChunkedObjective:
    """J(θ) = Σ f(⟨θ, xᵢ⟩; yᵢ) + (ridge/2)·‖θ‖² + ⟨b, θ⟩ over chunks; f smooth, or softmax."""

    loss: Loss
    chunks: Chunks
    ridge: float

    def minimize(self, linear: Floats, *, tolerance: float) -> Floats:
        """A point with ‖∇J‖ ≤ tolerance, unless rounding allows none."""
        tolerance = max(tolerance, _ROUNDING * len(self.chunks))
        here = self._at(np.zeros_like(linear), linear)
        shortest = here.length
        for _ in range(_PASSES):
            if here.length <= tolerance:
                break
            direction = -solved(here.hessian[None], here.gradient[None])[0]
            there = self._searched(here, direction, linear, _SHORTER * shortest)
            if there is None:  # J cannot be made smaller in floats: rounding is reached
                break
            here, shortest = there, min(shortest, there.length)
        return here.point

    def _searched(
        self, here: "_Place", direction: Floats, linear: Floats, enough: float
    ) -> "_Place | None":
        """The full step if it shortens the gradient, else the first halved step that lowers J."""
        fall, length = float(here.gradient @ direction), 1.0
        for _ in range(_HALVINGS):
            there = self._at(here.point + length * direction, linear)
            if length == 1.0 and there.length <= enough:
                return there
            if there.value <= here.value + _ARMIJO * length * fall:
                return there
            length /= 2.0
        return None

    def _at(self, point: Floats, linear: Floats) -> "_Place":
        value, gradient, hessian = self.chunks.total(_Derivatives(self.loss, point))
        return _Place(
            point,
            float(value) + float((0.5 * self.ridge * point + linear) @ point),
            gradient + self.ridge * point + linear,
            hessian + self.ridge * np.eye(len(point)),
        )

    def gradient_bound(self, point: Floats, linear: Floats) -> float:
        """A bound on the exact ‖∇J‖, rounding included."""
        sums, error, size = self.chunks.total(_Certified(self.loss, point, self.ridge))
        gradient = sums + self.ridge * point + linear
        rest = float(lengths(linear) + self.ridge * lengths(point))
        chunks = len(self.chunks.sizes or ())
        # Each chunk's sum is rounded once, and their sum once a chunk.
        lost = BLOCK_ERROR + gamma(chunks + 8)
        rounding = (float(error) + lost * float(size) + 16 * UNIT * rest) * (
            ROOM + gamma(len(self.chunks))
        )
        rounding += underflow(len(self.chunks), len(point))
        return (float(lengths(gradient)) + rounding) * ROOM


@dataclass(frozen=True, slots=True)
class _Place:
    point: Floats
    value: float
    gradient: Floats
    hessian: Floats

    @property
    def length(self) -> float:
        return math.sqrt(float(self.gradient @ self.gradient))


@dataclass(frozen=True, slots=True)
class _Derivatives:
    """Σf, its gradient and its Hessian over one block."""

    loss: Loss
    point: Floats

    def __call__(self, block: Block) -> tuple[Floats, Floats, Floats]:
        rows, labels = block
        part = objective_of(self.loss, rows, labels, 1.0)
        scores = part.scores(self.point[None])
        slopes, bends = self.loss.derivatives(scores, labels)
        value = self.loss.values(scores, labels).sum()
        if bends.ndim == 2:  # one score a record
            scaled = rows * bends[0][:, None]
            return value, slopes[0] @ rows, scaled.T @ rows
        gradient = np.matmul(rows.T, slopes[0]).ravel()
        return value, gradient, part.squares().hessians(bends, 0.0)[0]


@dataclass(frozen=True, slots=True)
class _Certified:
    """The gradient over one block, its error without that of sums, and Σ|f′|·‖x‖."""

    loss: Loss
    point: Floats
    ridge: float

    def __call__(self, block: Block) -> tuple[Floats, Floats, Floats]:
        part = objective_of(self.loss, block[0], block[1], self.ridge)
        sums, error, size = block_gradient(part, self.point)
        gradient = np.array([math.fsum(column.tolist()) for column in sums.T])
        return gradient, np.asarray(error), np.asarray(size)
