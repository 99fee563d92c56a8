"""The smooth objective J(θ) = Σ f(⟨θ, xᵢ⟩; yᵢ) + (ridge/2)·‖θ‖² + ⟨b, θ⟩, for many b at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_positive, settle_fields
from solvers.losses.base import Loss
from solvers.losses.softmax import classes_of

PRODUCTS = 1 << 23  # products of features that are held at once
_FEW = 8  # Hessians of many records that are cheaper one by one


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """J without its linear part b, which every call supplies: one row b per row θ.

    Features are (n, d), labels (n), and whatever they obey was checked before.
    """

    loss: Loss
    features: Floats
    labels: Floats
    ridge: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("ridge", self.ridge)
        if not self.loss.smooth:
            raise InvalidParameter(f"loss={self.loss.name!r} must be smooth for Newton's method")
        self._check_scores()

    def _check_scores(self) -> None:
        if classes_of(self.loss) > 1:
            raise InvalidParameter(f"loss={self.loss.name!r} must have one score a record here")

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return int(self.features.shape[1])

    @property
    def width(self) -> int:
        """The number of second derivatives of one record's loss."""
        return 1

    def squares(self) -> "Squares":
        """Turns second derivatives into Hessians; prepared once for many points."""
        return Squares(self.features)

    def scores(self, points: Floats) -> Floats:
        """⟨θ, x⟩ for points (B, d) and all records: (B, n)."""
        scores: Floats = points @ self.features.T
        return scores

    def values(self, points: Floats, linear: Floats) -> Floats:
        """J at each point."""
        values: Floats = self.loss.values(self.scores(points), self.labels).sum(axis=1)
        values += np.einsum("ij,ij->i", 0.5 * self.ridge * points + linear, points)
        return values

    def gradients(self, points: Floats, linear: Floats) -> Floats:
        """∇J at each point: (B, d)."""
        slopes = self.loss.slopes(self.scores(points), self.labels)
        return self.total(slopes, points, linear)

    def total(self, slopes: Floats, points: Floats, linear: Floats) -> Floats:
        """∇J from slopes that were already computed."""
        gradients: Floats = slopes @ self.features + self.ridge * points + linear
        return gradients

    def noise_at(self, points: Floats) -> Floats:
        """The linear part b that makes each point the minimum: −Σ∇ℓ(θ) − ridge·θ."""
        return -self.gradients(points, np.zeros_like(points))

    def hessians(self, points: Floats) -> Floats:
        """∇²J at each point: (B, d, d)."""
        bends = self.loss.curvatures(self.scores(points), self.labels)
        return self.squares().hessians(bends, self.ridge)


class Squares:
    """The products xᵢⱼ·xᵢₖ, j ≤ k, which make Σ wᵢ·xᵢxᵢᵀ one matrix product for many w.

    Of many records the products are formed again for each block, to bound memory.
    """

    def __init__(self, features: Floats) -> None:
        d = features.shape[1]
        self._features = features
        self._rows, self._columns = np.triu_indices(d)
        place: NDArray[np.int64] = np.empty((d, d), np.int64)
        place[self._rows, self._columns] = np.arange(len(self._rows))
        place[self._columns, self._rows] = np.arange(len(self._rows))
        self._place = place
        self._block = max(1, PRODUCTS // len(self._rows))
        few = len(features) <= self._block
        self._kept = self._products(slice(None)) if few else None

    def _products(self, records: slice) -> Floats:
        rows = self._features[records]
        products: Floats = rows[:, self._rows] * rows[:, self._columns]
        return products

    def hessians(self, weights: Floats, ridge: float) -> Floats:
        """Σ wᵢ·xᵢxᵢᵀ + ridge·I for each row w ≥ 0 of weights (B, n)."""
        if self._kept is None and len(weights) <= _FEW:
            return np.array([self._one(w) for w in weights]) + ridge * np.eye(len(self._place))
        hessians = self.unpacked(self.packed(weights))
        hessians += ridge * np.eye(len(self._place))
        return hessians

    def packed(self, weights: Floats) -> Floats:
        """Σ wᵢ·xᵢⱼ·xᵢₖ for j ≤ k, one row for each row of weights."""
        if self._kept is not None:
            total: Floats = weights @ self._kept
            return total
        total = np.zeros((len(weights), len(self._rows)))
        for first in range(0, len(self._features), self._block):
            part = slice(first, first + self._block)
            total += weights[:, part] @ self._products(part)
        return total

    def unpacked(self, packed: Floats) -> Floats:
        """Symmetric matrices from their upper triangles."""
        matrices: Floats = packed[..., self._place]
        return matrices

    def _one(self, weights: Floats) -> Floats:
        total = np.zeros(self._place.shape)
        rows = max(1, (1 << 16) // len(total))
        for first in range(0, len(weights), rows):
            part = slice(first, first + rows)
            scaled = self._features[part] * np.sqrt(weights[part])[:, None]
            total += scaled.T @ scaled
        return total


class MulticlassObjective(Objective):
    """J(θ) = Σ softmax(θᵀxᵢ; yᵢ) + (ridge/2)·‖θ‖² + ⟨b, θ⟩; points and b are vectors (B, d·K)."""

    __slots__ = ()

    def _check_scores(self) -> None:
        if classes_of(self.loss) == 1:
            raise InvalidParameter(f"loss={self.loss.name!r} must be softmax here")

    @property
    def classes(self) -> int:
        return classes_of(self.loss)

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
        above, below = np.triu_indices(classes)  # Wᵢ is symmetric
        flat = np.moveaxis(weights[:, :, above, below], 1, -1).reshape(count * len(above), n)
        matrices = self.unpacked(self.packed(np.ascontiguousarray(flat)))
        d = matrices.shape[-1]
        blocks = np.empty((count, classes, classes, d, d))
        blocks[:, above, below] = matrices.reshape(count, len(above), d, d)
        blocks[:, below, above] = blocks[:, above, below]
        size = d * classes
        hessians: Floats = blocks.transpose(0, 3, 1, 4, 2).reshape(count, size, size)
        return hessians + ridge * np.eye(d * classes)


def objective_of(loss: Loss, features: Floats, labels: Floats, ridge: float) -> Objective:
    """J for a loss of one score per record, or of one score per class."""
    made = MulticlassObjective if classes_of(loss) > 1 else Objective
    return made(loss, features, labels, ridge)
