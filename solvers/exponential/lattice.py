"""Sums of convex losses at lattice points as exact integers, and boxes with lower bounds on them.

A convex F lies above its tangent plane at a box's center c, so on the box
F ≥ F(c) − Σⱼ |∂ⱼF(c)|·hⱼ with hⱼ how far the box reaches from c. Boxes are split until drawing a
box by its bound, a point of it evenly, and keeping the point with what the bound gave too much,
keeps enough. Which boxes there are changes how long that takes, never the distribution.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpverify.arrays import Floats, Ints
from solvers.losses import Loss

HALF_SPAN = 1 << 29  # G·R in units: what one record's loss may differ from its value at 0
CELLS = 1 << 18  # scores per pass


@dataclass(frozen=True, slots=True, kw_only=True)
class LatticeSums:
    """The sum of losses at lattice points, as exact integers.

    Σᵢ (ℓ(θ; xᵢ, yᵢ) − ℓ(0; xᵢ, yᵢ)) + (ridge/2)·‖θ‖² at lattice points θ, in units.
    """

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
        """The error of a sum: at most 2 per record for rounding and clipping, and less for floats.

        A sum of n products errs by n·2^-53 of their sizes, which add up to 2^30 units a record.
        """
        return (8.0 + 2.0**-20 * self.records) * self.records + 8.0

    def at(self, points: Ints) -> Ints:
        """The exact integer sums from which weights are computed."""
        shares = np.rint(self._shares(self._scores(points)))
        np.clip(shares, -HALF_SPAN, HALF_SPAN, out=shares)
        totals: Ints = shares.astype(np.int64).sum(axis=1)
        return totals + self._penalty(points).astype(np.int64)

    def tangents(self, points: Ints) -> tuple[Floats, Floats]:
        """The convex function that these sums approximate, and its gradient per lattice step."""
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
        """Exact scores: whole numbers below 2^(20 + 25), times a power of two."""
        scores: Floats = (points.astype(np.float64) @ self.rows.T) * self.score_step
        return scores

    def _shares(self, scores: Floats) -> Floats:
        at_zero = self.loss.values(np.zeros(self.records), self.labels)
        shares: Floats = (self.loss.values(scores, self.labels) - at_zero) / self.unit
        return shares

    def _penalty(self, points: Ints) -> Floats:
        """The penalty; it is public, so rounding it only changes the definition."""
        squares = (points * points).sum(axis=1).astype(np.float64)
        penalties: Floats = np.rint(0.5 * self.curvature * squares)
        return penalties


Tangents: TypeAlias = Callable[[Ints], tuple[Floats, Floats]]
"""For points (m, d): F at each, and its gradient there (m, d), per lattice step."""

_ENOUGH = 0.3  # of proposals kept, roughly
_MOST_BOXES = 1 << 16
_ROUNDS = 200
_RELATIVE = 1.0 + 2.0**-30


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes low ≤ point ≤ high of lattice points; `floor` is a lower bound on F within each."""

    low: Ints
    high: Ints
    floor: Ints
    center_value: Floats
    reach: Floats

    def log_counts(self) -> Floats:
        """The log of the number of lattice points in each box."""
        logs: Floats = np.log(self.high - self.low + 1.0).sum(axis=1)
        return logs

    def at(self, index: NDArray[np.bool_] | Ints) -> "Boxes":
        """The boxes with these indices."""
        return Boxes(
            self.low[index],
            self.high[index],
            self.floor[index],
            self.center_value[index],
            self.reach[index],
        )

    def with_more(self, other: "Boxes") -> "Boxes":
        return Boxes(
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.floor, other.floor]),
            np.concatenate([self.center_value, other.center_value]),
            np.concatenate([self.reach, other.reach]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The sampling target: weights exp(−rate·F) on lattice points with ‖point‖² ≤ `inside`.

    `slack` covers how far the sum that weights are computed from lies from F, and rounding.
    """

    tangents: Tangents
    rate: float
    inside: int
    slack: float

    def boxes(self, dimension: int) -> Boxes:
        """Boxes that cover all points, split where proposals would often be rejected."""
        reach = int(np.floor(np.sqrt(self.inside))) + 1
        corner = np.full((1, dimension), reach, np.int64)
        found = self._bounded(-corner, corner)
        for _ in range(_ROUNDS):
            chosen = self._worth_splitting(found)
            if not chosen.any():
                break
            found = found.at(~chosen).with_more(self._halves(found.at(chosen)))
        return found

    def _bounded(self, low: Ints, high: Ints) -> Boxes:
        nearest = np.clip(0, low, high)
        kept = (nearest * nearest).sum(axis=1) <= self.inside
        low, high = low[kept], high[kept]
        center = (low + high) >> 1
        value, gradient = self.tangents(center)
        reach = np.abs(gradient) * np.maximum(high - center, center - low)
        floor = np.floor(value - reach.sum(axis=1) * _RELATIVE - self.slack).astype(np.int64)
        beyond = (center * center).sum(axis=1) > self.inside
        return Boxes(low, high, floor, np.where(beyond, np.inf, value), reach)

    def _worth_splitting(self, boxes: Boxes) -> NDArray[np.bool_]:
        """The boxes that cause most rejections; none if enough proposals are accepted."""
        lowest = float(boxes.floor.min())
        logs = boxes.log_counts() - self.rate * (boxes.floor - lowest)
        bound = np.exp(logs - logs.max())
        share = np.exp(-self.rate * np.maximum(boxes.center_value - boxes.floor, 0.0))
        waste = bound * (1.0 - share)
        single = (boxes.high == boxes.low).all(axis=1)
        waste[single] = 0.0
        chosen = np.zeros(len(bound), np.bool_)
        if waste.sum() <= (1.0 - _ENOUGH) * bound.sum() or len(bound) >= _MOST_BOXES:
            return chosen
        order = np.argsort(-waste)
        much = np.searchsorted(np.cumsum(waste[order]), 0.9 * waste.sum()) + 1
        chosen[order[: int(much)]] = True
        chosen &= waste > 0.0
        return chosen

    def _halves(self, boxes: Boxes) -> Boxes:
        """Each box halved where F is steepest, or along its longest side if it meets the sphere."""
        lengths = (boxes.high - boxes.low).astype(np.float64)
        relative = lengths / lengths.max(axis=1, keepdims=True)
        straddles = (np.maximum(boxes.low**2, boxes.high**2).sum(axis=1) > self.inside)[:, None]
        steep = self.rate * boxes.reach + np.where(straddles, 1.0, 0.01) * relative
        axis = np.argmax(np.where(lengths > 0.0, steep, -1.0), axis=1)[:, None]
        low, high = (np.take_along_axis(part, axis, axis=1) for part in (boxes.low, boxes.high))
        middle = (low + high) >> 1
        upper_low, lower_high = boxes.low.copy(), boxes.high.copy()
        np.put_along_axis(lower_high, axis, middle, axis=1)
        np.put_along_axis(upper_low, axis, middle + 1, axis=1)
        return self._bounded(
            np.concatenate([boxes.low, upper_low]), np.concatenate([lower_high, boxes.high])
        )
