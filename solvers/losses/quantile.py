"""The absolute loss and its tilted forms: medians and quantiles."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, check_real, settle_fields
from solvers.losses.base import TwoLines


class _Tilted(TwoLines):
    """above·max(0, y − s) + below·max(0, s − y)."""

    labels = "bounded"
    monotone = False

    @property
    @abstractmethod
    def tilts(self) -> tuple[float, float]:
        """The weights for labels above and below the score."""

    @property
    def steepest(self) -> float:
        return max(self.tilts)

    def corners(self, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:
        above, below = self.tilts
        corner = np.asarray(labels, np.float64)
        return corner, np.full_like(corner, -above), np.full_like(corner, below)

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        above, below = self.tilts
        gap = np.asarray(labels, np.float64) - scores
        return cp.maximum(above * gap, -below * gap)


@dataclass(frozen=True, slots=True)
class Absolute(_Tilted):
    """The absolute loss.

    |s − y|: with the one feature x = 1 its minimizer is the median of the labels.

    >>> Absolute().values([1.0, 3.0], [0.0, 5.0]).tolist()
    [1.0, 2.0]
    """

    name = "absolute"
    tilts = (1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Quantile(_Tilted):
    """The quantile loss: the absolute loss, tilted.

    level·max(0, y − s) + (1 − level)·max(0, s − y): minimized by a `level`-quantile.

    >>> Quantile(0.75).values([0.0, 0.0], [4.0, -4.0]).tolist()
    [3.0, 1.0]
    """

    level: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_real("level", self.level)
        if not 0.0 < self.level < 1.0:
            raise InvalidParameter(f"level={self.level!r} must lie strictly between 0 and 1")

    @property
    def name(self) -> str:
        return f"quantile({self.level:g})"

    @property
    def tilts(self) -> tuple[float, float]:
        return float(self.level), 1.0 - float(self.level)
