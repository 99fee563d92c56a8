"""Checked data and outputs of mechanisms as arrays, and the assumptions of noise claims."""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpverify.arrays import Floats, Ints
from dpverify.balls import round_up
from dpverify.errors import Arithmetic, InvalidParameter, as_positive, shown
from dpverify.mechanisms.sampling.inversion import LARGEST_SCALE

RANDOM_BITS = "the generator's bits are uniform and independent"
REAL_ARITHMETIC = "real arithmetic"

_EXACT_INTEGERS = 1 << 53  # beyond, floats skip integers
_LARGEST_WHOLE = 1 << 61  # with noise up to 2^62, sums stay below 2^63
_LEAST_SCALE = 1e-3  # of integer noise: below, no draw ever differs from 0


def grounds(arithmetic: Arithmetic, *assumptions: str) -> tuple[str, ...]:
    """The assumptions of a claim: on a grid uniform bits and those given, else real arithmetic."""
    return (RANDOM_BITS, *assumptions) if arithmetic == "grid" else (REAL_ARITHMETIC,)


def real_array(name: str, value: ArrayLike) -> Floats:
    """`value` as exact floats; raise unless all entries are real, finite and of float size.

    Integers beyond ±2^53 are moved to the nearer of these two: a clamp, unlike the rounding to
    floats, brings no two answers further apart.
    """
    array = np.asarray(value)
    if array.size == 0:
        raise InvalidParameter(f"{name}={value!r} must not be empty")
    if array.dtype.kind in "iu":
        # Clamped in its own type: mixing it with a signed bound could make floats of it.
        info = np.iinfo(array.dtype)
        low, high = max(info.min, -_EXACT_INTEGERS), min(info.max, _EXACT_INTEGERS)
        clamped: Floats = np.clip(array, low, high).astype(np.float64)
        return clamped
    if array.dtype.kind not in "bf" or array.dtype.itemsize > 8:
        raise InvalidParameter(f"{name}={value!r} must be real numbers, as integers or floats")
    _refuse_where(~np.isfinite(array), name, array, "be finite")
    return array.astype(np.float64)


def whole_array(name: str, value: ArrayLike) -> Ints:
    """`value` as whole numbers, clipped to ±2^61."""
    array = np.asarray(value)
    if array.size == 0:
        raise InvalidParameter(f"{name}={value!r} must not be empty")
    if array.dtype.kind not in "iu":
        raise InvalidParameter(f"{name}={value!r} must be whole numbers, of an integer type")
    info = np.iinfo(array.dtype)
    low, high = max(info.min, -_LARGEST_WHOLE), min(info.max, _LARGEST_WHOLE)
    clamped: Ints = np.clip(array, low, high).astype(np.int64)
    return clamped


def as_noise_scale(name: str, value: object) -> float:
    """`as_positive` as a float, rounded up; raise beyond the scales of integer noise."""
    number = as_positive(name, value)
    if not _LEAST_SCALE <= number <= LARGEST_SCALE:
        raise InvalidParameter(
            f"{name}={shown(value)} must lie in [{_LEAST_SCALE:g}, {LARGEST_SCALE:g}]"
        )
    return round_up(Fraction(number))


def real_vector(name: str, value: ArrayLike) -> Floats:
    """`value` as a list of finite floats."""
    array = real_array(name, value)
    if array.ndim != 1:
        raise InvalidParameter(f"{name}={value!r} must be a list of numbers")
    return array


def category_array(name: str, value: ArrayLike, categories: int) -> Ints:
    """`value` as whole numbers from 0 to categories − 1."""
    array = np.asarray(value)
    if array.size == 0:
        raise InvalidParameter(f"{name}={value!r} must not be empty")
    allowed = f"be a whole number from 0 to {categories - 1}"
    if array.dtype.kind not in "biu":
        raise InvalidParameter(f"{name}={value!r} must {allowed}")
    _refuse_where((array < 0) | (array >= categories), name, array, allowed)
    return array.astype(np.int64)


def outputs_of(outputs: ArrayLike, answer_shape: tuple[int, ...]) -> NDArray[np.generic]:
    """`outputs` as an array of draws, each with the answer's shape."""
    array = np.asarray(outputs)
    if array.ndim != 1 + len(answer_shape) or array.shape[1:] != answer_shape:
        wanted = ", ".join(["size", *map(str, answer_shape)])
        raise InvalidParameter(f"outputs of shape {array.shape} must have the shape ({wanted})")
    return array


def per_draw(logs: Floats) -> Floats:
    """The sum over each draw's coordinates: the log of a product of probabilities."""
    totals: Floats = logs.reshape(len(logs), -1).sum(axis=1)
    return totals


def _refuse_where(
    bad: NDArray[np.bool_], name: str, array: NDArray[np.generic], allowed: str
) -> None:
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        label = f"{name}[{', '.join(map(str, index))}]" if index else name
        raise InvalidParameter(f"{label}={array[index].item()!r} must {allowed}")
