"""The softmax loss: Newton's method, θ a matrix (d, classes) laid out row by row."""

import numpy as np

from solvers.bounds import Floats
from solvers.certificate import gamma, row_lengths
from solvers.losses.base import UNIT, Loss

_ITERATIONS = 200
_HALVINGS = 60
_ARMIJO = 1e-4
_SHORTER = 0.9
_TOLERANCE = 1e-10


def minimize_multiclass(
    loss: Loss, features: Floats, labels: Floats, ridge: float, linear: Floats
) -> tuple[Floats, float]:
    """The minimum of Σℓ + (ridge/2)‖θ‖² + ⟨b, θ⟩, and a bound on ‖∇J‖ there, rounding included."""
    model = _Multiclass(loss, features, labels, ridge, linear)
    point = np.zeros_like(linear)
    gradient = model.gradient(point)
    shortest = float(np.linalg.norm(gradient))
    for _ in range(_ITERATIONS):
        if np.linalg.norm(gradient) <= _TOLERANCE:
            break
        direction = model.direction(point, gradient)
        length = model.length(point, gradient, direction, _SHORTER * shortest)
        if length == 0.0:
            break
        point = point + length * direction
        gradient = model.gradient(point)
        shortest = min(shortest, float(np.linalg.norm(gradient)))
    return point, model.bound(point)


class _Multiclass:
    def __init__(
        self, loss: Loss, features: Floats, labels: Floats, ridge: float, linear: Floats
    ) -> None:
        self.loss, self.features, self.labels = loss, features, labels
        self.ridge, self.linear = ridge, linear

    def scores(self, point: Floats) -> Floats:
        scores: Floats = self.features @ point.reshape(self.features.shape[1], -1)
        return scores

    def value(self, point: Floats) -> float:
        losses = self.loss.values(self.scores(point), self.labels).sum()
        return float(losses + point @ (0.5 * self.ridge * point + self.linear))

    def gradient(self, point: Floats) -> Floats:
        slopes = self.loss.slopes(self.scores(point), self.labels)
        gradient: Floats = (self.features.T @ slopes).ravel() + self.ridge * point + self.linear
        return gradient

    def direction(self, point: Floats, gradient: Floats) -> Floats:
        bends = self.loss.curvatures(self.scores(point), self.labels)
        hessian = np.einsum("ni,nkl,nj->ikjl", self.features, bends, self.features, optimize=True)
        square = hessian.reshape(len(point), len(point)) + self.ridge * np.eye(len(point))
        return -np.linalg.solve(square, gradient).astype(np.float64, copy=False)

    def length(self, point: Floats, gradient: Floats, direction: Floats, enough: float) -> float:
        """1 if that makes the gradient short enough, else the first half power at which J falls."""
        if np.linalg.norm(self.gradient(point + direction)) <= enough:
            return 1.0
        before, fall, length = self.value(point), float(gradient @ direction), 1.0
        for _ in range(_HALVINGS):
            if self.value(point + length * direction) <= before + _ARMIJO * length * fall:
                return length
            length /= 2.0
        return 0.0

    def bound(self, point: Floats) -> float:
        """‖∇J‖ with every rounding: as in `certificate`, norms over the classes of a record."""
        n, d = self.features.shape
        lengths, scores = row_lengths(self.features), self.scores(point)
        slopes = np.linalg.norm(self.loss.slopes(scores, self.labels), axis=1)
        errors = np.linalg.norm(self.loss.slope_errors(scores, self.labels), axis=1)
        size = float(np.linalg.norm(point))
        errors = errors + self.loss.sharpness * gamma(d + 2) * size * lengths
        carried = float(slopes @ lengths) + self.ridge * size + float(np.linalg.norm(self.linear))
        rounding = float(errors @ lengths) + (gamma(n + 2) + 8 * UNIT) * carried
        total = float(np.linalg.norm(self.gradient(point))) + rounding
        return total * (1.0 + 2.0**-30 + gamma(n + len(point)))
