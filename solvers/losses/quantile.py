"""The absolute loss and its tilted forms: medians and quantiles."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_real
from solvers.bounds import Bounds
from solvers.domains import Domain
from solvers.losses.base import Loss, check_label_bound
from solvers.plain_numbers import settle


class _Tilted(Loss):
    """above·max(0, y − s) + below·max(0, s − y)."""

    @property
    def tilts(self) -> tuple[float, float]:
        """The weights of labels above and below the score."""
        raise NotImplementedError

    @property
    def monotone(self) -> bool:
        return False

    @property
    def smooth(self) -> bool:
        return False

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        above, below = self.tilts
        gap = np.asarray(labels, np.float64) - np.asarray(scores, np.float64)
        values: Floats = np.maximum(above * gap, -below * gap)
        return values

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        above, below = self.tilts
        gap = np.asarray(labels, np.float64) - np.asarray(scores, np.float64)
        slopes: Floats = np.where(gap > 0.0, -above, np.where(gap < 0.0, below, 0.0))
        return slopes

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return np.zeros(np.broadcast(scores, labels).shape)

    def corners(self, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:
        above, below = self.tilts
        corner = np.asarray(labels, np.float64)
        return corner, np.full_like(corner, -above), np.full_like(corner, below)

    def conjugates(self, slopes: Floats, labels: ArrayLike) -> tuple[Floats, Floats]:
        """f*(a) = a·y for −above ≤ a ≤ below."""
        above, below = self.tilts
        inside: Floats = np.clip(slopes, -above, below)
        return inside, inside * np.asarray(labels, np.float64)

    def slope_bound(
        self,
        bounds: Bounds,
        domain: Domain | None = None,  # noqa: ARG002
        dimension: int | None = None,  # noqa: ARG002
    ) -> float:
        self.check_bounds(bounds)
        return max(self.tilts)

    @property
    def sharpness(self) -> float:
        return math.inf

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        above, below = self.tilts
        gap = np.asarray(labels, np.float64) - scores
        return cp.maximum(above * gap, -below * gap)

    def check_bounds(self, bounds: Bounds) -> None:
        check_label_bound(bounds, self.name)


@dataclass(frozen=True, slots=True)
class Absolute(_Tilted):
    """|s − y|: with the one feature x = 1 its minimizer is the median of the labels.

    >>> Absolute().values([1.0, 3.0], [0.0, 5.0]).tolist()
    [1.0, 2.0]
    """

    @property
    def name(self) -> str:
        return "absolute"

    @property
    def tilts(self) -> tuple[float, float]:
        return 1.0, 1.0


@dataclass(frozen=True, slots=True)
class Quantile(_Tilted):
    """level·max(0, y − s) + (1 − level)·max(0, s − y): minimized by a `level`-quantile.

    >>> Quantile(0.75).values([0.0, 0.0], [4.0, -4.0]).tolist()
    [3.0, 1.0]
    """

    level: float

    def __post_init__(self) -> None:
        settle(self)
        check_real("level", self.level)
        if not 0.0 < self.level < 1.0:
            raise InvalidParameter(f"level={self.level!r} must lie strictly between 0 and 1")

    @property
    def name(self) -> str:
        return f"quantile({self.level:g})"

    @property
    def tilts(self) -> tuple[float, float]:
        return float(self.level), 1.0 - float(self.level)
