"""Strategy matrices: linear combinations of a stream's steps that are released with noise."""

import numpy as np
from numpy.typing import ArrayLike

from dpverify.arrays import Floats
from dpverify.errors import InvalidParameter, NotSupported, as_count, check_member, shown

NAMES = ("prefix", "tree", "square root")
MOST_STEPS = 4096


def strategy_of(given: object, steps: int | None, bands: int | None) -> Floats:
    """The matrix for a name or array, with as many columns as there are steps."""
    if isinstance(given, str):
        check_member("strategy", given, NAMES)
        count = as_count("steps", steps, most=MOST_STEPS)
        if given != "square root" and bands is not None:
            raise InvalidParameter(f"bands={shown(bands)} must be None for strategy={shown(given)}")
        match given:
            case "prefix":
                return np.tril(np.ones((count, count)))
            case "tree":
                return tree(count)
            case _:
                return square_root(count, as_count("bands", bands, most=count))
    if steps is not None or bands is not None:
        raise InvalidParameter(
            f"steps={shown(steps)}, bands={shown(bands)} must be None where strategy is a matrix"
        )
    return _matrix(given)  # type: ignore[arg-type]  # checked there


def tree(steps: int) -> Floats:
    """The sums at all nodes of a binary tree over the steps, one row per node."""
    rows, width = [], 1
    while True:
        for start in range(0, steps, width):
            row = np.zeros(steps)
            row[start : start + width] = 1.0
            rows.append(row)
        if width >= steps:
            return np.array(rows)
        width *= 2


def square_root(steps: int, bands: int) -> Floats:
    """The square root of the prefix sums, cut to `bands` diagonals: C(2k, k)/4^k on the k-th."""
    diagonal, matrix = 1.0, np.zeros((steps, steps))
    for k in range(bands):
        matrix += np.diag(np.full(steps - k, diagonal), -k)
        diagonal *= (2.0 * k + 1.0) / (2.0 * k + 2.0)
    return matrix


def bandwidth(matrix: Floats) -> int:
    """The least b such that column j only reaches rows j to j + b − 1; raise if it reaches above.

    Columns b apart then have no row in common, and no release comes before its step.
    """
    rows, columns = np.nonzero(matrix)
    if (rows < columns).any():
        raise NotSupported("strategy must be lower triangular for samples that are drawn in turn")
    return int((rows - columns).max()) + 1


def _matrix(given: ArrayLike) -> Floats:
    try:
        matrix = np.asarray(given)
    except ValueError:
        matrix = np.empty(0)
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "iuf":
        raise InvalidParameter(
            f"strategy={shown(given)} must be one of {NAMES} or a matrix of numbers"
        )
    floats = matrix.astype(np.float64)
    if not np.isfinite(floats).all() or not floats.any() or np.abs(floats).max() > 1e100:
        raise InvalidParameter("strategy must have finite entries up to 1e100, not all 0")
    if floats.shape[1] > MOST_STEPS:
        raise InvalidParameter(
            f"strategy must have at most {MOST_STEPS} columns, not {floats.shape[1]}"
        )
    return floats
