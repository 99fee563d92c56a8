"""Array types for signatures, and lengths of vectors."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Complex: TypeAlias = NDArray[np.complex128]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Texts: TypeAlias = NDArray[np.str_]
Words: TypeAlias = NDArray[np.uint64]


def lengths(vectors: Floats) -> Floats:
    """‖·‖₂ along the last axis; no square overflows, and none that matters underflows.

    >>> lengths(np.ldexp([[3.0, 4.0]] * 2, [[-700], [700]])) == np.ldexp(5.0, [-700, 700])
    array([ True,  True])
    """
    largest = np.abs(vectors).max(axis=-1, initial=0.0, keepdims=True)
    scale = np.ldexp(1.0, np.frexp(largest)[1] - 1)  # a power of two: exact
    found: Floats = np.linalg.norm(vectors / scale, axis=-1) * scale[..., 0]
    return found
