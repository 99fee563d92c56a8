"""What every loss must declare: its constants, its values, and what its minimization needs."""

import math
from abc import ABC, abstractmethod
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.balls import Formula, ball, enclose
from dpverify.errors import InvalidParameter, NotSupported
from solvers.bounds import Bounds
from solvers.domains import Domain

Labels: TypeAlias = Literal["signs", "bounded", "classes"]

UNIT = 2.0**-53  # half a unit in the last place: the relative error of one rounding
TINY = 2.0**-1000  # what may be lost where numbers are too small to have all their digits


class Loss(ABC):
    """A convex loss f(⟨θ, x⟩; y) of a linear model, with the constants that privacy rests on.

    Methods take scores s = ⟨θ, x⟩ of any shape (…, n) and labels that broadcast against them. A
    loss of your own needs the constants below as class attributes, `values`, `slopes` and
    `curvatures`, and `precise`; or, if f has a corner, only what `TwoLines` asks for. One that
    lacks something is refused when it is made. `solvers.register` makes it known by its name.
    """

    smooth: bool = True  # whether f′ is Lipschitz; f″ then exists except at finitely many scores

    def __new__(cls, *_: object, **__: object) -> Self:
        """Raise if a subclass does not define everything that a loss must have."""
        missing = set(cls.__abstractmethods__)
        needed = "precise" if cls.smooth else "corners"
        if getattr(cls, needed) is getattr(Loss, needed):
            missing.add(needed)
        if missing:
            raise InvalidParameter(f"loss={cls.__name__} must define {', '.join(sorted(missing))}")
        return super().__new__(cls)

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in messages and on the command line."""

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """Which labels the loss takes: "signs" are −1 and 1, "bounded" an interval around 0."""

    @property
    @abstractmethod
    def monotone(self) -> bool:
        """Whether f′ never changes sign, for each label."""

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The largest |f′| over all scores; ∞ if there is none."""

    @property
    @abstractmethod
    def sharpness(self) -> float:
        """The largest f″ over all scores: f′ is Lipschitz with this constant; ∞ if it jumps."""

    @property
    def core(self) -> "Loss":
        """The loss without its weights."""
        return self

    @property
    def twice_differentiable(self) -> bool:
        """Whether f″ exists everywhere."""
        return self.smooth

    @abstractmethod
    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """The loss f."""

    @abstractmethod
    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """The derivative f′; a subgradient where f has a corner."""

    @abstractmethod
    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """The second derivative f″ where it exists; 0 at corners and jumps."""

    def derivatives(self, scores: ArrayLike, labels: ArrayLike) -> tuple[Floats, Floats]:
        """f′ and f″ together, if that is cheaper."""
        return self.slopes(scores, labels), self.curvatures(scores, labels)

    def precise(self, scores: list[arb], label: float) -> tuple[arb, list[arb], list[list[arb]]]:  # noqa: ARG002
        """One record's f, f′ and f″ in ball arithmetic; any number is allowed where f″ jumps.

        Scores, slopes and rows of second derivatives: one a class, one in all for most losses.
        """
        raise NotSupported(f"loss={self.name!r} has corners: its rounded form is minimized")

    def corners(self, labels: ArrayLike) -> tuple[Floats, Floats, Floats]:  # noqa: ARG002
        """c, low and high, if the loss is max(low·(s − c), high·(s − c))."""
        raise NotSupported(f"loss={self.name!r} is not made of two straight lines")

    def expression(self, scores: Any, labels: ArrayLike) -> Any:  # noqa: ANN401, ARG002
        """The losses as a cvxpy expression of the scores."""
        raise NotSupported(f"loss={self.name!r} must define expression to be solved by cvxpy")

    def check_bounds(self, bounds: Bounds) -> None:
        """Raise for bounds whose labels the loss does not take."""
        check_unweighted(bounds)
        if self.labels == "signs":
            if bounds.labels is None or set(bounds.labels) != {-1.0, 1.0}:
                raise InvalidParameter(
                    f"labels={bounds.labels!r} must be (-1, 1) for the {self.name} loss"
                )
        elif not math.isfinite(bounds.largest_label):
            raise InvalidParameter(
                f"label_bound={bounds.label_bound!r} must be declared for the {self.name} loss"
            )

    def slope_bound(
        self,
        bounds: Bounds,
        domain: Domain | None = None,  # noqa: ARG002
        dimension: int | None = None,  # noqa: ARG002
    ) -> float:
        """A bound on |f′| over the scores that can occur; ∞ if there is none."""
        self.check_bounds(bounds)
        return self.steepest

    def curvature_bound(self, bounds: Bounds) -> float:
        """A bound on f″ over the scores that can occur."""
        self.check_bounds(bounds)
        return self.sharpness

    def lipschitz(
        self, bounds: Bounds, domain: Domain | None = None, dimension: int | None = None
    ) -> float:
        """A bound L on ‖∇ℓ‖₂ = |f′|·‖x‖: one record moves the gradient of the sum by no more.

        >>> from solvers.losses import Logistic, Squared
        >>> from solvers.domains import Ball
        >>> Logistic().lipschitz(Bounds(norm=2.0, labels=(-1, 1)))
        2.0
        >>> Squared().lipschitz(Bounds(norm=1.0, label_bound=2.0), Ball(3.0))  # 2r(rR + s)
        10.0
        """
        slope = self.slope_bound(bounds, domain, dimension)
        return rounded_up(lambda: ball(slope) * ball(bounds.norm), slope)

    def smoothness(self, bounds: Bounds) -> float:
        """A bound β on f″·‖x‖²: the norm of one record's Hessian.

        >>> from solvers.losses import Logistic
        >>> Logistic().smoothness(Bounds(norm=2.0, labels=(-1, 1)))
        1.0
        """
        curvature = self.curvature_bound(bounds)
        return rounded_up(lambda: ball(curvature) * ball(bounds.norm) ** 2, curvature)

    def slope_errors(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        """Bounds on the rounding errors of `slopes` and `derivatives`, for exact scores.

        Assumes that NumPy's exponential is within 4 units in the last place: a slope is at most
        eight roundings away from it, and its argument was exact.
        """
        errors: Floats = 16.0 * UNIT * np.abs(self.slopes(scores, labels)) + TINY
        return errors


class TwoLines(Loss):
    """A loss of two straight lines that meet in a corner; subclasses only define `corners`.

    max(low·(s − c), high·(s − c)), low ≤ 0 ≤ high: a loss that is its `corners`.
    """

    smooth = False
    sharpness = math.inf

    def values(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        corner, low, high = self.corners(labels)
        off = np.asarray(scores, np.float64) - corner
        return np.maximum(low * off, high * off)

    def slopes(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        corner, low, high = self.corners(labels)
        off = np.asarray(scores, np.float64) - corner
        return np.where(off > 0.0, high, np.where(off < 0.0, low, 0.0))

    def curvatures(self, scores: ArrayLike, labels: ArrayLike) -> Floats:
        return np.zeros(np.broadcast(scores, labels).shape)


def check_unweighted(bounds: Bounds) -> None:
    """Raise if labels have weights but the loss does not support them."""
    if bounds.weighted:
        raise InvalidParameter(
            "weighted=True must come with a weighted loss: solvers.losses.weighted makes one"
        )


def rounded_up(formula: Formula, factor: float) -> float:
    """The value of the formula, rounded up; ∞ if `factor` is."""
    return math.inf if factor == math.inf else enclose(formula)[1]


def margins(scores: ArrayLike, labels: ArrayLike) -> Floats:
    """Label times score, for labels ±1."""
    product: Floats = np.asarray(scores, np.float64) * np.asarray(labels, np.float64)
    return product
