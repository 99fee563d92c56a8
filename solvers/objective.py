"""The smooth objective J(θ) = Σ f(⟨θ, xᵢ⟩; yᵢ) + (ridge/2)·‖θ‖² + ⟨b, θ⟩, for many b at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpverify.errors import InvalidParameter, check_positive
from solvers.bounds import Floats
from solvers.losses.base import Loss


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """J without its linear part, which every call brings along: one row b a row θ.

    Features are (n, d), labels (n), and whatever they obey was checked before.
    """

    loss: Loss
    features: Floats
    labels: Floats
    ridge: float

    def __post_init__(self) -> None:
        check_positive("ridge", self.ridge)
        if not self.loss.smooth:
            raise InvalidParameter(f"loss={self.loss.name!r} must be smooth for Newton's method")
        if np.ndim(self.loss.slopes(0.0, 1.0)) != 0:
            raise InvalidParameter(f"loss={self.loss.name!r} must have one score a record here")

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1])

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
        """∇J from slopes that are known already."""
        gradients: Floats = slopes @ self.features + self.ridge * points + linear
        return gradients

    def noise_at(self, points: Floats) -> Floats:
        """The linear part b of which each point is the minimum: −Σ∇ℓ(θ) − ridge·θ."""
        return -self.gradients(points, np.zeros_like(points))

    def hessians(self, points: Floats) -> Floats:
        """∇²J at each point: (B, d, d)."""
        return Squares(self.features).hessians(
            self.loss.curvatures(self.scores(points), self.labels), self.ridge
        )


class Squares:
    """The products xᵢⱼ·xᵢₖ, j ≤ k, so that Σ wᵢ·xᵢxᵢᵀ is one matrix product for many w."""

    def __init__(self, features: Floats) -> None:
        d = features.shape[1]
        rows, columns = np.triu_indices(d)
        self._products = features[:, rows] * features[:, columns]
        place: NDArray[np.int64] = np.empty((d, d), np.int64)
        place[rows, columns] = place[columns, rows] = np.arange(len(rows))
        self._place = place
        self._identity = np.eye(d)

    def hessians(self, weights: Floats, ridge: float) -> Floats:
        """Σ wᵢ·xᵢxᵢᵀ + ridge·I for each row w of weights (B, n)."""
        packed = weights @ self._products
        hessians: Floats = packed[:, self._place] + ridge * self._identity
        return hessians
