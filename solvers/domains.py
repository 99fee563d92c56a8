"""Domains of the parameters: convex sets with a projection and cvxpy constraints."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.arrays import Floats, lengths
from dpverify.errors import (
    InvalidParameter,
    NotSupported,
    check_count,
    check_positive,
    check_real,
    settle_fields,
)

_TOLERANCE = 2.0**-30  # `contains` allows for the rounding of a projection


class Domain(ABC):
    """A closed convex set of parameter vectors, in any dimension or a declared one.

    A domain of your own writes the abstract methods; one that lacks some is refused when it is
    made. Gradient methods take it; minima that are certified need a domain with `exact`.
    `solvers.register` makes it known by its name.
    """

    exact: bool = False  # whether ball arithmetic knows it: `minimize.precise_corners`

    def __new__(cls, *_: object, **__: object) -> Self:
        """Raise if a subclass does not define everything that a domain must have."""
        if missing := ", ".join(sorted(cls.__abstractmethods__)):
            raise InvalidParameter(f"domain={cls.__name__} must define {missing}")
        return super().__new__(cls)

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in the registry."""

    @property
    @abstractmethod
    def bounded(self) -> bool: ...

    @abstractmethod
    def diameter(self, dimension: int) -> float:
        """The largest ℓ2 distance between two points of the domain, not rounded down."""

    @abstractmethod
    def largest_norm(self, dimension: int | None = None) -> float:
        """The largest ℓ2 norm of a point of the domain, not rounded down."""

    @abstractmethod
    def project(self, points: ArrayLike) -> Floats:
        """The nearest points of the domain, for an array (…, d)."""

    @abstractmethod
    def constraints(self, variable: Any) -> list[Any]:  # noqa: ANN401  # cvxpy has no types here
        """The domain as constraints on a cvxpy variable."""

    def scaled(self, factor: float) -> "Domain":  # noqa: ARG002
        """The domain of factor·θ, for a power of two."""
        raise NotSupported(
            f"domain={self!r} must define scaled: it is needed to solve on this domain"
        )

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Which points of an array (…, d) lie in the domain, up to rounding."""
        array = np.asarray(points, np.float64)
        away = np.linalg.norm(array - self.project(array), axis=-1)
        inside: NDArray[np.bool_] = away <= _TOLERANCE * (1.0 + np.linalg.norm(array, axis=-1))
        return inside

    @property
    def dimension(self) -> int | None:
        """The dimension of the domain, or None if it can have any."""
        return None

    def check_dimension(self, dimension: int) -> None:
        """Raise for a dimension that the domain cannot have."""
        check_count("dimension", dimension)
        if self.dimension not in {None, dimension}:
            raise InvalidParameter(
                f"dimension={dimension!r} must be {self.dimension}, as the domain declares"
            )


@dataclass(frozen=True, slots=True)
class WholeSpace(Domain):
    """The whole space: no constraint."""

    name = "whole-space"
    exact = True
    bounded = False

    def diameter(self, dimension: int) -> float:
        self.check_dimension(dimension)
        return math.inf

    def largest_norm(self, dimension: int | None = None) -> float:  # noqa: ARG002
        return math.inf

    def project(self, points: ArrayLike) -> Floats:
        return np.array(points, np.float64)

    def scaled(self, factor: float) -> "WholeSpace":  # noqa: ARG002
        return self

    def constraints(self, variable: Any) -> list[Any]:  # noqa: ANN401, ARG002
        return []


@dataclass(frozen=True, slots=True)
class Ball(Domain):
    """A ball around 0.

    ‖θ‖₂ ≤ radius.

    >>> Ball(2.0).project([[3.0, 4.0], [0.0, 1.0]]).round(9).tolist()
    [[1.2, 1.6], [0.0, 1.0]]
    """

    name = "ball"
    exact = True
    bounded = True

    radius: float

    def __post_init__(self) -> None:
        settle_fields(self)
        check_positive("radius", self.radius)

    def diameter(self, dimension: int) -> float:
        self.check_dimension(dimension)
        return 2.0 * float(self.radius)

    def largest_norm(self, dimension: int | None = None) -> float:  # noqa: ARG002
        return float(self.radius)

    def project(self, points: ArrayLike) -> Floats:
        array = np.asarray(points, np.float64)
        norms = lengths(array)[..., None]
        radius = float(self.radius)
        return np.where(norms > radius, array * (radius / np.maximum(norms, radius)), array)

    def scaled(self, factor: float) -> "Ball":
        return Ball(self.radius * factor)

    def constraints(self, variable: Any) -> list[Any]:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        return [cp.norm(cp.vec(variable, order="F"), 2) <= float(self.radius)]


@dataclass(frozen=True, slots=True)
class Box(Domain):
    """A box: every coordinate within bounds.

    low ≤ θ ≤ high in every coordinate; numbers, or one number a coordinate.

    >>> Box(-1.0, 1.0).project([2.0, 0.5]).tolist()
    [1.0, 0.5]
    """

    name = "box"
    exact = True
    bounded = True

    low: float | tuple[float, ...]
    high: float | tuple[float, ...]

    def __post_init__(self) -> None:
        settle_fields(self)
        for name in ("low", "high"):
            value = getattr(self, name)
            if np.ndim(value) == 1:
                object.__setattr__(self, name, tuple(float(v) for v in value))
            for entry in np.ravel(np.asarray(value, object)):
                check_real(name, entry)
                if not math.isfinite(entry):
                    raise InvalidParameter(f"{name}={entry!r} must be finite")
        try:
            empty = bool((self._low > self._high).any())
        except ValueError:
            raise InvalidParameter(
                f"low={self.low!r} must have as many entries as high={self.high!r}"
            ) from None
        if empty:
            raise InvalidParameter(
                f"low={self.low!r} must not exceed high={self.high!r}: the box is empty"
            )

    @property
    def _low(self) -> Floats:
        return np.asarray(self.low, np.float64)

    @property
    def _high(self) -> Floats:
        return np.asarray(self.high, np.float64)

    @property
    def dimension(self) -> int | None:
        declared = np.broadcast(self._low, self._high).shape
        return declared[0] if declared else None

    def diameter(self, dimension: int) -> float:
        self.check_dimension(dimension)
        return _length(np.broadcast_to(self._high - self._low, dimension))

    def largest_norm(self, dimension: int | None = None) -> float:
        corners = np.maximum(np.abs(self._low), np.abs(self._high))
        if dimension is None and corners.ndim == 0:
            raise InvalidParameter(
                f"dimension=None must be given for a box {self.low!r} to {self.high!r}"
            )
        if dimension is not None:
            self.check_dimension(dimension)
            corners = np.broadcast_to(corners, dimension)
        return _length(corners)

    def project(self, points: ArrayLike) -> Floats:
        return np.clip(np.asarray(points, np.float64), self._low, self._high)

    def scaled(self, factor: float) -> "Box":
        low, high = self._low * factor, self._high * factor
        if self.dimension is None:
            return Box(float(low), float(high))
        return Box(*(tuple(side.tolist()) if side.ndim else float(side) for side in (low, high)))

    def constraints(self, variable: Any) -> list[Any]:  # noqa: ANN401
        return [variable >= self._low, variable <= self._high]


@dataclass(frozen=True, slots=True)
class Simplex(Domain):
    """The probability simplex.

    θ ≥ 0 with sum 1.

    >>> Simplex().project([0.5, 0.9, -3.0]).round(9).tolist()
    [0.3, 0.7, 0.0]
    """

    name = "simplex"
    exact = True
    bounded = True

    def diameter(self, dimension: int) -> float:
        self.check_dimension(dimension)
        return 0.0 if dimension == 1 else math.nextafter(math.sqrt(2.0), math.inf)

    def largest_norm(self, dimension: int | None = None) -> float:  # noqa: ARG002
        return 1.0

    def project(self, points: ArrayLike) -> Floats:
        """θ = max(point − t, 0) with t such that the sum is 1; sorting finds t. [Held 1974]"""
        array = np.asarray(points, np.float64)
        ordered = -np.sort(-array, axis=-1)
        counts = np.arange(1, array.shape[-1] + 1)
        levels = (np.cumsum(ordered, axis=-1) - 1.0) / counts
        kept = np.count_nonzero(ordered > levels, axis=-1, keepdims=True)
        level = np.take_along_axis(levels, kept - 1, axis=-1)
        return np.maximum(array - level, 0.0)

    def constraints(self, variable: Any) -> list[Any]:  # noqa: ANN401
        import cvxpy as cp  # noqa: PLC0415

        return [variable >= 0, cp.sum(variable) == 1]


def _length(vector: Floats) -> float:
    """‖vector‖₂ of exact floats, rounded up."""
    length = float(lengths(vector))
    return length * (1.0 + (len(np.atleast_1d(vector)) + 4) * 2.0**-52)
