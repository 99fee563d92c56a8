"""Sums of convex losses at lattice points, exact integers, and the convex function beside them."""

from dataclasses import dataclass

import numpy as np

from dpverify.arrays import Floats, Ints
from solvers.losses import Loss

HALF_SPAN = 1 << 29  # G·R in units: what one record's loss may differ from its value at 0
CELLS = 1 << 18  # scores per pass


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeSums:
    """Σᵢ (ℓ(θ; xᵢ, yᵢ) − ℓ(0; xᵢ, yᵢ)) + (ridge/2)·‖θ‖² at lattice points θ, in units."""

    loss: Loss
    rows: Floats
    labels: Floats
    score_step: float
    unit: float
    curvature: float

    @property
    def records(self) -> int:
        return len(self.rows)

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1])

    @property
    def slack(self) -> float:
        """Rounding to units and the clip take at most 2 a record; floats far less than the rest."""
        return 8.0 * self.records + 8.0

    def at(self, points: Ints) -> Ints:
        """The sums that weights are computed from, exact integers."""
        shares = np.rint(self._shares(self._scores(points)))
        np.clip(shares, -HALF_SPAN, HALF_SPAN, out=shares)
        totals: Ints = shares.astype(np.int64).sum(axis=1)
        return totals + self._penalty(points).astype(np.int64)

    def tangents(self, points: Ints) -> tuple[Floats, Floats]:
        """The convex function next to these sums, and its gradient per lattice step."""
        values, gradients = np.empty(len(points)), np.empty(points.shape)
        step = max(1, CELLS // self.records)
        for start in range(0, len(points), step):
            few = slice(start, start + step)
            scores = self._scores(points[few])
            values[few] = self._shares(scores).sum(axis=1) + self._penalty(points[few])
            slopes = self.loss.slopes(scores, self.labels) * (self.score_step / self.unit)
            gradients[few] = slopes @ self.rows + self.curvature * points[few]
        return values, gradients

    def _scores(self, points: Ints) -> Floats:
        """Exact: whole numbers below 2^(20 + 25) before the power of two."""
        scores: Floats = (points.astype(np.float64) @ self.rows.T) * self.score_step
        return scores

    def _shares(self, scores: Floats) -> Floats:
        at_zero = self.loss.values(np.zeros(self.records), self.labels)
        shares: Floats = (self.loss.values(scores, self.labels) - at_zero) / self.unit
        return shares

    def _penalty(self, points: Ints) -> Floats:
        """Public, so its rounding is part of the definition."""
        squares = (points * points).sum(axis=1).astype(np.float64)
        penalties: Floats = np.rint(0.5 * self.curvature * squares)
        return penalties
