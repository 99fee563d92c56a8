"""The softmax objective: θ a matrix (d, classes), laid out row by row in a vector."""

import numpy as np

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter
from solvers.losses.softmax import Softmax
from solvers.minimize.objective import Objective, Squares


class MulticlassObjective(Objective):
    """J(θ) = Σ softmax(θᵀxᵢ; yᵢ) + (ridge/2)·‖θ‖² + ⟨b, θ⟩; points and b are vectors (B, d·K)."""

    __slots__ = ()

    def _check_scores(self) -> None:
        if not isinstance(self.loss, Softmax):
            raise InvalidParameter(f"loss={self.loss.name!r} must be softmax here")

    @property
    def classes(self) -> int:
        return int(self.loss.classes)  # type: ignore[attr-defined]  # it is Softmax

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1]) * self.classes

    @property
    def width(self) -> int:
        return self.classes**2

    def squares(self) -> Squares:
        return _ClassSquares(self.features)

    def scores(self, points: Floats) -> Floats:
        """θᵀx for points (B, d·K) and all records: (B, n, K)."""
        matrices = points.reshape(len(points), self.features.shape[1], self.classes)
        scores: Floats = np.matmul(self.features, matrices)
        return scores

    def total(self, slopes: Floats, points: Floats, linear: Floats) -> Floats:
        sums = np.matmul(self.features.T, slopes).reshape(points.shape)
        gradients: Floats = sums + self.ridge * points + linear
        return gradients


class _ClassSquares(Squares):
    """Σ xᵢxᵢᵀ ⊗ Wᵢ for the second derivatives Wᵢ (K, K) of each record."""

    def hessians(self, weights: Floats, ridge: float) -> Floats:
        count, n, classes, _ = weights.shape
        flat = np.moveaxis(weights, 1, -1).reshape(count * classes**2, n)
        matrices = self.unpacked(self.packed(flat))
        d = matrices.shape[-1]
        blocks = matrices.reshape(count, classes, classes, d, d)
        size = d * classes
        hessians: Floats = blocks.transpose(0, 3, 1, 4, 2).reshape(count, size, size)
        return hessians + ridge * np.eye(d * classes)
