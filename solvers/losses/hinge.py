"""The hinge loss of support vector machines, and its smoothed form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import ball, enclose
from dpverify.errors import check_positive, settle_fields
from solvers.losses.base import UNIT, Loss, TwoLines, margins


@dataclass(frozen=True, slots=True)
class Hinge(TwoLines):
    """The hinge loss of support vector machines.

    max(0, 1 − y·s) for y = ±1: 1-Lipschitz with a corner at ys = 1.

    >>> Hinge().values([0.5, 2.0], [1, 1]).tolist()
    [0.5, 0.0]
    """

    name = "hinge"
    labels = "signs"
    monotone = True
    steepest = 1.0

    def corners(self, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:
        """A corner at s = y, with slopes −1 and 0 for y = 1, and 0 and 1 for y = −1."""
        signs = np.asarray(labels, np.float64)
        return signs, np.where(signs > 0.0, -1.0, 0.0), np.where(signs > 0.0, 0.0, 1.0)

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        return cp.pos(1 - cp.multiply(np.asarray(labels, np.float64), scores))


@dataclass(frozen=True, slots=True)
class HuberHinge(Loss):
    """The hinge loss with its corner smoothed between ys = 1 − h and 1 + h, where h = `width`.

    (1 + h − ys)²/(4h) in between: |f′| ≤ 1 and f″ = 1/(2h) there, 0 outside. [CMS11 Sec. 3.4.3]

    >>> HuberHinge(width=0.5).values([2.0, 1.0, 0.0], [1, 1, 1]).tolist()
    [0.0, 0.125, 1.0]
    """

    name = "huber-hinge"
    labels = "signs"
    monotone = True
    steepest = 1.0
    twice_differentiable = False

    width: float = 0.5

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("width", self.width)

    def _depth(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """1 + h − ys: the loss is 0 below 0, quadratic up to 2h, linear beyond."""
        depth: Floats = (1.0 + float(self.width)) - margins(scores, labels)
        return depth

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        h, depth = float(self.width), self._depth(scores, labels)
        bend = np.clip(depth, 0.0, 2.0 * h)
        values: Floats = bend * (bend / (4.0 * h)) + np.maximum(depth - 2.0 * h, 0.0)
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        share = np.clip(self._depth(scores, labels) / (2.0 * float(self.width)), 0.0, 1.0)
        slopes: Floats = -np.asarray(labels, np.float64) * share
        return slopes

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        h, depth = float(self.width), self._depth(scores, labels)
        inside = (depth > 0.0) & (depth < 2.0 * h)
        return np.where(inside, 0.5 / h, 0.0)

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:
        h = ball(self.width)
        depth = 1 + h - scores[0] * int(label)
        bend = depth.max(arb(0)).min(2 * h)
        inside = depth > 0 and depth < 2 * h
        value = bend * bend / (4 * h) + (depth - 2 * h).max(arb(0))
        return value, [-int(label) * bend / (2 * h)], [[1 / (2 * h) if inside else arb(0)]]

    @property
    def sharpness(self) -> float:
        return enclose(lambda: 1 / (2 * ball(self.width)))[1]

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """Error bounds; 1 + h − ys cancels near 0, so its error is that of |1 + h| + |ys|."""
        size = 1.0 + float(self.width) + np.abs(margins(scores, labels))
        errors: Floats = 4.0 * UNIT * (size * self.sharpness + 1.0)
        return errors

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        h = float(self.width)
        depth = (1.0 + h) - cp.multiply(np.asarray(labels, np.float64), scores)
        # The threshold is annotated as an int in cvxpy, and taken as a number: scaled to 1 here.
        return h * cp.huber(cp.pos(depth) / (2.0 * h), 1)
