"""Losses with one corner, rounded off as little as one likes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.errors import NotSupported
from solvers.bounds import Bounds
from solvers.domains import Domain
from solvers.losses.base import UNIT, Loss


@dataclass(frozen=True, slots=True)
class Rounded(Loss):
    """min over u of f(u) + (s − u)²/(2·width), for f(s) = max(low·(s − c), high·(s − c)).

    Its slope is (s − c)/width, cut to [low, high]: one that f has as well, at a score within
    width·|slope| of s. So a minimum of rounded losses carries a small duality gap of f itself.

    >>> from solvers.losses import Absolute
    >>> Rounded(Absolute(), 0.5).slopes([0.0, 0.25, 3.0], [0.0, 0.0, 0.0]).tolist()
    [0.0, 0.5, 1.0]
    """

    loss: Loss
    width: float

    @property
    def name(self) -> str:
        return f"rounded {self.loss.name}"

    @property
    def monotone(self) -> bool:
        return self.loss.monotone

    @property
    def twice_differentiable(self) -> bool:
        return False

    def _raw(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        raw: Floats = (np.asarray(scores, np.float64) - self.loss.corners(labels)[0]) / self.width
        return raw

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """With a the slope, a·(s − c) − width·a²/2."""
        a = self.slopes(scores, labels)
        values: Floats = a * self.width * (self._raw(scores, labels) - 0.5 * a)
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        _, low, high = self.loss.corners(labels)
        return np.clip(self._raw(scores, labels), low, high)

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        _, low, high = self.loss.corners(labels)
        raw = self._raw(scores, labels)
        return np.where((raw > low) & (raw < high), 1.0 / self.width, 0.0)

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:
        corner, low, high = (arb(float(x)) for x in self.loss.corners(label))
        width = ball(self.width)
        raw = (scores[0] - corner) / width
        a = raw.max(low).min(high)
        bend = 1 / width if low < raw < high else arb(0)
        return a * width * (raw - a / 2), [a], [[bend]]

    def slope_bound(
        self, bounds: Bounds, domain: Domain | None = None, dimension: int | None = None
    ) -> float:
        return self.loss.slope_bound(bounds, domain, dimension)

    @property
    def sharpness(self) -> float:
        return enclose(lambda: 1 / ball(self.width))[1]

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """Two roundings of s − c, whose terms may cancel."""
        corner, low, high = self.loss.corners(labels)
        raw = self._raw(scores, labels)
        size = (np.abs(np.asarray(scores, np.float64)) + np.abs(corner)) / self.width
        # Far from the corner the slope is cut, and exact.
        cut = (raw < low - 8.0 * UNIT * size) | (raw > high + 8.0 * UNIT * size)
        return np.where(cut, 0.0, 4.0 * UNIT * size)

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401, ARG002
        raise NotSupported(f"loss={self.name!r} is minimized by Newton's method")

    def check_bounds(self, bounds: Bounds) -> None:
        self.loss.check_bounds(bounds)
