"""Mechanisms that release exact sums once with noise, and symmetric matrices among the sums.

Rows are rounded towards zero to whole multiples of a power of two, 20 bits each, so that sums of
products of their entries are exact, whatever the order. A symmetric matrix is packed into its
diagonal and what is above it. Where lengths are Euclidean, entries above the diagonal count twice;
there they are multiplied by 181/128, just below √2, by shifts of whole numbers.
"""

import math
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.claims import Claim
from dpverify.errors import InvalidParameter, check_draw
from solvers.privacy.clipped_sums import Wholes, exact_zeros
from solvers.privacy.noise import Kind, StepNoise

Given = TypeVar("Given")

_BITS = 20
_BLOCK = 1 << 12
_SHIFTS = (2, 3, 5, 7)  # 1 + 1/4 + 1/8 + 1/32 + 1/128 = 181/128, just below √2
_STRETCH = 181 / 128


class Claiming(Protocol):
    """Anything that states a claim."""

    @property
    def claim(self) -> Claim: ...


class OneRelease(ABC, Generic[Given]):
    """A mechanism that adds noise to exact sums of its data, once."""

    __slots__ = ()

    @property
    @abstractmethod
    def claim(self) -> Claim: ...

    @abstractmethod
    def noise_for(self, count: int) -> StepNoise:
        """The noise for that many sums."""

    @abstractmethod
    def sums(self, data: Given) -> tuple[Wholes, int]:
        """The exact sums of the data, in multiples of 2^exponent; raise for data beyond bounds."""

    def sample(self, data: Given, size: int, *, rng: np.random.Generator) -> Floats:
        """`size` independent releases: an array (size, sums)."""
        check_draw(size, rng)
        sums, exponent = self.sums(data)
        return self.noise_for(len(sums)).release(np.tile(sums, (size, 1)), exponent, rng)

    def log_density(self, outputs: ArrayLike, data: Given) -> Floats:
        """The log probability (grid) or log density (real) of each output.

        Norm noise on the grid has no formula in two or more dimensions: there it is the log density
        at the middle of the output's cell (`StepNoise.log_density`).
        """
        sums, exponent = self.sums(data)
        draws = np.asarray(outputs, np.float64)
        if draws.ndim != 2 or draws.shape[1] != len(sums):
            shape = f"(size, {len(sums)})"
            raise InvalidParameter(f"outputs of shape {draws.shape} must have the shape {shape}")
        noise = self.noise_for(len(sums))
        return noise.log_density(draws, np.tile(sums, (len(draws), 1)), exponent)


def row_exponent(norm: float) -> int:
    """The exponent of the unit for rows no longer than `norm`; entries get at most 20 bits."""
    return math.frexp(norm)[1] - _BITS


def in_units(rows: Floats, exponent: int) -> Floats:
    """Rows in whole units, rounded towards zero, so that no record becomes longer."""
    whole: Floats = np.trunc(np.ldexp(rows, -exponent))
    return whole


def exact_products(left: Floats, right: Floats) -> Wholes:
    """Σ left·rightᵀ over records, exact for whole numbers of at most 20 bits."""
    total = exact_zeros((left.shape[1], right.shape[1]), len(left))
    for start in range(0, len(left), _BLOCK):
        few = slice(start, start + _BLOCK)
        total += (left[few].T @ right[few]).astype(np.int64)  # exact: at most 2^52
    return total


def packed(matrix: Wholes, kind: Kind) -> Wholes:
    """The diagonal, then the entries above it (times 181/128 for ℓ2 sensitivity)."""
    upper = matrix[np.triu_indices(len(matrix), 1)]
    if kind != "laplace":
        upper = sum((upper >> shift for shift in _SHIFTS), start=upper)
    return np.concatenate([np.diag(matrix), upper])


def unpacked(vectors: Floats, dimension: int, kind: Kind) -> Floats:
    """Symmetric matrices (m, d, d) from packed ones (m, d(d + 1)/2)."""
    matrices = np.zeros((len(vectors), dimension, dimension))
    rows, columns = np.triu_indices(dimension, 1)
    diagonal = np.arange(dimension)
    matrices[:, diagonal, diagonal] = vectors[:, :dimension]
    above = vectors[:, dimension:] / (1.0 if kind == "laplace" else _STRETCH)
    matrices[:, rows, columns] = matrices[:, columns, rows] = above
    return matrices


def packing_room(dimension: int, kind: Kind) -> float:
    """A factor by which packing may enlarge a sensitivity of at least r², with r the rows' norm.

    Each shift rounds down, so that an entry above the diagonal moves by at most 5 units more. There
    are fewer than d²/2 of them, and a unit is at most 2^-38·r².
    """
    return 1.0 if kind == "laplace" else 1.0 + max(2.0**-28, dimension * 2.0**-36)
